"""Sampled answers through the public functions: errors that come along, and never silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from click.testing import CliRunner

import somscale as ss
from somscale.cli import main
from somscale.errors import InputError

N = 300
ERRORS = ("standard_error", "interval_low", "interval_high")


def problems() -> dict[str, tuple[np.ndarray, Any]]:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((N, 12)) + 3 * rng.integers(0, 3, (N, 1))
    return {
        "clusters": (samples, rng.integers(0, 4, N)),
        "map": (samples, ss.codebook(samples[:12], ss.Grid(3, 4))),
        "embedding": (samples, samples[:, :2] + rng.standard_normal((N, 2))),
    }


ESTIMATED = {
    "clusters": {"davies_bouldin_index", "silhouette_score"},
    "map": {"c_measure", "metric_stress", "sammon_stress", "shepard_correlation"},
    "embedding": {
        *("c_measure", "kruskal_shepard_error", "metric_stress"),
        *("sammon_stress", "shepard_correlation"),
    },
}


@pytest.mark.parametrize("kind", ESTIMATED)
def test_all_estimates_what_takes_pairs_and_leaves_out_what_it_cannot(kind: str) -> None:
    samples, projection = problems()[kind]
    exact, found = (
        ss.evaluate(samples, projection),
        ss.evaluate(samples, projection, sample_anchors=80, seed=3),
    )
    error = found["standard_error"].to_series()
    assert set(error.index[error.notna()]) == ESTIMATED[kind]
    for name in found["metric"].values.tolist():
        value, known = (float(q["value"].sel(metric=name)) for q in (found, exact))
        if name in ESTIMATED[kind]:
            low, high = (float(found[end].sel(metric=name)) for end in ERRORS[1:])
            assert low < value < high
            assert abs(value - known) < 5 * error[name]
        else:
            assert value == known or np.isnan(known)
    omitted = json.loads(found.attrs["indices_left_out"])["a few samples do not estimate it"]
    assert set(exact["metric"].values) == set(found["metric"].values) | (
        set(omitted) & set(exact["metric"].values)
    )
    assert found.attrs["sample_anchors"] == 80
    assert found.attrs["seed"] == 3
    assert "standard_error" not in exact


@pytest.mark.parametrize("kind", ESTIMATED)
def test_same_bits_from_any_source(kind: str, tmp_path: Path) -> None:
    samples, projection = problems()[kind]
    expected = ss.evaluate(samples, projection, sample_anchors=40)
    sources = {
        "zarr": zarr.create_array(tmp_path / "x.zarr", data=samples, chunks=(77, 5)),
        "dask": da.from_array(samples, chunks=(31, 7)),
        "labelled": xr.DataArray(samples, dims=("time", "level")),
    }
    for source in sources.values():
        found = ss.evaluate(source, projection, sample_anchors=40).load()
        for name in ("value", *ERRORS):
            np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("kind", ESTIMATED)
def test_all_samples_as_anchors_give_the_exact_value(kind: str) -> None:
    samples, projection = problems()[kind]
    exact = ss.evaluate(samples, projection)
    found = ss.evaluate(samples, projection, sample_anchors=N)
    for name in ESTIMATED[kind]:
        one, other = (q["value"].sel(metric=name) for q in (found, exact))
        np.testing.assert_allclose(one, other, rtol=1e-12)
        assert found["standard_error"].sel(metric=name) == 0


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("left", [[0, 0], [0, 0, 0], [-1, -1, 1, 1]])
def test_one_cluster_has_no_silhouette(left: list[int], lazy: bool) -> None:
    clusters = np.resize(left, 40)
    samples: Any = np.random.default_rng(0).standard_normal((40, 3))
    samples = da.from_array(samples, chunks=(15, 3)) if lazy else samples
    found = ss.evaluate(samples, clusters, noise="ignore", sample_anchors=20).compute()
    assert np.isnan(found["cluster_silhouette"].values).all()
    assert found["cluster_silhouette"].shape == found["cluster_sizes"].shape
    score = found.sel(metric="silhouette_score")
    assert np.isnan(float(score["value"]))
    assert "one cluster" in str(score["note"].values)


@pytest.mark.parametrize("lazy", [False, True])
def test_what_is_known_of_one_distance_is_not_taken_for_another(lazy: bool) -> None:
    samples, som = problems()["map"]
    forms = {"form": "scale_normalized"}
    asked = {
        "euclidean": ("metric_stress", forms),
        "cityblock": ("metric_stress", {**forms, "distance": "cityblock"}),
        "largest": ("kruskal_shepard_error", {"form": "somperf"}),
    }
    source = da.from_array(samples, chunks=50) if lazy else samples
    found = ss.evaluate(source, som, metrics=asked, sample_anchors=N)["value"]
    np.testing.assert_allclose(found, ss.evaluate(samples, som, metrics=asked)["value"], rtol=1e-9)


def test_one_index_alone_has_its_error_as_coordinates() -> None:
    samples, clusters = problems()["clusters"]
    found = ss.metrics.cluster_silhouette(samples, clusters, sample_anchors=80, seed=1)
    assert found.dims == ("cluster",)
    assert set(ERRORS) <= set(found.coords)
    assert all(found[name].dims == ("cluster",) for name in ERRORS)
    assert (found["interval_low"] <= found).all()
    whole = ss.evaluate(samples, clusters, sample_anchors=80, seed=1)
    np.testing.assert_array_equal(whole["cluster_silhouette"], found)
    np.testing.assert_array_equal(
        whole["cluster_silhouette_standard_error"], found["standard_error"]
    )
    other = ss.metrics.cluster_silhouette(samples, clusters, sample_anchors=80, seed=2)
    assert (other != found).any()


def test_samples_that_take_no_part_are_no_anchors() -> None:
    samples, clusters = problems()["clusters"]
    taken = np.arange(N) % 3 > 0
    found = ss.metrics.silhouette_score(
        samples, clusters, mask=(taken, None), sample_anchors=int(taken.sum())
    )
    exact = ss.metrics.silhouette_score(samples[taken], clusters[taken])
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    noisy = np.where(taken, clusters, -1)
    found = ss.metrics.silhouette_score(samples, noisy, noise="ignore", sample_anchors=N)
    np.testing.assert_allclose(found, exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dunn_index", {"sample_anchors": 10}, "smallest or largest distances"),
        ("sample_silhouette", {"sample_anchors": 10}, "value of every sample"),
        ("silhouette_score", {"sample_anchors": N + 1}, f"{N} samples take part"),
        ("silhouette_score", {"sample_anchors": 1}, "at least 2"),
        ("silhouette_score", {"sample_anchors": 2.5}, "whole number"),
        ("silhouette_score", {"sample_anchors": 9, "seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_sampled_is_refused(
    name: str, settings: dict[str, Any], message: str
) -> None:
    samples, clusters = problems()["clusters"]
    with pytest.raises(InputError, match=message):
        ss.evaluate(samples, clusters, metrics=name, **settings)
    with pytest.raises(InputError, match=message):
        getattr(ss.metrics, name)(samples, clusters, **settings)


def test_distances_alone_are_not_sampled() -> None:
    _, clusters = problems()["clusters"]
    matrix = np.abs(np.subtract.outer(np.arange(N), np.arange(N))).astype(float)
    with pytest.raises(InputError, match="sample_anchors"):
        ss.metrics.silhouette_score(matrix, clusters, distance="precomputed", sample_anchors=9)


@pytest.mark.parametrize("kind", ["clusters", "embedding"])
def test_the_command_line_shows_errors_beside_estimates(kind: str, tmp_path: Path) -> None:
    samples, projection = problems()[kind]
    np.save(tmp_path / "x.npy", samples)
    np.save(tmp_path / "p.npy", projection)
    arguments = ["evaluate", str(tmp_path / "x.npy"), f"--{kind}", str(tmp_path / "p.npy")]
    result = CliRunner().invoke(main, [*arguments, "--cost", "pairs", "--sample-anchors", "50"])
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert all("±" in rows[name] for name in ESTIMATED[kind])
    assert sum("±" in line for line in rows.values()) == len(ESTIMATED[kind])
    assert not any(name.startswith(("standard_error", "interval")) for name in rows)


def test_the_plan_and_the_command_line(tmp_path: Path) -> None:
    samples, clusters = problems()["clusters"]
    planned = ss.plan(samples, clusters, metrics="silhouette_score", sample_anchors=50)
    assert "anchors" in repr(planned)
    np.save(tmp_path / "x.npy", samples)
    np.save(tmp_path / "c.npy", clusters)
    arguments = ["evaluate", str(tmp_path / "x.npy"), "--clusters", str(tmp_path / "c.npy")]
    arguments += ["-m", "silhouette_score", "--sample-anchors", "50", "--seed", "4", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["variables"]
    expected = ss.metrics.silhouette_score(samples, clusters, sample_anchors=50, seed=4)
    assert told["value"]["values"] == [float(expected)]
    assert told["standard_error"]["values"] == [float(expected["standard_error"])]


@pytest.mark.parametrize("kind", ["clusters", "embedding"])
def test_the_command_line_prints_all_estimates_with_their_errors(kind: str, tmp_path: Path) -> None:
    samples, projection = problems()[kind]
    np.save(tmp_path / "x.npy", samples)
    np.save(tmp_path / "a.npy", projection)
    np.save(tmp_path / "b.npy", projection[::-1])
    for names in (["a.npy"], ["a.npy", "b.npy"]):
        arguments = ["evaluate", str(tmp_path / "x.npy"), "--sample-anchors", "50"]
        arguments += ["--cost", "pairs"]
        for name in names:
            arguments += [f"--{kind}", str(tmp_path / name)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
        assert {name for name, line in lines.items() if "±" in line} == ESTIMATED[kind]
        assert all(lines[name].count("±") == len(names) for name in ESTIMATED[kind])


def test_the_command_line_prints_estimates_of_a_map(tmp_path: Path) -> None:
    samples, som = problems()["map"]
    np.save(tmp_path / "x.npy", samples)
    som.to_zarr(tmp_path / "map.zarr", consolidated=False)
    arguments = ["evaluate", str(tmp_path / "x.npy"), "--map", str(tmp_path / "map.zarr")]
    result = CliRunner().invoke(main, [*arguments, "--cost", "pairs", "--sample-anchors", "50"])
    assert result.exit_code == 0, result.output
    told = {line.split()[0] for line in result.stdout.splitlines() if "±" in line}
    assert told == ESTIMATED["map"]

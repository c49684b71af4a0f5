"""Errors of comparisons: as explicit resampling has them, and as new samples spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import somscale as ss
from somscale.comparing.intervals import same_as_best
from somscale.errors import InputError, WorkspaceError
from somscale.kernels.resampling import BLOCK_ROWS, resample_weights

SILHOUETTES = ["silhouette_score", "centroid_silhouette", "squared_silhouette"]


def weights(n: int, n_boot: int, seed: int) -> NDArray[np.float64]:
    blocks = [resample_weights(seed, b, n_boot)[1:] for b in range(-(-n // BLOCK_ROWS))]
    return np.concatenate(blocks, axis=1)[:, :n].astype(float)


@settings(max_examples=15)
@given(
    n=st.integers(2, 40),
    seed=st.integers(0, 2**64 - 1),
    sizes=st.lists(st.integers(2, 6), min_size=2, max_size=3),
    weighted=st.booleans(),
    dropped=st.booleans(),
    n_boot=st.integers(40, 60),
)
def test_paired_bootstrap_from_its_definition(
    n: int, seed: int, sizes: list[int], weighted: bool, dropped: bool, n_boot: int
) -> None:
    """Few samples, duplicates, twins among the candidates, weights and masks; no shared code."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, (n, 2)).astype(float)
    codes = {f"m{i}": rng.integers(-2, 3, (k, 2)) + 0.25 for i, k in enumerate(sizes)}
    codes["twin"] = codes["m0"]
    own = rng.random(n) + 0.1 if weighted else np.ones(n)
    keep = rng.random(n) < 0.8 if dropped else np.ones(n, bool)
    keep[0] = True
    maps = {name: ss.codebook(c, ss.Grid.chain(len(c))) for name, c in codes.items()}
    options: dict[str, Any] = {"sample_weights": own} if weighted else {}
    options |= {"mask": (keep, None)} if dropped else {}
    names = ["quantization_error", "topographic_error", "simplified_silhouette"]
    found = ss.compare(x, maps, names, n_boot=n_boot, seed=seed, **options)

    w = weights(n, n_boot, seed) * own * keep
    with np.errstate(invalid="ignore"):
        w = w / w.sum(axis=1, keepdims=True)  # nan where a resample is empty
    w = w[~np.isnan(w).any(axis=1)]
    losses = {}
    for name, c in codes.items():
        d = np.sqrt(((x[:, None] - c) ** 2).sum(axis=2))
        first, second = np.argsort(d, axis=1, kind="stable")[:, :2].T
        near, far = np.sort(d, axis=1)[:, :2].T
        per = {
            "quantization_error": near,
            "topographic_error": (abs(first - second) != 1).astype(float),
            "simplified_silhouette": 1 - np.divide(near, far, out=np.ones(n), where=far > 0),
        }
        for metric, values in per.items():
            every = w @ values
            one = found.sel(metric=metric, candidate=name)
            if one["value"].isnull():
                continue
            low, high = np.quantile(every, [0.025, 0.975])
            np.testing.assert_allclose(one["value"], (own * keep) @ values / (own * keep).sum())
            np.testing.assert_allclose(one["interval_low"], low, atol=1e-12)
            np.testing.assert_allclose(one["interval_high"], high, atol=1e-12)
            np.testing.assert_allclose(one["standard_error"], every.std(ddof=1), atol=1e-12)
            losses[metric, name] = -every if metric == "simplified_silhouette" else every
    for metric in names:
        own_row = found.sel(metric=metric)
        best = own_row["best"].item()
        for name in codes:
            if (metric, name) not in losses:
                continue
            low, high = np.quantile(losses[metric, name] - losses[metric, best], [0.025, 0.975])
            same = bool(own_row["indistinguishable"].sel(candidate=name) == 1)
            if min(abs(low), abs(high)) > 1e-9 or name == best:
                assert same == (low <= 0 <= high)
    twins = found["indistinguishable"].sel(candidate=["m0", "twin"]).values
    np.testing.assert_array_equal(twins[:, 0], twins[:, 1])


def test_order_of_candidates_changes_nothing_but_the_first_of_equals() -> None:
    x = np.random.default_rng(0).standard_normal((300, 2))
    maps = {f"m{k}": ss.codebook(x[:k], ss.Grid.chain(k)) for k in (2, 5, 9)}
    names = ["quantization_error", "explained_variance", "topographic_error"]
    one = ss.compare(x, maps, names)
    two = ss.compare(x, dict(reversed(maps.items())), names)
    xr.testing.assert_equal(two.sel(candidate=one["candidate"]), one)


def test_infinite_and_missing_replicates() -> None:
    every = {
        ("best", "x"): np.array([np.inf, 1.0, np.nan]),
        ("same", "x"): np.array([np.inf, 1.0, 5.0]),
        ("apart", "x"): np.array([np.nan, np.nan, 2.0]),
    }
    found = same_as_best(every, "x", ["best", "same", "apart", "none"], "best", "lower")
    np.testing.assert_array_equal(found, [1, 1, np.nan, np.nan])


def test_an_error_that_no_sample_has_is_marked() -> None:
    x = np.array([[0.0], [0.1], [1.0], [1.1]] * 10)
    maps = {n: ss.codebook([[0.0], [1.0 + d]], ss.Grid.chain(2)) for n, d in (("a", 0), ("b", 0.1))}
    found = ss.compare(x, maps, ["topographic_error", "quantization_error"])
    row = found.sel(metric="topographic_error")
    assert (row["interval_high"] == 0).all()
    assert all("a rare event is not ruled out" in note for note in row["interval_note"].values)
    assert (found["interval_note"].sel(metric="quantization_error") == "").all()


# --- silhouettes and other indices that are no means


def _two_groups(seed: int, n: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    x[:, 0] += np.where(rng.random(n) < 0.5, 1.5, -1.5)
    return x


def _cut(x: NDArray[np.float64]) -> dict[str, Any]:
    return {"middle": (x[:, 0] > 0).astype(int), "aside": (x[:, 0] > 0.8).astype(int)}


def test_standard_errors_are_the_spread_over_new_samples() -> None:
    """Values of samples held fixed would give two thirds of it for silhouettes of all pairs."""
    names = [*SILHOUETTES, "r_squared", "davies_bouldin_score"]
    drawn = []
    for seed in range(80):
        x = _two_groups(seed, 200)
        q = ss.evaluate(x, _cut(x), metrics=names)
        drawn.append(q["value"].values.T)
    spread = np.std(drawn, axis=0, ddof=1)
    errors = []
    for seed in (1, 2):
        x = _two_groups(seed, 200)
        found = ss.compare(x, _cut(x), names)
        assert (found["interval_note"] == "").all()
        assert (found["interval_low"] < found["value"]).all()
        errors.append(found["standard_error"].values)
    ratios = np.mean(errors, axis=0) / spread
    assert ((ratios > 0.8) & (ratios < 1.25)).all(), ratios


def test_explained_variance_of_maps_and_distances_of_embeddings() -> None:
    def judged(seed: int) -> tuple[Any, dict[str, Any]]:
        x = np.random.default_rng(seed).standard_normal((300, 3)) * [3, 1, 0.5]
        return x, {"two": x[:, :2], "last": x[:, 1:]}

    maps = {k: ss.codebook(judged(9)[0][:n], ss.Grid.chain(n)) for k, n in (("a", 5), ("b", 12))}
    names = ["shepard_correlation", "metric_stress"]
    values, of_maps = [], []
    for seed in range(60):
        x, embeddings = judged(seed)
        values.append(ss.evaluate(x, embeddings, metrics=names)["value"].values.T)
        of_maps.append(ss.evaluate(x, maps, metrics="explained_variance")["value"].values.T)
    errors = [ss.compare(*judged(s), names)["standard_error"].values for s in range(100, 104)]
    ratios = np.mean(errors, axis=0) / np.std(values, axis=0, ddof=1)
    assert ((ratios > 0.7) & (ratios < 1.3)).all(), ratios
    every = [ss.compare(judged(s)[0], maps, "explained_variance") for s in range(100, 104)]
    errors = [own["standard_error"].values for own in every]
    ratios = np.mean(errors, axis=0) / np.std(of_maps, axis=0, ddof=1)
    assert ((ratios > 0.7) & (ratios < 1.3)).all(), ratios
    x, found = judged(100)[0], every[0]
    assert found["indistinguishable"].sel(candidate="b").item() == 1
    chunked = ss.compare(da.from_array(x, chunks=(77, 2)), maps, "explained_variance")
    xr.testing.assert_identical(chunked, found)


def test_macro_silhouettes_and_dask_and_weights() -> None:
    x = _two_groups(0, 240)
    macro = {"macro": ("silhouette_score", {"average": "macro"})}
    found = ss.compare(x, _cut(x), macro)
    assert (found["interval_note"] == "").all()
    xr.testing.assert_identical(ss.compare(da.from_array(x, chunks=(50, 1)), _cut(x), macro), found)
    own = np.where(x[:, 1] > 0, 2.0, 1.0)
    weighted = ss.compare(x, _cut(x), "r_squared", sample_weights=own)
    assert (weighted["interval_low"] < weighted["value"]).all()
    assert (weighted["value"] < weighted["interval_high"]).all()
    plain = ss.compare(x, _cut(x), "r_squared", sample_weights=np.ones(len(x)))
    xr.testing.assert_allclose(plain, ss.compare(x, _cut(x), "r_squared"))


def test_a_matrix_of_distances_has_the_same_errors() -> None:
    x = _two_groups(0, 100)
    matrix = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    given_matrix = ss.compare(matrix, _cut(x), "silhouette_score", distance="precomputed")
    samples = ss.compare(x, _cut(x), "silhouette_score")
    for name in ("value", "standard_error", "interval_low"):
        np.testing.assert_allclose(given_matrix[name], samples[name])


@pytest.mark.parametrize(
    ("n", "second", "text"),
    [
        (30, lambda n: np.arange(n) % 2, "of fewer than 40"),
        (60, lambda n: np.arange(n) == 7, "too few"),
    ],
)
def test_what_subsets_cannot_tell(n: int, second: Any, text: str) -> None:
    x = _two_groups(0, n)
    clusters = {"one": np.arange(n) // (n // 2), "two": second(n).astype(int)}
    found = ss.compare(x, clusters, "silhouette_score")
    assert text in found["interval_note"].sel(candidate="two").item()
    assert np.isnan(found["standard_error"].sel(candidate="two")).all()


# --- labels


def test_labels_on_maps_are_resampled() -> None:
    x = _two_groups(0, 1500)
    labels = _cut(x)["middle"]
    maps = {f"m{k}": ss.codebook(x[:k], ss.Grid.chain(k)) for k in (2, 4)}
    names = ["purity", "adjusted_rand_score"]
    found = ss.compare(x, maps, names, labels=labels, n_boot=60, seed=3)
    assert (found["interval_note"] == "").all()
    for k, som in maps.items():
        units = ss.project(x, som)["bmu"].values
        pairs = ss.compare(None, {"u": units, "v": labels}, names, labels=labels, n_boot=60, seed=3)
        for name in ("value", "standard_error", "interval_low", "interval_high"):
            np.testing.assert_allclose(found[name].sel(candidate=k), pairs[name].sel(candidate="u"))
    chunked = da.from_array(x, chunks=(400, 2))
    xr.testing.assert_identical(
        ss.compare(chunked, maps, names, labels=labels, n_boot=60, seed=3), found
    )


def test_intervals_of_adjusted_rand_hold_the_population_also_of_many_clusters() -> None:
    """Plain percentiles would hold it in 6 of 100 cases, as resamples agree with themselves."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(3, 0.6), size=60).T / 60
    rows, columns = np.indices(shares.shape).reshape(2, -1)

    def draw(n: int) -> tuple[Any, Any]:
        cells = rng.choice(shares.size, n, p=shares.ravel())
        return rows[cells], columns[cells]

    truth = ss.metrics.adjusted_rand_score(*draw(2_000_000))
    held = 0
    for seed in range(40):
        labels, clusters = draw(300)
        found = ss.compare(
            None, {"a": clusters, "b": clusters}, "adjusted_rand_score", labels=labels, seed=seed
        ).isel(candidate=0, metric=0)
        held += bool(found["interval_low"] <= truth <= found["interval_high"])
    assert held >= 35
    purity = ss.compare(None, {"a": clusters, "b": labels}, "purity", labels=labels)
    assert "so few" in purity["interval_note"].sel(candidate="a").item()


# --- workspaces


def test_a_workspace_in_the_place_of_samples(tmp_path: Path) -> None:
    x = _two_groups(0, 150)
    work = ss.Workspace(tmp_path / "work.zarr")
    with work.writing():
        work.write_samples(x)
        work.write_distances()
    names = ["silhouette_score"]
    expected = ss.compare(x, _cut(x), names)
    for found in (
        ss.compare(work, _cut(x), names),
        ss.compare(x, _cut(x), names, store=tmp_path / "work.zarr"),
    ):
        for name in ("value", "rank", "standard_error", "indistinguishable"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)
    with pytest.raises(WorkspaceError):
        ss.compare(x + 1, _cut(x), names, store=work)
    with pytest.raises(InputError, match="leave store= out"):
        ss.compare(work, _cut(x), names, store=work)

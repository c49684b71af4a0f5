"""Training: the batch rule as defined, the same map whatever the chunks, any samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import Case, cases

import somscale as ss
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, MemoryBudgetError, SampleValueError
from somscale.reductions.units import UnitsReduction
from somscale.store import open_dataset, write_dataset
from somscale.training import batch_update

N, D = 5000, 4
VALUES = np.random.default_rng(0).normal([0, 10, 20, 30], 1, (N, D))
GRID = ss.Grid(4, 3, topology="hexagonal")


def stats_of(samples: NDArray[Any], codes: NDArray[np.float64]) -> Any:
    return run_job(LinearJob([UnitsReduction(codes)], *samples.shape, source=ArraySource(samples)))[
        0
    ]


# --- the rule


@settings(max_examples=60)
@given(
    case=cases(samples=(1, 40), units=(1, 9)),
    kernel=st.sampled_from(["gaussian", "gaussian_half", "window", "triangular"]),
    temperature=st.sampled_from([0.3, 1.2, 2.4]),
)
def test_a_step_is_the_neighbourhoods_mean(case: Case, kernel: str, temperature: float) -> None:
    k = len(case.codes)
    rows = max(n for n in range(1, 4) if k % n == 0)
    grid = ss.Grid(rows, k // rows)
    found = batch_update(stats_of(case.samples, case.codes), grid, kernel, temperature)
    delta = reference.hops(reference.grid_adjacency(rows, k // rows))
    expected = reference.batch_update(case.samples, case.codes, delta, kernel, temperature)
    # both average numbers of this size; the error of a mean is relative to it
    size = max(np.abs(np.asarray(case.samples, np.float64)).max(), np.abs(case.codes).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * size)


def test_an_epoch_is_one_step_from_the_first_codes() -> None:
    som = ss.train(VALUES, GRID, epochs=1, init="samples", temperature=(2.0, 2.0))
    longer = ss.train(VALUES, GRID, epochs=2, init="samples", temperature=(2.0, 2.0))
    delta = reference.hops(reference.grid_adjacency(4, 3, topology="hexagonal"))
    second = reference.batch_update(VALUES, som["codes"].values, delta, "gaussian", 2.0)
    np.testing.assert_allclose(longer["codes"], second, rtol=1e-12)
    errors = longer["quantization_error"]
    after_one = reference.quantization_error(VALUES, som["codes"].values)
    assert errors[1].item() == pytest.approx(after_one, rel=1e-12)
    assert errors[0].item() == som["quantization_error"][0].item()


def test_units_that_no_sample_reaches_keep_their_codes() -> None:
    samples = np.array([[0.0], [1.0]])
    codes = np.array([[0.0], [5.0], [7.0], [9.0]])
    updated = batch_update(stats_of(samples, codes), ss.Grid.chain(4), "window", 1.0)
    assert updated.tolist() == [[0.5], [0.5], [7.0], [9.0]]


def test_an_offset_costs_no_digit() -> None:
    center = np.full(D, 1e8)
    far = VALUES + center
    codes = far[:12]
    for kernel in ("gaussian", "triangular"):
        found = batch_update(stats_of(far, codes), GRID, kernel, 1.5) - center
        near = batch_update(stats_of(far - center, codes - center), GRID, kernel, 1.5)
        np.testing.assert_allclose(found, near, rtol=0, atol=3e-8)  # a float of 1e8 is no finer


def test_temperatures_fall_geometrically() -> None:
    som = ss.train(VALUES[:100], GRID, epochs=5)
    ratio = np.diff(np.log(som["temperature"]))
    np.testing.assert_allclose(ratio, ratio[0])
    assert som["temperature"][0] == max(1, GRID.max_distance / 2)
    assert som["temperature"][-1] == pytest.approx(1)
    given_by_hand = ss.train(VALUES[:100], GRID, epochs=3, temperature=(4, 1))["temperature"]
    assert given_by_hand.values == pytest.approx([4, 2, 1])


@pytest.mark.parametrize("init", ["plane", "samples"])
@pytest.mark.parametrize("kernel", ["gaussian", "triangular"])
def test_the_error_falls_on_digits(digits_map: Any, init: Any, kernel: str) -> None:
    samples, _ = digits_map
    som = ss.train(samples, ss.Grid(8, 8), epochs=10, init=init, kernel=kernel, seed=1)
    errors = som["quantization_error"].values
    assert errors[-1] < errors[0]
    found = ss.metrics.quantization_error(samples, som).item()
    mean = ss.codebook(samples.mean(axis=0)[None], ss.Grid(1, 1))
    assert found < 0.75 * ss.metrics.quantization_error(samples, mean).item()
    assert found <= errors[-1]
    assert ss.metrics.topographic_error(samples, som).item() < 0.3


# --- the same map


@pytest.fixture(scope="module")
def expected() -> xr.Dataset:
    return ss.train(VALUES, GRID, epochs=3, seed=7)


@pytest.mark.parametrize("chunks", [(N, D), (700, 3), (2048, 1), (37, D)])
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
def test_chunks_and_schedulers_change_no_bit(
    chunks: tuple[int, int], scheduler: str, expected: xr.Dataset, tmp_path: Path
) -> None:
    stored = zarr.create_array(tmp_path / "x.zarr", data=VALUES, chunks=chunks)
    with ss.set_options(scheduler=scheduler, workers=2):
        for samples in (stored, da.from_array(VALUES, chunks=chunks), tmp_path / "x.zarr"):
            xr.testing.assert_identical(ss.train(samples, GRID, epochs=3, seed=7), expected)


@pytest.mark.parametrize("init", ["plane", "samples"])
def test_the_seed_decides(init: Any) -> None:
    one, same, other = (
        ss.train(VALUES, GRID, epochs=1, init=init, seed=seed)["codes"].values for seed in (3, 3, 4)
    )
    assert one.tobytes() == same.tobytes()
    assert not np.array_equal(one, other)


# --- what comes back


def test_a_trained_map_says_how_it_was_made(tmp_path: Path) -> None:
    samples = xr.DataArray(
        VALUES,
        dims=("time", "station"),
        coords={"station": list("abcd"), "height": ("station", [1.0, 2, 3, 4])},
        attrs={"units": "K"},
    )
    som = ss.train(samples, GRID, epochs=2, seed=5)
    assert som["codes"].dims == ("unit", "station")
    assert som["station"].values.tolist() == list("abcd")
    assert som["height"].values.tolist() == [1, 2, 3, 4]
    assert som["codes"].attrs["units"] == som["quantization_error"].attrs["units"] == "K"
    assert json.loads(som.attrs["training"]) == {
        "epochs": 2,
        "seed": 5,
        "init": "plane",
        "kernel": "gaussian",
    }
    assert som["epoch"].values.tolist() == [0, 1]
    for name in ("quantization_error", "temperature", "epoch"):
        assert {"long_name", "units"} <= set(som[name].attrs)
    for name in ("map.zarr", "map.nc"):
        write_dataset(som, tmp_path / name)
        with open_dataset(tmp_path / name) as back:
            xr.testing.assert_identical(back.load(), som)
    assert ss.evaluate(samples, som)["hits"].sum() == N


def test_samples_in_dask_give_a_computed_map() -> None:
    som = ss.train(da.from_array(VALUES, chunks=(700, 2)), GRID, epochs=1)
    assert not som.chunks


# --- awkward samples


@pytest.mark.parametrize("init", ["plane", "samples"])
@pytest.mark.parametrize("grid", [ss.Grid(1, 1), ss.Grid(3, 4), ss.Grid.chain(5)], ids=repr)
@pytest.mark.parametrize(
    "samples",
    [
        np.full((300, 3), 0.1),
        np.array([[1.0, 2.0, 3.0]]),
        VALUES[:40, :1],
        VALUES[:7],
        VALUES[:40] * 1e150,
        VALUES[:40] * 1e-150,
        VALUES[:40].astype(np.float32),
        (VALUES[:40] * 100).astype(np.int16),
    ],
    ids=["constant", "one", "D=1", "K>N", "large", "small", "float32", "int16"],
)
def test_awkward_samples_give_finite_codes_among_them(
    samples: NDArray[Any], grid: ss.Grid, init: Any
) -> None:
    som = ss.train(samples, grid, epochs=4, init=init)
    codes, values = som["codes"].values, samples.astype(np.float64)
    assert codes.shape == (grid.size, samples.shape[1])
    slack = 1e-12 * np.abs(values).max()
    assert (codes >= values.min(axis=0) - slack).all()
    assert (codes <= values.max(axis=0) + slack).all()


def test_training_meets_the_graph_of_a_user() -> None:
    star = ss.Grid.from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)])
    som = ss.train(VALUES[:200], star, epochs=3)
    table = ss.Grid.from_distances(star.distances())
    again = ss.train(VALUES[:200], table, epochs=3)
    np.testing.assert_array_equal(som["codes"], again["codes"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"epochs": 0}, "epochs is an integer of at least 1, not 0"),
        ({"epochs": 1.5}, "epochs is an integer of at least 1, not 1.5"),
        ({"seed": -1}, "seed is an integer of at least 0, not -1"),
        ({"seed": "x"}, "seed is an integer of at least 0, not 'x'"),
        ({"init": "pca"}, "init is 'plane' or 'samples', not 'pca'"),
        ({"kernel": "gauss"}, "did you mean 'gaussian'"),
        ({"temperature": (1.0, 2.0)}, "falls from its first value to its last"),
        ({"temperature": (1.0, 0.0)}, "is positive and falls"),
        ({"temperature": (np.inf, 1.0)}, "is positive and falls"),
        ({"temperature": 3}, "temperature is a pair .first, last., not 3"),
        ({"temperature": (3,)}, "temperature is a pair"),
        ({"grid": (3, 4)}, "is a tuple, not a Grid"),
        ({"samples": VALUES[0]}, "reshape one feature"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    asked = {"samples": VALUES, "grid": GRID, **arguments}
    with pytest.raises(InputError, match=complaint):
        ss.train(asked.pop("samples"), asked.pop("grid"), **asked)


@pytest.mark.parametrize("name", ["unit", "epoch"])
def test_features_whose_names_the_map_needs_are_refused(name: str) -> None:
    samples = xr.DataArray(VALUES, dims=("time", name))
    with pytest.raises(InputError, match=f"'{name}'.*rename"):
        ss.train(samples, GRID)


def test_faulty_samples_are_named_wherever_they_are() -> None:
    values = VALUES.copy()
    values[[10, 4990], 2] = np.nan
    with pytest.raises(SampleValueError, match=r"nan at sample 10, feature 2 \(2 samples are"):
        ss.train(values, GRID)
    with pytest.raises(SampleValueError, match="infinity at sample 0, feature 0"):
        ss.train(np.full((5, 2), np.inf), GRID)


def test_a_budget_too_small_is_refused() -> None:
    with (
        ss.set_options(memory_budget="1MiB"),
        pytest.raises(MemoryBudgetError, match="needs at least"),
    ):
        ss.train(VALUES, GRID)


@pytest.mark.parametrize("init", ["plane", "samples"])
def test_first_codes_are_spread_where_features_and_samples_are_missing(init: Any) -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((600, 5))
    whole = samples.copy()
    samples[:, 3] = np.nan
    samples[::7] = np.nan
    taken = np.arange(600) % 5 > 0
    samples[~taken] = np.inf
    som = ss.train(
        samples, ss.Grid(3, 3), epochs=1, init=init, missing="drop", mask=(taken, np.arange(5) < 4)
    )
    codes = som["codes"].values
    assert np.isnan(codes[:, 3:]).all()
    assert som["quantization_error"][0] < 1.5
    assert np.linalg.matrix_rank(codes[:, :3] - codes[:, :3].mean(axis=0)) >= 2
    kept = taken & (np.arange(600) % 7 > 0)
    q = ss.evaluate(whole[kept][:, :3], ss.codebook(codes[:, :3], ss.Grid(3, 3)))
    assert q["value"].sel(metric="dead_units") < 9

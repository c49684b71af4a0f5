"""Training: the batch rule as defined, the same map whatever the chunks, any samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import reference
import reference_training
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import Case, cases

import somscale as ss
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers import peek as peek_module
from somscale.engine.readers.peek import draw_rows
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, MemoryBudgetError, SampleValueError
from somscale.reductions.units import UnitsReduction
from somscale.store import open_dataset, write_dataset
from somscale.training.batch import batch_step
from somscale.training.first_codes import first_codes
from somscale.training.order import RUN_ROWS, pools
from somscale.training.passes import Material
from somscale.training.plane import find_plane

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
    found = batch_step(stats_of(case.samples, case.codes), grid, kernel, temperature).codes
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


@settings(max_examples=100)
@given(case=cases(samples=(1, 60), units=(1, 12)), weighted=st.booleans())
def test_the_best_unit_alone_is_the_best_of_two(case: Case, weighted: bool) -> None:
    found = []
    for second in (True, False):
        asked: dict[str, Any] = {"samplewise": True, "second": second}
        if weighted:
            asked["feature_weights"] = np.arange(case.codes.shape[1])[::-1] + 1.0
        reduction = UnitsReduction(case.codes, **asked)
        source = ArraySource(case.samples)
        found += run_job(LinearJob([reduction], *case.samples.shape, source=source))
    both, one = found
    np.testing.assert_array_equal(one.bmu, both.bmu)
    for name in ("hits", "squares", "distances", "residuals"):
        np.testing.assert_array_equal(getattr(one, name), getattr(both, name))
    assert (one.second_bmu == -1).all()
    assert not len(one.counts)


def test_units_that_no_sample_reaches_keep_their_codes() -> None:
    samples = np.array([[0.0], [1.0]])
    codes = np.array([[0.0], [5.0], [7.0], [9.0]])
    updated = batch_step(stats_of(samples, codes), ss.Grid.chain(4), "window", 1.0).codes
    assert updated.tolist() == [[0.5], [0.5], [7.0], [9.0]]


def test_an_offset_costs_no_digit() -> None:
    center = np.full(D, 1e8)
    far = VALUES + center
    codes = far[:12]
    for kernel in ("gaussian", "triangular"):
        found = batch_step(stats_of(far, codes), GRID, kernel, 1.5).codes - center
        near = batch_step(stats_of(far - center, codes - center), GRID, kernel, 1.5).codes
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


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_a_given_map_goes_on_from_where_it_stopped(shape: tuple[int, int]) -> None:
    grid = ss.Grid(*shape)
    som = ss.train(VALUES, grid, epochs=2, temperature=(2, 2))
    three = ss.train(VALUES, grid, epochs=3, temperature=(2, 2))
    for init in (som, som["codes"], som["codes"].values, som["codes"].values.tolist()):
        again = ss.train(VALUES, grid, epochs=1, temperature=(2, 2), init=init)
        np.testing.assert_array_equal(again["codes"], three["codes"])


@settings(max_examples=30)
@given(
    n=st.integers(1, 25),
    gaps=st.floats(0, 0.6),
    kernel=st.sampled_from(["gaussian", "gaussian_half", "window", "triangular"]),
    weighted=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_both_rules_are_those_of_the_articles(
    n: int, gaps: float, kernel: str, weighted: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n, 3))
    samples[rng.random(samples.shape) < gaps] = np.nan
    samples[0] = 1, 2, 3  # every feature has a value
    samples = samples[~np.isnan(samples).all(axis=1)]
    codes = rng.standard_normal((6, 3))
    grid, delta = ss.Grid(2, 3), reference.hops(reference.grid_adjacency(2, 3))
    weights: dict[str, Any] = {}
    if weighted:
        weights["feature_weights"] = rng.random(3) + 0.1
        weights["sample_weights"] = rng.random(len(samples)) + 0.1
    asked = {"init": codes, "epochs": 1, "kernel": kernel, "missing": "partial", **weights}
    som = ss.train(samples, grid, temperature=(1.5, 1.5), **asked)
    expected, error, distortion = reference_training.batch_epoch(
        samples, codes, delta, kernel, 1.5, **weights
    )
    np.testing.assert_allclose(som["codes"], expected, rtol=1e-10, atol=1e-12)
    assert som["quantization_error"].item() == pytest.approx(error, rel=1e-10)
    assert som["distortion"].item() == pytest.approx(distortion, rel=1e-9)
    ends = {"temperature": (2.0, 0.5), "learning_rate": (0.9, 0.1)}
    som = ss.train(samples, grid, algorithm="stochastic", seed=seed, **ends, **asked)
    ((_, _, order),) = pools(*samples.shape, seed, 0)
    shares = np.arange(1, len(samples) + 1) / len(samples)
    expected = reference_training.stochastic_epoch(
        samples, order, codes, delta, kernel, 2 * 0.25**shares, 0.9 * (1 / 9) ** shares, **weights
    )
    np.testing.assert_allclose(som["codes"], expected, rtol=1e-9, atol=1e-12)


def test_without_gaps_partial_distances_are_distances() -> None:
    for algorithm in ("batch", "stochastic"):
        asked: dict[str, Any] = {"algorithm": algorithm, "epochs": 2}
        som = ss.train(VALUES, GRID, **asked)
        partial = ss.train(VALUES, GRID, missing="partial", **asked)
        np.testing.assert_allclose(partial["codes"], som["codes"], rtol=1e-12)
        np.testing.assert_allclose(partial["distortion"], som["distortion"], rtol=1e-9)


def test_the_distortion_is_the_index() -> None:
    som = ss.train(VALUES, GRID, epochs=3, init="samples")
    after = ss.train(VALUES, GRID, epochs=1, init=som, temperature=(1.5, 1.5))
    expected = ss.metrics.distortion(VALUES, som, temperature=1.5).item()
    assert after["distortion"].item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("weights", [None, np.arange(N) % 3])
@pytest.mark.parametrize("shape", [(N, D), (30, 3000)])
def test_the_plane_is_that_of_all_samples(shape: tuple[int, int], weights: Any) -> None:
    rng = np.random.default_rng(2)
    samples = VALUES * [1, 5, 2, 1] if shape[0] == N else rng.random(shape) * rng.random(shape[1])
    weights = None if weights is None else weights[: len(samples)]
    material = Material(open_samples(samples, sample_weights=weights))
    found = find_plane(material, samples[:9], samples[:9].mean(axis=0))
    mean, axes, spread = reference_training.plane(samples, weights)
    assert found.source == "all samples"
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.spread, spread, rtol=1e-9)
    np.testing.assert_allclose(found.axes, axes, rtol=1e-6, atol=1e-8)


def test_training_stops_where_nothing_changes() -> None:
    som = ss.train(VALUES, GRID, epochs=30, temperature=(1, 1), tolerance=1e-3)
    told = json.loads(som.attrs["training"])
    n = told["epochs_run"]
    assert 1 < n < 30
    assert som.sizes["epoch"] == n
    errors, changes = som["quantization_error"].values, som["code_change"].values
    assert changes[-1] <= 1e-3 * errors[-1] or abs(errors[-1] - errors[-2]) <= 1e-3 * errors[-1]
    assert (changes[1:-1] > 1e-3 * errors[1:-1]).all()
    whole = ss.train(VALUES, GRID, epochs=n, temperature=(1, 1))
    np.testing.assert_array_equal(som["codes"], whole["codes"])


def test_a_linear_schedule_falls_evenly() -> None:
    som = ss.train(VALUES[:100], GRID, epochs=3, temperature=(4, 1), schedule="linear")
    assert som["temperature"].values.tolist() == [4, 2.5, 1]


def test_an_epoch_takes_every_row_once_and_in_an_order_of_its_own() -> None:
    n_rows, n_features = 3 * RUN_ROWS + 5, 3000
    orders = []
    for epoch in (0, 1):
        taken = []
        for starts, stops, order in pools(n_rows, n_features, 1, epoch):
            rows = np.concatenate([np.arange(*ends) for ends in zip(starts, stops, strict=True)])
            taken += rows[order].tolist()
        assert sorted(taken) == list(range(n_rows))
        orders.append(taken)
    assert orders[0] != orders[1]


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


@pytest.mark.parametrize("algorithm", ["batch", "stochastic"])
@pytest.mark.parametrize("n_features", [D, 300])
def test_chunks_change_no_bit_of_a_map_with_gaps(
    algorithm: Any, n_features: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    values = VALUES if n_features == D else rng.random((90, n_features))
    values = np.where(rng.random(values.shape) < 0.2, np.nan, values)
    asked: dict[str, Any] = {"algorithm": algorithm, "epochs": 2, "missing": "partial"}
    asked["sample_weights"] = rng.random(len(values))
    expected = ss.train(values, GRID, **asked)
    stored = zarr.create_array(tmp_path / "x.zarr", data=values, chunks=(37, 3))
    for samples in (stored, da.from_array(values, chunks=(700, 2))):
        with ss.set_options(scheduler="threads", workers=2):
            xr.testing.assert_identical(ss.train(samples, GRID, **asked), expected)


@pytest.mark.parametrize("init", ["plane", "samples"])
def test_the_seed_decides(init: Any) -> None:
    one, same, other = (
        ss.train(VALUES, GRID, epochs=1, init=init, seed=seed)["codes"].values for seed in (3, 3, 4)
    )
    assert one.tobytes() == same.tobytes()
    assert not np.array_equal(one, other)


def test_first_samples_are_different_and_from_anywhere(tmp_path: Path) -> None:
    n_rows = 20_000
    values = np.arange(n_rows, dtype=np.float64)[:, None] * [1.0, -1.0]
    samples = open_samples(values)
    drawn = draw_rows(samples, 12, np.random.default_rng(5))
    assert len(np.unique(drawn[:, 0])) == 12
    # a sorted archive: every tenth of it is as likely as any other
    many = [draw_rows(samples, 12, np.random.default_rng(seed))[:, 0] for seed in range(40)]
    counts = np.histogram(np.concatenate(many), bins=10, range=(0, n_rows))[0]
    assert counts.min() > 20
    stored = zarr.create_array(tmp_path / "x.zarr", data=values, chunks=(999, 1))
    lazy = da.from_array(values, chunks=(700, 2))
    for other in (stored, lazy, values.astype(np.int32)):
        again = draw_rows(open_samples(other), 12, np.random.default_rng(5))
        np.testing.assert_array_equal(again, drawn)


def test_first_samples_pass_by_what_takes_no_part() -> None:
    values = VALUES.copy()
    taken = np.arange(N) % 50 == 0
    values[~taken] = np.inf
    values[::100, 1] = np.nan
    samples = open_samples(values, mask=taken, missing="drop_any_sample")
    drawn = draw_rows(samples, 40, np.random.default_rng(0))
    assert len(drawn) == len(np.unique(drawn[:, 0])) == 40
    assert np.isin(drawn[:, 0], VALUES[50::100, 0]).all()
    every = draw_rows(samples, 1000, np.random.default_rng(0))
    assert sorted(every[:, 0]) == sorted(VALUES[50::100, 0])
    nothing = open_samples(np.full((5, 2), np.nan), missing="drop_any_sample")
    assert draw_rows(nothing, 3, np.random.default_rng(0)).tolist() == [[0.0, 0.0]]


def test_drawing_from_dask_holds_few_blocks_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = da.from_array(VALUES, chunks=(100, D))
    asked: list[int] = []
    compute = dask.compute

    def watched(inputs: Any) -> Any:
        asked.append(len(inputs))
        return compute(inputs)

    monkeypatch.setattr(dask, "compute", watched)
    monkeypatch.setattr(peek_module, "_BLOCK_BYTES", 10 * 100 * D * 8)
    drawn = draw_rows(open_samples(lazy), 60, np.random.default_rng(0))
    rows = np.flatnonzero(np.isin(VALUES[:, 0], drawn[:, 0]))
    assert len(asked) == -(-len(np.unique(rows // 100)) // 10) > 1
    plain = draw_rows(open_samples(VALUES), 60, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, plain)


def test_units_beyond_the_samples_begin_at_samples_again() -> None:
    codes = first_codes(Material(open_samples(VALUES[:5])), GRID, "samples", 0).codes
    assert len(codes) == GRID.size
    np.testing.assert_array_equal(np.unique(codes, axis=0), np.unique(VALUES[:5], axis=0))


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
        "algorithm": "batch",
        "epochs": 2,
        "epochs_run": 2,
        "feature_weights": None,
        "seed": 5,
        "init": "plane",
        "init_from": "all samples",
        "kernel": "gaussian",
        "missing": "raise",
        "schedule": "geometric",
        "temperature": [2.0, 1.0],
        "tolerance": None,
    }
    assert som["epoch"].values.tolist() == [0, 1]
    for name in ("quantization_error", "distortion", "temperature", "code_change", "epoch"):
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
        ({"init": "pca"}, "init is 'plane', 'samples', an array of codes or a map, not 'pca'"),
        ({"init": 3}, "an array of codes or a map, not a int"),
        ({"init": VALUES[:7]}, r"weights have shape .7, 4.; a grid of 12 units"),
        ({"init": VALUES[:12, :3]}, "the map has 3 features and the samples have 4"),
        ({"init": np.full((12, 4), np.inf)}, "hold inf at unit 0"),
        ({"init": ss.codebook(VALUES[:4], ss.Grid(2, 2))}, "init has 4 units and the grid 12"),
        ({"algorithm": "online"}, "algorithm is 'batch' or 'stochastic', not 'online'"),
        ({"schedule": "cosine"}, "schedule is 'geometric' or 'linear', not 'cosine'"),
        ({"kernel": "mexican_hat"}, "trains no map: its weights are negative"),
        ({"learning_rate": (0.5, 0.1)}, "the batch rule has none"),
        ({"learning_rate": (2, 0.1), "algorithm": "stochastic"}, "at most 1, not 2"),
        ({"tolerance": -1}, "tolerance is a number of at least 0"),
        ({"missing": "fill"}, "missing is one of"),
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


def test_a_feature_that_nobody_has_and_samples_that_have_nothing_take_no_part() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((60, 4))
    samples[::3, 0] = np.nan
    samples[:, 2] = np.nan
    samples[::7] = np.nan
    for algorithm in ("batch", "stochastic"):
        asked: dict[str, Any] = {"algorithm": algorithm, "missing": "partial", "epochs": 2}
        som = ss.train(samples, ss.Grid(2, 3), **asked)
        assert np.isnan(som["codes"].values).all(axis=0).tolist() == [False, False, True, False]
        asked["init"] = som
        again = ss.train(samples, ss.Grid(2, 3), **asked)
        assert np.isfinite(again["codes"].values[:, [0, 1, 3]]).all()
        with pytest.raises(SampleValueError, match="no sample is left: all 5 are missing"):
            ss.train(np.full((5, 2), np.nan), GRID, algorithm=algorithm, missing="partial")
        with pytest.raises(SampleValueError, match="infinity at sample 3"):
            ss.train(
                np.where(np.arange(5)[:, None] == 3, np.inf, np.eye(5)),
                GRID,
                **asked | {"init": "plane"},
            )


def test_maps_that_say_little_say_so() -> None:
    few = ss.train(VALUES[:5], GRID, epochs=2)
    assert "more units (12) than there are samples (5)" in few.attrs["note"]
    same = ss.train(np.full((50, 3), 0.1), GRID, epochs=2)
    assert "all samples that take part are equal" in same.attrs["note"]
    assert "note" not in ss.train(VALUES, GRID, epochs=1).attrs

"""The units reduction: every field against its definition, and faulty samples."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits
from strategies import KINDS, Case, cases

from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SampleValueError
from somscale.reductions.base import Field, Partial, Rows, Workspace
from somscale.reductions.names import AxisNames, EntryNames
from somscale.reductions.units import UnitsReduction, UnitStats
from somscale.topology import Grid

each_kind = pytest.mark.parametrize("kind", KINDS)


def run(reduction: Any, samples: ArrayLike) -> Any:
    """What a pass over samples in memory finds."""
    values = np.asarray(samples)
    n, d = values.shape
    return run_job(LinearJob([reduction], n, d, source=ArraySource(values)))[0]


def units(samples: ArrayLike, codes: ArrayLike, tile_rows: int = 8, **arguments: Any) -> UnitStats:
    reduction = UnitsReduction(np.asarray(codes, np.float64), samplewise=True, **arguments)
    reduction.tile_rows = tile_rows
    stats: UnitStats = run(reduction, samples)
    return stats


def assert_close_sums(found: NDArray[Any], expected: NDArray[Any], sizes: NDArray[Any]) -> None:
    """Equal but for the rounding of at most 60 additions of terms with these sums of sizes."""
    assert found.dtype == np.float64
    np.testing.assert_array_less(np.abs(found - expected), 60 * 2.0**-53 * sizes + 1e-320)


# --- every field


@each_kind
@settings(max_examples=20)
@given(data=st.data(), tile_rows=st.sampled_from([1, 8, 2048]))
def test_every_field_is_what_it_is_defined_to_be(
    kind: str, data: st.DataObject, tile_rows: int
) -> None:
    case = data.draw(cases([kind]))
    stats = units(case.samples, case.codes, tile_rows)
    check_counts(stats, case)
    check_samples(stats, case)
    check_sums(stats, case)


def check_counts(stats: UnitStats, case: Case) -> None:
    assert (stats.n_units, stats.n_features) == case.codes.shape
    assert stats.n_samples == len(case.samples)
    for array in (stats.hits, stats.first, stats.second, stats.counts):
        assert array.dtype == np.int64
    np.testing.assert_array_equal(stats.codes, case.codes)
    np.testing.assert_array_equal(stats.hits, reference.hits(case.samples, case.codes))
    pairs = zip(stats.first.tolist(), stats.second.tolist(), strict=True)
    found = dict(zip(pairs, stats.counts.tolist(), strict=True))
    assert found == reference.pair_counts(case.samples, case.codes)
    assert len(found) == len(stats.counts)


def check_samples(stats: UnitStats, case: Case) -> None:
    assert stats.bmu is not None
    assert stats.second_bmu is not None
    assert stats.distance is not None
    assert stats.bmu.dtype == stats.second_bmu.dtype == np.int32
    best, second = reference.best_two(case.samples, case.codes)
    np.testing.assert_array_equal(stats.bmu, best)
    np.testing.assert_array_equal(stats.second_bmu, second)
    squares = reference.smallest_squares(case.samples, case.codes)
    np.testing.assert_array_equal(stats.distance, np.sqrt(squares))


def check_sums(stats: UnitStats, case: Case) -> None:
    squares = reference.unit_squares(case.samples, case.codes)
    assert_close_sums(stats.squares, squares, squares)
    distances = reference.unit_distances(case.samples, case.codes)
    assert_close_sums(stats.distances, distances, distances)
    best, _ = reference.best_two(case.samples, case.codes)
    sizes = np.zeros(case.codes.shape)
    np.add.at(sizes, best, np.abs(case.samples - case.codes[best]))
    residuals = reference.unit_residuals(case.samples, case.codes)
    assert_close_sums(stats.residuals, residuals, sizes)


def test_a_map_that_fits_loses_no_digits() -> None:
    rng = np.random.default_rng(4)
    codes = rng.standard_normal((5, 3)) + 1e3
    samples = codes[rng.integers(0, 5, 50)] + 1e-6 * rng.standard_normal((50, 3))
    mean_square = units(samples, codes).squares.sum() / 50
    expected = reference.quantization_error(samples, codes, "squared")
    assert mean_square == pytest.approx(expected, rel=1e-14)


def test_equal_rows_are_at_distance_zero() -> None:
    stats = units(np.array([[0.1, 0.8, 0.8]] * 3), [[0.1, 0.8, 0.8], [5.0, 5.0, 5.0]])
    assert stats.distance is not None
    assert stats.distance.tolist() == [0, 0, 0]


def test_a_map_of_one_unit_has_no_second_best() -> None:
    stats = units([[0.0], [3.0]], [[1.0]])
    assert stats.second_bmu is not None
    assert stats.second_bmu.tolist() == [-1, -1]
    assert (stats.hits.tolist(), stats.counts.tolist()) == ([2], [])
    assert (stats.residuals.tolist(), stats.squares.tolist()) == ([[1]], [5])


def test_values_of_samples_are_kept_only_when_asked_for() -> None:
    stats = run(UnitsReduction(np.array([[0.0], [1.0]])), [[0.2], [0.9]])
    assert stats.bmu is stats.second_bmu is stats.distance is None
    assert stats.hits.tolist() == [1, 1]


def test_many_open_comparisons_are_settled_all_the_same() -> None:
    """A map far from its own centre's rounding: single precision sees nothing but ties."""
    rng = np.random.default_rng(5)
    codes = 1 + 1e-9 * rng.standard_normal((40, 3))
    codes[0] = 1e4
    samples = 1 + 1e-9 * rng.standard_normal((60, 3))
    check_samples(units(samples, codes), Case("close", samples, codes))


class PublishedHits:
    """A later reduction of the same pass that counts the units the first one published."""

    name = "published"
    tile_rows: int | None = None
    sweeps = 0
    operations = 1.0
    workspace = Workspace()

    def __init__(self, n_units: int) -> None:
        self.fields = {"hits": Field("sum", "int64", (n_units,))}

    def begin(self, rows: Rows, partial: Partial) -> tuple[Rows, Partial]:
        return rows, partial

    def wants(self, sweep: int, state: Any) -> bool:
        return False

    def sweep(self, sweep: int, state: Any, first_feature: int, values: Any) -> None:
        raise AssertionError("this reduction asks for no sweep")

    def end(self, state: tuple[Rows, Partial]) -> None:
        rows, partial = state
        np.add.at(partial["hits"], rows.column("units"), 1)

    def finalize(self, total: Partial) -> Any:
        return total["hits"]


def test_best_units_are_published_to_later_reductions() -> None:
    rng = np.random.default_rng(6)
    samples, codes = rng.standard_normal((50, 2)), rng.standard_normal((7, 2))
    first = UnitsReduction(codes)
    first.tile_rows = 8
    job = LinearJob([first, PublishedHits(7)], 50, 2, source=ArraySource(samples))
    stats, hits = run_job(job)
    np.testing.assert_array_equal(hits, stats.hits)


def test_a_pickled_reduction_gives_the_same_bits() -> None:
    rng = np.random.default_rng(7)
    samples, codes = rng.standard_normal((50, 2)), rng.standard_normal((7, 2))
    reduction = UnitsReduction(codes)
    before = run(reduction, samples)
    after = run(pickle.loads(pickle.dumps(reduction)), samples)
    assert before.residuals.tobytes() == after.residuals.tobytes()


# --- samples no index can be computed from

FAULTS = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "a value too large to square": 1e300,
}
MENDING = "drop or fill such samples first"
MENDING_NAN = (
    "drop or fill such values: there are 0 features missing in every sample, 0 samples missing "
    "in every feature, and 4 isolated missing values in 3 samples; give "
    "missing='drop_any_sample' or missing='drop_any_feature', or missing='partial' where a map is "
    "trained or judged"
)


def faulty_samples(*entries: tuple[int, int, float]) -> NDArray[np.float64]:
    samples = np.random.default_rng(8).standard_normal((40, 3))
    for sample, feature, value in entries:
        samples[sample, feature] = value
    return samples


@pytest.mark.parametrize("n_units", [1, 2, 5])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_faulty_entry_is_named(fault: str, n_units: int) -> None:
    value = FAULTS[fault]
    samples = faulty_samples((33, 0, value), (17, 2, value), (17, 1, value), (20, 0, value))
    codes = np.random.default_rng(9).standard_normal((n_units, 3))
    with pytest.raises(SampleValueError) as caught:
        units(samples, codes)
    assert str(caught.value) == (
        f"the samples hold {fault.removeprefix('minus ')} at sample 17, feature 1 "
        f"(3 samples are affected); {MENDING_NAN if fault == 'nan' else MENDING}"
    )
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_the_first_of_several_kinds_is_named(order: tuple[int, ...]) -> None:
    values = [list(FAULTS.values())[kind] for kind in (0, 1, 3)]
    names = ["nan", "infinity", "a value too large to square"]
    entries = [(sample, 2, values[kind]) for sample, kind in zip((11, 12, 30), order, strict=True)]
    with pytest.raises(SampleValueError, match=f"hold {names[order[0]]} at sample 11, feature 2"):
        units(faulty_samples(*entries), np.eye(3))


def test_errors_use_the_words_of_the_user() -> None:
    stations = AxisNames(("station",), labels={"station": np.array(["Oslo", "Bergen", "Tromsø"])})
    names = EntryNames(AxisNames(("time",)), stations)
    with pytest.raises(SampleValueError, match=r"nan at time 5, station 1 \(Bergen\) \(1 sample"):
        units(faulty_samples((5, 1, math.nan)), np.eye(3), names=names)


def test_a_distance_that_overflows_without_a_faulty_entry_is_refused() -> None:
    samples = np.ones((3, 40))
    samples[1] = 3e153
    with pytest.raises(SampleValueError, match="1 sample is so far from the map"):
        units(samples, np.zeros((2, 40)))


@pytest.mark.parametrize("value", [1e150, -3e153])
def test_large_values_that_can_be_squared_are_none_of_the_faults(value: float) -> None:
    samples = faulty_samples((7, 1, value))
    check_samples(units(samples, np.eye(3)), Case("large", samples, np.eye(3)))


# --- the reference itself

GOLDEN_TEMPERATURES = [
    ("gaussian", 1.0, 16.138912579776203, 1e-12),
    ("gaussian", 2.0, 60.716151161652014, 1e-12),
    ("window", 1.0, 36.229014503338895, 1e-12),
    ("gaussian_half", 1.0, 32.005401, 5e-7),
]


@pytest.fixture(scope="module")
def digits() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples and codes whose values two programs agree on: SOMperf 0.2b0 and plain numpy."""
    samples = load_digits().data / 16
    return samples, samples[np.random.default_rng(0).permutation(1797)][:64]


def test_reference_gives_the_golden_errors(digits: Any) -> None:
    samples, codes = digits
    error = reference.quantization_error
    assert error(samples, codes) == pytest.approx(1.5708442996824232, rel=1e-14)
    assert error(samples, codes, "squared") == pytest.approx(2.703923, abs=5e-7)
    assert error(samples, codes, "rms") == pytest.approx(math.sqrt(2.703923), abs=5e-7)
    assert reference.explained_variance(samples, codes) == pytest.approx(0.423873, abs=5e-7)


def test_reference_gives_the_golden_topographic_errors(digits: Any) -> None:
    samples, codes = digits
    tables = [
        reference.grid_adjacency(8, 8),
        reference.grid_adjacency(8, 8, neighbors=8),
        reference.grid_adjacency(8, 8, topology="hexagonal"),
    ]
    errors = [reference.topographic_error(samples, codes, table) for table in tables]
    assert errors[0] == pytest.approx(0.9193099610461881, rel=1e-14)
    assert errors[1:] == pytest.approx([0.847524, 0.898164], abs=5e-7)
    asked = reference.topographic_error(samples, codes, lambda i, j: bool(tables[1][i, j]))
    assert asked == errors[1]


@pytest.mark.parametrize(("kernel", "temperature", "expected", "within"), GOLDEN_TEMPERATURES)
def test_reference_gives_the_golden_distortions(
    digits: Any, kernel: str, temperature: float, expected: float, within: float
) -> None:
    samples, codes = digits
    manhattan = reference.hops(reference.grid_adjacency(8, 8))
    found = reference.distortion(samples, codes, manhattan, kernel, temperature)
    assert found == pytest.approx(expected, abs=within)


def test_reference_gives_the_golden_decomposition(digits: Any) -> None:
    samples, codes = digits
    manhattan = reference.hops(reference.grid_adjacency(8, 8))
    parts = reference.distortion_parts(samples, codes, manhattan, "gaussian", 1.0)
    assert parts == pytest.approx((4.263637, 3.458282, 8.416993), abs=5e-7)
    assert math.fsum(parts) == pytest.approx(16.138912579776203, rel=1e-13)


@pytest.mark.parametrize("wrap", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
@pytest.mark.parametrize(("neighbors", "offset"), [(4, "odd"), (8, "even")])
def test_reference_maps_are_those_of_a_grid(
    wrap: tuple[bool, bool], topology: Any, neighbors: int, offset: Any
) -> None:
    shape: dict[str, Any] = {"topology": topology, "offset": offset}
    periodic: Any = wrap[0] if wrap[0] == wrap[1] else ("rows" if wrap[0] else "cols")
    count = 6 if topology == "hexagonal" else neighbors
    grids = {
        delta: Grid(4, 5, periodic=periodic, neighbors=count, delta=delta, **shape)
        for delta in ("hops", "euclidean", "max")
    }
    steps = reference.hops(reference.grid_adjacency(4, 5, wrap=wrap, neighbors=neighbors, **shape))
    np.testing.assert_array_equal(grids["hops"].distances(), steps)
    norms: list[Any] = ["euclidean", "max"]
    for norm in norms:
        expected = reference.image_distances(4, 5, wrap=wrap, norm=norm, **shape)
        np.testing.assert_allclose(grids[norm].distances(), expected, rtol=1e-14)


def test_units_reduction_gives_the_golden_errors(digits: Any) -> None:
    samples, codes = digits
    stats = units(samples, codes, tile_rows=2048)
    assert stats.distances.sum() / 1797 == pytest.approx(1.5708442996824232, rel=1e-14)
    assert stats.squares.sum() / 1797 == pytest.approx(2.703923, abs=5e-7)
    adjacent = reference.grid_adjacency(8, 8)[stats.first, stats.second]
    assert stats.counts[~adjacent].sum() / 1797 == pytest.approx(0.9193099610461881, rel=1e-14)


def test_reference_batch_update_is_the_weighted_mean_of_the_samples() -> None:
    samples, codes = np.array([[0.0], [1.0], [4.0]]), np.array([[0.0], [3.0], [9.0]])
    chain = reference.hops(reference.grid_adjacency(1, 3))
    alone = reference.batch_update(samples, codes, chain, "window", 0.5)
    assert alone.tolist() == [[0.5], [4], [9]]
    shared = reference.batch_update(samples, codes, chain, "window", 1)
    assert shared.ravel().tolist() == pytest.approx([5 / 3, 5 / 3, 4])

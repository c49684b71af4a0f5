"""Indices of a map against their definitions: golden values, pitfalls, identities, any input."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import Case, cases

import somscale as ss
from somscale import metrics
from somscale.engine.blas import single_threaded_blas

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ROUNDING = 1e-12
"""Sums of some tens of samples, units and features: some hundred roundings of 1.1e-16."""
TINY = 1e-320
"""Where squares are subnormal, a rounding is no longer relative."""


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Hold BLAS for all passes here: taking it anew for each costs more than the pass."""
    with single_threaded_blas():
        yield


# --- golden values: SOMperf 0.2b0 and plain numpy agree on them (digits, 64 samples as codes)

GOLDEN_DISTORTIONS = [
    ("gaussian", 1.0, 16.138912579776203, 1e-13),
    ("gaussian", 2.0, 60.716151161652014, 1e-13),
    ("window", 1.0, 36.229014503338895, 1e-13),
    ("gaussian_half", 1.0, 32.005401, 2e-8),
]


def test_golden_quantization_errors(digits_map: Any) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    error = metrics.quantization_error
    assert error(samples, som).item() == pytest.approx(1.5708442996824232, rel=1e-14)
    assert error(samples, som, kind="squared").item() == pytest.approx(2.703923, abs=5e-7)
    assert error(samples, som, kind="rms").item() == pytest.approx(math.sqrt(2.703923), abs=2e-7)
    assert metrics.explained_variance(samples, som).item() == pytest.approx(0.423873, abs=5e-7)


@pytest.mark.parametrize(
    ("grid", "neighborhood", "expected"),
    [
        (ss.Grid(8, 8), None, 0.9193099610461881),
        (ss.Grid(8, 8, neighbors=8), "edge", 0.9193099610461881),
        (ss.Grid(8, 8), "vertex", 0.847524),
        (ss.Grid(8, 8, neighbors=8), None, 0.847524),
        (ss.Grid(8, 8, topology="hexagonal"), None, 0.898164),
        (ss.Grid(8, 8, topology="hexagonal", delta="euclidean"), None, 0.898164),
    ],
    ids=repr,
)
def test_golden_topographic_errors(
    digits_map: Any, grid: ss.Grid, neighborhood: Any, expected: float
) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, grid)
    found = metrics.topographic_error(samples, som, neighborhood=neighborhood)
    assert found.item() == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("kernel", "temperature", "expected", "within"), GOLDEN_DISTORTIONS)
def test_golden_distortions(
    digits_map: Any, kernel: str, temperature: float, expected: float, within: float
) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    found = metrics.distortion(samples, som, temperature=temperature, kernel=kernel)
    assert found.item() == pytest.approx(expected, rel=within)


def test_golden_decomposition(digits_map: Any) -> None:
    samples, codes = digits_map
    parts = metrics.distortion_parts(samples, ss.codebook(codes, ss.Grid(8, 8)))
    assert parts["part"].values.tolist() == ["within", "bias", "neighborhood"]
    assert parts.values == pytest.approx([4.263637, 3.458282, 8.416993], abs=5e-7)
    assert parts.sum().item() == pytest.approx(16.138912579776203, rel=1e-13)


# --- pitfalls


def chain(*codes: float) -> Any:
    return ss.codebook(np.array(codes)[:, None], ss.Grid.chain(len(codes)))


def test_a_mean_is_not_the_mean_of_chunk_means() -> None:
    samples = da.from_array(np.array([[0.0], [0], [0], [9]]), chunks=((3, 1), (1,)))
    assert metrics.quantization_error(samples, chain(0.0)).compute().item() == 2.25


def test_equal_rows_are_at_distance_zero() -> None:
    rows = np.array([[0.1, 0.8, 0.8]] * 3)
    som = ss.codebook(rows, ss.Grid.chain(3))
    assert metrics.quantization_error(rows, som).item() == 0
    assert metrics.distance(rows, som).values.tolist() == [0, 0, 0]
    assert metrics.bmu(rows, som).values.tolist() == [0, 0, 0]
    assert metrics.second_bmu(rows, som).values.tolist() == [1, 1, 1]
    assert metrics.distortion(rows, som).item() == 0


def test_the_order_of_the_units_matters() -> None:
    samples = np.array([0, 0.1, 1, 1.1, 2, 2.1, 3, 3.1])[:, None]
    ordered, crossed = chain(0.05, 1.05, 2.05, 3.05), chain(0.05, 2.05, 1.05, 3.05)
    assert metrics.topographic_error(samples, ordered).item() == 0
    assert metrics.topographic_error(samples, crossed).item() == 0.75


def test_distortion_by_hand() -> None:
    som, samples = chain(0.0, 1.0, 2.0), [[0.0]]
    found = [
        metrics.distortion(samples, som, kernel=kernel).item()
        for kernel in ("gaussian", "gaussian_half")
    ]
    assert found == pytest.approx([0.441142, 1.147872], abs=5e-7)


@pytest.mark.parametrize("grid", [ss.Grid(3, 4), ss.Grid.chain(12)], ids=repr)
def test_a_large_offset_costs_no_digit(grid: ss.Grid) -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((3000, 5)) + 1e8
    codes = samples[:12] + 0.25
    center = np.full(5, 1e8)  # subtracting it is exact: neighbouring floats of 1e8 are 2^-26 apart
    moved, still = ss.codebook(codes - center, grid), ss.codebook(codes, grid)
    for index in (
        metrics.quantization_error,
        metrics.explained_variance,
        metrics.topographic_error,
        metrics.distortion,
        metrics.distortion_parts,
        metrics.unit_distortion,
        metrics.bmu,
    ):
        expected = index(samples - center, moved).values
        np.testing.assert_allclose(index(samples, still).values, expected, rtol=1e-12)


def test_one_unit_one_sample_and_units_without_samples() -> None:
    lonely = metrics.topographic_error([[1.0]], chain(0.0))
    assert math.isnan(lonely.item())
    assert lonely.attrs["note"] == "a map of one unit has no second-best unit"
    assert metrics.second_bmu([[1.0]], chain(0.0)).values.tolist() == [-1]
    assert np.isnan(metrics.unit_topographic_error([[1.0]], chain(0.0)).values).all()
    assert metrics.quantization_error([[1.0]], chain(0.0)).item() == 1
    assert metrics.distortion([[1.0]], chain(0.0)).item() == 1
    variance = metrics.explained_variance([[1.0]], chain(0.0))
    assert math.isnan(variance.item())
    assert "no variance to explain" in variance.attrs["note"]
    spread = chain(0.0, 10.0, 20.0)
    assert metrics.hits([[1.0], [19.0]], spread).values.tolist() == [1, 0, 1]
    assert metrics.dead_units([[1.0], [19.0]], spread).item() == 1
    for index in (metrics.unit_quantization_error, metrics.unit_topographic_error):
        found = index([[1.0], [19.0]], spread)
        assert np.isnan(found.values).tolist() == [False, True, False]
        assert "units without samples" in found.attrs["undefined"]


@pytest.mark.parametrize("n", [2, 500, 5000])
@pytest.mark.parametrize("value", [0.1, 1e8 / 3])
def test_equal_samples_have_no_variance_to_explain(n: int, value: float) -> None:
    # 0.3 and 0.7 are such that every sum rounds, one way each
    samples, som = np.full((n, 3), value), ss.codebook([[value + 0.3, value, 0.7]], ss.Grid(1, 1))
    found = metrics.explained_variance(samples, som)
    assert math.isnan(found.item())
    assert "equal" in found.attrs["note"]


def test_a_map_is_found_anew_whatever_was_projected_before() -> None:
    samples = np.array([[0.0], [1.0], [2.0]])
    som = chain(0.0, 1.0, 2.0)
    before = ss.project(samples, som)
    moved = som.assign(codes=som["codes"][::-1].drop_vars(["unit", "row", "col"]))
    after = ss.project(samples, moved)
    assert before["bmu"].values.tolist() == [0, 1, 2]
    assert after["bmu"].values.tolist() == [2, 1, 0]
    assert before.attrs["map_fingerprint"] != after.attrs["map_fingerprint"]
    assert metrics.bmu(samples, moved).values.tolist() == [2, 1, 0]


# --- any samples, any map


@dataclass(frozen=True)
class Arrangement:
    """A grid, and its distances and neighbours found without it."""

    grid: ss.Grid
    delta: Floats
    adjacent: dict[str | None, Bools]


@st.composite
def arrangements(draw: st.DrawFn, size: int) -> Arrangement:
    """Grids of any kind of `size` units."""
    kind = draw(st.sampled_from(["rectangular", "hexagonal", "chain", "edges", "distances"]))
    if kind == "edges":
        return _graph(size, draw(st.integers(0, 2**32 - 1)))
    if kind == "distances":
        return _table(size, draw(st.integers(0, 2**32 - 1)))
    periodic: Any = draw(st.sampled_from([False, True, "rows", "cols"]))
    delta: Any = draw(st.sampled_from(["hops", "euclidean", "max"]))
    if kind == "chain":
        grid = ss.Grid.chain(size, periodic=bool(periodic), delta=delta)
        return _lattice(grid, {}, {"edge": 4, "vertex": 4}, (False, bool(periodic)))
    rows = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    wrap = (periodic in (True, "rows"), periodic in (True, "cols"))
    if kind == "hexagonal":
        if wrap[0] and rows % 2:
            periodic, wrap = "cols", (False, True)
        shape: dict[str, Any] = {"topology": kind, "offset": draw(st.sampled_from(["odd", "even"]))}
        counts = {"edge": 6, "vertex": 6}
    else:
        shape, counts = {}, {"edge": 4, "vertex": 8}
    own = draw(st.sampled_from(sorted(set(counts.values()))))
    more: Any = {"periodic": periodic, "neighbors": own, "delta": delta}
    return _lattice(ss.Grid(rows, size // rows, **shape, **more), shape, counts, wrap)


def _lattice(
    grid: ss.Grid, shape: dict[str, Any], counts: dict[str, int], wrap: tuple[bool, bool]
) -> Arrangement:
    sizes = (grid.rows, grid.cols)
    adjacent: dict[str | None, Bools] = {
        name: reference.grid_adjacency(*sizes, wrap=wrap, neighbors=count, **shape)
        for name, count in counts.items()
    }
    own = "vertex" if grid.neighbors == 8 else "edge"
    adjacent[None] = adjacent[own]
    if grid.delta == "hops" or grid.topology == "chain":
        delta = reference.hops(adjacent[None])
    else:
        delta = reference.image_distances(*sizes, wrap=wrap, norm=grid.delta, **shape)
    return Arrangement(grid, delta, adjacent)


def _graph(size: int, seed: int) -> Arrangement:
    """A random tree with a few more edges."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(0, unit)), unit) for unit in range(1, size)]
    edges += [(i, j) for i, j in rng.integers(0, size, (size // 2, 2)).tolist() if i != j]
    table = np.zeros((size, size), bool)
    for i, j in edges:
        table[i, j] = table[j, i] = True
    grid = ss.Grid.from_edges(size, edges)
    return Arrangement(grid, reference.hops(table), dict.fromkeys((None, "edge", "vertex"), table))


def _table(size: int, seed: int) -> Arrangement:
    """Any distances; those of at most 1 adjoin."""
    half = np.triu(np.random.default_rng(seed).integers(1, 9, (size, size)) / 4, 1)
    delta = half + half.T
    table = (delta > 0) & (delta <= 1)
    adjacent = dict.fromkeys((None, "edge", "vertex"), table)
    return Arrangement(ss.Grid.from_distances(delta), delta, adjacent)


@st.composite
def maps(draw: st.DrawFn) -> tuple[Case, Arrangement]:
    case = draw(cases(samples=(1, 30), units=(1, 12)))
    return case, draw(arrangements(len(case.codes)))


def centred(case: Case) -> tuple[Floats, Floats]:
    """Samples and codes without their offset (which is exact), so that plain sums are accurate."""
    shift = 1e8 if case.kind == "offset" else 0.0
    return np.asarray(case.samples, np.float64) - shift, case.codes - shift


def judged(both: tuple[Case, Arrangement], **asked: Any) -> dict[str, Any]:
    """Several indices of one map, or variants of one, from a single pass."""
    case, arrangement = both
    som = ss.codebook(case.codes, arrangement.grid)
    result = ss.evaluate(case.samples, som, metrics=asked)
    return {
        label: result[label].values if label in result else result["value"].sel(metric=label).item()
        for label in asked
    }


@given(both=maps())
def test_values_of_samples_and_hits_are_exact(both: tuple[Case, Arrangement]) -> None:
    samples, codes = both[0].samples, both[0].codes
    names = ("bmu", "second_bmu", "distance", "hits", "dead_units")
    found = judged(both, **dict(zip(names, names, strict=True)))
    best, second = reference.best_two(samples, codes)
    np.testing.assert_array_equal(found["bmu"], best)
    np.testing.assert_array_equal(found["second_bmu"], second)
    squares = reference.smallest_squares(samples, codes)
    np.testing.assert_array_equal(found["distance"], np.sqrt(squares))
    hits = reference.hits(samples, codes)
    np.testing.assert_array_equal(found["hits"], hits)
    assert found["dead_units"] == np.count_nonzero(hits == 0)


@given(both=maps())
def test_quantization_errors_are_those_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    samples, codes = both[0].samples, both[0].codes
    kinds: Any = ("mean", "squared", "rms")
    found = judged(both, **{kind: ("quantization_error", {"kind": kind}) for kind in kinds})
    of_units = judged(both, **{kind: ("unit_quantization_error", {"kind": kind}) for kind in kinds})
    best, _ = reference.best_two(samples, codes)
    for kind in kinds:
        expected = reference.quantization_error(samples, codes, kind)
        assert found[kind] == pytest.approx(expected, rel=ROUNDING, abs=0)
        for unit, value in enumerate(of_units[kind]):
            members = samples[best == unit]
            if len(members):
                expected = reference.quantization_error(members, codes, kind)
                assert value == pytest.approx(expected, rel=ROUNDING, abs=0)
            else:
                assert math.isnan(value)


@given(both=maps())
def test_explained_variance_is_that_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    found = judged(both, it="explained_variance")["it"]
    samples, codes = np.asarray(both[0].samples, np.float64), both[0].codes
    best, _ = reference.best_two(samples, codes)
    error = reference.smallest_squares(samples, codes).sum()
    # seen from one of them, samples that all but coincide have an accurate mean
    moved, moved_codes = samples - samples[0], codes - samples[0]
    center = moved.mean(axis=0)
    scatter = math.fsum(np.ravel((moved - center) ** 2))
    # it is a sum of parts of this size: far from the map they cancel
    size = error + ((moved_codes[best] - center) ** 2).sum()
    if math.isnan(found):
        assert scatter <= 1e-12 * size
    else:
        within = ROUNDING * (1 + error / scatter * size / scatter)
        assert found == pytest.approx(1 - error / scatter, rel=0, abs=within)


@given(both=maps())
def test_topographic_errors_are_those_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    (case, arrangement), samples, codes = both, both[0].samples, both[0].codes
    best, _ = reference.best_two(samples, codes)
    asked = {str(chosen): {"neighborhood": chosen} for chosen in (None, "edge", "vertex")}
    found = judged(both, **{label: ("topographic_error", own) for label, own in asked.items()})
    units = judged(both, **{label: ("unit_topographic_error", own) for label, own in asked.items()})
    for label, own in asked.items():
        table = arrangement.adjacent[own["neighborhood"]]
        np.testing.assert_equal(found[label], reference.topographic_error(samples, codes, table))
        for unit, value in enumerate(units[label]):
            members = case.samples[best == unit]
            share = reference.topographic_error(members, codes, table) if len(members) else np.nan
            np.testing.assert_equal(value, share)


def temperatures() -> st.SearchStrategy[list[float]]:
    """None is a distance on a lattice, where a last digit would decide a window."""
    return st.lists(st.sampled_from([0.3, 1.2, 2.4, 4.1]), min_size=1, max_size=3, unique=True)


def kernels(*without: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name for name in reference.KERNELS if name not in without])


@given(both=maps(), kernel=kernels(), at=temperatures())
def test_distortions_are_those_of_the_definition(
    both: tuple[Case, Arrangement], kernel: str, at: list[float]
) -> None:
    own = {"kernel": kernel, "temperature": at}
    found = judged(both, whole=("distortion", own), units=("unit_distortion", own))
    samples, codes = centred(both[0])
    best, _ = reference.best_two(samples, codes)
    squares = reference.squared_distances(samples, codes)
    for place, temperature in enumerate(at):
        h = reference.neighborhood(both[1].delta, kernel, temperature)[best]
        # a kernel near its zero may be off by an ulp of 1; only weights of both signs cancel
        size = (np.maximum(np.abs(h), 1e-15) * squares).sum(axis=1)
        terms = (h * squares).sum(axis=1)
        within = ROUNDING * size.mean() + TINY
        assert found["whole"][place] == pytest.approx(terms.mean(), rel=0, abs=within)
        for unit, value in enumerate(found["units"][:, place]):
            mine = best == unit
            if mine.any():
                within = ROUNDING * size[mine].mean() + TINY
                assert value == pytest.approx(terms[mine].mean(), rel=0, abs=within)
            else:
                assert math.isnan(value)


@given(both=maps(), kernel=kernels("mexican_hat"), at=temperatures())
def test_parts_of_the_distortion_are_those_of_the_definition(
    both: tuple[Case, Arrangement], kernel: str, at: list[float]
) -> None:
    own = {"kernel": kernel, "temperature": at}
    found = judged(both, parts=("distortion_parts", own), whole=("distortion", own))
    samples, codes = centred(both[0])
    # the reference finds centroids, of samples and codes, to a rounding of these
    slip = 4e-16 * max(np.abs(samples).max(), np.abs(codes).max())
    for place, temperature in enumerate(at):
        whole, parts = found["whole"][place], found["parts"][:, place]
        # each part is a difference of sums that are as large as the whole
        assert parts.sum() == pytest.approx(whole, rel=ROUNDING)
        assert (parts >= 0).all()
        expected = reference.distortion_parts(samples, codes, both[1].delta, kernel, temperature)
        within = ROUNDING * whole + len(codes) * slip * (slip + math.sqrt(whole)) + TINY
        np.testing.assert_allclose(parts, expected, rtol=0, atol=within)


# --- identities


def gaussian_map(grid: ss.Grid, n: int = 300, d: int = 3, seed: int = 0) -> tuple[Floats, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), ss.codebook(rng.standard_normal((grid.size, d)), grid)


def test_the_parts_of_a_signed_kernel_add_up_too() -> None:
    samples, som = gaussian_map(ss.Grid(4, 5))
    asked: Any = {"kernel": "mexican_hat", "temperature": [0.7, 1.3, 2.9]}
    parts = metrics.distortion_parts(samples, som, **asked).sum("part")
    np.testing.assert_allclose(parts, metrics.distortion(samples, som, **asked), rtol=1e-11)


@given(both=maps())
def test_a_window_of_radius_zero_is_the_squared_quantization_error(
    both: tuple[Case, Arrangement],
) -> None:
    found = judged(
        both,
        window=("distortion", {"kernel": "window", "temperature": 0}),
        squared=("quantization_error", {"kind": "squared"}),
    )
    assert found["window"].item() == found["squared"]


@given(both=maps(), neighborhood=st.sampled_from(["edge", "vertex"]))
def test_values_of_units_average_to_the_value_of_the_map(
    both: tuple[Case, Arrangement], neighborhood: Any
) -> None:
    parameters: dict[str, Any] = {
        "quantization_error": {"kind": "mean"},
        "topographic_error": {"neighborhood": neighborhood},
        "distortion": {"kernel": "gaussian_half", "temperature": 1.7},
    }
    asked = {
        prefix + name: (prefix + name, own)
        for prefix in ("", "unit_")
        for name, own in parameters.items()
    }
    found = judged(both, hits="hits", **asked)
    alive = found["hits"] > 0
    share = found["hits"][alive] / found["hits"].sum()
    for name in parameters:
        mean = share @ found[f"unit_{name}"][alive]
        np.testing.assert_allclose(mean, found[name], rtol=ROUNDING, atol=TINY)


def symmetries(grid: ss.Grid) -> list[NDArray[np.int64]]:
    """Where a symmetry of the grid sends each unit."""
    units = np.arange(grid.size).reshape(grid.shape)
    if grid.topology == "hexagonal":
        turned = units[::-1] if grid.rows % 2 else units[::-1, ::-1]
        rolled = np.roll(units, (2, 1), (0, 1))
        return [turned.ravel(), *([rolled.ravel()] if grid.periodic is True else [])]
    found = [units[::-1], units[:, ::-1], units[::-1, ::-1]]
    if grid.rows == grid.cols:
        found += [units.T, np.rot90(units)]
    if grid.periodic is True:
        found += [np.roll(units, 1, 0), np.roll(units, (1, 2), (0, 1))]
    return [order.ravel() for order in found]


@pytest.mark.parametrize(
    "grid",
    [
        ss.Grid(4, 6),
        ss.Grid(5, 5, neighbors=8, delta="euclidean"),
        ss.Grid(4, 3, periodic=True, delta="max"),
        ss.Grid(4, 5, topology="hexagonal"),
        ss.Grid(5, 4, topology="hexagonal", offset="even", delta="euclidean"),
        ss.Grid(4, 5, topology="hexagonal", periodic=True),
        ss.Grid.chain(9),
        ss.Grid.chain(8, periodic=True),
    ],
    ids=repr,
)
def test_a_symmetry_of_the_grid_changes_nothing(grid: ss.Grid) -> None:
    samples, som = gaussian_map(grid)
    for order in symmetries(grid):
        turned = ss.codebook(som["codes"].values[order], grid)
        for index in (
            metrics.quantization_error,
            metrics.explained_variance,
            metrics.topographic_error,
            metrics.distortion,
            metrics.distortion_parts,
        ):
            found = index(samples, turned).values
            np.testing.assert_allclose(found, index(samples, som).values, rtol=ROUNDING)
        for index in (metrics.hits, metrics.unit_topographic_error, metrics.unit_distortion):
            found = index(samples, turned).values
            np.testing.assert_allclose(found, index(samples, som).values[order], rtol=ROUNDING)


EXPONENTS = {
    "quantization_error": 1,
    "unit_quantization_error": 1,
    "distortion": 2,
    "unit_distortion": 2,
    "distortion_parts": 2,
    "explained_variance": 0,
    "topographic_error": 0,
    "bmu": 0,
}


@given(both=maps(), power=st.sampled_from([-40, -3, 5, 60]))
def test_scaling_by_a_power_of_two_is_exact(both: tuple[Case, Arrangement], power: int) -> None:
    case, arrangement = both
    assume(not case.kind.startswith("scale") and case.kind != "spread")  # squares out of range
    factor = 2.0**power
    samples = np.asarray(case.samples, np.float64) * factor
    names = dict(zip(EXPONENTS, EXPONENTS, strict=True))
    found = judged((Case(case.kind, samples, case.codes * factor), arrangement), **names)
    for name, value in judged(both, **names).items():
        np.testing.assert_array_equal(found[name], value * factor ** EXPONENTS[name], name)

"""Topographic functions: the survey's, the differential ones and Villmann's, by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
import reference_map
import xarray as xr
from hypothesis import given
from strategies import Case
from test_map_metrics import Arrangement, chain, gaussian_map, judged, maps, symmetries

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.maps import connectivity

AT = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0]
GRIDS = [
    ss.Grid(4, 6),
    ss.Grid(4, 5, neighbors=8),
    ss.Grid(4, 5, topology="hexagonal"),
    ss.Grid(5, 4, topology="hexagonal", offset="even", delta="euclidean"),
    ss.Grid(4, 5, topology="hexagonal", periodic=True),
    ss.Grid(4, 3, periodic="cols"),
    ss.Grid(5, 5, periodic=True, delta="max"),
    ss.Grid.chain(9),
    ss.Grid.chain(8, periodic=True),
    ss.Grid.from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3)]),
]
each_grid = pytest.mark.parametrize("grid", GRIDS, ids=repr)


# --- golden values


def test_golden_normalised_function(digits_map: Any) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    at = np.arange(7) / 14
    found = metrics.topographic_function(samples, som, delta=at, normalize=True)
    expected = [0.1625, 0.151136, 0.132955, 0.115341, 0.088068, 0.064773, 0.042614]
    assert found.values == pytest.approx(expected, abs=5e-7)
    assert found.attrs["units"] == "1"
    default = metrics.topographic_function(samples, som, normalize=True)
    np.testing.assert_array_equal(default["delta"], np.arange(15) / 14)
    xr.testing.assert_equal(default[:7], found)
    convention = ss.evaluate(samples, som, metrics="topographic_function", convention="somperf")
    xr.testing.assert_equal(convention["topographic_function"], default)
    counts = metrics.topographic_function(samples, som)
    np.testing.assert_array_equal(counts["delta"], np.arange(15))
    np.testing.assert_allclose(counts.values / (64 * (64 - 9)), default, rtol=1e-15)


def test_golden_counts_of_villmann(digits_map: Any) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    found = metrics.villmann_function(samples, som)
    np.testing.assert_array_equal(found["delta"], np.arange(-7, 8))
    assert found.sel(delta=[1, 2, 3, 4]).values.tolist() == [494, 398, 274, 174]
    assert found.sel(delta=[-1, -2, -3]).values.tolist() == [184, 88, 10]
    assert found.sel(delta=0).item() == 494 + 184
    shares = metrics.villmann_function(samples, som, normalize=True)
    np.testing.assert_array_equal(shares, found / 64)


# --- by hand


def test_a_chain_in_order_breaks_no_neighbourhood() -> None:
    samples = np.array([0, 0.1, 1, 1.1, 2, 2.1, 3, 3.1])[:, None]
    ordered, crossed = chain(0.05, 1.05, 2.05, 3.05), chain(0.05, 2.05, 1.05, 3.05)
    assert metrics.topographic_function(samples, ordered).values.tolist() == [6, 0, 0, 0]
    assert metrics.topographic_function(samples, crossed).values.tolist() == [6, 4, 0, 0]
    assert metrics.differential_topographic_function(samples, crossed).values.tolist() == [
        *(0, 2, 4, 0)
    ]
    weighted = metrics.weighted_differential_topographic_function(samples, crossed)
    assert weighted.values.tolist() == [0, 0.25, 0.75, 0]
    assert not metrics.villmann_function(samples, ordered).any()
    # 0 and 2, 1 and 2, 1 and 3 share samples: the neighbours 0, 1 and 2, 3 are two apart
    broken = metrics.villmann_function(samples, crossed)
    assert broken.values.tolist() == [0, 0, 4, 8, 4, 0, 0]


def test_one_unit_and_no_neighbours() -> None:
    lonely = ss.codebook([[0.0]], ss.Grid(1, 1))
    assert metrics.topographic_function([[1.0]], lonely).values.tolist() == [0]
    assert metrics.differential_topographic_function([[1.0]], lonely).values.tolist() == [0]
    assert metrics.villmann_function([[1.0]], lonely).values.tolist() == [0]
    weighted = metrics.weighted_differential_topographic_function([[1.0]], lonely)
    assert np.isnan(weighted.values).tolist() == [True]
    assert "a map of one unit" in weighted.attrs["undefined"]
    # no sample joins units 2 and 3 to anything, so that their neighbours are infinitely far
    found = metrics.villmann_function([[0.0]], chain(0.0, 1.0, 5.0, 6.0), delta=[-1, -3])
    assert found.values.tolist() == [4, 4]


@pytest.mark.parametrize(
    "grid", [ss.Grid(3, 3), ss.Grid.chain(3), ss.Grid(1, 1), ss.Grid(1, 3), ss.Grid(2, 4)], ids=repr
)
@pytest.mark.parametrize("delta", [None, 0.5])
def test_a_map_too_small_is_not_normalised(grid: ss.Grid, delta: Any) -> None:
    samples, som = gaussian_map(grid)
    with pytest.raises(InputError, match=rf"{grid.size} units cannot be normalised.*False"):
        metrics.topographic_function(samples, som, delta=delta, normalize=True)
    assert metrics.topographic_function(samples, som).dims == ("delta",)


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("topographic_function", {"normalize": 1}, "normalize is True or False, not 1"),
        ("villmann_function", {"normalize": None}, "normalize is True or False, not None"),
        ("topographic_function", {"delta": "far"}, "delta of topographic_function is no number"),
        ("topographic_function", {"k": 1}, "has no parameter 'k'; its parameters: delta"),
    ],
)
def test_bad_parameters_are_refused(name: str, given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        getattr(metrics, name)([[0.0]], chain(0.0, 1.0), **given)


# --- any samples, any map


@given(both=maps())
def test_functions_are_those_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    case, arrangement = both
    own = {"delta": AT}
    names = [
        "topographic_function",
        "differential_topographic_function",
        "weighted_differential_topographic_function",
    ]
    found = judged(both, **{name: (name, own) for name in names})
    best, second = reference.best_two(case.samples, case.codes)
    delta = arrangement.delta
    connected = reference_map.connectivity(best, second, len(case.codes))
    for place, k in enumerate(AT):
        values = [found[name][place] for name in names]
        if k < 0:
            assert np.isnan(values).all()
            continue
        above = reference_map.topographic_function(connected, delta, k)
        below = reference_map.topographic_function(connected, delta, k - 1)
        assert values[0] == above
        # what lies at delta = 0 or less is above k - 1 for the first step alone
        assert values[1] == below - above
        if len(case.codes) == 1:
            assert np.isnan(values[2])
        else:
            share = reference_map.weighted_function(best, second, delta, k)
            assert values[2] == pytest.approx(share, rel=1e-15)


@given(both=maps())
def test_shares_over_all_distances_add_up(both: tuple[Case, Arrangement]) -> None:
    case, arrangement = both
    name = "weighted_differential_topographic_function"
    som = ss.codebook(case.codes, arrangement.grid)
    found = metrics.weighted_differential_topographic_function(case.samples, som)
    if len(case.codes) == 1:
        return
    assert found.sum().item() == pytest.approx(1, rel=1e-14), name
    if arrangement.grid.delta == "hops":
        error = metrics.topographic_error(case.samples, som).item()
        assert found.where(found["delta"] > 1, 0).sum().item() == pytest.approx(error, abs=1e-14)


@each_grid
@pytest.mark.parametrize("seed", range(4))
def test_villmann_is_that_of_the_definition(grid: ss.Grid, seed: int) -> None:
    samples, som = gaussian_map(grid, n=(3, 10, 30, 300)[seed], d=2, seed=seed)
    best, second = reference.best_two(samples, som["codes"].values)
    connected = reference_map.connectivity(best, second, grid.size)
    every = np.arange(grid.size)
    adjacent = grid.adjacent(every[:, None], every, "edge")
    lattice = grid.topology not in ("graph", "table")
    table = max_norm(grid) if lattice else grid.distances()
    found = metrics.villmann_function(samples, som)
    largest = np.ceil(table.max())
    np.testing.assert_array_equal(found["delta"], np.arange(-largest, largest + 1))
    for k in found["delta"].values:
        expected = reference_map.villmann(connected, table, adjacent, k)
        assert found.sel(delta=k).item() == expected, k
    between = metrics.villmann_function(samples, som, delta=[0.5, -0.5])
    assert between.values.tolist() == [
        reference_map.villmann(connected, table, adjacent, k) for k in (0.5, -0.5)
    ]


def max_norm(grid: ss.Grid) -> Any:
    """Distances in the max-norm, from positions and their images."""
    wrap: Any = {False: (False, False), True: (True, True), "rows": (True, False)}
    rows_cols = wrap.get(grid.periodic, (False, True))
    if grid.topology == "chain":
        rows_cols = (False, bool(grid.periodic))
    return reference.image_distances(
        *grid.shape,
        topology="hexagonal" if grid.topology == "hexagonal" else "rectangular",
        offset=grid.offset or "odd",
        wrap=rows_cols,
        norm="max",
    )


@each_grid
def test_a_symmetry_of_the_grid_changes_nothing(grid: ss.Grid) -> None:
    if grid.topology == "graph" or grid.periodic == "cols":
        return
    samples, som = gaussian_map(grid)
    for order in symmetries(grid):
        turned = ss.codebook(som["codes"].values[order], grid)
        for index in (metrics.topographic_function, metrics.villmann_function):
            xr.testing.assert_equal(index(samples, turned), index(samples, som))


# --- which deltas


def test_default_deltas_reach_the_largest_distance() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((5, 5)) * 1000
    table = np.triu(table, 1) + np.triu(table, 1).T
    grids = {
        ss.Grid(3, 4): 5,
        ss.Grid(3, 4, delta="euclidean"): 4,
        ss.Grid.chain(7, periodic=True): 3,
        ss.Grid.from_edges(4, [(0, 1), (1, 2), (2, 3)]): 3,
    }
    for grid, largest in grids.items():
        np.testing.assert_array_equal(connectivity.whole_deltas(grid), np.arange(largest + 1))
    rounded = connectivity.whole_deltas(ss.Grid.from_distances(table))
    assert rounded.tolist() == sorted({0, *np.ceil(table).ravel()})


def test_a_large_graph_is_searched_from_one_unit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectivity, "SEARCHED_SIZE", 3)
    path = ss.Grid.from_edges(5, [(2, 1), (1, 0), (0, 3), (3, 4)])
    assert connectivity.whole_deltas(path).tolist() == [0, 1, 2, 3, 4]
    star = ss.Grid.from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)])
    assert connectivity.whole_deltas(star).max() >= star.max_distance


def test_several_maps_have_the_deltas_of_them_all() -> None:
    samples, large = gaussian_map(ss.Grid(3, 4))
    _, small = gaussian_map(ss.Grid.chain(3))
    both = ss.evaluate(samples, {"l": large, "s": small}, metrics="topographic_function")
    found = both["topographic_function"]
    assert found["delta"].values.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(
        found.sel(candidate="s"), [*metrics.topographic_function(samples, small), 0, 0, 0]
    )


def test_one_delta_drops_the_dim_and_several_share_it() -> None:
    samples, som = gaussian_map(ss.Grid(3, 4))
    one = metrics.topographic_function(samples, som, delta=2)
    assert one.dims == ()
    assert one["delta"].item() == 2
    asked: Any = {"own": ("topographic_function", {"delta": [2, 9]}), "all": "villmann_function"}
    result = ss.evaluate(samples, som, metrics=asked)
    assert result["delta"].values.tolist() == [-3, -2, -1, 0, 1, 2, 3, 9]
    assert result["own"].sel(delta=2).item() == one.item()
    assert not np.isnan(result["own"].where(result["delta"] >= 0, 0)).any()


def test_huge_distances_have_places_of_their_own() -> None:
    apart = np.array([[0, 1e300, 2e300], [1e300, 0, 2e18], [2e300, 2e18, 0]])
    som = ss.codebook([[0.0], [1.0], [2.0]], ss.Grid.from_distances(apart, edges=[(0, 1)]))
    found = metrics.weighted_differential_topographic_function([[0.0], [2.1]], som)
    assert found["delta"].values.tolist() == [0, 2e18, 1e300, 2e300]
    assert found.values.tolist() == [0, 0.5, 0.5, 0]

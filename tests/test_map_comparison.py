"""Two maps and several: symmetries of grids, ways over maps, aligned codes, stability."""

from __future__ import annotations

import itertools
import math
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
import reference_map
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from test_map_metrics import Arrangement, arrangements, chain, gaussian_map

import somscale as ss
from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.comparison import map_distance as ways_over_maps
from somscale.metrics.comparison import stability
from somscale.topology import symmetries

# --- symmetries

COUNTS = [
    (ss.Grid(4, 4), 8),
    (ss.Grid(3, 5, neighbors=8), 4),
    (ss.Grid(3, 3, periodic="rows"), 12),
    (ss.Grid(4, 5, periodic=True), 80),
    (ss.Grid(5, 5, periodic=True), 200),
    (ss.Grid(4, 5, topology="hexagonal"), 2),
    (ss.Grid(5, 4, topology="hexagonal", offset="even"), 2),
    (ss.Grid(4, 5, topology="hexagonal", periodic="cols"), 20),
    (ss.Grid(5, 5, topology="hexagonal", periodic="cols"), 20),
    (ss.Grid(4, 5, topology="hexagonal", offset="even", periodic="rows"), 8),
    (ss.Grid(4, 5, topology="hexagonal", periodic=True), 80),
    (ss.Grid.chain(6), 2),
    (ss.Grid.chain(6, periodic=True), 12),
    (ss.Grid(1, 1), 1),
    (ss.Grid.from_edges(3, [(0, 1), (1, 2)]), 1),
]


@pytest.mark.parametrize(("grid", "count"), COUNTS, ids=repr)
def test_symmetries_keep_distances_and_are_a_group(grid: ss.Grid, count: int) -> None:
    found = [tuple(order.tolist()) for order in symmetries(grid)]
    assert found[0] == tuple(range(grid.size))
    assert len(set(found)) == len(found) == count
    delta = grid.distances()
    if grid.topology in ("rectangular", "hexagonal"):
        spec = {**grid.to_spec(), "delta": "euclidean"}
        delta = delta + math.pi * ss.Grid.from_spec(spec).distances()
    for order in found:
        assert sorted(order) == list(range(grid.size))
        np.testing.assert_allclose(delta[np.ix_(order, order)], delta, rtol=1e-13)
    for one, two in itertools.islice(itertools.product(found, found), 400):
        assert tuple(one[unit] for unit in two) in found


# --- aligned codes


@pytest.mark.parametrize(("grid", "count"), COUNTS, ids=repr)
def test_a_turned_map_is_found(grid: ss.Grid, count: int) -> None:
    samples, som = gaussian_map(grid, 40)
    codes = som["codes"].values
    orders = list(symmetries(grid))
    for order in (orders[-1], orders[len(orders) // 2]):
        turned = ss.codebook(codes[np.argsort(order)], grid)
        found = metrics.aligned_code_distance(som, turned)
        assert found["aligned_code_distance"].item() == 0
        assert found["matched_unit"].values.tolist() == order.tolist()
        np.testing.assert_array_equal(turned["codes"].values[order], codes)
        assert metrics.map_distance(samples, som, turned).item() == pytest.approx(0, abs=1e-14)


def test_the_best_symmetry_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    grid = ss.Grid(3, 3)
    one, two = rng.standard_normal((2, 9, 4))
    found = metrics.aligned_code_distance(ss.codebook(one, grid), ss.codebook(two, grid))
    means = [np.linalg.norm(one - two[order], axis=1).mean() for order in symmetries(grid)]
    assert found["aligned_code_distance"].item() == pytest.approx(min(means), rel=1e-14)
    assert found["code_distance"].item() == pytest.approx(means[0], rel=1e-14)
    assert found["matched_unit"].dims == ("unit",)
    assert found["col"].values.tolist() == [0, 1, 2] * 3


def test_features_are_matched_by_their_labels() -> None:
    codes = xr.DataArray(
        np.arange(12.0).reshape(4, 3),
        dims=("unit", "station"),
        coords={"station": list("abc")},
        attrs={"units": "K"},
    )
    grid = ss.Grid.chain(4)
    one, two = ss.codebook(codes, grid), ss.codebook(codes[:, ::-1], grid)
    found = metrics.aligned_code_distance(one, two)
    assert found["aligned_code_distance"].item() == 0
    assert found["aligned_code_distance"].attrs["units"] == "K"
    other = codes.assign_coords(station=list("abd"))
    with pytest.raises(InputError, match="the two maps"):
        metrics.aligned_code_distance(one, ss.codebook(other, grid))
    with pytest.raises(InputError, match="grids differ"):
        metrics.aligned_code_distance(one, ss.codebook(codes, ss.Grid(2, 2)))
    with pytest.raises(InputError, match="3 and 2 features"):
        metrics.aligned_code_distance(one, ss.codebook(codes[:, :2], grid))
    masked = codes.copy()
    masked[:, 1] = math.nan
    with pytest.raises(InputError, match=r"station 1.*masked"):
        metrics.aligned_code_distance(one, ss.codebook(masked, grid))
    both = metrics.aligned_code_distance(ss.codebook(masked, grid), ss.codebook(masked, grid))
    assert both["aligned_code_distance"].item() == 0


# --- ways over maps


def test_map_distance_by_hand() -> None:
    samples = [[0.0], [1.0], [2.0]]
    line, fold = chain(0.0, 1.0, 2.0), chain(0.0, 2.0, 1.0)
    # d_L 1, 2, 1 and d_M 0→1: 2 + 1, 0→2: 2, 1→2: 1
    found = metrics.map_distance(samples, line, fold)
    assert found.item() == pytest.approx((2 / 4 + 0 + 0) / 3, rel=1e-15)
    assert metrics.map_distance(samples, line, line).item() == 0
    assert metrics.map_distance([[1.0], [1.0]], line, fold).item() == 0
    one = metrics.map_distance([[0.0]], line, fold)
    assert math.isnan(one.item())
    assert one.attrs["note"] == "one sample has no pairs"
    small = metrics.map_distance(samples, line, chain(1.0))
    assert small.item() == pytest.approx((0 + 0 + 0) / 3)


@st.composite
def two_maps(draw: st.DrawFn) -> tuple[Any, list[tuple[Any, Arrangement]]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 3))
    samples = rng.integers(0, 4, (n, d)) if draw(st.booleans()) else rng.standard_normal((n, d))
    found = []
    for size in (draw(st.integers(1, 9)), draw(st.integers(1, 9))):
        arrangement = draw(arrangements(size))
        edges = arrangement.adjacent[None]
        if np.isinf(reference_map.shortest_paths(edges, np.ones(edges.shape))).any():
            arrangement = _chain(size)
        found.append((rng.integers(0, 4, (size, d)) + 0.25 * rng.random((size, d)), arrangement))
    return samples, found


def _chain(size: int) -> Arrangement:
    adjacent: Any = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) == 1
    return Arrangement(ss.Grid.chain(size), reference.hops(adjacent), {None: adjacent})


@given(case=two_maps(), block=st.sampled_from([1, 30, 1 << 17]))
def test_map_distance_is_that_of_the_definition(case: Any, block: int) -> None:
    samples, both = case
    soms = [ss.codebook(codes, arrangement.grid) for codes, arrangement in both]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ways_over_maps, "_BLOCK", block)
        found = metrics.map_distance(samples, *soms)
        swapped = metrics.map_distance(samples, *soms[::-1])
        sampled = metrics.map_distance(samples, *soms, sample_anchors=len(samples))
    ways = [reference_map.ways(samples, codes, own.adjacent[None]) for codes, own in both]
    expected = reference_map.map_distance(*ways)
    assert found.item() == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert swapped.item() == pytest.approx(found.item(), rel=1e-13, abs=1e-15)
    assert sampled.item() == pytest.approx(found.item(), rel=1e-12, abs=1e-15)
    assert sampled["standard_error"].item() == 0


def test_sampled_map_distances_cover_the_exact_one() -> None:
    samples, one = gaussian_map(ss.Grid(4, 4), 400)
    two = ss.codebook(samples[:9], ss.Grid(3, 3))
    exact = metrics.map_distance(samples, one, two).item()
    inside = 0
    for seed in range(20):
        found = metrics.map_distance(samples, one, two, sample_anchors=30, seed=seed)
        inside += found["interval_low"].item() <= exact <= found["interval_high"].item()
    assert inside >= 15
    again = metrics.map_distance(samples, one, two, sample_anchors=30, seed=19)
    assert again.identical(found)
    assert (found.attrs["sample_anchors"], found.attrs["seed"]) == (30, 19)
    lazy = da.from_array(samples, chunks=(150, 2))
    assert metrics.map_distance(lazy, one, two).item() == exact


def test_wrong_questions_of_two_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 20)
    parts = ss.Grid.from_distances(np.ones((9, 9)) * 5 - np.eye(9) * 5)
    apart = ss.codebook(som["codes"].values, parts)
    with pytest.raises(InputError, match="no path over the map joins units"):
        metrics.map_distance(samples, som, apart)
    with pytest.raises(InputError, match="sample_weights= has no meaning for map_distance"):
        metrics.map_distance(samples, som, som, sample_weights=np.ones(20))
    with pytest.raises(InputError, match="has no parameter 'metric'"):
        metrics.map_distance(samples, som, som, metric="cosine")
    unknown: Any = "moore"
    with pytest.raises(InputError, match="neighborhood is one of"):
        metrics.map_distance(samples, som, som, neighborhood=unknown)
    with pytest.raises(InputError, match="compares maps"):
        metrics.map_distance(samples, np.arange(20), np.arange(20))
    with pytest.raises(InputError, match="sample_anchors is 21"):
        metrics.map_distance(samples, som, som, sample_anchors=21)
    monkeypatch.setattr(ways_over_maps, "MOST_UNITS", 2)
    with pytest.raises(InputError, match="paths are kept between 2"):
        metrics.map_distance(samples, som, som)


def test_masks_leave_samples_out() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 30)
    other = ss.codebook(samples[:9], ss.Grid(3, 3))
    gapped = np.concatenate([samples, np.full((5, 3), math.nan)])
    found = metrics.map_distance(gapped, som, other, missing="drop")
    assert found.item() == metrics.map_distance(samples, som, other).item()
    stable = ss.neighborhood_stability(gapped, [som, other], missing="drop", pairs=[[0, 29]])
    same = ss.neighborhood_stability(samples, [som, other], pairs=[[0, 29]])
    assert stable.identical(same)
    with pytest.raises(InputError, match="pair 1 names sample 33, which takes no part"):
        ss.neighborhood_stability(gapped, [som, other], missing="drop", pairs=[[0, 1], [33, 2]])


# --- stability


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 25),
    n_maps=st.integers(2, 6),
    radius=st.sampled_from([0, 1, 2.0]),
    block=st.sampled_from([1, 30, 1 << 18]),
)
def test_stability_is_that_of_the_definition(
    seed: int, n: int, n_maps: int, radius: float, block: int
) -> None:
    rng = np.random.default_rng(seed)
    grid = ss.Grid(2, 3)
    samples = rng.integers(0, 3, (n, 2)).astype(float)
    codes = [rng.standard_normal((6, 2)) + 1 for _ in range(n_maps)]
    maps = {f"run {b}": ss.codebook(own, grid) for b, own in enumerate(codes)}
    pairs = rng.integers(0, n, (7, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stability, "_BLOCK", block)
        found = ss.neighborhood_stability(
            samples, maps, radius=radius, pairs=pairs, significance=0.3
        )
    best = [reference.best_two(samples, own)[0] for own in codes]
    near = grid.distances() <= radius
    counts = np.sum([near[np.ix_(own, own)] for own in best], axis=0)
    chance = near.sum() / 36
    assert found["chance"].item() == pytest.approx(chance, rel=1e-15)
    above = counts[np.triu_indices(n, 1)]
    expected = np.bincount(above, minlength=n_maps + 1)
    assert found["pairs_of_samples"].values.tolist() == expected.tolist()
    low = binom.cdf(np.arange(n_maps + 1), n_maps, chance)
    high = binom.sf(np.arange(n_maps + 1) - 1, n_maps, chance)
    if n > 1:
        share = (high[above] <= 0.15).mean()
        assert found["together_share"].item() == pytest.approx(share, abs=1e-13)
        assert found["apart_share"].item() == pytest.approx((low[above] <= 0.15).mean(), abs=1e-13)
        both = found["together_share"] + found["apart_share"]
        assert found["significant_share"].item() == pytest.approx(both.item())
    else:
        assert math.isnan(found["significant_share"].item())
    of_pairs = counts[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(found["stability"], of_pairs / n_maps)
    p_values = np.minimum(1, 2 * np.minimum(low, high))[of_pairs]
    np.testing.assert_allclose(found["p_value"], p_values, rtol=1e-10)


def test_the_same_map_again_and_again_is_stable() -> None:
    samples, som = gaussian_map(ss.Grid(6, 6), 200)
    found = ss.neighborhood_stability(samples, [som] * 12)
    counts = found["pairs_of_samples"].values
    assert counts[1:-1].sum() == 0
    assert found["together_share"].item() == counts[-1] / counts.sum()
    assert found["n_maps"].values.tolist() == list(range(13))
    lazy = da.from_array(samples, chunks=(60, 2))
    assert ss.neighborhood_stability(lazy, [som] * 12).identical(found)


def test_wrong_questions_of_stability() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 20)
    stable = ss.neighborhood_stability
    for wrong, complaint in (
        ([som], "two or more maps, and there are 1"),
        (som, "a dict or a list of maps, not a Dataset"),
        ([som, ss.codebook(samples[:4], ss.Grid(2, 2))], "grids differ"),
    ):
        with pytest.raises(InputError, match=complaint):
            stable(samples, wrong)
    questions: list[tuple[dict[str, Any], str]] = [
        ({"radius": -1}, "radius is 0 or more"),
        ({"radius": "1"}, "radius is a number"),
        ({"significance": 1}, "lies between 0 and 1"),
        ({"pairs": [0, 1]}, "integers \\(pair, 2\\)"),
        ({"pairs": [[0, 20]]}, "pair 0 names sample 20; there are samples 0 to 19"),
        ({"sample_weights": np.ones(20)}, "sample_weights= has no meaning"),
    ]
    for given_, complaint in questions:
        with pytest.raises(InputError, match=complaint):
            stable(samples, [som, som], **given_)

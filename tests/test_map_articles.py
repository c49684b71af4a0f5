"""The indices of maps against their articles: grids of every kind, chunkings, weights, gaps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_articles as articles
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_map_metrics import chain, gaussian_map

import somscale as ss
from somscale import metrics
from somscale.errors import InputError, MemoryBudgetError
from somscale.metrics.comparison import map_distance as over_ways

few = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])

GRIDS = [
    ss.Grid(1, 1),
    ss.Grid(1, 2),
    ss.Grid(2, 3),
    ss.Grid(3, 3, neighbors=8, periodic="cols"),
    ss.Grid(3, 4, periodic=True),
    ss.Grid(3, 3, topology="hexagonal"),
    ss.Grid(4, 3, topology="hexagonal", offset="even", periodic=True),
    ss.Grid.chain(5, periodic=True),
    ss.Grid.from_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]),
    # of two parts that no path joins
    ss.Grid.from_distances(
        np.abs(np.subtract.outer([0, 1, 5, 6.5], [0, 1, 5, 6.5])), edges=[(0, 1), (2, 3)]
    ),
]
CONNECTED = GRIDS[:-1]


def adjacency(grid: ss.Grid, neighborhood: Any = None) -> Any:
    table = np.zeros((grid.size, grid.size), bool)
    for one, two in grid.edges(neighborhood):
        table[one, two] = table[two, one] = True
    return table


@st.composite
def judged(draw: st.DrawFn, grids: Any = tuple(GRIDS), n: tuple[int, int] = (1, 25)) -> Any:
    """Samples, codes and a grid: plain, equal, constant, far off or in single precision."""
    grid = draw(st.sampled_from(grids))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, d = draw(st.integers(*n)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["plain", "ties", "constant", "offset", "single"]))
    samples, codes = rng.standard_normal((count, d)), rng.standard_normal((grid.size, d))
    if kind == "ties":
        samples, codes = rng.integers(0, 3, (count, d)) * 1.0, rng.integers(0, 3, codes.shape) * 1.0
    if kind == "constant":
        samples[:, 0] = codes[:, 0] = 0.1
    if kind == "offset":
        # of few digits, so that what is far off is exactly the same
        samples, codes = (np.round(own * 64) / 64 + 2.0**26 for own in (samples, codes))
    if kind == "single":
        samples = samples.astype(np.float32)
    return samples, codes, grid


def in_any_form(samples: Any, data: Any, folder: Path) -> Any:
    """The same samples as an array, a Dask array of odd chunks, or a Zarr array."""
    form = data.draw(st.sampled_from(["numpy", "dask", "zarr"]))
    chunks = tuple(data.draw(st.integers(1, size)) for size in samples.shape)
    if form == "dask":
        return da.from_array(samples, chunks=chunks)
    if form == "zarr":
        stored = zarr.create_array(
            folder / "x.zarr",
            shape=samples.shape,
            chunks=chunks,
            dtype=samples.dtype,
            overwrite=True,
        )
        stored[:] = samples
        return stored
    return samples


@few
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 9), d=st.integers(1, 4))
def test_the_topographic_product_without_ties(seed: int, size: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    codes, places = rng.standard_normal((size, d)), rng.standard_normal((size, 2))
    delta = np.sqrt(((places[:, None] - places) ** 2).sum(-1))
    for far in (0.0, 2.0**20):
        own = np.round(codes * 2**20) / 2**20 + far
        found = metrics.topographic_product(ss.codebook(own, ss.Grid.from_distances(delta)))
        assert found.item() == pytest.approx(articles.topographic_product(own, delta), abs=1e-11)


@few
@given(case=judged(), data=st.data(), k=st.lists(st.integers(-6, 6), min_size=1, max_size=4))
def test_the_function_of_villmann(tmp_path: Path, case: Any, data: Any, k: list[int]) -> None:
    samples, codes, grid = case
    k = sorted(set(k))
    given_ = in_any_form(samples, data, tmp_path)
    found = metrics.villmann_function(given_, ss.codebook(codes, grid), delta=k)
    far = grid
    if grid.topology in ("rectangular", "hexagonal", "chain"):
        far = ss.Grid.from_spec({**grid.to_spec(), "delta": "max"})
    # at k < 0 the article takes units at a distance of 1, which corners are not
    facts = adjacency(grid, "edge"), far.distances()
    expected = [articles.villmann(samples, codes, *facts, own) for own in k]
    assert found.values.tolist() == expected
    shares = metrics.villmann_function(samples, ss.codebook(codes, grid), delta=k, normalize=True)
    np.testing.assert_allclose(shares, np.array(expected) / grid.size)


@few
@given(case=judged())
def test_the_measure_of_zrehen(case: Any) -> None:
    _, codes, grid = case
    found = metrics.zrehen_measure(ss.codebook(codes, grid), normalize=False)
    assert found.item() == articles.zrehen(codes - codes[0], adjacency(grid))


@few
@given(case=judged(), seed=st.integers(0, 9), data=st.data())
def test_the_conn_index(tmp_path: Path, case: Any, seed: int, data: Any) -> None:
    samples, codes, grid = case
    if grid.size < 2:
        return
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, rng.integers(1, grid.size + 1), grid.size)
    som = ss.codebook(codes, grid)
    expected = articles.conn_index(samples, codes, clusters)
    given_ = in_any_form(samples, data, tmp_path)
    found = metrics.conn_index(given_, som, unit_clusters=clusters)
    assert found.compute().item() == pytest.approx(expected, abs=1e-14)
    # weights are repetitions
    weights = rng.integers(0, 3, len(samples))
    if weights.any():
        weighted = metrics.conn_index(
            samples, som, unit_clusters=clusters, sample_weights=weights.astype(float)
        )
        repeated = articles.conn_index(np.repeat(samples, weights, axis=0), codes, clusters)
        assert weighted.item() == pytest.approx(repeated, abs=1e-13)


def test_clusters_of_units_in_another_order_are_the_same() -> None:
    samples, som = gaussian_map(ss.Grid(4, 4), 200)
    clusters = ss.cluster_units(som, 3)
    turned = clusters.isel(unit=slice(None, None, -1))
    found = metrics.conn_index(samples, som, unit_clusters=clusters)
    assert metrics.conn_index(samples, som, unit_clusters=turned).item() == found.item()


def test_as_many_clusters_as_units_take_no_square_of_memory() -> None:
    rng = np.random.default_rng(0)
    grid = ss.Grid(100, 100)
    som = ss.codebook(rng.standard_normal((grid.size, 2)), grid)
    found = metrics.conn_index(rng.standard_normal((50, 2)), som, unit_clusters=np.arange(10_000))
    assert found.item() == 0  # no cluster has both best units of a sample


def test_all_leaves_out_what_is_of_clusters_that_are_not_given() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 60)
    names = {"conn_index", "unit_intra_connectivity"}
    without = ss.evaluate(samples, som, cost="linear")
    assert names.isdisjoint(set(without["metric"].values) | set(without))
    assert "unit_clusters=" in without.attrs["indices_left_out"]
    clusters = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    given_ = ss.evaluate(samples, som, cost="linear", unit_clusters=clusters)
    assert names <= set(given_["metric"].values) | set(given_)
    assert "unit_clusters" not in given_.attrs["indices_left_out"]
    assert math.isnan(ss.evaluate(samples, som, metrics="conn_index")["value"].item())


@few
@given(case=judged(n=(3, 25)), data=st.data())
def test_the_embedding_accuracy(tmp_path: Path, case: Any, data: Any) -> None:
    samples, codes, grid = case
    som, given_ = ss.codebook(codes, grid), in_any_form(samples, data, tmp_path)
    for weighted in (False, True):
        if weighted and not np.ptp(samples, axis=0).any():
            continue
        found = metrics.map_embedding_accuracy(given_, som, weighted=weighted).compute()
        expected = articles.embedding_accuracy(samples.astype(np.float64), codes, weighted=weighted)
        assert found.item() == pytest.approx(expected, abs=1e-9)


@few
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 30), n=st.integers(2, 200))
def test_the_accuracy_by_moments_is_popsoms(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.3, 2, 5)
    samples, codes = rng.standard_normal((n, 5)) * spread, rng.standard_normal((k, 5))
    som = ss.codebook(codes, ss.Grid.chain(k))
    found = metrics.map_embedding_accuracy(samples, som, test="moments", weighted=True)
    assert found.item() == pytest.approx(articles.embedding_by_moments(samples, codes), abs=1e-9)


@few
@given(one=judged(CONNECTED, n=(2, 15)), two=st.sampled_from(CONNECTED), data=st.data())
def test_the_distance_of_two_maps(tmp_path: Path, one: Any, two: ss.Grid, data: Any) -> None:
    samples, codes, grid = one
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    other = codes[rng.integers(0, len(codes), two.size)] + rng.integers(0, 2, (two.size, 1))
    soms = ss.codebook(codes, grid), ss.codebook(other, two)
    expected = articles.map_distance(samples, [(codes, adjacency(grid)), (other, adjacency(two))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(over_ways, "_TASK", data.draw(st.sampled_from([1, 20, 1 << 24])))
        found = metrics.map_distance(in_any_form(samples, data, tmp_path), *soms)
        every = metrics.map_distance(samples, *soms, sample_anchors=len(samples))
    assert found.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert every.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@few
@given(case=judged(n=(2, 12)), n_maps=st.integers(2, 4), data=st.data())
def test_the_stability_of_neighbours(tmp_path: Path, case: Any, n_maps: int, data: Any) -> None:
    samples, codes, grid = case
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    maps = [codes[rng.permutation(len(codes))] for _ in range(n_maps)]
    radius = data.draw(st.sampled_from([0, 1, 1.5]))
    pairs = [(i, j) for i in range(len(samples)) for j in range(i)]
    found = ss.neighborhood_stability(
        in_any_form(samples, data, tmp_path),
        [ss.codebook(own, grid) for own in maps],
        radius=radius,
        pairs=pairs,
    )
    expected = articles.stability(samples, maps, grid.distances() - 1e-9, radius)
    np.testing.assert_allclose(found["stability"], [expected[i][j] for i, j in pairs])
    counts = np.bincount([round(expected[i][j] * n_maps) for i, j in pairs], minlength=n_maps + 1)
    assert found["pairs_of_samples"].values.tolist() == counts.tolist()
    assert found["chance"].item() == pytest.approx((grid.distances() - 1e-9 <= radius).mean())


@few
@given(case=judged(), radius=st.sampled_from([0.0, 0.5, 1.25, 9.0]), data=st.data())
def test_u_star_heights(tmp_path: Path, case: Any, radius: float, data: Any) -> None:
    samples, codes, grid = case
    som, given_ = ss.codebook(codes, grid), in_any_form(samples, data, tmp_path)
    found = metrics.u_star_matrix(given_, som, radius=radius)
    # codes of the grid of two parts, and of one unit, that have no neighbours are nan
    expected = articles.u_star(samples, codes, adjacency(grid), radius)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    density = metrics.p_matrix(given_, som, radius=radius)
    inside = [sum(articles.distance(s, code) <= radius for s in samples) for code in codes]
    assert density.values.tolist() == inside


# --- what does not fit the memory budget, before it is held


def test_large_maps_and_many_anchors_are_refused_before_they_are_held() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 30)
    rng = np.random.default_rng(0)
    large = ss.codebook(rng.standard_normal((160_000, 3)), ss.Grid(400, 400))
    with (
        ss.set_options(memory_budget="4GiB"),
        pytest.raises(MemoryBudgetError, match=r"neighbours of 160000 units .*smaller maps"),
    ):
        ss.neighborhood_stability(samples, [large, large])
    many = da.zeros((200_000, 3), chunks=(100_000, 3))
    with (
        ss.set_options(memory_budget="2GiB"),
        pytest.raises(
            MemoryBudgetError, match=r"between 60000 samples .*sample_anchors="
        ) as refused,
    ):
        metrics.p_matrix(many, som, sample_anchors=60_000)
    assert refused.value.needed > 60_000**2 * 10
    vast = da.zeros((100_000_000, 3), chunks=(1_000_000, 3))
    with ss.set_options(memory_budget="2GiB"):
        for asked in (
            lambda: metrics.map_distance(vast, som, som),
            lambda: ss.neighborhood_stability(vast, [som, som]),
        ):
            with pytest.raises(MemoryBudgetError, match="100000000 samples on 2 maps"):
                asked()


def test_paths_are_refused_before_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 30)
    asked: list[int] = []
    monkeypatch.setattr(
        over_ways, "refuse_more_than_budget", lambda needed, *_: asked.append(needed)
    )
    metrics.map_distance(samples, som, som)
    alive = len(np.unique(ss.project(samples, som)["bmu"]))
    assert asked == [8 * alive**2] * 2


# --- bad input of the issue


def test_a_grid_larger_than_the_data_duplicates_and_one_feature() -> None:
    som = chain(*np.linspace(0, 1, 9))
    for samples in ([[0.3]], [[0.3]] * 4, [[0.3], [0.6]]):
        found = ss.evaluate(samples, som, unit_clusters=[0] * 4 + [1] * 5)
        values = found["value"]
        assert (found["note"].values[np.isnan(values.values)] != "").all()
        assert not np.isinf(values).any()
        for asked in (metrics.p_matrix, metrics.u_star_matrix):
            assert np.isfinite(asked(samples, som)).all()
    assert metrics.map_distance([[0.3]] * 3, som, som).item() == 0
    assert ss.neighborhood_stability([[0.3]] * 3, [som] * 5)["together_share"].item() == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_samples_that_are_not_finite_are_named(bad: float) -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 30)
    samples[7, 1] = bad
    for asked in (
        lambda: metrics.p_matrix(samples, som),
        lambda: metrics.u_star_matrix(samples, som, radius=1),
        lambda: metrics.map_distance(samples, som, som),
        lambda: ss.neighborhood_stability(samples, [som, som]),
        lambda: metrics.conn_index(samples, som, unit_clusters=[0] * 9),
    ):
        with pytest.raises(InputError, match=r"nan|inf|finite"):
            asked()


def test_codes_that_are_not_finite_and_grids_that_are_unknown() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 30)
    broken = som.copy(deep=True)
    broken["codes"][4, 1] = math.nan
    unknown = som.copy()
    unknown.attrs["grid"] = som.attrs["grid"].replace("rectangular", "moebius")
    for wrong, complaint in ((broken, "hold nan at unit 4"), (unknown, "'moebius'")):
        for asked in (
            lambda wrong=wrong: metrics.p_matrix(samples, wrong),
            lambda wrong=wrong: metrics.map_distance(samples, som, wrong),
            lambda wrong=wrong: metrics.aligned_code_distance(som, wrong),
            lambda wrong=wrong: ss.neighborhood_stability(samples, [som, wrong]),
            lambda wrong=wrong: metrics.topographic_product(wrong),
        ):
            with pytest.raises(InputError, match=complaint):
                asked()
    assert isinstance(som, xr.Dataset)

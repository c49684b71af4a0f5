"""Topographic product, intruders, CONN index, embedding accuracy: golden values, any map."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
import reference_map
from hypothesis import given, settings
from hypothesis import strategies as st
from passes import cut_by_hand
from scipy import stats as scipy_stats
from strategies import Case
from test_map_metrics import Arrangement, chain, gaussian_map, judged, maps, symmetries
from unit_passes import TILE, Values, any_cut

import somscale as ss
from somscale import metrics
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SampleValueError
from somscale.metrics import code_distances
from somscale.metrics.maps import intruders, products
from somscale.reductions.marginals import Marginals, MarginalsReduction
from somscale.reductions.units import UnitsReduction

GRIDS = [
    ss.Grid(4, 6),
    ss.Grid(5, 5, neighbors=8, delta="euclidean"),
    ss.Grid(4, 3, periodic=True),
    ss.Grid(4, 5, topology="hexagonal", delta="euclidean"),
]


# --- topographic product


def test_golden_topographic_product(digits_map: Any) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    found = metrics.topographic_product(som)
    assert found.item() == pytest.approx(-0.1764703910, abs=5e-11)
    assert metrics.topographic_product(samples, som).item() == found.item()
    every = metrics.unit_topographic_product(som)
    assert every.dims == ("unit",)
    assert every.mean().item() == pytest.approx(found.item(), rel=1e-13)


def test_topographic_product_by_hand() -> None:
    # unit 1: map distances 1, 1 of code distances 3, 1; units 0 and 2 by their own orders
    som = chain(0.0, 3.0, 2.0)
    logs = {
        0: [(math.log(3 / 2) + math.log(1 / 2)) / 2, 0.0],
        1: [(math.log(3) / 2 - math.log(1)) / 2, 0.0],
        2: [0.0, 0.0],
    }
    expected = [math.fsum(own) / 2 for own in logs.values()]
    np.testing.assert_allclose(metrics.unit_topographic_product(som), expected, atol=1e-15)
    assert metrics.topographic_product(som).item() == pytest.approx(math.fsum(expected) / 3)


def test_where_there_is_no_topographic_product(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = chain(0.0, 1.0, 3.0, 1.0)
    found = metrics.topographic_product(twins)
    assert math.isnan(found.item())
    assert found.attrs["note"] == "the code vectors of units 1 and 3 coincide"
    every = metrics.unit_topographic_product(twins)
    assert np.isnan(every.values).tolist() == [False, True, False, True]
    assert "coincides" in every.attrs["undefined"]
    flat = ss.Grid.from_distances([[0, 0, 5], [0, 0, 5], [5, 5, 0]])
    found = metrics.topographic_product(ss.codebook([[0.0], [3], [9]], flat))
    assert found.attrs["note"] == "units 0 and 1 are at distance 0 on the map"
    assert "one unit" in metrics.topographic_product(chain(1.0)).attrs["note"]
    monkeypatch.setattr(products, "ORDERED_UNITS", 3)
    assert "at most 3" in metrics.topographic_product(chain(0.0, 1, 2, 3)).attrs["note"]
    assert np.isnan(metrics.unit_topographic_product(chain(0.0, 1, 2, 3))).all()


def test_rounding_breaks_no_ties() -> None:
    # a map that lies on its own grid, in steps of 0.1: many distances are equal but for rounding
    grid = ss.Grid(7, 7, delta="euclidean")
    found = metrics.topographic_product(ss.codebook(grid.positions * 0.1, grid))
    assert found.item() == pytest.approx(0, abs=1e-14)


@given(both=maps(), block=st.sampled_from([1, 40, 1 << 20]))
def test_products_are_those_of_the_definition(both: tuple[Case, Arrangement], block: int) -> None:
    codes, delta = both[0].codes, both[1].delta
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_distances, "_BLOCK_VALUES", block)
        found = judged(both, one="topographic_product", every="unit_topographic_product")
    if len(codes) == 1:
        assert math.isnan(found["one"])
        return
    expected = reference_map.topographic_products(codes, delta)
    np.testing.assert_allclose(found["every"], expected, rtol=1e-11, atol=1e-13)
    whole = math.fsum(expected) / len(expected)
    assert found["one"] == pytest.approx(whole, rel=1e-11, abs=1e-13, nan_ok=True)


# --- intruders


def test_intruders_by_hand() -> None:
    # between 0 and 10 lie 1 and 9, between 10 and 1 lies 9, between 1 and 9 nothing
    som = chain(0.0, 10.0, 1.0, 9.0)
    assert metrics.zrehen_measure(som, normalize=False).item() == 3
    assert metrics.zrehen_measure(som).item() == 3 / 4
    assert metrics.zrehen_measure([[0.0]], som).item() == 3 / 4
    assert metrics.unit_zrehen_measure(som).values.tolist() == [1, 1.5, 0.5, 0]
    assert metrics.zrehen_measure(som, normalize=False).attrs["units"] == "intruders"
    # on the sphere, or on one of the two, is not between them
    grid = ss.Grid(2, 2, neighbors=8)
    assert metrics.zrehen_measure(ss.codebook(grid.positions * 0.1, grid)).item() == 0
    assert metrics.zrehen_measure(chain(0.0, 1.0, 0.0)).item() == 0
    assert metrics.zrehen_measure(chain(1.0)).item() == 0
    with pytest.raises(InputError, match="normalize is True or False"):
        metrics.zrehen_measure(som, normalize=2)


@given(both=maps(), neighborhood=st.sampled_from([None, "edge", "vertex"]))
def test_intruders_are_those_of_the_definition(
    both: tuple[Case, Arrangement], neighborhood: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intruders, "_BLOCK", 20)
        given_ = {"neighborhood": neighborhood}
        found = judged(both, one=("zrehen_measure", given_), every=("unit_zrehen_measure", given_))
    expected = reference_map.intruders(both[0].codes, both[1].adjacent[neighborhood])
    np.testing.assert_array_equal(found["every"], expected.sum(axis=1) / 2)
    assert found["one"] == expected.sum() / 2 / len(expected)


# --- CONN index


def test_conn_index_by_hand() -> None:
    som, clusters = chain(0.0, 1.0, 10.0, 11.0), [0, 0, 1, 1]
    apart = [[0.1], [0.9], [10.2], [10.9]]
    assert metrics.conn_index(apart, som, unit_clusters=clusters).item() == 1
    # a sample of unit 1 whose second-best unit is 2: CADJ 0->1: 1, 1->0: 1, 1->2: 1, 2->3, 3->2: 1
    found = metrics.conn_index([*apart, [5.45]], som, unit_clusters=clusters)
    intra, inter = (2 / 3 + 1) / 2, (1 / (1 + 1 + 1) + 0) / 2
    assert found.item() == pytest.approx(intra * (1 - inter))
    assert found.attrs["unit_clusters"].tolist() == clusters
    every = metrics.unit_intra_connectivity([*apart, [5.45]], som, unit_clusters=list("aabb"))
    assert every.values.tolist() == [1, 0.5, 1, 1]
    assert metrics.conn_index(apart, som, unit_clusters=[5, 5, 5, 5]).item() == 1
    result = ss.evaluate(apart, som, metrics=["conn_index"], unit_clusters=clusters)
    assert result["value"].item() == 1
    units = ss.cluster_units(som, 2)
    assert metrics.conn_index(apart, som, unit_clusters=units).item() == 1


def test_where_there_is_no_conn_index() -> None:
    som = chain(0.0, 1.0, 2.0)
    found = metrics.conn_index([[0.0]], som)
    assert math.isnan(found.item())
    assert "unit_clusters=" in found.attrs["note"]
    assert "one unit" in metrics.conn_index([[0.0]], chain(1.0), unit_clusters=[0]).attrs["note"]
    with pytest.raises(InputError, match="unit_clusters has 2 entries; the map has 3 units"):
        metrics.conn_index([[0.0]], som, unit_clusters=[0, 1])
    for wrong in ([[0, 1, 1]], [0.5, 1, 2], 3, []):
        with pytest.raises(InputError, match="conn_index: unit_clusters holds the cluster of each"):
            metrics.conn_index([[0.0]], som, unit_clusters=wrong)


@given(both=maps(), seed=st.integers(0, 9), n_clusters=st.integers(1, 4))
def test_conn_index_is_that_of_the_definition(
    both: tuple[Case, Arrangement], seed: int, n_clusters: int
) -> None:
    samples, codes = both[0].samples, both[0].codes
    clusters = np.random.default_rng(seed).integers(0, n_clusters, len(codes))
    given_ = {"unit_clusters": clusters}
    found = judged(both, one=("conn_index", given_), every=("unit_intra_connectivity", given_))
    best, second = reference.best_two(samples, codes)
    if len(codes) == 1:
        assert math.isnan(found["one"])
        return
    expected = reference_map.conn_index(best, second, clusters)
    assert found["one"] == pytest.approx(expected, rel=1e-13, abs=1e-15)
    for unit, share in enumerate(found["every"]):
        own = best == unit
        same = clusters[second[own]] == clusters[unit]
        assert share == same.mean() if own.any() else math.isnan(share)


# --- embedding accuracy


def test_distances_and_tests_are_scipys(digits_map: Any) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes, ss.Grid(8, 8))
    found = {
        test: metrics.feature_embedding_p_value(samples, som, test=test).values
        for test in ("ks", "mean", "variance")
    }
    distance = metrics.feature_ks_distance(samples, som).values
    variance, own = samples.var(axis=0, ddof=1), codes.var(axis=0, ddof=1)
    for f in range(64):
        ks = scipy_stats.ks_2samp(samples[:, f], codes[:, f], method="asymp")
        assert distance[f] == pytest.approx(ks.statistic, abs=1e-15)
        limit = scipy_stats.kstwobign.sf(ks.statistic * math.sqrt(1797 * 64 / (1797 + 64)))
        assert found["ks"][f] == pytest.approx(limit, rel=1e-12)
        if variance[f] and own[f]:
            welch = scipy_stats.ttest_ind(codes[:, f], samples[:, f], equal_var=False)
            assert found["mean"][f] == pytest.approx(welch.pvalue, rel=1e-9)
            tails = scipy_stats.f(63, 1796)
            ratio = own[f] / variance[f]
            smaller = min(tails.cdf(ratio), tails.sf(ratio))
            assert found["variance"][f] == pytest.approx(2 * smaller, rel=1e-9)
    accuracy = metrics.map_embedding_accuracy(samples, som)
    assert accuracy.item() == (found["ks"] > 0.05).mean()
    both = np.minimum(found["mean"], found["variance"]) > 0.05
    weighted = metrics.map_embedding_accuracy(samples, som, test="moments", weighted=True)
    assert weighted.item() == pytest.approx(variance[both].sum() / variance.sum(), rel=1e-12)
    ratios = metrics.feature_variance_ratio(samples, som)
    spread = variance > 0
    np.testing.assert_allclose(ratios[spread], own[spread] / variance[spread], rtol=1e-12)
    moved = codes.mean(axis=0) - samples.mean(axis=0)
    effects = metrics.feature_mean_difference(samples, som)
    expected = moved[spread] / np.sqrt(variance[spread])
    np.testing.assert_allclose(effects[spread], expected, rtol=1e-9, atol=1e-14)
    assert np.isnan(effects[~spread]).all()


def test_embedding_by_hand() -> None:
    som = chain(0.0, 1.0, 2.0, 3.0)
    samples = np.array([[0.0], [0.0], [0.0], [3.0]])
    assert metrics.feature_ks_distance(samples, som).values.tolist() == [0.5]
    # samples between codes: the largest difference lies just below a code
    assert metrics.feature_ks_distance([[0.5], [0.6]], som).values.tolist() == [0.75]
    assert metrics.map_embedding_accuracy([[90.0]] * 9, som).item() == 0
    lonely = metrics.map_embedding_accuracy([[1.0]], som, test="moments")
    assert "no variance to test" in lonely.attrs["note"]
    flat = metrics.map_embedding_accuracy([[1.0]] * 9, som, weighted=True)
    assert "no variance, which features are weighted by" in flat.attrs["note"]
    equal = ss.codebook([[0.1]] * 4, ss.Grid.chain(4))
    for value, p in ((0.1, 1.0), (0.2, 0.0)):
        found = metrics.feature_embedding_p_value([[value]] * 5, equal, test="mean")
        assert found.values.tolist() == [p]
    same = metrics.feature_embedding_p_value([[0.2]] * 5, equal, test="variance")
    assert same.values.tolist() == [1]


def test_wrong_questions_of_embedding() -> None:
    som, samples = chain(0.0, 1.0), [[0.0], [1.0]]
    with pytest.raises(InputError, match="test is one of"):
        metrics.map_embedding_accuracy(samples, som, test="mean")
    with pytest.raises(InputError, match="significance lies between 0 and 1, not at 5"):
        metrics.map_embedding_accuracy(samples, som, significance=5)
    with pytest.raises(InputError, match="significance is a number"):
        metrics.map_embedding_accuracy(samples, som, significance="5%")
    with pytest.raises(InputError, match="sample_weights= has no meaning for tests"):
        metrics.feature_ks_distance(samples, som, sample_weights=[1.0, 2.0])
    every = ss.evaluate(samples, som, sample_weights=[1.0, 2.0], cost="linear")
    assert "feature_ks_distance" not in every
    assert "map_embedding_accuracy" not in every["metric"]
    with pytest.raises(SampleValueError, match="nan"):
        metrics.feature_ks_distance([[0.0], [math.nan]], som)


def test_embedding_of_dask_arrays_masks_and_gaps() -> None:
    rng = np.random.default_rng(0)
    samples, codes = rng.standard_normal((5000, 4)), rng.standard_normal((9, 4))
    samples[:, 2] = codes[:, 2] = math.nan
    samples[::7] = math.nan
    som = ss.codebook(codes, ss.Grid(3, 3))
    expected = metrics.feature_ks_distance(samples, som, missing="drop")
    kept = np.delete(samples, np.s_[::7], axis=0)
    for f in (0, 1, 3):
        distance = reference_map.ks_distance(kept[:200, f], codes[:, f])
        few = metrics.feature_ks_distance(kept[:200], som, missing="drop").values[f]
        assert few == pytest.approx(distance, abs=1e-15)
    assert np.isnan(expected.values).tolist() == [False, False, True, False]
    lazy = da.from_array(samples, chunks=(1700, 3))
    found = metrics.feature_ks_distance(lazy, som, missing="drop")
    np.testing.assert_array_equal(found.compute(), expected)
    names = ["map_embedding_accuracy", "feature_mean_difference", "feature_ks_distance"]
    one, two = (ss.evaluate(s, som, metrics=names, missing="drop") for s in (samples, lazy))
    for name in ("value", *names[1:]):
        np.testing.assert_array_equal(one[name], two[name].compute())


@given(both=maps())
def test_distances_are_those_of_the_definition(both: tuple[Case, Arrangement]) -> None:
    samples, codes = np.asarray(both[0].samples, np.float64), both[0].codes
    found = judged(both, it="feature_ks_distance")["it"]
    expected = [
        reference_map.ks_distance(samples[:, f], codes[:, f]) for f in range(codes.shape[1])
    ]
    np.testing.assert_allclose(found, expected, atol=1e-14)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), data=st.data())
def test_marginals_are_the_same_in_any_cut(seed: int, n: int, data: Any) -> None:
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    samples, codes = rng.integers(0, 4, (n, d)) * 0.1, rng.integers(0, 4, (k, d)) * 0.1
    excluded = rng.random(n) < 0.2
    excluded[0] = False
    samples[rng.random(n) < 0.1] += 7.0

    def marginals(cut: Cut) -> Marginals:
        units = UnitsReduction(codes, excluded="out")
        units.tile_rows = TILE
        own = MarginalsReduction(codes, "units")
        own.tile_rows = TILE
        columns: Any = {"out": Values(excluded)}
        job = LinearJob([units, own], n, d, source=ArraySource(samples), columns=columns)
        found: Marginals = cut_by_hand(job, cut)[1]
        return found

    whole, cut = marginals(Cut("rows", 1 << 20, d, TILE)), marginals(data.draw(any_cut(d)))
    for name in ("n_samples", "codes", "below", "at_most", "mean", "variance"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name), name)
    taken = samples[~excluded]
    assert whole.n_samples == len(taken)
    ordered = np.sort(codes, axis=0)
    np.testing.assert_array_equal(whole.below, (taken[:, None] < ordered).sum(axis=0))
    np.testing.assert_array_equal(whole.at_most, (taken[:, None] <= ordered).sum(axis=0))
    np.testing.assert_allclose(whole.mean, taken.mean(axis=0), rtol=1e-13)
    if len(taken) > 1:
        expected = np.where(np.ptp(taken, axis=0) > 0, taken.var(axis=0, ddof=1), 0)
        np.testing.assert_allclose(whole.variance, expected, rtol=1e-10, atol=1e-15)
        assert (whole.variance[np.ptp(taken, axis=0) == 0] == 0).all()


# --- all of them


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_a_symmetry_of_the_grid_changes_no_index(grid: ss.Grid) -> None:
    samples, som = gaussian_map(grid)
    clusters = np.arange(grid.size) // 5
    for order in symmetries(grid):
        turned = ss.codebook(som["codes"].values[order], grid)
        for name in ("topographic_product", "zrehen_measure"):
            index = getattr(metrics, name)
            np.testing.assert_allclose(index(turned), index(som), rtol=1e-11)
            every = getattr(metrics, f"unit_{name}")
            np.testing.assert_allclose(every(turned), every(som).values[order], rtol=1e-11)
        of_turned = metrics.conn_index(samples, turned, unit_clusters=clusters[order])
        of_som = metrics.conn_index(samples, som, unit_clusters=clusters)
        np.testing.assert_allclose(of_turned, of_som, rtol=1e-13)


def test_indices_of_a_map_alone() -> None:
    samples, som = gaussian_map(ss.Grid(3, 4))
    for name in (
        *("topographic_product", "unit_topographic_product", "zrehen_measure"),
        *("unit_zrehen_measure", "u_matrix", "map_distance_correlation"),
    ):
        index = getattr(metrics, name)
        alone = index(som)
        assert alone.identical(index(samples, som)), name
        with pytest.raises(InputError, match="reads no samples, which missing= is for"):
            index(som, missing="drop")
        with pytest.raises(InputError, match="not a codebook"):
            index(samples)
    with pytest.raises(TypeError, match="som"):
        metrics.topographic_error(som)
    masked = som["codes"].values.copy()
    masked[:, 1] = math.nan
    kept = ss.codebook(np.delete(masked, 1, axis=1), ss.Grid(3, 4))
    found = metrics.topographic_product(ss.codebook(masked, ss.Grid(3, 4)))
    assert found.item() == metrics.topographic_product(kept).item()

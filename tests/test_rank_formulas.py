"""Indices of ranks: golden values, pitfalls, laws, and every formula against its definition."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import reference_ranks as plain
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from somscale import metrics as m
from somscale.errors import InputError
from somscale.metrics.answering.labelled import REGIONS
from somscale.metrics.asking.rank_sampling import DrawnRanks, estimate_ranks
from somscale.metrics.public import IndexFunction
from somscale.metrics.ranks.given_matrix import stats_of_matrix
from somscale.metrics.ranks.scalars import k_max_of
from somscale.metrics.spec import all_specs
from somscale.metrics.values import note_of, number_of
from somscale.reductions.rank_stats import RankCurves, RankStats, Tally, curves_of

Array = NDArray[Any]
Case = tuple[Array, Array]
Definition = Callable[..., float]

LINEAR: list[tuple[IndexFunction, dict[str, Any], Definition, int]] = [
    (m.q_nx, {}, plain.q_nx, 1),
    (m.r_nx, {}, plain.r_nx, 2),
    (m.lcmc, {}, plain.lcmc, 1),
    (m.u_n, {}, plain.u_n, 1),
    (m.u_x, {}, plain.u_x, 1),
    (m.b_nx, {}, plain.b_nx, 1),
    (m.trustworthiness, {}, plain.trustworthiness, 1),
    (m.continuity, {}, plain.continuity, 1),
    (m.neighborhood_preservation, {}, plain.continuity, 1),
    (m.mrre_intrusion, {}, plain.mrre_intrusion, 1),
    (m.mrre_extrusion, {}, plain.mrre_extrusion, 1),
    (
        m.mrre_intrusion,
        {"normalizer": "lee"},
        lambda q, k, rows=None: plain.mrre_intrusion(q, k, rows, lee=True),
        1,
    ),
    (
        m.mrre_extrusion,
        {"normalizer": "lee"},
        lambda q, k, rows=None: plain.mrre_extrusion(q, k, rows, lee=True),
        1,
    ),
]
SCALARS: list[tuple[IndexFunction, Definition]] = [
    (m.k_max, plain.k_max),
    (m.q_local, plain.q_local),
    (m.q_global, plain.q_global),
    (m.auc_r_nx, plain.auc_r_nx),
    (m.mean_r_nx, plain.mean_r_nx),
]
CLOSE: Any = {"rel": 1e-12, "abs": 1e-12}


def value(index: IndexFunction, stats: RankStats, **given_: Any) -> Array:
    return number_of(index.spec.formula(stats, **given_))


def note(index: IndexFunction, stats: RankStats, **given_: Any) -> str:
    return note_of(index.spec.formula(stats, **given_))


def tables(x: Any, y: Any) -> tuple[Array, Array]:
    """Squared distances of points on a line."""
    first, second = np.asarray(x, float), np.asarray(y, float)
    return plain.square_distances(first[:, None]), plain.square_distances(second[:, None])


@st.composite
def cases(draw: st.DrawFn, least: int = 3, most: int = 7) -> Case:
    """Tables of distances with ties, duplicates, and none."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = []
    for _ in range(2):
        kind = draw(st.sampled_from(["continuous", "grid", "twins", "constant"]))
        points = {
            "continuous": rng.standard_normal((n, 2)),
            "grid": rng.integers(0, 3, (n, 2)),
            "twins": rng.standard_normal((3, 2))[rng.integers(0, 3, n)],
            "constant": np.zeros((n, 2)),
        }[kind]
        found.append(plain.square_distances(points))
    return found[0], found[1]


each_policy = pytest.mark.parametrize("ties", ["index", "expected", "best", "worst"])


# --- golden values


@pytest.fixture(scope="module")
def digits() -> tuple[Array, Array]:
    samples = load_digits().data
    embedding = PCA(n_components=2, svd_solver="full").fit_transform(samples)
    return plain.square_distances(samples), plain.square_distances(embedding)


@pytest.fixture(scope="module")
def digits_matrix(digits: tuple[Array, Array]) -> Array:
    return plain.corank(*map(plain.ranks, digits))


@pytest.fixture(scope="module")
def digits_stats(digits_matrix: Array) -> RankStats:
    return stats_of_matrix(digits_matrix)


def test_golden_matrix(digits_matrix: Array) -> None:
    assert hashlib.sha256(digits_matrix.tobytes()).hexdigest().startswith("b571006af70c96f0")
    assert digits_matrix[:5, :5].tolist() == [
        [44, 51, 36, 55, 36],
        [26, 23, 27, 26, 32],
        [27, 28, 27, 21, 16],
        [22, 20, 27, 22, 24],
        [30, 22, 16, 28, 17],
    ]


GOLDEN_CURVES = {
    "q_nx": {
        1: 0.02448525319977741,
        5: 0.07824151363383416,
        10: 0.11786310517529215,
        100: 0.3990372843628269,
    },
    "r_nx": {
        1: 0.023941790945292602,
        5: 0.07566820686005928,
        10: 0.11292392883248864,
        100: 0.3636031619785597,
    },
    "b_nx": {
        1: 0,
        5: -0.008681135225375626,
        10: -0.010517529215358931,
        100: -0.05162493043962159,
    },
    "trustworthiness": {
        5: 0.8304283923923886,
        10: 0.8300063832336022,
        898: 0.7585228362897839,
        899: 0.7581579489790344,
    },
    "continuity": {
        5: 0.9569479347760832,
        10: 0.9505175542047736,
        898: 0.8196438703011496,
        899: 0.8193594411725628,
    },
    "mrre_intrusion": {10: 0.17053632684302694},
    "mrre_extrusion": {10: 0.043933571947696155},
}
GOLDEN_SCALARS = {
    "k_max": 174,
    "q_local": 0.34656630910587666,
    "q_global": 0.7459602700473229,
    "auc_r_nx": 0.23337979698333572,
    "mean_r_nx": 0.3936936280074587,
}


@pytest.mark.parametrize("name", GOLDEN_CURVES)
def test_golden_curves(digits_stats: RankStats, name: str) -> None:
    expected = GOLDEN_CURVES[name]
    found = value(getattr(m, name), digits_stats, k=np.array(list(expected)))
    assert found.tolist() == pytest.approx(list(expected.values()), **CLOSE)


@pytest.mark.parametrize("name", GOLDEN_SCALARS)
def test_golden_scalars(digits_stats: RankStats, name: str) -> None:
    assert value(getattr(m, name), digits_stats) == pytest.approx(GOLDEN_SCALARS[name], **CLOSE)


@pytest.mark.parametrize(
    ("kappa_s", "kappa_t", "norm", "expected"),
    [
        (10, 5, "lueks", 0.11613800779076239),
        (50, 20, "lueks", 0.22980523094045632),
        (100, 1796, "lueks", 1.600962715637173),
        (10, 5, "region", 0.06170539885281769),
    ],
)
def test_golden_quality(
    digits_stats: RankStats, kappa_s: int, kappa_t: int, norm: str, expected: float
) -> None:
    found = value(
        m.rank_quality, digits_stats, kappa_s=[kappa_s], kappa_t=[kappa_t], norm=norm
    ).item()
    assert found == pytest.approx(expected, **CLOSE)


def test_golden_expected_quality(digits: tuple[Array, Array]) -> None:
    pair = plain.pair_spans(*digits, "expected")
    n, ks = len(digits[0]), (1, 5, 10, 100)
    overlap = np.zeros(100)
    for k in ks:
        overlap[k - 1] = plain.overlaps(pair, k).sum()
    none = np.zeros(100)
    curves = RankCurves(n, n, overlap, none, none, none, none, none, none, none)
    found = value(m.q_nx, RankStats(n, curves), k=np.array(ks))
    expected = [0.02448525319977741, 0.07813021702838063, 0.11782600630680765, 0.39904887775922837]
    assert found.tolist() == pytest.approx(expected, **CLOSE)


def test_agrees_with_scikit_learn_where_nothing_ties() -> None:
    samples = load_digits().data[:500]
    samples = samples + 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    embedding = PCA(n_components=2, svd_solver="full").fit_transform(samples)
    squares = [plain.square_distances(points) for points in (samples, embedding)]
    stats = stats_of_matrix(plain.corank(*map(plain.ranks, squares)))
    for k in (5, 100):
        theirs = sklearn_trustworthiness(samples, embedding, n_neighbors=k)
        assert value(m.trustworthiness, stats, k=[k]).item() == pytest.approx(theirs, **CLOSE)
        theirs = sklearn_trustworthiness(embedding, samples, n_neighbors=k)
        assert value(m.continuity, stats, k=[k]).item() == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize(
    ("space", "preservation", "trust"),
    [
        ("codebook", 0.6773851678854147, 0.9503044893596225),
        ("map", -0.06849762454520159, 0.948070155448747),
    ],
)
def test_golden_weighted_ties(space: str, preservation: float, trust: float) -> None:
    samples = load_digits().data / 16
    codes = samples[np.random.default_rng(0).permutation(1797)][:64]
    bmu = cdist(samples, codes, "sqeuclidean").argmin(axis=1)
    grid = np.argwhere(np.ones((8, 8)))
    if space == "codebook":
        units = cdist(codes, codes, "sqeuclidean")
    else:
        units = cdist(grid, grid, "cityblock")
    units = units[np.ix_(bmu, bmu)]
    stats = weighted_at(plain.square_distances(samples), units, 5)
    assert value(m.trustworthiness, stats, k=[5], ties="weighted") == pytest.approx(trust, **CLOSE)
    found = value(m.neighborhood_preservation, stats, k=[5], ties="weighted")
    assert found == pytest.approx(preservation, **CLOSE)


def weighted_at(x_table: Array, y_table: Array, k: int) -> RankStats:
    """Sums with weighted ties at one K."""
    into, out = np.zeros(k), np.zeros(k)
    into[-1], out[-1] = (part.sum() for part in plain.weighted_excess(x_table, y_table, k))
    none, n = np.zeros(k), len(x_table)
    return RankStats(n, RankCurves(n, n, none, none, none, none, into, out, none, none))


def test_the_map_must_matter() -> None:
    samples = np.array([0, 0.1, 1, 1.1, 2, 2.1, 3, 3.1])[:, None]
    found = []
    for codes in ([0.05, 1.05, 2.05, 3.05], [0.05, 2.05, 1.05, 3.05]):
        bmu = cdist(samples, np.array(codes)[:, None]).argmin(axis=1)
        steps = abs(bmu[:, None] - bmu)
        stats = weighted_at(plain.square_distances(samples), steps, 2)
        for index in (m.neighborhood_preservation, m.trustworthiness):
            found.append(value(index, stats, k=[2], ties="weighted").item())
    assert found == pytest.approx([1, 0.851852, 0.555556, 0.559259], abs=1e-6)


# --- pitfalls


def test_duplicates() -> None:
    stats = plain.stats_of(*tables([0, 0, 1, 2], [0, 3, 1, 2]))
    assert value(m.coranking_matrix, stats).tolist() == [[1, 1, 2], [1, 1, 2], [2, 2, 0]]
    assert value(m.q_nx, stats).tolist() == [0.25, 0.5, 1]
    assert value(m.trustworthiness, stats, k=[1]) == value(m.continuity, stats, k=[1]) == 0.375


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 1, 4, 0, 2]])
def test_collapsed_output(order: list[int]) -> None:
    stats = plain.stats_of(*tables(order, [0] * 5), ties="expected")
    assert value(m.q_nx, stats) == pytest.approx(np.array([1, 2, 3, 4]) / 4)
    assert value(m.r_nx, stats) == pytest.approx(0, abs=1e-15)
    assert value(m.trustworthiness, stats, k=[1]) == pytest.approx(0.5)
    assert stats.tied == 1


def test_more_than_half_of_all_neighbors() -> None:
    x = [0, 1, 3, 7, 12, 20]
    rng = np.random.default_rng(5)
    for _ in range(20):
        stats = plain.stats_of(*tables(x, rng.permutation(x)))
        for index in (m.trustworthiness, m.continuity):
            found = value(index, stats)
            assert ((found >= 0) & (found <= 1)).all()
            assert found[-1] == 1


def test_neighbors_and_samples_are_told_apart() -> None:
    x = [0, 1, 3, 6, 10]
    stats = plain.stats_of(*tables(x, x))
    assert value(m.lcmc, stats).tolist() == [0.75, 0.5, 0.25, 0]
    assert value(m.q_nx, stats).tolist() == [1, 1, 1, 1]
    assert value(m.r_nx, stats).tolist() == [1, 1, 1]


def test_direct_differences_of_float32() -> None:
    points = np.array([[1000, 1000], [1000.1, 1000], [1000.3, 1000], [1000.6, 1000]], np.float32)
    expected = [[0, 1, 2, 3], [1, 0, 2, 3], [2, 1, 0, 3], [3, 2, 1, 0]]
    assert plain.ranks(plain.square_distances(points)).tolist() == expected


def test_self_is_told_by_index() -> None:
    rho = plain.ranks(np.zeros((4, 4)))
    assert rho.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 0, 3], [1, 2, 3, 0]]


def test_reversed_order() -> None:
    stats = plain.stats_of(*tables([0, 1, 3, 6, 10], [0, 10, 6, 3, 1]))
    found = value(m.rank_quality, stats, kappa_s=[1, 2], kappa_t=[1, 4])
    assert found[:, 1].tolist() == pytest.approx([2, 1.6])
    assert found[1, 0] == pytest.approx(0.8)


def test_errors_may_exceed_one() -> None:
    # every row has its ranks 1, 2, 3 turned to 3, 1, 2
    matrix = np.array([[0, 0, 4], [4, 0, 0], [0, 4, 0]])
    worst = max(
        value(index, stats_of_matrix(turned), k=[2]).item()
        for index in (m.mrre_intrusion, m.mrre_extrusion)
        for turned in (matrix, matrix[::-1].copy())
    )
    assert worst == 1.25
    assert math.isnan(m.mrre_intrusion.spec.upper)


def test_first_of_equal_maxima_whatever_rounds() -> None:
    overlap = np.zeros(12, np.int64)
    overlap[[0, 3, 11]] = 8, 45, 13 * 12
    assert 8 / 13 - 1 / 12 < 45 / 52 - 4 / 12  # equal but for rounding
    none = np.zeros(12)
    curves = RankCurves(13, 13, overlap, none, none, none, none, none, none, none)
    assert k_max_of(curves) == 1
    longer = replace(curves, overlap=np.append(overlap, [13 * 12] * 3))  # N was thought larger
    assert k_max_of(longer) == 1
    groups = replace(curves, overlap=np.stack([overlap] * 2), n_rows=np.full((2, 1), 13))
    assert k_max_of(groups).tolist() == [1, 1]


# --- definitions


@each_policy
@settings(max_examples=25, deadline=None)
@given(case=cases())
def test_curves_and_scalars_are_as_defined(case: Case, ties: Any) -> None:
    stats = plain.stats_of(*case, ties=ties, kappas=(1, 0))
    matrix = plain.summed(plain.pair_spans(*case, ties), range(len(case[0])))
    for index, given_, definition, below in LINEAR:
        expected = [definition(matrix, k) for k in range(1, len(matrix) + 2 - below)]
        found = value(index, stats, **given_)
        assert found.tolist() == pytest.approx(expected, **CLOSE), index.__name__
        chosen = value(index, stats, k=np.array([1.0]), **given_)
        assert chosen.tolist() == found[:1].tolist()
    for scalar, definition in SCALARS:
        found = value(scalar, stats)
        assert found == pytest.approx(definition(matrix), **CLOSE), scalar.__name__


@each_policy
@settings(max_examples=10, deadline=None)
@given(case=cases())
def test_surface_and_regions_are_as_defined(case: Case, ties: Any) -> None:
    stats = plain.stats_of(*case, ties=ties)
    matrix = stats.matrix
    assert matrix is not None
    n = stats.n_samples
    near, far = range(1, n), range(n)  # one more than any rank moves
    for norm in ("lueks", "region"):
        expected = [[plain.rank_quality(matrix, s, t, norm) for t in far] for s in near]
        found = value(m.rank_quality, stats, kappa_s=near, kappa_t=far, norm=norm)
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert np.array_equal(value(m.rank_quality, stats, norm=norm), found[:, :-1])
    found = value(m.rank_regions, stats)
    for k in near:
        parts = plain.regions(matrix, k)
        assert found[:, k - 1].tolist() == pytest.approx([parts[r] for r in REGIONS], **CLOSE)


@settings(max_examples=20, deadline=None)
@given(case=cases(), seed=st.integers(0, 99))
def test_neighbor_sets_are_as_defined(case: Case, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 2, len(case[0]))
    stats = plain.stats_of(*case, labels=labels, kappas=(1, 0))
    rho, r = map(plain.ranks, case)
    ks = range(1, len(rho))
    expected = [plain.jaccard(rho, r, k) for k in ks]
    assert value(m.neighborhood_jaccard, stats).tolist() == pytest.approx(expected, **CLOSE)
    expected = [plain.neighborhood_hit(r, labels, k) for k in ks]
    assert value(m.neighborhood_hit, stats).tolist() == pytest.approx(expected, **CLOSE)


@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_weighted_ties_are_as_defined(case: Case) -> None:
    stats = plain.stats_of(*case, ties="weighted", kappas=(1, 0))
    ks = range(1, len(case[0]))
    expected = [plain.weighted_trustworthiness(*case, k) for k in ks]
    found = value(m.trustworthiness, stats, ties="weighted")
    assert found.tolist() == pytest.approx(expected, **CLOSE)
    expected = [plain.weighted_preservation(*case, k) for k in ks]
    for index in (m.continuity, m.neighborhood_preservation):
        assert value(index, stats, ties="weighted").tolist() == pytest.approx(expected, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(case=cases(most=5))
def test_expected_is_the_mean_over_all_orders(case: Case) -> None:
    closed = plain.expected_corank(*case)
    rows = [plain.enumerated_row(*pair, i) for i, pair in enumerate(zip(*case, strict=True))]
    assert np.allclose(closed, np.sum(rows, axis=0), rtol=1e-12, atol=1e-12)
    stats, pair = stats_of_matrix(closed), plain.pair_spans(*case, "expected")
    n = len(closed) + 1
    for k in range(1, n):
        assert value(m.q_nx, stats, k=[k]) == pytest.approx(plain.overlaps(pair, k).sum() / k / n)
        into, out = (part.sum() for part in plain.excesses(pair, k))
        assert stats.curves is not None
        assert stats.curves.excess_in[k - 1] == pytest.approx(into, **CLOSE)
        assert stats.curves.excess_out[k - 1] == pytest.approx(out, **CLOSE)


@settings(max_examples=20, deadline=None)
@given(case=cases(most=5))
def test_best_and_worst_are_the_ends_over_all_orders(case: Case) -> None:
    rho = plain.ranks(case[0])
    n = len(rho)
    size = range(1, n)
    found = {
        ties: plain.summed(plain.pair_spans(*case, ties), range(n)) for ties in ("best", "worst")
    }
    for k in size:
        overlaps: dict[str, list[int]] = {"best": [], "worst": []}
        for i in range(n):
            inputs = np.delete(rho[i], i)
            orders = list(plain.all_orders(np.delete(case[1][i], i)))
            shared = [sum(inputs[place] <= k for place in order[:k]) for order in orders]
            overlaps["best"].append(max(shared))
            overlaps["worst"].append(min(shared))
        for ties, each in overlaps.items():
            assert plain.overlap(found[ties], k) == sum(each)


# --- laws


@each_policy
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_means_over_samples_are_the_value(case: Case, ties: Any) -> None:
    n = len(case[0])
    pairs = list(itertools.product((1, n - 1), (0, 1, n)))
    stats = plain.stats_of(*case, ties=ties, sample_pairs=pairs)
    for own, whole in (
        (m.sample_q_nx, m.q_nx),
        (m.sample_trustworthiness, m.trustworthiness),
        (m.sample_continuity, m.continuity),
    ):
        assert np.allclose(value(own, stats).mean(axis=0), value(whole, stats), rtol=1e-12)
    ends: Any = {"kappa_s": [1, n - 1], "kappa_t": [0, 1, n]}
    whole_quality = value(m.rank_quality, stats, **ends)
    for side in ("both", "row", "column"):
        found = value(m.pointwise_rank_quality, stats, side=side, **ends)
        assert found.shape == (n, 2, 3)
        assert np.allclose(found.mean(axis=0), whole_quality, rtol=1e-12)
    every = value(m.pointwise_rank_quality, stats)
    assert np.array_equal(every, value(m.pointwise_rank_quality, stats, **ends))


@each_policy
@pytest.mark.parametrize("norm", ["lueks", "region"])
@settings(max_examples=8, deadline=None)
@given(case=cases())
def test_quality_of_samples_in_both_norms(case: Case, norm: str, ties: Any) -> None:
    n = len(case[0])
    stats = plain.stats_of(*case, ties=ties, sample_pairs=[(1, 1), (1, n - 2), (2, 1), (2, n - 2)])
    pair = plain.pair_spans(*case, ties)
    whole = value(m.rank_quality, stats, kappa_s=[1, 2], kappa_t=[1], norm=norm)
    for side in ("both", "row", "column"):
        facts: Any = {"kappa_s": [1, 2], "kappa_t": [1], "side": side, "norm": norm}
        found = value(m.pointwise_rank_quality, stats, **facts)
        for place in (0, 1):
            wanted = plain.pointwise_rank_quality(pair, place + 1, 1, side, norm)
            np.testing.assert_allclose(found[:, place, 0], wanted, rtol=1e-12, atol=1e-14)
        assert np.allclose(found.mean(axis=0), whole, rtol=1e-12)
        assert side != "row" or found.max() <= 2 + 1e-12


def test_the_norm_of_the_region_knows_samples_that_take_no_part() -> None:
    stats = plain.stats_of(*tables([0, 1, 3], [0, 3, 1]), sample_pairs=[(1, 0), (1, 1)])
    assert stats.samples is not None
    holed = [np.vstack([own, [[np.nan] * 2]]) for own in (stats.samples.inside,) * 2]
    part = replace(stats.samples, inside=holed[0], inside_back=holed[1])
    facts: Any = {"kappa_s": [1], "kappa_t": [0], "norm": "region", "side": "row"}
    found = value(m.pointwise_rank_quality, replace(stats, samples=part), **facts)[:, 0, 0]
    np.testing.assert_array_equal(
        found[:3], value(m.pointwise_rank_quality, stats, **facts)[:, 0, 0]
    )
    assert np.isnan(found[3])


def test_values_of_a_sample() -> None:
    x_table, y_table = tables([0, 1, 3, 6, 10], [0, 10, 6, 3, 1])
    stats = plain.stats_of(x_table, y_table, sample_ks=[3, 1], sample_pairs=[(1, 1)])
    rho, r = plain.ranks(x_table), plain.ranks(y_table)
    assert rho[2].tolist() == [2, 1, 0, 3, 4]
    assert r[2].tolist() == [4, 2, 0, 1, 3]
    # of the samples' 1, 0 and 3 the projection has 3 and 1; 4 is a stranger at rank 3
    assert value(m.sample_q_nx, stats, k=[3])[2].tolist() == [2 / 3]
    assert value(m.sample_trustworthiness, stats, k=[3, 1])[2].tolist() == pytest.approx([0, 1 / 3])
    near = (np.minimum(rho, r) == 1) & (abs(rho - r) <= 1)
    found = value(m.pointwise_rank_quality, stats, side="row")[:, 0, 0]
    assert found.tolist() == near.sum(axis=1).tolist()
    found = value(m.pointwise_rank_quality, stats, side="column")[:, 0, 0]
    assert found.tolist() == near.sum(axis=0).tolist()
    found = value(m.pointwise_rank_quality, stats)[:, 0, 0]
    assert found.tolist() == ((near.sum(axis=0) + near.sum(axis=1)) / 2).tolist()


@pytest.mark.parametrize("ties", ["index", "expected"])
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_swapped_spaces(case: Case, ties: Any) -> None:
    one, other = plain.stats_of(*case, ties=ties), plain.stats_of(*case[::-1], ties=ties)

    def same(first: IndexFunction, second: IndexFunction, sign: int = 1) -> bool:
        return np.allclose(value(first, one), sign * value(second, other), rtol=1e-12, atol=1e-14)

    assert np.allclose(value(m.coranking_matrix, one), value(m.coranking_matrix, other).T)
    for first, second in (
        (m.trustworthiness, m.continuity),
        (m.continuity, m.trustworthiness),
        (m.mrre_intrusion, m.mrre_extrusion),
        (m.u_n, m.u_x),
        (m.q_nx, m.q_nx),
        (m.rank_quality, m.rank_quality),
    ):
        assert same(first, second)
    assert same(m.b_nx, m.b_nx, -1)


@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_laws_of_quality(case: Case) -> None:
    stats = plain.stats_of(*case)
    n = stats.n_samples
    shared = value(m.q_nx, stats)
    found = value(m.rank_quality, stats)
    assert np.allclose(found[:, -1], 2 - shared, rtol=1e-12)
    assert (value(m.rank_quality, stats, norm="region")[:, -1] == 1).all()
    mild_in, hard_in, mild_out, hard_out = value(m.rank_regions, stats)
    ks = np.arange(1, n)
    assert (hard_in == hard_out).all()
    assert np.allclose(hard_in, ks * n * (1 - shared))
    kept = ks * n * shared - mild_in - mild_out
    assert stats.curves is not None
    assert np.allclose(kept, stats.curves.equal)
    assert np.allclose(mild_in - mild_out, ks * n * value(m.b_nx, stats))


@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_the_same_space_twice_scores_one(case: Case) -> None:
    n = len(case[0])
    stats = plain.stats_of(case[0], case[0], labels=np.zeros(n, int), sample_pairs=[(1, 0)])
    ones = (m.q_nx, m.r_nx, m.trustworthiness, m.continuity, m.neighborhood_jaccard)
    for index in (*ones, m.neighborhood_hit, m.rank_quality):
        assert (value(index, stats) == 1).all(), index.__name__
    assert (value(m.pointwise_rank_quality, stats, side="row") == 1).all()
    for index in (m.mrre_intrusion, m.mrre_extrusion, m.b_nx):
        assert not value(index, stats).any()
    for index in (m.auc_r_nx, m.mean_r_nx, m.q_local, m.q_global):
        assert value(index, stats) == pytest.approx(1)
    assert value(m.k_max, stats) == 1


@settings(max_examples=30, deadline=None)
@given(case=cases(), same=st.booleans())
def test_expected_values_keep_to_their_range(case: Case, same: bool) -> None:
    x_table, y_table = case
    stats = plain.stats_of(x_table, x_table if same else y_table, ties="expected")
    for index in (*(i for i, _, _, _ in LINEAR), *(i for i, _ in SCALARS), m.rank_regions):
        found = value(index, stats)
        lower, upper = index.spec.lower, index.spec.upper
        assert (found >= lower).all(), index.__name__
        assert np.isnan(upper) or (found <= upper).all(), index.__name__
    for norm, most in (("lueks", 2), ("region", 1)):
        assert (value(m.rank_quality, stats, norm=norm) <= most).all()


# --- groups of drawn rows


@each_policy
@settings(max_examples=10, deadline=None)
@given(case=cases(least=4))
def test_groups_have_values_of_their_own(case: Case, ties: Any) -> None:
    rows = [0, 1, 3]
    stats = plain.stats_of(*case, ties=ties, rows=rows, kappas=(1, 0))
    pair = plain.pair_spans(*case, ties)
    matrices = [plain.summed(pair, [i]) for i in rows]
    for index, given_, definition, below in LINEAR:
        found = value(index, replace(stats, curves=stats.groups), **given_)
        ks = range(1, len(case[0]) + 1 - below)
        expected = [[definition(matrix, k, 1) for k in ks] for matrix in matrices]
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12), index.__name__
        whole = value(index, stats, **given_)
        assert np.allclose(found.mean(axis=0), whole, rtol=1e-12, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(case=cases(least=4))
def test_scalars_and_regions_of_groups(case: Case) -> None:
    stats = plain.stats_of(*case, rows=[1, 2], kappas=(1, 0))
    groups = replace(stats, curves=stats.groups)
    for index, _ in SCALARS:
        found = value(index, groups)
        for i, row in enumerate((1, 2)):
            alone = plain.stats_of(*case, rows=[row], kappas=(1, 0))
            assert found[i] == pytest.approx(value(index, alone), **CLOSE)
    found = value(m.rank_regions, groups)
    assert found.shape == (2, 4, len(case[0]) - 1)
    assert np.allclose(found.mean(axis=0), value(m.rank_regions, stats))


@pytest.mark.parametrize("norm", ["lueks", "region"])
def test_error_of_the_surface_is_that_of_a_mean_or_a_ratio(norm: str) -> None:
    rng = np.random.default_rng(1)
    n, rows = 12, [0, 2, 3, 7, 11]
    x_table, y_table = (plain.square_distances(rng.standard_normal((n, 2))) for _ in range(2))
    stats = plain.stats_of(x_table, y_table, rows=rows)
    pair = plain.pair_spans(x_table, y_table, "index")
    s, t = 4, 2
    own = np.array([plain.inside(plain.summed(pair, [i]), s, t) for i in rows])
    region = np.array([plain.inside(plain.summed(pair, [i]), s, n) for i in rows])
    if norm == "lueks":
        spread = np.var(own / s, ddof=1)
    else:
        residuals = own - own.sum() / region.sum() * region
        spread = (residuals**2).sum() / (len(rows) - 1) / region.mean() ** 2
    expected = math.sqrt(spread / len(rows) * (1 - len(rows) / n))
    spec = m.rank_quality.spec
    given_ = {"kappa_s": np.array([s]), "kappa_t": np.array([t]), "norm": norm}

    def estimated(stats: RankStats) -> Any:
        formula = partial(spec.formula, **given_)
        return estimate_ranks(spec, formula, DrawnRanks(stats), given_).standard_error

    assert estimated(stats).item() == pytest.approx(expected)
    with pytest.raises(ValueError, match="kept no moments of rows"):
        estimated(plain.stats_of(x_table, y_table, kappas=(s, t)))


# --- few samples, and K that dropped samples put out of range


def of_size(n: int) -> RankStats:
    """X against itself."""
    if n == 1:
        curves = curves_of(np.zeros((len(Tally), 1), np.int64), n_samples=1, n_rows=1)
        return RankStats(1, curves)
    x = np.arange(n, dtype=float) ** 2
    return plain.stats_of(*tables(x, x))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(n: int) -> None:
    stats = of_size(n)
    for index, given_, _, below in LINEAR:
        asked = np.arange(1, 4)
        found = value(index, stats, k=asked, **given_)
        no_scale = n == 2 and "mrre" in index.__name__ and not given_
        known = (asked <= n - below) & (not no_scale)
        assert (np.isfinite(found) == known).all(), index.__name__
        assert f"N - {below} = {max(n - below, 0)} for N = {n}" in note(
            index, stats, k=asked, **given_
        )
        assert index.spec.undefined
    for index, _ in SCALARS:
        defined = n >= (3 if index in (m.auc_r_nx, m.mean_r_nx) else 2)
        assert np.isfinite(value(index, stats)) == defined
        assert bool(note(index, stats)) != defined
    if n == 2:
        assert value(m.trustworthiness, stats, k=[1]) == 1
        assert [value(index, stats) for index in (m.k_max, m.q_local, m.q_global)] == [1, 1, 1]
        assert "one rank" in note(m.mrre_intrusion, stats, k=[1])


def test_kappa_and_samples_beyond_the_range() -> None:
    x_table, y_table = tables([0, 1, 3], [0, 1, 3])
    stats = plain.stats_of(x_table, y_table, sample_ks=[1], sample_pairs=[(1, 0)])
    found = value(m.rank_quality, stats, kappa_s=[1, 5], kappa_t=[0, 9])
    assert found.tolist()[0] == [1, 1]
    assert np.isnan(found[1]).all()
    assert "kappa_s" in note(m.rank_quality, stats, kappa_s=[1, 5], kappa_t=[0, 9])
    found = value(m.sample_q_nx, stats, k=[1, 7])
    assert found[:, 0].tolist() == [1, 1, 1]
    assert np.isnan(found[:, 1]).all()
    found = value(m.pointwise_rank_quality, stats, kappa_s=[7, 1], kappa_t=[0], side="row")
    assert np.isnan(found[:, 0]).all()
    assert found[:, 1, 0].tolist() == [1, 1, 1]


def test_samples_that_take_no_part_stay_nan() -> None:
    stats = plain.stats_of(*tables([0, 1, 3], [0, 1, 3]), sample_pairs=[(1, 0)])
    assert stats.samples is not None
    gap = np.array([[1.0], [np.nan], [1.0]])
    names = ("overlap", "excess_in", "excess_out", "inside", "inside_back")
    holes = {name: getattr(stats.samples, name) * gap for name in names}
    stats = replace(stats, samples=replace(stats.samples, **holes))
    for index in (m.sample_q_nx, m.sample_trustworthiness, m.pointwise_rank_quality):
        found = value(index, stats)
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[[0, 2]]).all()


def test_parts_that_were_not_asked_for() -> None:
    short = plain.stats_of(*tables([0, 1, 3, 7], [0, 1, 3, 7]))
    assert short.curves is not None
    short = replace(short, curves=replace(short.curves, overlap=short.curves.overlap[:2]))
    with pytest.raises(ValueError, match="for all K up to 3"):
        value(m.k_max, short)
    for spec in all_specs():
        if "ranks" in spec.needs:
            with pytest.raises(ValueError, match="not"):
                spec.formula(RankStats(4), *[None] * (len(spec.needs) - 1))


# --- from a matrix


@each_policy
@settings(max_examples=20, deadline=None)
@given(case=cases(least=4))
def test_a_given_matrix_tells_the_same(case: Case, ties: Any) -> None:
    stats = plain.stats_of(*case, ties=ties)
    again = stats_of_matrix(stats.matrix)
    for index in [i for i, _, _, _ in LINEAR] + [i for i, _ in SCALARS]:
        assert np.allclose(value(index, again), value(index, stats), rtol=1e-12, atol=1e-12)
    for index in (m.rank_quality, m.rank_regions, m.coranking_matrix):
        assert np.allclose(value(index, again), value(index, stats), rtol=1e-12, atol=1e-12)


DUPLICATES = np.array([[1, 1, 2], [1, 1, 2], [2, 2, 0]])


def test_from_matrix_is_labelled() -> None:
    array = m.q_nx.from_matrix(DUPLICATES, k=[1, 3])
    assert array.k.values.tolist() == [1, 3]
    assert array.values.tolist() == [0.25, 1]
    assert array.attrs["direction"] == "higher"
    assert not {"ties", "space", "distance", "p"} & set(array.attrs)
    one = m.trustworthiness.from_matrix(DUPLICATES.astype(float), k=1)
    assert (one.dims, one.item(), one.k.item()) == ((), 0.375, 1)
    quality = m.rank_quality.from_matrix(DUPLICATES, kappa_s=[1, 2], kappa_t=0, norm="region")
    assert quality.dims == ("kappa_s",)
    assert quality.attrs["norm"] == "region"
    assert quality.values.tolist() == [1 / 7, 2 / 12]
    corner = m.coranking_matrix.from_matrix(DUPLICATES, k_max=2)
    assert corner.dims == ("rank_in", "rank_out")
    assert corner.values.tolist() == [[1, 1], [1, 1]]
    assert m.rank_regions.from_matrix(DUPLICATES).dims == ("region", "k")


def test_dims_say_which_way_a_matrix_lies() -> None:
    matrix = np.array([[0, 0, 4], [4, 0, 0], [0, 4, 0]])
    there = xr.DataArray(matrix, dims=("rank_in", "rank_out"))
    expected = m.mrre_intrusion.from_matrix(matrix)
    assert not np.allclose(expected, m.mrre_intrusion.from_matrix(matrix.T))
    for given_ in (there, there.T):
        assert np.array_equal(m.mrre_intrusion.from_matrix(given_), expected)


@pytest.mark.parametrize(
    ("matrix", "given_", "complaint"),
    [
        (DUPLICATES[:2, :2], {}, "whole matrix"),
        (DUPLICATES[:2], {}, r"shape \(N - 1, N - 1\), not \(2, 3\)"),
        (np.zeros((0, 0)), {}, "shape"),
        ([[3, -1], [0, 3]], {}, "-1 at ranks 1, 2"),
        ([[3, 0], [float("nan"), 3]], {}, "nan at ranks 2, 1"),
        ([["a"]], {}, "counts"),
        ([[2, 1, 1], [1, 2, 1], [1, 1, 3]], {}, "row 3 to 5"),
        (xr.DataArray(DUPLICATES, dims=("rank_in", "other")), {}, "has dims"),
        (DUPLICATES, {"ties": "expected"}, "ties says how ranks are found"),
        (DUPLICATES, {"k": 4}, "k is from 1 to N - 1 = 3"),
        (DUPLICATES, {"kappa": 4}, "no parameter 'kappa'"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, given_: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        m.q_nx.from_matrix(matrix, **given_)


def test_which_indices_follow_from_a_matrix() -> None:
    specs = [spec for spec in all_specs() if spec.family == "ranks"]
    able = {spec.name for spec in specs if hasattr(getattr(m, spec.name), "from_matrix")}
    assert {spec.name for spec in specs} - able == {
        "neighborhood_hit",
        "neighborhood_jaccard",
        "pointwise_rank_quality",
        "sample_continuity",
        "sample_q_nx",
        "sample_trustworthiness",
        *("unit_q_nx", "unit_trustworthiness", "unit_continuity", "unit_rank_quality"),
    }
    assert "from_matrix" in (m.q_nx.__doc__ or "")


@pytest.mark.parametrize(
    ("index", "wrong"),
    [
        (m.rank_quality, {"norm": "other"}),
        (m.mrre_extrusion, {"normalizer": "other"}),
    ],
)
def test_unknown_forms_are_refused(index: Any, wrong: dict[str, str]) -> None:
    with pytest.raises(InputError, match=f"{index.__name__}: {next(iter(wrong))} is one of"):
        index.from_matrix(DUPLICATES, **wrong)

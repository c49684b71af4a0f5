"""Tallies of ranks against the plain definitions, pair by pair and rank by rank."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rank_tables import Plain, ranks_of, spans_of, tally

from somscale._types import Float, Int
from somscale.errors import InputError
from somscale.reductions.rank_finish import finish_ranks
from somscale.reductions.rank_sheet import RankWant, Sheet, Ties
from somscale.reductions.rank_stats import RankCurves, RankStats

TIES: tuple[Ties, ...] = ("index", "expected", "best", "worst")


def full_want(n: int, ties: Ties, k_max: int) -> RankWant:
    pairs = ((1, 0), (2, 1), (n, n))
    return RankWant(
        k_max, 3, 2, ties, True, "label", (1, k_max, k_max + 1), pairs, matrix=min(4, n - 1)
    )


def assert_curves(curves: RankCurves | None, plain: dict[str, Float], row: Any = ...) -> None:
    assert curves is not None
    for name, expected in plain.items():
        found = getattr(curves, name)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12, err_msg=name)


@st.composite
def keys_of(draw: st.DrawFn) -> tuple[Float, Float, Int, Int]:
    """Keys with ties in both spaces, rows that take part, and labels."""
    n = draw(st.integers(2, 9))
    values = st.sampled_from([0.0, 1e-300, 1.0, 1.0 + 2**-52, 1.5, 2.0, 3.0, 1e30])
    shape = st.lists(values, min_size=n * n, max_size=n * n)
    a, b = (np.array(draw(shape)).reshape(n, n) for _ in range(2))
    gone = draw(st.sets(st.integers(0, n - 1), max_size=n - 2))
    for j in gone:
        a[:, j] = b[:, j] = np.inf
    rows = np.array([i for i in range(n) if i not in gone])
    own = draw(st.sampled_from([0.0, np.inf, np.nan, 5.0]))
    a[rows, rows] = own
    labels = np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    return a, b, rows, labels


@pytest.mark.parametrize("ties", TIES)
@settings(deadline=None, max_examples=20)
@given(case=keys_of(), k_max=st.integers(1, 9))
@example((np.zeros((5, 5)), np.zeros((5, 5)), np.arange(5), np.zeros(5, int)), 4)
@example((np.eye(2), np.ones((2, 2)), np.arange(2), np.array([1, 1])), 1)
@example((np.ones((3, 3)), np.ones((3, 3)), np.arange(3), np.array([0, -1, 0])), 2)
def test_all_tables_are_those_of_the_definitions(
    ties: Ties, case: tuple[Float, Float, Int, Int], k_max: int
) -> None:
    a, b, rows, labels = case
    n = a.shape[1]
    want = full_want(n, ties, k_max)
    stats = tally(want, a, b, rows, labels, tile=4, group=3)
    plain = Plain(ties, a, b, rows, labels)
    assert stats.n_samples == len(rows)
    assert_curves(stats.curves, plain.curves(k_max))
    assert stats.surface is not None
    assert stats.samples is not None
    assert stats.matrix is not None
    for s in range(1, 4):
        for t in range(3):
            found = stats.surface.inside[s - 1, t]
            assert found == pytest.approx(plain.inside(s, t).sum(), abs=1e-11)
        assert stats.surface.region[s - 1] == pytest.approx(plain.inside(s, n).sum(), abs=1e-11)
    np.testing.assert_allclose(
        stats.matrix,
        plain.table()[1 : want.matrix + 1, 1 : want.matrix + 1],
        rtol=1e-12,
        atol=1e-12,
    )
    gone = np.setdiff1d(np.arange(n), rows)
    for c, (s, t) in enumerate(want.sample_pairs):
        inside = plain.inside(s, t)
        np.testing.assert_allclose(stats.samples.inside[rows, c], inside.sum(axis=1), atol=1e-12)
        back = inside.sum(axis=0)[rows]
        np.testing.assert_allclose(stats.samples.inside_back[rows, c], back, atol=1e-12)
    for place, k in enumerate(want.sample_ks):
        for row, i in enumerate(rows):
            own = plain.curves(k, [row])
            for name in ("overlap", "excess_in", "excess_out"):
                found = getattr(stats.samples, name)[i, place]
                assert found == pytest.approx(own[name][-1], abs=1e-11)
    for name in ("overlap", "excess_in", "excess_out", "inside", "inside_back"):
        assert np.isnan(getattr(stats.samples, name)[gone]).all()
    tied = [np.bincount(spans_of(b[i], i)[0])[1:] for i in rows]
    shared = sum(int(sizes[sizes > 1].sum()) for sizes in tied)
    assert stats.tied == shared / (len(rows) * (len(rows) - 1))


def random_keys(n: int, seed: int = 0, levels: int = 12) -> tuple[Float, Float]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, levels, (n, n)).astype(float)
    return a, np.where(rng.random((n, n)) < 0.5, a, rng.random((n, n)))


@pytest.mark.parametrize("ties", [*TIES, "weighted"])
@pytest.mark.parametrize("groups", [None, (0, 1, 2, 0, 1, 2, 2)])
def test_drawn_rows_are_kept_by_themselves_or_in_groups(
    ties: Ties, groups: tuple[int, ...] | None
) -> None:
    a, b = random_keys(11)
    rows, labels = np.array([0, 2, 3, 5, 6, 9, 10]), np.arange(11) % 3 - 1
    known = ties != "weighted"
    want = RankWant(6, 4 * known, 3, ties, known, "l" if known else None, drawn=7, groups=groups)
    stats = tally(want, a, b, rows, labels, tile=4, group=3)
    sets = [[i] for i in range(7)] if groups is None else [[0, 3], [1, 4], [2, 5, 6]]
    assert stats.groups is not None
    assert np.ravel(stats.groups.n_rows).tolist() == ([1] if groups is None else [2, 2, 3])
    for g, members in enumerate(sets):
        alone = replace(want, drawn=0, groups=None)
        part = tally(alone, a, b, rows[members], labels).curves
        assert part is not None
        for name in ("excess_in", "excess_out", "overlap", "moved_in", "jaccard", "agreement"):
            expected = getattr(part, name)
            if expected is not None:
                found = getattr(stats.groups, name)[g]
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    if known:
        plain = Plain(ties, a, b, rows, labels)
        own, near = plain.inside(3, 2).sum(axis=1), plain.inside(3, 99).sum(axis=1)
        surface = stats.surface
        assert surface is not None
        assert surface.inside_squares is not None
        assert surface.products is not None
        assert surface.region_squares is not None
        assert surface.inside_squares[2, 2] == pytest.approx((own**2).sum())
        assert surface.products[2, 2] == pytest.approx((own * near).sum())
        assert surface.region_squares[2] == pytest.approx((near**2).sum())


def bits_of(stats: RankStats) -> bytes:
    return pickle.dumps(
        [
            {n: np.asarray(v).tolist() for n, v in sorted(vars(part).items())}
            for part in (stats.curves, stats.groups, stats.surface, stats.samples)
            if part is not None
        ]
    )


@pytest.mark.parametrize("ties", [*TIES, "weighted"])
def test_groups_of_rows_do_not_show(ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = random_keys(40, levels=6)
    rows, labels = np.arange(40), np.arange(40) % 4 - 1
    wants = [RankWant(9, ties=ties), RankWant(9, ties=ties, drawn=40, groups=(0, 1, 2, 3) * 10)]
    if ties != "weighted":
        wants += [full_want(40, ties, 9), replace(wants[1], kappa_s=5, kappa_t=4, jaccard=True)]
    for want in wants:
        whole = bits_of(tally(want, a, b, rows, labels, tile=16))
        for group in (1, 3, 7):
            assert bits_of(tally(want, a, b, rows, labels, tile=16, group=group)) == whole
        with monkeypatch.context() as patch:
            patch.setattr("somscale.reductions.rank_sheet._PART_BYTES", 1)
            assert bits_of(tally(want, a, b, rows, labels, tile=16)) == whole


def test_what_else_is_asked_for_does_not_show_in_the_curves() -> None:
    a, b = random_keys(30, levels=5)
    plain = tally(RankWant(9, ties="expected"), a, b, np.arange(30)).curves
    more = tally(RankWant(9, 4, 4, "expected", True, drawn=30), a, b, np.arange(30)).curves
    assert plain is not None
    assert more is not None
    for name in ("overlap", "excess_in", "excess_out", "moved_in", "moved_out"):
        assert (getattr(plain, name) == getattr(more, name)).all()


@pytest.mark.parametrize("drawn", [0, 30])
def test_listed_pairs_tell_the_same_as_sorted_rows(drawn: int) -> None:
    a, b = random_keys(30)
    rows, labels = np.arange(30), np.arange(30) % 4 - 1
    want = RankWant(7, 5, 6, "index", True, "l", (2, 9), ((3, 2), (10, 1)), 8, drawn)
    expected = tally(want, a, b, rows, labels)
    sheet = Sheet(want, 30, 30, 0)
    rng = np.random.default_rng(1)
    for first in range(0, 30, 8):
        part = rows[first : first + 8]
        rho, r, others = (np.zeros((len(part), 29), np.int32) for _ in range(3))
        counts = np.zeros(len(part), np.int64)
        for p, i in enumerate(part):
            both = [ranks_of(keys[i], i, np.arange(30)) for keys in (a, b)]
            near = np.flatnonzero((np.minimum(*both) <= want.reach) & (rows != i))
            near = rng.permutation(near)
            counts[p] = len(near)
            rho[p, : len(near)], r[p, : len(near)] = both[0][near], both[1][near]
            others[p, : len(near)] = near
        places = slice(first, first + len(part))
        sheet.add_pairs(places, part, rho, r, others, counts, labels, tied=1, looked=10)
    found = finish_ranks(want, sheet.partial(), 30, 30)
    assert bits_of(found) == bits_of(expected)
    assert expected.matrix is not None
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert found.tied == 0.1


def somperf(a: Float, b: Float, k: int) -> tuple[float, float]:
    """Weighted sums (ρ − K), (r − K) of all rows at one K, as SOMperf adds them."""
    total = np.zeros(2)
    for i in range(len(a)):
        rho, r = spans_of(a[i], i)[0], spans_of(b[i], i)[0]
        near_in, near_out = (rho > 0) & (rho <= k), (r > 0) & (r <= k)
        share = near_in.sum() / near_out.sum()
        total[0] += (rho - k)[near_out & ~near_in].sum() * share
        total[1] += (r - k)[near_in & ~near_out].sum() / share
    return float(total[0]), float(total[1])


@settings(deadline=None, max_examples=30)
@given(case=keys_of())
def test_weighted_sums_are_those_of_the_survey(case: tuple[Float, Float, Int, Int]) -> None:
    a, b, rows, _ = case
    stats = tally(RankWant(6, ties="weighted", sample_ks=(2, 7)), a, b, rows, tile=4, group=2)
    curves, samples = stats.curves, stats.samples
    assert curves is not None
    assert samples is not None
    taken = np.ix_(rows, rows)
    for k in range(1, 7):
        found = curves.excess_in[k - 1], curves.excess_out[k - 1]
        assert found == pytest.approx(somperf(a[taken], b[taken], k), abs=1e-11)
    ones = somperf(a[taken], b[taken], 7)
    sums = samples.excess_in[rows, 1].sum(), samples.excess_out[rows, 1].sum()
    assert sums == pytest.approx(ones, abs=1e-11)
    assert np.isnan(curves.overlap).all()
    assert np.isnan(samples.overlap).all()


def test_somperf_gives_its_own_numbers() -> None:
    from scipy.spatial.distance import cdist
    from sklearn.datasets import load_digits

    samples = load_digits().data / 16
    codes = samples[np.random.default_rng(0).permutation(1797)][:64]
    units = cdist(samples, codes).argmin(axis=1)
    distances = cdist(samples, samples, "sqeuclidean")
    between = cdist(codes, codes)[np.ix_(units, units)]
    curves = tally(RankWant(5, ties="weighted"), distances, between, np.arange(1797)).curves
    assert curves is not None
    scale = 2 / (1797 * 5 * (2 * 1797 - 3 * 5 - 1))
    assert 1 - scale * curves.excess_out[4] == pytest.approx(0.6773851678854147, abs=1e-12)
    assert 1 - scale * curves.excess_in[4] == pytest.approx(0.9503044893596225, abs=1e-12)


def test_a_collapsed_output_is_neither_good_nor_bad() -> None:
    x = np.arange(5.0)
    keys = np.square(x[:, None] - x)
    curves = tally(RankWant(4, ties="expected"), keys, np.zeros((5, 5)), np.arange(5)).curves
    assert curves is not None
    np.testing.assert_allclose(curves.overlap, 5 * np.arange(1, 5) ** 2 / 4, atol=1e-14)
    assert 1 - 2 * curves.excess_in[0] / (5 * (2 * 5 - 3 - 1)) == pytest.approx(0.5)


def test_digits_give_the_known_numbers() -> None:
    from scipy.spatial.distance import cdist
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    samples = load_digits().data
    plane = PCA(n_components=2, svd_solver="full").fit_transform(samples)
    a, b = (cdist(x, x, "sqeuclidean") for x in (samples, plane))
    rows = np.arange(1797)
    stats = tally(RankWant(100, matrix=5), a, b, rows)
    expected = tally(RankWant(100, ties="expected"), a, b, rows).curves
    assert stats.curves is not None
    assert expected is not None
    assert stats.matrix is not None
    assert stats.matrix.tolist() == [
        [44, 51, 36, 55, 36],
        [26, 23, 27, 26, 32],
        [27, 28, 27, 21, 16],
        [22, 20, 27, 22, 24],
        [30, 22, 16, 28, 17],
    ]
    k = np.array([1, 5, 10, 100])
    q_nx = 0.02448525319977741, 0.07824151363383416, 0.11786310517529215, 0.3990372843628269
    mean = 0.02448525319977741, 0.07813021702838063, 0.11782600630680763, 0.39904887775922837
    np.testing.assert_allclose(stats.curves.overlap[k - 1] / (1797 * k), q_nx, rtol=1e-14)
    np.testing.assert_allclose(expected.overlap[k - 1] / (1797 * k), mean, rtol=1e-12)
    scale = 2 / (1797 * 10 * (2 * 1797 - 31))
    assert 1 - scale * stats.curves.excess_in[9] == pytest.approx(0.8300063832336022, abs=1e-15)
    assert 1 - scale * stats.curves.excess_out[9] == pytest.approx(0.9505175542047736, abs=1e-15)


def test_expected_sums_are_the_closed_forms() -> None:
    a, b = random_keys(60, seed=5, levels=7)
    b = np.round(4 * b)
    curves = tally(RankWant(59, ties="expected"), a, b, np.arange(60)).curves
    assert curves is not None

    def within(first: Int, last: Int, k: int) -> Float:
        return np.asarray(np.clip((k - first + 1) / (last - first + 1), 0, 1))

    def excess(first: Int, last: Int, k: int) -> Float:
        low = np.maximum(first, k + 1)
        mean = (low + last) / 2 - k
        return np.where(low > last, 0, (last - low + 1) * mean / (last - first + 1))

    for k in (1, 2, 13, 30, 58, 59):
        sums = np.zeros(3)
        for i in range(60):
            a0, a1 = (np.delete(span, i) for span in spans_of(a[i], i))
            b0, b1 = (np.delete(span, i) for span in spans_of(b[i], i))
            sums[0] += (within(a0, a1, k) * within(b0, b1, k)).sum()
            sums[1] += (excess(a0, a1, k) * within(b0, b1, k)).sum()
            sums[2] += (within(a0, a1, k) * excess(b0, b1, k)).sum()
        found = [c[k - 1] for c in (curves.overlap, curves.excess_in, curves.excess_out)]
        np.testing.assert_allclose(found, sums, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("ties", [*TIES, "weighted"])
def test_a_partial_of_all_k_stays_small(ties: Ties) -> None:
    sheet = Sheet(RankWant(49_999, ties=ties), 50_000, 256, 0)
    assert sum(array.nbytes for array in sheet.partial().values()) < 9.1 * 8 * 50_000


def test_pairs_need_ties_by_index_and_labels_must_be_given() -> None:
    none = np.zeros((1, 0), np.int64)
    sheet = Sheet(RankWant(2, ties="best"), 3, 1, 0)
    with pytest.raises(InputError, match="whole rows"):
        sheet.add_pairs(slice(0, 1), np.array([0]), none, none, none, np.array([0]))
    sheet = Sheet(RankWant(2, labels="kind"), 3, 1, 0)
    with pytest.raises(InputError, match="'kind'"):
        sheet.add_sorted(slice(0, 1), np.array([0]), np.ones((1, 3)), np.ones((1, 3)), 3)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"ties": "random"}, "not known"),
        ({"k_max": -1}, "k_max is -1"),
        ({"sample_ks": (0,)}, "below 1"),
        ({"sample_pairs": ((0, 1),)}, "below 1"),
        ({"jaccard": True, "k_max": 5000}, "lower k"),
        ({"groups": (1, 2), "drawn": 3}, "3 drawn rows have 2 groups"),
        ({"ties": "weighted", "kappa_s": 3}, "alone"),
    ],
)
def test_wrong_wants_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        RankWant(**{"k_max": 5, **wrong})


def test_reach_covers_all_that_is_listed() -> None:
    assert RankWant(0).reach == 0
    assert RankWant(3, sample_ks=(9,)).reach == 9
    assert RankWant(3, 5, matrix=4, sample_pairs=((7, 1),)).reach == 7

"""Kernels against the definitions, bit for bit, however the features and rows are cut."""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import best_two, squared_distances
from scipy.spatial.distance import cdist
from strategies import KINDS, Case, cases, cuts, parts

from somscale.kernels import code_filter as code_filter_module
from somscale.kernels import counts as counts_module
from somscale.kernels.best_two import BestTwo
from somscale.kernels.code_filter import CodeFilter
from somscale.kernels.counts import (
    as_keyed,
    as_keyed_weights,
    count_dense,
    count_keyed,
    merge_keyed,
    sort_keyed,
)
from somscale.kernels.distances import add_squares, pair_squares, squares_to
from somscale.kernels.gaps import Gaps
from somscale.kernels.residuals import add_residuals, add_units
from somscale.kernels.scratch import Scratch

each_kind = pytest.mark.parametrize("kind", KINDS)


def as_floats(case: Case) -> NDArray[np.float64]:
    return case.samples.astype(np.float64)


# --- squared distances


@each_kind
@settings(max_examples=8)
@given(data=st.data())
def test_squares_equal_cdist_in_any_cut(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind], features=(1, 20)))
    expected = cdist(as_floats(case), case.codes, "sqeuclidean")
    np.testing.assert_array_equal(squared_distances(case.samples, case.codes), expected)
    rows, units = (index.ravel() for index in np.indices(expected.shape))
    to_first, listed = np.zeros(len(case.samples)), np.zeros(expected.size)
    for part in parts(data.draw(cuts(case.samples.shape[1]))):
        values, codes = case.samples[:, part], case.codes[:, part]
        add_squares(to_first, np.subtract(values, codes[0], dtype=np.float64))
        pair_squares(listed, values, codes, rows, units)
    np.testing.assert_array_equal(to_first, expected[:, 0])
    np.testing.assert_array_equal(listed, expected.ravel())
    np.testing.assert_array_equal(squares_to(case.samples, case.codes[0]), expected[:, 0])


def test_squares_of_wide_samples_equal_cdist() -> None:
    rng = np.random.default_rng(1)
    samples, codes = rng.standard_normal((5, 3001)), rng.standard_normal((3, 3001))
    expected = cdist(samples, codes, "sqeuclidean")
    found = np.transpose([squares_to(samples, code) for code in codes])
    np.testing.assert_array_equal(found, expected)


def test_no_features_add_nothing() -> None:
    total = np.array([1.0, 2.0])
    add_squares(total, np.empty((2, 0)))
    assert total.tolist() == [1, 2]


# --- the best two units


def found_two(
    case: Case, sizes: tuple[int, ...], precision: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Best unit, second-best unit, and which samples the precision cannot answer for."""
    search = BestTwo(CodeFilter(case.codes), len(case.samples), precision)
    for part in parts(sizes):
        search.add(case.samples[:, part], part)
    undecided = search.decide()
    for part in parts(sizes):
        undecided.add(case.samples[:, part], case.codes[:, part])
    search.settle(undecided)
    if precision is np.float64:
        assert not search.out_of_range().any()
    return search.best, search.second, search.doubtful()


def check_two(case: Case, sizes: tuple[int, ...]) -> None:
    """Both precisions find the units of the definition."""
    best, second = best_two(case.samples, case.codes)
    for precision in (np.float32, np.float64):
        found_best, found_second, doubtful = found_two(case, sizes, precision)
        np.testing.assert_array_equal(found_best[~doubtful], best[~doubtful])
        np.testing.assert_array_equal(found_second[~doubtful], second[~doubtful])
    assert not doubtful.any()


@each_kind
@settings(max_examples=25)
@given(data=st.data())
def test_best_two_are_exact(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    check_two(case, data.draw(cuts(case.samples.shape[1])))


@each_kind
@settings(max_examples=15)
@given(data=st.data())
def test_best_two_are_exact_beyond_the_width_of_a_product(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind], features=(3, 13)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_filter_module, "FILTER_WIDTH", 4)
        check_two(case, data.draw(cuts(case.samples.shape[1])))


@pytest.mark.parametrize("n_features", [1023, 1024, 1025, 2049])
def test_best_two_are_exact_around_the_real_width(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    codes = rng.integers(-3, 4, (7, n_features)).astype(np.float64)
    samples = (codes[rng.integers(0, 7, 30)] + codes[rng.integers(0, 7, 30)]) / 2
    samples[::3, -1] = np.nextafter(samples[::3, -1], np.inf)
    check_two(Case("midpoints", samples, codes), (n_features,))


@given(case=cases(["midpoints"], units=(2, 3)), scale=st.sampled_from([1.0, 1e-30, 1e30, 1 / 3]))
def test_near_ties_are_exact_at_any_scale(case: Case, scale: float) -> None:
    scaled = Case(case.kind, case.samples * scale, case.codes * scale)
    check_two(scaled, (case.samples.shape[1],))


@pytest.mark.parametrize(("n_units", "second"), [(1, -1), (2, 1), (3, 1)])
def test_exact_ties_go_to_the_lowest_units(n_units: int, second: int) -> None:
    case = Case("constant", np.full((4, 3), 0.1), np.full((n_units, 3), 0.7))
    best, found, _ = found_two(case, (3,), np.float32)
    assert best.tolist() == [0] * 4
    assert found.tolist() == [second] * 4


def test_one_ulp_beside_a_midpoint_decides() -> None:
    codes = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    x = np.array([np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1)])
    case = Case("midpoints", np.column_stack([x, np.zeros(3)]), codes)
    best, second, _ = found_two(case, (2,), np.float32)
    assert best.tolist() == [0, 0, 1]
    assert second.tolist() == [1, 1, 0]


def test_what_single_precision_cannot_hold_is_said_and_left_to_double() -> None:
    codes = np.array([[0.0, 1.0], [2.0, 0.0], [5.0, 5.0]])
    case = Case("far", np.array([[1e25, 0.0], [0.0, 0.9], [-1e38, 1e39]]), codes)
    *_, doubtful = found_two(case, (2,), np.float32)
    assert doubtful.tolist() == [True, False, True]
    check_two(case, (1, 1))


def test_samples_beyond_float64_are_out_of_range_and_in_no_list() -> None:
    codes = np.array([[0.0, 1.0], [2.0, 0.0], [np.nextafter(2.0, 3), 0.0]])
    samples = np.array([[np.nan, 0], [0, np.inf], [-np.inf, 0], [1e300, 1], [2, 1e154], [1, 1]])
    search = BestTwo(CodeFilter(codes), len(samples), np.float64)
    search.add(samples, slice(0, 2))
    assert not np.isin([0, 1, 2, 3], search.decide().rows).any()
    assert search.out_of_range().tolist() == [True, True, True, True, False, False]


def test_two_searches_share_a_filter_without_mixing() -> None:
    rng = np.random.default_rng(2)
    codes, blocks = rng.standard_normal((9, 4)), rng.standard_normal((3, 20, 4))
    codes_filter = CodeFilter(codes)
    searches = [BestTwo(codes_filter, 20) for _ in blocks]
    for search, block in zip(searches, blocks, strict=True):
        search.add(block, slice(0, 4))
    for search, block in zip(searches, blocks, strict=True):
        undecided = search.decide()
        undecided.add(block, codes)
        search.settle(undecided)
        best, second = best_two(block, codes)
        np.testing.assert_array_equal(search.best, best)
        np.testing.assert_array_equal(search.second, second)


def test_deciding_twice_is_refused() -> None:
    search = BestTwo(CodeFilter(np.ones((2, 1))), 1)
    search.add(np.ones((1, 1)), slice(0, 1))
    search.decide()
    with pytest.raises(ValueError, match=r"decide\(\) comes after the last add\(\)"):
        search.decide()


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1e-6, 1e-2, 1.0, 1e4])
def test_the_error_of_a_product_is_within_its_bound(precision: Any, spread: float) -> None:
    rng = np.random.default_rng(0)
    samples, codes = rng.standard_normal((300, 20)) * 10, rng.standard_normal((40, 20)) * spread
    codes[7] = codes[3]
    codes_filter = CodeFilter(codes)
    compared, norms = codes_filter.product(samples, slice(0, 20), precision)
    center = codes_filter.center.astype(np.longdouble)
    moved, away = samples - center, codes - center
    exact = (away * away).sum(axis=1) - 2 * moved @ away.T
    errors = np.abs(compared - exact).max(axis=1)
    bound = codes_filter.bound(norms, precision)
    assert (errors <= bound).all()
    # nor is it so wide that it would leave all to the direct sums
    assert (bound <= 200 * errors.max()).all() or precision is np.float64


# --- sums over units


@st.composite
def chosen_rows(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]:
    """Rows of so many magnitudes that every order of adding shows, codes, and units from −1."""
    n, n_units = draw(st.integers(1, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.standard_normal((n, 3)) * 10.0 ** rng.integers(-3, 5, (n, 3))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int16]))
    units = rng.integers(-1, n_units, n).astype(np.int32)
    return values.astype(dtype), rng.standard_normal((n_units, 3)), units


@given(rows=chosen_rows(), data=st.data())
def test_unit_sums_continue_as_one_addition_after_the_other(
    rows: tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]], data: st.DataObject
) -> None:
    values, codes, units = rows
    n_units = len(codes)
    hits, residuals = np.zeros(n_units, np.int64), np.zeros((n_units, 3))
    unit_squares, distances, squares = np.zeros(n_units), np.zeros(n_units), np.zeros(len(units))
    for part in parts(data.draw(cuts(len(units)))):
        for columns in parts(data.draw(cuts(3))):
            add_residuals(
                values[part, columns],
                codes[:, columns],
                units[part],
                residuals[:, columns],
                squares[part],
            )
        add_units(units[part], squares[part], hits, unit_squares, distances)
    expected = np.zeros((n_units, 5))
    for value, unit in zip(values.astype(np.float64), units, strict=True):
        if unit >= 0:
            square = squared_distances(value[None], codes[unit][None])[0, 0]
            expected[unit] += [*(value - codes[unit]), square, np.sqrt(square)]
    np.testing.assert_array_equal(residuals, expected[:, :3])
    np.testing.assert_array_equal(unit_squares, expected[:, 3])
    np.testing.assert_array_equal(distances, expected[:, 4])
    np.testing.assert_array_equal(hits, np.bincount(units[units >= 0], minlength=n_units))


def test_rows_of_no_unit_touch_nothing_even_when_they_are_nan() -> None:
    values, nobody = np.full((2, 1), np.nan), np.full(2, -1, np.int32)
    residuals, hits, squares = np.ones((2, 1)), np.ones(2, np.int64), np.ones(2)
    add_residuals(values, np.zeros((2, 1)), nobody, residuals, squares)
    add_units(nobody, values[:, 0], hits, squares, squares)
    assert residuals.ravel().tolist() == hits.tolist() == squares.tolist() == [1, 1]


def test_weights_and_gaps_in_sums_over_units() -> None:
    values = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, np.nan], [np.nan, 1.0, 1.0]])
    codes, units = np.array([[0.5, 1.0, 1.0], [1.0, 1.0, 0.0]]), np.array([0, 0, 1], np.int32)
    v, w = np.array([2.0, 0.0, 0.25]), np.array([3.0, 0.5, 0.0])
    residuals, squares = np.zeros((2, 3)), np.zeros(3)
    add_residuals(
        values, codes, units, residuals, squares, feature_weights=v, sample_weights=w, gaps=True
    )
    assert residuals.tolist() == [[2.25, 2.0, 6.0], [0, 0, 0]]
    assert squares.tolist() == [1.5, 4.5, 0.25]
    hits, sums = np.zeros(2, np.int64), np.zeros((3, 2))
    add_units(units, squares, hits, *sums[:2], sample_weights=w, weights=sums[2])
    assert hits.tolist() == [2, 1]
    assert sums[0].tolist() == [6.75, 0]
    assert sums[1].tolist() == [3 * np.sqrt(1.5) + 0.5 * np.sqrt(4.5), 0]
    assert sums[2].tolist() == [3.5, 0]


# --- gaps


def test_rows_that_are_left_out_are_in_no_list_and_never_doubtful() -> None:
    codes = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    samples = np.array([[np.inf, 1], [np.nan, 1], [1, 1], [np.nan, np.nan]])
    for tolerated, out in ((0, [True, True, False, True]), (1, [True, False, False, True])):
        gaps = Gaps(4, 2, excluded=np.array([True, False, False, False]), tolerated=tolerated)
        search = BestTwo(CodeFilter(codes), 4, np.float32, gaps)
        search.add(samples, slice(0, 2))
        left_out = search.left_out()
        assert left_out is not None
        assert left_out.tolist() == out
        assert not np.isin(search.decide().rows, np.flatnonzero(out)).any()
        assert not search.doubtful().any()
        assert not search.out_of_range().any()
        assert gaps.by_sample.tolist() == [0, 1, 0, 2]
        assert gaps.by_feature.tolist() == [2, 1]


def test_factors_are_made_anew_only_where_other_features_are_missing() -> None:
    rng = np.random.default_rng(3)
    codes = CodeFilter(rng.standard_normal((3, 4)))
    samples = rng.standard_normal((6, 4))

    def factors(*missing: int) -> Any:
        values = samples.copy()
        values[:, list(missing)] = np.nan
        codes.product(values, slice(0, 4), np.float32, Gaps(6, 4, tolerated=3))
        return codes._factors[np.float32, 0, 4].values

    first = factors(1)
    assert factors(1) is first
    assert factors() is not first
    kept = np.delete(codes.codes, [1], axis=1) - np.delete(codes.center, [1])
    np.testing.assert_allclose(first[:, -1], (kept**2).sum(axis=1), rtol=1e-6)


def test_threads_share_one_filter_though_their_samples_lack_different_features() -> None:
    rng = np.random.default_rng(4)
    codes = rng.standard_normal((9, 6))
    blocks = rng.standard_normal((24, 16, 6))
    for number, block in enumerate(blocks):
        block[:, number % 5] = np.nan
    shared = CodeFilter(codes)

    def best(block: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        search = BestTwo(shared, 16, gaps=Gaps(16, 6, tolerated=5))
        search.add(block, slice(0, 6))
        undecided = search.decide()
        undecided.add(block, codes, gaps=True)
        search.settle(undecided)
        return search.best, search.second

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(best, blocks))
    for number, block in enumerate(blocks):
        kept = np.arange(6) != number % 5
        for units, expected in zip(
            found[number], best_two(block[:, kept], codes[:, kept]), strict=True
        ):
            np.testing.assert_array_equal(units, expected)


# --- counts


@given(
    keys=st.lists(st.integers(0, 2**60) | st.integers(0, 5), max_size=60),
    data=st.data(),
    sort_above=st.sampled_from([0, 8, 1 << 16]),
)
def test_keyed_counts_count_in_any_grouping(
    keys: list[int], data: st.DataObject, sort_above: int
) -> None:
    pieces = [np.array(keys[part]) for part in parts(data.draw(cuts(len(keys))))] if keys else []
    counts = [as_keyed(piece) for piece in pieces]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "_SORT_ABOVE", sort_above)
        while len(counts) > 1:
            at = data.draw(st.integers(0, len(counts) - 2))
            counts[at : at + 2] = [merge_keyed(counts[at], counts[at + 1])]
    found = sort_keyed(counts[0] if counts else np.zeros((2, 0), np.int64))
    assert found.dtype == np.int64
    assert found.T.tolist() == [list(item) for item in sorted(Counter(keys).items())]


@given(
    items=st.lists(
        st.tuples(st.integers(0, 5) | st.just(2**53 - 1), st.floats(0, 1e9)), max_size=40
    )
)
def test_keyed_weights_are_added_one_after_the_other(items: list[tuple[int, float]]) -> None:
    expected: dict[int, float] = {}
    for key, weight in items:
        expected[key] = expected.get(key, 0.0) + weight
    keys = np.array([key for key, _ in items], np.int64)
    weights = np.array([weight for _, weight in items])
    found = sort_keyed(as_keyed_weights(keys, weights))
    assert found.dtype == np.float64
    assert found.T.tolist() == [list(item) for item in sorted(expected.items())]


def test_dense_counts_count_in_64_bits() -> None:
    found = count_dense(np.array([3, 1, 3], np.int8), 5)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1, 0, 2, 0]


@given(keys=st.lists(st.integers(0, 40), max_size=30), n_keys=st.sampled_from([41, 10_000]))
def test_counts_of_few_keys_are_sorted(keys: list[int], n_keys: int) -> None:
    found = count_keyed(np.array(keys, np.int64), n_keys)
    assert found.dtype == np.int64
    assert found.T.tolist() == [list(item) for item in sorted(Counter(keys).items())]


# --- buffers


def test_scratch_gives_the_same_memory_again() -> None:
    scratch = Scratch()
    first = scratch.take("a", (4, 5), np.float64)
    assert np.shares_memory(first, scratch.take("a", (5, 2), np.float64))
    assert not np.shares_memory(first, scratch.take("b", (4, 5), np.float64))
    larger = scratch.take("a", (5, 5), np.float64)
    assert not np.shares_memory(first, larger)
    single = scratch.take("a", (2, 2), np.float32)
    assert single.shape == (2, 2)
    assert single.dtype == np.float32


def test_scratch_lends_memory_to_one_at_a_time() -> None:
    scratch = Scratch()
    lent = scratch.borrow("a", (4, 5), np.float64)
    other = scratch.borrow("a", (4, 5), np.float64)
    assert not np.shares_memory(lent, other)
    scratch.give_back("a", lent)
    assert np.shares_memory(lent, scratch.borrow("a", (4, 5), np.float64))


def test_scratch_is_each_threads_own_and_pickles_empty() -> None:
    scratch = Scratch()
    mine = scratch.take("a", (2, 2), np.float64)
    others: list[NDArray[Any]] = []
    thread = threading.Thread(target=lambda: others.append(scratch.take("a", (2, 2), np.float64)))
    thread.start()
    thread.join()
    copy = pickle.loads(pickle.dumps(scratch))
    for other in (others[0], copy.take("a", (2, 2), np.float64)):
        assert not np.shares_memory(mine, other)

"""Mutual information and its kin: many digits, scikit-learn, independence, large tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference_partition as plain
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.typing import ArrayLike
from sklearn import metrics as sklearn_metrics

from somscale import metrics
from somscale.errors import InputError
from somscale.kernels import expected_information as kernel
from somscale.metrics.partitions.information import expected_information, information_of
from somscale.metrics.public import TableFunction
from somscale.reductions.contingency import Contingency

AVERAGES = ["arithmetic", "geometric", "max", "min"]
pairs_of_labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30)
tables = st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=3), min_size=2, max_size=5)


def index(name: str) -> TableFunction:
    found: TableFunction = getattr(metrics, name)
    return found


def split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


def exact_information(table: ArrayLike) -> Any:
    """Mutual information of a table, with many digits."""
    array = np.array(table, dtype=object)
    n, rows, columns = array.sum(), array.sum(1), array.sum(0)
    return mp.fsum(
        mp.mpf(k) / n * mp.log(mp.mpf(n * k) / (rows[i] * columns[j]))
        for (i, j), k in np.ndenumerate(array)
        if k
    )


# --- definitions and scikit-learn


@pytest.mark.parametrize("average_method", AVERAGES)
@pytest.mark.parametrize("name", ["normalized_mutual_info_score", "adjusted_mutual_info_score"])
@given(pairs=pairs_of_labels)
def test_every_average(name: str, average_method: str, pairs: list[tuple[int, int]]) -> None:
    labels, clusters = split(pairs)
    found = index(name)(labels, clusters, average_method=average_method)
    assert found.attrs["average_method"] == average_method
    expected = getattr(plain, name)(labels, clusters, average_method)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    theirs = getattr(sklearn_metrics, name)(labels, clusters, average_method=average_method)
    if not math.isnan(expected) and not plain.same_partition(labels, clusters):
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "name",
    [
        "mutual_info_score",
        "homogeneity_score",
        "completeness_score",
        "normalized_mutual_info_score",
    ],
)
@given(pairs=pairs_of_labels)
def test_scores_equal_scikit_learns(name: str, pairs: list[tuple[int, int]]) -> None:
    theirs = getattr(sklearn_metrics, name)(*split(pairs))
    np.testing.assert_allclose(index(name)(*split(pairs)), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("beta", [0.25, 1, 3.0])
@given(pairs=pairs_of_labels)
def test_v_measure_equals_scikit_learns(beta: float, pairs: list[tuple[int, int]]) -> None:
    theirs = sklearn_metrics.v_measure_score(*split(pairs), beta=beta)
    found = metrics.v_measure_score(*split(pairs), beta=beta)
    # scikit-learn is 1e-16 from 0 for independent partitions, which its ratio magnifies
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("labels", "clusters", "homogeneity", "completeness"),
    [([0, 0, 0], [0, 1, 2], 1, 0), ([0, 1, 2], [0, 0, 0], 0, 1), ([0, 0], [1, 1], 1, 1)],
)
def test_a_single_group_scores_as_in_scikit_learn(
    labels: list[int], clusters: list[int], homogeneity: float, completeness: float
) -> None:
    assert metrics.homogeneity_score(labels, clusters) == homogeneity
    assert metrics.completeness_score(labels, clusters) == completeness
    assert metrics.v_measure_score(labels, clusters) == min(homogeneity, completeness)
    for method in AVERAGES:
        for name in ("normalized_mutual_info_score", "adjusted_mutual_info_score"):
            theirs = getattr(sklearn_metrics, name)(labels, clusters, average_method=method)
            assert index(name)(labels, clusters, average_method=method) == theirs


def test_singletons_tell_all_by_chance_too() -> None:
    labels, clusters = [0, 0, 1, 1], [0, 1, 2, 3]
    for method in ("arithmetic", "geometric", "max"):
        assert metrics.adjusted_mutual_info_score(labels, clusters, average_method=method) == 0
    score = metrics.adjusted_mutual_info_score(labels, clusters, average_method="min")
    assert math.isnan(score)
    assert score.attrs["note"] == "one partition is of singletons, so no other value is possible"


# --- no digit is lost


@given(tables)
def test_mutual_information_has_all_its_digits(table: list[list[int]]) -> None:
    if not sum(map(sum, table)):
        return
    found = metrics.mutual_info_score.from_table(table)
    # relative, so that it holds next to independence as well
    np.testing.assert_allclose(found, float(exact_information(table)), rtol=1e-14, atol=1e-45)


@pytest.mark.parametrize("scale", [10, 10**5, 10**9, 10**17])
def test_next_to_independence(scale: int) -> None:
    table = [[scale + 1, scale], [scale, 2 * scale - scale]]
    found = metrics.mutual_info_score.from_table(table)
    np.testing.assert_allclose(found, float(exact_information(table)), rtol=1e-14)
    assert metrics.mutual_info_score.from_table([[scale, 2 * scale], [3 * scale, 6 * scale]]) == 0


@pytest.mark.parametrize("scale", [10, 10**5, 10**9, 10**17])
def test_next_to_equality(scale: int) -> None:
    table = [[scale, 1], [0, 3 * scale]]
    mp.dps = 60
    n, both = 4 * scale + 1, [scale, 1, 3 * scale]
    terms = zip(
        both * 2,
        [scale, 3 * scale + 1, 3 * scale + 1, scale + 1, scale + 1, 3 * scale],
        strict=True,
    )
    expected = mp.fsum(mp.mpf(k) / n * mp.log(mp.mpf(size) / k) for k, size in terms)
    found = metrics.variation_of_information.from_table(table)
    np.testing.assert_allclose(found, float(expected), rtol=1e-14)


@given(tables)
def test_order_of_classes_and_clusters_changes_no_digit(table: list[list[int]]) -> None:
    if not sum(map(sum, table)):
        return
    array = np.array(table)
    for name in ("mutual_info_score", "adjusted_mutual_info_score", "variation_of_information"):
        found = index(name).from_table(array).item()
        np.testing.assert_equal(index(name).from_table(array[::-1, ::-1]).item(), found)
        np.testing.assert_equal(index(name).from_table(array.T).item(), found)


# --- the expected mutual information


def expected_of(rows: list[int], columns: list[int]) -> float:
    """Of a table that has these margins: filled from its corner on."""
    table = np.zeros((len(rows), len(columns)), np.int64)
    left, below = list(rows), list(columns)
    i = j = 0
    while i < len(rows) and j < len(columns):
        table[i, j] = min(left[i], below[j])
        left[i], below[j] = left[i] - table[i, j], below[j] - table[i, j]
        i, j = i + (left[i] == 0), j + (below[j] == 0)
    return expected_information(Contingency.from_table(table))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([3, 4], [2, 5]),
        ([1, 1, 1, 1, 1], [2, 3]),
        ([10, 20, 30], [15, 45]),
        ([1, 1, 58], [1, 59]),
        ([1, 999], [2, 998]),
        ([300, 200], [250, 250]),
        ([1000, 1000, 1000], [1500, 1500]),
        ([7] * 6, [7] * 6),
    ],
)
def test_expected_information_against_many_digits(rows: list[int], columns: list[int]) -> None:
    expected = float(plain.expected_information(rows, columns))
    assert expected_of(rows, columns) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("a", "b", "n"), [(10**6, 10**6, 2 * 10**6), (5 * 10**6, 7 * 10**6, 3 * 10**7)]
)
def test_moments_and_sum_agree_where_one_takes_over(a: int, b: int, n: int) -> None:
    with_moments = kernel._from_moments(float(a), float(b), float(n))
    mean = a * b // n, (a * b % n) / n
    sums = np.array([1.0, kernel._divergence(-mean[1] / sum(mean))])
    kernel._one_way(mean[0], min(a, b), 1, mean, (a, b, n), sums)
    kernel._one_way(mean[0], max(0, a + b - n), -1, mean, (a, b, n), sums)
    assert with_moments == pytest.approx(sums[1] / sums[0], rel=1e-11)


def test_adjusted_score_of_large_counts_is_quick_and_right() -> None:
    # E is about (R − 1)(C − 1)/2N, and the rest about what the shares say
    for scale in (10**4, 10**8, 10**15):
        table = [[4 * scale, scale], [scale, 4 * scale]]
        shared = float(exact_information([[4, 1], [1, 4]])) / math.log(2)
        found = metrics.adjusted_mutual_info_score.from_table(table)
        assert found == pytest.approx(shared, abs=2 / scale)


def test_adjusted_score_of_independent_labels_is_near_zero() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 30, (2, 20_000))
    found = metrics.adjusted_mutual_info_score(labels, clusters)
    theirs = sklearn_metrics.adjusted_mutual_info_score(labels, clusters)
    assert found == pytest.approx(theirs, abs=1e-11)
    assert abs(found) < 1e-3


def test_sums_are_shared_between_indices() -> None:
    table = Contingency.from_table([[3, 1], [2, 5]])
    assert information_of(table) is information_of(table)


# --- parameters


@pytest.mark.parametrize(
    ("name", "parameters", "complaint"),
    [
        ("normalized_mutual_info_score", {"average_method": "mean"}, "average_method is one of"),
        ("adjusted_mutual_info_score", {"average_method": None}, "not None"),
        ("v_measure_score", {"beta": -1}, "beta is a finite number from 0 up, not -1"),
        ("pair_f_score", {"beta": math.nan}, "not nan"),
        ("bcubed_f_score", {"beta": "1"}, "not '1'"),
        ("bcubed_f_score", {"beta": True}, "not True"),
        ("bcubed_recall", {"beta": 1}, "has no parameter 'beta'"),
    ],
)
def test_parameters_that_make_no_sense(name: str, parameters: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        index(name)([0, 1], [0, 1], **parameters)
    with pytest.raises(InputError, match=complaint):
        index(name).from_table([[1, 2]], **parameters)


@pytest.mark.parametrize("name", ["pair_f_score", "bcubed_f_score"])
@given(pairs=pairs_of_labels, beta=st.sampled_from([0.5, 2.0, 1e200]))
def test_f_scores_of_other_weights(name: str, pairs: list[tuple[int, int]], beta: float) -> None:
    labels, clusters = split(pairs)
    found = index(name)(labels, clusters, beta=beta).item()
    if beta < 1e9:
        expected = getattr(plain, name)(labels, clusters, beta)
    else:  # recall alone is left
        expected = getattr(plain, name.replace("f_score", "recall"))(labels, clusters)
    np.testing.assert_allclose(found, expected, rtol=1e-13)

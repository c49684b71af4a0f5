"""Indices of two partitions: against every pair of samples, scikit-learn, and golden values."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_partition as plain
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from sklearn import datasets
from sklearn import metrics as sklearn_metrics
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from somscale import metrics
from somscale.metrics.values import Value, note_of, number_of
from somscale.reductions.contingency import Contingency

DATA = Path(__file__).parent / "data"
SCORES = ["rand_score", "adjusted_rand_score", "pair_jaccard_score", "fowlkes_mallows_score"]
PAIR_SHARES = [
    "pair_precision",
    "pair_recall",
    "wallace_clusters_to_labels",
    "wallace_labels_to_clusters",
]
INFORMATION = [
    "mutual_info_score",
    "variation_of_information",
    "homogeneity_score",
    "completeness_score",
    "v_measure_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
]
BCUBED = ["bcubed_precision", "bcubed_recall", "bcubed_f_score"]
MATCHING = ["purity", "clustering_accuracy", "split_join_distance"]
MIRKIN = ["mirkin_metric", "normalized_mirkin_metric"]
PAIRS = [*SCORES, *PAIR_SHARES, "pair_f_score", "hubert_gamma"]
INDICES = ["pair_counts", *PAIRS, *MIRKIN, *BCUBED, *MATCHING, *INFORMATION]
DISTANCES = ["variation_of_information", "split_join_distance", *MIRKIN]
AVERAGES = ["arithmetic", "geometric", "max", "min"]
each_index = pytest.mark.parametrize("index", INDICES)
each_score = pytest.mark.parametrize("index", SCORES)

groups = st.integers(0, 4)
names = st.sampled_from(["a", "b", "cc", "-1"])


def partitions(largest: int = 14) -> st.SearchStrategy[tuple[list[Any], list[Any]]]:
    """Two partitions of the same samples: numbers with gaps, and texts."""
    pairs = st.tuples(groups.map(lambda g: 3 * g), names | names)
    some = st.lists(pairs, min_size=1, max_size=largest)
    singletons = st.integers(2, 6).map(lambda n: [(i, "a") for i in range(n)])
    alike = st.lists(groups, min_size=1, max_size=largest).map(lambda gs: [(g, g) for g in gs])
    return (some | singletons | alike).map(lambda found: tuple(map(list, zip(*found, strict=True))))


def of_labels(index: str, labels: ArrayLike, clusters: ArrayLike, **policies: Any) -> Any:
    return getattr(metrics, index)(labels, clusters, **policies).values


def of_table(index: str, table: ArrayLike) -> Value:
    """The formula itself, on a table that was counted elsewhere."""
    formula = getattr(metrics, index).spec.formula
    value: Value = formula(Contingency.from_table(table))
    return value


def kmeans(name: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Classes, and the labels of KMeans(n_clusters, n_init=10, random_state=0) on the raw data."""
    file, load = {
        "iris": ("iris_kmeans_3.npy", datasets.load_iris),
        "digits": ("digits_kmeans_10.npy", datasets.load_digits),
    }[name]
    return load().target, np.load(DATA / file)


# --- the definitions


@each_index
@given(partitions())
def test_every_index_is_what_every_pair_says(index: str, both: tuple[list[Any], list[Any]]) -> None:
    expected = getattr(plain, index)(*both)
    precision = {"rtol": 0, "atol": 1e-14} if index in INFORMATION else {"rtol": 1e-15}
    if index in ("bcubed_f_score", "pair_f_score"):
        precision = {"rtol": 1e-14}
    np.testing.assert_allclose(of_labels(index, *both), expected, **precision)


@each_score
@given(partitions())
def test_scores_are_symmetric(index: str, both: tuple[list[Any], list[Any]]) -> None:
    np.testing.assert_equal(of_labels(index, *both), of_labels(index, *both[::-1]))


def test_swapping_the_partitions_swaps_b_and_c() -> None:
    labels, clusters = [0, 0, 0, 1], [0, 0, 1, 1]
    assert of_labels("pair_counts", labels, clusters).tolist() == [1, 1, 2, 2]
    assert of_labels("pair_counts", clusters, labels).tolist() == [1, 2, 1, 2]


@given(partitions())
def test_pair_counts_are_half_of_scikit_learns(both: tuple[list[Any], list[Any]]) -> None:
    (d, b), (c, a) = pair_confusion_matrix(*both) // 2
    counts = of_labels("pair_counts", *both)
    assert counts.dtype == np.int64
    assert counts.tolist() == [a, b, c, d]


@pytest.mark.parametrize("index", ["rand_score", "adjusted_rand_score", "fowlkes_mallows_score"])
@given(partitions(60))
def test_scores_equal_scikit_learns(index: str, both: tuple[list[Any], list[Any]]) -> None:
    a, b, c, d = plain.pair_counts(*both)
    assume(a + b + c + d)
    value = of_labels(index, *both)
    expected = getattr(sklearn_metrics, index)(*both)
    if index != "fowlkes_mallows_score":
        assert value == expected
    elif a:  # scikit-learn says 0 otherwise, for equal partitions too
        assert value == pytest.approx(expected, rel=1e-15)


# --- golden values

GOLDEN = {
    "iris": {
        "sha1": "4cc6f2eb53a85702c343c5c1a2a20d9ffb2c5e4f",
        "pair_counts": [3075, 744, 600, 6756],
        "pair_jaccard_score": 0.6958587915818059,
        "fowlkes_mallows_score": 0.8208080729114153,
        "rand_score": 0.8797315436241611,
        "adjusted_rand_score": 0.7302382722834697,
        "purity": 0.8933333333333333,
        "clustering_accuracy": 0.8933333333333333,
        "split_join_distance": 32,
        "mirkin_metric": 2 * (744 + 600),
        "normalized_mirkin_metric": 2 * (744 + 600) / 150**2,
        "pair_precision": 3075 / (3075 + 744),
        "pair_recall": 3075 / (3075 + 600),
        "wallace_clusters_to_labels": 3075 / (3075 + 744),
        "wallace_labels_to_clusters": 3075 / (3075 + 600),
        "pair_f_score": 3075 / (3075 + (744 + 600) / 2),
        "normalized_mutual_info_score": 0.7581756800057786,
        "adjusted_mutual_info_score": 0.7551191676,
        "homogeneity_score": 0.7514854022,
        "completeness_score": 0.7649861514,
        "v_measure_score": 0.7581756800057786,
        "variation_of_information": 0.5266536794516559,
    },
    "digits": {
        "sha1": "76bab0938e33433d3217422f0f254055dbbb9eaf",
        "pair_counts": [115324, 53652, 45272, 1399458],
        "pair_jaccard_score": 0.5382734027855569,
        "fowlkes_mallows_score": 0.7000673491162825,
        "rand_score": 0.9386976314148922,
        "adjusted_rand_score": 0.6657284343995036,
        "purity": 0.7918753478018921,
        "clustering_accuracy": 0.7918753478018921,
        "split_join_distance": 702,
        "mirkin_metric": 2 * (53652 + 45272),
        "normalized_mirkin_metric": 2 * (53652 + 45272) / 1797**2,
        "pair_precision": 115324 / (115324 + 53652),
        "pair_recall": 115324 / (115324 + 45272),
        "wallace_clusters_to_labels": 115324 / (115324 + 53652),
        "wallace_labels_to_clusters": 115324 / (115324 + 45272),
        "pair_f_score": 115324 / (115324 + (53652 + 45272) / 2),
        "normalized_mutual_info_score": 0.7424653511398109,
        "adjusted_mutual_info_score": 0.7398704134,
        "homogeneity_score": 0.7379205530,
        "completeness_score": 0.7470664784,
        "v_measure_score": 0.7424653511398109,
        "variation_of_information": 1.1786769709795535,
    },
}


@pytest.mark.parametrize("name", GOLDEN)
def test_clusters_are_the_ones_the_golden_values_are_of(name: str) -> None:
    _, clusters = kmeans(name)
    digest = hashlib.sha1(clusters.astype("<i8").tobytes()).hexdigest()
    assert digest == GOLDEN[name]["sha1"]


@pytest.mark.parametrize(
    ("name", "index"),
    [(name, i) for name, golden in GOLDEN.items() for i in golden if i in INDICES],
)
def test_golden_values_of_k_means(name: str, index: str) -> None:
    classes, clusters = kmeans(name)
    expected = GOLDEN[name][index]
    found = of_labels(index, classes, clusters).tolist()
    # some are known to ten digits only, and those from logarithms in another order of sums
    digits = 5e-11 if len(repr(expected)) < 14 and isinstance(expected, float) else 1e-14
    assert found == (pytest.approx(expected, abs=digits) if index in INFORMATION else expected)
    from_table = getattr(metrics, index).from_table(contingency_matrix(classes, clusters))
    assert from_table.values.tolist() == found


def test_adjusted_rand_of_two_random_draws() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 6, 10**6), rng.integers(0, 6, 10**6)
    assert of_labels("adjusted_rand_score", labels, clusters) == 7.45036401448637e-07


def test_adjusted_rand_of_seventy_percent_agreement() -> None:
    labels = np.repeat([0, 1], 50_000)
    clusters = np.repeat([0, 1, 0, 1], [35_000, 15_000, 15_000, 35_000])
    assert of_labels("adjusted_rand_score", labels, clusters) == 0.15999159983199665


# --- large counts (pitfall 1)


def test_products_of_pair_counts_do_not_overflow() -> None:
    table = [[40_000, 10_000], [10_000, 40_000]]
    counts = number_of(of_table("pair_counts", table))
    assert counts.tolist() == [1_699_950_000, 800_000_000, 800_000_000, 1_700_000_000]
    assert of_table("rand_score", table) == 0.6799967999679997
    assert of_table("adjusted_rand_score", table) == 0.3599935998719974


@pytest.mark.parametrize("exponent", [5, 9, 14])
def test_tables_of_billions_are_exact(exponent: int) -> None:
    scale = 10**exponent
    table = [[4 * scale, scale], [scale, 4 * scale]]
    pairs = [n * (n - 1) // 2 for n in (4 * scale, scale, 5 * scale, 10 * scale)]
    a = 2 * pairs[0] + 2 * pairs[1]
    b = 2 * pairs[2] - a
    d = pairs[3] - a - 2 * b
    counts = number_of(of_table("pair_counts", table))
    # the largest count that 64 bits hold is 9.2e18; those beyond are Python's own integers
    assert counts.dtype == (np.int64 if d < 2**63 else object)
    assert counts.tolist() == [a, b, b, d]
    assert of_table("rand_score", table) == (a + d) / pairs[3]
    assert of_table("adjusted_rand_score", table) == pytest.approx(0.36, rel=1e-4)
    assert of_table("fowlkes_mallows_score", table) == pytest.approx(a / (a + b), rel=1e-15)
    assert of_table("pair_jaccard_score", table) == a / (a + 2 * b)
    assert of_table("purity", table) == 0.8


# --- degenerate partitions (pitfalls 2 and 9)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2], [0, 1, 1], ["x", "y"]])
@pytest.mark.parametrize(
    "index", [i for i in INDICES if i not in ("pair_counts", "mutual_info_score")]
)
def test_equal_partitions_score_one(index: str, labels: list[Any]) -> None:
    best = 0 if index in DISTANCES else 1
    assert of_labels(index, labels, labels) == best
    assert of_labels(index, labels, [f"cluster {label}" for label in labels]) == best


@pytest.mark.parametrize("swapped", [False, True])
def test_one_cluster_against_singletons(swapped: bool) -> None:
    both = [[0, 0, 0, 0], [0, 1, 2, 3]]
    labels, clusters = both[::-1] if swapped else both
    assert of_labels("rand_score", labels, clusters) == 0
    assert of_labels("adjusted_rand_score", labels, clusters) == 0
    assert of_labels("pair_jaccard_score", labels, clusters) == 0
    score = metrics.fowlkes_mallows_score(labels, clusters)
    assert math.isnan(score)
    alone = "classes" if swapped else "clusters"
    assert score.attrs["note"] == f"all {alone} are singletons, so no pair is together in one"


@pytest.mark.parametrize("index", PAIRS)
def test_one_sample_has_no_pairs(index: str) -> None:
    value = of_table(index, [[1]])
    assert math.isnan(number_of(value))
    assert note_of(value) == "fewer than two samples take part, so there are no pairs"


@each_index
def test_no_samples(index: str) -> None:
    value = of_table(index, [[0, 0]])
    if index == "pair_counts":
        assert number_of(value).tolist() == [0, 0, 0, 0]
    else:
        assert math.isnan(number_of(value))
        assert note_of(value)


# --- labels of every kind (pitfalls 7, 8 and 10)


def test_noise_takes_no_part_or_is_singletons() -> None:
    labels, clusters = [0, 0, 1, 1, 1], [0, 0, 1, 1, -1]
    assert of_labels("pair_counts", labels, clusters, noise="ignore").tolist() == [2, 0, 0, 4]
    assert of_labels("pair_counts", labels, clusters).tolist() == [2, 0, 2, 6]
    noisy = [0, 0, 1, -1, -1]
    assert of_labels("pair_counts", labels, noisy).tolist() == [2, 0, 2, 6]
    assert of_labels("pair_counts", labels, noisy, noise="singletons").tolist() == [1, 0, 3, 6]


@pytest.mark.parametrize(
    "labels", [[0, 0, 5, 5], ["u", "u", "v", "v"], [True, True, False, False], [7.0, 7.0, 2.0, 2.0]]
)
@each_index
def test_only_the_grouping_counts(index: str, labels: list[Any]) -> None:
    clusters = [0, 1, 1, 1]
    expected = of_labels(index, [0, 0, 1, 1], clusters)
    np.testing.assert_equal(of_labels(index, labels, clusters), expected)
    np.testing.assert_equal(of_labels(index, np.array(labels, object), clusters), expected)


@each_index
def test_empty_rows_and_columns_change_nothing(index: str) -> None:
    full = of_table(index, [[3, 1], [0, 2]])
    padded = of_table(index, [[0, 0, 0, 0], [3, 0, 1, 0], [0, 0, 2, 0]])
    np.testing.assert_equal(number_of(padded), number_of(full))


def test_where_clusters_and_classes_differ_in_number() -> None:
    assert of_labels("homogeneity_score", [0, 1, 0, 1], [0, 1, 2, 2]) == 0.5
    assert of_labels("clustering_accuracy", [0, 1, 0, 1], [0, 1, 2, 2]) == 0.5
    assert of_labels("clustering_accuracy", [0, 1, 2, 2], [0, 1, 0, 1]) == 0.5
    assert of_labels("purity", [0, 1, 0, 1], [0, 1, 2, 2]) == 0.75
    assert of_labels("purity", [0, 1, 2, 2], [0, 1, 0, 1]) == 0.5
    assert of_labels("purity", [0, 1, 2], [0, 1, 2]) == 1

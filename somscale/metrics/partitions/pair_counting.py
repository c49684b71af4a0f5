"""Indices of how two partitions agree on pairs of samples, from their table of counts.

With n_jk samples of class j in cluster k, the unordered pairs of samples fall into

* a: same class, same cluster, Σ C(n_jk, 2);
* b: same cluster, other class;
* c: same class, other cluster;
* d: other class, other cluster.

They are kept as Python integers: products of two overflow 64 bits from N ≈ 80,000.
"""

from __future__ import annotations

import math

import numpy as np

from somscale._types import Int
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = [
    "NO_PAIRS",
    "adjusted_rand_score",
    "fowlkes_mallows_score",
    "pair_counts",
    "pair_jaccard_score",
    "pairs_of",
    "rand_score",
]

NO_PAIRS = "fewer than two samples take part, so there are no pairs"
_SQUARE_FITS = 1 << 31
_INT64 = 1 << 63


@partition_index(
    long_name="pair counts",
    definition="pairs of samples of a: same class and cluster, b: same cluster only, "
    "c: same class only, d: neither",
    direction="none",
    upper=float("inf"),
    units="pairs",
    dims=("pair",),
    dtype="int64",
    source="Rand 1971, doi:10.1080/01621459.1971.10482356",
)
def pair_counts(table: Contingency) -> Value:
    """Numbers of pairs of samples that two partitions keep together or apart.

    Notes
    -----
    Along ``pair``: a (same class, same cluster), b (same cluster, other class), c (same
    class, other cluster) and d (other class, other cluster), each from 0 to N(N − 1)/2,
    their sum.  Pairs are unordered, i < j; scikit-learn's ``pair_confusion_matrix``
    counts them twice, as [[2d, 2b], [2c, 2a]].

    The counts are exact: int64, or from 4.3e9 samples, where one may exceed 2^63 − 1,
    Python integers.
    """
    pairs = pairs_of(table)
    return np.array(pairs, dtype=np.int64 if max(pairs) < _INT64 else object)


@partition_index(
    long_name="Rand index",
    definition="(a + d) / (a + b + c + d)",
    direction="higher",
    source="Rand 1971, doi:10.1080/01621459.1971.10482356",
)
def rand_score(table: Contingency) -> Value:
    """Share of the pairs of samples on which two partitions agree.

    Notes
    -----
    (a + d) / (a + b + c + d), the pairs that are together in both partitions or apart
    in both.  Symmetric; 1 for equal partitions, 0 for one cluster against singletons.
    Undefined for fewer than two samples.
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    return (a + d) / (a + b + c + d)


@partition_index(
    long_name="adjusted Rand index",
    definition="2 (a d - b c) / ((a + b)(b + d) + (a + c)(c + d))",
    direction="higher",
    lower=-0.5,
    source="Hubert & Arabie 1985, doi:10.1007/BF01908075",
)
def adjusted_rand_score(table: Contingency) -> Value:
    """Rand index, adjusted so that its expectation over random partitions is 0.

    Notes
    -----
    2(ad − bc) / ((a + b)(b + d) + (a + c)(c + d)), which equals
    (a − E) / ((a + b + a + c)/2 − E) with E = (a + b)(a + c)/(a + b + c + d), the
    expected a when partitions of the same sizes are drawn at random.  Symmetric; 1 for
    equal partitions, about 0 for independent ones, negative below.  Undefined for fewer
    than two samples.
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    if b == c == 0:
        return 1.0
    # integers up to here; rounded as scikit-learn does it, to the same last digit
    return 2.0 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d))


@partition_index(
    long_name="Jaccard index of pairs",
    definition="a / (a + b + c)",
    direction="higher",
    source="Jaccard 1912, doi:10.1111/j.1469-8137.1912.tb05611.x",
)
def pair_jaccard_score(table: Contingency) -> Value:
    """Share of pairs together in both partitions among those together in either.

    Notes
    -----
    a / (a + b + c), the Jaccard index of the two sets of pairs; scikit-learn's
    ``jaccard_score`` is another thing, of labels one by one.  Symmetric; 1 for equal
    partitions, singletons included.  Undefined for fewer than two samples.
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    return a / (a + b + c) if b or c else 1.0


@partition_index(
    long_name="Fowlkes-Mallows index",
    definition="sqrt(a / (a + b) * a / (a + c))",
    direction="higher",
    source="Fowlkes & Mallows 1983, doi:10.1080/01621459.1983.10478008",
)
def fowlkes_mallows_score(table: Contingency) -> Value:
    """Geometric mean of the pairs' precision and recall.

    Notes
    -----
    √(a/(a + b) · a/(a + c)).  Symmetric; 1 for equal partitions, singletons included.
    Undefined for fewer than two samples, and where one partition alone is of
    singletons, so that it keeps no pair together (scikit-learn says 0).
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    if b == c == 0:
        return 1.0
    if a + b == 0 or a + c == 0:
        alone = "clusters" if a + b == 0 else "classes"
        return undefined(f"all {alone} are singletons, so no pair is together in one")
    return math.sqrt(a * a / ((a + b) * (a + c)))


def pairs_of(table: Contingency) -> tuple[int, int, int, int]:
    """a, b, c and d, exact."""
    if "pairs" not in table.derived:
        total = table.n_samples
        both = _pairs_within(table.counts, total)
        same_cluster = _pairs_within(table.column_sums, total)
        same_class = _pairs_within(table.row_sums, total)
        apart = total * (total - 1) // 2 - same_cluster - same_class + both
        table.derived["pairs"] = both, same_cluster - both, same_class - both, apart
    found: tuple[int, int, int, int] = table.derived["pairs"]
    return found


def _pairs_within(sizes: Int, total: int) -> int:
    """Pairs of samples in the same group, for groups of given sizes."""
    if total < _SQUARE_FITS:
        return int((sizes * (sizes - 1)).sum()) // 2
    exact: list[int] = sizes.tolist()
    return sum(size * (size - 1) for size in exact) // 2

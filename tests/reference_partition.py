"""What the tests of partitions compare with: every pair of samples, one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Labels = Sequence[Any]


def pair_counts(labels: Labels, clusters: Labels) -> tuple[int, int, int, int]:
    """a, b, c, d: pairs i < j of the same class and cluster, cluster only, class only, neither."""
    a = b = c = d = 0
    for i, j in combinations(range(len(labels)), 2):
        same_class, same_cluster = labels[i] == labels[j], clusters[i] == clusters[j]
        a += same_class and same_cluster
        b += same_cluster and not same_class
        c += same_class and not same_cluster
        d += not same_class and not same_cluster
    return a, b, c, d


def ratio(top: int | Fraction, bottom: int | Fraction) -> float:
    """A quotient, nan for 0/0."""
    return float(Fraction(top) / Fraction(bottom)) if bottom else math.nan


def rand_score(labels: Labels, clusters: Labels) -> float:
    """Share of pairs that are together in both or apart in both."""
    a, b, c, d = pair_counts(labels, clusters)
    return ratio(a + d, a + b + c + d)


def adjusted_rand_score(labels: Labels, clusters: Labels) -> float:
    """Hubert & Arabie's (index − expected) / (largest − expected)."""
    a, b, c, d = pair_counts(labels, clusters)
    pairs = a + b + c + d
    if pairs and b == c == 0:
        return 1.0
    expected = Fraction((a + b) * (a + c), pairs) if pairs else Fraction(0)
    return ratio(a - expected, Fraction(a + b + a + c, 2) - expected)


def pair_jaccard_score(labels: Labels, clusters: Labels) -> float:
    """Pairs together in both among those together in either."""
    a, b, c, d = pair_counts(labels, clusters)
    return 1.0 if d and a + b + c == 0 else ratio(a, a + b + c)


def fowlkes_mallows_score(labels: Labels, clusters: Labels) -> float:
    """Geometric mean of the shares of pairs that are together in the other partition too."""
    a, b, c, d = pair_counts(labels, clusters)
    if d and a + b + c == 0:
        return 1.0
    return math.sqrt(ratio(a, a + b) * ratio(a, a + c))


def purity(labels: Labels, clusters: Labels) -> float:
    """Share of samples of the class that is the most frequent in their cluster."""
    found = Counter(zip(clusters, labels, strict=True))
    best = [max(n for (k, _), n in found.items() if k == cluster) for cluster in set(clusters)]
    return ratio(sum(best), len(labels))

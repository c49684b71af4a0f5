"""What the tests of partitions compare with: definitions, sample by sample, in many digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from mpmath import mp

Labels = Sequence[Any]
mp.dps = 50


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


def counts_of(labels: Labels, clusters: Labels) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Samples of every class, of every cluster, and of both."""
    return Counter(labels), Counter(clusters), Counter(zip(labels, clusters, strict=True))


def same_partition(labels: Labels, clusters: Labels) -> bool:
    """Whether both group the samples alike."""
    by_class, by_cluster, both = counts_of(labels, clusters)
    return len(by_class) == len(by_cluster) == len(both)


def pair_precision(labels: Labels, clusters: Labels) -> float:
    """Pairs together in both among those in the same cluster."""
    a, b, c, d = pair_counts(labels, clusters)
    return 1.0 if d + a and b + c == 0 else ratio(a, a + b)


def pair_recall(labels: Labels, clusters: Labels) -> float:
    """Pairs together in both among those of the same class."""
    return pair_precision(clusters, labels)


wallace_clusters_to_labels = pair_precision
wallace_labels_to_clusters = pair_recall


def pair_f_score(labels: Labels, clusters: Labels, beta: float = 1) -> float:
    """Van Rijsbergen's F of the two sets of pairs."""
    a, b, c, d = pair_counts(labels, clusters)
    if a + d and b + c == 0:
        return 1.0
    squared = Fraction(beta) ** 2
    return ratio((1 + squared) * a, (1 + squared) * a + b + squared * c)


def hubert_gamma(labels: Labels, clusters: Labels) -> float:
    """Pearson's correlation of being together, over pairs."""
    pairs = list(combinations(range(len(labels)), 2))
    if pairs and same_partition(labels, clusters):
        return 1.0
    x = [Fraction(labels[i] == labels[j]) for i, j in pairs]
    y = [Fraction(clusters[i] == clusters[j]) for i, j in pairs]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    top = sum((p - mean_x) * (q - mean_y) for p, q in zip(x, y, strict=True))
    bottom = sum((p - mean_x) ** 2 for p in x) * sum((q - mean_y) ** 2 for q in y)
    return math.copysign(math.sqrt(top**2 / bottom), top)


def mirkin_metric(labels: Labels, clusters: Labels) -> float:
    """Ordered pairs that are together in one partition only."""
    n = range(len(labels))
    apart = [(labels[i] == labels[j]) != (clusters[i] == clusters[j]) for i in n for j in n]
    return float(sum(apart))


def normalized_mirkin_metric(labels: Labels, clusters: Labels) -> float:
    """The same over all ordered pairs."""
    return ratio(int(mirkin_metric(labels, clusters)), len(labels) ** 2)


def bcubed_precision(labels: Labels, clusters: Labels) -> float:
    """Mean over samples of the share of their cluster that is of their class."""
    total = Fraction(0)
    for label, cluster in zip(labels, clusters, strict=True):
        inside = [other for other, k in zip(labels, clusters, strict=True) if k == cluster]
        total += Fraction(inside.count(label), len(inside))
    return ratio(total, len(labels))


def bcubed_recall(labels: Labels, clusters: Labels) -> float:
    """Mean over samples of the share of their class that is in their cluster."""
    return bcubed_precision(clusters, labels)


def bcubed_f_score(labels: Labels, clusters: Labels, beta: float = 1) -> float:
    """Van Rijsbergen's F of both."""
    precision, recall = bcubed_precision(labels, clusters), bcubed_recall(labels, clusters)
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def clustering_accuracy(labels: Labels, clusters: Labels) -> float:
    """Best one-to-one assignment of clusters to classes, by trying all."""
    by_class, by_cluster, both = counts_of(labels, clusters)
    few, many = sorted([list(by_class), list(by_cluster)], key=len)
    swapped = few == list(by_cluster) and len(by_class) != len(by_cluster)
    best = max(
        sum(both[(k, j) if swapped else (j, k)] for j, k in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )
    return ratio(best, len(labels))


def split_join_distance(labels: Labels, clusters: Labels) -> float:
    """Samples outside the largest common part, by clusters and by classes."""
    n = len(labels)
    lost = n - round(n * purity(labels, clusters)) + n - round(n * purity(clusters, labels))
    return float(lost)


def entropy(groups: Labels) -> mp.mpf:
    """Shannon's entropy in nats, with many digits."""
    n = len(groups)
    return -mp.fsum(mp.mpf(k) / n * mp.log(mp.mpf(k) / n) for k in Counter(groups).values())


def information(labels: Labels, clusters: Labels) -> mp.mpf:
    """Mutual information of two partitions, with many digits."""
    n = len(labels)
    by_class, by_cluster, both = counts_of(labels, clusters)
    return mp.fsum(
        mp.mpf(k) / n * mp.log(mp.mpf(n * k) / (by_class[j] * by_cluster[c]))
        for (j, c), k in both.items()
    )


def expected_information(row_sums: Sequence[int], column_sums: Sequence[int]) -> mp.mpf:
    """Expected mutual information of tables with these margins, with many digits."""
    n = sum(row_sums)
    total = mp.mpf(0)
    for a in row_sums:
        for b in column_sums:
            for k in range(max(1, a + b - n), min(a, b) + 1):
                ways = math.comb(a, k) * math.comb(n - a, b - k)
                chance = mp.mpf(ways) / math.comb(n, b)
                total += chance * k / n * mp.log(mp.mpf(n * k) / (a * b))
    return total


def average(labels: Labels, clusters: Labels, method: str) -> mp.mpf:
    """Average of two entropies."""
    both = entropy(labels), entropy(clusters)
    means = {
        "arithmetic": sum(both) / 2,
        "geometric": mp.sqrt(both[0] * both[1]),
        "max": max(both),
        "min": min(both),
    }
    return means[method]


def mutual_info_score(labels: Labels, clusters: Labels) -> float:
    """Mutual information in nats."""
    return float(information(labels, clusters))


def variation_of_information(labels: Labels, clusters: Labels) -> float:
    """Entropy of each partition that the other leaves."""
    shared = information(labels, clusters)
    return float(entropy(labels) + entropy(clusters) - 2 * shared)


def homogeneity_score(labels: Labels, clusters: Labels) -> float:
    """Share of the classes' entropy that the clusters tell."""
    if len(set(labels)) == 1:
        return 1.0
    return float(information(labels, clusters) / entropy(labels))


def completeness_score(labels: Labels, clusters: Labels) -> float:
    """Share of the clusters' entropy that the classes tell."""
    return homogeneity_score(clusters, labels)


def v_measure_score(labels: Labels, clusters: Labels, beta: float = 1) -> float:
    """Weighted harmonic mean of both, 0 where one is 0."""
    h, c = homogeneity_score(labels, clusters), completeness_score(labels, clusters)
    return (1 + beta) * h * c / (beta * h + c) if min(h, c) > 1e-30 else 0.0


def normalized_mutual_info_score(
    labels: Labels, clusters: Labels, average_method: str = "arithmetic"
) -> float:
    """Mutual information over an average entropy; scikit-learn's values for single groups."""
    if same_partition(labels, clusters):
        return 1.0
    if min(len(set(labels)), len(set(clusters))) == 1:
        return 0.0
    return float(information(labels, clusters) / average(labels, clusters, average_method))


def adjusted_mutual_info_score(
    labels: Labels, clusters: Labels, average_method: str = "arithmetic"
) -> float:
    """Vinh, Epps & Bailey's (I − E) / (average − E)."""
    if same_partition(labels, clusters):
        return 1.0
    numbers = len(set(labels)), len(set(clusters))
    if min(numbers) == 1:
        return 0.0
    if max(numbers) == len(labels) and average_method == "min":
        return math.nan
    margins = [list(Counter(groups).values()) for groups in (labels, clusters)]
    expected = expected_information(*margins)
    whole = average(labels, clusters, average_method)
    return float((information(labels, clusters) - expected) / (whole - expected))

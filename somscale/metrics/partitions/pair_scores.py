"""Scores of pairs of samples: precision and recall, their kin, and distances.

a, b, c and d are those of :mod:`somscale.metrics.partitions.pair_counting`.
"""

from __future__ import annotations

import math

from somscale.metrics.partitions.f_scores import check_beta, weights_of
from somscale.metrics.partitions.pair_counting import NO_PAIRS, pairs_of
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = [
    "hubert_gamma",
    "mirkin_metric",
    "normalized_mirkin_metric",
    "pair_f_score",
    "pair_precision",
    "pair_recall",
    "wallace_clusters_to_labels",
    "wallace_labels_to_clusters",
]

_PRECISION = "share of pairs in the same cluster that are of the same class, a / (a + b)"
_RECALL = "share of pairs of the same class that are in the same cluster, a / (a + c)"
_RIJSBERGEN = "van Rijsbergen 1979, Information Retrieval, ISBN 978-0-408-70929-3"
_WALLACE = "Wallace 1983, doi:10.1080/01621459.1983.10478009"
_MEILA = "Meilă 2007, doi:10.1016/j.jmva.2006.11.013"
_ALONE = "fewer than two samples, or {} that keep no pair together where the others do"


@partition_index(
    long_name="precision of pairs",
    definition=_PRECISION,
    direction="higher",
    source=_RIJSBERGEN,
    undefined=_ALONE.format("clusters"),
)
def pair_precision(table: Contingency) -> Value:
    """Share of pairs of samples in the same cluster that are of the same class.

    Notes
    -----
    a / (a + b).  1 for equal partitions, singletons included.  Undefined for fewer than
    two samples, and where the clusters alone are of singletons.
    """
    a, b, c, d = pairs_of(table)
    return _share(a, b, (a, b, c, d), "clusters")


@partition_index(
    long_name="recall of pairs",
    definition=_RECALL,
    direction="higher",
    source=_RIJSBERGEN,
    undefined=_ALONE.format("classes"),
)
def pair_recall(table: Contingency) -> Value:
    """Share of pairs of samples of the same class that are in the same cluster.

    Notes
    -----
    a / (a + c).  1 for equal partitions, singletons included.  Undefined for fewer than
    two samples, and where the classes alone are of singletons.
    """
    a, b, c, d = pairs_of(table)
    return _share(a, c, (a, b, c, d), "classes")


@partition_index(
    long_name="F-score of pairs",
    definition="(1 + beta^2) a / ((1 + beta^2) a + b + beta^2 c)",
    direction="higher",
    source=_RIJSBERGEN,
    check=check_beta,
    undefined="fewer than two samples, or beta 0 and clusters that alone keep no pair together",
)
def pair_f_score(table: Contingency, *, beta: float = 1.0) -> Value:
    """Weighted harmonic mean of the precision and the recall of pairs.

    Parameters
    ----------
    beta : float
        Weight of the recall, in units of the precision's, squared in the formula.

    Notes
    -----
    (1 + β²) a / ((1 + β²) a + b + β² c).  Symmetric for β = 1; 1 for equal partitions.
    Undefined for fewer than two samples.
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    if b == c == 0:
        return 1.0
    precise, complete = weights_of(float(beta) * float(beta))
    missed = precise * b + complete * c
    if a == 0 and missed == 0:
        return undefined("all clusters are singletons, and beta 0 asks for their pairs alone")
    return a / (a + missed)


@partition_index(
    long_name="Wallace coefficient, clusters to labels",
    definition=_PRECISION,
    direction="higher",
    source=_WALLACE,
    undefined=_ALONE.format("clusters"),
)
def wallace_clusters_to_labels(table: Contingency) -> Value:
    """Probability that two samples of the same cluster are of the same class.

    Notes
    -----
    Wallace's coefficient W = a / (a + b), the same number as ``pair_precision``.
    Undefined for fewer than two samples, and where the clusters alone are of singletons.
    """
    a, b, c, d = pairs_of(table)
    return _share(a, b, (a, b, c, d), "clusters")


@partition_index(
    long_name="Wallace coefficient, labels to clusters",
    definition=_RECALL,
    direction="higher",
    source=_WALLACE,
    undefined=_ALONE.format("classes"),
)
def wallace_labels_to_clusters(table: Contingency) -> Value:
    """Probability that two samples of the same class are in the same cluster.

    Notes
    -----
    Wallace's coefficient W = a / (a + c), the same number as ``pair_recall``.
    Undefined for fewer than two samples, and where the classes alone are of singletons.
    """
    a, b, c, d = pairs_of(table)
    return _share(a, c, (a, b, c, d), "classes")


@partition_index(
    long_name="Hubert's gamma, normalised",
    definition="(a d - b c) / sqrt((a + b)(a + c)(b + d)(c + d))",
    direction="higher",
    lower=-1.0,
    source="Hubert & Schultz 1976, Quadratic assignment as a general data analysis strategy",
    undefined="fewer than two samples, or one partition alone of one group or of singletons",
)
def hubert_gamma(table: Contingency) -> Value:
    """Correlation over pairs of being in the same cluster and being of the same class.

    Notes
    -----
    (ad − bc) / √((a + b)(a + c)(b + d)(c + d)), the phi coefficient of the pairs.
    Symmetric; 1 for equal partitions, about 0 for independent ones.  Undefined for fewer
    than two samples, and where one partition alone keeps all pairs together, or none.
    """
    a, b, c, d = pairs_of(table)
    if a + b + c + d == 0:
        return undefined(NO_PAIRS)
    if b == c == 0:
        return 1.0
    bottom = (a + b) * (a + c) * (b + d) * (c + d)
    if bottom == 0:
        trivial = "clusters" if (a + b) * (c + d) == 0 else "classes"
        return undefined(f"the {trivial} keep all pairs together or none, so they do not vary")
    top = a * d - b * c
    # of integers, so that it is rounded once and never beyond 1
    return math.copysign(math.sqrt(top * top / bottom), top)


@partition_index(
    long_name="Mirkin metric",
    definition="2 (b + c)",
    direction="lower",
    upper=float("inf"),
    units="ordered pairs",
    source=f"Mirkin 1996, Mathematical Classification and Clustering; {_MEILA}",
    undefined="no sample that takes part",
)
def mirkin_metric(table: Contingency) -> Value:
    """Number of ordered pairs of samples on which two partitions disagree.

    Notes
    -----
    2(b + c) = Σ_k n_k² + Σ_j n_j² − 2 Σ_jk n_jk².  Symmetric; 0 for equal partitions.
    It is exact up to 2⁵³.  Undefined without samples.
    """
    _, b, c, _ = pairs_of(table)
    return float(2 * (b + c)) if table.n_samples else undefined("no sample takes part")


@partition_index(
    long_name="Mirkin metric, normalised",
    definition="2 (b + c) / N^2",
    direction="lower",
    source=_MEILA,
    undefined="no sample that takes part",
)
def normalized_mirkin_metric(table: Contingency) -> Value:
    """Share of ordered pairs of samples, each with itself too, on which two partitions disagree.

    Notes
    -----
    2(b + c)/N², which does not change when every sample occurs twice; 1 − ``rand_score``
    is 2(b + c)/(N(N − 1)).  Symmetric; 0 for equal partitions.  Undefined without samples.
    """
    _, b, c, _ = pairs_of(table)
    if table.n_samples == 0:
        return undefined("no sample takes part")
    return 2 * (b + c) / table.n_samples**2


def _share(together: int, apart: int, pairs: tuple[int, int, int, int], whose: str) -> Value:
    """Pairs together in both partitions among those together in one."""
    _, b, c, _ = pairs
    if sum(pairs) == 0:
        return undefined(NO_PAIRS)
    if b == c == 0:
        return 1.0
    if together + apart == 0:
        return undefined(f"all {whose} are singletons, so no pair is together in one")
    return together / (together + apart)

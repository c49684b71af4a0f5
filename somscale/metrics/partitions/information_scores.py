"""Indices of what two partitions tell of each other: mutual information and its kin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from somscale.errors import InputError
from somscale.metrics.partitions.f_scores import check_beta, weights_of
from somscale.metrics.partitions.information import (
    Information,
    expected_information,
    information_of,
)
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = [
    "adjusted_mutual_info_score",
    "completeness_score",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "v_measure_score",
    "variation_of_information",
]

_AVERAGES = ("arithmetic", "geometric", "max", "min")
_SHANNON = "Shannon 1948, doi:10.1002/j.1538-7305.1948.tb01338.x"
_VINH = "Vinh, Epps & Bailey 2010, Journal of Machine Learning Research 11:2837-2854"
_ROSENBERG = "Rosenberg & Hirschberg 2007, V-measure, EMNLP-CoNLL 2007, 410-420"
_NO_SAMPLE = "no sample takes part"
_NEVER = "no sample that takes part"


def _check_average(parameters: Mapping[str, Any]) -> None:
    if parameters["average_method"] not in _AVERAGES:
        chosen = parameters["average_method"]
        raise InputError(f"average_method is one of {_AVERAGES}, not {chosen!r}")


@partition_index(
    long_name="mutual information",
    definition="sum of (n_jk / N) ln(N n_jk / (n_j n_k)) over the table's cells",
    direction="higher",
    upper=float("inf"),
    units="nats",
    source=_SHANNON,
    undefined=_NEVER,
)
def mutual_info_score(table: Contingency) -> Value:
    """Information that a sample's cluster gives of its class, in nats.

    Notes
    -----
    Σ_jk (n_jk/N) log(N n_jk/(n_j n_k)), at most the smaller of both entropies.  Symmetric;
    exactly 0 for independent partitions, a single group among them.  Undefined without
    samples.
    """
    return information_of(table).mutual if table.n_samples else undefined(_NO_SAMPLE)


@partition_index(
    long_name="normalised mutual information",
    definition="mutual information / average of the entropies of classes and clusters",
    direction="higher",
    source=_VINH,
    check=_check_average,
    undefined=_NEVER,
)
def normalized_mutual_info_score(
    table: Contingency, *, average_method: str = "arithmetic"
) -> Value:
    """Mutual information over an average of both entropies.

    Parameters
    ----------
    average_method : {"arithmetic", "geometric", "max", "min"}
        Average of the entropies, by scikit-learn's names.

    Notes
    -----
    Symmetric; 1 for equal partitions.  As in scikit-learn 0 where one partition alone has
    a single group, also where the average is then 0.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    if _equal(found):
        return 1.0
    if found.mutual == 0:
        return 0.0
    return min(1.0, found.mutual / _average(found, average_method))


@partition_index(
    long_name="adjusted mutual information",
    definition="(I - E) / (average entropy - E), E the expected I for the same group sizes",
    direction="higher",
    lower=float("-inf"),
    source=_VINH,
    check=_check_average,
    undefined="no sample that takes part, or average_method min and one partition alone of "
    "singletons",
)
def adjusted_mutual_info_score(table: Contingency, *, average_method: str = "arithmetic") -> Value:
    """Mutual information, adjusted so that its expectation over random partitions is 0.

    Parameters
    ----------
    average_method : {"arithmetic", "geometric", "max", "min"}
        Average of the entropies, by scikit-learn's names.

    Notes
    -----
    (I − E) / (average − E) with E the expected mutual information of partitions drawn at
    random with the same sizes (hypergeometric model), summed from each cell's mean outward
    until nothing is left to add; above a mean of 10⁵ samples of small spread, from the
    moments.  Symmetric; 1 for equal partitions, exactly 0 where one partition alone is of
    one group (as in scikit-learn) or of singletons.  Undefined without samples, and with
    ``"min"`` where one partition alone is of singletons: 0/0, of which scikit-learn
    returns a quotient of rounding errors.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    if _equal(found):
        return 1.0
    if found.classes == 0 or found.clusters == 0:
        return 0.0
    groups = (int((sums > 0).sum()) for sums in (table.row_sums, table.column_sums))
    if table.n_samples in groups:
        # whatever the other partition is, singletons tell all of it
        if average_method == "min":
            return undefined("one partition is of singletons, so no other value is possible")
        return 0.0
    expected, whole = expected_information(table), _average(found, average_method)
    if whole <= expected:
        return undefined("the largest and the expected mutual information are equal to rounding")
    return min(1.0, (found.mutual - expected) / (whole - expected))


@partition_index(
    long_name="homogeneity",
    definition="1 - H(classes | clusters) / H(classes)",
    direction="higher",
    source=_ROSENBERG,
    undefined=_NEVER,
)
def homogeneity_score(table: Contingency) -> Value:
    """How far every cluster holds samples of a single class.

    Notes
    -----
    1 − H(classes | clusters)/H(classes) = I/H(classes); 1 where all samples are of one
    class, as in scikit-learn.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    return _told(found.mutual, found.classes)


@partition_index(
    long_name="completeness",
    definition="1 - H(clusters | classes) / H(clusters)",
    direction="higher",
    source=_ROSENBERG,
    undefined=_NEVER,
)
def completeness_score(table: Contingency) -> Value:
    """How far all samples of a class are in a single cluster.

    Notes
    -----
    1 − H(clusters | classes)/H(clusters) = I/H(clusters); 1 where all samples are in one
    cluster, as in scikit-learn.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    return _told(found.mutual, found.clusters)


@partition_index(
    long_name="V-measure",
    definition="(1 + beta) h c / (beta h + c) of homogeneity h and completeness c",
    direction="higher",
    source=_ROSENBERG,
    check=check_beta,
    undefined=_NEVER,
)
def v_measure_score(table: Contingency, *, beta: float = 1.0) -> Value:
    """Weighted harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    beta : float
        Weight of the completeness, in units of the homogeneity's.

    Notes
    -----
    (1 + β) h c / (β h + c), and 0 where h or c is 0, as in scikit-learn.  For β = 1
    symmetric and the arithmetic ``normalized_mutual_info_score``.  Undefined without
    samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    homogeneity = _told(found.mutual, found.classes)
    completeness = _told(found.mutual, found.clusters)
    if homogeneity == 0 or completeness == 0:
        return 0.0
    first, second = weights_of(float(beta))
    return homogeneity * completeness / (first * completeness + second * homogeneity)


@partition_index(
    long_name="variation of information",
    definition="H(classes | clusters) + H(clusters | classes)",
    direction="lower",
    upper=float("inf"),
    units="nats",
    source="Meilă 2007, doi:10.1016/j.jmva.2006.11.013",
    undefined=_NEVER,
)
def variation_of_information(table: Contingency) -> Value:
    """Information that is lost and gained from one partition to the other, in nats.

    Notes
    -----
    H(classes | clusters) + H(clusters | classes), a metric of partitions, at most log N.
    Symmetric; 0 for equal partitions.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    found = information_of(table)
    return found.classes_left + found.clusters_left


def _equal(found: Information) -> bool:
    return found.classes_left == found.clusters_left == 0


def _told(mutual: float, entropy: float) -> float:
    return min(1.0, mutual / entropy) if entropy else 1.0


def _average(found: Information, method: str) -> float:
    both = found.classes, found.clusters
    if method == "arithmetic":
        return sum(both) / 2
    if method == "geometric":
        return math.sqrt(both[0] * both[1])
    return max(both) if method == "max" else min(both)

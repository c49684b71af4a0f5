"""Values that are too large to make without being asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import numpy as np

from somscale.errors import InputError
from somscale.metrics.asking.pair_wishes import PAIR_NEEDS
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.sampling import refuse_sampling
from somscale.metrics.clusters.separation import CentroidDistance
from somscale.metrics.spec import MetricSpec
from somscale.reductions.rank_want import JACCARD_K_MAX

__all__ = [
    "gaps_obstacle",
    "is_dear",
    "is_long_walk",
    "most_clusters",
    "not_given",
    "pairs_obstacle",
    "ranks_too_many",
    "size_obstacle",
    "takes_distance",
]

MAX_CELLS: Final = 1 << 26
"""Cells of a table of units and classes, or of two clusters: 512 MiB."""

_WALKED_SAMPLES: Final = 100_000
"""Samples of which all pairs are walked unasked: 5·10⁹ pairs, about half a minute."""

_SLOW_SAMPLES: Final = {"shepard_rank_correlation": 20_000, "shepard_diagram": 20_000}
"""The same of walks that take several times as long a pair, or two walks."""

_RANKED_SAMPLES: Final = 20_000
"""Samples of which all neighbours are ranked unasked."""

_VECTORS: Final = frozenset({"moments", "units", "centroid_silhouettes", "squared_silhouettes"})
"""Statistics that distances alone do not give."""

_SHOWN_CLUSTERS: Final = 1_000
_COMPARED_CLUSTERS: Final = 20_000
_COMPARES_CLUSTERS: Final = frozenset(
    {"davies_bouldin_index", "davies_bouldin_score", "xie_beni_index"}
)


def most_clusters(spec: MetricSpec) -> float:
    """The most clusters of which an index is given without being asked for by name."""
    if "other_cluster" in spec.dims or _has_table(spec):
        return _SHOWN_CLUSTERS
    # every pair of centroids is compared
    return _COMPARED_CLUSTERS if spec.name in _COMPARES_CLUSTERS else float("inf")


def _has_table(spec: MetricSpec) -> bool:
    """Whether an index is made of a table of every two clusters."""
    return spec.subject == "clusters" and bool(spec.tables)


def is_dear(spec: MetricSpec) -> bool:
    """Whether an index of a map takes as much as all others that share its read together."""
    return "marginals" in spec.needs


def not_given(spec: MetricSpec, given: Mapping[str, Any]) -> str | None:
    """Why an index has no value without an argument that is not given; None where it has."""
    if "unit_clusters" in spec.defaults and given.get("unit_clusters") is None:
        return "clusters of the map's units are not given: unit_clusters="
    return None


def is_long_walk(spec: MetricSpec, problem: Problem) -> bool:
    """Whether an index walks over the pairs of more samples than is done unasked."""
    most = _SLOW_SAMPLES.get(spec.name, _WALKED_SAMPLES)
    most = _RANKED_SAMPLES if spec.cost == "ranks" else most
    sampled = problem.sampling is not None and spec.estimable
    return spec.cost != "linear" and not sampled and problem.n_samples > most


def ranks_too_many(spec: MetricSpec, problem: Problem, given: Mapping[str, Any]) -> str | None:
    """Why an index of ranks is given only when asked for by name; None where it is not."""
    k = given.get("k")
    every = isinstance(k, str) and k == "all"
    if "matrix" in spec.tables or ("full" in spec.tables and not every):
        return (
            "ranks beyond the first hundred are counted only for indices that are named, or with "
            "k='all'"
        )
    if "jaccard" in spec.tables and every and problem.n_samples - 1 > JACCARD_K_MAX:
        return f"it is counted up to K = {JACCARD_K_MAX}"
    ranks = [given.get(name) for name in ("k", "kappa_s", "kappa_t") if name in spec.dims]
    one = all(isinstance(own, int | np.integer | None) for own in ranks)
    if "samples" in spec.tables and not one:
        return (
            "values of every sample or unit at several ranks are given only for indices that are "
            "named"
        )
    return None


def gaps_obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why an index has no value where samples are compared by the features that they have."""
    if problem.samples is None or problem.samples.missing != "partial":
        return None
    if spec.with_gaps or spec.subject in ("partition", "units"):
        return None
    if spec.cost == "linear" and spec.subject == "map":
        return "missing='partial' has no meaning for what is made of all values of a feature"
    return (
        "missing='partial' compares samples with codes, and it compares samples with each other, "
        "which may have no feature in common"
    )


def pairs_obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why an index cannot be had from these samples, or from their distances."""
    gaps = gaps_obstacle(spec, problem)
    if gaps is not None:
        return gaps
    if problem.matrix and not _VECTORS.isdisjoint(spec.needs):
        return "it needs samples, for their mean, and there are only distances"
    walked = spec.cost == "ranks" or not PAIR_NEEDS.isdisjoint(spec.needs)
    if problem.sampling is not None and walked:
        if spec.cost == "linear":
            return None
        try:
            refuse_sampling(spec)
        except InputError as refusal:
            return str(refusal).replace(spec.name, "it", 1)
    weighted = problem.samples is not None and problem.samples.sample_weights is not None
    if weighted and walked:
        what = "ranks" if spec.cost == "ranks" else "pairs"
        return (
            f"sample_weights= has no meaning for {what} of samples, of which every one counts "
            "once; ask for it in a call of its own, without weights"
        )
    if weighted and "marginals" in spec.needs:
        return (
            "sample_weights= has no meaning for tests of distributions, which count samples; ask "
            "for it in a call of its own, without weights"
        )
    return None


def takes_distance(spec: MetricSpec, distance: Any) -> bool:
    """Whether an index has a value for a distance of samples: centroids have few of these."""
    if "distance" not in spec.defaults or "moments" not in spec.needs:
        return True
    return isinstance(distance, str) and distance in get_args(CentroidDistance)


def size_obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why the value of an index would be too large; None when it is not."""
    if "other_cluster" in spec.dims or _has_table(spec):
        n_clusters = max(problem.size("cluster", name) for name in problem.candidates)
        if n_clusters**2 <= MAX_CELLS:
            return None
        return (
            f"its table of {n_clusters} by {n_clusters} clusters would hold "
            f"{n_clusters**2 * 8 / 2**30:.1f} GiB (limit: 0.5)"
        )
    if "class" not in spec.dims:
        return None
    n_classes = problem.size("class", "")
    n_units = max(problem.size("unit", candidate) for candidate in problem.candidates)
    if n_units * n_classes <= MAX_CELLS:
        return None
    return (
        f"its table of {n_units} units and {n_classes} classes would hold "
        f"{n_units * n_classes * 8 / 2**30:.1f} GiB (limit: 0.5)"
    )

"""Values that are too large to make without being asked."""

from __future__ import annotations

from typing import Final

from somscale.metrics.compute import Problem
from somscale.metrics.spec import MetricSpec

__all__ = ["most_clusters", "size_obstacle"]

MAX_CELLS: Final = 1 << 26
"""Cells of a table of units and classes, or of two clusters: 512 MiB."""

_SHOWN_CLUSTERS: Final = 1_000
_COMPARED_CLUSTERS: Final = 20_000
_COMPARES_CLUSTERS: Final = frozenset(
    {"davies_bouldin_index", "davies_bouldin_score", "xie_beni_index"}
)


def most_clusters(spec: MetricSpec) -> float:
    """The most clusters of which an index is given without being asked for by name."""
    if "other_cluster" in spec.dims:
        return _SHOWN_CLUSTERS
    # every pair of centroids is compared
    return _COMPARED_CLUSTERS if spec.name in _COMPARES_CLUSTERS else float("inf")


def size_obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why the value of an index would be too large; None when it is not."""
    if "other_cluster" in spec.dims:
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

"""How far the centroids of clusters lie from each other, told apart from rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from somscale._types import Float
from somscale.errors import InputError
from somscale.metrics.code_distances import distance_rows
from somscale.reductions.moments import MomentStats

__all__ = [
    "CentroidDistance",
    "centroid_rows",
    "check_centroid_distance",
    "root_mean_squares",
    "sizes_of_rounding",
    "spread_of_centroids",
]

CentroidDistance: TypeAlias = Literal[
    "euclidean", "sqeuclidean", "cityblock", "minkowski", "chebyshev"
]
_ROUNDING = 8 * np.finfo(np.float64).eps


def root_mean_squares(moments: MomentStats) -> Float:
    """√(Σ‖x − μ_k‖² / n_k) of every cluster, nan of one without mass, (K,)."""
    return np.sqrt(moments.per_mass(moments.squares))


def sizes_of_rounding(moments: MomentStats) -> Float:
    """By how much the centroid of every cluster that has mass may be off, (K′,)."""
    alive = moments.alive
    lengths = np.linalg.norm(moments.offsets[alive], axis=1)
    return np.asarray(_ROUNDING * (lengths + root_mean_squares(moments)[alive]))


def centroid_rows(
    moments: MomentStats, distance: CentroidDistance = "euclidean", p: float = 2
) -> Iterator[tuple[slice, Float]]:
    """Some clusters at a time, and their centroids' distances to all, of those with mass.

    Centroids that differ by no more than rounding have the distance 0.
    """
    from scipy.spatial.distance import cdist

    size, points = sizes_of_rounding(moments), moments.offsets[moments.alive]
    for rows, apart in distance_rows(points):
        same = apart <= size[rows, None] + size
        if distance == "minkowski":
            apart = cdist(points[rows], points, distance, p=p)
        elif distance != "euclidean":
            apart = cdist(points[rows], points, distance)
        apart[same] = 0.0
        yield rows, apart


def check_centroid_distance(parameters: Mapping[str, Any]) -> None:
    """Refuse distances of samples that are none of centroids, which are means."""
    chosen = parameters["distance"]
    if not isinstance(chosen, str) or chosen not in get_args(CentroidDistance):
        raise InputError(
            "this form compares centroids, whose distance is one of "
            f"{get_args(CentroidDistance)}, not {chosen!r}; choose a form without centroids"
        )


def spread_of_centroids(moments: MomentStats) -> float:
    """Σ n_k ‖μ_k − μ‖² about the mean μ of all samples; 0 where it is no more than rounding."""
    alive = moments.alive
    mass, offsets = moments.mass[alive], moments.offsets[alive]
    mean = mass @ offsets / moments.total
    away = offsets - mean
    squares = np.einsum("kd,kd->k", away, away)
    size = sizes_of_rounding(moments)
    if (np.sqrt(squares) <= 2 * size.max()).all():
        return 0.0
    return float(mass @ squares)

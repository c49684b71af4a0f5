"""Dunn's index and its generalisation: how far clusters lie apart, in their own diameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeVar

import numpy as np

from somscale._types import Float
from somscale.metrics.checks import check_choice
from somscale.metrics.clusters.pairs import LINKED, field_of, mean_distances, others
from somscale.metrics.clusters.separation import centroid_rows, check_centroid_distance
from somscale.metrics.public import clusters_index
from somscale.metrics.values import Noted, Value, undefined
from somscale.reductions.moments import MomentStats
from somscale.reductions.pair_stats import ClusterPairs, Extremes

__all__ = ["dunn_index", "generalized_dunn_index"]

_Statistics = TypeVar("_Statistics")
_ONE_CLUSTER = "there is one cluster, and nothing to tell it from"
_POINTS = "every cluster has the diameter 0"
_SAME_POINT = "every cluster has the diameter 0, and two of them the distance 0"
_UNDEFINED = "one cluster, and clusters of diameter 0 two of which are one and the same point"

# which statistic a form is made from
_DELTAS: Final = {
    "single": "extremes",
    "complete": "cluster_pairs",
    "average": "cluster_pairs",
    "centroid": "moments",
    "average_to_centroid": "cluster_pairs",
    "hausdorff": "cluster_pairs",
}
_DIAMETERS: Final = {"complete": "extremes", "average": "cluster_pairs", "centroid": "moments"}
_STATISTICS: Final = ("moments", "cluster_pairs", "extremes")
_TABLES: Final = {**LINKED, "average_to_centroid": "to_centroids", "hausdorff": "hausdorff"}


@clusters_index(
    needs=("extremes",),
    long_name="Dunn index",
    definition="smallest distance of samples of two clusters / largest diameter of a cluster",
    direction="higher",
    cost="pairs",
    source="Dunn 1973, doi:10.1080/01969727308546046",
    undefined=_UNDEFINED,
)
def dunn_index(extremes: Extremes, *, distance: Any = "euclidean", p: float = 2) -> Value:
    """Smallest distance between two clusters over the largest diameter of one.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    min_{k≠l} min_{x∈k, y∈l} d(x, y) / max_k max_{x,y∈k} d(x, y); infinite where every
    cluster is a single point.
    """
    return _ratio(np.array([extremes.separation]), extremes.diameters[extremes.hits > 0])


def _check_forms(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "delta", _DELTAS)
    check_choice(parameters, "diameter", _DIAMETERS)
    chosen = parameters["delta"], parameters["diameter"]
    if "centroid" in chosen or "average_to_centroid" in chosen:
        check_centroid_distance(parameters)


def _forms() -> Iterator[tuple[tuple[tuple[str, str], ...], dict[str, Any]]]:
    """What every pair of forms needs."""
    for delta, apart in _DELTAS.items():
        tables = {_TABLES[delta]} if apart == "cluster_pairs" else set()
        for diameter, wide in _DIAMETERS.items():
            form: tuple[tuple[str, str], ...] = ("delta", delta), ("diameter", diameter)
            if diameter == "centroid":
                # moments hold Euclidean distances to centroids only
                yield form, _needing({apart, "cluster_pairs"}, {*tables, "to_centroids"})
                form = (*form, ("distance", "euclidean"))
            yield form, _needing({apart, wide}, tables)


def _needing(used: set[str], tables: set[str]) -> dict[str, Any]:
    return {
        "needs": tuple(name if name in used else "" for name in _STATISTICS),
        "tables": tuple(sorted(tables)),
        "cost": "linear" if used == {"moments"} else "pairs",
    }


@clusters_index(
    needs=("", "", "extremes"),
    long_name="generalized Dunn index",
    definition="min over k != l of delta(k, l) / max over k of diameter(k)",
    direction="higher",
    cost="pairs",
    source="Bezdek & Pal 1998, doi:10.1109/3477.678624",
    check=_check_forms,
    undefined=_UNDEFINED,
    variants=dict(_forms()),
)
def generalized_dunn_index(
    moments: MomentStats | None,
    pairs: ClusterPairs | None,
    extremes: Extremes | None,
    *,
    delta: Literal[
        "single", "complete", "average", "centroid", "average_to_centroid", "hausdorff"
    ] = "single",
    diameter: Literal["complete", "average", "centroid"] = "complete",
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Smallest of the distances between clusters over the largest of their diameters.

    Parameters
    ----------
    delta : {"single", "complete", "average", "centroid", "average_to_centroid", "hausdorff"}
        Distance of two clusters k and l, the article's δ_1 to δ_6: the smallest, the
        largest or the mean d(x, y) over x ∈ k and y ∈ l; the distance of their centroids;
        the mean distance of their samples to the centroid of the other,
        (Σ_{x∈k} d(x, μ_l) + Σ_{y∈l} d(y, μ_k)) / (n_k + n_l); the largest distance of a
        sample of one to the nearest sample of the other.
    diameter : {"complete", "average", "centroid"}
        Diameter of a cluster, the article's Δ_1 to Δ_3: the largest or the mean distance
        of two samples; twice the mean distance of samples to the centroid.
    distance : str or callable
        Distance of samples, by scipy's name; forms with centroids take "euclidean",
        "sqeuclidean", "cityblock", "minkowski" and "chebyshev".
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    min_{k≠l} δ(k, l) / max_k Δ(k) over the clusters that have samples; infinite where
    every cluster is a single point.  All diameters of one sample are 0.  "single" over
    "complete" is ``dunn_index``; "centroid" over "centroid" takes time linear in the
    samples.
    """
    wide = _diameters(diameter, moments, pairs, extremes, distance)
    if len(wide) < 2:
        return undefined(_ONE_CLUSTER)
    return _ratio(_separations(delta, moments, pairs, extremes, distance, p), wide)


def _ratio(apart: Float, wide: Float) -> Value:
    """Smallest distance between clusters over the largest diameter of one that has samples."""
    if len(wide) < 2:
        return undefined(_ONE_CLUSTER)
    separation, largest = float(apart.min()), float(wide.max())
    if largest == 0:
        return undefined(_SAME_POINT) if separation == 0 else Noted(float("inf"), _POINTS)
    return separation / largest


def _diameters(
    form: str,
    moments: MomentStats | None,
    pairs: ClusterPairs | None,
    extremes: Extremes | None,
    distance: Any,
) -> Float:
    """Diameters of the clusters that have samples."""
    if form == "complete":
        found = _present(extremes)
        return found.diameters[found.hits > 0]
    if form == "average":
        some = _present(pairs)
        return mean_distances(some)[some.hits > 0]
    if distance == "euclidean":
        own = _present(moments)
        return 2 * own.per_mass(own.distances)[own.alive]
    some = _present(pairs)
    alive = some.hits > 0
    return 2 * field_of(some, "to_centroids").diagonal()[alive] / some.hits[alive]


def _separations(
    form: str,
    moments: MomentStats | None,
    pairs: ClusterPairs | None,
    extremes: Extremes | None,
    distance: Any,
    p: float,
) -> Float:
    """Distances between clusters, or the smallest of those from each cluster to the others."""
    if form == "single":
        return np.array([_present(extremes).separation])
    if form == "centroid":
        return _nearest_centroids(_present(moments), distance, p)
    found = _present(pairs)
    table, hits = field_of(found, _TABLES[form]), found.hits.astype(np.float64)
    alive = np.flatnonzero(hits)
    nearest = np.empty(len(alive))
    for place, cluster in enumerate(alive.tolist()):
        row = others(table[cluster], cluster, alive)
        back, sizes = (others(v, cluster, alive) for v in (table[:, cluster], hits))
        if form == "average":
            row = row / (hits[cluster] * sizes)
        elif form == "average_to_centroid":
            row = (row + back) / (hits[cluster] + sizes)
        elif form == "hausdorff":
            row = np.maximum(row, back)
        nearest[place] = row.min()
    return nearest


def _nearest_centroids(moments: MomentStats, distance: Any, p: float) -> Float:
    nearest = np.empty(len(moments.alive))
    for rows, apart in centroid_rows(moments, distance, p):
        apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)] = np.inf
        nearest[rows] = apart.min(axis=1)
    return nearest


def _present(statistics: _Statistics | None) -> _Statistics:
    if statistics is None:
        raise ValueError("a statistic that the form needs was not asked for")
    return statistics

"""What each cluster holds in pairs of samples: mean distance, diameter, distance to others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.checks import check_choice
from somscale.metrics.public import clusters_index
from somscale.metrics.spec import Variants
from somscale.metrics.values import Value
from somscale.reductions.pair_stats import ClusterPairs, Extremes

__all__ = [
    "LINKED",
    "cluster_diameter",
    "cluster_distances",
    "cluster_mean_distance",
    "cluster_separation",
    "field_of",
    "mean_distances",
    "others",
]

LINKED: Final = {"single": "smallest", "complete": "largest", "average": "between"}
"""Linkages, and the field of `ClusterPairs` that each is made from."""

_DUNN = "Dunn 1973, doi:10.1080/01969727308546046"
_BEZDEK = "Bezdek & Pal 1998, doi:10.1109/3477.678624"
_NO_SAMPLES = "clusters without samples"
_UNITS: Final[Variants] = {
    ("distance", "sqeuclidean"): {"units": "data^2"},
    ("distance", "cosine"): {"units": "1", "upper": 2},
    ("distance", "correlation"): {"units": "1", "upper": 2},
}


def mean_distances(pairs: ClusterPairs) -> Float:
    """Mean distance within every cluster; 0 of one sample, nan of none, (K,)."""
    hits = pairs.hits.astype(np.float64)
    counts = hits * (hits - 1) / 2
    means = np.where(hits > 0, 0.0, np.nan)
    return np.asarray(np.divide(pairs.within, counts, out=means, where=counts > 0))


@clusters_index(
    needs=("cluster_pairs",),
    long_name="mean distance within each cluster",
    definition="mean distance over the pairs of samples of the cluster",
    direction="lower",
    units="data",
    dims=("cluster",),
    cost="pairs",
    source=_BEZDEK,
    undefined=_NO_SAMPLES,
    variants=_UNITS,
)
def cluster_mean_distance(
    pairs: ClusterPairs, *, distance: Any = "euclidean", p: float = 2
) -> Value:
    """Mean distance of every two samples of each cluster.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    2 / (n(n − 1)) Σ_{i<j} d(x_i, x_j): over pairs of two different samples, each once.
    0 for clusters of one sample, nan for clusters without samples.
    """
    return mean_distances(pairs)


@clusters_index(
    needs=("extremes",),
    long_name="diameter of each cluster",
    definition="largest distance of two samples of the cluster",
    direction="lower",
    units="data",
    dims=("cluster",),
    cost="pairs",
    source=_DUNN,
    undefined=_NO_SAMPLES,
    variants=_UNITS,
)
def cluster_diameter(extremes: Extremes, *, distance: Any = "euclidean", p: float = 2) -> Value:
    """Largest distance of two samples of each cluster.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    0 for clusters of one sample, nan for clusters without samples.
    """
    return extremes.diameters


@clusters_index(
    needs=("cluster_pairs",),
    long_name="separation of each cluster",
    definition="smallest distance of a sample of the cluster to a sample of another one",
    direction="higher",
    units="data",
    dims=("cluster",),
    cost="pairs",
    source=_DUNN,
    undefined="clusters without samples, and one cluster alone",
    variants=_UNITS,
    tables=("smallest",),
)
def cluster_separation(pairs: ClusterPairs, *, distance: Any = "euclidean", p: float = 2) -> Value:
    """Smallest distance from the samples of each cluster to those of all others.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    nan for clusters without samples, and where there is no other cluster.
    """
    smallest = field_of(pairs, "smallest")
    alive = np.flatnonzero(pairs.hits)
    found = np.full(len(pairs.hits), np.nan)
    if len(alive) < 2:
        return found
    for cluster in alive.tolist():
        found[cluster] = others(smallest[cluster], cluster, alive).min()
    return found


def _check_linkage(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "linkage", LINKED)


@clusters_index(
    needs=("cluster_pairs",),
    long_name="distances between clusters",
    definition="smallest, largest or mean distance of samples of two clusters",
    direction="higher",
    units="data",
    dims=("cluster", "other_cluster"),
    cost="pairs",
    source=_BEZDEK,
    check=_check_linkage,
    undefined=_NO_SAMPLES,
    variants={
        **_UNITS,
        **{("linkage", linkage): {"tables": (table,)} for linkage, table in LINKED.items()},
    },
    tables=(LINKED["single"],),
)
def cluster_distances(
    pairs: ClusterPairs,
    *,
    linkage: Literal["single", "complete", "average"] = "single",
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Distances between every two clusters, by the distances of their samples.

    Parameters
    ----------
    linkage : {"single", "complete", "average"}
        The smallest, the largest or the mean distance d(x, y) over the samples x of one
        cluster and y of the other.
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    0 for a cluster and itself; nan for clusters without samples.  Of more than 1,000
    clusters it is given only when it is asked for by name.
    """
    apart = field_of(pairs, LINKED[linkage]).copy()
    if linkage == "average":
        counts = np.maximum(pairs.hits, 1).astype(np.float64)
        for row, count in zip(apart, counts, strict=True):
            row /= count * counts
    np.fill_diagonal(apart, 0.0)
    empty = pairs.hits == 0
    apart[empty] = np.nan
    apart[:, empty] = np.nan
    return apart


def field_of(pairs: ClusterPairs, name: str) -> Float:
    """A table of clusters that was asked for.

    Raises
    ------
    ValueError
        It was not.
    """
    found: Float | None = getattr(pairs, name)
    if found is None:
        raise ValueError(f"the walk over pairs kept no {name!r} of clusters")
    return found


def others(row: Float, cluster: int, alive: Int) -> Float:
    """The values of a row at the other clusters that have samples."""
    return np.asarray(row[alive[alive != cluster]])

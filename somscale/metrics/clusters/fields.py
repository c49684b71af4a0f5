"""What each cluster holds: samples, centroid, scatter, and the distances of centroids."""

from __future__ import annotations

import numpy as np

from somscale.metrics.clusters.separation import centroid_rows, root_mean_squares
from somscale.metrics.public import clusters_index
from somscale.metrics.values import Value
from somscale.reductions.moments import MomentStats

__all__ = [
    "centroid_distances",
    "centroids",
    "cluster_dispersion",
    "cluster_radius",
    "cluster_sizes",
    "cluster_within_scatter",
]

_DUDA = "Duda & Hart 1973, Pattern Classification and Scene Analysis, chapter 6"
_DAVIES = "Davies & Bouldin 1979, doi:10.1109/TPAMI.1979.4766909"
_NO_SAMPLES = "clusters without samples"


@clusters_index(
    long_name="samples of each cluster",
    definition="number of samples in the cluster",
    direction="none",
    units="samples",
    dims=("cluster",),
    dtype="int64",
    source=_DUDA,
)
def cluster_sizes(moments: MomentStats) -> Value:
    """Samples of each cluster: those that took part."""
    return moments.hits


@clusters_index(
    long_name="scatter within each cluster",
    definition="sum over the cluster's samples of the squared distance to its centroid",
    direction="lower",
    units="data^2",
    dims=("cluster",),
    source=_DUDA,
    undefined=_NO_SAMPLES,
)
def cluster_within_scatter(moments: MomentStats) -> Value:
    """Sum of squared distances of each cluster's samples to its centroid.

    Notes
    -----
    Their sum is ``within_scatter``.  nan for clusters without samples.
    """
    return np.where(moments.mass > 0, moments.squares, np.nan)


@clusters_index(
    long_name="radius of each cluster",
    definition="root of the mean squared distance of the cluster's samples to its centroid",
    direction="lower",
    units="data",
    dims=("cluster",),
    source=_DAVIES,
    undefined=_NO_SAMPLES,
)
def cluster_radius(moments: MomentStats) -> Value:
    """Root mean square distance of each cluster's samples to its centroid.

    Notes
    -----
    nan for clusters without samples.
    """
    return root_mean_squares(moments)


@clusters_index(
    long_name="dispersion of each cluster",
    definition="mean distance of the cluster's samples to its centroid",
    direction="lower",
    units="data",
    dims=("cluster",),
    source=_DAVIES,
    undefined=_NO_SAMPLES,
)
def cluster_dispersion(moments: MomentStats) -> Value:
    """Mean distance of each cluster's samples to its centroid.

    Notes
    -----
    nan for clusters without samples.
    """
    return moments.per_mass(moments.distances)


@clusters_index(
    long_name="centroid of each cluster",
    definition="mean of the cluster's samples",
    direction="none",
    lower=-float("inf"),
    units="data",
    dims=("cluster", "feature"),
    source=_DUDA,
    undefined="clusters without samples, and features that take no part",
)
def centroids(moments: MomentStats) -> Value:
    """Mean of each cluster's samples, on the samples' own dims of features.

    Notes
    -----
    With sample weights the weighted mean.  nan for clusters without samples and at
    features that take no part.
    """
    return moments.centroids


@clusters_index(
    long_name="distances between centroids",
    definition="distance of the centroids of two clusters",
    direction="higher",
    units="data",
    dims=("cluster", "other_cluster"),
    source=_DAVIES,
    undefined=_NO_SAMPLES,
)
def centroid_distances(moments: MomentStats) -> Value:
    """Distances between the centroids of every two clusters.

    Notes
    -----
    0 for a cluster and itself, and where centroids differ by no more than rounding; nan
    for clusters without samples.  Of more than 1,000 clusters it is given only when it is
    asked for by name.
    """
    alive = moments.alive
    apart = np.full((moments.n_clusters, moments.n_clusters), np.nan)
    for rows, distances in centroid_rows(moments):
        apart[np.ix_(alive[rows], alive)] = distances
    return apart

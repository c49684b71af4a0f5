"""Indices of clusters from their scatter about their centroids, and the centroids' own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np

from somscale._types import Float
from somscale.errors import InputError
from somscale.metrics.checks import check_choice
from somscale.metrics.clusters.pairs import mean_distances
from somscale.metrics.clusters.separation import (
    CentroidDistance,
    centroid_rows,
    check_centroid_distance,
    root_mean_squares,
    spread_of_centroids,
)
from somscale.metrics.public import clusters_index
from somscale.metrics.values import Noted, Value, undefined
from somscale.reductions.moments import MomentStats
from somscale.reductions.pair_stats import ClusterPairs

__all__ = [
    "between_scatter",
    "calinski_harabasz_score",
    "davies_bouldin_index",
    "davies_bouldin_score",
    "r_squared",
    "within_scatter",
    "xie_beni_index",
]

_DUDA = "Duda & Hart 1973, Pattern Classification and Scene Analysis, chapter 6"
_DAVIES = "Davies & Bouldin 1979, doi:10.1109/TPAMI.1979.4766909"
_ONE_CLUSTER = "there is one cluster, and nothing to tell it from"
_ALL_EQUAL = "all samples are equal, up to rounding"
_SAME_POINT = "two clusters are one and the same point"
_COINCIDE = "the centroids of two clusters coincide"


@clusters_index(
    long_name="scatter within clusters",
    definition="sum over samples of the squared distance to their cluster's centroid",
    direction="lower",
    units="data^2",
    source=_DUDA,
)
def within_scatter(moments: MomentStats) -> Value:
    """Sum of squared distances of the samples to their clusters' centroids.

    Notes
    -----
    W = Σ_i ‖x_i − μ_{c(i)}‖², the inertia of k-means.  With sample weights each square is
    multiplied by its sample's.
    """
    return float(moments.squares.sum())


@clusters_index(
    long_name="scatter between clusters",
    definition="sum over samples of the squared distance of their cluster's centroid to the mean",
    direction="higher",
    units="data^2",
    source=_DUDA,
)
def between_scatter(moments: MomentStats) -> Value:
    """Sum of squared distances of the clusters' centroids to the mean, one a sample.

    Notes
    -----
    B = Σ_k n_k ‖μ_k − μ‖²; W + B is the total scatter of the samples.
    """
    return spread_of_centroids(moments)


@clusters_index(
    long_name="share of the scatter between clusters",
    definition="B / (W + B), scatter between and within clusters",
    direction="higher",
    upper=1,
    source="Sharma 1996, Applied Multivariate Techniques, chapter 7",
    undefined="samples that are equal, up to rounding",
)
def r_squared(moments: MomentStats) -> Value:
    """Share of the samples' total scatter that lies between the clusters.

    Notes
    -----
    R² = B / (W + B); it grows with the number of clusters.
    """
    within, between = float(moments.squares.sum()), spread_of_centroids(moments)
    if within + between == 0:
        return undefined(_ALL_EQUAL)
    return between / (within + between)


@clusters_index(
    long_name="Calinski-Harabasz index",
    definition="(B / (K - 1)) / (W / (N - K)), scatter between and within clusters",
    direction="higher",
    source="Calinski & Harabasz 1974, doi:10.1080/03610927408827101",
    undefined="one cluster, clusters of one sample each, and samples that are equal",
)
def calinski_harabasz_score(moments: MomentStats) -> Value:
    """Ratio of scatter between and within clusters, each per degree of freedom.

    Notes
    -----
    (B / (K − 1)) / (W / (N − K)) over the K clusters that have samples; infinite where
    every cluster is a single point.  With sample weights N is still the number of samples.
    """
    n_clusters, n_samples = len(moments.alive), moments.n_samples
    if n_clusters < 2:
        return undefined(_ONE_CLUSTER)
    if n_samples <= n_clusters:
        return undefined("every cluster is one sample: there is no scatter within")
    within, between = float(moments.squares.sum()), spread_of_centroids(moments)
    if within == 0:
        if between == 0:
            return undefined(_ALL_EQUAL)
        return Noted(float("inf"), "every cluster is a single point")
    return (between / (n_clusters - 1)) / (within / (n_samples - n_clusters))


@clusters_index(
    long_name="Xie-Beni index",
    definition="W / (N min d^2), scatter within clusters and distances of centroids",
    direction="lower",
    source="Xie & Beni 1991, doi:10.1109/34.85677",
    undefined="one cluster, and clusters that are one and the same point",
)
def xie_beni_index(moments: MomentStats) -> Value:
    """Mean squared distance to the centroids over the least one between two of them.

    Notes
    -----
    (W / N) / min_{k≠l} ‖μ_k − μ_l‖², the article's index with memberships of 0 and 1;
    infinite where two centroids coincide.
    """
    if len(moments.alive) < 2:
        return undefined(_ONE_CLUSTER)
    nearest = min(_off_diagonal(rows, apart).min() for rows, apart in centroid_rows(moments))
    error = float(moments.squares.sum()) / moments.total
    if nearest == 0:
        return undefined(_SAME_POINT) if error == 0 else Noted(float("inf"), _COINCIDE)
    return (float(np.sqrt(error)) / float(nearest)) ** 2


def _check_dispersion(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "dispersion", ("pairwise", "centroid", "rms"))
    check_centroid_distance(parameters)
    chosen, distance = parameters["dispersion"], parameters["distance"]
    if chosen != "pairwise" and distance != "euclidean":
        raise InputError(
            f"dispersion={chosen!r} is Euclidean; distance={distance!r} goes with 'pairwise'"
        )


_LINEAR: Final = {"needs": ("moments", ""), "cost": "linear"}


@clusters_index(
    needs=("moments", "cluster_pairs"),
    long_name="Davies-Bouldin index",
    definition="mean over clusters of max_l (s_k + s_l) / d(mu_k, mu_l), s the dispersion",
    direction="lower",
    cost="pairs",
    source=_DAVIES,
    check=_check_dispersion,
    undefined="one cluster, and clusters that are one and the same point",
    variants={("dispersion", "centroid"): _LINEAR, ("dispersion", "rms"): _LINEAR},
)
def davies_bouldin_index(
    moments: MomentStats,
    pairs: ClusterPairs | None,
    *,
    dispersion: Literal["pairwise", "centroid", "rms"] = "pairwise",
    distance: CentroidDistance = "euclidean",
    p: float = 2,
) -> Value:
    """Mean over clusters of the likeness to the cluster most like it.

    Parameters
    ----------
    dispersion : {"pairwise", "centroid", "rms"}
        What s_k of a cluster is: the mean distance of every two of its samples, 0 of one;
        or the mean distance of its samples to its centroid, or the root of the mean
        squared distance (the article's q = 1 and q = 2), in time linear in the samples.
    distance : {"euclidean", "sqeuclidean", "cityblock", "minkowski", "chebyshev"}
        Distance of samples, and of centroids; Euclidean unless `dispersion` is "pairwise".
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    (1/K) Σ_k max_{l≠k} (s_k + s_l) / d(μ_k, μ_l) over the clusters that have samples;
    infinite where two centroids coincide.
    """
    if dispersion == "rms":
        spread = root_mean_squares(moments)
    elif dispersion == "centroid":
        spread = moments.per_mass(moments.distances)
    else:
        if pairs is None:
            raise ValueError("mean distances within clusters were not asked for")
        spread = mean_distances(pairs)
    return _davies_bouldin(moments, spread[moments.alive], distance, p)


@clusters_index(
    long_name="Davies-Bouldin index, mean distances to centroids",
    definition="mean over clusters of max_l (s_k + s_l) / d(mu_k, mu_l), s the mean distance to mu",
    direction="lower",
    source=_DAVIES,
    undefined="one cluster, and clusters that are one and the same point",
)
def davies_bouldin_score(moments: MomentStats) -> Value:
    """Davies-Bouldin index of mean distances to centroids, as scikit-learn has it.

    Notes
    -----
    ``davies_bouldin_index`` with ``dispersion="centroid"``.  Where centroids coincide or
    all samples are equal scikit-learn gives 0 or leaves pairs out; here these are infinite
    and undefined.
    """
    return _davies_bouldin(moments, moments.per_mass(moments.distances)[moments.alive])


def _davies_bouldin(
    moments: MomentStats, spread: Float, distance: CentroidDistance = "euclidean", p: float = 2
) -> Value:
    if len(spread) < 2:
        return undefined(_ONE_CLUSTER)
    worst = np.empty(len(spread))
    for rows, apart in centroid_rows(moments, distance, p):
        apart = _off_diagonal(rows, apart)
        both = spread[rows, None] + spread
        ratios = np.divide(both, apart, out=np.full(apart.shape, np.inf), where=apart > 0)
        ratios[(apart == 0) & (both == 0)] = np.nan
        worst[rows] = ratios.max(axis=1)
    if np.isfinite(spread).all():
        if np.isnan(worst).any():
            return undefined(_SAME_POINT)
        if np.isinf(worst).any():
            return Noted(float("inf"), _COINCIDE)
    return float(worst.mean())


def _off_diagonal(rows: slice, apart: Float) -> Float:
    """Distances of some clusters to all, infinite to themselves."""
    apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)] = np.inf
    return apart

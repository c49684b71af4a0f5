"""Silhouettes of clusterings: of all distances, of distances to centroids, of squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from somscale._types import Float
from somscale.metrics.checks import check_choice
from somscale.metrics.public import clusters_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.pair_stats import Silhouettes

__all__ = [
    "centroid_silhouette",
    "cluster_silhouette",
    "sample_silhouette",
    "silhouette_score",
    "squared_silhouette",
]

_ROUSSEEUW = "Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7"
_HRUSCHKA = (
    "Hruschka, de Castro & Campello 2004, Evolutionary algorithms for clustering "
    "gene-expression data, doi:10.1109/ICDM.2004.10073"
)
_ONE_CLUSTER = "there is one cluster, and nothing to tell it from"
_SINGLES = "every cluster is one sample, whose silhouette is 0 by convention"
_TWICE = "some samples are at distance 0 from all of their cluster and all of another one"
_UNDEFINED = "one cluster, clusters of one sample each, and clusters that are the same point"


def _check_average(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "average", ("micro", "macro"))


@clusters_index(
    needs=("silhouettes_of_clusters",),
    long_name="silhouette",
    definition="mean over samples of (b - a) / max(a, b), mean distances to the own cluster "
    "and to the nearest other one",
    direction="higher",
    lower=-1,
    upper=1,
    cost="pairs",
    source=_ROUSSEEUW,
    check=_check_average,
    undefined=_UNDEFINED,
)
def silhouette_score(
    silhouettes: Silhouettes,
    *,
    average: Literal["micro", "macro"] = "micro",
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean of how much nearer samples are to their own cluster than to the nearest other.

    Parameters
    ----------
    average : {"micro", "macro"}
        Mean over all samples, or over the clusters' own means.
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    s_i = (b − a) / max(a, b), a the mean distance to the other samples of the own
    cluster, b the least of the mean distances to all samples of another cluster; 0 for a
    sample that is a cluster alone.  Where a = b = 0 scikit-learn takes 0 for s_i; here it
    is undefined, and so is the mean.
    """
    return _mean(silhouettes, average)


@clusters_index(
    needs=("centroid_silhouettes",),
    long_name="silhouette with centroids",
    definition="mean over samples of (b - a) / max(a, b), distances to the own centroid and to "
    "the nearest other one",
    direction="higher",
    lower=-1,
    upper=1,
    source=_HRUSCHKA,
    check=_check_average,
    undefined=_UNDEFINED,
)
def centroid_silhouette(
    silhouettes: Silhouettes, *, average: Literal["micro", "macro"] = "micro"
) -> Value:
    """Simplified silhouette: centroids in the place of the samples of a cluster.

    Parameters
    ----------
    average : {"micro", "macro"}
        Mean over all samples, or over the clusters' own means.

    Notes
    -----
    s_i = (b − a) / max(a, b), a the Euclidean distance to the centroid of the own cluster,
    b that to the nearest other centroid; below 0 where another centroid is nearer, and 0
    for a sample that is a cluster alone.  It is another number than ``silhouette_score``,
    in time linear in the samples.
    """
    return _mean(silhouettes, average)


@clusters_index(
    needs=("squared_silhouettes",),
    long_name="silhouette of squared distances",
    definition="mean over samples of (b - a) / max(a, b), mean squared distances to the own "
    "cluster and to the nearest other one",
    direction="higher",
    lower=-1,
    upper=1,
    source=_ROUSSEEUW,
    check=_check_average,
    undefined=_UNDEFINED,
)
def squared_silhouette(
    silhouettes: Silhouettes, *, average: Literal["micro", "macro"] = "micro"
) -> Value:
    """Silhouette of squared Euclidean distances, in time linear in the samples.

    Parameters
    ----------
    average : {"micro", "macro"}
        Mean over all samples, or over the clusters' own means.

    Notes
    -----
    s_i = (b − a) / max(a, b) of mean squared distances; 0 for a sample that is a cluster
    alone.  The sum over a cluster is n_k ‖x_i − μ_k‖² plus its scatter, so that no pair of
    samples is looked at.  It is another number than ``silhouette_score``.
    """
    return _mean(silhouettes, average)


@clusters_index(
    needs=("silhouettes_of_clusters",),
    long_name="silhouette of each cluster",
    definition="mean over the cluster's samples of (b - a) / max(a, b)",
    direction="higher",
    lower=-1,
    upper=1,
    dims=("cluster",),
    cost="pairs",
    source=_ROUSSEEUW,
    undefined="clusters without samples, one cluster alone, and clusters that are the same point",
)
def cluster_silhouette(
    silhouettes: Silhouettes, *, distance: Any = "euclidean", p: float = 2
) -> Value:
    """Mean silhouette of each cluster's samples.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    Their mean is the silhouette with ``average="macro"``.  0 for clusters of one sample;
    nan for clusters without samples.
    """
    return _cluster_means(silhouettes)


@clusters_index(
    needs=("silhouettes_of_clusters",),
    long_name="silhouette of each sample",
    definition="(b - a) / max(a, b), mean distances to the own cluster and to the nearest other",
    direction="higher",
    lower=-1,
    upper=1,
    dims=("sample",),
    cost="pairs",
    source=_ROUSSEEUW,
    undefined="samples that take no part, one cluster alone, and clusters that are the same point",
)
def sample_silhouette(
    silhouettes: Silhouettes, *, distance: Any = "euclidean", p: float = 2
) -> Value:
    """Silhouette of each sample: how much nearer its own cluster is than the nearest other.

    Parameters
    ----------
    distance : str or callable
        Distance of samples, by scipy's name.
    p : float
        The power of ``distance="minkowski"``.

    Notes
    -----
    0 for a sample that is a cluster alone; nan where it takes no part, where there is one
    cluster, and where a = b = 0.
    """
    if silhouettes.values is None:
        raise ValueError("the pass kept no silhouettes of samples")
    if _too_few(silhouettes):
        return np.full(len(silhouettes.values), np.nan)
    return silhouettes.values


def _too_few(silhouettes: Silhouettes) -> bool:
    return bool(np.count_nonzero(silhouettes.hits) < 2)


def _cluster_means(silhouettes: Silhouettes) -> Float:
    """Mean over the samples of each cluster; nan of none, and where one is undefined."""
    means = np.full(len(silhouettes.hits), np.nan)
    if _too_few(silhouettes):
        return means
    some = silhouettes.hits > 0
    return np.asarray(np.divide(silhouettes.sums, silhouettes.hits, out=means, where=some))


def _mean(silhouettes: Silhouettes, average: str) -> Value:
    hits = silhouettes.hits
    if _too_few(silhouettes):
        return undefined(_ONE_CLUSTER)
    if hits.max() == 1:
        return undefined(_SINGLES)
    if np.isnan(silhouettes.sums[hits > 0]).any():
        return undefined(_TWICE)
    if average == "macro":
        return float(_cluster_means(silhouettes)[hits > 0].mean())
    return float(silhouettes.sums[hits > 0].sum() / hits.sum())

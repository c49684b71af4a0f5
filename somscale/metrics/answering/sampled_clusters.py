"""Means over the samples of each cluster, and what is made of them, from a few anchors.

As in :mod:`somscale.metrics.asking.sampling`.  How many anchors a cluster has is chance; given
that, they are a random choice of its samples.  So clusters are strata (post-stratified:
Cochran 1977, Sampling Techniques, chapter 5A), whose sizes are known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.asking.sampling import (
    CONFIDENCE,
    Estimate,
    estimate_of,
    no_estimate,
    students_t,
)
from somscale.metrics.values import Value, note_of, number_of

__all__ = ["estimate_cluster_means", "estimate_from_clusters"]


def estimate_cluster_means(
    values: Float, codes: Int, hits: Int, *, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate the mean over the samples of each cluster.

    Parameters
    ----------
    values : (m,) float64
        The anchors' own.
    codes : (m,) integer
        Their clusters.
    hits : (K,) integer
        Samples of every cluster.
    confidence : float
        Of the intervals.

    Returns
    -------
    Estimate of (K,) arrays
        nan for clusters without samples or without anchors; 0 for those of one sample.

    Notes
    -----
    Given how many anchors a cluster has, they are a random choice of its samples.
    """
    strata = _Strata.of(values, codes, hits)
    means = strata.means
    variance = np.where(strata.drawn < hits, np.nan, 0.0)
    several = (strata.drawn > 1) & (strata.drawn < hits)
    np.divide(
        strata.left * strata.squares,
        strata.drawn * np.maximum(strata.drawn - 1.0, 1.0),
        out=variance,
        where=several,
    )
    variance[hits == 1] = 0.0
    variance[np.isnan(means)] = np.nan
    errors = np.sqrt(variance)
    reach = students_t(np.maximum(strata.drawn - 1.0, 1.0), confidence) * errors
    return Estimate(means, errors, means - reach, means + reach, len(values), strata.note)


def estimate_from_clusters(
    formula: Callable[[Float], Value],
    values: Float,
    codes: Int,
    hits: Int,
    *,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimate what a formula makes of the means over the samples of each cluster.

    Parameters
    ----------
    formula : callable
        From the means, (K,), nan for clusters without samples, to a value; smooth, or of
        which one cluster is plainly the largest.
    values, codes, hits, confidence
        As for :func:`estimate_cluster_means`.

    Notes
    -----
    The error is the jackknife's, cluster by cluster: anchors of a cluster of which all
    samples are anchors add nothing to it.  The interval has the degrees of freedom of
    Satterthwaite 1946.
    """
    m, strata = len(values), _Strata.of(values, codes, hits)
    if strata.note:
        return no_estimate(strata.note, m)
    full = formula(strata.means)
    if np.isnan(value := float(number_of(full))):
        return no_estimate(note_of(full), m)
    open_ = np.flatnonzero((strata.left > 0) & (hits > 1))
    if (strata.drawn[open_] < 2).any():
        return Estimate(value, math.nan, math.nan, math.nan, m, _one_anchor(strata, open_))
    parts = np.array([_part_of(formula, strata, values, codes, k) for k in open_.tolist()])
    total = float(parts.sum())
    squares = float((parts**2 / (strata.drawn[open_] - 1)).sum())
    freedom = total**2 / squares if squares > 0 else 1.0
    return estimate_of(value, total, m, confidence=confidence, freedom=freedom)


@dataclass(frozen=True)
class _Strata:
    """Clusters as strata of the anchors.

    Attributes
    ----------
    drawn : (K,) int64
        Anchors of every cluster.
    left : (K,) float64
        Share of its samples that are no anchors.
    means, squares : (K,) float64
        Mean of its anchors' values, and their summed squares about it.
    note : str
        Which cluster has samples but no anchors.
    """

    drawn: Int
    left: Float
    means: Float
    squares: Float
    note: str

    @classmethod
    def of(cls, values: Float, codes: Int, hits: Int) -> _Strata:
        drawn = np.bincount(codes, minlength=len(hits))
        sums = np.bincount(codes, weights=values, minlength=len(hits))
        means = np.full(len(hits), np.nan)
        np.divide(sums, drawn, out=means, where=drawn > 0)
        means[hits == 1] = 0.0
        away = (values - means[codes]) ** 2
        squares: Float = np.bincount(codes, weights=away, minlength=len(hits)).astype(np.float64)
        left: Float = 1.0 - drawn / np.maximum(hits, 1)
        lacking = np.flatnonzero((drawn == 0) & (hits > 1))
        note = ""
        if len(lacking):
            note = (
                f"{len(lacking)} of the clusters have no anchor, the first of them number "
                f"{lacking[0]}; draw more"
            )
        elif np.isnan(values).any():
            note = "the value of an anchor is undefined, and so is the mean"
        return cls(drawn, left, means, squares, note)


def _part_of(
    formula: Callable[[Float], Value], strata: _Strata, values: Float, codes: Int, cluster: int
) -> float:
    """What the anchors of one cluster add to the variance."""
    own = values[codes == cluster]
    count = len(own)
    means = strata.means.copy()
    found = np.empty(count)
    for place, mean in enumerate(((own.sum() - own) / (count - 1)).tolist()):
        means[cluster] = mean
        found[place] = number_of(formula(means))
    spread = (count - 1) / count * float(((found - found.mean()) ** 2).sum())
    return float(strata.left[cluster]) * spread


def _one_anchor(strata: _Strata, clusters: Int) -> str:
    lone = clusters[strata.drawn[clusters] < 2]
    return (
        f"{len(lone)} of the clusters have one anchor, the first of them number {lone[0]}, which "
        "tells no error; draw more"
    )

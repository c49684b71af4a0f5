"""Single numbers from the curves for all K: K_max, local and global quality, areas."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.metrics.ranks.along import RENARD, curves_in, rank_index
from somscale.metrics.ranks.curves import lcmc_of, q_nx_of, r_nx_of
from somscale.metrics.values import Value, undefined
from somscale.reductions.rank_stats import RankCurves, RankStats

__all__ = ["auc_r_nx", "k_max", "k_max_of", "mean_r_nx", "q_global", "q_local"]

_NO_NEIGHBORS: Final = "one sample has no neighbours"
_ONE_NEIGHBOR: Final = "fewer than three samples have no K from 1 to N - 2"
_SCALES: Final = (
    "Lee & Verleysen 2010, Scale-independent quality criteria for dimensionality reduction, "
    "Pattern Recognition Letters 31"
)
_AREA: Final = (
    "Lee, Peluffo-Ordóñez & Verleysen 2015, Multi-scale similarities in stochastic neighbour "
    "embedding: Reducing dimensionality while preserving both local and global structure, "
    "Neurocomputing 169"
)
_ROUNDING: Final = 1e-12


def _all_k(curves: RankCurves, below: int = 1) -> Int:
    most = curves.n_samples - below
    if curves.k_max < most:
        raise ValueError(f"curves for all K up to {most} are needed, not up to {curves.k_max}")
    return np.arange(1, most + 1)


def k_max_of(curves: RankCurves) -> Int:
    """The first K with the largest LCMC, () or (G,)."""
    values = lcmc_of(curves, _all_k(curves))
    near = values >= values.max(axis=-1, keepdims=True) - _ROUNDING
    first = np.asarray(np.argmax(near, axis=-1) + 1)
    if np.issubdtype(curves.overlap.dtype, np.integer):
        # counts decide exactly what rounding leaves open
        overlap = curves.overlap[..., : values.shape[-1]]
        rows = np.broadcast_to(curves.n_rows, (*values.shape[:-1], 1))
        for own in np.ndindex(first.shape):
            if np.count_nonzero(near[own]) > 1:
                first[own] = _exactly_first(overlap[own], int(rows[own][0]), near[own])
    return first


def _exactly_first(overlap: Int, rows: int, near: Bool) -> int:
    def lcmc(k: int) -> Fraction:
        return Fraction(int(overlap[k - 1]), k * rows) - Fraction(k, len(overlap))

    return int(max((np.flatnonzero(near) + 1).tolist(), key=lambda k: (lcmc(k), -k)))


def _mean_quality(curves: RankCurves, *, up_to: bool) -> Float:
    """Mean Q_NX up to K_max, or from it on."""
    k, last = _all_k(curves), k_max_of(curves)[..., None]
    taken = k <= last if up_to else k >= last
    return np.asarray(np.where(taken, q_nx_of(curves, k), 0).sum(axis=-1) / taken.sum(axis=-1))


@rank_index(
    tables=("curves", "full"),
    long_name="K at which the local continuity meta-criterion is largest",
    definition="first K = 1..N - 1 with the largest Q_NX(K) - K / (N - 1)",
    direction="none",
    lower=1.0,
    source=_SCALES,
    undefined=_NO_NEIGHBORS,
)
def k_max(
    stats: RankStats,
    *,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Size of the neighbourhoods that a projection keeps best, K_max.

    The first K = 1..N − 1 at which LCMC(K) = Q_NX(K) − K/(N − 1) is largest: what is local
    to the projection, and what is global.
    """
    curves = curves_in(stats)
    if curves.n_samples < 2:
        return undefined(_NO_NEIGHBORS)
    return k_max_of(curves).astype(np.float64)


@rank_index(
    tables=("curves", "full"),
    long_name="local quality of neighbourhoods",
    definition="mean of Q_NX(K) over K = 1..K_max",
    direction="higher",
    upper=1.0,
    source=_SCALES,
    undefined=_NO_NEIGHBORS,
)
def q_local(
    stats: RankStats,
    *,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean Q_NX over the small neighbourhoods, K = 1..K_max.

    Notes
    -----
    K_max, see `k_max`, counts here and in `q_global`; other programs leave it out of one.
    """
    curves = curves_in(stats)
    if curves.n_samples < 2:
        return undefined(_NO_NEIGHBORS)
    return _mean_quality(curves, up_to=True)


@rank_index(
    tables=("curves", "full"),
    long_name="global quality of neighbourhoods",
    definition="mean of Q_NX(K) over K = K_max..N - 1",
    direction="higher",
    upper=1.0,
    source=_SCALES,
    undefined=_NO_NEIGHBORS,
)
def q_global(
    stats: RankStats,
    *,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean Q_NX over the large neighbourhoods, K = K_max..N − 1.

    Notes
    -----
    K_max, see `k_max`, counts here and in `q_local`; other programs leave it out of one.
    """
    curves = curves_in(stats)
    if curves.n_samples < 2:
        return undefined(_NO_NEIGHBORS)
    return _mean_quality(curves, up_to=False)


@rank_index(
    tables=("curves", "full"),
    long_name="area under R_NX over ln K",
    definition="sum of R_NX(K) / K over the sum of 1 / K, K = 1..N - 2",
    direction="higher",
    lower=-1.0,
    upper=1.0,
    source=_AREA,
    undefined=_ONE_NEIGHBOR,
)
def auc_r_nx(
    stats: RankStats,
    *,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Area under R_NX over the logarithm of K: every scale counts alike.

    Σ R_NX(K)/K ÷ Σ 1/K, K = 1..N − 2.  0 for random neighbours, 1 for the same ones.
    """
    curves = curves_in(stats)
    if curves.n_samples < 3:
        return undefined(_ONE_NEIGHBOR)
    k = _all_k(curves, below=2)
    return np.asarray((r_nx_of(curves, k) / k).sum(axis=-1) / (1 / k).sum())


@rank_index(
    tables=("curves", "full"),
    long_name="mean of R_NX over K",
    definition="mean of R_NX(K), K = 1..N - 2",
    direction="higher",
    lower=-1.0,
    upper=1.0,
    source=RENARD,
    undefined=_ONE_NEIGHBOR,
)
def mean_r_nx(
    stats: RankStats,
    *,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Plain mean of R_NX over K = 1..N − 2: large neighbourhoods count most.

    Notes
    -----
    Some programs call this the area under the curve; `auc_r_nx` weighs every scale alike.
    """
    curves = curves_in(stats)
    if curves.n_samples < 3:
        return undefined(_ONE_NEIGHBOR)
    return np.asarray(r_nx_of(curves, _all_k(curves, below=2)).mean(axis=-1))

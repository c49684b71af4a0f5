"""Values for every K, and what all indices of ranks have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.public import MatrixFunction, projection_index
from somscale.metrics.values import Noted, Value
from somscale.reductions.rank_stats import RankCurves, RankStats

__all__ = [
    "BEYOND",
    "LEE",
    "LUEKS",
    "RENARD",
    "along_k",
    "curves_in",
    "ks_of",
    "rank_index",
    "snapped",
    "spread",
]

LEE: Final = (
    "Lee & Verleysen 2009, Quality assessment of dimensionality reduction: Rank-based criteria, "
    "Neurocomputing 72"
)
RENARD: Final = (
    "Lee, Renard, Bernard, Dupont & Verleysen 2013, Type 1 and 2 mixtures of Kullback-Leibler "
    "divergences as cost functions in dimensionality reduction based on similarity preservation, "
    "Neurocomputing 112"
)
LUEKS: Final = "Lueks, Mokbel, Biehl & Hammer 2011, arXiv:1110.3917"
_ROUNDING: Final = 1e-12
BEYOND: Final = "K beyond the number of neighbours that dropped samples leave"


def rank_index(**facts: Any) -> Callable[[Callable[..., Value]], MatrixFunction]:
    """Declare an index of ranks; see :func:`somscale.metrics.public.projection_index`."""
    declare = projection_index(needs=("ranks",), family="ranks", cost="ranks", **facts)
    return lambda formula: cast(MatrixFunction, declare(formula))


def curves_in(stats: RankStats) -> RankCurves:
    """The sums over all ranked rows."""
    if stats.curves is None:
        raise ValueError("the walk was not asked for curves")
    return stats.curves


def ks_of(values: Any) -> Int:
    """K as a request has them, as whole numbers."""
    return np.atleast_1d(np.asarray(values)).astype(np.int64)


def along_k(
    of: Callable[[RankCurves, Int], AnyArray], stats: RankStats, k: Any, *, below: int = 1
) -> Value:
    """The values of a function of curves at each K, (..., k).

    Parameters
    ----------
    of : callable
        From sums and K, (n,), to values (..., n); rows of groups come first.
    stats : RankStats
        What a walk told.
    k : (n,) array or None
        K; None for all that are known.
    below : int
        How far below N the largest K is; the value is nan beyond.
    """
    curves = curves_in(stats)
    most = max(curves.n_samples - below, 0)
    ks = np.arange(1, min(most, curves.k_max) + 1) if k is None else ks_of(k)
    taken = (ks >= 1) & (ks <= most)
    found = of(curves, ks[taken])
    if taken.all():
        return found
    return Noted(
        spread(found, taken), f"K is from 1 to N - {below} = {most} for N = {curves.n_samples}"
    )


def snapped(values: AnyArray, low: float, high: float) -> Float:
    """Values that left their range by rounding alone, put back on its ends.

    Expected counts are sums of fractions, right to 1e-12.
    """
    ends = np.clip(values, low, high)
    return np.where(np.abs(values - ends) <= _ROUNDING, ends, values)


def spread(found: AnyArray, taken: AnyArray) -> AnyArray:
    """Values in the places that are taken, along the last axis; nan in the others."""
    values = np.full((*found.shape[:-1], len(taken)), np.nan)
    values[..., taken] = found
    return values

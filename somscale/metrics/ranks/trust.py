"""Trustworthiness, and continuity or neighbourhood preservation, for every K.

Both penalise by how far beyond K a neighbour of one space has its rank in the other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.ranks.along import BEYOND, along_k, rank_index, snapped
from somscale.metrics.spec import Variants
from somscale.metrics.values import Value
from somscale.reductions.rank_stats import RankCurves, RankStats

__all__ = [
    "continuity",
    "continuity_of",
    "neighborhood_preservation",
    "trustworthiness",
    "trustworthiness_of",
    "without_excess",
]

_VENNA: Final = (
    "Venna & Kaski 2001, Neighborhood preservation in nonlinear projection methods: An "
    "experimental study, ICANN"
)
_SURVEY: Final = "Forest et al. 2020, arXiv:2011.05847"
_WEIGHTED: Final[Variants] = {("ties", "weighted"): {"lower": float("nan")}}


def without_excess(excess: AnyArray, rows: Any, n_samples: int, k: Int) -> Float:
    """1 less the excess over K, relative to the largest one.

    Parameters
    ----------
    excess : (..., n) array
        Σ (rank − K) over `rows` rows.
    rows : int or array
        Rows i that were summed.
    n_samples : int
        Samples N.
    k : (n,) int64
        K, from 1 to N − 1.

    Notes
    -----
    A row's excess is largest where its K nearest, or all N − 1 − K beyond K if those are
    fewer, are the farthest in the other space: G_k/(2N), with one branch for K < N/2 and
    one for larger K.  At K = N − 1 no sample is beyond, and the value is 1.
    """
    few = k * (2 * n_samples - 3 * k - 1) // 2
    many = (n_samples - k) * (n_samples - k - 1) // 2
    largest = np.where(2 * k < n_samples, few, many)
    # where there is no largest there is no excess
    return snapped(1 - excess / (rows * np.maximum(largest, 1)), 0.0, 1.0)


def trustworthiness_of(curves: RankCurves, k: Int) -> Float:
    """Trustworthiness."""
    return without_excess(curves.excess_in[..., k - 1], curves.n_rows, curves.n_samples, k)


def continuity_of(curves: RankCurves, k: Int) -> Float:
    """Continuity."""
    return without_excess(curves.excess_out[..., k - 1], curves.n_rows, curves.n_samples, k)


@rank_index(
    tables=("curves",),
    long_name="trustworthiness",
    definition="1 - (2 / G_k) sum over r <= k < rho of (rho - k)",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source=f"{_VENNA}; {_SURVEY} (weighted ties)",
    undefined=BEYOND,
    variants=_WEIGHTED,
)
def trustworthiness(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether neighbours in the projection are neighbours among the samples.

    T(k) = 1 − (2/G_k) Σ_i Σ_{j : r_ij ≤ k < ρ_ij} (ρ_ij − k), k = 1..N − 1, with
    G_k = Nk(2N − 3k − 1) for k < N/2 and N(N − k)(N − k − 1) beyond: the value is 0 where
    neighbours in the projection are the samples' farthest ones.  1 at k = N − 1.

    Notes
    -----
    As scikit-learn's, which knows k < N/2.  ``ties="weighted"`` is the survey's rule: all
    that tie with the k-th neighbour are neighbours, ranks are the least of a tie, and a
    row's penalty is weighted by its number of neighbours among the samples over that in
    the projection.  It may leave [0, 1]; ``"expected"``, the mean over all tie orders,
    does not.
    """
    return along_k(trustworthiness_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="continuity",
    definition="1 - (2 / G_k) sum over rho <= k < r of (r - k)",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source=f"{_VENNA}; {_SURVEY} (weighted ties)",
    undefined=BEYOND,
    variants=_WEIGHTED,
)
def continuity(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether neighbours among the samples are neighbours in the projection.

    C(k) = 1 − (2/G_k) Σ_i Σ_{j : ρ_ij ≤ k < r_ij} (r_ij − k), k = 1..N − 1, with G_k as in
    `trustworthiness`, which it is with both spaces swapped.  1 at k = N − 1.

    Notes
    -----
    The same as `neighborhood_preservation`.  ``ties="weighted"`` as there.
    """
    return along_k(continuity_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="neighborhood preservation",
    definition="1 - (2 / G_k) sum over rho <= k < r of (r - k)",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source=f"{_VENNA}; {_SURVEY}",
    undefined=BEYOND,
    variants=_WEIGHTED,
)
def neighborhood_preservation(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether neighbours among the samples are neighbours on the map.

    1 − (2/G_k) Σ_i Σ_{j : ρ_ij ≤ k < r_ij} (r_ij − k), k = 1..N − 1, with G_k as in
    `trustworthiness`: `continuity` by the name that it has for maps.

    Notes
    -----
    ``ties="weighted"`` is the survey's rule: all that tie with the k-th neighbour are
    neighbours, ranks are the least of a tie, and a row's penalty is weighted by its number
    of neighbours in the projection over that among the samples.  On a map, where all
    samples of a unit tie, it falls below 0; ``"expected"``, the mean over all tie orders,
    stays in [0, 1].
    """
    return along_k(continuity_of, stats, k)

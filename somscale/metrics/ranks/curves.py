"""How many neighbours two spaces share: Q_NX, R_NX, LCMC, and what intrudes and extrudes.

ρ is the rank of sample j around sample i among the samples, r that in the projection.  The
functions named ``…_of`` are formulas of sums over rows, of all or of each of several groups.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.ranks.along import BEYOND, LEE, RENARD, along_k, rank_index, snapped
from somscale.metrics.values import Value
from somscale.reductions.rank_stats import RankCurves, RankStats

__all__ = [
    "b_nx",
    "b_nx_of",
    "lcmc",
    "lcmc_of",
    "neighborhood_hit",
    "neighborhood_jaccard",
    "q_nx",
    "q_nx_of",
    "r_nx",
    "r_nx_of",
    "u_n",
    "u_x",
]

_CHEN: Final = (
    "Chen & Buja 2009, Local multidimensional scaling for nonlinear dimension reduction, graph "
    "drawing, and proximity analysis, JASA 104"
)


def _share(counts: AnyArray, curves: RankCurves, k: Int) -> Float:
    """Of the K neighbours of every row, the share that is counted."""
    return snapped(counts[..., k - 1] / (k * curves.n_rows), 0.0, 1.0)


def q_nx_of(curves: RankCurves, k: Int) -> Float:
    """Q_NX."""
    return _share(curves.overlap, curves, k)


def lcmc_of(curves: RankCurves, k: Int) -> Float:
    """LCMC."""
    return q_nx_of(curves, k) - k / (curves.n_samples - 1)


def r_nx_of(curves: RankCurves, k: Int) -> Float:
    """R_NX."""
    others = curves.n_samples - 1
    return (others * q_nx_of(curves, k) - k) / (others - k)


def u_n_of(curves: RankCurves, k: Int) -> Float:
    """U_N."""
    return _share(curves.intrusions, curves, k)


def u_x_of(curves: RankCurves, k: Int) -> Float:
    """U_X."""
    return _share(curves.extrusions, curves, k)


def b_nx_of(curves: RankCurves, k: Int) -> Float:
    """B_NX, positive where intrusions prevail."""
    return u_n_of(curves, k) - u_x_of(curves, k)


@rank_index(
    tables=("curves",),
    long_name="quality of K-ary neighbourhoods Q_NX",
    definition="share of the K nearest samples that are among the K nearest in the projection",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source=LEE,
    undefined=BEYOND,
)
def q_nx(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of the K nearest neighbours that both spaces have in common.

    Q_NX(K) = 1/(KN) #{i ≠ j : ρ_ij ≤ K, r_ij ≤ K}, K = 1..N − 1.

    Notes
    -----
    Random neighbours have K/(N − 1) in common, which `r_nx` and `lcmc` allow for; the value
    is 1 at K = N − 1 whatever the projection.
    """
    return along_k(q_nx_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="rescaled quality of K-ary neighbourhoods R_NX",
    definition="((N - 1) Q_NX(K) - K) / (N - 1 - K)",
    direction="higher",
    lower=-1.0,
    upper=1.0,
    dims=("k",),
    source=RENARD,
    undefined=BEYOND,
)
def r_nx(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Q_NX on the scale from random neighbours, 0, to the same neighbours, 1.

    R_NX(K) = ((N − 1) Q_NX(K) − K)/(N − 1 − K), K = 1..N − 2.

    Notes
    -----
    Negative where neighbours are fewer than by chance.
    """
    return along_k(r_nx_of, stats, k, below=2)


@rank_index(
    tables=("curves",),
    long_name="local continuity meta-criterion",
    definition="Q_NX(K) - K / (N - 1)",
    direction="higher",
    lower=-0.5,
    upper=1.0,
    dims=("k",),
    source=_CHEN,
    undefined=BEYOND,
)
def lcmc(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Local continuity meta-criterion: Q_NX less what random neighbours have.

    LCMC(K) = Q_NX(K) − K/(N − 1), K = 1..N − 1.

    Notes
    -----
    At most 1 − K/(N − 1); `k_max` is the K at which it is largest.
    """
    return along_k(lcmc_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="mild intrusions U_N",
    definition="share of pairs with r < rho <= K",
    direction="lower",
    upper=1.0,
    dims=("k",),
    source=LEE,
    undefined=BEYOND,
)
def u_n(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of neighbours that come nearer in the projection but were near already.

    U_N(K) = 1/(KN) #{i ≠ j : r_ij < ρ_ij ≤ K}, K = 1..N − 1.
    """
    return along_k(u_n_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="mild extrusions U_X",
    definition="share of pairs with rho < r <= K",
    direction="lower",
    upper=1.0,
    dims=("k",),
    source=LEE,
    undefined=BEYOND,
)
def u_x(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of neighbours that go farther away in the projection but stay near.

    U_X(K) = 1/(KN) #{i ≠ j : ρ_ij < r_ij ≤ K}, K = 1..N − 1.
    """
    return along_k(u_x_of, stats, k)


@rank_index(
    tables=("curves",),
    long_name="behaviour B_NX, intrusions less extrusions (positive: intrusive)",
    definition="U_N(K) - U_X(K)",
    direction="zero",
    lower=-1.0,
    upper=1.0,
    dims=("k",),
    source=LEE,
    undefined=BEYOND,
)
def b_nx(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether a projection intrudes or extrudes: U_N less U_X, intrusion_minus_extrusion.

    B_NX(K) = U_N(K) − U_X(K), K = 1..N − 1; positive where it is intrusive.

    Notes
    -----
    Programs disagree on the sign: where another gives the negative, it takes extrusions
    less intrusions.  Only pairs that are near in both spaces count.
    """
    return along_k(b_nx_of, stats, k)


def _jaccard_of(curves: RankCurves, k: Int) -> Float:
    if curves.jaccard is None:
        raise ValueError("the walk was not asked for the Jaccard index")
    return np.asarray(curves.jaccard[..., k - 1] / curves.n_rows)


@rank_index(
    tables=("curves", "jaccard"),
    long_name="Jaccard index of neighbourhoods",
    definition="mean over samples of shared neighbours over all neighbours in either space",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source="Jaccard 1912, The distribution of the flora in the alpine zone, New Phytologist 11",
    undefined=BEYOND,
)
def neighborhood_jaccard(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Mean Jaccard index of the K nearest in both spaces.

    1/N Σ_i o_i/(2K − o_i), o_i the number of neighbours that are in both sets,
    K = 1..N − 1.

    Notes
    -----
    With ``ties="expected"`` o_i is the expected number.
    """
    return along_k(_jaccard_of, stats, k)


def _hit_of(curves: RankCurves, k: Int) -> Float:
    if curves.agreement is None:
        raise ValueError("the walk was not given labels")
    return _share(curves.agreement, curves, k)


@rank_index(
    tables=("curves", "agreement"),
    long_name="neighbourhood hit",
    definition="share of the K nearest in the projection that have the sample's label",
    direction="higher",
    upper=1.0,
    dims=("k",),
    source="Paulovich, Nonato, Minghim & Levkowitz 2008, Least square projection, IEEE "
    "Transactions on Visualization and Computer Graphics 14",
    undefined=BEYOND,
)
def neighborhood_hit(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of the K nearest in the projection that have the sample's own label.

    1/(KN) #{i ≠ j : r_ij ≤ K, label of i = label of j}, K = 1..N − 1.

    Notes
    -----
    A sample without a label agrees with none.  Only the projection's ranks matter: it tells
    whether classes stay apart there, not whether they were so among the samples.
    """
    return along_k(_hit_of, stats, k)

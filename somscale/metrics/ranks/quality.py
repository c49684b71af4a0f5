"""Quality at two tolerances, Q′(κs, κt), the regions of the co-ranking matrix, and itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.metrics.checks import check_choice
from somscale.metrics.ranks.along import BEYOND, LEE, LUEKS, along_k, ks_of, rank_index, snapped
from somscale.metrics.ranks.pointwise import NORMS
from somscale.metrics.spec import Variants
from somscale.metrics.values import Noted, Value
from somscale.reductions.rank_stats import RankCurves, RankStats, RankSurface

__all__ = [
    "coranking_matrix",
    "rank_quality",
    "rank_regions",
    "regions_of",
]

_COUNTS: Final[Variants] = {("ties", "expected"): {"dtype": "float64"}}
_BEYOND: Final = "κs beyond the number of neighbours that dropped samples leave"


def _quality_of(surface: RankSurface, kappa_s: Int, kappa_t: Int, norm: str) -> Float:
    """Q′ at every κs ≤ N − 1 and κt, (κs, κt)."""
    near = kappa_s - 1
    # no rank moves by more than N − 2
    inside = surface.inside[np.ix_(near, np.minimum(kappa_t, surface.n_samples - 2))]
    pairs = kappa_s * surface.n_rows if norm == "lueks" else surface.region[near]
    return snapped(inside / pairs[:, None], 0.0, 2.0 if norm == "lueks" else 1.0)


def _check(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "norm", NORMS)


@rank_index(
    tables=("surface",),
    long_name="quality of ranks Q'",
    definition="1 / (kappa_s N) #{i != j: min(rho, r) <= kappa_s, |rho - r| <= kappa_t}",
    direction="higher",
    upper=2.0,
    dims=("kappa_s", "kappa_t"),
    source=LUEKS,
    check=_check,
    undefined=_BEYOND,
    variants={
        ("norm", "region"): {
            "upper": 1.0,
            "definition": "of pairs with min(rho, r) <= kappa_s, the share with "
            "|rho - r| <= kappa_t",
        }
    },
)
def rank_quality(
    stats: RankStats,
    *,
    kappa_s: Any = None,
    kappa_t: Any = None,
    norm: str = "lueks",
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """How many neighbours keep their rank to within a tolerance, Q′(κs, κt).

    Q′ = 1/(κs N) #{i ≠ j : min(ρ_ij, r_ij) ≤ κs, |ρ_ij − r_ij| ≤ κt}; κs = 1..N − 1 says
    which neighbours matter, κt ≥ 0 by how many ranks they may move.

    Parameters
    ----------
    norm : {"lueks", "region"}
        "lueks": over κs N, as published.  "region": over the pairs with min(ρ, r) ≤ κs.

    Notes
    -----
    As published it exceeds 1: a pair is near in either space, of which there are up to
    2 κs N.  Higher is better only where κt is small.  Once κt ≥ N − 2 it is 2 − Q_NX(κs), so
    that *worse* projections score higher, which a note says; in the norm "region", a share
    of the near pairs, it is 1 there.
    """
    surface = stats.surface
    if surface is None:
        raise ValueError("the walk was not asked for the surface")
    most = max(surface.n_samples - 1, 0)
    sizes = surface.inside.shape
    near = np.arange(1, sizes[0] + 1) if kappa_s is None else ks_of(kappa_s)
    far = np.arange(sizes[1]) if kappa_t is None else ks_of(kappa_t)
    taken = (near >= 1) & (near <= most)
    if taken.all():
        return _quality_of(surface, near, far, norm)
    values = np.full((len(near), len(far)), np.nan)
    if taken.any():
        values[taken] = _quality_of(surface, near[taken], far, norm)
    return Noted(values, f"kappa_s is from 1 to N - 1 = {most} for N = {most + 1}")


def regions_of(curves: RankCurves, k: Int) -> AnyArray:
    """Pairs of the four regions, (..., 4, k); of all N rows where they are drawn.

    In the order of the coordinate ``region``: mild and hard intrusions, then extrusions.
    """
    at = k - 1
    hard = np.maximum(k * curves.n_rows - curves.overlap[..., at], 0)
    parts = (curves.intrusions[..., at], hard, curves.extrusions[..., at], hard)
    counts = np.stack(parts, axis=-2)
    if np.ndim(curves.n_rows) == 0 and curves.n_rows == curves.n_samples:
        return counts
    rows = np.asarray(curves.n_rows)
    return counts * (curves.n_samples / (rows[..., None] if rows.ndim else rows))


@rank_index(
    tables=("curves",),
    long_name="pairs of the regions of the co-ranking matrix",
    definition="pairs with r < rho <= K, r <= K < rho, rho < r <= K, rho <= K < r",
    direction="none",
    units="pairs",
    dims=("region", "k"),
    dtype="int64",
    source=f"{LEE}; {LUEKS}",
    undefined=BEYOND,
    variants=_COUNTS,
)
def rank_regions(
    stats: RankStats,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Pairs (i, j) by what becomes of a neighbour: intrusions and extrusions.

    ``mild_intrusion`` r < ρ ≤ K, ``hard_intrusion`` r ≤ K < ρ, ``mild_extrusion`` ρ < r ≤ K,
    ``hard_extrusion`` ρ ≤ K < r; K = 1..N − 1.

    Notes
    -----
    There are as many hard intrusions as hard extrusions, K N (1 − Q_NX(K)), since every
    sample has K neighbours in both spaces.  Expected counts are no whole numbers.
    """
    return along_k(regions_of, stats, k)


@rank_index(
    tables=("matrix",),
    long_name="co-ranking matrix",
    definition="q_kl = #{(i, j): rho = k, r = l}",
    direction="none",
    units="pairs",
    dims=("rank_in", "rank_out"),
    dtype="int64",
    source=LEE,
    variants=_COUNTS,
)
def coranking_matrix(
    stats: RankStats,
    *,
    k_max: int | None = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Pairs (i, j) counted by their ranks in both spaces.

    q_kl = #{(i, j) : ρ_ij = k, r_ij = l}, k along ``rank_in`` and l along ``rank_out``.

    Parameters
    ----------
    k_max : int, optional
        The corner up to this rank; all N − 1 ranks if None, or where it is larger.

    Notes
    -----
    Rows and columns of the whole matrix sum to N.  Other programs may have it transposed.
    Expected counts are no whole numbers.
    """
    matrix = stats.matrix
    if matrix is None:
        raise ValueError("the walk was not asked for the co-ranking matrix")
    return matrix if k_max is None else matrix[:k_max, :k_max]

"""What ranks of neighbours in two spaces told, ready for formulas.

ρ is the rank of sample j around sample i among the samples, r that in the projection: 1 for
the nearest other sample, N − 1 for the farthest.  A *tally* counts the pairs (i, j) by their
ranks, so that numbers for every K follow by sums along it; :func:`curves_of` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from somscale._types import AnyArray, Float, Int

__all__ = [
    "RankCurves",
    "RankSamples",
    "RankStats",
    "RankSurface",
    "Tally",
    "curves_of",
    "surface_of",
]


class Tally(IntEnum):
    """Rows of a tally, (9, L); column c belongs to rank c, column 0 is unused, L = k_max + 1.

    Of pairs with min(ρ, r) ≤ k_max; what falls on ranks beyond k_max is left out.
    """

    EQUAL = 0
    """Pairs with ρ = r, at ρ."""
    INTRUSIONS = 1
    """Pairs with ρ > r, at ρ."""
    EXTRUSIONS = 2
    """Pairs with ρ < r, at r."""
    IN_RANKS = 3
    """Of pairs with ρ > r: Σ ρ at r, less Σ ρ at ρ."""
    IN_PAIRS = 4
    """Of the same pairs: 1 at r, less 1 at ρ."""
    OUT_RANKS = 5
    """Of pairs with ρ < r: Σ r at ρ, less Σ r at r."""
    OUT_PAIRS = 6
    """Of the same pairs: 1 at ρ, less 1 at r."""
    MOVED_IN = 7
    """Σ |ρ − r| at r."""
    MOVED_OUT = 8
    """Σ |ρ − r| at ρ."""


@dataclass(frozen=True)
class RankCurves:
    """Sums over the ranked rows i and all j ≠ i, for K = 1..k_max.

    Arrays are (k_max,), or (G, k_max) of G groups of rows, each summed by itself; integers,
    or float64 where ties are spread over the ranks they share.

    Attributes
    ----------
    n_samples : int
        Samples N among which ranks are counted.
    n_rows : int or (G, 1) array
        Rows i that were ranked: N, or fewer where they are drawn.
    overlap : array
        Pairs with ρ ≤ K and r ≤ K.
    equal : array
        Pairs with ρ = r ≤ K.
    intrusions, extrusions : array
        Pairs with r < ρ ≤ K; pairs with ρ < r ≤ K: the mild ones.
    excess_in : array
        Σ (ρ − K) over the pairs with r ≤ K < ρ.
    excess_out : array
        Σ (r − K) over the pairs with ρ ≤ K < r.
    moved_in : array
        Σ |ρ − r|/r over the pairs with r ≤ K, float64.
    moved_out : array
        Σ |ρ − r|/ρ over the pairs with ρ ≤ K, float64.
    jaccard : array or None
        Σ_i o_i/(2K − o_i), o_i the overlap of row i; float64.
    agreement : array or None
        Pairs with r ≤ K of samples that have one label.
    """

    n_samples: int
    n_rows: Any
    overlap: AnyArray
    equal: AnyArray
    intrusions: AnyArray
    extrusions: AnyArray
    excess_in: AnyArray
    excess_out: AnyArray
    moved_in: Float
    moved_out: Float
    jaccard: Float | None = None
    agreement: AnyArray | None = None

    @property
    def k_max(self) -> int:
        """The largest K."""
        return int(self.overlap.shape[-1])


@dataclass(frozen=True)
class RankSurface:
    """Pairs by how near and how far moved, summed over the ranked rows.

    Attributes
    ----------
    n_samples : int
        Samples N.
    n_rows : int
        Rows that were ranked.
    inside : (S, T + 1) array
        Pairs with min(ρ, r) ≤ κs and |ρ − r| ≤ κt, for κs = 1..S and κt = 0..T.
    region : (S,) array
        Pairs with min(ρ, r) ≤ κs.
    inside_squares, products : (S, T + 1) float64 or None
        Where rows are drawn: Σ_i of the square of row i's own `inside`, and of its product
        with the row's `region`.
    region_squares : (S,) float64 or None
        Σ_i of the square of row i's `region`.
    """

    n_samples: int
    n_rows: int
    inside: AnyArray
    region: AnyArray
    inside_squares: Float | None = None
    products: Float | None = None
    region_squares: Float | None = None


@dataclass(frozen=True)
class RankSamples:
    """What every sample's own neighbours told; nan where a sample takes no part.

    Attributes
    ----------
    ks : (n,) int64
        The K that are kept.
    overlap, excess_in, excess_out : (N, n) float64
        The sums of `RankCurves` over j alone.
    pairs : (c, 2) int64
        The (κs, κt) that are kept.
    inside, inside_back : (N, c) float64
        Pairs (i, j), and pairs (j, i), over all j, with min(ρ, r) ≤ κs and |ρ − r| ≤ κt.
    """

    ks: Int
    overlap: Float
    excess_in: Float
    excess_out: Float
    pairs: Int
    inside: Float
    inside_back: Float


@dataclass(frozen=True)
class RankStats:
    """All that one walk told of one projection; None where it was not asked for.

    Attributes
    ----------
    n_samples : int
        Samples N that take part.
    curves : RankCurves or None
        Of all ranked rows.
    groups : RankCurves or None
        Where rows are drawn: of each row, or of groups of rows drawn at random.
    surface : RankSurface or None
        Of all ranked rows.
    samples : RankSamples or None
        Sample by sample.
    matrix : (L, L) array or None
        The co-ranking matrix up to rank L: entry (k − 1, l − 1) counts ρ = k, r = l.
    tied : float
        Share of the output distances that a ranked row has more than once.
    """

    n_samples: int
    curves: RankCurves | None = None
    groups: RankCurves | None = None
    surface: RankSurface | None = None
    samples: RankSamples | None = None
    matrix: AnyArray | None = None
    tied: float = 0.0


def curves_of(
    tally: AnyArray,
    *,
    n_samples: int,
    n_rows: Any,
    jaccard: Float | None = None,
    agreement: AnyArray | None = None,
) -> RankCurves:
    """Turn a tally into sums for every K.

    Parameters
    ----------
    tally : (..., 9, L) array
        See :class:`Tally`.
    n_samples, n_rows, jaccard, agreement
        As in :class:`RankCurves`; `agreement` at rank r, (..., L), not yet summed.
    """
    k = np.arange(1, tally.shape[-1])
    sums = np.cumsum(tally[..., 1:], axis=-1)
    equal, own, away = (sums[..., row, :] for row in (Tally.EQUAL, 1, 2))
    return RankCurves(
        n_samples,
        n_rows,
        overlap=equal + own + away,
        equal=equal,
        intrusions=own,
        extrusions=away,
        excess_in=sums[..., Tally.IN_RANKS, :] - k * sums[..., Tally.IN_PAIRS, :],
        excess_out=sums[..., Tally.OUT_RANKS, :] - k * sums[..., Tally.OUT_PAIRS, :],
        moved_in=np.cumsum(tally[..., Tally.MOVED_IN, 1:] / k, axis=-1),
        moved_out=np.cumsum(tally[..., Tally.MOVED_OUT, 1:] / k, axis=-1),
        jaccard=jaccard,
        agreement=None if agreement is None else np.cumsum(agreement[..., 1:], axis=-1),
    )


def surface_of(counts: AnyArray, *, n_samples: int, n_rows: int, **moments: Any) -> RankSurface:
    """Turn counts of pairs by min(ρ, r) and |ρ − r| into sums for every κs and κt.

    Parameters
    ----------
    counts : (S + 1, T + 2) array
        At [min(ρ, r), |ρ − r|], row 0 unused; the last column counts all |ρ − r| > T.
    n_samples, n_rows, moments
        As in :class:`RankSurface`.
    """
    nearer = np.cumsum(counts[1:], axis=0)
    moved = np.cumsum(nearer, axis=1)
    return RankSurface(n_samples, n_rows, moved[:, :-1], moved[:, -1], **moments)

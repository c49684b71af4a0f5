"""Spearman's correlation of two distances, from all pairs or from counts of pairs in bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int

__all__ = [
    "BinCounts",
    "CellCounts",
    "RankedPairs",
    "binned_correlation",
    "exact_correlation",
    "new_values",
]

Constant: TypeAlias = Literal["", "samples", "projection"]

TIED: Final = 1e-12
"""Distances that differ by less of themselves are equal but for rounding."""


@dataclass(frozen=True)
class RankedPairs:
    """Spearman's ρ of the distances d and e of pairs i < j.

    Attributes
    ----------
    n_pairs : int
        Pairs P.
    correlation : float
        ρ; nan where the distances of either do not vary.
    error : float
        The exact ρ is no farther from `correlation`; 0 where this is exact.
    constant : {"", "samples", "projection"}
        Whose distances do not vary.
    """

    n_pairs: int
    correlation: float
    error: float = 0.0
    constant: Constant = ""


def exact_correlation(d: Float, e: Float) -> RankedPairs:
    """Spearman's ρ with average ranks of ties, from sums of integers.

    Parameters
    ----------
    d, e : (P,) float64
        At most 2²¹ pairs.  Values nearer than 1e-12 of themselves to the next are ties.
    """
    if not len(d):
        return RankedPairs(0, float("nan"))
    x, y = _doubled_ranks(d), _doubled_ranks(e)
    own, other = int((x * x).sum()), int((y * y).sum())
    if not own or not other:
        return RankedPairs(len(d), float("nan"), constant="projection" if own else "samples")
    # one root of both: of equal sums it is exact, and the correlation of equal ranks is 1
    correlation = int((x * y).sum()) / math.sqrt(own * other)
    return RankedPairs(len(d), min(max(correlation, -1.0), 1.0))


def _doubled_ranks(values: Float) -> Int:
    """Twice the average ranks less their mean, which are integers."""
    order = np.argsort(values, kind="stable")
    first = np.flatnonzero(new_values(values[order]))
    ends = np.append(first[1:], len(values))
    ranks = np.empty(len(values), np.int64)
    # ranks first + 1 to ends of those tied, less (P + 1) / 2
    ranks[order] = np.repeat(first + ends - len(values), ends - first)
    return ranks


def new_values(ordered: Float) -> Bool:
    """Where ascending values are more than rounding above the one before."""
    new = np.ones(len(ordered), bool)
    new[1:] = np.diff(ordered) > TIED * ordered[1:]
    return new


@dataclass(frozen=True)
class BinCounts:
    """Distances counted in fine bins, several of which are one coarse bin.

    Attributes
    ----------
    keys : (f,) int64
        Fine bins that occur, ascending.
    counts : (f,) int64
        Pairs in each.
    digits : int
        A coarse bin is ``key >> digits``.
    alike : (f,) bool
        Fine bins in which all distances are equal.
    """

    keys: Int
    counts: Int
    digits: int
    alike: Bool


@dataclass(frozen=True)
class CellCounts:
    """Pairs in every two coarse bins that have any.

    Attributes
    ----------
    rows, columns : (c,) int64
        Coarse bins of d and of e.
    counts, row_places, column_places : (c,) int64
        Pairs, and sums of the places that their fine bins have in the coarse ones.
    """

    rows: Int
    columns: Int
    counts: Int
    row_places: Int
    column_places: Int


@dataclass(frozen=True)
class _Ranks:
    """What is known of ranks r, as parts of P and less their mean, from bins of distances.

    A rank is the mean of its coarse bin, plus the bin's slope times the place of its fine
    bin, plus a rest; means of either over a coarse bin are 0.

    Attributes
    ----------
    bins : (a,)
        Coarse bins, ascending.
    counts, means, slopes, places : (a,)
        Pairs, mean ranks, slopes, and mean places.
    rests : (a,)
        Σ of squared rests, at most.
    inside : float
        Σ of (r − mean of the coarse bin)², at most.
    least, most : float
        Bounds of Σ r².
    """

    bins: Int
    counts: Float
    means: Float
    slopes: Float
    places: Float
    rests: Float
    inside: float
    least: float
    most: float

    @classmethod
    def of(cls, fine: BinCounts) -> _Ranks:
        n = fine.counts.astype(np.float64)
        total = n.sum()
        mids = (np.cumsum(n) - (n - 1) / 2 - (total + 1) / 2) / total
        # ranks of n distances are 1 to n or, where some are equal, less spread
        spread = np.where(fine.alike, 0.0, n * (n * n - 1) / 12 / total / total)
        bins, coarse = np.unique(fine.keys >> fine.digits, return_inverse=True)
        counts = _sums(coarse, n)
        means = _sums(coarse, n * mids) / counts
        at = (fine.keys & ((1 << fine.digits) - 1)).astype(np.float64)
        places = _sums(coarse, n * at) / counts
        aside, above = at - places[coarse], mids - means[coarse]
        squares = _sums(coarse, n * aside * aside)
        products = _sums(coarse, n * aside * above)
        slopes = np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0)
        rests = _sums(coarse, n * (above - slopes[coarse] * aside) ** 2 + spread)
        inside = float((n * above * above + spread).sum())
        least = float((n * mids * mids).sum())
        return cls(
            bins, counts, means, slopes, places, rests, inside, least, least + float(spread.sum())
        )


def _sums(groups: AnyArray, values: Float) -> Float:
    return np.asarray(np.bincount(groups, values), np.float64)


def binned_correlation(d: BinCounts, e: BinCounts, cells: CellCounts) -> RankedPairs:
    """Spearman's ρ from counts of pairs in bins, and how far off the exact one may be.

    Notes
    -----
    With ranks of d as m + s·u + h: mean of the coarse bin, slope times the place u of the
    fine bin less its mean, and rest, and those of e as m' + s'·v + h', the covariance has
    Σ m m', Σ s u m' and Σ m s' v, which the cells tell.  Of the others
    |Σ (s u + h)(s' v + h')| is at most the root of the product of both sums of squares, and
    as Σ h = 0 in each coarse bin |Σ h m'| ≤ Σ over these of √(Σ h² Σ (m' − its mean)²).
    """
    one, other = _Ranks.of(d), _Ranks.of(e)
    n_pairs = int(d.counts.sum())
    if not one.least or not other.least:
        constant: Constant = "projection" if one.least else "samples"
        return RankedPairs(n_pairs, float("nan"), constant=constant)
    a, b = np.searchsorted(one.bins, cells.rows), np.searchsorted(other.bins, cells.columns)
    n = cells.counts.astype(np.float64)
    ours, theirs = one.means[a], other.means[b]
    known = n * ours * theirs
    known += one.slopes[a] * (cells.row_places - one.places[a] * n) * theirs
    known += other.slopes[b] * (cells.column_places - other.places[b] * n) * ours
    covariance = float(known.sum())
    doubt = _unseen(one, a, n, theirs) + _unseen(other, b, n, ours)
    doubt += float(np.sqrt(one.inside * other.inside))
    best = float(np.clip(covariance / np.sqrt(one.most) / np.sqrt(other.most), -1, 1))
    low, high = covariance - doubt, covariance + doubt
    low /= float(np.sqrt((one.least * other.least) if low < 0 else (one.most * other.most)))
    high /= float(np.sqrt((one.least * other.least) if high > 0 else (one.most * other.most)))
    return RankedPairs(n_pairs, best, max(min(high, 1.0) - best, best - max(low, -1.0), 0.0))


def _unseen(ranks: _Ranks, places: AnyArray, n: Float, others: Float) -> float:
    """The most that rests of ranks add up to with the others' mean ranks in the cells."""
    means = _sums(places, n * others) / ranks.counts
    spread = _sums(places, n * (others - means[places]) ** 2)
    return float(np.sqrt(ranks.rests * spread).sum())

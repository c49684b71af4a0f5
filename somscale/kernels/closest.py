"""The closest two points of different clusters, exactly and with few comparisons.

Pairs of clusters come in the order of a lower bound of their distance.  Inside one, points
are projected on the line between the centroids: those whose place on it is farther than
the best so far from all of the other cluster are left out, and blocks in the order of
their places are compared.  Where much is left, or clusters are many, points are put into
balls, and pairs of balls that lie too far apart are ruled out.  In the worst case all
pairs of different clusters are compared, N²/2, and memory stays that of the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.kernels.balls import Balls
from somscale.kernels.extreme_blocks import BLOCK_ROWS, PairSearch

__all__ = ["closest_between"]

_FEW_PAIRS = 20_000_000
"""Pairs that are compared sooner than ruled out."""
_PAIRWISE = 256
"""Up to so many clusters are taken two by two."""
_FIRST_ROWS = 128
"""Points that are compared with all others first of all, for a bound."""
_NEAREST = 64
_MOST_BALLS = 4096
"""Beyond so many balls, how many pairs of them are left is not counted beforehand."""


def closest_between(
    points: Float,
    clusters: Int,
    centroids: Float,
    *,
    at_most: float = math.inf,
    weights: Float | None = None,
) -> tuple[float, int, int]:
    """The smallest squared distance of two points of different clusters.

    Parameters
    ----------
    points : (n, D) float64
        The points; finite.
    clusters : (n,) integer
        Cluster of every point, 0 to K − 1; points of negative ones take no part.
    centroids : (K, D) float64
        A point in the middle of each cluster.
    at_most : float
        A squared distance that is known; pairs that do not fall below it are of no interest.
    weights : (D,) float64, optional
        Factors of squared differences.

    Returns
    -------
    square : float
        The smallest value that ``cdist(…, "sqeuclidean")`` gives of such a pair, to the bit,
        or `at_most` where none falls below it.
    i, j : int
        The pair, −1 where none falls below `at_most`.
    """
    order = np.argsort(clusters, kind="stable")
    order = order[np.searchsorted(clusters[order], 0) :]
    present, groups = np.unique(clusters[order], return_inverse=True)
    if len(present) < 2:
        return at_most, -1, -1
    held = points[order]
    search = PairSearch(
        held,
        largest=False,
        bound=at_most,
        center=held.mean(axis=0),
        weights=weights,
        groups=groups,
    )
    _compare_first(search)
    if len(present) <= _PAIRWISE:
        moved = (centroids[present] - search.center) * search.scale
        middles = moved if weights is None else moved * np.sqrt(weights)
        _Clusters.of(search, middles).compare_all()
    else:
        _by_balls(search, _balls_of_many(search, groups))
    i, j = search.pair
    return (search.square, int(order[i]), int(order[j])) if i >= 0 else (search.square, -1, -1)


def _balls_of_many(search: PairSearch, groups: Int) -> Balls:
    """Balls of many clusters.

    Of few features neighbours alone make the smallest balls, whatever their clusters are.
    Of many no ball is small, and balls of one cluster are not compared with each other.
    """
    if search.few_features:
        return Balls.of(
            search.places, np.arange(len(groups)), np.array([0, len(groups)]), search.leaf_rows
        )
    sizes = np.bincount(groups)
    large = sizes >= search.leaf_rows // 4
    in_large = large[groups]
    rows = np.concatenate([np.flatnonzero(~in_large), np.flatnonzero(in_large)])
    cuts = np.count_nonzero(~in_large) + np.cumsum([0, *sizes[large]])
    return Balls.of(search.places, rows, np.append(0, cuts), search.leaf_rows)


def _compare_first(search: PairSearch) -> None:
    """Compare some points with all others: the best of these bounds what is to be looked at."""
    n = len(search.points)
    some = np.unique(np.linspace(0, n - 1, min(n, _FIRST_ROWS)).astype(np.int64))
    step = BLOCK_ROWS * BLOCK_ROWS // len(some)
    for start in range(0, n, step):
        search.compare(some, np.arange(start, min(start + step, n)))


@dataclass(frozen=True)
class _Clusters:
    """Clusters to be taken two by two; their points lie one cluster after the other.

    Attributes
    ----------
    search : PairSearch
        The search, over all their points.
    cuts : (K + 1,) int64
        Where each cluster begins, and where the last one ends.
    middles : (K, D) float64
        A point in the middle of each.
    away : (n,) float64
        Distance of every point from its cluster's.
    reaches : (K,) float64
        The largest of each.
    """

    search: PairSearch
    cuts: Int
    middles: Float
    away: Float
    reaches: Float

    @classmethod
    def of(cls, search: PairSearch, middles: Float) -> _Clusters:
        """The clusters of a search, whose groups are in order."""
        if search.groups is None:
            raise ValueError("the closest pair is looked for between groups")
        cuts = np.searchsorted(search.groups, np.arange(len(middles) + 1))
        away = np.empty(len(search.places))
        for k in range(len(middles)):
            own = slice(cuts[k], cuts[k + 1])
            apart = search.places[own] - middles[k]
            away[own] = np.sqrt(np.einsum("nd,nd->n", apart, apart))
        return cls(search, cuts, middles, away, np.maximum.reduceat(away, cuts[:-1]))

    def compare_all(self) -> None:
        """Compare all clusters two by two, those first that may be nearest."""
        bounds, left, right = [], [], []
        for k in range(len(self.middles) - 1):
            others = self.middles[k + 1 :] - self.middles[k]
            apart = np.sqrt(np.einsum("kd,kd->k", others, others))
            reaches = self.reaches[k + 1 :] + self.reaches[k]
            bounds.append(apart - reaches - self.search.slack * (apart + reaches))
            left.append(np.full(len(apart), k))
            right.append(np.arange(k + 1, len(self.middles)))
        bound, one, two = np.concatenate(bounds), np.concatenate(left), np.concatenate(right)
        for at in np.argsort(bound, kind="stable"):
            if bound[at] > self.search.reach or self.search.square == 0:
                break
            self._compare(int(one[at]), int(two[at]))

    def _compare(self, left: int, right: int) -> None:
        """Compare two clusters."""
        search = self.search
        one, two, along, across = self._near(left, right)
        # the nearest few of both tell how near others must be
        search.compare(one[:_NEAREST], two[:_NEAREST])
        one, two, along, across = _in_reach(search.reach, one, two, along, across)
        if len(one) * len(two) > _FEW_PAIRS and self._in_balls(one, two, along, across):
            return
        for first in range(0, len(one), BLOCK_ROWS):
            here, start = one[first : first + BLOCK_ROWS], 0
            while start < (stop := _count(across, search.reach - along[first])):
                there = two[start : min(start + BLOCK_ROWS, stop)]
                search.compare(here, there)
                start += len(there)

    def _near(self, left: int, right: int) -> tuple[Int, Int, Float, Float]:
        """Points of two clusters that may be near the other one, the nearest first.

        Their places on the line between the middles are told such that two points are at
        least the sum of their places apart.
        """
        search, reach = self.search, self.search.reach
        line = self.middles[right] - self.middles[left]
        length = float(np.sqrt(line @ line))
        unit = line / length if length else line
        found: list[tuple[Int, Float]] = []
        for k, other, sign in ((left, right, -1.0), (right, left, 1.0)):
            own = slice(int(self.cuts[k]), int(self.cuts[k + 1]))
            places = sign * ((search.places[own] - self.middles[left]) @ unit)
            size = self.away[own] + length
            # from the other cluster's middle, by the law of cosines
            towards = (length if k == right else 0.0) - places
            squares = self.away[own] ** 2 + length * (length - 2 * towards)
            distances = np.sqrt(np.maximum(squares - search.slack * size * size, 0))
            keep = np.flatnonzero(distances - self.reaches[other] * (1 + search.slack) <= reach)
            found.append((keep + own.start, places[keep] - search.slack * size[keep]))
        (one, along), (two, across) = found
        one, two, along, across = _in_reach(reach, one, two, along, across)
        first, second = np.argsort(along, kind="stable"), np.argsort(across, kind="stable")
        return one[first], two[second], along[first], across[second]

    def _in_balls(self, one: Int, two: Int, along: Float, across: Float) -> bool:
        """Compare the points of two clusters by balls, where that leaves fewer pairs."""
        search = self.search
        rows = np.concatenate([one, two])
        cuts = np.array([0, len(one), len(rows)])
        balls = Balls.of(search.places, rows, cuts, search.leaf_rows)
        if len(balls) <= _MOST_BALLS:
            in_order = np.searchsorted(across, search.reach - along, side="right").sum()
            if _pairs_left(search, balls) >= in_order:
                return False
        _by_balls(search, balls)
        return True


def _in_reach(
    reach: float, one: Int, two: Int, along: Float, across: Float
) -> tuple[Int, Int, Float, Float]:
    """Points of two clusters without those whose place is too far from all of the other's."""
    keep = along + across.min(initial=np.inf) <= reach
    one, along = one[keep], along[keep]
    keep = across + along.min(initial=np.inf) <= reach
    return one, two[keep], along, across[keep]


def _count(rising: Float, most: float) -> int:
    """How many of rising values do not exceed a bound."""
    return int(np.searchsorted(rising, most, side="right"))


def _pairs_left(search: PairSearch, balls: Balls) -> int:
    """Pairs of points in balls that are not too far apart."""
    sizes, single = np.diff(balls.starts), _single_groups(search, balls)
    return sum(
        int(sizes[ball]) * int(sizes[ball:][_bounds(balls, single, ball) <= search.reach].sum())
        for ball in range(len(balls))
    )


def _by_balls(search: PairSearch, balls: Balls) -> None:
    """Compare pairs of balls that may hold a closer pair, the likeliest first."""
    single = _single_groups(search, balls)
    for ball in range(len(balls)):
        bounds = _bounds(balls, single, ball)
        likely = np.flatnonzero(bounds <= search.reach)
        here = balls.rows(ball)
        for other in likely[np.argsort(bounds[likely], kind="stable")]:
            if bounds[other] > search.reach:
                break
            search.compare(here, balls.rows(int(ball + other)))
        if search.square == 0:
            return


def _single_groups(search: PairSearch, balls: Balls) -> Int:
    """The group of every ball, −1 where it holds several."""
    if search.groups is None:
        raise ValueError("the closest pair is looked for between groups")
    lowest = balls.each(search.groups, np.minimum)
    mixed: Bool = lowest != balls.each(search.groups, np.maximum)
    return np.where(mixed, -1, lowest)


def _bounds(balls: Balls, single: Int, ball: int) -> Float:
    """Lower bounds of the distance of a ball's points to those of it and the balls that follow."""
    apart = balls.centers[ball:] - balls.centers[ball]
    bounds = np.sqrt(np.einsum("nd,nd->n", apart, apart))
    bounds -= balls.radii[ball:] + balls.radii[ball]
    if single[ball] >= 0:
        bounds[single[ball:] == single[ball]] = np.inf
    return np.asarray(bounds)

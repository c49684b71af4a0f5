"""The farthest pair of points, and that of every cluster, exactly and with few comparisons.

Two points of radii r and r′ about a common centre are at most r + r′ apart, and also at
most √(2r² + 2r′² − ‖z + z′‖²), z their differences from it: a far pair is nearly antipodal.
The first bound leaves next to nothing of data with tails.  Where it leaves much, points
are put into balls, and the second rules out pairs of balls, which leaves little of few
features or of data on a surface.  Where neither helps, in the worst case all pairs are
compared, N²/2, and memory stays that of the points.
"""

from __future__ import annotations

import math

import numpy as np

from somscale._types import Float, Int
from somscale.kernels.balls import Balls
from somscale.kernels.distances import add_squares, pair_squares
from somscale.kernels.extreme_blocks import BLOCK_ROWS, UNDERFLOW, PairSearch, slack_of_radii

__all__ = ["farthest_in_clusters", "farthest_pair", "unique_rows"]

_FIRST = 1024
"""Points of largest radius that are compared first of all."""
_ROUNDS = 8
_FEW_PAIRS = 50_000_000
"""Pairs that are compared sooner than ruled out."""
_SHELLS = 8
_SMALL = 48
"""Clusters up to this size are compared all together."""
_ROWS_AT_ONCE = 1 << 16


def farthest_pair(
    points: Float,
    radii: Float,
    *,
    at_least: float = 0.0,
    center: Float | None = None,
    weights: Float | None = None,
) -> tuple[float, int, int]:
    """The largest squared distance of two points.

    Parameters
    ----------
    points : (n, D) float64
        The points; finite.
    radii : (n,) float64
        Their distances from any one point, up to rounding.
    at_least : float
        A squared distance that is known; pairs that do not exceed it are of no interest.
    center : (D,) float64, optional
        A point in the middle of the points; their mean by default.
    weights : (D,) float64, optional
        Factors of squared differences.

    Returns
    -------
    square : float
        The largest value of ``cdist(points, points, "sqeuclidean")``, to the bit, or
        `at_least` where none exceeds it.
    i, j : int
        The pair, −1 where none exceeds `at_least`.
    """
    best, pair = at_least, (-1, -1)
    if len(points) < 2 or (points == points[0]).all():
        return best, *pair
    room = 1 - slack_of_radii(points.shape[1])
    for chosen in _first_rows(points, radii, weights):
        found = _search(points, chosen, best, center, weights)
        best, pair = (found[0], found[1:]) if found[1] >= 0 else (best, pair)
    # a pair can exceed the best only where its radii add up to more
    chosen = np.flatnonzero(radii + radii.max() + UNDERFLOW >= math.sqrt(best) * room)
    if len(chosen) > 1:
        found = _search(points, chosen, best, center, weights)
        best, pair = (found[0], found[1:]) if found[1] >= 0 else (best, pair)
    return best, *pair


def farthest_in_clusters(
    points: Float,
    clusters: Int,
    centroids: Float,
    radii: Float,
    *,
    at_least: Float | None = None,
    only_largest: bool = False,
    weights: Float | None = None,
) -> Float:
    """Squared diameter of every cluster.

    Parameters
    ----------
    points : (n, D) float64
        The points.
    clusters : (n,) integer
        Cluster of every point, 0 to K − 1; points of negative ones take no part.
    centroids : (K, D) float64
        A point in the middle of each cluster.
    radii : (n,) float64
        Distances of the points from some point of their cluster's own.
    at_least : (K,) float64, optional
        Squared diameters that are known of each.
    only_largest : bool
        Whether only the largest of all is wanted: others may then come out too small.
    weights : (D,) float64, optional
        Factors of squared differences.

    Returns
    -------
    (K,) float64
        Largest squared distances; 0 of one point or none.
    """
    squares = np.zeros(len(centroids)) if at_least is None else at_least.astype(np.float64)
    order, cuts = _by_cluster(clusters, len(centroids))
    sizes = np.diff(cuts)
    small = np.flatnonzero((sizes > 1) & (sizes <= _SMALL))
    _compare_small(squares, points, order, cuts, small, weights)
    large = np.flatnonzero(sizes > _SMALL)
    widest = np.array([radii[order[cuts[k] : cuts[k + 1]]].max() for k in large])
    room = 1 - slack_of_radii(points.shape[1])
    best = float(squares.max(initial=0.0)) if only_largest else 0.0
    for k, radius in sorted(zip(large, widest, strict=True), key=lambda pair: -pair[1]):
        known = max(float(squares[k]), best)
        if 2 * radius + UNDERFLOW < math.sqrt(known) * room:
            continue
        rows = order[cuts[k] : cuts[k + 1]]
        squares[k] = farthest_pair(
            points[rows], radii[rows], at_least=known, center=centroids[k], weights=weights
        )[0]
        best = max(best, float(squares[k])) if only_largest else 0.0
    return squares


def unique_rows(points: Float) -> Int:
    """Numbers of rows such that every row is equal to one of them; nearly none twice."""
    bits = np.ascontiguousarray(points).view(np.uint64)
    odd = np.random.default_rng(0).integers(1 << 62, size=(1, points.shape[1]), dtype=np.uint64)
    hashes = np.zeros(len(points), np.uint64)
    for feature in range(points.shape[1]):  # sums of integers wrap round, in any order
        hashes += bits[:, feature] * (2 * odd[0, feature] + np.uint64(1))
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes, kind="stable")
    new = np.ones(len(points), bool)
    for start in range(1, len(points), _ROWS_AT_ONCE):
        here, before = order[start : start + _ROWS_AT_ONCE], order[start - 1 :][: len(order)]
        before = before[: len(here)]
        new[start : start + len(here)] = (points[here] != points[before]).any(axis=1)
    return np.sort(order[new])


def _first_rows(points: Float, radii: Float, weights: Float | None) -> list[Int]:
    """Rows whose pairs give a bound near the result: the outermost, and farthest ones in turn."""
    if len(points) <= _FIRST:
        return []
    outermost = np.argpartition(radii, len(radii) - _FIRST)[-_FIRST:]
    chain = [int(outermost[radii[outermost].argmax()])]
    best = -1.0
    for _ in range(_ROUNDS):
        squares = _squares_to(points, chain[-1], weights)
        farthest = int(squares.argmax())
        if squares[farthest] <= best:
            break
        best = float(squares[farthest])
        chain.append(farthest)
    return [np.array(chain), outermost]


def _squares_to(points: Float, target: int, weights: Float | None) -> Float:
    """Squared distances of all points from one of them."""
    squares = np.empty(len(points))
    step = max(1, (1 << 18) // points.shape[1])
    for start in range(0, len(points), step):
        part = points[start : start + step] - points[target]
        total = np.zeros(len(part))
        add_squares(total, part, weights)
        squares[start : start + step] = total
    return squares


def _search(
    points: Float, chosen: Int, best: float, center: Float | None, weights: Float | None
) -> tuple[float, int, int]:
    """The farthest pair of some of the points that exceeds a bound."""
    if len(chosen) > 1 << 14:
        chosen = chosen[unique_rows(points[chosen])]
    held = points[chosen]
    middle = held.mean(axis=0) if center is None else center
    search = PairSearch(held, largest=True, bound=best, center=middle, weights=weights)
    order = np.argsort(-search.radii, kind="stable")
    falling = search.radii[order]
    n_partners = np.searchsorted(-falling, falling - search.reach, side="right")
    if n_partners.sum() <= 2 * _FEW_PAIRS:
        _by_radius(search, order, falling)
    else:
        _by_balls(search, order[: n_partners[0]])
    i, j = search.pair
    if i < 0:
        return search.square, -1, -1
    return search.square, int(chosen[i]), int(chosen[j])


def _by_radius(search: PairSearch, order: Int, falling: Float) -> None:
    """Compare blocks of points with those before them, from the largest radius on."""
    rising = -falling
    for start in range(0, len(order), BLOCK_ROWS):
        here = order[start : start + BLOCK_ROWS]
        stop = int(np.searchsorted(rising, falling[start] - search.reach, side="right"))
        stop = min(stop, start + len(here))
        if not stop:
            break  # the points that follow are nearer to the centre
        for first in range(0, stop, BLOCK_ROWS):
            search.compare(here, order[first : min(first + BLOCK_ROWS, stop)])


def _by_balls(search: PairSearch, order: Int) -> None:
    """Compare pairs of balls that may hold a farther pair, the likeliest first."""
    radii = search.radii[order]
    # points of one ball are of similar radius
    edges = np.linspace(radii[0], radii[-1], _SHELLS + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(-radii, -edges), len(order)])
    balls = Balls.of(search.places, order, cuts, search.leaf_rows)
    outer = balls.each(search.radii, np.maximum)
    ranks = np.argsort(-outer, kind="stable")
    centers, sizes, outer = balls.centers[ranks], balls.radii[ranks], outer[ranks]
    for rank in range(len(ranks)):
        if 2 * outer[rank] < search.reach:
            break
        others = slice(rank, None)
        together = centers[others] + centers[rank]
        apart = np.sqrt(np.einsum("nd,nd->n", together, together))
        apart = np.maximum(apart * (1 - search.slack) - sizes[others] - sizes[rank], 0)
        bounds = 2 * (outer[others] ** 2 + outer[rank] ** 2) * (1 + search.slack) - apart * apart
        bounds = np.minimum(np.sqrt(np.maximum(bounds, 0)), outer[others] + outer[rank])
        likely = np.flatnonzero(bounds >= search.reach)
        here = balls.rows(int(ranks[rank]))
        for other in likely[np.argsort(-bounds[likely], kind="stable")]:
            if bounds[other] < search.reach:
                break
            search.compare(here, balls.rows(int(ranks[rank + other])))


def _by_cluster(clusters: Int, n_clusters: int) -> tuple[Int, Int]:
    """Rows in the order of their clusters, and where each cluster begins."""
    order = np.argsort(clusters, kind="stable")
    return order, np.searchsorted(clusters[order], np.arange(n_clusters + 1))


def _compare_small(
    squares: Float, points: Float, order: Int, cuts: Int, small: Int, weights: Float | None
) -> None:
    """Diameters of small clusters, all their pairs at so many places apart at a time."""
    sizes = np.diff(cuts)[small]
    for apart in range(1, int(sizes.max(initial=0))):
        own = small[sizes > apart]
        counts = np.diff(cuts)[own] - apart
        of_cluster = np.repeat(own, counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = cuts[of_cluster] + within
        found = np.zeros(len(places))
        pair_squares(found, points, points, order[places], order[places + apart], weights=weights)
        np.maximum.at(squares, of_cluster, found)

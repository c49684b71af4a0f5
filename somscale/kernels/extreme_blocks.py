"""The farthest or closest pair so far, and blocks of pairs that may hold a better one.

Blocks are compared by a product of matrices that errs by a bounded amount.  Only what
lies within the bound of the best so far is decided by the direct sums of
:mod:`somscale.kernels.distances`: the product's precision never shows in a result, and
single precision is used where it is enough, because it costs half.
"""

from __future__ import annotations

import math

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.kernels.distances import pair_squares
from somscale.kernels.scratch import Scratch

__all__ = ["BLOCK_ROWS", "UNDERFLOW", "PairSearch", "slack_of_radii"]

BLOCK_ROWS = 512
"""Rows of a block: its pairs are 1 MiB in single precision, which stays in cache."""

UNDERFLOW = 1e-150
"""What a distance may lack whose square is too small for a float64 of full precision."""

_DIRECT_FEATURES = 6
"""Up to so many features the direct sums are as fast as a product."""
_SINGLE_FEATURES = 512
"""Beyond so many, single precision would leave too many pairs open."""
_SMALLEST_SPREAD = 1e-120
"""Squares of smaller differences come near the smallest float64: nothing is ruled out."""
_MANY = 4096

_scratch = Scratch()


def slack_of_radii(n_features: int) -> float:
    """What a bound made of measured distances may err by, relatively."""
    return (4 * n_features + 64) * 2.0**-52


class PairSearch:
    """The best pair found so far among some points.

    Parameters
    ----------
    points : (n, D) float64
        The points.
    largest : bool
        Whether the farthest pair is looked for, or the closest.
    bound : float
        Squared distance that a pair must exceed, or fall below.
    center : (D,) float64
        A point in their middle.
    weights : (D,) float64, optional
        Factors of squared differences.
    groups : (n,) integer, optional
        Two points of one group are no pair.

    Attributes
    ----------
    square : float
        Squared distance of the best pair, or `bound`.
    pair : tuple of int
        Its points; −1 where none is better than the bound.
    center : (D,) float64
        The centre, of integers where all points are.
    places : (n, D) float64
        The points about the centre, scaled to at most 1 by a power of two, `scale`.
    radii : (n,) float64
        Their distances from it.
    few_features : bool
        Whether pairs are compared by direct sums alone.

    Notes
    -----
    With the unit roundoff u of a product's precision, and radii r and r′, a compared value
    errs by less than ``(2 D + 32) u (r + r′)²``: two roundings of each factor, D + 2
    additions in any order of terms whose magnitudes add up to (r + r′)², and what the
    direct sum, a difference from the centre and a weight round in float64.
    """

    def __init__(
        self,
        points: Float,
        *,
        largest: bool,
        bound: float,
        center: Float,
        weights: Float | None = None,
        groups: Int | None = None,
    ) -> None:
        self.points, self.weights, self.groups = points, weights, groups
        self.largest, self.square, self.pair = largest, bound, (-1, -1)
        whole = weights is None and _whole(points)
        self.center = np.rint(center) if whole else center
        places = points - self.center
        if weights is not None:
            places *= np.sqrt(weights)
        spread = float(max(places.max(initial=0.0), -places.min(initial=0.0)))
        self.scale: float = 2.0 ** -math.ceil(math.log2(spread)) if spread > 1e-300 else 1.0
        places *= self.scale
        self.places = places
        squares = np.einsum("nd,nd->n", places, places)
        self.radii = np.sqrt(squares)
        self._widest = float(self.radii.max(initial=0.0))
        n_features = points.shape[1]
        self.few_features = n_features <= _DIRECT_FEATURES
        if self.few_features:
            return
        single = n_features <= _SINGLE_FEATURES
        kind = np.dtype(np.float32 if single else np.float64)
        digits = 24 if single else 53
        self._relative: float = (2 * n_features + 32) * 2.0**-digits
        if 0 < spread <= _SMALLEST_SPREAD:
            self._relative = math.inf
        elif whole and 4 * squares.max(initial=0.0) / self.scale**2 < 2.0**digits:
            self._relative = 0.0
        sign = 1 if largest else -1
        self._left = np.empty((len(points), n_features + 2), kind)
        self._right = np.empty_like(self._left)
        np.multiply(places, -2 * sign, out=self._left[:, :-2], casting="same_kind")
        np.multiply(squares, sign, out=self._left[:, -2], casting="same_kind")
        self._left[:, -1] = sign
        self._right[:, :-2], self._right[:, -2], self._right[:, -1] = places, 1, squares

    @property
    def leaf_rows(self) -> int:
        """Points of a ball: as few as are worth a call."""
        return 64 if self.few_features else BLOCK_ROWS

    @property
    def slack(self) -> float:
        """What pruning by bounds of distances, scaled and in float64, may err by, relatively."""
        return slack_of_radii(self.points.shape[1])

    @property
    def reach(self) -> float:
        """Distance of the best pair, scaled as `places` are, with slack for rounding.

        A bound of a distance that lies beyond rules its pairs out.
        """
        reach = math.sqrt(self.square) * self.scale
        room = self.slack * (reach + 2 * self._widest) + UNDERFLOW * self.scale
        return max(reach - room, 0.0) if self.largest else reach + room

    def compare(self, left: Int, right: Int) -> None:
        """Compare all points of one block with all of another."""
        if not (len(left) and len(right)):
            return
        if self.few_features:
            self._compare_directly(left, right)
            return
        values = _scratch.take("pairs", (len(left), len(right)), self._left.dtype)
        np.matmul(self._left[left], self._right[right].T, out=values)
        if self.groups is not None:
            self._cross_out(values, self.groups[left], self.groups[right])
        room = self._room(left, right)
        at = int(values.argmax())
        if values.flat[at] <= self._threshold(room) or values.flat[at] == -np.inf:
            return
        row, column = divmod(at, len(right))
        self.decide(left[row : row + 1], right[column : column + 1])
        rows, columns = np.nonzero(values > self._threshold(room))
        self.decide(left[rows], right[columns])

    def decide(self, rows: Int, columns: Int) -> None:
        """Take the direct sums of listed pairs."""
        if len(rows) > _MANY:
            rows, columns = self._different(rows, columns)
        if not len(rows):
            return
        squares = np.zeros(len(rows))
        pair_squares(squares, self.points, self.points, rows, columns, weights=self.weights)
        at = int(squares.argmax() if self.largest else squares.argmin())
        better = squares[at] > self.square if self.largest else squares[at] < self.square
        if better:
            self.square, self.pair = float(squares[at]), (int(rows[at]), int(columns[at]))

    def _compare_directly(self, left: Int, right: Int) -> None:
        from somscale.kernels import extreme_loops

        one, two = self.points[left], np.ascontiguousarray(self.points[right].T)
        if self.largest:
            found = extreme_loops.largest_square(one, two, self.weights, self.square)
        else:
            if self.groups is None:
                raise ValueError("the closest pair is looked for between groups")
            groups = self.groups[left], self.groups[right]
            found = extreme_loops.smallest_square(one, two, *groups, self.weights, self.square)
        square, row, column = found
        if row >= 0:
            self.square, self.pair = float(square), (int(left[row]), int(right[column]))

    def _room(self, left: Int, right: Int) -> float:
        """What compared values of two blocks may err by."""
        if self._relative in (0.0, math.inf):
            return self._relative
        radius = float(self.radii[left].max() + self.radii[right].max())
        return self._relative * radius * radius + 1e-30

    def _threshold(self, room: float) -> np.floating:
        """What a compared value must exceed to be worth deciding."""
        score = self.square if self.largest else -self.square
        found = self._left.dtype.type(score * self.scale * self.scale - room)
        below: np.floating = np.nextafter(found, found.dtype.type(-np.inf)) if room else found
        return below

    @staticmethod
    def _cross_out(values: AnyArray, left: Int, right: Int) -> None:
        """Make pairs of one group the worst of all; blocks often share none."""
        if left.min() > right.max() or right.min() > left.max():
            return
        values[left[:, None] == right] = -np.inf

    def _different(self, rows: Int, columns: Int) -> tuple[Int, Int]:
        """Pairs without those of equal points: many ties are of a few points, many times over."""
        n = len(self.points)
        keys = np.unique(self._first_equal(rows) * n + self._first_equal(columns))
        return keys // n, keys % n

    def _first_equal(self, rows: Int) -> Int:
        """For each of some points an equal one that is the same for all its equals."""
        own, back = np.unique(rows, return_inverse=True)
        order = np.lexsort(self.points[own].T)
        held = self.points[own[order]]
        new = np.append(True, (held[1:] != held[:-1]).any(axis=1))
        if self.groups is not None:  # equals of another group are a pair of their own
            groups = self.groups[own[order]]
            new[1:] |= groups[1:] != groups[:-1]
        first = np.empty(len(own), np.int64)
        first[order] = own[order][np.flatnonzero(new)[np.cumsum(new) - 1]]
        return first[back]


def _whole(points: Float) -> bool:
    """Whether all values are integers, whose products are exact."""
    some = points[:: max(1, len(points) // 64)]
    return bool((some == np.rint(some)).all()) and bool((points == np.rint(points)).all())

"""Compiled loops of the extremes: pairs of few features, compared by their direct sums.

Imported only where they are called: they compile.  A product of matrices is no faster
below some eight features, and leaves pairs to be decided again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["largest_square", "smallest_square"]


@compiled
def _add_squares(point: Any, others: Any, weights: Any, totals: Any) -> None:
    """Squared distances of one point from others (D, m), in feature order, many at a time."""
    for j in range(totals.shape[0]):
        difference = point[0] - others[0, j]
        square = difference * difference
        if weights is not None:
            square *= weights[0]
        totals[j] = square
    for f in range(1, point.shape[0]):
        value = point[f]
        for j in range(totals.shape[0]):
            difference = value - others[f, j]
            square = difference * difference
            if weights is not None:
                square *= weights[f]
            totals[j] += square


@compiled
def largest_square(left: Any, others: Any, weights: Any, best: float) -> Any:
    """The largest squared distance above `best` of points (n, D) and (D, m), and their numbers."""
    row, column = -1, -1
    totals = np.empty(others.shape[1])
    for i in range(left.shape[0]):
        _add_squares(left[i], others, weights, totals)
        for j in range(totals.shape[0]):
            if totals[j] > best:
                best, row, column = totals[j], i, j
    return best, row, column


@compiled
def smallest_square(
    left: Any, others: Any, left_groups: Any, right_groups: Any, weights: Any, best: float
) -> Any:
    """The smallest one below `best` of points that are of different groups."""
    row, column = -1, -1
    totals = np.empty(others.shape[1])
    for i in range(left.shape[0]):
        _add_squares(left[i], others, weights, totals)
        for j in range(totals.shape[0]):
            if totals[j] < best and left_groups[i] != right_groups[j]:
                best, row, column = totals[j], i, j
    return best, row, column

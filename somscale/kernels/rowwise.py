"""Values of some samples, with the samples' numbers in front.

An array (m, 1 + c) of float64: ascending numbers of samples, exact below 2⁵³, and c
values of each.
"""

from __future__ import annotations

import numpy as np

from somscale._types import Float, Int

__all__ = ["all_rows", "as_rows", "merge_rows"]


def as_rows(numbers: Int, values: Float) -> Float:
    """Values (m, c) of the samples with these ascending numbers."""
    return np.column_stack([numbers.astype(np.float64), values])


def merge_rows(left: Float, right: Float) -> Float:
    """Add the values of samples that both hold, and keep the others."""
    if not len(left) or not len(right):
        return right if not len(left) else left
    if len(left) == len(right) and np.array_equal(left[:, 0], right[:, 0]):
        total = left.copy()
        total[:, 1:] += right[:, 1:]
        return total
    numbers = np.union1d(left[:, 0], right[:, 0])
    total = np.zeros((len(numbers), left.shape[1]))
    total[:, 0] = numbers
    total[np.searchsorted(numbers, left[:, 0]), 1:] = left[:, 1:]
    total[np.searchsorted(numbers, right[:, 0]), 1:] += right[:, 1:]
    return total


def all_rows(rows: Float, n_rows: int, fill: float) -> Float:
    """The values of all samples, (n_rows, c); `fill` where there is none."""
    whole = np.full((n_rows, rows.shape[1] - 1), fill)
    whole[rows[:, 0].astype(np.int64)] = rows[:, 1:]
    return whole

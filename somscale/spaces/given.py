"""Checks of a matrix that the user gives, or that a store has, tile by tile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.errors import InputError

__all__ = [
    "StoredValues",
    "asymmetric",
    "check_matrix",
    "check_matrix_rows",
    "check_matrix_tile",
    "rounding_of",
]


@dataclass(frozen=True)
class StoredValues:
    """What the values of a stored matrix have to be, where they are used.

    That it is symmetric, if it holds distances, is taken for granted: it was computed so.

    Attributes
    ----------
    name : str
        Where it is stored, as "distances/euclidean".
    below : float
        Values are less: inf for distances, the number of samples for ranks.
    """

    name: str
    below: float = math.inf

    def check(self, values: AnyArray, rows: Int, columns: Int) -> None:
        """Refuse values of the samples `rows` and `columns` that are none.

        Raises
        ------
        InputError
            A value is nan, negative or too large; row and column are named.
        """
        low = 0 if values.dtype.kind == "u" else values.min(initial=0)
        high = values.max(initial=0)
        if low >= 0 and high < self.below:  # nan is neither
            return
        i, j = np.argwhere(~((values >= 0) & (values < self.below)))[0].tolist()
        what = "distance" if math.isinf(self.below) else "rank"
        raise InputError(
            f"{self.name} holds {values[i, j]:g} at [{rows[i]}, {columns[j]}], which is no {what}; "
            "check the workspace with 'somscale verify'"
        )


def rounding_of(dtype: np.dtype[Any]) -> float:
    """Share of the larger of two mirrored distances by which they may differ.

    1e−5 in float32 (and less), 1e−8 in float64: a few hundred roundings in a row.
    """
    return 1e-5 if dtype.kind == "f" and dtype.itemsize <= 4 else 1e-8


def check_matrix(shape: tuple[int, ...], dtype: Any, is_sparse: bool) -> None:
    """Refuse what cannot be a distance matrix, before anything of it is read.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    dtype : dtype
        Of the array.
    is_sparse : bool
        Whether it is a sparse matrix or array.

    Raises
    ------
    InputError
        It is sparse, not square, or not of real numbers.
    """
    if is_sparse:
        raise InputError(
            "a sparse matrix, such as a k-nearest-neighbour graph, is not a distance matrix: "
            "what it does not hold is not 0; give all distances, or the samples"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(
            f"a distance matrix has a row and a column for each sample, not shape {shape}; "
            f"give samples without distance='precomputed'"
        )
    if np.dtype(dtype).kind not in "iuf":
        raise InputError(f"a distance matrix holds real numbers, not {np.dtype(dtype)}")


def check_matrix_tile(box: AnyArray, mirrored: AnyArray, row0: int, col0: int) -> None:
    """Refuse a tile of a matrix that holds what is no distance.

    Parameters
    ----------
    box : (n, m)
        Rows from `row0`, columns from `col0`.
    mirrored : (m, n)
        The tile on the other side of the diagonal: rows from `col0`, columns from `row0`;
        `box` itself on the diagonal.
    row0, col0 : int
        Place in the matrix.

    Raises
    ------
    InputError
        A distance is nan, infinite, negative, not 0 on the diagonal, or differs from its
        mirror image by more than `rounding_of` their type; row and column are named.
    """
    _check_values(box, row0, col0)
    if mirrored is not box:
        _check_values(mirrored, col0, row0)
    _check_diagonal(box, row0, col0)
    uneven = asymmetric(box, mirrored)
    if uneven is not None:
        i, j = uneven
        raise InputError(
            f"the distance matrix is not symmetric: {box[i, j]} at [{row0 + i}, {col0 + j}], "
            f"{mirrored[j, i]} at [{col0 + j}, {row0 + i}] (they may differ by "
            f"{rounding_of(box.dtype):.0e} of the larger); (D + D.T) / 2 makes it so, "
            f"if both are meant to be the same distance"
        )


def asymmetric(box: AnyArray, mirrored: AnyArray) -> tuple[int, int] | None:
    """Position of the first entry that differs from its mirror image beyond rounding."""
    first = np.asarray(box, np.float64)
    second = np.asarray(mirrored, np.float64).T
    if np.array_equal(first, second):  # the usual case, at a third of the time
        return None
    wrong = np.abs(first - second) > rounding_of(box.dtype) * np.maximum(first, second)
    if not wrong.any():
        return None
    i, j = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return int(i), int(j)


def _check_values(box: AnyArray, row0: int, col0: int) -> None:
    low, high = box.min(initial=0), box.max(initial=0)
    if low >= 0 and np.isfinite(high):  # nan is neither
        return
    i, j = np.argwhere(~((box >= 0) & np.isfinite(box)))[0].tolist()
    value = box[i, j]
    rule = "no distance is negative (similarities are no distances)"
    if not np.isfinite(value):
        rule = "every distance must be finite; leave samples without distances out of the matrix"
    raise InputError(f"the distance matrix holds {value} at [{row0 + i}, {col0 + j}]: {rule}")


def _check_diagonal(box: AnyArray, row0: int, col0: int) -> None:
    diagonal = np.diagonal(box, offset=row0 - col0)
    wrong = np.flatnonzero(diagonal)
    if wrong.size:
        at = max(row0, col0) + int(wrong[0])
        raise InputError(
            f"the distance matrix holds {diagonal[wrong[0]]} at [{at}, {at}], but a sample is "
            f"at distance 0 from itself; np.fill_diagonal(D, 0) mends rounding"
        )


def check_matrix_rows(rows: Float, numbers: Int, columns: Int) -> None:
    """Refuse distances from some samples that put no order on the others.

    Parameters
    ----------
    rows : (n, m) float64
        From the samples `numbers` to the samples `columns`; what a sample has from itself
        does not matter, nor whether the matrix is symmetric.

    Raises
    ------
    InputError
        A distance is nan, infinite or negative.
    """
    wrong = ~((rows >= 0) & np.isfinite(rows)) & (numbers[:, None] != columns[None, :])
    if not wrong.any():
        return
    i, j = np.argwhere(wrong)[0].tolist()
    value, rule = rows[i, j], "no distance is negative (similarities are no distances)"
    if not np.isfinite(value):
        rule = "every distance must be finite; leave samples without distances out with mask="
    raise InputError(f"the distance matrix holds {value} at [{numbers[i]}, {columns[j]}]: {rule}")

"""Z-order over the squares of a pair walk.

Interleaving the bits of row and column numbers every aligned square of
2^m × 2^m tiles as one run of 4^m indices, so a square is a node of the binary
tree over the indices of tiles, however large the squares of the tasks are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["WHOLE", "Square", "upper_squares"]


@dataclass(frozen=True, slots=True)
class Square:
    """A square of a grid, and its place in Z-order among the squares of its size."""

    number: int
    row: int
    column: int


WHOLE = Square(0, 0, 0)
"""The square that holds the whole grid."""


def upper_squares(square: Square, splits: int, size: int) -> Iterator[Square]:
    """Cut a square into quadrants, again and again; what holds no pair i ≤ j is left out.

    Parameters
    ----------
    square : Square
        The square to cut.
    splits : int
        How often every side is halved.
    size : int
        Rows, and columns, of the grid of the smallest squares.

    Yields
    ------
    Square
        The smallest squares that reach the diagonal or lie above it, in Z-order.
    """
    if square.row > square.column or square.column << splits >= size:
        return
    if splits == 0:
        yield square
        return
    for quadrant in range(4):
        down, right = divmod(quadrant, 2)
        part = Square(
            4 * square.number + quadrant, 2 * square.row + down, 2 * square.column + right
        )
        yield from upper_squares(part, splits - 1, size)

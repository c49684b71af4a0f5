"""The symmetries of a grid: where turning, mirroring and shifting a map send its units."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from somscale._types import Int
from somscale.topology.grid import Grid

__all__ = ["symmetries"]

_LATTICES = ("rectangular", "hexagonal", "chain")


def symmetries(grid: Grid) -> Iterator[Int]:
    """Yield where each symmetry of a lattice sends the units, (K,) each, the identity first.

    Every one keeps neighbours and distances.  They are the mirror images and turns of
    the rectangle that the rows and columns form, its transposition where it is square, and
    the shifts along axes that wrap: 8 of a planar square, up to 8 K of a torus.  Turns by
    60°, which few hexagonal tori have, are not among them; of maps from edges or distances
    there is the identity alone.
    """
    units = np.arange(grid.size)
    if grid.topology not in _LATTICES:
        yield units
        return
    edges = grid.edges("edge")
    known = set(map(tuple, edges.tolist()))

    def keeps(order: Int) -> bool:
        return set(map(tuple, np.sort(order[edges], axis=1).tolist())) == known

    turns = [order for order in _turns(grid) if keeps(order)]
    one_row, two_rows, one_col = _steps(grid)
    # where shifting by one row is no symmetry shifting by two may be one
    steps = [one_row if keeps(one_row) else two_rows, one_col]
    steps = [order for order in steps if keeps(order)]
    seen: set[bytes] = set()
    for shift in _powers(steps, units):
        for turn in turns:
            order = shift[turn]
            if order.tobytes() not in seen:
                seen.add(order.tobytes())
                yield order


def _turns(grid: Grid) -> Iterator[Int]:
    """Candidates that mirror rows or columns or swap them, one of every kind."""
    row, col = grid.row.astype(np.int64), grid.col.astype(np.int64)
    rows, cols, half = grid.rows, grid.cols, _half(grid)
    along_rows: tuple[Callable[[], Int], ...] = (
        lambda: row,
        lambda: rows - 1 - row,
        lambda: -row % rows,
        lambda: (row + 1) % rows,
    )
    along_cols: tuple[Callable[[], Int], ...] = (
        lambda: col,
        lambda: cols - 1 - col,
        lambda: -col % cols,
        lambda: (col + half) % cols,
        lambda: (-col - half) % cols,
    )
    plain = grid.topology != "hexagonal"
    for new_row, new_col in itertools.product(
        along_rows[: 2 if plain else None], along_cols[: 2 if plain else None]
    ):
        yield new_row() * cols + new_col()
        if plain and rows == cols:
            yield new_col() * cols + new_row()


def _steps(grid: Grid) -> tuple[Int, Int, Int]:
    """Candidates that shift all units by a row, by two rows, or by a column."""
    row, col, half = grid.row.astype(np.int64), grid.col.astype(np.int64), _half(grid)
    return (
        (row + 1) % grid.rows * grid.cols + (col + half) % grid.cols,
        (row + 2) % grid.rows * grid.cols + col,
        row * grid.cols + (col + 1) % grid.cols,
    )


def _half(grid: Grid) -> Int:
    """1 in rows that are shifted right by half a column, else 0, (K,)."""
    if grid.topology != "hexagonal":
        return np.zeros(grid.size, np.int64)
    return ((grid.row + (grid.offset == "even")) % 2).astype(np.int64)


def _powers(steps: list[Int], units: Int) -> Iterator[Int]:
    """All products of powers of some shifts, the identity first."""
    if not steps:
        yield units
        return
    power = units
    while True:
        for rest in _powers(steps[1:], units):
            yield power[rest]
        power = steps[0][power]
        if (power == units).all():
            return

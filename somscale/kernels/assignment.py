"""The heaviest one-to-one assignment of rows to columns of a sparse table of counts.

Shortest augmenting paths with integer duals (Kuhn 1955; Jonker & Volgenant 1987): each
row that is not assigned starts a search that visits only what lies nearer than the end
it finds.  Exact in 64-bit integers; rows may stay alone, so tables need not be square
nor connected.  Imported only where it is called: it compiles.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from somscale._types import Int
from somscale.kernels.compiling import compiled

__all__ = ["heaviest_assignment"]

_FAR = (1 << 63) - 1
_ALONE = -1


def heaviest_assignment(rows: Int, columns: Int, counts: Int, shape: tuple[int, int]) -> Int:
    """The column of every row for the greatest sum of counts.

    Parameters
    ----------
    rows, columns, counts : (P,) int64
        The cells that are not empty, sorted by row.
    shape : tuple of int
        Rows and columns of the table.

    Returns
    -------
    (rows,) int64
        A column of its own for every row, −1 where the row stays alone.

    Notes
    -----
    1 s where SciPy's ``min_weight_full_bipartite_matching`` takes 36 s (100,000 × 100,000
    with 10⁶ cells), which clears every column's distance in every search.
    """
    largest = np.zeros(shape[0], np.int64)
    np.maximum.at(largest, rows, counts)
    # rows that have most in different columns; without this first step, all at once, the
    # searches for the last of many equal rows would each see most of the table
    tight = np.flatnonzero(counts == largest[rows])
    graph = csr_array((np.ones(len(tight), np.int8), (rows[tight], columns[tight])), shape=shape)
    column_of = maximum_bipartite_matching(graph, perm_type="column").astype(np.int64)
    starts = np.searchsorted(rows, np.arange(shape[0] + 1))
    _complete(starts, columns, counts, largest, column_of, shape[1])
    return column_of


@compiled
def _complete(
    starts: Any, columns: Any, counts: Any, row_dual: Any, column_of: Any, n_columns: int
) -> None:
    """Assign the rows that are alone, changing the others where that gains more."""
    row_of = np.full(n_columns, _ALONE, np.int64)
    for row in range(len(column_of)):
        if column_of[row] != _ALONE:
            row_of[column_of[row]] = row
    # the duals of a cell's row and column add up to its count, at least
    column_dual = np.zeros(n_columns, np.int64)
    distance = np.full(n_columns, _FAR, np.int64)
    came_from = np.zeros(n_columns, np.int64)
    reached = np.zeros(n_columns, np.int64)
    for row in range(len(column_of)):
        if column_of[row] != _ALONE:
            continue
        row_dual[row] = 0
        for cell in range(starts[row], starts[row + 1]):
            gain = counts[cell] - column_dual[columns[cell]]
            row_dual[row] = max(row_dual[row], gain)
        n_reached, length, last_row, last_column = _search(
            row, starts, columns, counts, row_of, row_dual, column_dual,
            distance, came_from, reached,
        )  # fmt: skip
        row_dual[row] -= length
        for place in range(n_reached):
            column = reached[place]
            if distance[column] < length:
                column_dual[column] += length - distance[column]
                row_dual[row_of[column]] -= length - distance[column]
            distance[column] = _FAR
        if last_column == _ALONE and last_row != row:
            last_column = column_of[last_row]
            column_of[last_row] = _ALONE
        while last_column != _ALONE:
            taker = came_from[last_column]
            row_of[last_column] = taker
            column_of[taker], last_column = last_column, column_of[taker]


@compiled
def _search(
    row: int,
    starts: Any,
    columns: Any,
    counts: Any,
    row_of: Any,
    row_dual: Any,
    column_dual: Any,
    distance: Any,
    came_from: Any,
    reached: Any,
) -> Any:
    """Dijkstra's search from a row to a free column, or to a row that had best be alone.

    Returns how many columns were reached, the length of the path, and its last row or
    else its last column.
    """
    n_reached, so_far = 0, 0
    best, best_row, best_column = row_dual[row], row, _ALONE
    queue = [(so_far, _ALONE)]
    while len(queue):
        so_far, column = heapq.heappop(queue)
        if so_far >= best:
            break
        if column != _ALONE:
            if so_far > distance[column]:
                continue
            row = row_of[column]
            if so_far + row_dual[row] < best:
                best, best_row, best_column = so_far + row_dual[row], row, _ALONE
        for cell in range(starts[row], starts[row + 1]):
            column = columns[cell]
            slack = row_dual[row] + column_dual[column] - counts[cell]
            length = so_far + slack
            if length >= best or length >= distance[column]:
                continue
            if distance[column] == _FAR:
                reached[n_reached] = column
                n_reached += 1
            distance[column], came_from[column] = length, row
            if row_of[column] == _ALONE:
                best, best_row, best_column = length, row, column
            else:
                heapq.heappush(queue, (length, column))
    return n_reached, best, best_row, best_column

"""The compiled loops behind :mod:`somscale.kernels.best_one`, imported only there."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["choose", "list_near"]


@compiled
def list_near(
    compared: Any,
    best: Any,
    norms: Any,
    constant: float,
    linear: float,
    square: float,
    largest: float,
    left_out: Any,
    eps: float,
    tiny: float,
) -> Any:
    """The places (row, column) of values within twice their error of the row's lowest.

    Only of rows with several, whose norm is at most `largest`, and that take part; the
    error is a polynomial of the norm's root.  A third of what NumPy takes for the count
    alone, which first writes every comparison down (2,048 rows of 400).
    """
    limits = np.full(compared.shape[0], np.nan, compared.dtype)
    for i in range(compared.shape[0]):
        norm = norms[i]
        # samples that are doubtful, or take no part, have no limit: nothing is at most nan
        if norm <= largest and not (left_out is not None and left_out[i]):
            limit = np.float64(compared[i, best[i]])
            limit += 2 * (constant + linear * np.sqrt(norm) + square * norm)
            # rounded to the products' precision, a limit must not fall
            limits[i] = limit + (eps * abs(limit) + tiny)
    counts = np.zeros(compared.shape[0], np.int32)
    _count(compared, limits, counts)
    n_places = 0
    for i in range(compared.shape[0]):
        if counts[i] > 1:
            n_places += counts[i]
    rows, columns = np.empty(n_places, np.intp), np.empty(n_places, np.intp)
    place = 0
    for i in range(compared.shape[0]):
        if counts[i] > 1:
            for k in range(compared.shape[1]):
                if compared[i, k] <= limits[i]:
                    rows[place] = i
                    columns[place] = k
                    place += 1
    return rows, columns


@compiled
def _count(compared: Any, limits: Any, counts: Any) -> None:
    """How many values of each row are at most its limit.

    Apart from the loops around it, which would keep this one from running in vectors.
    """
    for i in range(compared.shape[0]):
        row, limit, count = compared[i], limits[i], np.int32(0)
        for k in range(row.shape[0]):
            count += np.int32(row[k] <= limit)
        counts[i] = count


@compiled
def choose(rows: Any, units: Any, squares: Any, best: Any) -> None:
    """Write the unit of the smallest square of each row, the first where several have it."""
    start = 0
    while start < len(rows):
        row, smallest = rows[start], start
        place = start + 1
        while place < len(rows) and rows[place] == row:
            if squares[place] < squares[smallest]:
                smallest = place
            place += 1
        best[row] = units[smallest]
        start = place

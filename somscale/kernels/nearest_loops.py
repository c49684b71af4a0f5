"""The compiled loops behind :mod:`somscale.kernels.best_one`, imported only there."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["choose", "list_near"]


@compiled
def list_near(compared: Any, limits: Any) -> Any:
    """The places (row, column) of values at most the row's limit, of rows with several.

    A third of what NumPy takes for the count alone, which first writes every comparison
    down (2,048 rows of 400).
    """
    counts = np.zeros(compared.shape[0], np.int32)
    n_places = 0
    for i in range(compared.shape[0]):
        limit = limits[i]
        count = 0
        for k in range(compared.shape[1]):
            count += compared[i, k] <= limit
        counts[i] = count
        if count > 1:
            n_places += count
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

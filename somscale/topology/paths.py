"""Shortest paths over weighted edges, searched only from the units that ask for one.

scipy.sparse takes a noticeable time to import, so it is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from somscale._types import Float, Int

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["group_units", "path_lengths"]

SEARCH_BLOCK: Final = 2**22  # lengths held at once by the searches from several units
WHOLE_SIZE: Final = 2**12  # units up to which a search that goes nowhere near all saves no time
WIDER: Final = 4  # growth of the radius for the units whose targets lay beyond it


def path_lengths(
    size: int,
    edges: Int,
    lengths: Float,
    i: Int,
    j: Int,
) -> Float:
    """Return the length of the shortest path between units, either way alike.

    Parameters
    ----------
    size : int
        Number of units K.
    edges : (E, 2) int64
        The units that each edge joins, every edge once.
    lengths : (E,) float64
        Length of each edge, at least 0; an edge of length 0 is an edge.
    i, j : (P,) int64
        The units between which paths are sought.

    Returns
    -------
    (P,) float64
        The sum of lengths along the path, nan where none leads.
    """
    # a matrix stores zeros that are given to it, and the searches walk over what is stored
    matrix = _matrix(size, edges, lengths)
    part = group_units(size, edges)
    low, high = np.minimum(i, j), np.maximum(i, j)
    found = np.where(low == high, 0.0, np.nan)
    wanted = np.flatnonzero((low != high) & (part[low] == part[high]))
    radius = np.inf if size <= WHOLE_SIZE else 2 * float(lengths.sum()) / max(1, len(lengths))
    while wanted.size:
        found[wanted] = _search(matrix, low[wanted], high[wanted], radius)
        if not np.isfinite(radius) or radius == 0:
            break
        wanted = wanted[np.isinf(found[wanted])]
        # beyond all edges in a row there is nothing
        radius = WIDER * radius if radius < lengths.sum() else np.inf
    return found


def group_units(size: int, edges: Int) -> Int:
    """Return the number of the connected part that each unit is in, (K,)."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_matrix(size, edges, np.ones(len(edges))), directed=False)
    return np.asarray(part, np.int64)


def _search(
    matrix: csr_array[np.float64],
    sources: Int,
    targets: Int,
    radius: float,
) -> Float:
    """Return the path lengths within a radius, (P,), inf beyond."""
    from scipy.sparse.csgraph import dijkstra

    asking, nth = np.unique(sources, return_inverse=True)
    order = np.argsort(nth, kind="stable")
    sorted_nth = nth[order]
    found = np.empty(len(sources))
    step = max(1, SEARCH_BLOCK // matrix.shape[0])
    for start in range(0, len(asking), step):
        units = asking[start : start + step]
        block = dijkstra(matrix, directed=False, indices=units, limit=radius)
        first, last = np.searchsorted(sorted_nth, (start, start + step))
        chosen = order[first:last]
        found[chosen] = block[nth[chosen] - start, targets[chosen]]
    return found


def _matrix(size: int, edges: Int, lengths: Float) -> csr_array[np.float64]:
    from scipy.sparse import csr_array

    ends = edges.astype(np.int64)
    stored = lengths.astype(np.float64), (ends[:, 0], ends[:, 1])
    return csr_array(stored, shape=(size, size))

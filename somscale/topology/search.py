"""Hops over a user's graph, found by searching it from the units that occur.

scipy.sparse takes a noticeable time to import and only user graphs need it, so
it is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from somscale.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["hops_between", "hops_from", "max_hops", "require_connected"]

SEARCH_BLOCK: Final = 2**22  # hops held at once by the searches from several units


def require_connected(size: int, pairs: NDArray[np.int64]) -> None:
    """Raise `InputError` naming two units that no path joins."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_matrix(size, pairs), directed=False)
    apart = np.flatnonzero(part != part[0])
    if apart.size:
        raise InputError(
            f"edges leave the {size} units in {part.max() + 1} separate parts: no path joins "
            f"units 0 and {apart[0]}; add the missing edges, or evaluate each part as its own map."
        )


def hops_from(
    size: int, pairs: NDArray[np.int64], sources: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the hops from each source to every unit, (sources, K)."""
    from scipy.sparse.csgraph import dijkstra

    matrix = _matrix(size, pairs)
    hops: NDArray[np.float64] = dijkstra(matrix, directed=False, indices=sources, unweighted=True)
    return hops


def hops_between(
    size: int, pairs: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the hops between units `i` and `j`, broadcast."""
    if j.size < i.size:  # hops are symmetric: search from the fewer
        i, j = j, i
    sources, nth = np.unique(i, return_inverse=True)
    nth, targets = np.broadcast_arrays(nth.reshape(i.shape), j)
    shape, nth, targets = nth.shape, nth.ravel(), targets.ravel()
    by_source = np.argsort(nth, kind="stable")
    sorted_nth = nth[by_source]
    hops = np.empty(nth.size)
    step = max(1, SEARCH_BLOCK // size)
    for start in range(0, sources.size, step):
        block = hops_from(size, pairs, sources[start : start + step])
        first, last = np.searchsorted(sorted_nth, (start, start + step))
        chosen = by_source[first:last]
        hops[chosen] = block[nth[chosen] - start, targets[chosen]]
    return hops.reshape(shape)[()]


def max_hops(size: int, pairs: NDArray[np.int64]) -> float:
    """Return the most hops between any two units."""
    units = np.arange(size)
    step = max(1, SEARCH_BLOCK // size)
    blocks = (units[start : start + step] for start in range(0, size, step))
    return max(float(hops_from(size, pairs, block).max()) for block in blocks)


def _matrix(size: int, pairs: NDArray[np.int64]) -> csr_array[np.int8]:
    """Return the edges as a sparse matrix, each stored once."""
    from scipy.sparse import csr_array

    ones = np.ones(len(pairs), np.int8)
    return csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(size, size))

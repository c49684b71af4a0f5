"""Distances between code vectors, by direct differences and never more at hand than a block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from somscale._types import Float, Int

__all__ = ["code_distances", "distance_rows"]

_BLOCK_VALUES = 1 << 20
"""Differences, or distances, at hand at a time: 8 MiB."""


def code_distances(codes: Float, i: Int, j: Int, *, squared: bool = False) -> Float:
    """Distances ‖m_i − m_j‖ of pairs of units, or their squares, (P,)."""
    squares = np.empty(len(i))
    step = max(1, _BLOCK_VALUES // codes.shape[1])
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        moves = codes[i[block]] - codes[j[block]]
        squares[block] = np.einsum("pd,pd->p", moves, moves)
    return squares if squared else np.sqrt(squares)


def distance_rows(codes: Float) -> Iterator[tuple[slice, Float]]:
    """Some units at a time, and the distances from them to all units, (b, K)."""
    from scipy.spatial.distance import cdist

    step = max(1, _BLOCK_VALUES // len(codes))
    for start in range(0, len(codes), step):
        rows = slice(start, min(start + step, len(codes)))
        yield rows, cdist(codes[rows], codes)

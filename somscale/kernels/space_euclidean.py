"""Loops of the Euclidean space; imported only when a distance is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import REASSOCIATED, compiled, compiled_with

__all__ = ["direct_squares", "finish_products", "square_between"]


@compiled_with(REASSOCIATED)
def square_between(left: Any, right: Any, weights: Any) -> float:
    """Σ v (x − y)², in vectors; the same whichever of the two comes first."""
    total = 0.0
    for f in range(left.shape[0]):
        difference = np.float64(left[f]) - np.float64(right[f])
        square = difference * difference
        if weights is not None:
            square *= weights[f]
        total += square
    return total


@compiled
def finish_products(
    left: Any,
    right: Any,
    left_norms: Any,
    right_norms: Any,
    weights: Any,
    doubtful: float,
    root: bool,
    out: Any,
) -> None:
    """Turn scalar products of centred samples into (squared) distances of the raw ones.

    The loop over the pairs of a row runs in vectors and counts the doubtful ones; a second
    finds these in the rows that have any.  One loop over NumPy's whole-array steps would
    read the tile six times.
    """
    for i in range(out.shape[0]):
        norm, row = left_norms[i], out[i]
        doubts = 0
        if root:
            for j in range(row.shape[0]):
                norms = norm + right_norms[j]
                square = norms - 2.0 * row[j]
                doubts += square < doubtful * norms
                row[j] = np.sqrt(square if square > 0.0 else 0.0)
        else:
            for j in range(row.shape[0]):
                norms = norm + right_norms[j]
                square = norms - 2.0 * row[j]
                doubts += square < doubtful * norms
                row[j] = square
        if doubts > 0:
            for j in range(row.shape[0]):
                square = row[j] * row[j] if root else row[j]
                if square < doubtful * (norm + right_norms[j]):
                    square = square_between(left[i], right[j], weights)
                    row[j] = np.sqrt(square) if root else square


@compiled
def direct_squares(left: Any, right: Any, weights: Any, root: bool, out: Any) -> None:
    """Write Σ v (x − y)² in feature order; `right` is (D, m) so that pairs run in vectors.

    Its 0.15 ns a pair and feature are what three operations in vectors of four cost.
    """
    # without fastmath nothing is fused or reassociated: these are the sums of cdist
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for f in range(right.shape[0]):
            value = np.float64(left[i, f])
            for j in range(out.shape[1]):
                difference = value - right[f, j]
                square = difference * difference
                if weights is not None:
                    square *= weights[f]
                out[i, j] += square
        if root:
            for j in range(out.shape[1]):
                out[i, j] = np.sqrt(out[i, j])

"""Compiled products of features, which other compiled loops call."""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = ["add_products"]

_ROWS = 64  # of 1,000 features take 512 kB: they stay in the second cache as features go by


@compiled
def add_products(points: Any, weights: Any, products: Any) -> None:
    """Add the upper triangle of w z zᵀ of some rows to `products`, row of the matrix by row.

    Each sum takes the rows one after the other, so a tile's sums have the same bits
    however its rows are split; a BLAS product of two parts has not.  Within the rows of
    a block four are added at a time, which runs in vectors over the features: 10 GFlop/s
    on a core where that BLAS, which may fuse and reorder, reaches 16 (D = 200).
    """
    n_rows, n_features = points.shape
    for top in range(0, n_rows, _ROWS):
        bottom = min(top + _ROWS, n_rows)
        start = 0
        for a in range(n_features):
            width = n_features - a
            row = products[start : start + width]
            start += width
            i = top
            while i + 4 <= bottom:
                p, q, r, s = points[i, a:], points[i + 1, a:], points[i + 2, a:], points[i + 3, a:]
                p0, q0 = weights[i] * p[0], weights[i + 1] * q[0]
                r0, s0 = weights[i + 2] * r[0], weights[i + 3] * s[0]
                for b in range(width):
                    total = row[b] + p0 * p[b]
                    total += q0 * q[b]
                    total += r0 * r[b]
                    row[b] = total + s0 * s[b]
                i += 4
            while i < bottom:
                p = points[i, a:]
                p0 = weights[i] * p[0]
                for b in range(width):
                    row[b] += p0 * p[b]
                i += 1

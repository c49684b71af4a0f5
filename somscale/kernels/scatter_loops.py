"""Compiled sums of products of features, imported only by the reduction that calls them."""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled
from somscale.kernels.product_loops import add_products

__all__ = ["add_scatter"]


@compiled
def add_scatter(points: Any, weights: Any, whole: Any, sums: Any, products: Any) -> None:
    """Add w, w z and the upper triangle of w z zᵀ of some rows to their sums.

    Each sum takes the rows one after the other, so that a tile's sums have the same bits
    however its rows are split.
    """
    n_rows, n_features = points.shape
    for i in range(n_rows):
        whole[0] += weights[i]
        for f in range(n_features):
            sums[f] += weights[i] * points[i, f]
    add_products(points, weights, products)

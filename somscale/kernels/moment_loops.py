"""Compiled sums of the fourth moments, imported only by the reduction that calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled
from somscale.kernels.product_loops import add_products

__all__ = ["add_fourth_moments"]


@compiled
def add_fourth_moments(
    points: Any, squares: Any, sums: Any, powers: Any, skew: Any, products: Any
) -> None:
    """Add z, q, q², q z and the upper triangle of z zᵀ of some rows to their sums.

    Each sum takes the rows one after the other, so a tile's sums have the same bits
    however its rows are split.
    """
    n_rows, n_features = points.shape
    first, second = powers[0], powers[1]
    for i in range(n_rows):
        square = squares[i]
        first += square
        second += square * square
        for f in range(n_features):
            sums[f] += points[i, f]
            skew[f] += square * points[i, f]
    powers[0], powers[1] = first, second
    add_products(points, np.ones(n_rows), products)

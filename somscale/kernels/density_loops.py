"""Compiled squares of distances to every code, imported only by the reduction that calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["add_to_all"]


@compiled
def add_to_all(values: Any, codes: Any, weights: Any, squares: Any) -> None:
    """Add v (x − m)² of some features to the squares of each sample and each code, (n, K).

    `codes` is (f, K), so that the innermost loop runs in vectors.  Features are added one
    after the other: no cut of them changes a digit.  Those that are nan add nothing.
    """
    for i in range(values.shape[0]):
        own = squares[i]
        for f in range(values.shape[1]):
            x = np.float64(values[i, f])
            if np.isnan(x):
                continue
            weight = weights[f]
            for k in range(own.shape[0]):
                move = x - codes[f, k]
                own[k] += move * move * weight

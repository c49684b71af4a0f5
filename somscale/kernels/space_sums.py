"""Loops of the spaces whose distances are sums or extremes over features, in feature order.

`left` is (n, D), `right` (D, m) in float64, so that the pairs run in vectors; without
fastmath nothing is fused or reassociated, and the results are those of scipy's cdist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["chebyshev", "cityblock", "minkowski"]


@compiled
def cityblock(left: Any, right: Any, out: Any) -> None:
    """Write Σ |x − y|."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for f in range(right.shape[0]):
            value = np.float64(left[i, f])
            for j in range(out.shape[1]):
                out[i, j] += abs(value - right[f, j])


@compiled
def chebyshev(left: Any, right: Any, out: Any) -> None:
    """Write max |x − y|."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for f in range(right.shape[0]):
            value = np.float64(left[i, f])
            for j in range(out.shape[1]):
                # NumPy's maximum becomes one of vectors; Python's and a comparison do not
                out[i, j] = np.maximum(out[i, j], abs(value - right[f, j]))


@compiled
def minkowski(left: Any, right: Any, p: float, factors: int, safe: float, out: Any) -> None:
    """Write (Σ |x − y|^p)^(1/p); `factors` is p where powers are products, else 0.

    Sums beyond `safe` or below its inverse are taken again of shares of the largest
    difference: there powers overflow, or vanish although the samples differ.
    """
    differences, powers = np.empty(out.shape[1]), np.empty(out.shape[1])
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for f in range(right.shape[0]):
            value = np.float64(left[i, f])
            for j in range(out.shape[1]):
                differences[j] = abs(value - right[f, j])
                powers[j] = differences[j]
            if factors == 0:
                for j in range(out.shape[1]):
                    powers[j] = differences[j] ** p
            for _ in range(factors - 1):
                for j in range(out.shape[1]):
                    powers[j] *= differences[j]
            for j in range(out.shape[1]):
                out[i, j] += powers[j]
        for j in range(out.shape[1]):
            if out[i, j] > safe or out[i, j] < 1.0 / safe:
                out[i, j] = _by_shares(left[i], right[:, j], p)
            else:
                out[i, j] = out[i, j] ** (1.0 / p)


@compiled
def _by_shares(left: Any, right: Any, p: float) -> Any:
    largest = 0.0
    for f in range(left.shape[0]):
        largest = max(largest, abs(np.float64(left[f]) - right[f]))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for f in range(left.shape[0]):
        total += (abs(np.float64(left[f]) - right[f]) / largest) ** p
    return largest * total ** (1.0 / p)

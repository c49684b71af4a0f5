"""Loops of the cosine and correlation spaces; imported only when a distance is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled
from somscale.kernels.space_euclidean import square_between

__all__ = ["FINE", "NOT_FINITE", "NO_LENGTH", "finish_cosines", "unit_rows"]

FINE, NOT_FINITE, NO_LENGTH = 0, 1, 2


@compiled
def unit_rows(values: Any, centred: bool, constant: float, out: Any, found: Any) -> None:
    """Write each row at length 1, less its mean if `centred`, and what was found there.

    Rows are first brought to about 1 by a power of two, so that no square overflows or
    vanishes.  They are centred from their first value on: that difference is exact where
    all values are close to each other and far from 0.  A centred row whose values differ
    by no more than `constant` of the largest has no length.
    """
    for i in range(values.shape[0]):
        found[i] = FINE
        largest, low, high = 0.0, np.inf, -np.inf
        for f in range(values.shape[1]):
            value = np.float64(values[i, f])
            if not np.isfinite(value):
                found[i] = NOT_FINITE
            largest, low, high = max(largest, abs(value)), min(low, value), max(high, value)
        if found[i] == FINE and (largest == 0.0 or (centred and high - low <= constant * largest)):
            found[i] = NO_LENGTH
        if found[i] != FINE:
            continue
        exponent = math.frexp(largest)[1]
        half = exponent // 2  # 2 to the power of the whole would overflow for tiny values
        first, second = math.ldexp(1.0, -half), math.ldexp(1.0, half - exponent)
        start = np.float64(values[i, 0]) * first * second if centred else 0.0
        mean = 0.0
        for f in range(values.shape[1]):
            out[i, f] = np.float64(values[i, f]) * first * second - start
            mean += out[i, f]
        mean = mean / values.shape[1] if centred else 0.0
        square = 0.0
        for f in range(values.shape[1]):
            out[i, f] -= mean
            square += out[i, f] * out[i, f]
        length = np.sqrt(square)
        for f in range(values.shape[1]):
            out[i, f] /= length


@compiled
def finish_cosines(left: Any, right: Any, doubtful: float, out: Any) -> None:
    """Turn scalar products of unit vectors into 1 − cos, the small ones as ‖a − b‖²/2."""
    for i in range(out.shape[0]):
        doubts = 0
        for j in range(out.shape[1]):
            distance = 1.0 - out[i, j]
            doubts += distance < doubtful
            out[i, j] = distance if distance < 2.0 else 2.0
        if doubts > 0:
            for j in range(out.shape[1]):
                if out[i, j] < doubtful:
                    out[i, j] = 0.5 * square_between(left[i], right[j], None)

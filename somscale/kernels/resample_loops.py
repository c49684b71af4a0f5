"""The compiled loop of bootstrap sums, imported only by the kernel that calls it."""

from __future__ import annotations

from typing import Any, Final

from somscale.kernels.compiling import compiled

__all__ = ["add_resampled", "count_resampled"]

_ROWS: Final = 64  # samples whose values stay in the nearest cache while all resamples take them


@compiled
def add_resampled(weights: Any, values: Any, sums: Any) -> None:
    """Add each sample's values, as often as it occurs, to the sums of every resample."""
    n_rows, n_terms = values.shape
    for start in range(0, n_rows, _ROWS):
        stop = min(start + _ROWS, n_rows)
        for r in range(weights.shape[0]):
            for i in range(start, stop):
                often = weights[r, i]
                if often == 0:
                    continue
                for t in range(n_terms):
                    sums[r, t] += often * values[i, t]


@compiled
def count_resampled(weights: Any, keys: Any, counts: Any) -> None:
    """Count each sample's key, as often as it occurs, in the table of every resample."""
    for r in range(weights.shape[0]):
        for i in range(len(keys)):
            if keys[i] >= 0:
                counts[r, keys[i]] += weights[r, i]

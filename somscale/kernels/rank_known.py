"""Distances of listed pairs in another space, taken from the blocks in which samples come."""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled
from somscale.kernels.rank_near import square_of

__all__ = ["carry_listed"]


@compiled
def carry_listed(
    others: Any,
    counts: Any,
    keys: Any,
    first: int,
    left: Any,
    right: Any,
    weights: Any,
    carried: Any,
) -> None:
    """Write δ of those listed pairs whose sample is in a block.

    Parameters
    ----------
    others : (p, k) integer
        Numbers of the listed samples, `counts` of each row.
    keys : (p, b) float64
        δ to the samples from number `first` on, unless there are values.
    left, right : (p, D), (b, D)
        Values from which δ is computed anew; D = 0: keys are δ.
    carried : (p, k) float64
        Written to.
    """
    anew = right.shape[1] > 0
    width = right.shape[0] if anew else keys.shape[1]
    for p in range(others.shape[0]):
        for q in range(counts[p]):
            column = others[p, q] - first
            if column < 0 or column >= width:
                continue
            if anew:
                carried[p, q] = square_of(left[p], right[column], weights)
            else:
                carried[p, q] = keys[p, column]

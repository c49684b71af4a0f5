"""Compiled sums of samples that lack some features, imported only by their reduction."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["add_held", "add_partial"]


@compiled
def add_held(values: Any, feature_weights: Any, held: Any) -> None:
    """Add the weights of the features that each row has, in feature order."""
    for i in range(values.shape[0]):
        total = held[i]
        for f in range(values.shape[1]):
            if not np.isnan(np.float64(values[i, f])):
                total += feature_weights[f]
        held[i] = total


@compiled
def add_partial(
    values: Any,
    codes: Any,
    best: Any,
    factors: Any,
    residuals: Any,
    masses: Any,
    scaled_residuals: Any,
    scaled_masses: Any,
    squares: Any,
    feature_weights: Any,
    sample_weights: Any,
) -> None:
    """Add x − m of the features that samples have to their units, as it is and times factors.

    Rows are taken one after the other, as :func:`somscale.kernels.loops.add_residuals`
    does, so that any cut of them gives the same bits.
    """
    for i in range(values.shape[0]):
        unit = best[i]
        if unit < 0:
            continue
        weight = 1.0
        if sample_weights is not None:
            weight = sample_weights[i]
        scaled = weight * factors[i]
        total = squares[i]
        for f in range(values.shape[1]):
            residual = np.float64(values[i, f]) - codes[unit, f]
            if np.isnan(residual):
                continue
            residuals[unit, f] += weight * residual
            masses[unit, f] += weight
            scaled_residuals[unit, f] += scaled * residual
            scaled_masses[unit, f] += scaled
            total += residual * residual * feature_weights[f]
        squares[i] = total

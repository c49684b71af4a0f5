"""The compiled loop of the stochastic algorithm, imported only by the training that runs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["KERNEL_NUMBERS", "learn"]

_GAUSSIAN, _GAUSSIAN_HALF, _WINDOW, _TRIANGULAR = range(4)
KERNEL_NUMBERS = {
    "gaussian": _GAUSSIAN,
    "gaussian_half": _GAUSSIAN_HALF,
    "window": _WINDOW,
    "triangular": _TRIANGULAR,
}


@compiled
def _weigh(delta: float, temperature: float, kernel: int) -> float:
    """The neighbourhood kernels of :mod:`somscale.topology`, one value at a time."""
    if kernel == _WINDOW:
        return 1.0 if delta <= temperature else 0.0
    share = delta / temperature
    if kernel == _TRIANGULAR:
        return max(0.0, 1.0 - share)
    square = share * share
    return float(np.exp(-square if kernel == _GAUSSIAN else -square / 2))


@compiled
def learn(
    values: Any,
    codes: Any,
    levels: Any,
    places: Any,
    kernel: int,
    temperatures: Any,
    rates: Any,
    feature_weights: Any,
    sample_weights: Any,
    whole: Any,
    sums: Any,
) -> None:
    """Move the codes towards samples, one sample after the other.

    Parameters
    ----------
    values : (n, D) float64
        Samples in the order in which they are learnt; features that are nan are passed over.
    codes : (D, K) float64
        Code vectors, a column a unit, so that loops over units run in vectors; updated.
    levels : (U,) float64
        The distances on the map that occur.
    places : (K, K) integer
        Which of them each pair of units has.
    kernel : int
        One of `KERNEL_NUMBERS`.
    temperatures, rates : (n,) float64
        Of every step.
    feature_weights : (D,) float64
        Weights v of squared differences.
    sample_weights : (n,) float64, optional
        A sample of weight w moves codes as w steps in a row would.
    whole : float, optional
        Σ v of all features, to which partial distances are scaled.
    sums : (3,) float64
        Σ w, Σ w d and Σ w Σ_k h d² of the samples as they came; updated.

    Notes
    -----
    Squares are added in feature order, and ties go to the lowest unit.
    """
    n_features, n_units = codes.shape
    n_levels = len(levels)
    squares, pulls = np.empty(n_units), np.empty(n_units)
    by_level = np.empty(n_levels)
    few = n_levels <= n_units
    for i in range(values.shape[0]):
        held = 0.0
        squares[:] = 0.0
        for f in range(n_features):
            value = values[i, f]
            if np.isnan(value):
                continue
            weight = feature_weights[f]
            held += weight
            row = codes[f]
            for k in range(n_units):
                difference = value - row[k]
                squares[k] += difference * difference * weight
        best = 0
        for k in range(1, n_units):
            if squares[k] < squares[best]:
                best = k
        if few:
            for level in range(n_levels):
                by_level[level] = _weigh(levels[level], temperatures[i], kernel)
            for k in range(n_units):
                pulls[k] = by_level[places[best, k]]
        else:
            for k in range(n_units):
                pulls[k] = _weigh(levels[places[best, k]], temperatures[i], kernel)
        scale = 1.0
        if whole is not None:
            scale = whole / held
        distortion = 0.0
        for k in range(n_units):
            distortion += pulls[k] * squares[k]
        times = 1.0
        if sample_weights is not None:
            times = sample_weights[i]
        sums[0] += times
        sums[1] += times * np.sqrt(squares[best] * scale)
        sums[2] += times * distortion * scale
        rate = rates[i]
        for k in range(n_units):
            pulls[k] *= rate
            if sample_weights is not None:
                pulls[k] = 1.0 - (1.0 - pulls[k]) ** times
        for f in range(n_features):
            value = values[i, f]
            if np.isnan(value):
                continue
            row = codes[f]
            for k in range(n_units):
                row[k] += pulls[k] * (value - row[k])

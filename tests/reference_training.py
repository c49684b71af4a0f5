"""What the tests of training compare with: both rules straight from their articles.

Nothing is quick or clever, and nothing is taken from somscale.  Samples are (N, D), codes
(K, D), δ is a (K, K) table; nan is a feature that a sample lacks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import reference
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def partial_squares(sample: Floats, codes: Floats, weights: Floats, whole: float) -> Floats:
    """V / V_i Σ v (x − m)² over the features that the sample has, (K,)."""
    has = ~np.isnan(sample)
    held = math.fsum(weights[has])
    return np.array(
        [math.fsum(weights[has] * (sample[has] - m[has]) ** 2) * whole / held for m in codes]
    )


def best_unit(squares: Floats) -> int:
    return int(np.flatnonzero(squares <= squares.min() * (1 + 1e-12))[0])


def weights_of_all(samples: Floats, weights: Any = None) -> tuple[Floats, float]:
    """Feature weights, and their sum over the features that some sample has."""
    v = np.ones(samples.shape[1]) if weights is None else np.asarray(weights, np.float64)
    return v, math.fsum(v[~np.isnan(samples).all(axis=0)])


def batch_epoch(
    samples: Floats,
    codes: Floats,
    delta: Floats,
    kernel: str,
    temperature: float,
    *,
    feature_weights: Any = None,
    sample_weights: Any = None,
) -> tuple[Floats, float, float]:
    """Codes after an epoch, and quantization error and distortion of the codes before it."""
    v, whole = weights_of_all(samples, feature_weights)
    w = np.ones(len(samples)) if sample_weights is None else np.asarray(sample_weights)
    h = reference.neighborhood(delta, kernel, temperature)
    squares = np.array([partial_squares(x, codes, v, whole) for x in samples])
    best = np.array([best_unit(row) for row in squares])
    updated = codes.copy()
    for k in range(len(codes)):
        for f in range(codes.shape[1]):
            pulls = (h[best, k] * w)[~np.isnan(samples[:, f])]
            values = samples[~np.isnan(samples[:, f]), f]
            if (mass := math.fsum(pulls)) > 0:
                updated[k, f] = math.fsum(pulls * values) / mass
    error = math.fsum(w * np.sqrt(squares[np.arange(len(w)), best])) / math.fsum(w)
    distortion = math.fsum((w[:, None] * h[best] * squares).ravel()) / math.fsum(w)
    return updated, error, distortion


def stochastic_epoch(
    samples: Floats,
    order: Any,
    codes: Floats,
    delta: Floats,
    kernel: str,
    temperatures: Any,
    rates: Any,
    *,
    feature_weights: Any = None,
    sample_weights: Any = None,
) -> Floats:
    """Algorithm 1 of Forest et al. 2020 over samples in a given order."""
    v, whole = weights_of_all(samples, feature_weights)
    codes = codes.copy()
    for i, temperature, rate in zip(order, temperatures, rates, strict=True):
        x, has = samples[i], ~np.isnan(samples[i])
        best = best_unit(partial_squares(x, codes, v, whole))
        pull = rate * reference.neighborhood(delta[[best]], kernel, temperature)[0]
        if sample_weights is not None:
            pull = 1 - (1 - pull) ** (sample_weights[i] / np.mean(sample_weights))
        for k in range(len(codes)):
            codes[k, has] += pull[k] * (x[has] - codes[k, has])
    return codes


def plane(samples: Floats, sample_weights: Any = None) -> tuple[Floats, Floats, Floats]:
    """Mean, first two axes and standard deviations along them."""
    w = np.ones(len(samples)) if sample_weights is None else np.asarray(sample_weights)
    mean = w @ samples / w.sum()
    away = (samples - mean) * np.sqrt(w / w.sum())[:, None]
    _, spread, axes = np.linalg.svd(away, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return mean, (axes * signs[:, None])[:2], spread[:2]

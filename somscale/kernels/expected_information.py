"""The expected divergence of a contingency table whose margins are kept and samples shuffled.

A cell of a table with margins a and b then holds n samples with hypergeometric
probability, of mean m = ab/N.  What it adds to the expected mutual information is
(ab/N²) E[h(n/m)] with h(r) = r log r − r + 1 ≥ 0: as E[n] = m, the terms −r + 1 change
nothing but take away the cancellation.  Imported only where it is called: it compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["add_expected_divergences"]

_PRODUCT_FITS = 1 << 31
"""Below this many samples a b fits 64 bits."""
_NEAR = 1 / 16
_NEGLIGIBLE = 1e-17
_CONCENTRATED = 1e-6
_MANY = 1e5


@compiled
def _divergence(delta: float) -> float:
    """h(1 + δ), accurate where δ is small too."""
    if abs(delta) > _NEAR:
        return (1 + delta) * np.log1p(delta) - delta if delta > -1 else 1.0
    total = 0.0
    for k in range(14, 1, -1):
        total = 1 / (k * (k - 1)) - delta * total
    return total * delta * delta


@compiled
def _from_moments(a: float, b: float, n: float) -> float:
    """E[h] from the central moments up to the fourth.

    The next terms are below v³/2 for the relative variance v = Var(n)/m².
    """
    mean = a * b / n
    spread = (n - a) * (n - b) / (a * b * (n - 1))
    third = spread * (n - 2 * a) * (n - 2 * b) / (n * (n - 2)) / mean
    within = a * (n - a) * b * (n - b)
    top = (n - 1) * n * n * (n * (n + 1) - 6 * a * (n - a) - 6 * b * (n - b))
    excess = (top + 6 * within * (5 * n - 6)) / (within * (n - 2) * (n - 3))
    fourth = spread * spread * (3 + excess)
    return spread / 2 - third / 6 + fourth / 12


@compiled
def _one_way(k: int, last: int, step: int, mean: Any, cell: Any, sums: Any) -> None:
    """Add probabilities relative to that of the first k, and their h, from there to `last`."""
    a, b, n = cell
    whole, fraction = mean
    weight, m = 1.0, whole + fraction
    while k != last:
        if step > 0:
            ratio = (float(a - k) / float(k + 1)) * (float(b - k) / float(n - a - b + k + 1))
        else:
            ratio = (float(k) / float(a - k + 1)) * (float(n - a - b + k) / float(b - k + 1))
        weight *= ratio
        k += step
        divergence = _divergence((float(k - whole) - fraction) / m)
        sums[0] += weight
        sums[1] += weight * divergence
        # the probabilities fall ever faster, so a geometric series bounds what is left
        if ratio < 1 and weight * (1 + divergence) * ratio <= _NEGLIGIBLE * (1 - ratio) * sums[1]:
            return


@compiled
def _expected_divergence(a: int, b: int, n: int, sums: Any) -> float:
    """E[h(n_jk / m)] of a cell with margins a and b of n samples."""
    if a == n or b == n:
        return 0.0
    m = float(a) * float(b) / float(n)
    spread = float(n - a) / float(a) * (float(n - b) / float(b)) / float(n - 1)
    if spread <= _CONCENTRATED and m >= _MANY:
        return _from_moments(float(a), float(b), float(n))
    if n < _PRODUCT_FITS:
        whole, fraction = a * b // n, float(a * b % n) / float(n)
    else:
        whole = int(m)
        fraction = m - whole
    # normalised by its own sum, which no logarithm of a factorial of N can spoil
    sums[0], sums[1] = 1.0, _divergence(-fraction / m)
    mean, cell = (whole, fraction), (a, b, n)
    _one_way(whole, min(a, b), 1, mean, cell, sums)
    _one_way(whole, max(0, a - (n - b)), -1, mean, cell, sums)
    return float(sums[1] / sums[0])


@compiled
def add_expected_divergences(
    a_sizes: Any, a_numbers: Any, b_sizes: Any, b_numbers: Any, n: int, totals: Any
) -> None:
    """Write Σ_b ab E[h] for every distinct row margin a, (A,), each with its multiplicity.

    A hundredth of what logarithms of factorials cost (N = 10⁷, 100 × 100), as only the
    terms around the mean are visited, and equal margins only once.
    """
    sums = np.zeros(2)
    for i in range(len(a_sizes)):
        total = 0.0
        for j in range(len(b_sizes)):
            expected = _expected_divergence(a_sizes[i], b_sizes[j], n, sums)
            total += float(b_numbers[j]) * float(b_sizes[j]) * expected
        totals[i] = float(a_numbers[i]) * float(a_sizes[i]) * total

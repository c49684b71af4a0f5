"""Sums over all pairs of samples of a map in closed form: work in pairs of units.

With the mean c_u of the n_u samples of unit u and their scatter S_u about it,
Σ_{i∈u, j∈v} ‖x_i − x_j‖² = n_u n_v ‖c_u − c_v‖² + n_v S_u + n_u S_v, and δ is one number
for all of these pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.pair_stats import PairTotals
from somscale.reductions.unit_stats import UnitStats
from somscale.topology import Grid

__all__ = ["map_pair_totals"]

_BLOCK_VALUES = 1 << 18
"""Distances on the map at hand at a time: 2 MiB, which stays in cache."""


def map_pair_totals(units: UnitStats, grid: Grid) -> PairTotals:
    """Those sums over pairs of samples that a map's statistics hold.

    Parameters
    ----------
    units : UnitStats
        What a pass over the samples found, without sample weights.
    grid : Grid
        The arrangement of its units.

    Returns
    -------
    PairTotals
        "d2", "d2e", "e", "e2", "e_max" and "e_max_possible", e being δ between the
        samples' units and d Euclidean.

    Notes
    -----
    K′² evaluations of δ and K′² (D + 2) multiplications for K′ units with samples, some
    rows of units at a time.  Σδ and Σδ² are rounded once while δ are integers and no
    unit's share reaches 2⁵³: exact where they are below that themselves.  Rounding moves
    Σ d²δ by a few ε max δ Σ d² at most, ε = 2⁻⁵³, which shows where δ between most units
    are smaller by orders than the largest.  Scatter is what Σ‖x − m_u‖² leaves about a
    unit's mean: samples that are farther from their codes than from each other lose digits.
    """
    alive = np.flatnonzero(units.hits)
    hits = units.hits[alive].astype(np.float64)
    means, scatter = _means(units, alive)
    # N Σ‖x − x̄‖², each unit's about the mean of all
    moment = hits * np.einsum("kd,kd->k", means, means) + scatter
    factors = np.column_stack([hits, moment, hits[:, None] * means])
    sums, squares, products, largest = [], [], [], 0.0
    for rows, delta in _upper_rows(grid, alive):
        near = delta @ factors[rows.start :]
        own = near[:, 0] * moment[rows] + hits[rows] * near[:, 1]
        own -= 2 * hits[rows] * np.einsum("kd,kd->k", means[rows], near[:, 2:])
        products += own.tolist()
        sums += (hits[rows] * near[:, 0]).tolist()
        largest = max(largest, float(delta.max()))
        np.multiply(delta, delta, out=delta)
        squares += (hits[rows] * (delta @ hits[rows.start :])).tolist()
    totals = {
        "d2": units.n_samples * math.fsum(moment),
        "d2e": max(math.fsum(products), 0.0),
        "e": math.fsum(sums),
        "e2": math.fsum(squares),
        "e_max": largest,
        "e_max_possible": grid.max_distance,
    }
    return PairTotals(units.n_samples, totals)


def _means(units: UnitStats, alive: Int) -> tuple[Float, Float]:
    """Means of some units' samples about the mean of all, (K′, D), and the scatter about each.

    Codes are told from one of them: far from 0 they would be rounded by more than they differ.
    """
    hits = units.hits[alive].astype(np.float64)
    own = units.residuals[alive] / hits[:, None]
    scatter = units.squares[alive] - hits * np.einsum("kd,kd->k", own, own)
    # what rounding leaves of one sample's scatter is nothing
    scatter[hits == 1] = 0.0
    means = units.codes[alive] - units.codes[alive[0]] + own
    means -= hits @ means / units.n_samples
    return np.asarray(means), np.asarray(np.maximum(scatter, 0.0))


def _upper_rows(grid: Grid, alive: Int) -> Iterator[tuple[slice, Float]]:
    """Some units at a time, and δ from them to themselves and all later ones, each pair once."""
    start = 0
    while start < len(alive):
        later = alive[start:]
        rows = slice(start, start + max(1, _BLOCK_VALUES // len(later)))
        block = alive[rows]
        delta = np.array(grid.distance(block[:, None], later), np.float64)
        square = delta[:, : len(block)]
        square[:] = np.triu(square)
        yield rows, delta
        start = rows.stop

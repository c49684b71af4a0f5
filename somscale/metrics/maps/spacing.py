"""Indices of a map's code vectors: as centres of clusters, and against the order of the grid."""

from __future__ import annotations

from typing import Final

import numpy as np

from somscale._types import Float
from somscale.metrics.code_distances import distance_rows
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["codebook_davies_bouldin", "map_distance_correlation"]

RANKED_UNITS: Final = 4_096
"""Units whose pairs are ranked at most: 8.4 million distances, some 400 MB at hand."""


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="Davies-Bouldin index of the code vectors",
    definition="mean over units with samples of max_v (s_u + s_v) / |m_u - m_v|, s the mean "
    "distance of a unit's samples to its code vector",
    direction="lower",
    source="Davies & Bouldin 1979, doi:10.1109/TPAMI.1979.4766909",
    undefined="fewer than two units with samples, and code vectors of such units that coincide",
)
def codebook_davies_bouldin(units: UnitStats) -> Value:
    """Davies-Bouldin index of the units as clusters, with code vectors as their centres.

    (1/K′) Σ_u max_v≠u (s_u + s_v) / ‖m_u − m_v‖ over the K′ units with samples, s_u
    being the mean distance of a unit's samples to its code vector.

    Notes
    -----
    The article leaves the centre of a cluster open; ``davies_bouldin_score`` of the
    best-matching units takes the means of their samples instead.  Undefined for fewer
    than two units with samples, and where two of them have the same code vector.
    """
    alive = np.flatnonzero(units.mass)
    if len(alive) < 2:
        return undefined("fewer than two units have samples")
    spread = units.distances[alive] / units.mass[alive]
    worst = np.empty(len(alive))
    for rows, apart in distance_rows(units.codes[alive]):
        own = np.arange(len(apart)), np.arange(rows.start, rows.stop)
        apart[own] = np.inf
        if (apart == 0).any():
            row, column = np.argwhere(apart == 0)[0]
            pair = alive[rows.start + row], alive[column]
            return undefined(f"the code vectors of units {pair[0]} and {pair[1]} coincide")
        worst[rows] = ((spread[rows, None] + spread) / apart).max(axis=1)
    return float(worst.mean())


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="rank correlation of map distances and code distances",
    definition="Spearman correlation of delta(u, v) and |m_u - m_v| over all pairs of units",
    direction="higher",
    lower=-1,
    upper=1,
    source="Bezdek & Pal 1995, An index of topological preservation for feature extraction, "
    "Pattern Recognition 28",
    undefined="distances that are all equal, and maps of fewer than 3 or more than 4,096 units",
    of_map_alone=True,
)
def map_distance_correlation(units: UnitStats, grid: Grid) -> Value:
    """Spearman correlation of distances on the map and distances of the code vectors.

    Over all K(K − 1)/2 pairs of units, those without samples too; equal distances share
    the mean of their ranks.

    Notes
    -----
    A value of the map alone: 1 where distances on the map and of the codes have the same
    order.  Undefined where all distances of either kind are equal.  The pairs are sorted,
    so that maps of more than 4,096 units are left out.
    """
    size = units.n_units
    if size > RANKED_UNITS:
        return undefined(f"the map has {size} units; pairs of at most {RANKED_UNITS} are ranked")
    if size < 3:
        return undefined("a map of fewer than three units has at most one pair of them")
    apart, delta = np.empty(size * (size - 1) // 2), np.empty(size * (size - 1) // 2)
    every, stop = np.arange(size), 0
    for rows, distances in distance_rows(units.codes):
        later = every > every[rows, None]
        start, stop = stop, stop + int(np.count_nonzero(later))
        apart[start:stop] = distances[later]
        delta[start:stop] = grid.distance(every[rows, None], every)[later]
    for what, values in (("on the map", delta), ("of the code vectors", apart)):
        if values.min() == values.max():
            return undefined(f"all distances {what} are equal")
    first, second = _centred_ranks(delta), _centred_ranks(apart)
    scale = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / scale, -1, 1))


def _centred_ranks(values: Float) -> Float:
    """Ranks about their mean; equal values share the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = last - (counts - 1) / 2  # of each group, from 1
    return np.asarray(ranks[group] - (len(values) + 1) / 2)

"""Indices of your own: declared in a few lines, they take part in every pass, plan and report.

A formula is a pure function of finished statistics; a decorator says of what it is an index and
what it needs, and gives back the public function, chunked and lazy like all others:

>>> import numpy as np
>>> import somscale as ss
>>> from somscale.extending import UnitStats, map_index
>>> @map_index(
...     needs=("units",),
...     long_name="Gini coefficient of the hits",
...     definition="mean absolute difference of two units' hits over twice their mean",
...     direction="lower",
...     upper=1.0,
...     source="Gini 1912, Variabilità e mutabilità",
... )
... def hit_inequality(units: UnitStats) -> float:
...     '''How unevenly the samples share the units.'''
...     hits = np.sort(units.hits)
...     ranks = np.arange(1, len(hits) + 1)
...     return float((2 * ranks - len(hits) - 1) @ hits / (len(hits) * hits.sum()))
>>> som = ss.codebook([[0.0], [1.0], [2.0], [3.0]], ss.Grid.chain(4))
>>> float(hit_inequality([[0.1], [0.2], [1.1], [2.9]], som))
0.375

Keyword-only arguments of the formula are its parameters, here and in ``ss.evaluate(…,
metrics={"name": ("hit_inequality", {…})})``.  What a formula may need, and gets in that order:

====================== ================================================ =====================
declared with          ``needs``                                        statistics
====================== ================================================ =====================
``map_index``          ``"units"``, ``"grid"``                          `UnitStats`, `Grid`
``projection_index``   ``"totals"`` with ``totals=`` naming its fields  `PairTotals`
``rank_index``         ranks, with ``tables=`` ("curves", …)            `RankStats`
``clusters_index``     ``"moments"``; ``"cluster_pairs"``               `MomentStats`;
                                                                        `ClusterPairs`
``partition_index``    the table of labels × clusters                   `Contingency`
``units_index``        that table of a map's units, and ``"grid"``      `Contingency`, `Grid`
====================== ================================================ =====================

A map's index is refused with ``missing="partial"`` unless it is declared ``with_gaps=True``: hits,
pairs of best units, squares and distances then hold what they say, by partial distance, while
`UnitStats.residuals` go over other samples in every feature.

A distance of your own needs no declaration: ``distance=`` takes any function of two blocks of
samples, (n, D) and (m, D), that returns their distances, (n, m).
"""

from __future__ import annotations

from somscale.metrics.public import (
    clusters_index,
    map_index,
    partition_index,
    projection_index,
    units_index,
)
from somscale.metrics.ranks.along import rank_index
from somscale.reductions.contingency import Contingency
from somscale.reductions.moment_stats import MomentStats
from somscale.reductions.pair_stats import ClusterPairs, PairTotals
from somscale.reductions.rank_stats import RankStats
from somscale.reductions.unit_stats import UnitStats
from somscale.topology import Grid

__all__ = [
    "ClusterPairs",
    "Contingency",
    "Grid",
    "MomentStats",
    "PairTotals",
    "RankStats",
    "UnitStats",
    "clusters_index",
    "map_index",
    "partition_index",
    "projection_index",
    "rank_index",
    "units_index",
]

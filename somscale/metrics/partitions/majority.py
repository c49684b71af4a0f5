"""Indices of the majority class of every cluster, or of every unit of a map."""

from __future__ import annotations

import numpy as np

from somscale._types import Int
from somscale.metrics.partitions.matching import largest_cells
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = ["entropy_sum", "nmco"]

_ELEND = "Elend & Kramer 2019, Self-organizing maps with convolutional layers, WSOM+'19"
_NONE = "no sample takes part"


@partition_index(
    long_name="normalised minor class occurrence",
    definition="share of samples that are not of their cluster's most frequent class",
    direction="lower",
    source=_ELEND,
    undefined="no sample that takes part",
)
def nmco(table: Contingency) -> Value:
    """Share of samples that are not of their unit's, or cluster's, most frequent class.

    Notes
    -----
    1 − ``purity``.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NONE)
    return (table.n_samples - int(_majorities(table).sum())) / table.n_samples


@partition_index(
    long_name="sum of majority log shares",
    definition="sum over clusters of - ln of the share of the most frequent class",
    direction="lower",
    upper=float("inf"),
    units="nats",
    source=_ELEND,
    undefined="no sample that takes part",
)
def entropy_sum(table: Contingency) -> Value:
    """Sum over units, or clusters, of −ln of the share of their most frequent class.

    Σ_k −ln(max_c n_ck / Σ_c n_ck), which the package SOMperf calls entropy.  It grows
    with the number of units, and counts them alike whatever their samples.

    Notes
    -----
    0 where every unit's samples are of one class.  ``unit_entropy`` is Shannon's entropy
    of the labels.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NONE)
    sizes = table.column_sums
    occupied = sizes > 0
    return float(np.log(sizes[occupied] / _majorities(table)[occupied]).sum())


def _majorities(table: Contingency) -> Int:
    """Samples of the most frequent class of each cluster."""
    return largest_cells(table, table.columns, table.shape[1])

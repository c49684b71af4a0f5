"""B-cubed scores: precision and recall of every sample's own cluster and class, averaged."""

from __future__ import annotations

import math

import numpy as np

from somscale._types import Int
from somscale.metrics.partitions.f_scores import check_beta, weights_of
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = ["bcubed_f_score", "bcubed_precision", "bcubed_recall"]

_SOURCE = (
    "Bagga & Baldwin 1998, Algorithms for scoring coreference chains; "
    "Amigó, Gonzalo, Artiles & Verdejo 2009, doi:10.1007/s10791-008-9066-8"
)
_NO_SAMPLE = "no sample takes part"
_SQUARE_FITS = 1 << 31


@partition_index(
    long_name="B-cubed precision",
    definition="mean over samples of the share of their cluster that is of their class",
    direction="higher",
    source=_SOURCE,
    undefined="no sample that takes part",
)
def bcubed_precision(table: Contingency) -> Value:
    """Mean over samples of the share of their own cluster that is of their own class.

    Notes
    -----
    (1/N) Σ_jk n_jk²/n_k.  Every sample counts itself, so singletons score 1.  Undefined
    without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    return _mean_share(table, table.columns, table.column_sums)


@partition_index(
    long_name="B-cubed recall",
    definition="mean over samples of the share of their class that is in their cluster",
    direction="higher",
    source=_SOURCE,
    undefined="no sample that takes part",
)
def bcubed_recall(table: Contingency) -> Value:
    """Mean over samples of the share of their own class that is in their own cluster.

    Notes
    -----
    (1/N) Σ_jk n_jk²/n_j.  Every sample counts itself.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    return _mean_share(table, table.rows, table.row_sums)


@partition_index(
    long_name="B-cubed F-score",
    definition="(1 + beta^2) P R / (beta^2 P + R) of B-cubed precision P and recall R",
    direction="higher",
    source=_SOURCE,
    check=check_beta,
    undefined="no sample that takes part",
)
def bcubed_f_score(table: Contingency, *, beta: float = 1.0) -> Value:
    """Weighted harmonic mean of the B-cubed precision and recall.

    Parameters
    ----------
    beta : float
        Weight of the recall, in units of the precision's, squared in the formula.

    Notes
    -----
    Of the averages, not the average of every sample's F.  Symmetric for β = 1; 1 for equal
    partitions only, if β > 0.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    precision = _mean_share(table, table.columns, table.column_sums)
    recall = _mean_share(table, table.rows, table.row_sums)
    precise, complete = weights_of(float(beta) * float(beta))
    return precision * recall / (precise * recall + complete * precision)


def _mean_share(table: Contingency, groups: Int, sizes: Int) -> float:
    """(1/N) Σ_g Σ n²/n_g over the cells of every group, rounded once a group."""
    exact = np.int64 if table.n_samples < _SQUARE_FITS else object
    squares = np.zeros(len(sizes), exact)
    np.add.at(squares, groups, table.counts.astype(exact) ** 2)
    filled = sizes > 0
    shares = (squares[filled] / sizes[filled].astype(exact)).astype(np.float64)
    return math.fsum(shares) / table.n_samples

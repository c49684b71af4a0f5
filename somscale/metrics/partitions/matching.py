"""Indices that match clusters with classes: by majority, one to one, or through the meet."""

from __future__ import annotations

import numpy as np

from somscale._types import Bool, Int
from somscale.metrics.public import partition_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency

__all__ = [
    "assigned_cells",
    "clustering_accuracy",
    "largest_cells",
    "purity",
    "split_join_distance",
]

_NO_SAMPLE = "no sample takes part"


@partition_index(
    long_name="purity",
    definition="share of samples that are of their cluster's most frequent class",
    direction="higher",
    source="Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, "
    "ISBN 978-0-521-86571-5",
)
def purity(table: Contingency) -> Value:
    """Share of samples that are of their cluster's most frequent class.

    Notes
    -----
    (1/N) Σ_k max_j n_jk.  Not symmetric, and 1 for singletons: compare it only between
    clusterings of equally many clusters.  1 − purity is the normalised misclassification
    (``nmco``).  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    return _sum_of_largest(table, table.columns, table.shape[1]) / table.n_samples


@partition_index(
    long_name="clustering accuracy",
    definition="share of samples in the best one-to-one assignment of clusters to classes",
    direction="higher",
    source="Meilă & Heckerman 2001, An experimental comparison of model-based clustering methods",
    undefined="no sample that takes part",
)
def clustering_accuracy(table: Contingency) -> Value:
    """Share of samples that the best one-to-one assignment of clusters to classes gets right.

    Notes
    -----
    (1/N) max_π Σ_j n_jπ(j) over the one-to-one assignments π of classes to clusters; where
    there are more of one than of the other, some stay alone.  Symmetric; 1 for equal
    partitions only; 1 − accuracy is the minimum matching distance.  The assignment is
    exact, by shortest augmenting paths over the cells that are not empty, in integers.
    Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    return int(table.counts[assigned_cells(table)].sum()) / table.n_samples


def assigned_cells(table: Contingency) -> Bool:
    """Which cells the best one-to-one assignment of rows to columns takes, (P,)."""
    from somscale.kernels.assignment import heaviest_assignment

    rows, columns, counts, shape = table.rows, table.columns, table.counts, table.shape
    if shape[0] <= shape[1]:
        return np.asarray(heaviest_assignment(rows, columns, counts, shape)[rows] == columns)
    # every row starts a search, so the shorter side is that of the rows
    order = np.argsort(columns, kind="stable")
    row_of = heaviest_assignment(columns[order], rows[order], counts[order], shape[::-1])
    return np.asarray(row_of[columns] == rows)


@partition_index(
    long_name="split-join distance",
    definition="2 N - sum over clusters of the largest n_jk - sum over classes of the largest n_jk",
    direction="lower",
    upper=float("inf"),
    units="samples",
    source="van Dongen 2000, Performance criteria for graph clustering and Markov cluster "
    "experiments, CWI report INS-R0012",
    undefined="no sample that takes part",
)
def split_join_distance(table: Contingency) -> Value:
    """Number of samples to move until each partition is the other's, by splits and joins.

    Notes
    -----
    2N − Σ_k max_j n_jk − Σ_j max_k n_jk, van Dongen's metric, below 2N.  Symmetric; 0 for
    equal partitions.  It is exact up to 2⁵³.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NO_SAMPLE)
    height, width = table.shape
    kept = _sum_of_largest(table, table.columns, width) + _sum_of_largest(table, table.rows, height)
    return float(2 * table.n_samples - kept)


def largest_cells(table: Contingency, groups: Int, n_groups: int) -> Int:
    """The largest cell of every row or column; 0 where all are empty."""
    largest = np.zeros(n_groups, np.int64)
    np.maximum.at(largest, groups, table.counts)
    return largest


def _sum_of_largest(table: Contingency, groups: Int, n_groups: int) -> int:
    return int(largest_cells(table, groups, n_groups).sum())

"""Indices of labels on a map: which classes a unit's samples have, and how classes lie."""

from __future__ import annotations

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.public import units_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.contingency import Contingency
from somscale.topology import Grid, group_units

__all__ = ["class_scatter_index", "label_distribution", "unit_entropy", "unit_label_entropy"]

_ELEND = "Elend & Kramer 2019, Self-organizing maps with convolutional layers, WSOM+'19"
_SHANNON = "Shannon 1948, doi:10.1002/j.1538-7305.1948.tb01338.x"
_NONE = "no sample takes part"


@units_index(
    long_name="class scatter index",
    definition="mean over classes of the number of connected groups of units that hold the class",
    direction="lower",
    lower=1,
    source=_ELEND,
    undefined="no sample that takes part",
)
def class_scatter_index(table: Contingency, grid: Grid) -> Value:
    """Mean number of groups of adjoining units into which the map scatters a class.

    A unit holds a class if some of its samples are of it; groups are the connected
    parts of the units that hold a class, by the grid's own neighbours.

    Notes
    -----
    The mean is over the classes that occur.  1 where each class lies in one piece.
    Undefined without samples.
    """
    classes = np.unique(table.rows)
    if not len(classes):
        return undefined(_NONE)
    # one node for each class in each unit; edges of the grid join nodes of one class
    width = table.shape[1]
    cells = table.rows * width + table.columns
    edges = _edges_of_cells(cells, width, grid)
    return float((int(group_units(len(cells), edges).max()) + 1) / len(classes))


@units_index(
    long_name="entropy of labels within units",
    definition="- sum_u n_u/N sum_c p_uc ln p_uc, p_uc the share of class c in unit u",
    direction="lower",
    units="nats",
    source=_SHANNON,
    undefined="no sample that takes part",
)
def unit_entropy(table: Contingency, grid: Grid) -> Value:
    """Shannon entropy of the labels within a unit, averaged over the samples.

    The hit-weighted mean of :func:`unit_label_entropy`, in nats: what is left to learn
    of a sample's class once its unit is known.

    Notes
    -----
    0 where every unit's samples are of one class; at most the logarithm of the number
    of classes.  ``entropy_sum`` is another index.  Undefined without samples.
    """
    if table.n_samples == 0:
        return undefined(_NONE)
    return float(_entropy_sums(table).sum() / table.n_samples)


@units_index(
    long_name="entropy of labels of each unit",
    definition="- sum_c p_uc ln p_uc, p_uc the share of class c among the samples of unit u",
    direction="lower",
    units="nats",
    dims=("unit",),
    source=_SHANNON,
    undefined="units without samples",
)
def unit_label_entropy(table: Contingency, grid: Grid) -> Value:
    """Shannon entropy of the labels of each unit's samples, in nats.

    Notes
    -----
    0 where a unit's samples are of one class.  nan for units without samples.
    """
    hits = table.column_sums
    sums, empty = _entropy_sums(table), np.full(len(hits), np.nan)
    return np.asarray(np.divide(sums, hits, out=empty, where=hits > 0))


@units_index(
    long_name="distribution of labels of each unit",
    definition="share of each class among the samples of a unit",
    direction="none",
    upper=1,
    dims=("unit", "class"),
    source="Vesanto 1999, SOM-based data visualization methods, Intelligent Data Analysis 3",
    undefined="units without samples",
)
def label_distribution(table: Contingency, grid: Grid) -> Value:
    """Share of each class among the samples of each unit.

    Along ``class``, whose coordinate holds the labels; shares of a unit add up to 1, and
    ``.idxmax("class")`` is each unit's majority label.

    Notes
    -----
    nan for units without samples.  Classes that no sample has are there with shares of
    0: unused categories, and the integers between the lowest and the highest label where
    labels are integers.
    """
    hits = table.column_sums
    shares = np.full(table.shape[::-1], np.nan)
    shares[hits > 0] = 0
    shares[table.columns, table.rows] = table.counts / hits[table.columns]
    return shares


def _entropy_sums(table: Contingency) -> Float:
    """−Σ_c n_uc ln(n_uc / n_u) of each unit, (K,)."""
    hits = table.column_sums
    sums = np.zeros(len(hits))
    # the logarithm of a share of 1 is +0, so that pure units have no -0
    parts = table.counts * np.log(hits[table.columns] / table.counts)
    np.add.at(sums, table.columns, parts)
    return sums


def _edges_of_cells(cells: Int, width: int, grid: Grid) -> Int:
    """Pairs of cells of one class in adjoining units, (E, 2), by their places; cells are sorted."""
    edges = grid.edges()
    # neighbours with a higher number, unit by unit
    first = np.searchsorted(edges[:, 0], np.arange(width + 1))
    units = cells % width
    counts = first[units + 1] - first[units]
    source = np.repeat(np.arange(len(cells)), counts)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    wanted = cells[source] - units[source] + edges[first[units[source]] + nth, 1]
    place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    there = cells[place] == wanted
    return np.stack([source[there], place[there]], axis=1)

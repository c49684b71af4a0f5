"""The structure that a map shows: heights between neighbours, and how samples use the units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from somscale._types import Float
from somscale.metrics.checks import check_flag, check_neighborhood
from somscale.metrics.code_distances import code_distances
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["hit_entropy", "u_matrix", "unit_heights"]


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="U-matrix height of each unit",
    definition="mean distance of a unit's code vector to those of its neighbours on the grid",
    direction="none",
    units="data",
    dims=("unit",),
    source="Ultsch & Siemon 1990, Kohonen's self organizing feature maps for exploratory data "
    "analysis, INNC'90",
    check=check_neighborhood,
    undefined="units without neighbours",
    of_map_alone=True,
)
def u_matrix(
    units: UnitStats, grid: Grid, *, neighborhood: Literal["edge", "vertex"] | None = None
) -> Value:
    """Mean distance of each unit's code vector to those of its neighbours on the grid.

    Ridges of it part the map into clusters.

    Parameters
    ----------
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`topographic_error`; by default the grid's own neighbours.

    Notes
    -----
    A value of the map alone: units without samples have one too.  nan for units without
    neighbours.
    """
    return unit_heights(units, grid, neighborhood)


def unit_heights(
    units: UnitStats, grid: Grid, neighborhood: Literal["edge", "vertex"] | None
) -> Float:
    """Mean distance of each unit's code vector to its neighbours', (K,); nan without any."""
    edges = grid.edges(neighborhood)
    lengths = code_distances(units.codes, *edges.T)
    sums, counts = np.zeros(units.n_units), np.zeros(units.n_units)
    for ends in edges.T:
        np.add.at(sums, ends, lengths)
        np.add.at(counts, ends, 1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))


def _check(parameters: Mapping[str, Any]) -> None:
    check_flag(parameters, "normalize")


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="entropy of the hits",
    definition="- sum_u p_u ln p_u, p_u the share of the samples whose best unit is u",
    direction="none",
    units="nats",
    source="Shannon 1948, doi:10.1002/j.1538-7305.1948.tb01338.x",
    check=_check,
    undefined="a map of one unit, where it is normalised",
    variants={("normalize", True): {"units": "1", "upper": 1}},
)
def hit_entropy(units: UnitStats, *, normalize: bool = False) -> Value:
    """Shannon entropy of the shares of the samples that the units have.

    H = −Σ_u p_u ln p_u in nats, p_u = n_u / N: 0 where one unit has all samples, and at
    most ln K, where all units have equally many.

    Parameters
    ----------
    normalize : bool
        Divide by ln K, the largest value on a map of K units.

    Notes
    -----
    exp(H) is the number of units in effective use.  The normalised form is undefined on
    a map of one unit.
    """
    if normalize and units.n_units < 2:
        return undefined("on a map of one unit the largest entropy is 0")
    shares = units.mass[units.mass > 0] / units.total
    # rounding takes it no further than the ends of its range
    largest = math.log(units.n_units)
    entropy = min(max(0.0, float(-(shares * np.log(shares)).sum())), largest)
    return entropy / largest if normalize else entropy

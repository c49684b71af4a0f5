"""Indices of how well a map keeps neighbours: from the best and second-best units."""

from __future__ import annotations

from typing import Literal

import numpy as np

from somscale._types import Float
from somscale.metrics.checks import check_neighborhood
from somscale.metrics.maps.quantization import per_hit
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["topographic_error", "unit_topographic_error"]

_KIVILUOTO = "Kiviluoto 1996, doi:10.1109/ICNN.1996.548907"


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic error",
    definition="share of samples whose two best units are not adjacent on the grid",
    direction="lower",
    upper=1,
    source=_KIVILUOTO,
    check=check_neighborhood,
    undefined="a map of one unit",
)
def topographic_error(
    units: UnitStats, grid: Grid, *, neighborhood: Literal["edge", "vertex"] | None = None
) -> Value:
    """Share of samples whose best and second-best unit are not adjacent on the grid.

    Adjacency is the grid's, never a comparison of a map distance with 1.

    Parameters
    ----------
    neighborhood : {"edge", "vertex"}, optional
        "edge": units that share an edge (4 on rectangular, 6 on hexagonal grids);
        "vertex": or a corner (8 on rectangular grids, as MiniSom counts).  By
        default the grid's own neighbours.

    Notes
    -----
    Undefined on a map of one unit, which has no second-best unit.
    """
    if units.n_units < 2:
        return undefined("a map of one unit has no second-best unit")
    return float(_errors(units, grid, neighborhood).sum() / units.total)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic error of each unit",
    definition="share of a unit's samples whose second-best unit is not adjacent to it",
    direction="lower",
    upper=1,
    dims=("unit",),
    source=_KIVILUOTO,
    check=check_neighborhood,
    undefined="units without samples, and a map of one unit",
)
def unit_topographic_error(
    units: UnitStats, grid: Grid, *, neighborhood: Literal["edge", "vertex"] | None = None
) -> Value:
    """Share of each unit's samples whose second-best unit is not adjacent to it.

    Parameters
    ----------
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`topographic_error`, which is the hit-weighted mean of this.

    Notes
    -----
    nan for units without samples, and on a map of one unit.
    """
    if units.n_units < 2:
        return np.full(units.n_units, np.nan)
    return per_hit(_errors(units, grid, neighborhood), units)


def _errors(units: UnitStats, grid: Grid, neighborhood: Literal["edge", "vertex"] | None) -> Float:
    """Samples of each unit whose second-best unit is not adjacent, (K,)."""
    apart = ~grid.adjacent(units.first, units.second, neighborhood)
    errors = np.zeros(units.n_units)
    np.add.at(errors, units.first[apart], units.pair_mass[apart])
    return errors

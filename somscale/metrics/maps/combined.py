"""Combined error: from a sample to its best unit, and on over the map to the second-best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from somscale._types import Float
from somscale.metrics.checks import check_flag, check_neighborhood
from somscale.metrics.code_distances import code_distances
from somscale.metrics.maps.quantization import per_hit
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats
from somscale.topology import Grid, path_lengths

__all__ = ["combined_error", "unit_combined_error"]

_KASKI = "Kaski & Lagus 1996, doi:10.1007/3-540-61510-5_136"
_SQUARED = {("squared", True): {"units": "data^2"}}


def _check(parameters: Mapping[str, Any]) -> None:
    check_neighborhood(parameters)
    check_flag(parameters, "squared")


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="combined error",
    definition="mean of |x - m_b1| + shortest path over the map from b1 to b2",
    direction="lower",
    units="data",
    source=_KASKI,
    check=_check,
    undefined="a map of one unit, and a grid without a path between two best units",
    variants=_SQUARED,
)
def combined_error(
    units: UnitStats,
    grid: Grid,
    *,
    squared: bool = False,
    neighborhood: Literal["edge", "vertex"] | None = None,
) -> Value:
    """Mean way from a sample to its best unit and on over the map to its second-best.

    (1/N) Σ_i [‖x_i − m_b1‖ + min Σ_p ‖m_p − m_p+1‖], the minimum over all paths from b1
    to b2 along the edges of the grid.

    Parameters
    ----------
    squared : bool
        Square every distance, of the sample and along the path, which is then the
        shortest in squares; so equation 6 of the survey by Forest et al. (2020,
        arXiv:2011.05847) has it.  By default not, as in the article and the SOM Toolbox.
    neighborhood : {"edge", "vertex"}, optional
        Where paths may lead, as in :func:`topographic_error`; by default along the
        grid's own neighbours.

    Notes
    -----
    At least the quantization error.  Undefined on a map of one unit, and on a grid
    that is not connected where no path joins the two best units of a sample.
    """
    if units.n_units < 2:
        return undefined("a map of one unit has no second-best unit")
    paths = _paths(units, grid, squared, neighborhood)
    astray = np.isnan(paths) & (units.pair_mass > 0)
    if astray.any():
        pair = int(np.argmax(astray))
        first, second = units.first[pair], units.second[pair]
        return undefined(f"no path over the map joins units {first} and {second}")
    return float(_sums(units, paths, squared).sum() / units.total)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="combined error of each unit",
    definition="mean over a unit's samples of |x - m_b1| + shortest path over the map to b2",
    direction="lower",
    units="data",
    dims=("unit",),
    source=_KASKI,
    check=_check,
    undefined="units without samples, a map of one unit, and units from which no path leads "
    "to a second-best unit",
    variants=_SQUARED,
)
def unit_combined_error(
    units: UnitStats,
    grid: Grid,
    *,
    squared: bool = False,
    neighborhood: Literal["edge", "vertex"] | None = None,
) -> Value:
    """Mean way from each unit's samples to its code vector and on to the second-best unit.

    Parameters
    ----------
    squared : bool
        As in :func:`combined_error`, which is the hit-weighted mean of this.
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`combined_error`.

    Notes
    -----
    nan for units without samples, on a map of one unit, and where no path over the map
    leads to the second-best unit of a sample.
    """
    if units.n_units < 2:
        return np.full(units.n_units, np.nan)
    return per_hit(_sums(units, _paths(units, grid, squared, neighborhood), squared), units)


def _sums(units: UnitStats, paths: Float, squared: bool) -> Float:
    """Distances to the best unit and lengths of paths, summed over each unit's samples, (K,)."""
    sums = (units.squares if squared else units.distances).copy()
    # pairs of samples without weight count for nothing, even where no path joins them
    np.add.at(sums, units.first, np.where(units.pair_mass > 0, units.pair_mass * paths, 0))
    return sums


def _paths(
    units: UnitStats, grid: Grid, squared: bool, neighborhood: Literal["edge", "vertex"] | None
) -> Float:
    """Length of the shortest path of every pair that occurs, (P,); nan where none leads."""
    key = ("combined", grid, squared, neighborhood)
    if key not in units.derived:
        units.derived[key] = _find_paths(units, grid, squared, neighborhood)
    return units.derived[key]


def _find_paths(
    units: UnitStats, grid: Grid, squared: bool, neighborhood: Literal["edge", "vertex"] | None
) -> Float:
    edges = grid.edges(neighborhood)
    lengths = code_distances(units.codes, *edges.T, squared=squared)
    found = np.empty(len(units.first))
    # no way round is shorter than the edge itself, unless steps are squared
    direct = np.zeros(len(units.first), bool)
    if not squared:
        direct = grid.adjacent(units.first, units.second, neighborhood)
        ends = units.first[direct], units.second[direct]
        found[direct] = code_distances(units.codes, *ends)
    ends = units.first[~direct], units.second[~direct]
    found[~direct] = path_lengths(units.n_units, edges, lengths, *ends)
    return found

"""Where the units of a map are drawn, their shape, and where the map goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from somscale.codebook import as_map
from somscale.errors import InputError
from somscale.plot.cells import cells_of, is_lattice
from somscale.reporting.result import Result
from somscale.topology import Grid

__all__ = ["Cells", "grids_of", "unit_cells"]

_LATTICES: Final = ("rectangular", "hexagonal", "chain")
_ANGLES: Final = np.deg2rad(30 + 60 * np.arange(6))


@dataclass(frozen=True)
class Cells:
    """Places of units and their outline.

    Attributes
    ----------
    x, y : (K,) float
        Centres; y grows with the row.
    corners : (m, 2) float or None
        Corners about a centre; None for squares of side 1.
    seams : list of (n, 2) float
        Lines along the border of a map that goes on there at the other side.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    corners: NDArray[np.float64] | None
    seams: Sequence[NDArray[np.floating[Any]]] = field(default_factory=list)


def unit_cells(grid: Grid) -> Cells:
    """Cells of a grid: squares, hexagons, or small hexagons at the places of a graph's units."""
    x, y = np.asarray(grid.positions, dtype=float).T
    corners = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1) / np.sqrt(3)
    if not is_lattice(grid):
        return Cells(x, y, 0.7 * corners)
    seams = cells_of(grid).glued()
    return Cells(x, y, corners if grid.topology == "hexagonal" else None, seams)


def grids_of(result: Result, projection: Mapping[str, Any]) -> list[Grid | None]:
    """The grid of each candidate: the map's, or what the result knows of it.

    Raises
    ------
    InputError
        A map has another number of units than the result.
    """
    return [
        _grid_of(result, place, projection.get(name)) for place, name in enumerate(result.heads)
    ]


def _grid_of(result: Result, place: int, som: Any) -> Grid | None:
    units = _units(result, place)
    if som is not None:
        grid = as_map(som).grid
        if units is not None and grid.size != units:
            raise InputError(
                f"the map has {grid.size:,} units, and the result is of one with {units:,}; give "
                "the map that was judged"
            )
        return grid
    known = result.attribute("grids")
    spec = known.get((result.names or ["projection"])[place])
    if isinstance(spec, dict) and spec.get("topology") in _LATTICES:
        return Grid.from_spec(spec)
    return None if units is None else _by_rows(result, units)


def _units(result: Result, place: int) -> int | None:
    if "n_units" in result.q:
        return int(result.q["n_units"].values[place])
    return result.q.sizes.get("unit")


def _by_rows(result: Result, units: int) -> Grid | None:
    """A rectangle, where rows and columns of units are all that is known."""
    if not {"row", "col"} <= set(result.q.coords):
        return None
    rows, cols = (int(result.q[name].max()) + 1 for name in ("row", "col"))
    return Grid(rows, cols) if rows * cols == units else None

"""The cells of a map: true hexagons, squares, or discs, as polygons that fit without a gap.

Corners are whole numbers of steps, so that cells that adjoin share their corners exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["Cells", "cells_between", "cells_of", "discs_of", "is_lattice", "steps_along"]

# Corners of a cell round its centre, anticlockwise, and where the cell across the side lies
# that goes on from each corner.  Steps of a hexagon: half its width, and half its side.
_HEXAGON: Final = np.array([(1, 1), (0, 2), (-1, 1), (-1, -1), (0, -2), (1, -1)])
_ACROSS_HEXAGON: Final = np.array([(1, 3), (-1, 3), (-2, 0), (-1, -3), (1, -3), (2, 0)])
_SQUARE: Final = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
_ACROSS_SQUARE: Final = np.array([(0, 2), (-2, 0), (0, -2), (2, 0)])
_DISC_CORNERS: Final = 32


@dataclass(frozen=True)
class Cells:
    """Cells of a lattice.

    Attributes
    ----------
    centers : (M, 2) int
        Centres in steps.
    hexagonal : bool
        Hexagons, not squares.
    scale : float
        Width of a cell, in columns of the map.
    periods : (2,) int
        Steps round the map along x and y; 0 where it does not wrap.
    """

    centers: Int
    hexagonal: bool
    scale: float
    periods: Int

    @property
    def step(self) -> Float:
        """Length of a step along x and y, (2,)."""
        side = 1 / math.sqrt(3) if self.hexagonal else 1.0
        return np.array([self.scale / 2, self.scale * side / 2])

    def polygons(self, sizes: Float | float = 1.0) -> Float:
        """Corners of each cell, (M, 4 or 6, 2), of a share of its width."""
        corners = _HEXAGON if self.hexagonal else _SQUARE
        if isinstance(sizes, float) and sizes == 1:
            return np.asarray((self.centers[:, None] + corners) * self.step)
        shares = np.broadcast_to(np.asarray(sizes, dtype=float), len(self.centers))
        return np.asarray((self.centers[:, None] + corners * shares[:, None, None]) * self.step)

    def glued(self) -> list[Float]:
        """Lines along the border of the map where it goes on at the other side."""
        if not self.periods.any():
            return []
        corners, across = (
            (_HEXAGON, _ACROSS_HEXAGON) if self.hexagonal else (_SQUARE, _ACROSS_SQUARE)
        )
        beyond = self.centers[:, None] + across
        wrapped = np.where(self.periods > 0, beyond % np.maximum(self.periods, 1), beyond)
        sides = np.argwhere(~self._hold(beyond) & self._hold(wrapped))
        starts = self.centers[sides[:, 0]] + corners[sides[:, 1]]
        ends = self.centers[sides[:, 0]] + corners[(sides[:, 1] + 1) % len(corners)]
        return [np.array(line) * self.step for line in _joined(starts, ends)]

    def _hold(self, centers: Int) -> Bool:
        """Whether there is a cell at each place."""
        ours, theirs = self.centers, centers
        width = int(np.abs(ours).max()) + 8
        return np.isin(theirs @ [1, 4 * width], ours @ [1, 4 * width])


def is_lattice(grid: Grid) -> bool:
    """Whether units lie in rows and columns."""
    return grid.topology in ("rectangular", "hexagonal", "chain")


def cells_of(grid: Grid) -> Cells:
    """Return one cell for each unit."""
    hexagonal = grid.topology == "hexagonal"
    half_columns = np.rint(2 * grid.positions[:, 0]).astype(np.int64)
    high = 3 if hexagonal else 2
    centers = np.column_stack([half_columns, high * grid.row.astype(np.int64)])
    wraps = grid.periodic in (True, "cols"), grid.periodic in (True, "rows") and grid.rows > 1
    periods = np.array([2 * grid.cols, high * grid.rows]) * wraps
    return Cells(centers, hexagonal, 1.0, periods)


def steps_along(grid: Grid, pairs: Int) -> Int:
    """Steps from the first unit of each pair to the nearest image of the second, (P, 2)."""
    cells = cells_of(grid)
    apart = cells.centers[pairs[:, 1]] - cells.centers[pairs[:, 0]]
    rounds = np.rint(apart / np.maximum(cells.periods, 1)).astype(np.int64)
    return np.asarray(apart - rounds * cells.periods)


def cells_between(grid: Grid, pairs: Int, values: Float) -> tuple[Cells, Float]:
    """Return cells half as wide: those of all units, and those between the units of `pairs`.

    Parameters
    ----------
    grid : Grid
        Of rows and columns.
    pairs : (P, 2) int
        Units next to each other.
    values : (P,) float64
        What the cells between them show; pairs that cross share a cell, which has their mean.

    Returns
    -------
    Cells, (K + M,)
        The units' first.
    (M,) float64
        Values of the others.
    """
    cells = cells_of(grid)
    periods = 2 * cells.periods
    middles = 2 * cells.centers[pairs[:, 0]] + steps_along(grid, pairs)
    middles = np.where(periods > 0, middles % np.maximum(periods, 1), middles)
    places, which = np.unique(middles, axis=0, return_inverse=True)
    which = which.reshape(-1)
    means = np.bincount(which, values) / np.bincount(which)
    centers = np.concatenate([2 * cells.centers, places])
    return Cells(centers, cells.hexagonal, 0.5, periods), means


def discs_of(grid: Grid) -> Float:
    """Return a disc for each unit of an irregular map, (K, 32, 2).

    Raises
    ------
    InputError
        Units share a place.
    """
    from scipy.spatial import KDTree

    places = grid.positions
    nearest = np.asarray(KDTree(places).query(places, k=2)[0])
    gaps = nearest[:, 1] if grid.size > 1 else np.ones(1)
    if not gaps.min() > 0:
        unit = int(gaps.argmin())
        raise InputError(
            f"unit {unit} of the {grid.topology} lies where another unit does; give each a place "
            "of its own, as positions= of Grid.from_edges or Grid.from_distances"
        )
    angles = 2 * np.pi * np.arange(_DISC_CORNERS) / _DISC_CORNERS
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(places[:, None] + 0.36 * gaps.min() * circle)


def _joined(starts: Int, ends: Int) -> list[list[tuple[int, int]]]:
    """Sides put together to lines, as long as one goes on where another ends."""
    after: dict[tuple[int, int], tuple[int, int]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        after[tuple(start)] = tuple(end)
    lines = []
    reached = set(after.values())
    firsts = [start for start in after if start not in reached]
    while after:
        at = firsts.pop() if firsts else next(iter(after))
        line = [at]
        while at in after:
            at = after.pop(at)
            line.append(at)
        lines.append(line)
    return lines

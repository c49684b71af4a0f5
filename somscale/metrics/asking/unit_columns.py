"""Best-matching units that are given, one a sample, in place of a map and samples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale.codebook import TrainedMap, as_map, is_map
from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.asking.candidates import Coordinates, open_clusters
from somscale.topology import Grid

__all__ = ["UnitColumn", "grid_of", "grid_text", "open_units"]


@dataclass(frozen=True)
class UnitColumn(Column):
    """Units of a map as the codes of a column: code k is unit k.

    Parameters
    ----------
    grid : Grid
        The arrangement of the units.
    """

    grid: Grid | None = None


def grid_of(candidate: Any) -> Grid | None:
    """The grid of a map, or of units; None for a clustering."""
    return candidate.grid if isinstance(candidate, TrainedMap | UnitColumn) else None


def grid_text(grid: Grid) -> str:
    """A grid as JSON for attributes; the edges and distances of an irregular one are left out."""
    spec = grid.to_spec().items()
    return json.dumps({n: v for n, v in spec if not isinstance(v, np.ndarray)}, sort_keys=True)


def open_units(units: Any, grid: Any, like: Coordinates, *, missing: Any) -> UnitColumn:
    """Best-matching units in the order of the coordinates they share with `like`, and the grid.

    A sample of unit −1 takes no part: it has no best-matching unit.

    Raises
    ------
    InputError
        A unit that the grid does not have, or something that is no grid.
    """
    if not isinstance(grid, Grid):
        if not is_map(grid):
            raise InputError(
                f"the grid is a {type(grid).__name__}, not a Grid or a map; the order is "
                "(labels, units, grid)"
            )
        grid = as_map(grid).grid
    column = open_clusters(units, like, name="units", missing=missing)
    values = np.full(len(column), -1, np.int64)
    codes = column.read(0, len(column))
    labels = column.labels_of(codes[codes >= 0])
    if labels.dtype.kind not in "iu":
        raise InputError("units are numbers of a map's units, integers from 0 up")
    values[codes >= 0] = labels
    wrong = (values < -1) | (values >= grid.size)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            f"units hold {values[first]} at position {first}; the grid has the units 0 to "
            f"{grid.size - 1}"
        )
    left_out = int(np.count_nonzero(values < 0))
    return UnitColumn(values, 0, range(grid.size), "units", left_out, grid=grid)

"""What a file says of a map, and the codebook made of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale.codebook.dataset import codebook
from somscale.errors import InputError
from somscale.topology import Grid, Offset, Topology

__all__ = ["CodeTable", "Layout", "check_names", "label_units", "need_grid"]


@dataclass(frozen=True)
class Layout:
    """How a file, or a tool's object, arranges the units of its map.

    Attributes
    ----------
    rows, cols : int
        Numbers of rows and columns.
    topology : {"rectangular", "hexagonal"}
        The lattice.
    offset : {"odd", "even"}
        Which rows of a hexagonal one are shifted right, counting from row 0.
    periodic : bool, optional
        Whether both axes wrap; None where the file does not say it, which means planar.
    assumed : bool
        Whether the lattice is only what the tool makes by default.
    unusual : str
        The arrangement's own name where there is no such Grid.
    """

    rows: int
    cols: int
    topology: Topology = "rectangular"
    offset: Offset = "odd"
    periodic: bool | None = None
    assumed: bool = False
    unusual: str = ""

    def fitted(self, grid: Grid | None, path: Path) -> Grid:
        """The grid that the file states, or the given one if it can be the file's.

        Raises
        ------
        InputError
            The given grid has another size, shape or lattice than the file states, or
            the file states one that there is no Grid for.
        """
        if grid is not None:
            self._check(grid, path)
            return grid
        if self.unusual:
            raise InputError(
                f"{path.name!r} arranges its units as {self.unusual!r}, which no rectangular or "
                "hexagonal grid is; give grid=ss.Grid.from_edges(…) or another that it stands for"
            )
        if self.assumed:
            warnings.warn(
                f"{path.name!r} says neither its lattice nor whether its map wraps: taken as a "
                f"planar rectangle of {self.rows} rows and {self.cols} columns; if it is another, "
                f"give grid=ss.Grid({self.rows}, {self.cols}, …)",
                UserWarning,
                stacklevel=4,
            )
        try:
            return Grid(
                self.rows,
                self.cols,
                topology=self.topology,
                offset=self.offset,
                periodic=bool(self.periodic),
            )
        except InputError as error:
            raise InputError(f"{path.name!r}: {error}") from None

    def _check(self, grid: Grid, path: Path) -> None:
        lattice = grid.topology in ("rectangular", "hexagonal")
        size = self.rows * self.cols
        if grid.size != size or (lattice and grid.shape != (self.rows, self.cols)):
            raise InputError(
                f"{path.name!r} holds a map of {self.rows} rows and {self.cols} columns ({size} "
                f"units), and the grid has {grid.rows} and {grid.cols} ({grid.size})"
            )
        stated = not (self.assumed or self.unusual)
        if stated and lattice and grid.topology != self.topology:
            raise InputError(
                f"{path.name!r} holds a {self.topology} map, and the grid is {grid.topology}"
            )
        if self.periodic is not None and lattice and grid.periodic != self.periodic:
            kind = "toroid" if self.periodic else "planar map"
            raise InputError(
                f"{path.name!r} holds a {kind}, and the grid has periodic={grid.periodic!r}"
            )


@dataclass(frozen=True)
class CodeTable:
    """Code vectors as they are in a file.

    Attributes
    ----------
    path : Path
        The file.
    codes : (K, D) float64
        Code vectors, one a unit, row by row of the map.
    source : str
        Name of the format.
    orientation : str
        Which of the tool's axes is a row, and which rows are shifted.
    layout : Layout, optional
        The arrangement; None if the file says nothing of it.
    names : sequence of str
        Of the features, or none.
    labels : sequence of str
        One a unit, or none.
    lines : sequence of int
        Where each unit stands in the file, or none.
    """

    path: Path
    codes: NDArray[np.float64]
    source: str
    orientation: str
    layout: Layout | None = None
    names: Sequence[str] = ()
    labels: Sequence[str] = ()
    lines: Sequence[int] = ()

    def dataset(self, grid: Grid | None) -> xr.Dataset:
        """The codebook.

        Raises
        ------
        InputError
            The grid does not fit, or none is stated or given; or a code is missing in some
            units only.
        """
        self._check_gaps()
        if self.layout is None:
            grid = need_grid(grid, self.path)
        else:
            grid = self.layout.fitted(grid, self.path)
        if grid.size != len(self.codes):
            raise InputError(
                f"{self.path.name!r} holds {len(self.codes)} code vectors, and the grid has "
                f"{grid.size} units ({grid.rows} × {grid.cols})"
            )
        codes = xr.DataArray(self.codes, dims=("unit", "feature"))
        if self.names:
            codes = codes.assign_coords(feature=list(self.names))
        try:
            som = codebook(codes, grid)
        except InputError as error:
            raise InputError(f"{self.path.name!r}: {error}") from None
        som.attrs |= {"source_format": self.source, "orientation": self.orientation}
        return label_units(som, self.labels) if any(self.labels) else som

    def _check_gaps(self) -> None:
        missing = np.isnan(self.codes)
        gaps = missing & ~missing.all(axis=0)
        if not gaps.any():
            return
        unit, feature = (int(n) for n in np.argwhere(gaps)[0])
        where = f"line {self.lines[unit]} of {self.path.name!r}" if self.lines else f"unit {unit}"
        name = f" ({self.names[feature]!r})" if self.names else ""
        raise InputError(
            f"{where} has no value {feature + 1}{name}, which other units have; fill it in, or "
            "leave the feature out of all units"
        )


def label_units(som: xr.Dataset, labels: Sequence[str]) -> xr.Dataset:
    """A codebook with a text for each unit as its coordinate ``label``."""
    facts = {"long_name": "label of the unit", "units": "1"}
    return som.assign_coords(label=("unit", np.array(labels, dtype=str), facts))


def need_grid(grid: Grid | None, path: Path) -> Grid:
    """A grid, where the file does not say how its units lie.

    Raises
    ------
    InputError
        None is given.
    """
    if grid is None:
        raise InputError(
            f"{path.name!r} does not say how its units lie; give grid=ss.Grid(rows, cols, …)"
        )
    return grid


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse two features of one name.

    Raises
    ------
    InputError
        There are.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{where} names two features {name!r}; give each its own name")
        seen.add(name)

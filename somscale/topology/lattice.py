"""Regular maps: rectangles, hexagons in offset rows, chains; planar or wrapped.

Everything is a formula on the offset between two units: rows apart, half
columns apart.  Both parts are integers, so hops and adjacency are exact, and
Euclidean distances that are equal come out as the same float.  When rows or
columns wrap, the nearest image is found part by part: every delta grows with
each part alone, and going round an even number of hexagonal rows leaves the
columns' part as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NEIGHBORS",
    "PERIODIC_NAMES",
    "Delta",
    "Lattice",
    "Neighborhood",
    "Offset",
    "Periodic",
    "Topology",
]

Topology = Literal["rectangular", "hexagonal"]
Offset = Literal["odd", "even"]
Periodic = bool | Literal["rows", "cols"]
Delta = Literal["hops", "euclidean", "max"]
Neighborhood = Literal["edge", "vertex"]

NEIGHBORS: Final = {
    "rectangular": {"edge": 4, "vertex": 8},
    "hexagonal": {"edge": 6, "vertex": 6},
    "chain": {"edge": 2, "vertex": 2},
}
# How a spec names `periodic`: attributes hold no booleans in netCDF.
PERIODIC_NAMES: Final[dict[Periodic, str]] = {
    False: "none",
    True: "both",
    "rows": "rows",
    "cols": "cols",
}
HEX_ROW_HEIGHT: Final = math.sqrt(3) / 2
TABLE_BLOCK: Final = 2**20  # pairs whose temporaries are alive at once while a table is filled


@dataclass(frozen=True)
class Lattice:
    """A regular map of rows × cols units; `Grid` says what the fields mean."""

    topology: str
    rows: int
    cols: int
    offset: str | None
    wrap_rows: bool
    wrap_cols: bool
    neighbors: int
    delta: str

    @property
    def size(self) -> int:
        """Number of units."""
        return self.rows * self.cols

    @property
    def dimension(self) -> int:
        """1 if all units lie in one row or column, else 2."""
        return 1 if 1 in (self.rows, self.cols) else 2

    @property
    def periodic(self) -> Periodic:
        """Which axes wrap, as `Grid` takes it."""
        if self.wrap_rows == self.wrap_cols:
            return self.wrap_rows
        return "rows" if self.wrap_rows else "cols"

    def spec(self) -> dict[str, Any]:
        """Return the parameters as strings and integers."""
        spec = {
            "topology": self.topology,
            "rows": self.rows,
            "cols": self.cols,
            "periodic": PERIODIC_NAMES[self.periodic],
            "neighbors": self.neighbors,
            "delta": self.delta,
        }
        return spec if self.offset is None else {**spec, "offset": self.offset}

    def __str__(self) -> str:
        """Return the call that makes this map."""
        if self.topology == "chain":
            return f"Grid.chain({self.cols}, periodic={self.periodic}, delta={self.delta!r})"
        offset = f"offset={self.offset!r}, " if self.offset else ""
        return (
            f"Grid({self.rows}, {self.cols}, topology={self.topology!r}, {offset}"
            f"periodic={self.periodic!r}, neighbors={self.neighbors}, delta={self.delta!r})"
        )

    def positions(self) -> NDArray[np.float64]:
        """Return x, y of every unit, (K, 2), neighbouring columns 1 apart."""
        row, half_col = self._place(np.arange(self.size))
        return np.column_stack([half_col / 2, row * self._row_height])

    def distance(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return delta between units `i` and `j`, broadcast."""
        rows, half_cols = self._apart(i, j)
        delta: NDArray[np.float64]
        match self.delta:
            case "hops":
                delta = self._hops(rows, half_cols, None).astype(np.float64)
            case "euclidean":  # the root of an exact integer: the square in half columns
                row_square = 3 if self.topology == "hexagonal" else 4
                delta = np.sqrt(half_cols**2 + row_square * rows**2) / 2
            case _:
                delta = np.maximum(half_cols / 2, rows * self._row_height)
        return delta

    def table(self) -> NDArray[np.float64]:
        """Return delta between all units, (K, K)."""
        units = np.arange(self.size)
        table = np.empty((self.size, self.size))
        step = max(1, TABLE_BLOCK // self.size)
        for start in range(0, self.size, step):
            table[start : start + step] = self.distance(units[start : start + step, None], units)
        return table

    def max_distance(self) -> float:
        """Return the largest delta of any two units."""
        # Moving both units round a wrapped axis changes no delta, and on a planar axis the longest
        # runs from end to end, so that one of its ends is a corner of the first row.
        corners = np.array([[0], [self.cols - 1]])
        return float(self.distance(corners, np.arange(self.size)).max())

    def adjacent(
        self, i: NDArray[np.int64], j: NDArray[np.int64], neighborhood: str | None
    ) -> NDArray[np.bool_]:
        """Return whether units `i` and `j` are one hop apart, broadcast."""
        return np.equal(self._hops(*self._apart(i, j), neighborhood), 1)

    def edges(self, neighborhood: str | None) -> NDArray[np.int64]:
        """Return every pair of adjacent units once, (E, 2), i < j, sorted."""
        unit = np.arange(self.size)
        row, col = np.divmod(unit, self.cols)
        keys = []
        for down, right in self._steps(row, neighborhood):
            to_row, to_col = row + down, col + right
            if self.wrap_rows:
                to_row %= self.rows
            if self.wrap_cols:
                to_col %= self.cols
            other = to_row * self.cols + to_col
            inside = (to_row < self.rows) & (to_col >= 0) & (to_col < self.cols)
            inside &= other != unit  # a step round a ring of one unit leads back to it
            ends = unit[inside], other[inside]
            keys.append(np.minimum(*ends) * self.size + np.maximum(*ends))
        return np.column_stack(np.divmod(np.unique(np.concatenate(keys)), self.size))

    def _steps(
        self, row: NDArray[np.int64], neighborhood: str | None
    ) -> list[tuple[int, int | NDArray[np.int64]]]:
        """Return the steps (down, right) to half of the neighbours; the others step to us."""
        steps: list[tuple[int, int | NDArray[np.int64]]] = [(0, 1), (1, 0)]
        match self._count(neighborhood):
            case 6:
                steps.append((1, 2 * self._shifted(row) - 1))
            case 8:
                steps += [(1, 1), (1, -1)]
        return steps

    def _count(self, neighborhood: str | None) -> int:
        """Return how many neighbours a unit amid a large map has."""
        return NEIGHBORS[self.topology][neighborhood] if neighborhood else self.neighbors

    @property
    def _row_height(self) -> float:
        return HEX_ROW_HEIGHT if self.topology == "hexagonal" else 1.0

    def _shifted(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return 1 where a row is shifted right by half a cell, else 0."""
        match self.offset:
            case "odd":
                return row % 2
            case "even":
                return 1 - row % 2
            case _:
                return np.zeros_like(row)

    def _place(self, unit: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row, and x in half columns."""
        row, col = np.divmod(unit, self.cols)
        return row, 2 * col + self._shifted(row)

    def _apart(
        self, i: NDArray[np.int64], j: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many rows and half columns the nearest images of two units are apart."""
        (row_i, half_col_i), (row_j, half_col_j) = self._place(i), self._place(j)
        rows, half_cols = np.abs(row_i - row_j), np.abs(half_col_i - half_col_j)
        if self.wrap_rows:
            rows = np.minimum(rows, self.rows - rows)
        if self.wrap_cols:
            half_cols = np.minimum(half_cols, 2 * self.cols - half_cols)
        return rows, half_cols

    def _hops(
        self, rows: NDArray[np.int64], half_cols: NDArray[np.int64], neighborhood: str | None
    ) -> NDArray[np.int64]:
        """Return the number of steps between neighbours that lead over an offset."""
        hops: NDArray[np.int64]
        match self._count(neighborhood):
            case 6:  # a step to another row also leads half a column sideways
                hops = np.maximum(rows, (half_cols + rows) // 2)
            case 8:
                hops = np.maximum(rows, half_cols // 2)
            case _:
                hops = rows + half_cols // 2
        return hops

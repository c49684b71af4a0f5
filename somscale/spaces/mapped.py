"""Distances between samples' units: on the map, or between the code vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray, Float, Int
from somscale.errors import InputError
from somscale.spaces.base import BadRow, Prepared
from somscale.spaces.vectors import as_columns, contiguous
from somscale.topology import Grid

__all__ = ["CodeSpace", "MapSpace", "UnitSpace"]

LARGEST_TABLE: Final = 2_048
"""Units whose table of distances is kept: 32 MiB."""


class UnitSpace(ABC):
    """A space whose samples are unit numbers, (n,) integers.

    Distances come from a K × K table where that is small, else from one between the
    units that occur in the two blocks.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of units, K."""

    @abstractmethod
    def between(self, units: Int, others: Int) -> Float:
        """Distances between units, (a, b)."""

    @cached_property
    def _table(self) -> Float | None:
        everything = np.arange(self.size)
        return self.between(everything, everything) if self.size <= LARGEST_TABLE else None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table out of a pickle: it is made again sooner than it is sent."""
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def operations(self, n_features: int) -> float:
        """One look-up a pair."""
        return 1.0

    def prepare(self, values: AnyArray) -> Prepared:
        """Check the unit numbers."""
        units = np.asarray(values)
        if units.dtype.kind not in "iu" or units.ndim != 1:
            raise InputError(
                f"units must be one integer a sample, not {units.dtype} of shape {units.shape}"
            )
        wrong = np.flatnonzero((units < 0) | (units >= self.size))
        if wrong.size:
            raise BadRow(
                int(wrong[0]),
                None,
                f"has unit {units[wrong[0]]}, which is none of the {self.size} units",
                f"units are numbered from 0 to {self.size - 1}",
            )
        return Prepared((units.astype(np.int64),))

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_tables

        rows, columns, table = left.arrays[0], right.arrays[0], self._table
        if table is None:
            units, rows = np.unique(rows, return_inverse=True)
            others, columns = np.unique(columns, return_inverse=True)
            table = self.between(units, others)
        with contiguous(out) as lent:
            space_tables.look_up(table, rows, columns, lent)


@dataclass(frozen=True, eq=False)
class MapSpace(UnitSpace):
    """δ between the units of samples.

    Parameters
    ----------
    grid : Grid
        See `from_table` for a plain table.
    """

    grid: Grid
    name: ClassVar[str] = "map"

    @classmethod
    def from_table(cls, delta: ArrayLike) -> MapSpace:
        """Take δ from a (K, K) table, checked as `Grid.from_distances` does."""
        return cls(Grid.from_distances(delta, edges=()))

    @property
    def size(self) -> int:
        """Number of units, K."""
        return self.grid.size

    @property
    def is_metric(self) -> bool:
        """A table may hold anything; all other maps keep the triangle inequality."""
        return self.grid.topology != "table"

    def between(self, units: Int, others: Int) -> Float:
        """δ between units, (a, b)."""
        return np.ascontiguousarray(self.grid.distance(units[:, None], others[None, :]))


@dataclass(frozen=True, eq=False)
class CodeSpace(UnitSpace):
    """Euclidean distances between the code vectors of samples' units, by direct sums.

    Parameters
    ----------
    codes : (K, D) float64
        Finite.
    feature_weights : (D,) float64, optional
        v ≥ 0 of √Σ v (m − m')², 1 by default.
    """

    codes: Float
    feature_weights: Float | None = None
    name: ClassVar[str] = "codes"
    is_metric: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """Number of units, K."""
        return len(self.codes)

    def between(self, units: Int, others: Int) -> Float:
        """Distances between code vectors, (a, b)."""
        from somscale.kernels import space_euclidean

        rows = np.ascontiguousarray(self.codes[units], np.float64)
        columns = as_columns(self.codes[others])
        out = np.empty((len(units), len(others)))
        space_euclidean.direct_squares(rows, columns, self.feature_weights, True, out)
        return out

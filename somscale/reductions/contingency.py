"""The contingency reduction: how often each pair of codes occurs, in one read of two columns.

Every index that compares two partitions is a formula over this one table of
exact integers.  Rows are classes and columns are clusters throughout.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from somscale._types import AnyArray, Int
from somscale.kernels.counts import count_dense, count_keyed, merge_keyed, sort_keyed
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import Field, Partial, Rows, Workspace
from somscale.reductions.tables import cells_of

__all__ = ["DENSE_CELLS", "LARGE_DENSE_CELLS", "Contingency", "ContingencyReduction"]

DENSE_CELLS = 1 << 17
"""Cells up to which the table is dense in any pass: beyond a mebibyte, adding up the tables
of short tiles costs more than counting."""
LARGE_DENSE_CELLS = 1 << 22
"""The same for a pass that reads nothing but labels, whose tiles are long."""
_BLOCK_ROWS = 1 << 16
"""Rows counted at a time: their keys stay in the processor's cache."""

_State: TypeAlias = tuple[Rows, Partial]


@dataclass(frozen=True)
class Contingency:
    """The contingency table of two partitions: its cells that are not empty.

    Attributes
    ----------
    rows, columns : (P,) int64
        Row (class) and column (cluster) of every cell, sorted by row, then column.
    counts : (P,) int64
        Samples in every cell, at least 1.
    shape : tuple of int
        Rows and columns of the table, the empty ones included.
    n_samples : int
        Samples counted.
    excluded : int
        Samples that took no part.
    """

    rows: Int
    columns: Int
    counts: Int
    shape: tuple[int, int]
    n_samples: int
    excluded: int = 0
    derived: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """Costly sums that several formulas share, kept by whoever computed them first."""

    @functools.cached_property
    def row_sums(self) -> Int:
        """Samples in every row, (rows,) int64."""
        return _sums(self.rows, self.counts, self.shape[0])

    @functools.cached_property
    def column_sums(self) -> Int:
        """Samples in every column, (columns,) int64."""
        return _sums(self.columns, self.counts, self.shape[1])

    def dense(self) -> Int:
        """The whole table, (rows, columns) int64."""
        table = np.zeros(self.shape, np.int64)
        table[self.rows, self.columns] = self.counts
        return table

    @classmethod
    def from_table(cls, table: Any) -> Contingency:
        """Take a table that was counted elsewhere.

        Parameters
        ----------
        table : (rows, columns) array_like, DataArray, sparse array or matrix, DataFrame
            Samples of every class (row) in every cluster (column): non-negative
            integers, or floats that are integers.

        Raises
        ------
        InputError
            The table is not two-dimensional, is empty, has margins, or holds a value
            that is no count; the entry is named.
        """
        return cls(*cells_of(table))


def _sums(groups: Int, counts: Int, n_groups: int) -> Int:
    # bincount's weights are floats, which lose counts above 2^53
    sums = np.zeros(n_groups, np.int64)
    np.add.at(sums, groups, counts)
    return sums


class ContingencyReduction:
    """Count the pairs of codes of two columns.

    A sample with a negative code in either column takes no part.

    Parameters
    ----------
    rows, columns : str
        Columns that are read with the samples, or published by an earlier
        reduction of the pass (best-matching units).
    n_rows, n_columns : int
        Codes of either column are below this.
    name : str
        Key of the reduction within its pass.
    dense_cells : int
        Cells up to which the table is dense; larger ones are keyed by cell.  It changes
        speed and memory, never a count.
    complete : bool
        Whether every sample is known to take part, so that no code needs a look.
    """

    tile_rows: int | None = None
    sweeps = 0

    def __init__(
        self,
        rows: str,
        columns: str,
        n_rows: int,
        n_columns: int,
        *,
        name: str = "contingency",
        dense_cells: int = DENSE_CELLS,
        complete: bool = False,
    ) -> None:
        self.name = name
        self.rows = rows
        self.columns = columns
        self.shape = (n_rows, n_columns)
        self.n_cells = n_rows * n_columns
        self.complete = complete
        self.dense = self.n_cells <= dense_cells
        counts = Field("sum", "int64", (self.n_cells,)) if self.dense else Field("keyed", "int64")
        self.fields = {"counts": counts, "excluded": Field("sum", "int64")}
        # a sample takes as long as this many operations of a matrix product
        self.operations = 64.0 if self.dense else 1024.0
        self.workspace = Workspace(row_bytes=8 if self.dense else 96)
        self._scratch = Scratch()

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Keep the rows: the columns may be published only later in the pass."""
        return rows, partial

    def wants(self, sweep: int, state: _State) -> bool:
        """No features are read."""
        return False

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take no features."""

    def end(self, state: _State) -> None:
        """Count the rows."""
        rows, partial = state
        row_codes, column_codes = rows.column(self.rows), rows.column(self.columns)
        # no block is smaller than the table, so that adding tables up stays cheap
        step = max(_BLOCK_ROWS, self.n_cells)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            keys = self._keys(row_codes[block], column_codes[block], partial)
            if self.dense:
                partial["counts"] += count_dense(keys, self.n_cells)
            else:
                counted = count_keyed(keys, self.n_cells)
                partial["counts"] = merge_keyed(partial["counts"], counted)

    def finalize(self, total: Partial) -> Contingency:
        """The finished table."""
        if self.dense:
            keys = np.flatnonzero(total["counts"])
            counts = total["counts"][keys]
        else:
            keys, counts = sort_keyed(total["counts"])
        width = max(1, self.shape[1])
        return Contingency(
            rows=keys // width,
            columns=keys % width,
            counts=counts,
            shape=self.shape,
            n_samples=int(counts.sum()),
            excluded=int(total["excluded"]),
        )

    def _keys(self, row_codes: Int, column_codes: Int, partial: Partial) -> Int:
        """One key a sample that takes part, valid until the next call."""
        if not self.complete and (_any_negative(row_codes) or _any_negative(column_codes)):
            present = (row_codes >= 0) & (column_codes >= 0)
            row_codes, column_codes = row_codes[present], column_codes[present]
            partial["excluded"] += len(present) - len(row_codes)
        keys: Int = self._scratch.take("keys", (1, len(row_codes)), np.int64)[0]
        np.multiply(row_codes, self.shape[1], out=keys, dtype=np.int64)
        return np.add(keys, column_codes, out=keys, dtype=np.int64)


def _any_negative(codes: Int) -> bool:
    return codes.dtype.kind == "i" and bool(codes.min(initial=0) < 0)

"""The reduction that gathers listed samples, for searches among a few of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.reductions.base import Field, Partial, Rows, Workspace

__all__ = ["ListedRows", "ListedRowsReduction"]


@dataclass(frozen=True)
class ListedRows:
    """Some samples.

    Attributes
    ----------
    rows : (m,) int64
        Their numbers, ascending.
    values : (m, D) float64
        Their features.
    """

    rows: Int
    values: Float


@dataclass
class _State:
    listed: Int
    values: Float
    partial: Partial


class ListedRowsReduction:
    """Gather the samples that a column lists.

    Parameters
    ----------
    column : str
        Name of the column, true where a sample is listed.
    n_features : int
        Features D.
    n_listed : int
        Samples that are listed, for the plan of memory.
    name : str
        Key of the reduction within its pass.
    """

    tile_rows: int | None = None
    sweeps = 1

    def __init__(
        self, column: str, n_features: int, *, n_listed: int = 0, name: str = "listed"
    ) -> None:
        self.name = name
        self.column = column
        self.operations = float(n_features)
        # held while two halves are joined
        listed = 2 * n_listed * (8 * n_features + 8)
        self.workspace = Workspace(row_bytes=9, row_feature_bytes=8, process_bytes=listed)
        self.fields = {
            "rows": Field("listed", "int64"),
            "values": Field("listed", "float64", (n_features,)),
        }
        self._n_features = n_features

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows of a tile."""
        listed = np.flatnonzero(rows.column(self.column))
        partial["rows"] = np.concatenate([partial["rows"], rows.start + listed])
        return _State(listed, np.empty((len(listed), self._n_features)), partial)

    def wants(self, sweep: int, state: _State) -> bool:
        """Whether any of these rows is listed: no feature of others is read for them."""
        return len(state.listed) > 0

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        features = slice(first_feature, first_feature + values.shape[1])
        state.values[:, features] = values[state.listed]

    def end(self, state: _State) -> None:
        """Add these rows to those of the tile."""
        held = state.partial["values"]
        state.partial["values"] = np.concatenate([held, state.values])

    def finalize(self, total: Partial) -> ListedRows:
        """The listed samples."""
        return ListedRows(total["rows"], total["values"])

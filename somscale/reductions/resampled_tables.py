"""The contingency tables of bootstrap resamples, for all resamples in one read of two columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from somscale._types import AnyArray, Int
from somscale.kernels.resampling import (
    BLOCK_ROWS,
    DRAW_BYTES,
    count_resampled,
    resample_weights,
)
from somscale.reductions.base import Field, Partial, Rows, Workspace

__all__ = ["ResampledTables"]

_State: TypeAlias = tuple[Rows, Partial]


class ResampledTables:
    """Count the pairs of codes of two columns in every resample.

    Parameters
    ----------
    rows, columns : str
        Columns of codes; a sample with a negative one takes no part.
    shape : tuple of int
        Codes of either column are below these.
    name : str
        Key of the reduction within its pass.
    n_boot, seed : int
        Resamples, and their draws: those of
        :class:`somscale.reductions.resampled.ResampledSums`.

    Notes
    -----
    Finished it is (n_boot + 1, rows, columns) int64, the table of the samples themselves first.
    """

    tile_rows: int | None = None
    sweeps = 0

    def __init__(
        self, rows: str, columns: str, shape: tuple[int, int], *, name: str, n_boot: int, seed: int
    ) -> None:
        self.name = name
        self.rows = rows
        self.columns = columns
        self.shape = shape
        self.n_boot = n_boot
        self.seed = seed
        self.fields = {"counts": Field("sum", "int64", (n_boot + 1, shape[0] * shape[1]))}
        self.operations = 4.0 * n_boot
        self.workspace = Workspace(
            row_bytes=16, process_bytes=DRAW_BYTES * BLOCK_ROWS * (n_boot + 1)
        )

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Keep the rows."""
        return rows, partial

    def wants(self, sweep: int, state: _State) -> bool:
        """No features are read."""
        return False

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take no features."""

    def end(self, state: _State) -> None:
        """Count the rows, as far as one draw of weights goes at a time."""
        rows, partial = state
        classes = np.asarray(rows.column(self.rows), np.int64)
        clusters = np.asarray(rows.column(self.columns), np.int64)
        keys = np.where((classes < 0) | (clusters < 0), -1, classes * self.shape[1] + clusters)
        start = rows.start
        while start < rows.stop:
            block, first = divmod(start, BLOCK_ROWS)
            stop = min(rows.stop, (block + 1) * BLOCK_ROWS)
            weights = resample_weights(self.seed, block, self.n_boot)
            own = keys[start - rows.start : stop - rows.start]
            count_resampled(weights[:, first : first + len(own)], own, partial["counts"])
            start = stop

    def finalize(self, total: Partial) -> Int:
        """The tables of all resamples."""
        return np.asarray(total["counts"]).reshape(-1, *self.shape)

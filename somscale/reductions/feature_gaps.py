"""Which features are missing in any sample: counted in a read of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Bool
from somscale.reductions.base import Field, Partial, Rows, Workspace

__all__ = ["GapsReduction"]


@dataclass
class _State:
    partial: Partial
    taken: Bool
    counts: AnyArray
    gaps: AnyArray


class GapsReduction:
    """Count the samples that lack each feature, those that lack all features aside.

    Parameters
    ----------
    n_features : int
        Features D.
    excluded : str, optional
        Column that is true where a sample takes no part.
    name : str
        Key of the reduction within its pass.
    """

    tile_rows: int | None = None
    sweeps = 1

    def __init__(self, n_features: int, *, excluded: str | None = None, name: str = "gaps") -> None:
        self.name = name
        self.excluded = excluded
        self.fields: Mapping[str, Field] = {
            "missing": Field("sum", "int64", (n_features,)),
            "empty": Field("sum", "int64"),
        }
        self.operations = 4.0 * n_features
        self.workspace = Workspace(row_bytes=16, row_feature_bytes=2)
        self._n_features = n_features

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows."""
        taken = np.ones(len(rows), bool)
        if self.excluded is not None:
            taken = ~rows.column(self.excluded).astype(bool)
        counts = np.zeros(self._n_features, np.int64)
        return _State(partial, taken, counts, np.zeros(len(rows), np.int64))

    def wants(self, sweep: int, state: _State) -> bool:
        """One walk over the features."""
        return True

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Count the gaps of some features."""
        if values.dtype.kind != "f":
            return
        missing = np.isnan(values)
        missing &= state.taken[:, None]
        state.gaps += np.count_nonzero(missing, axis=1)
        features = slice(first_feature, first_feature + values.shape[1])
        state.counts[features] += np.count_nonzero(missing, axis=0)

    def end(self, state: _State) -> None:
        """Add what the rows lack."""
        state.partial["missing"] += state.counts
        state.partial["empty"] += np.count_nonzero(state.gaps == self._n_features)

    def finalize(self, total: Partial) -> Bool:
        """Features that some sample lacks which does not lack all of them, (D,)."""
        return np.asarray(total["missing"] > total["empty"])

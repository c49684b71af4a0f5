"""The marginals reduction: how the samples lie about the codes, feature by feature.

Of two empirical distributions the one of K code values is constant between these, so
that all that a comparison of both asks of the samples is how many lie below, and how
many at or below, each code value: whole numbers, in one read and exactly, however many
samples there are.  Sums and squares about the mean code give mean and variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.kernels.residuals import add_residuals
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace

__all__ = ["Marginals", "MarginalsReduction"]

_LAST_SWEEP = 3
"""The sweep of the units reduction in which it has found everyone's unit."""


@dataclass(frozen=True)
class Marginals:
    """How samples and codes are distributed in each feature.

    Attributes
    ----------
    n_samples : int
        Samples N that take part.
    codes : (K, D) float64
        Code values, in ascending order in each feature.
    below, at_most : (K, D) int64
        Samples that are smaller than each of these, and samples that are not larger.
    mean, variance : (D,) float64
        Of the samples; the variance with N − 1, nan for one sample, 0 where all are equal.
    """

    n_samples: int
    codes: Float
    below: Int
    at_most: Int
    mean: Float
    variance: Float


@dataclass
class _State:
    rows: Rows
    partial: Partial


class MarginalsReduction:
    """Count the samples below and at each code value, and sum them about the mean code.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors; nan in features that are masked.
    units : str
        Name of the units reduction, earlier in the same pass, which says who takes part
        and refuses samples that are not finite.
    name : str
        Key of the reduction within its pass.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = _LAST_SWEEP + 1

    def __init__(self, codes: Float, units: str, *, name: str = "marginals") -> None:
        self.name = name
        self.units = units
        n_units, n_features = codes.shape
        self.codes: Float = np.sort(np.asarray(codes, np.float64), axis=0)
        self._columns: Float = np.ascontiguousarray(self.codes.T)
        known = np.where(np.isnan(self.codes[:1]), 0.0, self.codes)
        # halves first: the sum of large codes may overflow
        self.center: Float = (known / n_units).sum(axis=0)
        whole = Field("sum", "int64", (n_units, n_features))
        real = Field("sum", "float64", (1, n_features))
        self.fields: Mapping[str, Field] = {
            "n_samples": Field("sum", "int64"),
            "below": whole,
            "at_most": whole,
            "sums": real,
            "squares": real,
            "lowest": Field("min", "float64", (n_features,)),
            "highest": Field("max", "float64", (n_features,)),
        }
        # a sort of the samples, and a search among them for every code of a tile
        self.operations = 60.0 * n_features
        self.workspace = Workspace(row_bytes=16, row_feature_bytes=32)

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows of a tile."""
        return _State(rows, partial)

    def wants(self, sweep: int, state: _State) -> bool:
        """One walk over the features, once it is known who takes part."""
        return sweep == _LAST_SWEEP and bool((self._units(state) >= 0).any())

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        features = slice(first_feature, first_feature + values.shape[1])
        taken = self._units(state) >= 0
        rows = values if taken.all() else values[taken]
        partial = state.partial
        ordered = np.sort(rows.T, axis=1)  # nan come last
        for feature, column in enumerate(ordered, first_feature):
            codes = self._columns[feature]
            below = at_most = np.searchsorted(column, codes)
            # a second search only where some sample equals a code
            if (column.take(below, mode="clip") == codes).any():
                at_most = np.searchsorted(column, codes, side="right")
            partial["below"][:, feature] += below
            partial["at_most"][:, feature] += at_most
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.subtract(rows, self.center[features], dtype=np.float64)
            squares = moved * moved
        lowest, highest = partial["lowest"][features], partial["highest"][features]
        np.fmin(lowest, ordered[:, 0], out=lowest)
        last = ordered[:, -1]
        if np.isnan(last).any():
            last = np.fmax.reduce(ordered, axis=1)
        np.fmax(highest, last, out=highest)
        # these sums take one row after the other, so that no cut of the rows changes them
        for sums, summands in (("sums", moved), ("squares", squares)):
            add_residuals(
                summands,
                np.zeros((1, summands.shape[1])),
                np.zeros(len(summands), np.int32),
                partial[sums][:, features],
                np.zeros(len(summands)),
            )

    def end(self, state: _State) -> None:
        """Count the samples that take part."""
        state.partial["n_samples"] += np.count_nonzero(self._units(state) >= 0)

    def finalize(self, total: Partial) -> Marginals:
        """Finished statistics."""
        n = int(total["n_samples"])
        sums, squares = total["sums"][0], total["squares"][0]
        with np.errstate(all="ignore"):
            shift = sums / n
            # the mean code may lie so far off that all of this is rounding
            variance = np.maximum(squares - n * shift * shift, 0) / (n - 1)
        constant = total["lowest"] == total["highest"]
        if n > 1:
            variance = np.where(constant, 0.0, variance)
        mean = np.where(constant, total["lowest"], self.center + shift)
        return Marginals(n, self.codes, total["below"], total["at_most"], mean, variance)

    def _units(self, state: _State) -> Int:
        """Units of the rows at hand, −1 where a sample takes no part."""
        return np.asarray(state.rows.published[self.units])

"""The density reduction: how many samples lie in a sphere about each code vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int, as_floats
from somscale.reductions.base import Field, Partial, Rows, Workspace

__all__ = ["DensityReduction"]

_LAST_SWEEP = 3
"""The sweep of the units reduction in which it has found everyone's unit."""


@dataclass
class _State:
    rows: Rows
    partial: Partial
    squares: Float


class DensityReduction:
    """Count the samples within a radius of every code, by plain differences.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors; nan in features that are masked.
    units : str
        Name of the units reduction, earlier in the same pass, which says who takes part.
    radius : float
        Radius of the spheres, their surfaces included.
    feature_weights : (D,) float64, optional
        Factors v of the squared differences.
    name : str
        Key of the reduction within its pass.
    """

    tile_rows: int | None = None
    sweeps = _LAST_SWEEP + 1

    def __init__(
        self,
        codes: Float,
        units: str,
        radius: float,
        *,
        feature_weights: Float | None = None,
        name: str = "density",
    ) -> None:
        self.name = name
        self.units = units
        self.radius = radius
        n_units, n_features = codes.shape
        self._codes: Float = np.ascontiguousarray(np.nan_to_num(codes.T, nan=0.0))
        self._weights = np.ones(n_features) if feature_weights is None else feature_weights
        self.fields: Mapping[str, Field] = {"counts": Field("sum", "int64", (n_units,))}
        self.operations = 4.0 * n_units * n_features
        self.workspace = Workspace(row_bytes=17 * n_units, row_feature_bytes=16)

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows of a tile."""
        return _State(rows, partial, np.zeros((0, 0)))

    def wants(self, sweep: int, state: _State) -> bool:
        """One walk over the features, once it is known who takes part."""
        if sweep < _LAST_SWEEP or not self._taken(state).any():
            return False
        state.squares = np.zeros((len(state.rows), self._codes.shape[1]))
        return True

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        from somscale.kernels import density_loops

        features = slice(first_feature, first_feature + values.shape[1])
        density_loops.add_to_all(
            as_floats(values), self._codes[features], self._weights[features], state.squares
        )

    def end(self, state: _State) -> None:
        """Count what is within the radius."""
        if len(state.squares):
            near = state.squares[self._taken(state)] <= self.radius * self.radius
            state.partial["counts"] += np.count_nonzero(near, axis=0)

    def finalize(self, total: Partial) -> Int:
        """Samples in the sphere of each code, (K,)."""
        return np.asarray(total["counts"])

    def _taken(self, state: _State) -> Bool:
        return np.asarray(state.rows.published[self.units] >= 0)

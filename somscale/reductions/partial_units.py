"""The units reduction of samples that lack some features, each compared by those it has.

A sample's distance to a code goes over the features it has, and is scaled to all of them:
d² = V / V_i Σ_{f∈i} v_f (x_f − m_f)², where V_i adds up the weights v of the features that
the sample has, and V those of the features that any sample has (Kohonen's partial distance;
without weights V / V_i is their number over the number present).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from somscale._types import AnyArray, Float, as_floats
from somscale.reductions.base import Field, Partial, Rows, Workspace
from somscale.reductions.unit_stats import UnitStats
from somscale.reductions.units import UnitsReduction

__all__ = ["PartialUnitStats", "PartialUnitsReduction"]

_SUMS = ("masses", "scaled_residuals", "scaled_masses")


@dataclass(frozen=True)
class PartialUnitStats:
    """What a pass found.

    Attributes
    ----------
    stats : UnitStats
        Hits, and squares and distances by partial distance; `raw_residuals` are R_uf =
        Σ w (x_f − m_f) over the unit's samples that have the feature.
    masses : (K, D) float64
        Σ w of these samples.
    scaled_residuals, scaled_masses : (K, D) float64
        Both sums with w V / V_i in the place of w.
    """

    stats: UnitStats
    masses: Float
    scaled_residuals: Float
    scaled_masses: Float


class PartialUnitsReduction(UnitsReduction):
    """Accumulate a map's per-unit statistics by partial distance, best units alone.

    Parameters
    ----------
    codes, **settings
        As for :class:`UnitsReduction`, but for `missing` and `second`.

    Notes
    -----
    A sample without any feature that has a weight takes no part.
    """

    def __init__(self, codes: Float, **settings: Any) -> None:
        super().__init__(codes, missing="partial", second=False, **settings)
        n_units, n_features = self.codes.shape
        shape = (n_units, n_features)
        self.fields |= {name: Field("sum", "float64", shape) for name in _SUMS}
        self._held_weights: Float = np.ones(n_features)
        if self.feature_weights is not None:
            self._held_weights = self.feature_weights
        space = self.workspace
        self.workspace = Workspace(
            row_bytes=space.row_bytes + 8,
            row_feature_bytes=space.row_feature_bytes + 24,
            process_bytes=2 * space.process_bytes,
        )

    def begin(self, rows: Rows, partial: Partial) -> Any:
        """Start the search for some rows."""
        state = super().begin(rows, partial)
        state.held = np.zeros(len(rows))
        return state

    def wants(self, sweep: int, state: Any) -> bool:
        """As the units reduction, which crosses out rows once it has chosen."""
        wanted = super().wants(sweep, state)
        if sweep == self.sweeps - 1 and not state.idle:
            nothing = (state.held == 0) & (state.search.best >= 0)
            state.partial["missing_samples"] += np.count_nonzero(
                nothing & (state.search.gaps.by_sample <= state.search.gaps.tolerated)
            )
            state.search.best[nothing] = -1
        return wanted

    def sweep(self, sweep: int, state: Any, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        if sweep == self._first_sweep(state):
            from somscale.kernels import partial_loops

            features = slice(first_feature, first_feature + values.shape[1])
            weights = self._held_weights[features]
            partial_loops.add_held(as_floats(values), weights, state.held)
        super().sweep(sweep, state, first_feature, values)

    def _first_sweep(self, state: Any) -> int:
        return 1 if state.rows.rereads else 0

    def _add_residuals(self, state: Any, features: slice, values: AnyArray) -> None:
        from somscale.kernels import partial_loops

        partial = state.partial
        state.faults.locate(features.start, values)
        partial_loops.add_partial(
            as_floats(values),
            self.codes[:, features],
            state.search.best,
            state.held,
            partial["residuals"][:, features],
            partial["masses"][:, features],
            partial["scaled_residuals"][:, features],
            partial["scaled_masses"][:, features],
            state.squares,
            self._held_weights[features],
            state.weights,
        )

    def end(self, state: Any) -> None:
        """Write what is known once all features were seen."""
        taken = state.search.best >= 0
        state.squares[taken] /= state.held[taken]
        super().end(state)

    def finalize(self, total: Partial) -> Any:
        """Finished statistics; samples that no map can be trained on raise here."""
        stats = super().finalize(total)
        whole = stats.weight_sum
        stats = replace(
            stats, squares=stats.squares * whole, distances=stats.distances * np.sqrt(whole)
        )
        scaled = (total[name] * whole for name in _SUMS[1:])
        return PartialUnitStats(stats, total["masses"], *scaled)

"""The units reduction of samples that lack some features, each compared by those it has.

A sample's distance to a code goes over the features it has, and is scaled to all of them:
d² = V / V_i Σ_{f∈i} v_f (x_f − m_f)², where V_i adds up the weights v of the features that
the sample has, and V those of all features of the map, but for what it masks (Kohonen's
partial distance; without weights V / V_i is their number over the number present).  What
other samples have therefore never changes a sample's distance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from somscale._types import AnyArray, Bool, Float, as_floats
from somscale.reductions.base import Field, Partial, Rows, Workspace
from somscale.reductions.census import Census
from somscale.reductions.unit_stats import PartialSums, UnitStats
from somscale.reductions.units import UnitsReduction

__all__ = ["PartialUnitsReduction"]

_SUMS = ("masses", "scaled_residuals", "scaled_masses")


class PartialUnitsReduction(UnitsReduction):
    """Accumulate a map's per-unit statistics by partial distance.

    Parameters
    ----------
    codes, **settings
        As for :class:`UnitsReduction`, but for `missing`.
    of_samples : bool
        Leave features that no sample has out of the map, and out of V: for a map in training,
        which masks them only at the end.

    Notes
    -----
    A sample without any feature that has a weight takes no part.  Where every sample has all
    features that the map does not mask, the statistics are those of the units reduction,
    bit for bit.
    """

    def __init__(self, codes: Float, *, of_samples: bool = False, **settings: Any) -> None:
        super().__init__(codes, missing="partial", **settings)
        self.of_samples = of_samples
        n_units, n_features = self.codes.shape
        shape = (n_units, n_features)
        self.fields |= {name: Field("sum", "float64", shape) for name in _SUMS}
        self._held_weights: Float = np.ones(n_features)
        if self.feature_weights is not None:
            self._held_weights = self.feature_weights
        weights = self._held_weights if self.masked is None else self._held_weights[~self.masked]
        # one after the other, as they are added up for a sample: V / V_i is 1 where it has all
        self._whole = float(np.cumsum(weights)[-1])
        space = self.workspace
        self.workspace = Workspace(
            row_bytes=space.row_bytes + 8,
            row_feature_bytes=space.row_feature_bytes + 24,
            process_bytes=2 * space.process_bytes,
        )

    def begin(self, rows: Rows, partial: Partial) -> Any:
        """Start the search for some rows."""
        state = super().begin(rows, partial)
        state.held, state.factors = np.zeros(len(rows)), None
        return state

    def wants(self, sweep: int, state: Any) -> bool:
        """As the units reduction, which crosses out rows once it has chosen."""
        wanted = super().wants(sweep, state)
        if sweep == self.sweeps - 1 and not state.idle:
            nothing = (state.held == 0) & (state.search.best >= 0)
            state.partial["missing_samples"] += np.count_nonzero(
                nothing & (state.search.gaps.by_sample <= state.search.gaps.tolerated)
            )
            state.search.best[nothing] = state.search.second[nothing] = -1
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
        if state.factors is None:
            taken = state.search.best >= 0
            state.factors = self._whole / np.where(taken, state.held, 1.0)
        state.faults.locate(features.start, values)
        partial_loops.add_partial(
            as_floats(values),
            self.codes[:, features],
            state.search.best,
            state.factors,
            partial["residuals"][:, features],
            partial["masses"][:, features],
            partial["scaled_residuals"][:, features],
            partial["scaled_masses"][:, features],
            state.squares,
            self._held_weights[features],
            state.weights,
        )
        if self.silhouettes:
            self._add_second_squares(state, features, values)

    def end(self, state: Any) -> None:
        """Write what is known once all features were seen."""
        if state.factors is not None:
            state.squares *= state.factors
            state.second_squares *= state.factors
        super().end(state)

    def finalize(self, total: Partial) -> UnitStats:
        """Finished statistics; samples that no index can be computed from raise here."""
        stats = super().finalize(total)
        census = Census.of(total)
        left_out = np.zeros(len(census.features), bool) if self.masked is None else self.masked
        unseen = census.features & ~left_out
        if not census.entries and not unseen.any():
            return stats
        whole, change = self._whole, 1.0
        if self.of_samples and unseen.any():
            whole = stats.weight_sum
            change = whole / self._whole
            stats = replace(
                stats,
                squares=stats.squares * change,
                distances=stats.distances * np.sqrt(change),
                distance=None if stats.distance is None else stats.distance * np.sqrt(change),
            )
        masses, residuals, scaled = (total[name] for name in _SUMS)
        sums = PartialSums(masses, residuals * change, scaled * change, whole)
        return replace(stats, gaps=sums)

    def _missing_features(self, census: Census) -> Bool | None:
        return super()._missing_features(census) if self.of_samples else self.masked

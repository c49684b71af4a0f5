"""The units reduction: what each unit of a map holds, in one read of the samples.

For every unit u with code vector m_u it accumulates the hits n_u, the residual
sum R_u = Σ(x − m_u), the squared error E_u = Σ‖x − m_u‖² and the distance sum
Σ‖x − m_u‖ over the samples whose best-matching unit is u, and how often each
pair (best unit, second-best unit) occurs.  Residuals are direct differences
from the unit's own code, so nothing cancels on maps that fit well.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.kernels.best_two import FILTER_WIDTH, BestTwo, CodeFilter, Undecided
from somscale.kernels.counts import as_keyed, merge_keyed, sort_keyed
from somscale.kernels.residuals import add_residuals, add_units
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace
from somscale.reductions.faults import FAULT_FIELDS, EntryNames, Faults

__all__ = ["UnitStats", "UnitsReduction"]

_SINGLE, _DOUBLE, _SETTLE, _RESIDUALS = range(4)


@dataclass(frozen=True)
class UnitStats:
    """What a pass of the units reduction found.

    Attributes
    ----------
    codes : (K, D) float64
        Code vectors m_u.
    n_samples : int
        Samples N.
    hits : (K,) int64
        n_u, samples whose best-matching unit is u.
    residuals : (K, D) float64
        R_u = Σ(x − m_u).
    squares : (K,) float64
        E_u = Σ‖x − m_u‖².
    distances : (K,) float64
        Σ‖x − m_u‖.
    first, second, counts : (P,) int64
        The pairs (best, second-best unit) that occur, and how often.
    bmu, second_bmu : (N,) int32 or None
        Best and second-best unit of every sample; second is −1 on a one-unit map.
    distance : (N,) float64 or None
        Distance of every sample to its best-matching unit.
    """

    codes: Float
    n_samples: int
    hits: Int
    residuals: Float
    squares: Float
    distances: Float
    first: Int
    second: Int
    counts: Int
    bmu: Int | None = None
    second_bmu: Int | None = None
    distance: Float | None = None
    derived: dict[Hashable, Float] = field(default_factory=dict, repr=False, compare=False)
    """Costly sums that several formulas share, kept by whoever computed them first."""

    @property
    def n_units(self) -> int:
        """Units K."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Features D."""
        return int(self.codes.shape[1])


@dataclass
class _State:
    rows: Rows
    partial: Partial
    search: BestTwo
    faults: Faults
    undecided: Undecided | None = None
    double: bool = False
    squares: Float = field(default_factory=lambda: np.zeros(0))


class UnitsReduction:
    """Accumulate a map's per-unit statistics.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors.
    name : str
        Key of the reduction within its pass; the best-matching units are
        published to later reductions under it.
    samplewise : bool
        Keep best unit, second-best unit and distance of every sample.
    names : EntryNames
        How errors name an entry of the samples.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = 4

    def __init__(
        self,
        codes: Float,
        *,
        name: str = "units",
        samplewise: bool = False,
        names: EntryNames | None = None,
    ) -> None:
        self.name = name
        self.names = names or EntryNames()
        self.check = functools.partial(Faults.check, n_features=codes.shape[1], names=self.names)
        self.samplewise = samplewise
        self.codes = np.ascontiguousarray(codes, dtype=np.float64)
        n_units, n_features = self.codes.shape
        self.fields = {
            "hits": Field("sum", "int64", (n_units,)),
            "residuals": Field("sum", "float64", (n_units, n_features)),
            "squares": Field("sum", "float64", (n_units,)),
            "distances": Field("sum", "float64", (n_units,)),
            "pairs": Field("keyed", "int64"),
            **FAULT_FIELDS,
        }
        if samplewise:
            self.fields["bmu"] = Field("concat", "int32")
            self.fields["second_bmu"] = Field("concat", "int32")
            self.fields["distance"] = Field("concat", "float64")
        self.operations = 2.0 * n_units * n_features
        # one float32 or float64 comparison a unit and one copy of it for its open rows
        wide = n_features > FILTER_WIDTH
        self.workspace = Workspace(row_bytes=(24 if wide else 16) * n_units, row_feature_bytes=32)
        self._filter = CodeFilter(self.codes)

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start the search for some rows."""
        faults = Faults(rows, partial, self.codes.shape[1])
        # double precision leaves next to nothing open, which would cost another read
        precision = np.float64 if rows.rereads else np.float32
        search = BestTwo(self._filter, len(rows), precision)
        return _State(rows, partial, search, faults, double=rows.rereads)

    def wants(self, sweep: int, state: _State) -> bool:
        """Single precision first; double and direct sums only where they are needed."""
        if sweep == _SINGLE:
            return not state.double
        if sweep == _DOUBLE:
            if not state.double:
                self._decide(state)
                state.double = self._too_coarse(state)
                if state.double:
                    state.search = BestTwo(self._filter, len(state.rows), np.float64)
            return state.double
        if sweep == _SETTLE:
            if state.double:
                self._decide(state)
            return state.undecided is not None and len(state.undecided.rows) > 0
        self._choose(state)
        return True

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        features = slice(first_feature, first_feature + values.shape[1])
        if sweep in (_SINGLE, _DOUBLE):
            state.search.add(values, features)
        elif sweep == _SETTLE and state.undecided is not None:
            state.undecided.add(values, self.codes[:, features])
        elif sweep == _RESIDUALS:
            self._add_residuals(state, features, values)

    def end(self, state: _State) -> None:
        """Write what is known once all features were seen."""
        partial, best, second = state.partial, state.search.best, state.search.second
        sums = (partial[name] for name in ("hits", "squares", "distances"))
        add_units(best, state.squares, *sums)
        paired = second >= 0
        keys = best[paired].astype(np.int64) * len(self.codes) + second[paired]
        partial["pairs"] = merge_keyed(partial["pairs"], as_keyed(keys))
        if self.samplewise:
            where = state.rows.within
            partial["bmu"][where] = best
            partial["second_bmu"][where] = second
            partial["distance"][where] = np.where(best >= 0, np.sqrt(state.squares), np.nan)
        state.rows.published[self.name] = best

    def finalize(self, total: Partial) -> UnitStats:
        """Finished statistics; a sample that is not finite raises here, the first one named."""
        self.check(total)
        keys, counts = sort_keyed(total["pairs"])
        n_units = len(self.codes)
        return UnitStats(
            codes=self.codes,
            n_samples=int(total["hits"].sum()),
            hits=total["hits"],
            residuals=total["residuals"],
            squares=total["squares"],
            distances=total["distances"],
            first=keys // n_units,
            second=keys % n_units,
            counts=counts,
            bmu=total.get("bmu"),
            second_bmu=total.get("second_bmu"),
            distance=total.get("distance"),
        )

    def _decide(self, state: _State) -> None:
        state.undecided = state.search.decide()

    def _too_coarse(self, state: _State) -> bool:
        """Whether single precision left its range, or left most of the work to direct sums."""
        if state.undecided is None:
            return False
        many = len(state.undecided.rows) > len(state.rows) * max(4, len(self.codes) // 8)
        return bool(many or state.search.doubtful().any())

    def _choose(self, state: _State) -> None:
        search = state.search
        if state.undecided is not None and len(state.undecided.rows):
            search.settle(state.undecided)
        faulty = search.out_of_range()
        state.faults.mark(faulty)
        search.best[faulty] = search.second[faulty] = -1
        state.squares = np.zeros(len(state.rows))
        state.undecided = None

    def _add_residuals(self, state: _State, features: slice, values: AnyArray) -> None:
        state.faults.locate(features.start, values)
        add_residuals(
            values,
            self.codes[:, features],
            state.search.best,
            state.partial["residuals"][:, features],
            state.squares,
        )

"""The units reduction: what each unit of a map holds, in one read of the samples.

For every unit u with code vector m_u it accumulates the hits n_u, the residual
sum R_u = Σ(x − m_u), the squared error E_u = Σ‖x − m_u‖² and the distance sum
Σ‖x − m_u‖ over the samples whose best-matching unit is u, and how often each
pair (best unit, second-best unit) occurs.  Residuals are direct differences
from the unit's own code, so nothing cancels on maps that fit well.

Features and samples may have weights, and samples or features may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray, Bool, Float
from somscale.errors import InputError, SampleValueError
from somscale.kernels.best_one import BestOne
from somscale.kernels.best_two import BestTwo, Undecided
from somscale.kernels.code_filter import FILTER_WIDTH, CodeFilter, Precision
from somscale.kernels.counts import as_keyed, as_keyed_weights, merge_keyed, sort_keyed
from somscale.kernels.gaps import Gaps
from somscale.kernels.residuals import add_residuals, add_squares, add_units
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace
from somscale.reductions.census import (
    POLICIES,
    Census,
    Missing,
    SampleCheck,
    add_gap_sizes,
    census_fields,
    tolerated,
)
from somscale.reductions.faults import FAULT_FIELDS, Faults
from somscale.reductions.names import EntryNames
from somscale.reductions.unit_inputs import checked_weights, scaled_sums, without_mask
from somscale.reductions.unit_stats import UnitStats

__all__ = ["UnitStats", "UnitsReduction"]

_SINGLE, _DOUBLE, _SETTLE, _RESIDUALS = range(4)


@dataclass
class _State:
    rows: Rows
    partial: Partial
    search: BestTwo
    faults: Faults
    weights: Float | None = None
    idle: bool = False
    undecided: Undecided | None = None
    double: bool = False
    second_squares: Float = field(default_factory=lambda: np.zeros(0))
    squares: Float = field(default_factory=lambda: np.zeros(0))
    held: Float = field(default_factory=lambda: np.zeros(0))
    factors: Float | None = None


class UnitsReduction:
    """Accumulate a map's per-unit statistics.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors.  Features that are nan in all of them are masked, which needs
        ``missing="drop"``.
    name : str
        Key of the reduction within its pass; the best-matching units are
        published to later reductions under it, −1 where a sample takes no part; at the end
        of a tile also the second-best ones (``name:second``), the squared distances
        (``name:squares``) and, where they are summed, the silhouettes (``name:silhouette``).
    samplewise : bool
        Keep best unit, second-best unit and distance of every sample.
    names : EntryNames
        How errors name an entry of the samples.
    feature_weights : (D,) float64, optional
        Factors v ≥ 0 of the squared differences: d² = Σ_f v_f (x_f − m_f)².
    sample_weights : str, optional
        Name of a column of weights w ≥ 0, which multiply what a sample adds to any sum.
    excluded : str, optional
        Name of a column that is not 0 where a sample takes no part, whatever it holds.
    silhouettes : bool
        Keep how much nearer the samples are to their best unit than to the second.
    missing : {"raise", "drop", "drop_any_sample", "partial"}
        What nan means: an error; an error unless a sample lacks all features or all
        samples lack a feature, which are left out; that the sample takes no part; that it
        takes part by its other features, see :mod:`somscale.reductions.partial_units`.
    second : bool
        Look for second-best units too; without them no pairs are counted.

    Raises
    ------
    InputError
        The weights do not fit the codes or are negative, some codes are nan in features
        where others are not, or a masked map comes without ``missing="drop"``.
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
        feature_weights: ArrayLike | None = None,
        sample_weights: str | None = None,
        excluded: str | None = None,
        missing: Missing = "raise",
        silhouettes: bool = False,
        second: bool = True,
    ) -> None:
        if missing not in (*POLICIES, "partial"):
            raise InputError(f"missing is one of {', '.join(POLICIES)}, not {missing!r}")
        self.name = name
        self.names = names or EntryNames()
        self.check = SampleCheck(codes.shape[1], self.names, missing)
        self.samplewise = samplewise
        self.silhouettes = silhouettes
        self.second = second
        self.codes, self.masked = without_mask(codes, missing, self.names)
        self.feature_weights = checked_weights(feature_weights, codes.shape[1])
        self.sample_weights = sample_weights
        self.excluded = excluded
        self.missing: Missing = missing
        self.skips_gaps = missing in ("drop", "partial")
        self.fields = self._fields()
        n_units, n_features = self.codes.shape
        self.operations = 2.0 * n_units * n_features
        # one float32 or float64 comparison a unit and one copy of it for its open rows
        wide = n_features > FILTER_WIDTH
        # where nan are counted, a tile's counts besides those of its partial
        counted = 0 if missing == "raise" else 8 * n_features // TILE_ROWS
        self.workspace = Workspace(
            row_bytes=(24 if wide else 16) * n_units + 64 + counted,
            row_feature_bytes=32,
            # the filter's factors: in one precision, in rare cases in both
            process_bytes=12 * n_units * n_features,
        )
        self._filter = CodeFilter(self.codes, self.feature_weights)

    def _fields(self) -> dict[str, Field]:
        n_units, n_features = self.codes.shape
        fields = {
            "hits": Field("sum", "int64", (n_units,)),
            "residuals": Field("sum", "float64", (n_units, n_features)),
            "squares": Field("sum", "float64", (n_units,)),
            "distances": Field("sum", "float64", (n_units,)),
            **FAULT_FIELDS,
            **census_fields(n_features),
        }
        if self.second:
            fields["pairs"] = Field("keyed", "int64")
        if self.sample_weights is not None:
            fields["weights"] = Field("sum", "float64", (n_units,))
            if self.second:
                fields["pair_weights"] = Field("keyed", "float64")
        if self.silhouettes:
            fields["silhouettes"] = Field("sum", "float64", (n_units,))
            if self.samplewise:
                fields["silhouette"] = Field("concat", "float64")
        if self.samplewise:
            fields["bmu"] = Field("concat", "int32")
            fields["second_bmu"] = Field("concat", "int32")
            fields["distance"] = Field("concat", "float64")
        return fields

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start the search for some rows."""
        # double precision leaves next to nothing open, which would cost another read
        precision = np.float64 if rows.rereads else np.float32
        search = self._search(rows, precision)
        faults = Faults(rows, partial, self.codes.shape[1], nan=self.missing == "raise")
        state = _State(rows, partial, search, faults, double=rows.rereads)
        if search.gaps is not None and search.gaps.n_taken == 0:
            state.idle = True
            self._choose(state)
        if self.sample_weights is not None:
            weights = rows.column(self.sample_weights)
            state.weights = np.ascontiguousarray(weights, dtype=np.float64)
        return state

    def wants(self, sweep: int, state: _State) -> bool:
        """Single precision first; double and direct sums only where they are needed."""
        if state.idle:
            return False
        if sweep == _SINGLE:
            return not state.double
        if sweep == _DOUBLE:
            if not state.double:
                self._decide(state)
                state.double = self._too_coarse(state)
                if state.double:
                    state.search = self._search(state.rows, np.float64)
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
            state.undecided.add(
                values,
                self.codes[:, features],
                weights=self._weights_of(features),
                gaps=self.skips_gaps,
            )
        elif sweep == _RESIDUALS:
            self._add_residuals(state, features, values)

    def end(self, state: _State) -> None:
        """Write what is known once all features were seen."""
        partial, best, second = state.partial, state.search.best, state.search.second
        sums = (partial[name] for name in ("hits", "squares", "distances"))
        weights = partial.get("weights")
        add_units(best, state.squares, *sums, sample_weights=state.weights, weights=weights)
        if self.second:
            self._add_pairs(state)
        self._count(state)
        if self.silhouettes:
            self._add_silhouettes(state)
        if self.samplewise:
            where = state.rows.within
            partial["bmu"][where] = best
            partial["second_bmu"][where] = second
            partial["distance"][where] = np.where(best >= 0, np.sqrt(state.squares), np.nan)
        state.rows.published[self.name] = best
        state.rows.published[f"{self.name}:second"] = second
        state.rows.published[f"{self.name}:squares"] = state.squares

    def finalize(self, total: Partial) -> UnitStats:
        """Finished statistics; samples that no index can be computed from raise here."""
        census = self.check.whole(total, self.masked)
        keys, counts = sort_keyed(total.get("pairs", np.zeros((2, 0), np.int64)))
        n_units = len(self.codes)
        weighted = "weights" in total
        missing = self._missing_features(census)
        codes, residuals, unscaled = scaled_sums(
            self.codes, total["residuals"], missing, self.feature_weights
        )
        stats = UnitStats(
            codes=codes,
            n_samples=int(total["hits"].sum()),
            hits=total["hits"],
            residuals=residuals,
            squares=total["squares"],
            distances=total["distances"],
            first=keys // n_units,
            second=keys % n_units,
            counts=counts,
            bmu=total.get("bmu"),
            second_bmu=total.get("second_bmu"),
            distance=total.get("distance"),
            silhouettes=total.get("silhouettes"),
            silhouette=total.get("silhouette"),
            weights=total["weights"] if weighted else None,
            pair_weights=sort_keyed(total["pair_weights"])[1] if weighted and self.second else None,
            feature_weights=self.feature_weights,
            missing_features=missing,
            dropped_samples=int(total["excluded_samples"] + total["missing_samples"]),
            unscaled=unscaled,
        )
        if stats.total == 0:
            raise SampleValueError(
                "the weights of all samples that take part are 0; give other sample weights"
            )
        if stats.weight_sum == 0:
            raise SampleValueError(
                "no feature with a weight above 0 is left once the missing ones are dropped; "
                "give other feature weights"
            )
        return stats

    def _missing_features(self, census: Census) -> Bool | None:
        if not self.skips_gaps or not census.features.any():
            return None
        return census.features

    def _search(self, rows: Rows, precision: Precision) -> BestTwo:
        kind = BestTwo if self.second else BestOne
        return kind(self._filter, len(rows), precision, self._gaps(rows))

    def _gaps(self, rows: Rows) -> Gaps | None:
        """What to leave out of a search; None where every sample takes part with all it holds."""
        n_features = self.codes.shape[1]
        most = tolerated(self.missing, n_features)
        if most is None and self.excluded is None:
            return None
        excluded = None if self.excluded is None else rows.column(self.excluded) != 0
        partial = self.missing == "partial"
        return Gaps(len(rows), n_features, excluded=excluded, tolerated=most, partial=partial)

    def _weights_of(self, features: slice) -> Float | None:
        return None if self.feature_weights is None else self.feature_weights[features]

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
        left_out = search.left_out()
        nobody = faulty if left_out is None else faulty | left_out
        search.best[nobody] = search.second[nobody] = -1
        # before the last sweep, for reductions that go by it there
        state.rows.published[self.name] = search.best
        state.squares = np.zeros(len(state.rows))
        state.second_squares = np.zeros(len(state.rows))
        state.undecided = None

    def _add_residuals(self, state: _State, features: slice, values: AnyArray) -> None:
        state.faults.locate(features.start, values)
        add_residuals(
            values,
            self.codes[:, features],
            state.search.best,
            state.partial["residuals"][:, features],
            state.squares,
            feature_weights=self._weights_of(features),
            sample_weights=state.weights,
            gaps=self.skips_gaps,
        )
        if self.silhouettes:
            self._add_second_squares(state, features, values)

    def _add_second_squares(self, state: _State, features: slice, values: AnyArray) -> None:
        add_squares(
            values,
            self.codes[:, features],
            state.search.second,
            state.second_squares,
            feature_weights=self._weights_of(features),
            gaps=self.skips_gaps,
        )

    def _add_pairs(self, state: _State) -> None:
        partial, best, second = state.partial, state.search.best, state.search.second
        paired = second >= 0
        keys = best[paired].astype(np.int64) * len(self.codes) + second[paired]
        partial["pairs"] = merge_keyed(partial["pairs"], as_keyed(keys))
        if state.weights is not None:
            weighted = as_keyed_weights(keys, state.weights[paired])
            partial["pair_weights"] = merge_keyed(partial["pair_weights"], weighted)

    def _add_silhouettes(self, state: _State) -> None:
        """Add (d₂ − d₁) / d₂ of every sample to its unit; 0 where both distances are."""
        best, second = state.search.best, state.search.second
        first, other = np.sqrt(state.squares), np.sqrt(state.second_squares)
        ratio = np.divide(first, other, out=np.ones(len(best)), where=other > 0)
        values = np.where(second >= 0, 1 - ratio, np.nan)
        state.rows.published[f"{self.name}:silhouette"] = values
        if self.samplewise:
            state.partial["silhouette"][state.rows.within] = values
        known = second >= 0
        if state.weights is not None:
            values = values * state.weights
        np.add.at(state.partial["silhouettes"], best[known], values[known])

    def _count(self, state: _State) -> None:
        """Count the samples that take part, and what the others lack."""
        partial, gaps = state.partial, state.search.gaps
        n_rows = len(state.rows)
        n_taken = n_rows if gaps is None else gaps.n_taken
        partial["seen"] += n_taken
        partial["excluded_samples"] += n_rows - n_taken
        if gaps is None or gaps.tolerated is None:
            add_gap_sizes(partial, state.faults.gaps)
            return
        partial["gaps"] += gaps.by_feature
        partial["missing_samples"] += np.count_nonzero(gaps.by_sample > gaps.tolerated)
        add_gap_sizes(partial, gaps.by_sample)

"""The moments reduction: what each cluster of a clustering holds, in one read of the samples.

For every cluster k with a centre m_k that is given it accumulates the samples n_k,
the residual sum R_k = Σ(x − m_k), the squares E_k = Σ‖x − m_k‖² and the distances
Σ‖x − m_k‖.  The centroid is m_k + R_k/n_k and the scatter about it E_k − ‖R_k‖²/n_k,
in which nothing cancels where m_k is nearly the centroid already: so a first pass,
about one point near all samples, finds the centroids, and a second goes about these.
All are told from that point, the origin, which is subtracted from every sample first:
centroids far from 0 would be rounded by more than the samples differ.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray, Bool, Float, Int
from somscale.errors import SampleValueError
from somscale.kernels.residuals import add_residuals, add_units
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace
from somscale.reductions.census import (
    Missing,
    SampleCheck,
    add_gap_sizes,
    census_fields,
    tolerated,
)
from somscale.reductions.faults import FAULT_FIELDS, Faults, first_fault
from somscale.reductions.moment_stats import MomentStats
from somscale.reductions.names import EntryNames
from somscale.reductions.unit_inputs import checked_weights

__all__ = ["MomentStats", "MomentsReduction"]


@dataclass
class _State:
    rows: Rows
    partial: Partial
    clusters: Int
    taken: Bool
    squares: Float
    gaps: Int
    weights: Float | None
    n_faulty: int = 0


class MomentsReduction:
    """Accumulate each cluster's moments about a given centre.

    Parameters
    ----------
    column : str
        Name of the column of clusters, 0 to K − 1; a sample of a negative one takes no
        part, whatever it holds.
    codes : (K, D) float64
        Centres m, told from the origin.
    origin : (D,) float64, optional
        A point near all samples; 0 by default.
    name : str
        Key of the reduction within its pass.
    names : EntryNames, optional
        How errors name an entry of the samples.
    feature_weights : (D,) float64, optional
        Factors v ≥ 0 of the squared differences.
    sample_weights : str, optional
        Name of a column of weights w ≥ 0, which multiply what a sample adds to any sum.
    missing : {"raise", "drop", "drop_any_sample"}
        What nan means, as for :class:`somscale.reductions.units.UnitsReduction`.

    Raises
    ------
    InputError
        The feature weights do not fit the centres or are negative.
    """

    tile_rows: int | None = TILE_ROWS

    def __init__(
        self,
        column: str,
        codes: Float,
        *,
        origin: Float | None = None,
        name: str = "moments",
        names: EntryNames | None = None,
        feature_weights: ArrayLike | None = None,
        sample_weights: str | None = None,
        missing: Missing = "raise",
    ) -> None:
        self.name = name
        self.column = column
        self.codes: Float = np.ascontiguousarray(codes, dtype=np.float64)
        n_clusters, n_features = self.codes.shape
        self.origin: Float = np.zeros(n_features) if origin is None else origin
        self.check = SampleCheck(n_features, names or EntryNames(), missing)
        self.feature_weights = checked_weights(feature_weights, n_features)
        self.sample_weights = sample_weights
        self.missing: Missing = missing
        # a sample that may not take part is known once all its features were seen
        self.sweeps = 2 if missing == "drop_any_sample" else 1
        self.operations = 4.0 * n_features
        self.workspace = Workspace(row_bytes=64, row_feature_bytes=24)
        self.fields = {
            "hits": Field("sum", "int64", (n_clusters,)),
            "residuals": Field("sum", "float64", (n_clusters, n_features)),
            "squares": Field("sum", "float64", (n_clusters,)),
            "distances": Field("sum", "float64", (n_clusters,)),
            **FAULT_FIELDS,
            **census_fields(n_features),
        }
        if sample_weights is not None:
            self.fields["weights"] = Field("sum", "float64", (n_clusters,))

    def told_from(self, origin: Float) -> MomentsReduction:
        """The same reduction with another origin."""
        again = copy.copy(self)
        again.origin = origin
        return again

    def about(self, stats: MomentStats) -> MomentsReduction:
        """The same reduction about the centroids that an earlier pass has found."""
        again = copy.copy(self)
        again.codes = stats.raw_offsets
        return again

    def samplewise(self) -> MomentsReduction:
        """The same reduction, which also keeps every sample's distance to its centre."""
        again = copy.copy(self)
        radii, reaches = Field("concat", "float64"), Field("max", "float64", (len(self.codes),))
        again.fields = {**self.fields, "radii": radii, "reaches": reaches}
        return again

    def named(self, name: str) -> MomentsReduction:
        """The same reduction under another name."""
        again = copy.copy(self)
        again.name = name
        return again

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows of a tile."""
        # a copy: samples that are found to take no part are crossed out
        clusters = rows.column(self.column).astype(np.int32)
        taken = clusters >= 0
        weights = None
        if self.sample_weights is not None:
            weights = np.ascontiguousarray(rows.column(self.sample_weights), dtype=np.float64)
        n_taken = int(np.count_nonzero(taken))
        partial["seen"] += n_taken
        partial["excluded_samples"] += len(rows) - n_taken
        squares, gaps = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        return _State(rows, partial, clusters, taken, squares, gaps, weights)

    def wants(self, sweep: int, state: _State) -> bool:
        """Whether any of these rows takes part."""
        if self.sweeps == 2 and sweep == 1:
            state.clusters[state.gaps > 0] = -1
        return bool((state.clusters >= 0).any())

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features."""
        features = slice(first_feature, first_feature + values.shape[1])
        if sweep == 0 and self.missing != "raise":
            _count_gaps(state, features, values)
        if sweep < self.sweeps - 1:
            return
        weights = self.feature_weights
        add_residuals(
            np.subtract(values, self.origin[features], dtype=np.float64),
            self.codes[:, features],
            state.clusters,
            state.partial["residuals"][:, features],
            state.squares,
            feature_weights=None if weights is None else weights[features],
            sample_weights=state.weights,
            gaps=self.missing == "drop",
        )
        faulty = ~np.isfinite(state.squares)
        if faulty.any():
            self._locate(state, faulty, first_feature, values)

    def end(self, state: _State) -> None:
        """Write what is known once all features were seen."""
        partial, clusters = state.partial, state.clusters
        most = tolerated(self.missing, self.codes.shape[1])
        clusters[~np.isfinite(state.squares)] = -1
        if most is not None:
            lacking = state.gaps > most
            clusters[lacking] = -1
            partial["missing_samples"] += np.count_nonzero(lacking)
        add_gap_sizes(partial, state.gaps)
        sums = (partial[name] for name in ("hits", "squares", "distances"))
        add_units(
            clusters,
            state.squares,
            *sums,
            sample_weights=state.weights,
            weights=partial.get("weights"),
        )
        if "radii" in partial:
            taken = clusters >= 0
            radii = np.where(taken, np.sqrt(state.squares), np.nan)
            partial["radii"][state.rows.within] = radii
            np.maximum.at(partial["reaches"], clusters[taken], radii[taken])

    def finalize(self, total: Partial) -> MomentStats:
        """Finished statistics; samples that no index can be computed from raise here."""
        if first_fault(total) == "far":
            count = int(total["faulty_samples"])
            whole = "1 sample is" if count == 1 else f"{count} samples are"
            raise SampleValueError(
                f"{whole} so far from the others that the squared distance overflows; "
                "rescale the samples"
            )
        census = self.check.whole(total, None)
        if "weights" in total and not total["weights"].any():
            raise SampleValueError(
                "the weights of all samples that take part are 0; give other sample weights"
            )
        missing = census.features if self.missing == "drop" and census.features.any() else None
        weights = self.feature_weights
        left = weights if weights is None or missing is None else weights[~missing]
        if left is not None and not left.any():
            raise SampleValueError(
                "no feature with a weight above 0 is left once the missing ones are dropped; "
                "give other feature weights"
            )
        return MomentStats.of(
            self.codes,
            total,
            origin=self.origin,
            feature_weights=weights,
            missing_features=missing,
        )

    def _locate(self, state: _State, faulty: Bool, first_feature: int, values: AnyArray) -> None:
        """Look for what is wrong among some features; what is faulty now was sound before them."""
        partial = state.partial
        faults = Faults(state.rows, partial, self.codes.shape[1], nan=self.missing == "raise")
        partial["faulty_samples"] -= state.n_faulty  # counted again
        faults.mark(faulty)
        state.n_faulty = len(faults.gaps)
        faults.locate(first_feature, values)
        state.gaps[faulty] += faults.gaps


def _count_gaps(state: _State, features: slice, values: AnyArray) -> None:
    """Count the nan of samples that take part."""
    if values.dtype.kind != "f":
        return
    missing = np.isnan(values)
    missing &= state.taken[:, None]
    state.gaps += np.count_nonzero(missing, axis=1)
    state.partial["gaps"][features] += np.count_nonzero(missing, axis=0)

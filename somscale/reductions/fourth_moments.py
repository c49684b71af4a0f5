"""The fourth moments: sums over all pairs of squared and fourth distances, in one linear read.

With z = x − c and q = ‖z‖², ‖z_i − z_j‖² = q_i + q_j − 2 z_i·z_j.  Its sum over all pairs
takes Σq and Σz; that of its square Σq², Σ q z and the Gram matrix Σ z zᵀ besides.  The
centre c may be any point, for differences do not know it, but only about the samples'
mean does nothing cancel.

Every row is needed whole, so the rows at hand are kept until their last feature came.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import AnyArray, Bool, Float
from somscale.errors import InputError, SampleValueError
from somscale.kernels.gaps import Gaps
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import TILE_ROWS, Field, Partial, Rows, Workspace
from somscale.reductions.census import (
    Missing,
    SampleCheck,
    add_gap_sizes,
    census_fields,
    tolerated,
)
from somscale.reductions.faults import FAULT_FIELDS, Faults, first_fault
from somscale.reductions.names import EntryNames
from somscale.reductions.unit_inputs import checked_weights
from somscale.reductions.unit_stats import UnitStats

__all__ = ["FourthMoments", "FourthMomentsReduction", "fourth_moments_pay", "mean_of_units"]

_LARGEST_DIFFERENCE = 1.3e154
"""The square of a larger one may overflow."""
_PART = 1 << 18
"""Products at hand at a time in a long sum: 2 MiB."""


@dataclass(frozen=True)
class FourthMoments:
    """What a pass of the fourth-moments reduction found, z = x − c being scaled by √v.

    Attributes
    ----------
    center : (D,) float64
        c, before scaling.
    n_samples : int
        Samples N that take part.
    sums : (D,) float64
        Σ z.
    squares, fourths : float
        Σ q and Σ q² with q = ‖z‖².
    skew : (D,) float64
        Σ q z.
    products : (D(D + 1)/2,) float64
        The upper triangle of the Gram matrix Σ z zᵀ, row by row.
    largest_radius : float
        The largest ‖z‖.
    radius : (N,) float64 or None
        ‖z‖ of every sample, nan where it takes no part.
    dropped_samples : int
        Samples that took no part.
    """

    center: Float
    n_samples: int
    sums: Float
    squares: float
    fourths: float
    skew: Float
    products: Float
    largest_radius: float
    radius: Float | None = None
    dropped_samples: int = 0

    def sum_of_squares(self) -> float:
        """Σ_{i<j} ‖x_i − x_j‖² = N Σq − ‖Σz‖²."""
        # in this order nan, which is what an overflow leaves, stays nan
        return max(self.n_samples * self.squares - _dot(self.sums, self.sums), 0.0)

    def sum_of_fourth_powers(self) -> float:
        """Σ_{i<j} ‖x_i − x_j‖⁴ = N Σq² + (Σq)² + 2 ‖Σz zᵀ‖² − 4 (Σqz)·(Σz), ‖·‖ Frobenius'."""
        width = len(self.sums)
        diagonal = self.products[np.cumsum(np.arange(width, 0, -1)) - np.arange(width, 0, -1)]
        gram = 2 * _dot(self.products, self.products) - _dot(diagonal, diagonal)
        rest = self.n_samples * self.fourths + self.squares * self.squares + 2 * gram
        return max(rest - 4 * _dot(self.skew, self.sums), 0.0)


def fourth_moments_pay(n_samples: int, n_features: int) -> bool:
    """Whether the read is cheaper than all N²/2 pairs.

    Half a Gram matrix takes N D² operations and half of all products N² D, but the
    latter run in BLAS about twice as fast: the read pays up to D = N/2.
    """
    return 2 * n_features <= n_samples


def mean_of_units(units: UnitStats) -> Float:
    """The samples' mean Σ(n_u m_u + R_u) / N, (D,), from a pass over a map; 0 where missing.

    Told from the first code, so that samples far from 0 lose no digits.
    """
    origin = units.raw_codes[0]
    moved = units.mass @ (units.raw_codes - origin) + units.raw_residuals.sum(axis=0)
    mean = origin + moved / units.total
    return np.where(np.isnan(mean), 0.0, mean)


@dataclass
class _State:
    rows: Rows
    partial: Partial
    values: Float
    gaps: Gaps


class FourthMomentsReduction:
    """Accumulate the fourth moments about a centre.

    Parameters
    ----------
    center : (D,) float64
        c, nearly the samples' mean.
    name : str
        Key of the reduction within its pass.
    samplewise : bool
        Keep ‖x − c‖ of every sample.
    names : EntryNames, optional
        How errors name an entry of the samples.
    feature_weights : (D,) float64, optional
        Factors v ≥ 0 of the squared differences.
    excluded : str, optional
        Name of a column that is not 0 where a sample takes no part, whatever it holds.
    missing : {"raise", "drop", "drop_any_sample"}
        What nan means, as for :class:`somscale.reductions.units.UnitsReduction`.

    Raises
    ------
    InputError
        The centre is no finite vector, or the feature weights do not fit it.

    Notes
    -----
    D² operations a sample and D²/2 sums; `fourth_moments_pay` says where a walk over all
    pairs is cheaper.  Samples have no weights here: weighted pairs are not defined.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = 1

    def __init__(
        self,
        center: ArrayLike,
        *,
        name: str = "fourth moments",
        samplewise: bool = False,
        names: EntryNames | None = None,
        feature_weights: ArrayLike | None = None,
        excluded: str | None = None,
        missing: Missing = "raise",
    ) -> None:
        self.name = name
        self.center = _checked_center(center)
        n_features = len(self.center)
        self.samplewise = samplewise
        self.check = SampleCheck(n_features, names or EntryNames(), missing)
        self.feature_weights = checked_weights(feature_weights, n_features)
        self.excluded = excluded
        self.missing: Missing = missing
        self.operations = float(n_features) * (n_features + 8)
        # the rows at hand as they came and once more about the centre
        self.workspace = Workspace(row_bytes=16 * n_features + 48)
        self.fields = {
            "hits": Field("sum", "int64"),
            "sums": Field("sum", "float64", (n_features,)),
            "powers": Field("sum", "float64", (2,)),
            "skew": Field("sum", "float64", (n_features,)),
            "products": Field("sum", "float64", (n_features * (n_features + 1) // 2,)),
            "largest": Field("max", "float64"),
            **FAULT_FIELDS,
            **census_fields(n_features),
        }
        if samplewise:
            self.fields["radius"] = Field("concat", "float64")
        self._scratch = Scratch()

    def about(self, center: ArrayLike) -> FourthMomentsReduction:
        """The same reduction about another centre, which an earlier pass has found."""
        again = copy.copy(self)
        again.center = _checked_center(center, len(self.center))
        return again

    def begin(self, rows: Rows, partial: Partial) -> _State:
        """Start some rows of a tile."""
        n_features = len(self.center)
        excluded = None if self.excluded is None else rows.column(self.excluded) != 0
        most = tolerated(self.missing, n_features)
        gaps = Gaps(len(rows), n_features, excluded=excluded, tolerated=most)
        return _State(rows, partial, np.empty((len(rows), n_features)), gaps)

    def wants(self, sweep: int, state: _State) -> bool:
        """Whether any of these rows takes part."""
        return state.gaps.n_taken > 0

    def sweep(self, sweep: int, state: _State, first_feature: int, values: AnyArray) -> None:
        """Keep the rows' next features."""
        state.values[:, first_feature : first_feature + values.shape[1]] = values

    def end(self, state: _State) -> None:
        """Add the rows, which are whole now."""
        partial, gaps = state.partial, state.gaps
        n_rows = len(state.rows)
        partial["seen"] += gaps.n_taken
        partial["excluded_samples"] += n_rows - gaps.n_taken
        if gaps.n_taken:
            self._add(state)
        elif self.samplewise:
            partial["radius"][state.rows.within] = np.nan

    def finalize(self, total: Partial) -> FourthMoments:
        """Finished statistics; samples that no index can be computed from raise here."""
        if first_fault(total) == "far":
            raise SampleValueError(
                f"{int(total['faulty_samples'])} of the samples are so far from the others that "
                "the squared distance overflows; rescale the samples"
            )
        self.check.whole(total, None)
        squares, fourths = map(float, total["powers"])
        return FourthMoments(
            center=self.center,
            n_samples=int(total["hits"]),
            sums=total["sums"],
            squares=squares,
            fourths=fourths,
            skew=total["skew"],
            products=total["products"],
            largest_radius=float(total["largest"]),
            radius=total.get("radius"),
            dropped_samples=int(total["excluded_samples"] + total["missing_samples"]),
        )

    def _add(self, state: _State) -> None:
        from somscale.kernels import moment_loops

        partial, n_rows = state.partial, len(state.rows)
        points = self._scratch.take("points", state.values.shape, np.float64)
        squares = np.empty(n_rows)
        self._centre(state, points, squares)
        idle = self._set_aside(state, squares)
        if idle is not None:
            # rows of zeros change no sum
            points[idle] = squares[idle] = 0
        moment_loops.add_fourth_moments(
            points,
            squares,
            *(partial[name] for name in ("sums", "powers", "skew", "products")),
        )
        radius = np.sqrt(squares)
        if idle is not None:
            radius[idle] = np.nan
        partial["hits"] += n_rows if idle is None else n_rows - np.count_nonzero(idle)
        np.maximum(partial["largest"], np.sqrt(squares.max()), out=partial["largest"])
        if self.samplewise:
            partial["radius"][state.rows.within] = radius

    def _centre(self, state: _State, points: Float, squares: Float) -> None:
        """Write (x − c) √v and its square, in feature order; missing values become 0."""
        from somscale.kernels import loops

        width, weights, gaps = len(self.center), self.feature_weights, state.gaps
        roots = None if weights is None else np.sqrt(weights)
        counters = gaps.slab(width)
        loops.centre_rows(
            state.values, self.center, 1.0, points, squares, roots, _LARGEST_DIFFERENCE, *counters
        )
        gaps.take(slice(0, width), counters.by_feature)

    def _set_aside(self, state: _State, squares: Float) -> Bool | None:
        """Rows that take no part or are faulty, counted; None where every row takes part."""
        partial, gaps = state.partial, state.gaps
        faults = Faults(state.rows, partial, len(self.center), nan=self.missing == "raise")
        faulty = ~np.isfinite(squares)
        if faulty.any():
            faults.mark(faulty)
            faults.locate(0, state.values)
        if gaps.tolerated is None:
            add_gap_sizes(partial, faults.gaps)
        else:
            partial["gaps"] += gaps.by_feature
            partial["missing_samples"] += np.count_nonzero(gaps.by_sample > gaps.tolerated)
            add_gap_sizes(partial, gaps.by_sample)
        left_out = gaps.left_out()
        idle = faulty if left_out is None else faulty | left_out
        return idle if idle.any() else None


def _dot(left: Float, right: Float) -> float:
    """Σ a b in an order that no number of BLAS threads changes; inf or nan where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [
            float((left[start : start + _PART] * right[start : start + _PART]).sum())
            for start in range(0, len(left), _PART)
        ]
    return sum(parts)


def _checked_center(center: ArrayLike, n_features: int | None = None) -> Float:
    values = np.ascontiguousarray(center, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise InputError("a centre is one finite vector, a number for each feature")
    if n_features not in (None, len(values)):
        raise InputError(f"a centre of {len(values)} features does not fit samples of {n_features}")
    return values

"""A map's codes as factors of the products that rank its units, and how far these may err.

Nothing is made before it is asked for: the factors of some features are laid out
when their first product is due, so that a wide map is never held several times over.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from somscale._types import AnyArray, Bool, Float, as_floats
from somscale.kernels.gaps import Gaps, SlabGaps
from somscale.kernels.scratch import Scratch

__all__ = ["FILTER_WIDTH", "Bound", "CodeFilter", "Precision", "Product"]

Precision: TypeAlias = type[np.float32] | type[np.float64]

FILTER_WIDTH = 1024
"""Features per product: wider data are added up in float64, which keeps the error bound small."""

_LARGEST_DIFFERENCE = 1.3e154
"""The square of a larger one may overflow."""


class Product(NamedTuple):
    """Compared values (n, K) of some features, and the samples' squared norms (n,) in them."""

    values: Float
    norms: Float


class _Measure(NamedTuple):
    """One precision's scale, and the codes' largest norm after scaling."""

    scale: float
    radius: float


class Bound(NamedTuple):
    """Largest error of a compared value: constant + linear t + square t², with t = s‖x−c‖."""

    constant: float
    linear: float
    square: float


class _Factors(NamedTuple):
    """Factors (K, f + 1) of some features, and which of these the last column leaves out."""

    missing: Bool | None
    values: AnyArray


class CodeFilter:
    """Codes of a map, centred, weighted, scaled and rounded for the filter products.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors.
    weights : (D,) float64, optional
        Factors v of the squared differences, 0 or more.

    Notes
    -----
    With centre c and a power of two s, the filter compares
    ``s²(‖w−c‖² − 2(x−c)·(w−c))``, which differs from ``s²‖x−w‖²`` by a term that
    depends on the sample alone; with weights both sides are multiplied by √v, and
    ‖·‖ is the weighted norm.  With u the precision's unit roundoff, e = 2⁻⁵³,
    t = s‖x−c‖, q = s‖w−c‖ and r = t + q, a product over f features adds up at most 2 f terms
    of size 2 t q + q² in all, each from inputs rounded to u: it errs by less than
    ``(2 f + 16) u (2 t + q) q``, which is far less than r² where the codes lie close together.
    Before that, the differences,
    √v and their product err by at most 3 e each side, the squared norms by ``(D + 6) e``,
    and the direct float64 sum, which rounds a difference, its square, the weighting and
    D additions, by ``(D + 4) e``: together less than ``(2 D + 24) e r²``.  Squares that
    underflow add at most ``s² 2⁻¹⁰⁷⁴ (1 + max v)`` a feature.
    """

    def __init__(self, codes: Float, weights: Float | None = None) -> None:
        self.codes = codes
        self.weights = weights
        self._factors: dict[tuple[Precision, int, int], _Factors] = {}
        self._partial_factors: dict[tuple[Precision, int, int], AnyArray] = {}
        self._measures: dict[Precision, _Measure] = {}
        self._bounds: dict[Precision, Bound] = {}
        self._scratch = Scratch()

    def __reduce__(self) -> tuple[type[CodeFilter], tuple[Float, Float | None]]:
        return CodeFilter, (self.codes, self.weights)

    # What follows is made on first use.  Threads that come at once make the same, and each
    # is stored in one step, so none needs to wait for another.

    @cached_property
    def center(self) -> Float:
        """c, (D,): the mean of the codes."""
        return np.asarray(self.codes.mean(axis=0))

    @cached_property
    def _roots(self) -> Float | None:
        return None if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def _limit(self) -> float:
        """How far from the centre a value may be, so that no difference's square overflows."""
        reaches = (np.abs(self.codes[:, f] - self.center[f]).max() for f in self._parts())
        return _LARGEST_DIFFERENCE - float(max(reaches, default=0.0))

    def product(
        self,
        values: AnyArray,
        features: slice,
        precision: Precision,
        gaps: Gaps | None = None,
    ) -> Product:
        """Multiply the samples' features with the codes', and add the ‖w−c‖² in these.

        Features that no sample has are left out of both.  The product is the caller's
        until it hands it back to :meth:`reuse`.
        """
        from somscale.kernels import loops

        n_rows, width = len(values), features.stop - features.start
        centred = self._scratch.take("centred", (n_rows, width + 1), precision)
        norms = np.empty(n_rows)
        counters = SlabGaps(None, None, None) if gaps is None else gaps.slab(width)
        roots = self._roots
        loops.centre_rows(
            as_floats(values),
            self.center[features],
            self._measure(precision).scale,
            centred[:, :width],
            norms,
            None if roots is None else roots[features],
            0.0 if roots is None else self._limit,
            *counters,
        )
        centred[:, width] = 1
        missing = None if gaps is None else gaps.take(features, counters.by_feature)
        if gaps is not None and gaps.partial and gaps.by_feature[features].any():
            held = ~np.isnan(values)
            centred = np.concatenate([centred[:, :width], held], axis=1, dtype=precision)
            factors = self._partial_factors_of(features, precision)
        else:
            factors = self._factors_of(features, precision, missing)
        out = self._scratch.borrow("product", (n_rows, len(self.codes)), precision)
        return Product(np.matmul(centred, factors.T, out=out), norms)

    def reuse(self, product: Float) -> None:
        """Take back what :meth:`product` gave."""
        self._scratch.give_back("product", product)

    def bound(self, norms: Float, precision: Precision) -> Float:
        """Largest error of a compared value, per sample, from (s‖x−c‖)²."""
        terms = self.bound_terms(precision)
        return np.asarray(terms.constant + terms.linear * np.sqrt(norms) + terms.square * norms)

    def bound_terms(self, precision: Precision) -> Bound:
        """The largest error of a compared value, as a polynomial of s‖x−c‖."""
        if precision not in self._bounds:
            scale, radius = self._measure(precision)
            dims = self.codes.shape[1]
            unit = float(np.finfo(precision).eps) / 2
            product = 1.05 * (2 * min(dims, FILTER_WIDTH) + 16) * unit
            direct = 1.05 * (2 * dims + 24) * 2.0**-53
            heaviest = 0.0 if self.weights is None else float(self.weights.max(initial=0.0))
            least = np.ldexp(scale, -537) ** 2 * (1 + heaviest) + 2.0**-1074
            self._bounds[precision] = Bound(
                float((product + direct) * radius**2 + (4 * dims + 16) * least),
                2 * (product + direct) * radius,
                direct,
            )
        return self._bounds[precision]

    def farthest(self, norms: Float, precision: Precision) -> Float:
        """A distance that no unit exceeds, per sample, from (s‖x−c‖)²."""
        scale, radius = self._measure(precision)
        return np.asarray((np.sqrt(norms) + radius) / scale)

    def _factors_of(self, features: slice, precision: Precision, missing: Bool | None) -> AnyArray:
        """−2 s(w−c) of some features and, for a one in the samples, s²‖w−c‖² in these.

        Kept for the next samples, which mostly lack the same features.
        """
        key = (precision, features.start, features.stop)
        kept = self._factors.get(key)
        if kept is None or not _same(kept.missing, missing):
            centred = self._centred(features) * self._measure(precision).scale
            factors = np.empty((len(centred), centred.shape[1] + 1), precision)
            np.multiply(centred, -2.0, out=factors[:, :-1], casting="same_kind")
            if missing is not None:
                centred[:, missing] = 0
            factors[:, -1] = np.einsum("kf,kf->k", centred, centred)
            self._factors[key] = kept = _Factors(missing, factors)
        return kept.values

    def _partial_factors_of(self, features: slice, precision: Precision) -> AnyArray:
        """−2 s(w−c) of some features and, for a one where a sample has it, s²(w−c)² of each.

        Twice as many terms as a product of whole samples has: still within the bound's 2 f.
        """
        key = (precision, features.start, features.stop)
        kept = self._partial_factors.get(key)
        if kept is None:
            centred = self._centred(features) * self._measure(precision).scale
            kept = np.concatenate([-2.0 * centred, centred**2], axis=1).astype(precision)
            self._partial_factors[key] = kept
        return kept

    def _measure(self, precision: Precision) -> _Measure:
        if precision not in self._measures:
            sizes = (np.abs(self._centred(part)).max() for part in self._parts())
            scale = _power_of_two(float(max(sizes, default=0.0)))
            if precision is np.float64:
                # scaled up, a sample far from the map could leave even the range of float64
                scale = min(scale, 1.0)
            squares = np.zeros(len(self.codes))
            for part in self._parts():
                scaled = self._centred(part) * scale
                squares += np.einsum("kf,kf->k", scaled, scaled)
            radius = float(np.sqrt(squares.max(initial=0.0)))
            self._measures[precision] = _Measure(scale, radius)
        return self._measures[precision]

    def _centred(self, features: slice) -> Float:
        centred = self.codes[:, features] - self.center[features]
        if self._roots is not None:
            centred *= self._roots[features]
        return centred

    def _parts(self) -> Iterator[slice]:
        width = self.codes.shape[1]
        for start in range(0, width, FILTER_WIDTH):
            yield slice(start, min(start + FILTER_WIDTH, width))


def _same(left: Bool | None, right: Bool | None) -> bool:
    if left is None or right is None:
        return left is right
    return bool(np.array_equal(left, right))


def _power_of_two(largest: float) -> float:
    """A scale that keeps single precision in its range: exact, and 1 for ordinary data."""
    if largest == 0 or 1e-10 < largest < 1e10:
        return 1.0
    return float(np.ldexp(1.0, int(np.clip(-np.frexp(largest)[1], -1022, 1022))))

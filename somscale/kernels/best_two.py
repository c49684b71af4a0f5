"""The best and second-best unit of every sample, exactly, at the price of a float32 GEMM.

A matrix product of centred samples and codes ranks the units up to a rounding
error that is bounded beforehand.  Where the bound leaves no doubt the product
decides; the few (sample, unit) pairs within it are decided by the direct sums
of :mod:`somscale.kernels.distances`, ties going to the lowest unit.  The
product's precision therefore never shows in a result, and single precision is
used first because it costs half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int, as_floats
from somscale.kernels.distances import pair_squares
from somscale.kernels.scratch import Scratch

__all__ = ["FILTER_WIDTH", "BestTwo", "CodeFilter", "Undecided"]

Precision: TypeAlias = type[np.float32] | type[np.float64]

FILTER_WIDTH = 1024
"""Features per product: wider data are added up in float64, which keeps the error bound small."""


class Product(NamedTuple):
    """Compared values (n, K) of some features, and the samples' squared norms (n,) in them."""

    values: Float
    norms: Float


class _Weights(NamedTuple):
    """One precision's scale, the codes' largest norm after scaling, and the factors (K, D + 1)."""

    scale: float
    radius: float
    factors: AnyArray


class CodeFilter:
    """Codes of a map, centred, scaled and rounded for the filter products.

    Parameters
    ----------
    codes : (K, D) float64
        Code vectors.

    Notes
    -----
    With centre c and a power of two s, the filter compares
    ``s²(‖w−c‖² − 2(x−c)·(w−c))``, which differs from ``s²‖x−w‖²`` by a term that
    depends on the sample alone.  A product over f features in precision u, plus
    rounding its two inputs, errs by less than ``(2 f + 16) u s² (‖x−c‖+‖w−c‖)²``;
    the direct float64 sum errs by less than the same with u = 2⁻⁵³ and f = D, and by
    s² 2⁻¹⁰⁷⁴ a feature where its squares underflow.
    """

    def __init__(self, codes: Float) -> None:
        self.codes = codes
        self.center = codes.mean(axis=0)
        centred = codes - self.center
        scale = _power_of_two(float(np.abs(centred).max(initial=0.0)))
        # scaled up, a sample far from the map could leave even the range of float64
        self._weights = {
            np.float32: _weigh(centred, scale, np.float32),
            np.float64: _weigh(centred, min(scale, 1.0), np.float64),
        }
        self._scratch = Scratch()

    def product(self, values: AnyArray, features: slice, precision: Precision) -> Product:
        """Multiply the samples' features with the codes'; the last features bring the ‖w−c‖².

        The product is the caller's until it hands it back to :meth:`reuse`.
        """
        from somscale.kernels import loops

        scale, _, factors = self._weights[precision]
        last = features.stop == self.codes.shape[1]
        n_rows, width = len(values), features.stop - features.start
        centred = self._scratch.take("centred", (n_rows, width + last), precision)
        norms = np.empty(n_rows)
        loops.centre_rows(
            as_floats(values), self.center[features], scale, centred[:, :width], norms
        )
        centred[:, width:] = 1
        out = self._scratch.borrow("product", (n_rows, len(self.codes)), precision)
        columns = slice(features.start, features.stop + last)
        return Product(np.matmul(centred, factors[:, columns].T, out=out), norms)

    def reuse(self, product: Float) -> None:
        """Take back what :meth:`product` gave."""
        self._scratch.give_back("product", product)

    def bound(self, norms: Float, precision: Precision) -> Float:
        """Largest error of a compared value, per sample, from (s‖x−c‖)²."""
        scale, radius, _ = self._weights[precision]
        dims = self.codes.shape[1]
        unit = float(np.finfo(precision).eps) / 2
        factor = (2 * min(dims, FILTER_WIDTH) + 16) * unit + (2 * dims + 16) * 2.0**-53
        underflow = (4 * dims + 16) * (np.ldexp(scale, -537) ** 2 + 2.0**-1074)
        return np.asarray(1.05 * factor * (np.sqrt(norms) + radius) ** 2 + underflow)

    def farthest(self, norms: Float, precision: Precision) -> Float:
        """A distance that no unit exceeds, per sample, from (s‖x−c‖)²."""
        scale, radius, _ = self._weights[precision]
        return np.asarray((np.sqrt(norms) + radius) / scale)


@dataclass
class Undecided:
    """(Sample, unit) pairs whose order the filter leaves open, with their exact sums so far."""

    rows: Int
    units: Int
    squares: Float = field(init=False)

    def __post_init__(self) -> None:
        self.squares = np.zeros(len(self.rows))

    def add(self, values: AnyArray, codes: Float) -> None:
        """Add the next features to the exact squared distances."""
        with np.errstate(over="ignore"):
            pair_squares(self.squares, values, codes, self.rows, self.units)


class BestTwo:
    """Running search of the two best units for a block of samples.

    Parameters
    ----------
    codes : CodeFilter
        The map's codes.
    n_rows : int
        Samples in the block.
    precision : numpy floating type, default float32
        Precision of the products.
    """

    def __init__(self, codes: CodeFilter, n_rows: int, precision: Precision = np.float32) -> None:
        self._codes = codes
        self._precision = precision
        self._compared: Float | None = None
        self._norms = np.zeros(n_rows)
        self.best = np.zeros(n_rows, np.int32)
        self.second = np.full(n_rows, -1, np.int32)

    def add(self, values: AnyArray, features: slice) -> None:
        """Multiply the next features of the block into the comparison."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(values, features)

    def _add(self, values: AnyArray, features: slice) -> None:
        codes, precision = self._codes, self._precision
        for start in range(0, values.shape[1], FILTER_WIDTH):
            part = slice(start, min(start + FILTER_WIDTH, values.shape[1]))
            where = slice(features.start + part.start, features.start + part.stop)
            product, norms = codes.product(values[:, part], where, precision)
            self._norms += norms
            if where.start == 0 and where.stop == codes.codes.shape[1]:
                self._compared = product
                continue
            if self._compared is None:
                self._compared = product.astype(np.float64)
            else:
                self._compared += product
            codes.reuse(product)

    def doubtful(self) -> Bool:
        """Samples whose norm left the range of the product's precision, or is nan."""
        return np.asarray(~(self._norms <= np.finfo(self._precision).max))

    def out_of_range(self) -> Bool:
        """Samples whose squared distance to some unit is not a finite float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            farthest = self._codes.farthest(self._norms, self._precision)
            return np.asarray(~np.isfinite(farthest * farthest))

    def decide(self) -> Undecided:
        """Choose the two best units, and list the pairs that need their exact sums.

        Returns
        -------
        Undecided
            The candidates of the samples that are still open, by sample, then unit;
            none of the doubtful samples.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self._compared is None:
                raise ValueError("decide() comes after the last add()")
            compared, self._compared = self._compared, None
            undecided = self._decide(compared)
            if compared.base is not None:  # one whole product, no sum of several
                self._codes.reuse(compared)
            return undecided

    def _decide(self, compared: Float) -> Undecided:
        n_rows, n_units = compared.shape
        if n_units == 1:
            return Undecided(np.zeros(0, np.intp), np.zeros(0, np.intp))
        every = np.arange(n_rows)
        best, lowest = _take_lowest(compared, every)
        second, next_lowest = _take_lowest(compared, every)
        third = compared.min(axis=1)
        self.best[:], self.second[:] = best, second
        slack = 2 * self._codes.bound(self._norms, self._precision)
        certain = (next_lowest - lowest > slack) & (third - next_lowest > slack)
        open_rows = np.flatnonzero(~certain & ~self.doubtful())
        compared[every, best], compared[every, second] = lowest, next_lowest
        limits = (next_lowest.astype(np.float64) + slack)[open_rows]
        position, units = np.nonzero(compared[open_rows] <= limits[:, None])
        return Undecided(open_rows[position], units)

    def settle(self, undecided: Undecided) -> None:
        """Order the open candidates by exact squared distance, ties by lowest unit."""
        order = np.lexsort((undecided.squares, undecided.rows))
        rows, units = undecided.rows[order], undecided.units[order]
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        self.best[rows[first]] = units[first]
        self.second[rows[first]] = units[first + 1]


def _take_lowest(compared: Float, every: Int) -> tuple[Int, Float]:
    """The lowest entry of every row, which is then raised to infinity."""
    index = compared.argmin(axis=1)
    lowest = compared[every, index]
    compared[every, index] = np.inf
    return index, lowest


def _weigh(centred: Float, scale: float, precision: Precision) -> _Weights:
    """The codes as factors of a product that gives s²(‖w−c‖² − 2(x−c)·(w−c))."""
    scaled = centred * scale
    squares = np.einsum("kf,kf->k", scaled, scaled)
    # the last column meets a one in the samples: it starts every comparison at ‖w−c‖²
    factors = np.hstack([-2.0 * scaled, squares[:, None]]).astype(precision)
    return _Weights(scale, float(np.sqrt(squares.max(initial=0.0))), factors)


def _power_of_two(largest: float) -> float:
    """A scale that keeps single precision in its range: exact, and 1 for ordinary data."""
    if largest == 0 or 1e-10 < largest < 1e10:
        return 1.0
    return float(np.ldexp(1.0, int(np.clip(-np.frexp(largest)[1], -1022, 1022))))

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

from somscale.kernels.distances import pair_squares
from somscale.kernels.scratch import Scratch
from somscale.kernels.types import AnyArray, Bool, Float, Int

__all__ = ["FILTER_WIDTH", "BestTwo", "CodeFilter", "Undecided"]

Precision: TypeAlias = type[np.float32] | type[np.float64]

FILTER_WIDTH = 1024
"""Features per product: wider data are added up in float64, which keeps the error bound small."""


class Product(NamedTuple):
    """Compared values (n, K) of some features, and the samples' squared norms (n,) in them."""

    values: Float
    norms: Float


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
    the direct float64 sum errs by less than the same with u = 2⁻⁵³ and f = D.
    """

    def __init__(self, codes: Float) -> None:
        self.codes = codes
        self.center = codes.mean(axis=0)
        centred = codes - self.center
        self.scale = _power_of_two(float(np.abs(centred).max(initial=0.0)))
        self._scaled = centred * self.scale
        self._squares = np.einsum("kf,kf->k", self._scaled, self._scaled)
        self.radius = float(np.sqrt(self._squares.max(initial=0.0)))
        # the last column meets a one in the samples: it starts every comparison at ‖w−c‖²
        self._double = np.hstack([-2.0 * self._scaled, self._squares[:, None]])
        self._single = self._double.astype(np.float32)
        self._scratch = Scratch()

    def product(self, values: AnyArray, features: slice, precision: Precision) -> Product:
        """Multiply the samples' features with the codes'; the last features bring the ‖w−c‖².

        The product is valid until the next one.
        """
        last = features.stop == self.codes.shape[1]
        n_rows, width = len(values), features.stop - features.start
        centred = self._scratch.take("centred", (n_rows, width + last), precision)
        part = centred[:, :width]
        if self.scale == 1.0:
            np.subtract(
                values, self.center[features], out=part, dtype=np.float64, casting="same_kind"
            )
        else:
            part[:] = np.subtract(values, self.center[features], dtype=np.float64) * self.scale
        norms = np.einsum("if,if->i", part, part)
        centred[:, width:] = 1
        weights = self._single if precision is np.float32 else self._double
        out = self._scratch.take("product", (n_rows, len(self.codes)), precision)
        columns = slice(features.start, features.stop + last)
        return Product(np.matmul(centred, weights[:, columns].T, out=out), norms)

    def bound(self, norms: Float, precision: Precision) -> Float:
        """Largest error of a compared value, per sample, from ‖s(x−c)‖."""
        dims = self.codes.shape[1]
        unit = float(np.finfo(precision).eps) / 2
        factor = (2 * min(dims, FILTER_WIDTH) + 16) * unit + (2 * dims + 16) * 2.0**-53
        return np.asarray(1.05 * factor * (norms.astype(np.float64) + self.radius) ** 2)


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

    def __init__(
        self, codes: CodeFilter, n_rows: int, precision: Precision = np.float32
    ) -> None:
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
            elif self._compared is None:
                self._compared = product.astype(np.float64)
            else:
                self._compared += product

    def doubtful(self) -> Bool:
        """Samples whose norm left the range of the product's precision, or is nan."""
        return np.asarray(~np.isfinite(self._norms))

    def out_of_range(self) -> Bool:
        """Samples whose squared distance to some unit is not a finite float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            farthest = (np.sqrt(self._norms) + self._codes.radius) / self._codes.scale
            return np.asarray(~np.isfinite(farthest * farthest))

    def decide(self) -> Undecided:
        """Choose the two best units, and list the pairs that need their exact sums.

        Returns
        -------
        Undecided
            The candidates of the samples that are still open, by sample, then unit.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._decide()

    def _decide(self) -> Undecided:
        if self._compared is None:
            raise ValueError("decide() comes after the last add()")
        compared, self._compared = self._compared, None
        n_rows, n_units = compared.shape
        if n_units == 1:
            return Undecided(np.zeros(0, np.intp), np.zeros(0, np.intp))
        every = np.arange(n_rows)
        best, lowest = _take_lowest(compared, every)
        second, next_lowest = _take_lowest(compared, every)
        third = compared.min(axis=1)
        self.best[:], self.second[:] = best, second
        slack = 2 * self._codes.bound(np.sqrt(self._norms), self._precision)
        certain = (next_lowest - lowest > slack) & (third - next_lowest > slack)
        open_rows = np.flatnonzero(~certain)
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


def _power_of_two(largest: float) -> float:
    """A scale that keeps single precision in its range: exact, and 1 for ordinary data."""
    if largest == 0 or 1e-10 < largest < 1e10:
        return 1.0
    return float(np.ldexp(1.0, int(np.clip(-np.frexp(largest)[1], -1022, 1022))))

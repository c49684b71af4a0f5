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

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int
from somscale.kernels import code_filter
from somscale.kernels.code_filter import CodeFilter, Precision
from somscale.kernels.distances import pair_squares
from somscale.kernels.gaps import Gaps

__all__ = ["BestTwo", "Undecided"]


@dataclass
class Undecided:
    """(Sample, unit) pairs whose order the filter leaves open, with their exact sums so far."""

    rows: Int
    units: Int
    squares: Float = field(init=False)

    def __post_init__(self) -> None:
        self.squares = np.zeros(len(self.rows))

    def add(
        self,
        values: AnyArray,
        codes: Float,
        *,
        weights: Float | None = None,
        gaps: bool = False,
    ) -> None:
        """Add the next features to the exact squared distances, by weights; nan add none."""
        with np.errstate(over="ignore"):
            pair_squares(
                self.squares, values, codes, self.rows, self.units, weights=weights, gaps=gaps
            )


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
    gaps : Gaps, optional
        Which samples take no part, and what the others lack.
    """

    def __init__(
        self,
        codes: CodeFilter,
        n_rows: int,
        precision: Precision = np.float32,
        gaps: Gaps | None = None,
    ) -> None:
        self.gaps = gaps
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
        step = code_filter.FILTER_WIDTH
        for start in range(0, values.shape[1], step):
            part = slice(start, min(start + step, values.shape[1]))
            where = slice(features.start + part.start, features.start + part.stop)
            product, norms = codes.product(values[:, part], where, precision, self.gaps)
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
        return self._taken(~(self._norms <= np.finfo(self._precision).max))

    def out_of_range(self) -> Bool:
        """Samples whose squared distance to some unit is not a finite float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            # mostly none is: the largest norm, which is nan where any is, tells of all
            largest = self._norms.max(initial=0.0, keepdims=True)
            if np.isfinite(self._codes.farthest(largest, self._precision) ** 2).all():
                return np.zeros(len(self._norms), bool)
            farthest = self._codes.farthest(self._norms, self._precision)
            return self._taken(~np.isfinite(farthest * farthest))

    def left_out(self) -> Bool | None:
        """Samples that take no part, known after the last :meth:`add`."""
        return None if self.gaps is None else self.gaps.left_out()

    def _taken(self, where: Bool) -> Bool:
        left_out = self.left_out()
        return where if left_out is None else where & ~left_out

    def decide(self) -> Undecided:
        """Choose the two best units, and list the pairs that need their exact sums.

        Returns
        -------
        Undecided
            The candidates of the samples that are still open, by sample, then unit;
            none of the doubtful samples, nor of those that take no part.
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
        open_rows = np.flatnonzero(self._taken(~certain) & ~self.doubtful())
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

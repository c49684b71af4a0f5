"""City-block, Chebyshev and Minkowski distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from somscale._types import AnyArray, Float
from somscale.spaces.base import BadRow, Prepared
from somscale.spaces.vectors import as_columns, as_rows, contiguous, refuse_not_finite

__all__ = ["ChebyshevSpace", "CityblockSpace", "MinkowskiSpace"]

LARGEST_SUM: Final = 2.0**1021
"""Σ |x| up to which no distance overflows: Σ |x − y| ≤ Σ |x| + Σ |y|."""

MOST_FACTORS: Final = 16
"""Whole p up to which powers are products, in vectors, instead of calls of pow."""

SAFE_SUM: Final = 1e290
"""Sums of powers up to here, and down to its inverse, have all their digits."""


@dataclass(frozen=True)
class CityblockSpace:
    """Σ |x − y|, as ``cdist(…, "cityblock")`` gives it bit for bit."""

    name: ClassVar[str] = "cityblock"
    is_metric: ClassVar[bool] = True

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair."""
        return 3.0 * n_features

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the raw samples, all of them finite and none near overflow."""
        return _prepared(values)

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_sums

        with contiguous(out) as table:
            space_sums.cityblock(left.arrays[0], as_columns(right.arrays[0]), table)


@dataclass(frozen=True)
class ChebyshevSpace:
    """max |x − y|, as ``cdist(…, "chebyshev")`` gives it bit for bit."""

    name: ClassVar[str] = "chebyshev"
    is_metric: ClassVar[bool] = True

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair."""
        return 3.0 * n_features

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the raw samples, all of them finite and none near overflow."""
        return _prepared(values)

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_sums

        with contiguous(out) as table:
            space_sums.chebyshev(left.arrays[0], as_columns(right.arrays[0]), table)


@dataclass(frozen=True)
class MinkowskiSpace:
    """(Σ |x − y|^p)^(1/p), 1 < p < inf.

    Where powers would overflow or vanish, which ``cdist`` lets happen, distances are
    taken from shares of the largest difference.
    """

    p: float
    name: ClassVar[str] = "minkowski"
    is_metric: ClassVar[bool] = True

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair; a power counts as 50, which is what it costs."""
        return (3.0 + (self._factors or 50.0)) * n_features + 50.0

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the raw samples, all of them finite and none near overflow."""
        return _prepared(values)

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_sums

        rows, columns = left.arrays[0], as_columns(right.arrays[0])
        with contiguous(out) as table:
            space_sums.minkowski(rows, columns, self.p, self._factors, SAFE_SUM, table)

    @property
    def _factors(self) -> int:
        return int(self.p) if self.p <= MOST_FACTORS and self.p == int(self.p) else 0


def _prepared(values: AnyArray) -> Prepared:
    rows = as_rows(values)
    with np.errstate(over="ignore", invalid="ignore"):  # found in the sums, and refused
        sums = np.abs(rows).sum(axis=1, dtype=np.float64)
    fine = sums <= LARGEST_SUM
    if not fine.all():
        _refuse(rows, int(np.argmin(fine)))
    return Prepared((rows,))


def _refuse(rows: Float, bad: int) -> None:
    refuse_not_finite(rows, bad)
    largest = int(np.argmax(np.abs(rows[bad])))
    value = float(rows[bad, largest])
    raise BadRow(
        bad,
        largest,
        f"is {value:.3g}, so large that distances overflow",
        "divide the samples by a constant",
    )

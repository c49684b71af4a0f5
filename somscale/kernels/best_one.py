"""The best unit of every sample alone, exactly, where nobody asks for the second.

Ranks units as :mod:`somscale.kernels.best_two` does, with one search of the products for
the lowest and one walk for what lies within the bound of it.
"""

from __future__ import annotations

import numpy as np

from somscale._types import Float
from somscale.kernels.best_two import BestTwo, Undecided

__all__ = ["BestOne"]


class BestOne(BestTwo):
    """Running search of the best unit for a block of samples; `second` stays −1."""

    def _decide(self, compared: Float) -> Undecided:
        from somscale.kernels import nearest_loops

        best = compared.argmin(axis=1)
        self.best[:] = best
        lowest = compared[np.arange(len(best)), best]
        limits = lowest + 2 * self._codes.bound(self._norms, self._precision)
        # rounded to the products' precision, a limit must not fall
        limits = np.nextafter(limits.astype(compared.dtype), np.inf, dtype=compared.dtype)
        # samples that are doubtful, or take no part, have nothing to compare
        idle, left_out = self.doubtful(), self.left_out()
        limits[idle if left_out is None else idle | left_out] = -np.inf
        return Undecided(*nearest_loops.list_near(compared, limits))

    def settle(self, undecided: Undecided) -> None:
        """Choose among the open candidates by exact squared distance, ties by lowest unit."""
        from somscale.kernels import nearest_loops

        nearest_loops.choose(undecided.rows, undecided.units, undecided.squares, self.best)

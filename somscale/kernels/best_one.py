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

        self.best[:] = compared.argmin(axis=1)
        limits = np.finfo(compared.dtype)
        near = nearest_loops.list_near(
            compared,
            self.best,
            self._norms,
            *self._codes.bound_terms(self._precision),
            float(np.finfo(self._precision).max),
            self.left_out(),
            float(limits.eps),
            float(limits.smallest_subnormal),
        )
        return Undecided(*near)

    def settle(self, undecided: Undecided) -> None:
        """Choose among the open candidates by exact squared distance, ties by lowest unit."""
        from somscale.kernels import nearest_loops

        nearest_loops.choose(undecided.rows, undecided.units, undecided.squares, self.best)

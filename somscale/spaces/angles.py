"""Cosine and correlation distances: one minus the cosine of the angle between two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from somscale._types import AnyArray, Float
from somscale.spaces.base import BadRow, Prepared
from somscale.spaces.vectors import as_rows, contiguous, refuse_not_finite

__all__ = ["AngleSpace"]

DOUBTFUL: Final = 1e-3
"""Distances below which 1 − cos has lost digits: there ‖a − b‖²/2 of the unit vectors keeps
them, and equal vectors are at 0 exactly."""

CONSTANT: Final = 8 * float(np.finfo(np.float64).eps)
"""Share of the largest value within which values differ by rounding only, as 0.1 + 0.2 and
0.3 do: such a vector counts as constant.  Any larger spread is taken for what it is."""


@dataclass(frozen=True)
class AngleSpace:
    """1 − cos of the angle between samples or, `centred`, between samples less their means.

    In [0, 2].  Samples may have any size, from 1e−300 to 1e300.

    Parameters
    ----------
    centred : bool
        Correlation instead of cosine.
    """

    centred: bool = False
    is_metric: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """As in scipy."""
        return "correlation" if self.centred else "cosine"

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair."""
        return 2.0 * n_features + 5.0

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the samples at length 1."""
        from somscale.kernels import space_angles

        rows = as_rows(values)
        units, found = np.empty(rows.shape), np.empty(len(rows), np.int64)
        space_angles.unit_rows(rows, self.centred, CONSTANT, units, found)
        if found.any():
            self._refuse(rows, int(np.argmax(found != 0)))
        return Prepared((units,))

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_angles

        units, others = left.arrays[0], right.arrays[0]
        with contiguous(out) as table:
            np.matmul(units, others.T, out=table)
            space_angles.finish_cosines(units, others, DOUBTFUL, table)

    def _refuse(self, rows: Float, bad: int) -> None:
        refuse_not_finite(rows, bad)
        what = "constant vector" if self.centred else "vector of zeros"
        state = "has the same value in every feature" if self.centred else "holds only zeros"
        raise BadRow(
            bad,
            None,
            state,
            f"{self.name} distance has no meaning for a {what}; leave such samples out with mask=",
        )

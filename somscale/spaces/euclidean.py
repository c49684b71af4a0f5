"""Euclidean and squared Euclidean distances, by matrix products where that is quicker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float
from somscale.spaces.base import BadRow, Prepared
from somscale.spaces.vectors import as_columns, as_rows, contiguous, refuse_not_finite

__all__ = ["EuclideanSpace"]

DIRECT_FEATURES = 8
"""Features up to which direct sums are as quick as products and what they leave to do."""

DOUBTFUL = 1e-3
"""Share of ‖x‖² + ‖y‖² below which ‖x − y‖² is not taken from ‖x‖² + ‖y‖² − 2 x·y.

The rounding of the three terms is a few 10⁻¹⁶ of ‖x‖² + ‖y‖², so the squares that are kept
are off by some 10⁻¹² of themselves at most (measured; 3·10⁻¹² at D = 1,000), and distances
by half of it.  In data centred near their mean few pairs fall below, unless the data are
tight clusters: then direct sums, a quarter as quick, are what keeps the inner distances.
"""

LARGEST_NORM = 2.0**1020
"""Squared norms up to which no step overflows: ‖x − y‖² ≤ 2 (‖x‖² + ‖y‖²)."""

LARGEST_DIFFERENCE = 2.0**510


@dataclass(frozen=True, eq=False)
class EuclideanSpace:
    """√Σ v (x − y)² or, `squared`, without the root.

    Up to `DIRECT_FEATURES` features squares equal ``cdist(…, "sqeuclidean")`` bit for bit.
    Beyond, equal samples are at distance 0 exactly, and distances keep 12 digits
    whatever the offset of the data from the centre.

    Parameters
    ----------
    squared : bool
        Leave the root out.
    center : (D,) float64, optional
        Near the middle of the data, 0 by default: saves time where data lie far from 0.
    feature_weights : (D,) float64, optional
        v ≥ 0, 1 by default.
    """

    squared: bool = False
    center: Float | None = None
    feature_weights: Float | None = None

    @property
    def name(self) -> str:
        """As in scipy."""
        return "sqeuclidean" if self.squared else "euclidean"

    @property
    def is_metric(self) -> bool:
        """Squares break the triangle inequality."""
        return not self.squared

    def operations(self, n_features: int) -> float:
        """Floating-point operations a pair."""
        return 3.0 * n_features if n_features <= DIRECT_FEATURES else 2.0 * n_features + 5.0

    def prepare(self, values: AnyArray) -> Prepared:
        """Keep the raw samples and, for products, centred ones and their squared norms."""
        from somscale.kernels import loops

        rows = as_rows(values)
        n, n_features = rows.shape
        center = np.zeros(n_features) if self.center is None else self.center
        weights = self.feature_weights
        roots = None if weights is None else np.sqrt(weights)
        points, norms = np.empty((n, n_features)), np.empty(n)
        loops.centre_rows(
            rows, center, 1.0, points, norms, roots, LARGEST_DIFFERENCE, None, None, None
        )
        if not norms.max(initial=0.0) <= LARGEST_NORM:  # nan is not
            _refuse(rows, int(np.argmin(norms <= LARGEST_NORM)))
        if n_features <= DIRECT_FEATURES:
            return Prepared((rows,))
        return Prepared((rows, points, norms))

    def distances(self, left: Prepared, right: Prepared, out: Float, *, same: bool = False) -> None:
        """Write distances, (n, m)."""
        from somscale.kernels import space_euclidean as loops

        root, weights = not self.squared, self.feature_weights
        with contiguous(out) as table:
            if len(left.arrays) == 1:
                columns = as_columns(right.arrays[0])
                loops.direct_squares(left.arrays[0], columns, weights, root, table)
                return
            rows, points, norms = left.arrays
            others, other_points, other_norms = right.arrays
            np.matmul(points, other_points.T, out=table)
            loops.finish_products(rows, others, norms, other_norms, weights, DOUBTFUL, root, table)


def _refuse(rows: Float, bad: int) -> None:
    refuse_not_finite(rows, bad)
    largest = int(np.argmax(np.abs(rows[bad])))
    value = float(rows[bad, largest])
    raise BadRow(
        bad,
        largest,
        f"is {value:.3g}, whose square overflows",
        "divide the samples by a constant",
    )

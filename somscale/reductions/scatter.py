"""The scatter reduction: mean and covariance of the samples, in one read of them.

With z = s (x − c) it accumulates Σ w, Σ w z and the upper triangle of Σ w z zᵀ, in which
nothing cancels where the centre c is nearly the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from somscale._types import Float
from somscale.errors import SampleValueError
from somscale.reductions.base import Field, Partial, Workspace
from somscale.reductions.fourth_moments import FourthMomentsReduction

__all__ = ["Scatter", "ScatterReduction"]


@dataclass(frozen=True)
class Scatter:
    """What a pass of the scatter reduction found.

    Attributes
    ----------
    mean : (D,) float64
        The samples' mean.
    covariance : (D, D) float64
        That of s x, over N or the summed weights.
    scale : float
        s.
    """

    mean: Float
    covariance: Float
    scale: float


class ScatterReduction(FourthMomentsReduction):
    """Accumulate mean and covariance about a centre; a missing value counts as the centre's.

    Parameters
    ----------
    center : (D,) float64
        c, nearly the samples' mean.
    scale : float
        s, a power of two that keeps squares of z in range.
    sample_weights : str, optional
        Name of a column of weights w ≥ 0.
    **settings
        ``names``, ``excluded`` and ``missing``, as for
        :class:`somscale.reductions.units.UnitsReduction`.
    """

    def __init__(
        self,
        center: ArrayLike,
        *,
        name: str = "scatter",
        scale: float = 1.0,
        sample_weights: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(center, name=name, **settings)
        self.scale = scale
        self.sample_weights = sample_weights
        for other in ("powers", "skew", "largest"):
            del self.fields[other]
        self.fields["weights"] = Field("sum", "float64", (1,))
        n_features = len(self.center)
        # the covariance and what is made of it, once all is merged
        self.workspace = Workspace(
            row_bytes=16 * n_features + 56, process_bytes=24 * n_features * n_features
        )

    def finalize(self, total: Partial) -> Any:
        """Finished statistics; samples that no map can be trained on raise here."""
        # for the checks alone
        super().finalize(
            {**total, "powers": np.zeros(2), "skew": total["sums"], "largest": np.zeros(())}
        )
        whole = float(total["weights"][0])
        if whole == 0:
            raise SampleValueError(
                "the weights of all samples that take part are 0; give other sample weights"
            )
        n_features = len(self.center)
        shift = total["sums"] / whole
        covariance = np.zeros((n_features, n_features))
        upper = np.triu_indices(n_features)
        covariance[upper] = total["products"] / whole
        covariance += np.triu(covariance, 1).T
        covariance -= np.outer(shift, shift)
        return Scatter(self.center + shift / self.scale, covariance, self.scale)

    def _add(self, state: Any) -> None:
        from somscale.kernels import loops, scatter_loops

        partial, gaps, rows = state.partial, state.gaps, state.rows
        width = len(self.center)
        points = self._scratch.take("points", state.values.shape, np.float64)
        squares = np.empty(len(rows))
        counters = gaps.slab(width)
        loops.centre_rows(
            state.values, self.center, self.scale, points, squares, None, 0.0, *counters
        )
        gaps.take(slice(0, width), counters.by_feature)
        weights = np.ones(len(rows))
        if self.sample_weights is not None:
            weights = rows.column(self.sample_weights).astype(np.float64)
        idle = self._set_aside(state, squares)
        if idle is not None:
            points[idle] = weights[idle] = 0
        sums = (partial[name] for name in ("weights", "sums", "products"))
        scatter_loops.add_scatter(points, weights, *sums)
        partial["hits"] += len(rows) if idle is None else np.count_nonzero(~idle)

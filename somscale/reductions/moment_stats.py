"""What a pass of the moments reduction found, ready for formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.reductions.base import TILE_ROWS, Partial

__all__ = ["MomentStats"]


@dataclass(frozen=True)
class MomentStats:
    """Size, centroid and scatter of every cluster.

    Attributes
    ----------
    hits : (K,) int64
        Samples n_k of every cluster.
    mass : (K,) float64
        The same, or their summed weights where samples have any.
    origin : (D,) float64
        A point o near the samples.
    raw_offsets : (K, D) float64
        μ_k − o of the centroids μ_k, in full precision however far o is from 0; of a cluster
        without mass the centre that was given.
    offsets : (K, D) float64
        The same, scaled by √v where features have weights v.
    squares : (K,) float64
        Σ‖x − μ_k‖², 0 where a cluster's samples are equal.
    distances : (K,) float64
        Σ‖x − m_k‖ about the centres m_k of the pass; 0 where a cluster's samples are equal.
    missing_features : (D,) bool or None
        Features that were left out because every sample lacks them.
    centers : (K, D) float64 or None
        m_k − o of the centres m_k of the pass.
    radii : (N,) float64 or None
        ‖x − m_k‖ of every sample, where they were asked for; nan where it takes no part.
    reaches : (K,) float64 or None
        The largest of every cluster; −inf without samples.

    Notes
    -----
    With sample weights every sum over samples is weighted.
    """

    hits: Int
    mass: Float
    origin: Float
    raw_offsets: Float
    offsets: Float
    squares: Float
    distances: Float
    missing_features: Bool | None = None
    centers: Float | None = None
    radii: Float | None = None
    reaches: Float | None = None

    @classmethod
    def of(
        cls,
        codes: Float,
        total: Partial,
        *,
        origin: Float,
        feature_weights: Float | None,
        missing_features: Bool | None,
    ) -> MomentStats:
        """Statistics about the centroids, from sums about the centres `codes`."""
        mass = total["weights"] if "weights" in total else total["hits"].astype(np.float64)
        residuals, some = total["residuals"], mass[:, None] > 0
        shifts = np.divide(residuals, mass[:, None], out=np.zeros(residuals.shape), where=some)
        raw_offsets = codes + shifts
        offsets, scaled = raw_offsets, shifts
        if feature_weights is not None:
            roots = np.sqrt(feature_weights)
            offsets, scaled = offsets * roots, shifts * roots
        found = total["squares"]
        squares = found - mass * np.einsum("kd,kd->k", scaled, scaled)
        # what is left of equal samples is rounding: each sum has added the features of a
        # sample, or the samples of a tile, one after the other
        rounding = (TILE_ROWS + codes.shape[1]) * np.finfo(np.float64).eps * found
        equal = (squares <= rounding) & (found < np.inf)
        return cls(
            hits=total["hits"],
            mass=mass,
            origin=origin,
            raw_offsets=raw_offsets,
            offsets=offsets,
            squares=np.where(equal, 0.0, squares),
            distances=np.where(equal, 0.0, total["distances"]),
            missing_features=missing_features,
            centers=codes,
            radii=total.get("radii"),
            reaches=total.get("reaches"),
        )

    @property
    def n_clusters(self) -> int:
        """Clusters K, those without mass included."""
        return len(self.mass)

    @property
    def n_samples(self) -> int:
        """Samples N that took part."""
        return int(self.hits.sum())

    @property
    def total(self) -> float:
        """Summed mass of all clusters."""
        return float(self.mass.sum())

    @property
    def alive(self) -> Int:
        """Clusters that have mass."""
        return np.flatnonzero(self.mass > 0)

    @property
    def centroids(self) -> Float:
        """Centroids as they are reported: nan without mass and in missing features, (K, D)."""
        known = self.mass[:, None] > 0
        if self.missing_features is not None:
            known = known & ~self.missing_features
        return np.where(known, self.origin + self.raw_offsets, np.nan)

    def per_mass(self, sums: Float) -> Float:
        """Sums of clusters as means over their samples; nan for clusters without mass."""
        out = np.full(sums.shape, np.nan)
        return np.asarray(np.divide(sums, self.mass, out=out, where=self.mass > 0))

"""What a pass of the units reduction found, ready for formulas."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from somscale._types import Bool, Float, Int

__all__ = ["PartialSums", "UnitStats"]


@dataclass(frozen=True)
class PartialSums:
    """Sums over samples that lack features, each of which is compared by those it has.

    Attributes
    ----------
    masses : (K, D) float64
        Σ w over each unit's samples that have the feature.
    scaled_residuals : (K, D) float64
        Σ w V / V_i (x_f − m_f) over these, with the weights V_i of the features that the
        sample has and V of all that distances are scaled to.
    scaled_masses : (K, D) float64
        Σ w V / V_i over these.
    whole : float
        V.
    """

    masses: Float
    scaled_residuals: Float
    scaled_masses: Float
    whole: float


@dataclass(frozen=True)
class UnitStats:
    """What a pass of the units reduction found.

    Attributes
    ----------
    codes : (K, D) float64
        Code vectors m_u.
    n_samples : int
        Samples N that were evaluated.
    hits : (K,) int64
        n_u, samples whose best-matching unit is u.
    residuals : (K, D) float64
        R_u = Σ(x − m_u).
    squares : (K,) float64
        E_u = Σ‖x − m_u‖².
    distances : (K,) float64
        Σ‖x − m_u‖.
    first, second, counts : (P,) int64
        The pairs (best, second-best unit) that occur, and how often.
    bmu, second_bmu : (N,) int32 or None
        Best and second-best unit of every sample; second is −1 on a one-unit map.
    distance : (N,) float64 or None
        Distance of every sample to its best-matching unit.
    silhouettes, silhouette : (K,) and (N,) float64 or None
        (d₂ − d₁) / d₂ with the distances d₁, d₂ to a sample's two best units: summed by
        unit, and of every sample.
    weights : (K,) float64 or None
        Summed sample weights of each unit, where samples have weights.
    pair_weights : (P,) float64 or None
        Summed sample weights of every pair that occurs, where samples have weights.
    feature_weights : (D,) float64 or None
        Factors v of the squared differences, where features have weights.
    missing_features : (D,) bool or None
        Features that were left out because every sample lacks them.
    dropped_samples : int
        Samples that took no part: excluded, or left out for missing values.
    unscaled : tuple of (K, D) float64 or None
        `raw_codes` and `raw_residuals` where they differ from `codes` and `residuals`.
    gaps : PartialSums or None
        Where samples that take part lack some features: what else is known of them.
        Distances and squares are then partial ones, and `residuals` go over the samples that
        have the feature, so that only formulas that are declared ``with_gaps`` are called.

    Notes
    -----
    With sample weights w every sum over samples is weighted.  With feature weights v
    `codes` and `residuals` are scaled by √v, and they are 0 in missing features, so that
    formulas need not know of either; distances and squares are weighted likewise.
    """

    codes: Float
    n_samples: int
    hits: Int
    residuals: Float
    squares: Float
    distances: Float
    first: Int
    second: Int
    counts: Int
    bmu: Int | None = None
    second_bmu: Int | None = None
    distance: Float | None = None
    silhouettes: Float | None = None
    silhouette: Float | None = None
    weights: Float | None = None
    pair_weights: Float | None = None
    feature_weights: Float | None = None
    missing_features: Bool | None = None
    dropped_samples: int = 0
    unscaled: tuple[Float, Float] | None = None
    gaps: PartialSums | None = None
    derived: dict[Hashable, Float] = field(default_factory=dict, repr=False, compare=False)
    """Costly sums that several formulas share, kept by whoever computed them first."""

    @property
    def n_units(self) -> int:
        """Units K."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Features D."""
        return int(self.codes.shape[1])

    @property
    def n_valid_features(self) -> int:
        """Features that take part: all but the missing ones."""
        missing = 0 if self.missing_features is None else np.count_nonzero(self.missing_features)
        return self.n_features - int(missing)

    @property
    def weight_sum(self) -> float:
        """Summed weights of the features that take part; their number without weights."""
        if self.gaps is not None:
            return self.gaps.whole
        if self.feature_weights is None:
            return float(self.n_valid_features)
        if self.missing_features is None:
            return float(self.feature_weights.sum())
        return float(self.feature_weights[~self.missing_features].sum())

    @property
    def raw_codes(self) -> Float:
        """Code vectors as they were given, nan in missing features, (K, D)."""
        return self.codes if self.unscaled is None else self.unscaled[0]

    @property
    def raw_residuals(self) -> Float:
        """Σ w (x − m_u) without feature weights, nan in missing features, (K, D)."""
        return self.residuals if self.unscaled is None else self.unscaled[1]

    @property
    def mass(self) -> Int | Float:
        """Samples of each unit, or their summed weights where they have any, (K,)."""
        return self.hits if self.weights is None else self.weights

    @property
    def feature_mass(self) -> Int | Float:
        """`mass` over the samples that have a feature: (K, 1), or (K, D) with gaps."""
        return self.mass[:, None] if self.gaps is None else self.gaps.masses

    @property
    def distance_mass(self) -> Int | Float:
        """Σ w s_i, s_i scaling the squares of a sample to its distance; as `feature_mass`."""
        return self.mass[:, None] if self.gaps is None else self.gaps.scaled_masses

    @property
    def distance_residuals(self) -> Float:
        """Σ w s_i (x − m_u), scaled by √v as `residuals` are, (K, D)."""
        if self.gaps is None:
            return self.residuals
        scaled = self.gaps.scaled_residuals
        return scaled if self.feature_weights is None else scaled * np.sqrt(self.feature_weights)

    @property
    def pair_mass(self) -> Int | Float:
        """Samples of each pair that occurs, or their summed weights, (P,)."""
        return self.counts if self.pair_weights is None else self.pair_weights

    @property
    def total(self) -> float:
        """Samples in all, or their summed weights."""
        return self.n_samples if self.weights is None else float(self.weights.sum())

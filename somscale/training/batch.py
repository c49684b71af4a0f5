"""The batch rule: every unit takes the mean of all samples, weighted by the neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.unit_stats import UnitStats
from somscale.topology import Grid, neighborhood_kernel
from somscale.training.history import History
from somscale.training.passes import Material
from somscale.training.settings import Settings

__all__ = ["Step", "batch_step", "train_batch"]

_ROW_BLOCK = 1024


@dataclass(frozen=True)
class Step:
    """One step of the batch rule.

    Attributes
    ----------
    codes : (K, D) float64
        The new codes.
    distortion : float
        Σ_i Σ_k h(δ(b_i, k)) d²(x_i, m_k) / N of the codes before.
    """

    codes: Float
    distortion: float


def train_batch(material: Material, codes: Float, settings: Settings, history: History) -> Float:
    """Train codes, one read of the samples an epoch."""
    shares = np.linspace(0, 1, settings.epochs)
    for temperature in settings.fall(settings.temperature, shares).tolist():
        stats = material.read_units(codes, history.label(settings.epochs))
        step = batch_step(stats, settings.grid, settings.kernel, temperature)
        history.missing = stats.missing_features
        history.n_samples = stats.n_samples
        error = stats.distances.sum() / stats.total
        history.add(codes, step.codes, error, step.distortion, temperature)
        codes = step.codes
        if history.settled(settings.tolerance):
            break
    return codes


def batch_step(found: UnitStats, grid: Grid, kernel: str, temperature: float) -> Step:
    """Codes after one batch step; a unit that no sample reaches keeps its code.

    Written about the codes' mean, so that large offsets of the data cost no digits.  The
    distortion comes from the same products: with z = x − c and a = m − c about that mean c,
    Σ_i h d² = Σ_u h_uk Σ_{x∈u} (‖z‖² − 2 a_k·z + ‖a_k‖²).
    """
    sums = _Sums.of(found)
    weigh = neighborhood_kernel(kernel)
    every = np.arange(grid.size)
    codes, center = sums.codes.copy(), sums.center
    total = 0.0
    for start in range(0, grid.size, _ROW_BLOCK):
        rows = every[start : start + _ROW_BLOCK]
        weights = weigh(grid.distance(rows[:, None], every), temperature)
        mass, moved = weights @ sums.mass, weights @ sums.moved
        total += sums.distortion(rows, weights, mass, moved)
        # features that a unit's neighbourhood has no value of stay what they are
        with np.errstate(divide="ignore", invalid="ignore"):
            codes[rows] = np.where(mass > 0, center + moved / mass, codes[rows])
    return Step(codes, max(total, 0.0) / sums.total)


@dataclass(frozen=True)
class _Sums:
    """Sums over each unit's samples, about the mean c of the codes.

    Attributes
    ----------
    codes, center : (K, D) and (D,)
        m and c.
    mass, moved : (K, 1 or D) and (K, D)
        Σ w, of the samples that have the feature, and Σ w (x − c).
    scaled_mass, scaled_moved : as `mass` and `moved`
        The same with the weights of partial distances.
    squares : (K,)
        Σ w d²(x, c).
    feature_weights : (D,)
        v.
    total : float
        Σ w of all samples.
    """

    codes: Float
    center: Float
    mass: Float
    moved: Float
    scaled_mass: Float
    scaled_moved: Float
    squares: Float
    feature_weights: Float
    total: float

    @classmethod
    def of(cls, stats: UnitStats) -> _Sums:
        """The sums of a pass."""
        # features that every sample lacks keep whatever stands for them
        codes, residuals = np.nan_to_num(stats.raw_codes), np.nan_to_num(stats.raw_residuals)
        weights: Float = np.ones(codes.shape[1])
        if stats.feature_weights is not None:
            weights = stats.feature_weights
        center = codes.mean(axis=0)
        away = codes - center
        mass: Float = np.asarray(stats.mass[:, None], np.float64)
        scaled_mass = mass
        scaled = residuals
        moved = scaled_moved = mass * away + residuals
        if stats.gaps is not None:
            mass, scaled_mass = stats.gaps.masses, stats.gaps.scaled_masses
            scaled = stats.gaps.scaled_residuals
            moved, scaled_moved = mass * away + residuals, scaled_mass * away + scaled
        # Σ w ‖x − c‖² = Σ w ‖x − m‖² + a·(R + (R + a Σ w))
        squares = stats.squares + (away * (scaled + scaled_moved)) @ weights
        return cls(
            codes, center, mass, moved, scaled_mass, scaled_moved, squares, weights, stats.total
        )

    def distortion(self, rows: Int, weights: Float, mass: Float, moved: Float) -> float:
        """Σ_i Σ_k h d² of some units k, given the sums that their neighbourhoods weighted."""
        if self.scaled_mass is not self.mass:
            mass, moved = weights @ self.scaled_mass, weights @ self.scaled_moved
        away = self.codes[rows] - self.center
        cross = (away * (mass * away - 2 * moved)) @ self.feature_weights
        return float((weights @ self.squares + cross).sum())

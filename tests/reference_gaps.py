"""What the tests of maps with gaps compare with: partial distances, straight from their definition.

Nothing is quick or clever, and nothing is taken from somscale.  Samples are (N, D) with nan
for what they lack, codes (K, D) with nan at masked features; v are weights of features and
w of samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import reference
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Gapped:
    """Samples with gaps, a map, and weights."""

    samples: Floats
    codes: Floats
    v: Floats
    w: Floats

    def scale(self, sample: Floats) -> float:
        """V / V_i; 0 where the sample has nothing."""
        whole = math.fsum(self.v[~np.isnan(self.codes).any(axis=0)])
        held = math.fsum(self.v[~np.isnan(sample)])
        return whole / held if held else 0.0

    def between(self, sample: Floats, code: Floats) -> float:
        """V / V_i Σ v (x − m)² over the features that the sample has, added in their order."""
        total = 0.0
        for x, m, weight in zip(sample, code, self.v, strict=True):
            if not math.isnan(x):
                total += (x - m) * (x - m) * weight
        return total * self.scale(sample)

    @property
    def taken(self) -> NDArray[np.bool_]:
        """Samples that have a feature with a weight, (N,)."""
        return np.array([self.scale(x) > 0 for x in self.samples])

    @property
    def squares(self) -> Floats:
        """d² of the samples that take part to every unit, (n, K)."""
        rows = self.samples[self.taken]
        return np.array([[self.between(x, m) for m in self.codes] for x in rows])

    def best_two(self) -> tuple[Ints, Ints]:
        """Best and second-best unit of those that take part, ties to the lowest."""
        order = np.argsort(self.squares, axis=1, kind="stable")
        return order[:, 0], order[:, 1] if len(self.codes) > 1 else np.full(len(order), -1)

    def weighted_mean(self, values: Any, chosen: Any = slice(None)) -> float:
        """Σ w value / Σ w over some of the samples that take part; nan where w adds up to 0."""
        w = self.w[self.taken][chosen]
        return math.fsum(w * np.asarray(values)[chosen]) / math.fsum(w) if w.sum() else math.nan

    def composite(self) -> Floats:
        """Mean of each unit's samples that have the feature, (K, D); nan where there is none."""
        best, _ = self.best_two()
        rows, w = self.samples[self.taken], self.w[self.taken]
        means = np.full(self.codes.shape, np.nan)
        for unit, feature in np.ndindex(*means.shape):
            own = (best == unit) & ~np.isnan(rows[:, feature])
            if math.fsum(w[own]) > 0:
                means[unit, feature] = math.fsum(w[own] * rows[own, feature]) / math.fsum(w[own])
        return means

    def explained_variance(self) -> float:
        """1 − Σ w d²(x, m_b) / Σ w d²(x, x̄), x̄ being the mean of those that have the feature."""
        rows, w = self.samples[self.taken], self.w[self.taken]
        mean = np.zeros(rows.shape[1])
        for feature, column in enumerate(rows.T):
            has = ~np.isnan(column)
            if w[has].sum() > 0:
                mean[feature] = math.fsum(w[has] * column[has]) / math.fsum(w[has])
        about = [self.between(x, mean) for x in rows]
        return 1 - math.fsum(w * self.squares.min(axis=1)) / math.fsum(w * np.array(about))

    def distortion(self, delta: Floats, temperature: float) -> float:
        """Mean over samples of Σ_k h(δ(b, k)) d²(x, m_k)."""
        best, _ = self.best_two()
        h = reference.neighborhood(delta, "gaussian", temperature)[best]
        return self.weighted_mean((h * self.squares).sum(axis=1))

    def distortion_parts(self, delta: Floats, temperature: float) -> Floats:
        """The distortion in three parts, every (sample, feature) having the weight w v V / V_i."""
        best, _ = self.best_two()
        h = reference.neighborhood(delta, "gaussian", temperature)
        rows, parts = self.samples[self.taken], np.zeros(3)
        factors = self.w[self.taken] * [self.scale(x) for x in rows]
        for unit, feature in np.ndindex(*self.codes.shape):
            own = (best == unit) & ~np.isnan(rows[:, feature])
            mass = factors[own] * self.v[feature]
            if not mass.sum() > 0:
                continue
            values, code = rows[own, feature], self.codes[:, feature]
            centre = math.fsum(mass * values) / math.fsum(mass)
            mean = math.fsum(h[unit] * code) / math.fsum(h[unit])
            parts += [
                h[unit].sum() * math.fsum(mass * (values - centre) ** 2),
                h[unit].sum() * mass.sum() * (centre - mean) ** 2,
                mass.sum() * math.fsum(h[unit] * (code - mean) ** 2),
            ]
        return parts / math.fsum(self.w[self.taken])

"""Which samples can be the farthest of a cluster or the closest of two, told from radii alone.

Two samples of a cluster, of radii r and r′ about one centre, are at most r + r′ apart; a
sample of radius r is at least ‖μ_a − μ_b‖ − r − R_b from any of another cluster b that
reaches R_b far.  With the distances of a few samples as bounds, most others are ruled out
before any is read again.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.kernels.closest import closest_between
from somscale.kernels.extreme_blocks import UNDERFLOW, slack_of_radii
from somscale.kernels.farthest import farthest_in_clusters
from somscale.metrics.code_distances import distance_rows
from somscale.reductions.moments import MomentStats
from somscale.reductions.pair_stats import Extremes

__all__ = ["Cloud", "Found", "Which"]

Which: TypeAlias = Literal["diameters", "largest", "separation"]
"""What can be wanted."""

_FIRST_OF_CLUSTER = 1024
_FIRST_OF_ALL = 1 << 16
_FIRST_BYTES = 64 << 20
_NEXT = 16
"""Beside the outermost of a cluster some are taken of the next, so many times as many: where
all outliers lie on one side, the farthest from them is none of them.
"""
_MOST_GAPS = 4096
"""Beyond so many clusters, bounds between all of them would cost more than they spare."""


@dataclass(frozen=True)
class Found:
    """Squared distances found so far: of each cluster the largest, between any two the smallest."""

    squares: Float
    separation: float


@dataclass(frozen=True)
class Cloud:
    """What is known of clustered samples before any is read again.

    Attributes
    ----------
    codes : (N,) integer
        Cluster of every sample, −1 where it takes no part.
    radii : (N,) float64
        Its distance from its cluster's centre, rounded up.
    hits : (K,) int64
        Samples of every cluster.
    centers : (K, D) float64
        The centres, among the samples.
    offsets : (K, D) float64
        The same from a point near the samples, scaled by the features' weights.
    reaches : (K,) float64
        The largest radius of every cluster; −inf without samples.
    which : collection of str
        What is wanted: "diameters" of all clusters or the "largest" alone, "separation".
    weights : (D,) float64 or None
        Weights of squared differences.
    kept : (F,) bool or None
        The D features that take part, where some of the F that are read do not.
    """

    codes: Int
    radii: Float
    hits: Int
    centers: Float
    offsets: Float
    reaches: Float
    which: Collection[str]
    weights: Float | None = None
    kept: Bool | None = None

    @classmethod
    def of(
        cls, codes: Int, stats: MomentStats, weights: Float | None, which: Collection[str]
    ) -> Cloud:
        """From a pass about centres that has kept the samples' radii."""
        if stats.radii is None or stats.reaches is None or stats.centers is None:
            raise ValueError("the pass has not kept the radii of its samples")
        centers, offsets, kept = stats.origin + stats.centers, stats.centers, None
        if stats.missing_features is not None:
            kept = ~stats.missing_features
            centers, offsets = centers[:, kept], offsets[:, kept]
            weights = None if weights is None else weights[kept]
        if weights is not None:
            offsets = offsets * np.sqrt(weights)
        codes = codes.astype(np.int32 if len(centers) < 1 << 31 else np.int64)
        codes[np.isnan(stats.radii)] = -1
        # a radius is of a difference from the origin, whose rounding goes with its size
        size = np.sqrt(np.einsum("kd,kd->k", offsets, offsets))
        slack = slack_of_radii(centers.shape[1])
        radii = stats.radii * (1 + slack) + slack * size[codes] + UNDERFLOW
        reaches = stats.reaches * (1 + slack) + slack * size + UNDERFLOW
        return cls(
            codes, radii, stats.hits, centers, offsets, reaches, frozenset(which), weights, kept
        )

    @classmethod
    def of_one(
        cls, radii: Float, center: Float, weights: Float | None, kept: Bool | None = None
    ) -> Cloud:
        """All samples as one cluster, nan radii where they take no part."""
        taken = ~np.isnan(radii)
        up = radii * (1 + slack_of_radii(len(center))) + UNDERFLOW
        reach = np.array([np.nanmax(up, initial=-np.inf)])
        codes, hits = np.where(taken, 0, -1), np.array([np.count_nonzero(taken)])
        centers = center[None]
        return cls(
            codes, up, hits, centers, centers, reach, frozenset({"diameters"}), weights, kept
        )

    @property
    def n_clusters(self) -> int:
        """Clusters K, those without samples included."""
        return len(self.hits)

    @property
    def nothing(self) -> Found:
        """What is known before any search."""
        return Found(np.zeros(self.n_clusters), math.inf)

    @property
    def _inside(self) -> bool:
        return "diameters" in self.which or "largest" in self.which

    @property
    def _between(self) -> bool:
        return "separation" in self.which and int(np.count_nonzero(self.hits)) > 1

    def first_rows(self) -> Int:
        """The outermost samples of every cluster, whose distances bound the others', ascending."""
        n_bytes = 8 * self.n_clusters * self.centers.shape[1]
        shares = _FIRST_OF_CLUSTER, _FIRST_OF_ALL // self.n_clusters, _FIRST_BYTES // n_bytes
        most = max(2, min(shares))
        rows = np.flatnonzero(self.codes >= 0)
        if self.n_clusters > 1:
            rows = rows[np.argsort(self.codes[rows], kind="stable")]
        chosen, first = np.ones(len(rows), bool), 0
        for size in self.hits.tolist():
            own = slice(first, first + size)
            if size > most:
                chosen[own] = False
                chosen[first + _outermost(self.radii[rows[own]], most)] = True
            first += size
        return np.sort(rows[chosen])

    def rows_left(self, found: Found) -> Int:
        """Samples that can still be in a better pair than those found, ascending."""
        left = np.zeros(len(self.codes), bool)
        slack = slack_of_radii(self.centers.shape[1])
        taken = self.codes >= 0
        if self._inside:
            squares = found.squares
            if "diameters" not in self.which:
                squares = np.full(len(squares), squares.max())
            least = np.sqrt(squares) * (1 - slack) - self.reaches
            least[self.hits < 2] = np.inf
            left |= taken & (self.radii >= least[self.codes])
        if self._between:
            reach = math.sqrt(found.separation) * (1 + slack)
            left |= taken & (self.radii + reach >= self._gaps(slack)[self.codes])
        return np.flatnonzero(left)

    def search(self, rows: Int, values: Float, found: Found) -> Found:
        """Search some samples for better pairs."""
        values = values if self.kept is None else np.ascontiguousarray(values[:, self.kept])
        codes, squares, separation = self.codes[rows], found.squares, found.separation
        if self._inside:
            squares = farthest_in_clusters(
                values,
                codes,
                self.centers,
                self.radii[rows],
                at_least=squares,
                only_largest="diameters" not in self.which,
                weights=self.weights,
            )
        if self._between:
            separation = closest_between(
                values, codes, self.centers, at_most=separation, weights=self.weights
            )[0]
        return Found(squares, separation)

    def reaches_of(self, rows: Int) -> Float:
        """The largest radius of every cluster among some samples, (K,); −inf without any."""
        reaches = np.full(self.n_clusters, -np.inf)
        np.maximum.at(reaches, self.codes[rows], self.radii[rows])
        return reaches

    def may_hold(self, left: Float, right: Float, found: Found) -> bool:
        """Whether samples that reach so far can hold a better pair with others."""
        if self._between:
            return True
        least = np.sqrt(found.squares) * (1 - slack_of_radii(self.centers.shape[1]))
        if "diameters" not in self.which:
            least = np.full(len(least), least.max())
        return bool((left + right >= least).any())

    def finish(self, found: Found) -> Extremes:
        """The extremes, once no better pair is left; nan where they were not wanted."""
        diameters = np.where(self.hits > 0, np.sqrt(found.squares), np.nan)
        separation = math.sqrt(found.separation) if "separation" in self.which else math.nan
        if not self._inside:
            diameters[:] = np.nan
        return Extremes(self.hits, diameters, separation)

    def _gaps(self, slack: float) -> Float:
        """How far the nearest other cluster is from every centre at least, (K,)."""
        gaps = np.full(self.n_clusters, -np.inf)
        alive = np.flatnonzero(self.hits)
        if len(alive) > _MOST_GAPS:
            return gaps
        size = np.sqrt(np.einsum("kd,kd->k", self.offsets, self.offsets)).max()
        for rows, apart in distance_rows(self.offsets[alive]):
            apart -= self.reaches[alive]
            apart[np.arange(len(apart)), np.arange(len(alive))[rows]] = np.inf
            gaps[alive[rows]] = apart.min(axis=1) - 4 * slack * size - UNDERFLOW
        return gaps


def _outermost(radii: Float, most: int) -> Int:
    """Half as many of the largest radii as wanted, and half of those that follow."""
    half, n = most // 2, len(radii)
    outer = np.argpartition(radii, n - half)[-half:]
    rest = np.argpartition(radii, max(n - _NEXT * most, 0))[-_NEXT * most :]
    rest = np.setdiff1d(rest, outer, assume_unique=True)
    spread = np.linspace(0, len(rest) - 1, most - half).astype(np.int64)
    return np.concatenate([outer, rest[spread]])

"""The plane of the samples' first two principal components, of all of them where that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from somscale._types import Bool, Float
from somscale.engine.memory import baseline_bytes, budget_bytes
from somscale.engine.readers.peek import read_ranges
from somscale.engine.readers.samples import Samples
from somscale.errors import MemoryBudgetError
from somscale.training.passes import Material

__all__ = ["Plane", "find_plane", "way_of_plane"]

_MOST: Final = 2048
"""Features, or samples, whose products are worth more than an epoch or two of training."""
_SLAB: Final = 1024
_SLAB_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Plane:
    """Directions of largest variance.

    Attributes
    ----------
    mean : (D,) float64
        The samples' mean.
    axes : (2, D) float64
        Directions; a step of 1 is one unit of (weighted) distance.
    spread : (2,) float64
        Standard deviations along them; 0 where there is no such direction.
    source : str
        What it was made of, in words.
    """

    mean: Float
    axes: Float
    spread: Float
    source: str

    @classmethod
    def of(cls, mean: Float, axes: Float, variances: Float, scale: float, source: str) -> Plane:
        """A plane of up to two axes, each with a sign of its own, and variances of s x."""
        whole, spread = np.zeros((2, len(mean))), np.zeros(2)
        for number, (axis, variance) in enumerate(zip(axes, variances, strict=True)):
            largest = axis[np.abs(axis).argmax()]
            whole[number] = axis if largest >= 0 else -axis
            spread[number] = np.sqrt(max(variance, 0.0)) / scale
        return cls(mean, whole, spread, source)


def find_plane(material: Material, rows: Float, means: Float) -> Plane:
    """The plane of all samples, or else of some.

    Parameters
    ----------
    material : Material
        The samples.
    rows : (n, D) float64
        Some of them, without gaps.
    means : (D,) float64
        A point near all samples.

    Notes
    -----
    Through the D × D covariance where D ≤ N, in one read (two by partial distance); else
    through the N × N products of the samples, in two or three reads.  In features of
    weight 0 the axes are the regression on those of the others.
    """
    scale = _power_of_two(float(np.abs(rows - means).max()))
    plane, way = None, way_of_plane(material.samples)
    if way == "features":
        plane = _by_features(material, means, scale)
    elif way == "samples":
        plane = _by_samples(material, scale)
    return plane or _of_rows(rows, material.samples.feature_weights, scale)


def way_of_plane(samples: Samples) -> str:
    """Through which products the plane is found: of "features", of "samples", or "" of neither."""
    n_rows, n_features = samples.shape
    if n_features <= min(n_rows, _MOST):
        return "features"
    return "samples" if n_rows < n_features and n_rows <= _MOST else ""


def _power_of_two(largest: float) -> float:
    return float(np.ldexp(1.0, -int(np.frexp(largest)[1]))) if largest > 0 else 1.0


def _by_features(material: Material, center: Float, scale: float) -> Plane | None:
    """Through the covariance of the features."""
    try:
        if material.partial:
            found = material.read_units(center[None])
            mass = np.where(found.feature_mass[0] > 0, found.feature_mass[0], 1)
            center = center + np.nan_to_num(found.raw_residuals[0]) / mass
        scatter = material.read_scatter(center, scale)
    except MemoryBudgetError:
        return None
    weights = material.samples.feature_weights
    roots = np.ones(len(center)) if weights is None else np.sqrt(weights)
    covariance = scatter.covariance
    values, vectors = _largest_two(covariance * roots * roots[:, None])
    axes = [
        covariance @ (roots * vector) / value
        for value, vector in zip(values, vectors, strict=True)
        if value > 0
    ]
    return Plane.of(scatter.mean, np.array(axes), values[: len(axes)], scale, "all samples")


def _by_samples(material: Material, scale: float) -> Plane | None:
    """Through the products of the samples; None where they do not fit, or are not finite."""
    samples = material.samples
    n_rows, n_features = samples.shape
    needed = 8 * (4 * n_rows**2 + 4 * n_features) + 4 * _SLAB_BYTES
    if needed > budget_bytes() - baseline_bytes():
        return None
    taken = _taken(material)
    if not taken.any():
        return None
    weights = np.ones(int(taken.sum()))
    if samples.sample_weights is not None:
        weights = np.asarray(samples.sample_weights.read(0, n_rows), np.float64)[taken]
    if not weights.sum() > 0:
        return None
    shares = weights / weights.sum()
    square, mean = np.zeros((len(shares), len(shares))), np.zeros(n_features)
    feature_weights = samples.feature_weights
    for features, values in _slabs(samples):
        mean[features], away = _centred(values[taken], shares, scale)
        if feature_weights is not None:
            away *= np.sqrt(feature_weights[features])
        square += away @ away.T
    if not np.isfinite(square).all():
        return None
    found, vectors = _largest_two(square)
    keep = found > 0
    axes = np.zeros((int(keep.sum()), n_features))
    for features, values in _slabs(samples):
        axes[:, features] = vectors[keep] @ _centred(values[taken], shares, scale)[1]
    axes /= np.sqrt(found[keep])[:, None]
    return Plane.of(mean, axes, found[keep], scale, "all samples")


def _centred(values: Float, shares: Float, scale: float) -> tuple[Float, Float]:
    """Means of some features, and √w s (x − mean), 0 where a value is missing."""
    held = np.isfinite(values)
    if held.all():
        mean = values[0] + shares @ (values - values[0])
    else:
        whole = shares @ held
        base = np.where(held, values, 0.0)
        mean = (shares @ base) / np.where(whole > 0, whole, 1)
    away = np.where(np.isnan(values), 0.0, values - mean)
    return mean, away * scale * np.sqrt(shares)[:, None]


def _slabs(samples: Samples) -> Iterator[tuple[slice, Float]]:
    """The samples a slab of features at a time, (N, f); the same slabs however they are read."""
    n_rows, n_features = samples.shape
    width = max(1, _SLAB_BYTES // (8 * n_rows * _SLAB)) * _SLAB
    ends = np.array([0]), np.array([n_rows])
    for first in range(0, n_features, width):
        last = min(first + width, n_features)
        values = read_ranges(samples.select(np.arange(first, last)), *ends)
        for start in range(0, last - first, _SLAB):
            stop = min(start + _SLAB, last - first)
            yield slice(first + start, first + stop), np.ascontiguousarray(values[:, start:stop])


def _taken(material: Material) -> Bool:
    """Samples that take part, (N,)."""
    samples = material.samples
    n_rows, n_features = samples.shape
    taken = np.ones(n_rows, bool)
    if samples.excluded is not None:
        taken = ~np.asarray(samples.excluded.read(0, n_rows), bool)
    if samples.missing == "raise":
        return taken
    gaps = np.zeros(n_rows, np.int64)
    for _, values in _slabs(samples):
        gaps += np.isnan(values).sum(axis=1)
    most = 0 if samples.missing == "drop_any_sample" else n_features - 1
    return taken & (gaps <= most)


def _of_rows(rows: Float, feature_weights: Float | None, scale: float) -> Plane:
    """The plane of some rows alone."""
    mean = rows.mean(axis=0)
    away = (rows - mean) * scale / np.sqrt(len(rows))
    weighted = away if feature_weights is None else away * np.sqrt(feature_weights)
    left, spread, _ = np.linalg.svd(weighted, full_matrices=False)
    keep = spread[:2] > 0
    axes = (left.T[:2][keep] @ away) / spread[:2][keep][:, None]
    return Plane.of(mean, axes, spread[:2][keep] ** 2, scale, f"{len(rows)} samples")


def _largest_two(symmetric: Float) -> tuple[Float, Float]:
    """The largest eigenvalues, at most two, and their vectors, one a row."""
    from scipy.linalg import eigh

    last = len(symmetric) - 1
    values, vectors = eigh(symmetric, subset_by_index=[max(0, last - 1), last])
    return values[::-1], vectors.T[::-1]

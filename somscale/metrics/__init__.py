"""Indices, each by its own function of ``(samples, som)`` or ``(labels, clusters)``."""

from __future__ import annotations

from somscale.metrics.distortion import distortion, distortion_parts, unit_distortion
from somscale.metrics.partition import (
    adjusted_rand_score,
    fowlkes_mallows_score,
    pair_counts,
    pair_jaccard_score,
    purity,
    rand_score,
)
from somscale.metrics.quantization import (
    dead_units,
    explained_variance,
    hits,
    quantization_error,
    unit_quantization_error,
)
from somscale.metrics.sample_values import bmu, distance, second_bmu
from somscale.metrics.topographic import topographic_error, unit_topographic_error

__all__ = [
    "adjusted_rand_score",
    "bmu",
    "dead_units",
    "distance",
    "distortion",
    "distortion_parts",
    "explained_variance",
    "fowlkes_mallows_score",
    "hits",
    "pair_counts",
    "pair_jaccard_score",
    "purity",
    "quantization_error",
    "rand_score",
    "second_bmu",
    "topographic_error",
    "unit_distortion",
    "unit_quantization_error",
    "unit_topographic_error",
]

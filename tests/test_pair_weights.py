"""Weights of features in indices over pairs: those of the scaled samples."""

from __future__ import annotations

import numpy as np
import pytest

import somscale as ss

RNG = np.random.default_rng(0)
SAMPLES = RNG.standard_normal((400, 12)) + 5
CLUSTERS = RNG.integers(0, 4, 400)
WEIGHTS = np.where(np.arange(12) == 3, 0, RNG.random(12))
SCALED = SAMPLES * np.sqrt(WEIGHTS)
OF_CLUSTERS = [
    *("silhouette_score", "dunn_index", "davies_bouldin_index", "cluster_mean_distance"),
    *("cluster_diameter", "cluster_separation", "centroid_silhouette", "squared_silhouette"),
]
OF_MAPS = [
    *("c_measure", "kruskal_shepard_error", "metric_stress", "sammon_stress"),
    *("shepard_correlation", "shepard_rank_correlation"),
]


@pytest.mark.parametrize("name", OF_CLUSTERS)
def test_clusters(name: str) -> None:
    index = getattr(ss.metrics, name)
    found = index(SAMPLES, CLUSTERS, feature_weights=WEIGHTS)
    np.testing.assert_allclose(found, index(SCALED, CLUSTERS), rtol=1e-12)
    assert not np.allclose(found, index(SAMPLES, CLUSTERS))


@pytest.mark.parametrize("name", OF_MAPS)
@pytest.mark.parametrize("kind", ["map", "embedding"])
def test_projections(name: str, kind: str) -> None:
    index = getattr(ss.metrics, name)
    projections = {
        "map": [ss.codebook(values[:20], ss.Grid(4, 5)) for values in (SAMPLES, SCALED)],
        "embedding": [SAMPLES[:, :2]] * 2,
    }[kind]
    found = index(SAMPLES, projections[0], feature_weights=WEIGHTS)
    np.testing.assert_allclose(found, index(SCALED, projections[1]), rtol=1e-11)
    assert not np.allclose(found, index(SAMPLES, projections[0]), rtol=1e-6)

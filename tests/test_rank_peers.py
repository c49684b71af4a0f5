"""Where scikit-learn defines the same thing on samples without ties, it is the same number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

import somscale as ss

N = 501
K = (1, 5, 10, 100, 250)


@pytest.fixture(scope="module")
def jittered() -> tuple[Any, Any]:
    """Digits of which no two distances are equal, and their first two components."""
    digits = load_digits().data
    samples = digits + 1e-3 * np.random.default_rng(0).standard_normal(digits.shape)
    embedding = PCA(n_components=2, svd_solver="full").fit_transform(samples)
    return samples[:N], embedding[:N]


def test_trustworthiness_is_that_of_scikit_learn(jittered: tuple[Any, Any]) -> None:
    samples, embedding = jittered
    ours = ss.metrics.trustworthiness(samples, embedding, k=K)
    theirs = [trustworthiness(samples, embedding, n_neighbors=k) for k in K]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_continuity_is_trustworthiness_of_exchanged_spaces(jittered: tuple[Any, Any]) -> None:
    samples, embedding = jittered
    ours = ss.metrics.continuity(samples, embedding, k=K)
    theirs = [trustworthiness(embedding, samples, n_neighbors=k) for k in K]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ties", ["index", "expected", "best", "worst"])
def test_without_ties_no_policy_changes_that(jittered: tuple[Any, Any], ties: str) -> None:
    samples, embedding = (space[:301] for space in jittered)
    ours = ss.metrics.trustworthiness(samples, embedding, k=[7, 150], ties=ties)
    theirs = [trustworthiness(samples, embedding, n_neighbors=k) for k in (7, 150)]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_a_transposed_question_is_another_number(jittered: tuple[Any, Any]) -> None:
    samples, embedding = jittered
    ours = float(ss.metrics.trustworthiness(samples, embedding, k=10))
    assert abs(ours - trustworthiness(embedding, samples, n_neighbors=10)) > 0.01

"""Settings of all tests: what hypothesis draws is the same in every run, and few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, max_examples=50, database=None
)
settings.load_profile("deterministic")


@pytest.fixture(scope="session")
def digits_map() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples (1797, 64) and 64 codes whose indices two other programs agree on."""
    from sklearn.datasets import load_digits

    samples = load_digits().data / 16
    return samples, samples[np.random.default_rng(0).permutation(1797)][:64]

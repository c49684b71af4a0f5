"""Simplified silhouettes against their definition, golden values and the laws of weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

import somscale as ss

NAMES = ["simplified_silhouette", "unit_simplified_silhouette", "sample_simplified_silhouette"]
DATA = Path(__file__).parent / "data"


def by_definition(samples: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.float64]:
    """(d2 - d1) / max(d1, d2) of every sample, and 0 where both are 0."""
    distances = np.sqrt(((samples[:, None] - codes[None]) ** 2).sum(axis=2))
    distances.sort(axis=1)
    first, second = distances[:, 0], distances[:, 1]
    return np.asarray([(b - a) / b if b else 0.0 for a, b in zip(first, second, strict=True)])


@given(
    n=st.integers(1, 40),
    k=st.integers(2, 6),
    d=st.integers(1, 4),
    seed=st.integers(0, 99),
    whole=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_it_is_its_definition(n: int, k: int, d: int, seed: int, whole: bool, chunk: int) -> None:
    rng = np.random.default_rng(seed)
    draw = (lambda shape: rng.integers(0, 3, shape).astype(float)) if whole else rng.standard_normal
    samples, codes = draw((n, d)), draw((k, d))
    som = ss.codebook(codes, ss.Grid.chain(k))
    q = ss.evaluate(samples, som, metrics=[*NAMES, "bmu", "hits"])
    expected = by_definition(samples, codes)
    np.testing.assert_allclose(q[NAMES[2]], expected, rtol=1e-12, atol=1e-14)
    assert q["value"].item() == pytest.approx(expected.mean(), rel=1e-12, abs=1e-14)
    for unit in range(k):
        own = expected[q["bmu"].values == unit]
        found = q[NAMES[1]].values[unit]
        assert (np.isnan(found) and not len(own)) or found == pytest.approx(own.mean(), abs=1e-12)
    lazy = ss.evaluate(
        xr.DataArray(samples, dims=("sample", "feature")).chunk(sample=min(chunk, n)),
        som,
        metrics=NAMES,
    )
    np.testing.assert_array_equal(lazy["value"].compute(), q["value"])
    np.testing.assert_array_equal(lazy[NAMES[2]].compute(), q[NAMES[2]])


@pytest.mark.parametrize(("name", "expected"), [("iris", 0.6663855565), ("digits", 0.2826795771)])
def test_golden_values_of_clusterings(name: str, expected: float) -> None:
    load = {"iris": load_iris, "digits": load_digits}[name]
    samples = load().data
    labels = np.load(next(DATA.glob(f"*{name}*.npy")))
    codes = np.stack([samples[labels == c].mean(axis=0) for c in np.unique(labels)])
    value = ss.metrics.simplified_silhouette(samples, ss.codebook(codes, ss.Grid.chain(len(codes))))
    assert float(value) == pytest.approx(expected, abs=1e-10)


def test_weights_repeat_samples_and_gaps_are_left_out() -> None:
    rng = np.random.default_rng(0)
    samples, codes = rng.random((30, 5)), rng.random((4, 5))
    som = ss.codebook(codes, ss.Grid(2, 2))
    times = rng.integers(0, 3, 30)
    weighted = ss.metrics.simplified_silhouette(samples, som, sample_weights=times)
    repeated = by_definition(np.repeat(samples, times, axis=0), codes).mean()
    assert float(weighted) == pytest.approx(repeated, rel=1e-12)
    scales = np.array([0.0, 1, 2, 3, 0.5])
    found = ss.metrics.simplified_silhouette(samples, som, feature_weights=scales)
    roots = np.sqrt(scales)
    assert float(found) == pytest.approx(
        by_definition(samples * roots, codes * roots).mean(), rel=1e-12
    )
    gapped = samples.copy()
    gapped[:, 2] = gapped[4] = np.nan
    found = ss.metrics.simplified_silhouette(gapped, som, missing="drop")
    kept = np.delete(np.delete(samples, 4, 0), 2, 1)
    expected = by_definition(kept, np.delete(codes, 2, 1)).mean()
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_one_unit_has_no_second() -> None:
    som = ss.codebook([[0.0]], ss.Grid.chain(1))
    q = ss.evaluate([[1.0], [2.0]], som, metrics=NAMES)
    assert np.isnan(q["value"].item())
    assert "one unit" in q["note"].item()
    assert np.isnan(q[NAMES[2]]).all()
    assert json.loads(q.attrs["parameters"]) == {}

"""P-matrix and U*-matrix: samples in spheres about the codes, and heights scaled by them."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from passes import cut_by_hand
from scipy.spatial.distance import pdist
from test_map_metrics import chain, gaussian_map
from unit_passes import TILE, Values, any_cut

import somscale as ss
from somscale import metrics
from somscale.engine.linear.job import LinearJob
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError
from somscale.reductions.density import DensityReduction
from somscale.reductions.units import UnitsReduction


def test_densities_by_hand() -> None:
    som = chain(0.0, 1.0, 10.0)
    samples = [[0.0], [0.5], [1.5], [2.0]]
    found = metrics.p_matrix(samples, som, radius=1)
    assert found.values.tolist() == [2, 4 - 0, 0]
    assert (found.attrs["radius"], found.attrs["units"]) == (1, "samples")
    assert found["col"].values.tolist() == [0, 1, 2]
    # U: 1, 5, 9; mean density 2, largest 4
    heights = metrics.u_star_matrix(samples, som, radius=1)
    np.testing.assert_allclose(heights, [1 * 1, 0, 9 * 2], rtol=1e-14)
    even = metrics.u_star_matrix(samples, som, radius=90)
    np.testing.assert_array_equal(even, metrics.u_matrix(som))


def test_the_radius_is_a_percentile_of_distances() -> None:
    samples, som = gaussian_map(ss.Grid(3, 4), 300)
    found = metrics.p_matrix(samples, som)
    distances = np.sort(pdist(samples))
    expected = distances[math.ceil(0.18 * len(distances)) - 1]
    assert found.attrs["radius"] == pytest.approx(expected, rel=1e-12)
    squares = reference.squared_distances(samples, som["codes"].values)
    radius = found.attrs["radius"]
    assert found.values.tolist() == (squares <= radius * radius).sum(axis=0).tolist()
    few = metrics.p_matrix(samples, som, sample_anchors=50, seed=3, percentile=30)
    assert (few.attrs["sample_anchors"], few.attrs["seed"], few.attrs["percentile"]) == (50, 3, 30)
    assert few.identical(metrics.p_matrix(samples, som, sample_anchors=50, seed=3, percentile=30))
    other = metrics.p_matrix(samples, som, sample_anchors=50, seed=4, percentile=30)
    assert few.attrs["radius"] != other.attrs["radius"]
    lazy = da.from_array(samples, chunks=(70, 2))
    assert metrics.p_matrix(lazy, som, sample_anchors=50, seed=3, percentile=30).identical(few)


def test_densities_of_few_and_equal_samples() -> None:
    som = chain(0.0, 1.0)
    assert metrics.p_matrix([[0.0]], som).values.tolist() == [1, 0]
    assert metrics.p_matrix([[1.0]] * 5, som).values.tolist() == [0, 5]
    mostly = metrics.p_matrix([[1.0]] * 20 + [[1.5], [5.0]], som)
    assert mostly.attrs["radius"] == 0.5
    assert mostly.values.tolist() == [0, 21]


def test_masks_gaps_and_weights() -> None:
    rng = np.random.default_rng(0)
    samples, codes = rng.standard_normal((90, 3)), rng.standard_normal((6, 3))
    grid, weights = ss.Grid(2, 3), np.array([1.0, 0.25, 4])
    som = ss.codebook(codes, grid)
    scaled = ss.codebook(codes * np.sqrt(weights), grid)
    found = metrics.p_matrix(samples, som, feature_weights=weights)
    expected = metrics.p_matrix(samples * np.sqrt(weights), scaled)
    assert found.attrs["radius"] == expected.attrs["radius"]
    assert found.values.tolist() == expected.values.tolist()
    gapped = np.concatenate([samples, np.full((9, 3), math.nan)])
    for given_ in ({"missing": "drop"}, {"mask": ~np.isnan(gapped[:, 0])}):
        if "mask" in given_:
            gapped = np.nan_to_num(gapped, nan=3.0)
            given_ = {"mask": xr.DataArray(given_["mask"], dims="sample")}
        dropped = metrics.p_matrix(gapped, som, **given_)
        exact = metrics.p_matrix(samples, som)
        if dropped.attrs["sample_anchors"] == 90:
            assert dropped.attrs["radius"] == exact.attrs["radius"]
        assert dropped.values.tolist() == exact.values.tolist()


def test_wrong_questions_of_density() -> None:
    samples, som = gaussian_map(ss.Grid(3, 3), 20)
    questions: list[tuple[dict[str, Any], str]] = [
        ({"radius": -1}, "radius is 0 or more"),
        ({"radius": math.nan}, "radius is 0 or more"),
        ({"radius": "1"}, "radius is a number"),
        ({"percentile": 101}, "percentile lies between"),
        ({"percentile": None}, "percentile is a number"),
        ({"sample_anchors": 2.5}, "sample_anchors is a whole number"),
        ({"sample_weights": np.ones(20)}, "sample_weights= has no meaning"),
        ({"share": 1}, "no parameter 'share'"),
    ]
    for given_, complaint in questions:
        with pytest.raises(InputError, match=complaint):
            metrics.p_matrix(samples, som, **given_)
    unknown: Any = "moore"
    with pytest.raises(InputError, match="neighborhood is one of"):
        metrics.u_star_matrix(samples, som, neighborhood=unknown)
    with pytest.raises(InputError, match="about the codes of a map"):
        metrics.p_matrix(samples, np.arange(20))


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), data=st.data())
def test_densities_are_the_same_in_any_cut(seed: int, n: int, data: Any) -> None:
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    samples, codes = rng.integers(0, 4, (n, d)) * 0.1, rng.integers(0, 4, (k, d)) * 0.1
    excluded = rng.random(n) < 0.2
    excluded[0] = False
    units = UnitsReduction(codes, excluded="out")
    units.tile_rows = TILE
    reductions: Any = [units, DensityReduction(codes, "units", 0.2)]
    columns: Any = {"out": Values(excluded)}
    job = LinearJob(reductions, n, d, source=ArraySource(samples), columns=columns)
    found = cut_by_hand(job, data.draw(any_cut(d)))[1]
    squares = reference.squared_distances(samples[~excluded], codes)
    assert found.tolist() == (squares <= 0.2 * 0.2).sum(axis=0).tolist()

"""Diameters and the smallest distance between clusters: what all pairs give, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from zarr.storage import MemoryStore

import somscale as ss
from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import Samples, open_samples
from somscale.engine.readers.sources import ArraySource
from somscale.errors import MemoryBudgetError
from somscale.kernels import closest, farthest
from somscale.kernels.closest import closest_between
from somscale.kernels.extreme_blocks import PairSearch
from somscale.kernels.farthest import farthest_in_clusters, farthest_pair, unique_rows
from somscale.metrics.passes import extreme_passes
from somscale.metrics.passes.cluster_passes import find_moments, find_moments_later, plan_moments
from somscale.metrics.passes.extreme_candidates import Cloud, Found
from somscale.metrics.passes.extreme_passes import (
    describe_extremes,
    find_diameter,
    find_extremes,
    find_extremes_later,
)
from somscale.reductions.pair_stats import Extremes

Array = NDArray[Any]
RNG = np.random.default_rng(0)
_DIAMETERS: tuple[str, ...] = ("diameters",)


WAYS = ("as it comes", "in order", "in balls")


@contextmanager
def searching(way: str) -> Iterator[None]:
    """Rule pairs out in small blocks or balls, with no good pair to begin with."""
    with pytest.MonkeyPatch.context() as patch:
        if way != "as it comes":
            few = 1 << 60 if way == "in order" else 0
            for kernel in (farthest, closest):
                patch.setattr(kernel, "_FEW_PAIRS", few)
                patch.setattr(kernel, "BLOCK_ROWS", 8)
            patch.setattr(farthest, "_FIRST", 2)
            patch.setattr(farthest, "_ROUNDS", 1)
            patch.setattr(farthest, "_SMALL", 4)
            patch.setattr(closest, "_FIRST_ROWS", 1)
            patch.setattr(closest, "_NEAREST", 1)
            patch.setattr(closest, "_MOST_BALLS", 0)
            patch.setattr(PairSearch, "leaf_rows", 8)
        if way == "in balls":
            patch.setattr(closest, "_PAIRWISE", 2)
        yield


def brute_diameters(points: Array, clusters: Array, n_clusters: int) -> Array:
    """Squared diameters, from all pairs."""
    parts = (points[clusters == k] for k in range(n_clusters))
    return np.array([cdist(p, p, "sqeuclidean").max(initial=0.0) for p in parts])


def brute_separation(points: Array, clusters: Array) -> float:
    """The smallest squared distance between clusters, from all pairs."""
    points, clusters = points[clusters >= 0], clusters[clusters >= 0]
    squares = cdist(points, points, "sqeuclidean")
    return float(squares[clusters[:, None] != clusters].min(initial=np.inf))


def middles(points: Array, clusters: Array, n_clusters: int) -> Array:
    """Centroids; 0 of clusters without points."""
    found = np.zeros((n_clusters, points.shape[1]))
    for k in np.unique(clusters[clusters >= 0]):
        found[k] = points[clusters == k].mean(axis=0)
    return found


def assert_exact(points: Array, clusters: Array, n_clusters: int) -> None:
    """The kernels find what all pairs give."""
    centers = middles(points, clusters, n_clusters)
    radii = np.sqrt(np.sum((points - centers[clusters]) ** 2, axis=1))
    expected = brute_diameters(points, clusters, n_clusters)
    found = farthest_in_clusters(points, clusters, centers, radii)
    np.testing.assert_array_equal(found, expected)
    largest = farthest_in_clusters(points, clusters, centers, radii, only_largest=True)
    assert largest.max() == expected.max()

    square, i, j = closest_between(points, clusters, centers)
    assert square == brute_separation(points, clusters)
    if i >= 0:
        assert clusters[i] != clusters[j]
        assert cdist(points[[i]], points[[j]], "sqeuclidean") == square

    everything = np.sqrt(np.sum((points - points.mean(axis=0)) ** 2, axis=1))
    square, i, j = farthest_pair(points, everything)
    assert square == cdist(points, points, "sqeuclidean").max()
    if i >= 0:
        assert cdist(points[[i]], points[[j]], "sqeuclidean") == square


def on_sphere(n: int, d: int) -> Array:
    points = RNG.standard_normal((n, d))
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])


def gaussian(n: int, d: int) -> Array:
    return RNG.standard_normal((n, d))


POINTS = {
    "gaussian": gaussian(500, 9),
    "of few features": gaussian(500, 3),
    "one feature": gaussian(300, 1),
    "sphere": on_sphere(400, 8),
    "spheres inside each other": on_sphere(400, 7) * RNG.integers(1, 4, 400)[:, None],
    "grid with ties": RNG.integers(0, 3, (400, 8)).astype(float),
    "grid of tenths": RNG.integers(0, 3, (400, 8)) * 0.1,
    "duplicates": np.repeat(gaussian(40, 8), 15, axis=0),
    "far from 0": gaussian(400, 8) + 1e8,
    "tiny": gaussian(400, 8) * 1e-9,
    "tinier": gaussian(80, 8) * 1e-155,
    "all equal": np.full((400, 8), 0.1),
    "wide": gaussian(60, 700),
    "one point": gaussian(1, 4),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("labels", ["random", "by place", "one", "each its own"])
def test_what_all_pairs_give_to_the_bit(points: Array, labels: str, way: str) -> None:
    n = len(points)
    clusters = {
        "random": np.random.default_rng(1).integers(-1, 4, n),
        "by place": cdist(points, points[:: max(1, n // 5)]).argmin(axis=1),
        "one": np.zeros(n, int),
        "each its own": np.arange(n),
    }[labels]
    n_clusters = n if labels == "each its own" else 7
    with searching(way):
        assert_exact(points, clusters, n_clusters)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_any_points(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 8))
    k = data.draw(st.integers(1, 6))
    seed = data.draw(st.integers(0, 1 << 16))
    rng = np.random.default_rng(seed)
    shift = data.draw(st.sampled_from([0.0, 0.5, 1e8]))
    scale = data.draw(st.sampled_from([1.0, 0.1, 1e-9, 1e6]))
    points = rng.integers(-2, 3, (n, d)) * scale + shift
    if data.draw(st.booleans()):
        points = points + scale * rng.standard_normal((n, d))
    with searching(data.draw(st.sampled_from(WAYS))):
        assert_exact(points, rng.integers(-1, k, n), k)


@pytest.mark.parametrize("way", WAYS)
def test_what_single_precision_cannot_tell_apart(way: str) -> None:
    half, place = on_sphere(300, 8), np.arange(300)
    rng = np.random.default_rng(4)
    opposite = np.concatenate([half, -half * (1 + 1e-10 * rng.permutation(300))[:, None]])
    spread = 10 * gaussian(300, 8)
    partners = spread + half * (1 + 1e-9 * rng.permutation(300))[:, None] / 2
    with searching(way):
        assert_exact(opposite, np.zeros(600, int), 1)
        assert_exact(np.concatenate([spread, partners]), np.concatenate([place, place + 1]) % 2, 2)


def test_clusters_far_apart_are_told_from_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    compare = PairSearch.compare

    def count(self: Any, left: Array, right: Array) -> None:
        nonlocal compared
        compared += len(left) * len(right)
        compare(self, left, right)

    monkeypatch.setattr(PairSearch, "compare", count)
    clusters = np.repeat(np.arange(8), 2000)
    points = gaussian(16000, 20) + 20 * gaussian(8, 20)[clusters]
    centers = middles(points, clusters, 8)
    radii = np.sqrt(np.sum((points - centers[clusters]) ** 2, axis=1))
    closest_between(points, clusters, centers)
    assert compared < 0.05 * len(points) ** 2 / 2
    compared = 0
    farthest_in_clusters(points, clusters, centers, radii)
    assert compared < 0.15 * len(points) ** 2 / 2


def test_what_is_known_already_is_kept() -> None:
    points, clusters = gaussian(300, 8), np.arange(300) % 3
    centers, radii = middles(points, clusters, 3), np.linalg.norm(points, axis=1)
    assert farthest_pair(points, radii, at_least=1e6) == (1e6, -1, -1)
    assert closest_between(points, clusters, centers, at_most=1e-9) == (1e-9, -1, -1)


def test_every_row_has_an_equal_one_among_the_unique() -> None:
    points = RNG.integers(0, 2, (500, 4)).astype(float)
    rows = unique_rows(points)
    assert len(rows) == len(np.unique(points, axis=0))
    assert (cdist(points, points[rows]).min(axis=1) == 0).all()


# --- passes


def column(clusters: Array, n_clusters: int) -> Column:
    return Column(clusters, 0, range(n_clusters))


def extremes(samples: Samples, clusters: Array, n_clusters: int, **options: Any) -> Extremes:
    own = {"c": column(clusters, n_clusters)}
    if not samples.lazy:
        moments = find_moments(samples, own, samplewise=True)
        return find_extremes(samples, own, moments, **options)["c"]
    later, token = find_moments_later(samples, own, samplewise=True)
    found: Extremes = find_extremes_later(samples, own, later, token, **options)["c"].compute()
    return found


def in_forms(values: Array) -> Iterator[tuple[str, Samples]]:
    yield "numpy", open_samples(values)
    store = zarr.create_array(MemoryStore(), data=values, chunks=(37, values.shape[1]))
    yield "zarr", open_samples(store)
    yield "dask", open_samples(da.from_array(values, chunks=(53, 3)))


def assert_same(found: Extremes, expected: Extremes) -> None:
    np.testing.assert_array_equal(found.diameters, expected.diameters)
    np.testing.assert_array_equal(found.hits, expected.hits)
    assert found.separation == expected.separation


@pytest.mark.parametrize("panels", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_form_of_samples(dtype: str, panels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if panels:
        monkeypatch.setattr(extreme_passes, "_rows_that_fit", lambda n_features: 60)
        monkeypatch.setattr("somscale.metrics.passes.extreme_candidates._FIRST_OF_CLUSTER", 2)
    values = (gaussian(400, 7) + 1e4).astype(dtype)
    clusters = np.random.default_rng(2).integers(-1, 4, 400)
    points = values.astype(float)
    expected = Extremes(
        np.bincount(clusters[clusters >= 0], minlength=5),
        np.sqrt(np.append(brute_diameters(points, clusters, 4), np.nan)),
        float(np.sqrt(brute_separation(points, clusters))),
    )
    for form, samples in in_forms(values):
        if form == "dask" and panels:
            with pytest.raises(MemoryBudgetError, match="memory_budget="):
                extremes(samples, clusters, 5)
        else:
            assert_same(extremes(samples, clusters, 5), expected)


def test_weights_of_features_and_features_that_all_lack() -> None:
    values, clusters = gaussian(300, 8), RNG.integers(0, 3, 300)
    weights = RNG.random(8)
    scaled = values * np.sqrt(weights)
    gapped = np.insert(values, 2, np.nan, axis=1)
    for samples in (
        open_samples(values, feature_weights=weights),
        open_samples(gapped, feature_weights=np.insert(weights, 2, 1.0), missing="drop"),
    ):
        found = extremes(samples, clusters, 3)
        expected = np.sqrt(brute_diameters(scaled, clusters, 3))
        np.testing.assert_allclose(found.diameters, expected, rtol=1e-13)
        separation = np.sqrt(brute_separation(scaled, clusters))
        assert found.separation == pytest.approx(separation, rel=1e-13)


def test_samples_with_gaps_take_no_part() -> None:
    values, clusters = gaussian(200, 3), RNG.integers(0, 2, 200)
    gapped = np.concatenate([values, [[np.nan, 1e3, 0.0], [-1e3, 0.0, np.nan]]])
    samples = open_samples(gapped, missing="drop_any_sample")
    found = extremes(samples, np.append(clusters, [0, 1]), 2)
    assert_same(found, extremes(open_samples(values), clusters, 2))


def test_one_sample_none_and_one_cluster() -> None:
    values = gaussian(5, 3)
    found = extremes(open_samples(values), np.array([0, 0, 0, 0, 2]), 3)
    np.testing.assert_array_equal(found.diameters[1:], [np.nan, 0.0])
    assert extremes(open_samples(values), np.zeros(5, int), 1).separation == np.inf


def test_the_same_point_in_two_clusters() -> None:
    values = np.repeat(gaussian(50, 8), 2, axis=0)
    assert extremes(open_samples(values), np.arange(100) % 2, 2).separation == 0


def test_clusters_far_from_each_other_for_their_size() -> None:
    clusters = np.arange(600) % 3
    values = 1e-7 * gaussian(600, 4) + 1e3 * clusters[:, None]
    found = extremes(open_samples(values), clusters, 3)
    np.testing.assert_array_equal(
        found.diameters**2, np.sqrt(brute_diameters(values, clusters, 3)) ** 2
    )
    assert found.separation == np.sqrt(brute_separation(values, clusters))


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_the_best_pairs_are_never_ruled_out(offset: float) -> None:
    """On a line, where the bounds are what they bound."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        half = np.sort(rng.random((3, 4)), axis=1) * 10.0 ** rng.integers(-6, 2)
        centers = offset * rng.random(3)[:, None] + 40 * np.arange(3)[:, None] * half.max()
        line = np.concatenate([centers - half, centers + half], axis=1).ravel()
        values, clusters = line[:, None] * [0.6, 0.0, 0.8], np.repeat([0, 1, 2], 8)
        columns = {"c": column(clusters, 3)}
        moments = find_moments(open_samples(values), columns, samplewise=True)["c"]
        squares = brute_diameters(values, clusters, 3)
        nearest = brute_separation(values, clusters)
        cloud = Cloud.of(clusters, moments, None, ("diameters",))
        left = cloud.rows_left(Found(squares, nearest))
        for k in range(3):
            held = values[left[clusters[left] == k]]
            assert cdist(held, held, "sqeuclidean").max() == squares[k]
        cloud = Cloud.of(clusters, moments, None, ("separation",))
        left = cloud.rows_left(Found(squares, nearest))
        assert brute_separation(values[left], clusters[left]) == nearest
        cloud = Cloud.of(clusters, moments, None, ("separation", "diameters"))
        assert set(left) <= set(cloud.rows_left(Found(squares, nearest)))


def test_only_what_is_wanted() -> None:
    values, clusters = gaussian(300, 4), RNG.integers(0, 3, 300)
    samples = open_samples(values)
    whole = extremes(samples, clusters, 3)
    largest = extremes(samples, clusters, 3, which=("largest",))
    assert largest.diameters.max() == whole.diameters.max()
    assert np.isnan(largest.separation)
    apart = extremes(samples, clusters, 3, which=("separation",))
    assert apart.separation == whole.separation
    assert np.isnan(apart.diameters).all()


@dataclass(frozen=True)
class CountingSource(ArraySource):
    """Notes which rows are read."""

    reads: list[slice] = field(default_factory=list)

    def read(self, *box: slice) -> Array:
        self.reads.append(box[0])
        return super().read(*box)


@pytest.mark.parametrize("chunk", [1, 100])
def test_what_cannot_matter_is_never_read_again(chunk: int) -> None:
    """Two clusters with a few outliers each, in chunks of their own."""
    values = gaussian(20000, 6)
    values[:10000, 0] += 100
    far = np.r_[500:520, 12000:12020]
    values[far, 1] += np.where(np.arange(40) % 2, 60, -60)
    source = CountingSource(values, (chunk, 6), resident=False)
    samples = replace(open_samples(values), source=source)
    clusters = np.repeat([0, 1], 10000)
    own = {"c": column(clusters, 2)}
    moments = find_moments(samples, own, samplewise=True)
    radii = moments["c"].radii
    assert radii is not None
    source.reads.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("somscale.metrics.passes.extreme_candidates._FIRST_OF_CLUSTER", 16)
        patch.setattr("somscale.metrics.passes.extreme_candidates._NEXT", 1)
        found = find_extremes(samples, own, moments, which=_DIAMETERS)["c"]
    np.testing.assert_array_equal(found.diameters, np.sqrt(brute_diameters(values, clusters, 2)))
    for rows in source.reads:
        assert np.isin(far, np.arange(rows.start, rows.stop)).any()
    assert sum(rows.stop - rows.start for rows in source.reads) <= 200


def test_a_cluster_that_is_far_from_all_others_is_not_read_for_the_separation() -> None:
    values = gaussian(3000, 3)
    values[:1000] += 10
    values[2000:] += 1000
    source = CountingSource(values, (100, 3), resident=False)
    samples, own = replace(open_samples(values), source=source), np.repeat([0, 1, 2], 1000)
    columns = {"c": column(own.astype(np.uint8), 3)}
    moments = find_moments(samples, columns, samplewise=True)
    source.reads.clear()
    which: tuple[str, ...] = ("separation",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("somscale.metrics.passes.extreme_candidates._FIRST_OF_CLUSTER", 4)
        found = find_extremes(samples, columns, moments, which=which)["c"]
    assert found.separation == np.sqrt(brute_separation(values, own))
    again = [rows for rows in source.reads if rows.start >= 2000]
    assert len(again) <= 4
    assert len(source.reads) > 10


def test_a_diameter_alone() -> None:
    values = gaussian(3000, 9)
    center = values.mean(axis=0)
    radii = np.linalg.norm(values - center, axis=1)
    expected = np.sqrt(cdist(values, values, "sqeuclidean").max())
    assert find_diameter(open_samples(values), center, radii) == expected
    radii[::2] = np.nan
    expected = np.sqrt(cdist(values[1::2], values[1::2], "sqeuclidean").max())
    assert find_diameter(open_samples(values), center, radii) == expected


def test_radii_are_of_every_sample_that_takes_part() -> None:
    values, clusters = gaussian(300, 4), np.random.default_rng(3).integers(-1, 3, 300)
    own = {"c": column(clusters, 3)}
    found = find_moments(open_samples(values), own, samplewise=True)["c"]
    assert found.radii is not None
    assert found.reaches is not None
    centers = middles(values, clusters, 3)
    expected = np.where(clusters < 0, np.nan, np.linalg.norm(values - centers[clusters], axis=1))
    np.testing.assert_allclose(found.radii, expected, rtol=1e-12)
    for k in range(3):
        assert found.reaches[k] == found.radii[clusters == k].max()
    assert find_moments(open_samples(values), own)["c"].radii is None


def test_a_budget_too_small_for_all_gives_the_same() -> None:
    values, clusters = on_sphere(3000, 9), RNG.integers(0, 3, 3000)
    expected = np.sqrt(brute_diameters(values, clusters, 3))
    samples, own = open_samples(values), {"c": column(clusters, 3)}
    moments = find_moments(samples, own, samplewise=True)
    with ss.set_options(memory_budget="1MB"):
        found = find_extremes(samples, own, moments)["c"]
    np.testing.assert_array_equal(found.diameters, expected)


def test_the_plan_states_the_worst_case() -> None:
    samples, own = open_samples(gaussian(2000, 4)), {"c": column(np.arange(2000) % 4, 4)}
    text = describe_extremes(samples, own)
    assert "at most N²/2 = 2e+06 pairs" in text
    assert plan_moments(samples, own, samplewise=True)[1].memory.results > 0

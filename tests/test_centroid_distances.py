"""Distances of samples to centroids: golden silhouettes, sums, in any cut, far from zero."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_cluster_pairs as plain
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from passes import cut_by_hand
from sklearn.datasets import load_digits, load_iris
from unit_passes import TILE, Values, any_cut
from zarr.storage import MemoryStore

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.linear.walk import walk_window
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.sources import ArraySource, ZarrSource
from somscale.errors import InputError, SampleValueError
from somscale.reductions.centroid_distances import (
    CentroidDistances,
    CentroidDistancesReduction,
    Want,
)
from somscale.reductions.moments import MomentsReduction, MomentStats
from somscale.reductions.pair_stats import Silhouettes
from somscale.spaces.lookup import make_space

DATA = Path(__file__).parent / "data"
ALL: frozenset[Want] = frozenset({"to_centroids", "centroid", "squared"})
Floats = NDArray[np.float64]


def moments_of(samples: NDArray[Any], codes: NDArray[Any], k: int, **options: Any) -> MomentStats:
    """Moments in two passes, as an index has them."""
    n, d = samples.shape
    origin = np.nan_to_num(samples[np.argmax(codes >= 0)].astype(np.float64))
    first = MomentsReduction("clusters", np.zeros((k, d)), origin=origin, **options)
    columns: Any = {"clusters": Values(codes)}
    source = ArraySource(samples)
    stats = run_job(LinearJob([first], n, d, source=source, columns=columns))[0]
    second = first.about(stats)
    found: MomentStats = run_job(LinearJob([second], n, d, source=source, columns=columns))[0]
    return found


def job_of(
    samples: ArrayLike,
    clusters: ArrayLike,
    wants: frozenset[Want] = ALL,
    tile_rows: int = TILE,
    n_clusters: int | None = None,
    **options: Any,
) -> LinearJob:
    values, codes = np.asarray(samples), np.asarray(clusters)
    n, d = values.shape
    k = int(codes.max()) + 1 if n_clusters is None else n_clusters
    shared = {name: options[name] for name in ("missing", "feature_weights") if name in options}
    stats = moments_of(values, codes, k, **shared)
    reduction = CentroidDistancesReduction("clusters", k, d, wants, samplewise=True, **options)
    reduction = reduction.about(stats)
    reduction.tile_rows = tile_rows
    columns: Any = {"clusters": Values(codes)}
    return LinearJob([reduction], n, d, source=ArraySource(values), columns=columns)


def found_in(job: LinearJob, cut: Cut | None = None) -> CentroidDistances:
    whole = Cut("rows", 1 << 20, job.n_features, job.tile_rows)
    found: CentroidDistances = cut_by_hand(job, cut or whole)[0]
    return found


def distances(samples: ArrayLike, clusters: ArrayLike, **options: Any) -> CentroidDistances:
    return found_in(job_of(samples, clusters, **options))


def values_of(silhouettes: Silhouettes | None) -> Floats:
    assert silhouettes is not None
    assert silhouettes.values is not None
    return np.asarray(silhouettes.values, np.float64)


def sums_of(silhouettes: Silhouettes | None) -> Floats:
    assert silhouettes is not None
    return np.asarray(silhouettes.sums, np.float64)


def table_of(found: CentroidDistances) -> Floats:
    assert found.to_centroids is not None
    return np.asarray(found.to_centroids, np.float64)


def squared(samples: ArrayLike, clusters: ArrayLike) -> Floats:
    return plain.silhouettes(plain.matrix(samples, "sqeuclidean"), clusters)


def clustered(n: int, d: int, k: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    codes[:k] = np.arange(k)
    return 2 * rng.standard_normal((k, d))[codes] + rng.standard_normal((n, d)), codes


def assert_same_bits(found: CentroidDistances, expected: CentroidDistances) -> None:
    for one, other in (
        (found.hits, expected.hits),
        (table_of(found), table_of(expected)),
        *((sums_of(getattr(found, w)), sums_of(getattr(expected, w))) for w in KINDS),
        *((values_of(getattr(found, w)), values_of(getattr(expected, w))) for w in KINDS),
    ):
        assert one.tobytes() == other.tobytes()


KINDS = ("centroid", "squared")


# --- values


@pytest.mark.parametrize(
    ("samples", "labels", "golden"),
    [
        (load_iris, "iris_kmeans_3.npy", (0.6663855565, 0.7356596054)),
        (load_digits, "digits_kmeans_10.npy", (0.2826795771, 0.3023487713)),
    ],
)
def test_golden_values(samples: Any, labels: str, golden: tuple[float, float]) -> None:
    found = distances(samples().data, np.load(DATA / labels).astype(np.int64), tile_rows=2048)
    for kind, expected in zip(KINDS, golden, strict=True):
        silhouettes = getattr(found, kind)
        n = silhouettes.hits.sum()
        assert silhouettes.sums.sum() / n == pytest.approx(expected, abs=1e-10)
        assert values_of(silhouettes).mean() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("n", "d", "k"), [(7, 1, 2), (60, 3, 4), (150, 12, 5), (140, 20, 40)])
def test_values_and_sums_are_those_of_brute_force(n: int, d: int, k: int) -> None:
    samples, codes = clustered(n, d, k)
    found = distances(samples, codes)
    expected = plain.centroid_silhouettes(samples, codes)
    np.testing.assert_allclose(values_of(found.centroid), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        values_of(found.squared), squared(samples, codes), rtol=1e-9, atol=1e-12
    )
    for kind in KINDS:
        by_cluster = np.bincount(codes, weights=values_of(getattr(found, kind)), minlength=k)
        np.testing.assert_allclose(sums_of(getattr(found, kind)), by_cluster, atol=1e-12)
    table = plain.sums_to_centroids(samples, codes, k)
    np.testing.assert_allclose(table_of(found), table, rtol=1e-11, atol=1e-12)
    assert found.hits.tolist() == np.bincount(codes).tolist()


@pytest.mark.parametrize("offset", [1e8, -3e10])
@pytest.mark.parametrize("d", [3, 12])
def test_samples_far_from_zero_lose_no_digits(offset: float, d: int) -> None:
    samples, codes = clustered(80, d, 4)
    # so that the samples that are moved are exactly that
    samples = np.round(samples * 2**15) / 2**15
    near, far = distances(samples, codes), distances(samples + offset, codes)
    for kind in KINDS:
        one, other = values_of(getattr(near, kind)), values_of(getattr(far, kind))
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(table_of(near), table_of(far), rtol=1e-11)


@pytest.mark.parametrize("scale", [1e-9, 1e-140, 1e140])
def test_scale_does_not_matter(scale: float) -> None:
    samples, codes = clustered(60, 3, 4)
    near, scaled = distances(samples, codes), distances(samples * scale, codes)
    for kind in KINDS:
        one, other = values_of(getattr(near, kind)), values_of(getattr(scaled, kind))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_samples_of_other_types(dtype: str) -> None:
    samples = np.random.default_rng(1).integers(0, 200, (90, 10)).astype(dtype)
    codes = np.arange(90) % 3
    found = distances(samples, codes)
    expected = plain.centroid_silhouettes(samples, codes)
    np.testing.assert_allclose(values_of(found.centroid), expected, rtol=1e-9, atol=1e-12)


def test_feature_weights_multiply_squared_differences() -> None:
    samples, codes = clustered(60, 10, 4)
    weights = np.linspace(0, 3, 10)
    found = distances(samples, codes, feature_weights=weights)
    scaled = samples * np.sqrt(weights)
    expected = plain.centroid_silhouettes(scaled, codes)
    np.testing.assert_allclose(values_of(found.centroid), expected, rtol=1e-9)
    np.testing.assert_allclose(values_of(found.squared), squared(scaled, codes), rtol=1e-9)
    table = plain.sums_to_centroids(scaled, codes, 4)
    np.testing.assert_allclose(table_of(found), table, rtol=1e-11)


@pytest.mark.parametrize("name", ["sqeuclidean", "cityblock", "chebyshev", "minkowski"])
def test_sums_of_other_distances(name: str) -> None:
    samples, codes = clustered(140, 12, 4)
    p = 3 if name == "minkowski" else None
    found = distances(samples + 1e6, codes, space=make_space(name, p=p))
    table = plain.sums_to_centroids(samples, codes, 4, name, 3)
    np.testing.assert_allclose(table_of(found), table, rtol=1e-7)
    expected = plain.centroid_silhouettes(samples, codes)
    np.testing.assert_allclose(values_of(found.centroid), expected, rtol=1e-6, atol=1e-8)


def test_only_what_is_asked_for_is_found() -> None:
    samples, codes = clustered(30, 3, 3)
    found = distances(samples, codes, wants=frozenset({"squared"}))
    assert found.to_centroids is None
    assert found.centroid is None
    np.testing.assert_allclose(values_of(found.squared), squared(samples, codes), rtol=1e-9)
    found = distances(samples, codes, wants=frozenset({"to_centroids"}))
    assert found.squared is None
    assert found.centroid is None
    table = plain.sums_to_centroids(samples, codes, 3)
    np.testing.assert_allclose(table_of(found), table, rtol=1e-11)
    found = distances(
        samples, codes, wants=frozenset({"to_centroids"}), space=make_space("cityblock")
    )
    table = plain.sums_to_centroids(samples, codes, 3, "cityblock")
    np.testing.assert_allclose(table_of(found), table, rtol=1e-11)


# --- clusters of one point, of one sample, of none


def test_one_cluster_is_told_from_nothing() -> None:
    samples, _ = clustered(20, 3, 2)
    found = distances(samples, np.zeros(20, np.int64))
    for kind in KINDS:
        assert np.isnan(values_of(getattr(found, kind))).all()
        assert np.isnan(sums_of(getattr(found, kind))).all()


def test_clusters_of_one_sample_and_of_none() -> None:
    samples = np.array([[0.0], [2], [10]])
    found = distances(samples, [0, 0, 3], n_clusters=5)
    assert found.hits.tolist() == [2, 0, 0, 1, 0]
    np.testing.assert_allclose(values_of(found.centroid), [0.9, 7 / 8, 0])
    np.testing.assert_allclose(values_of(found.squared), [1 - 4 / 100, 1 - 4 / 64, 0])
    np.testing.assert_allclose(sums_of(found.centroid), [0.9 + 7 / 8, 0, 0, 0, 0])


def test_duplicates() -> None:
    found = distances(np.array([[0.1], [0.1], [0.7], [0.7]]), [0, 0, 1, 1])
    for kind in KINDS:
        assert values_of(getattr(found, kind)).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("offset", [0.1, 1 / 3 + 1e5])
@pytest.mark.parametrize("d", [2, 12])
def test_clusters_that_are_the_same_point(offset: float, d: int) -> None:
    rng = np.random.default_rng(0)
    point = rng.random(d) + offset
    samples = np.vstack([rng.random(d), np.tile(point, (29, 1)), point + 1])
    codes = np.r_[2, np.arange(29) % 2, 2]
    found = distances(samples, codes)
    for kind in KINDS:
        assert np.isnan(values_of(getattr(found, kind))[1:-1]).all(), kind
        assert np.isfinite(values_of(getattr(found, kind))[[0, -1]]).all()
        assert np.isnan(sums_of(getattr(found, kind))).tolist() == [True, True, False]
    assert table_of(found)[:2, :2].tolist() == [[0, 0], [0, 0]]


# --- the same bits in any cut


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(3, 40), d=st.integers(1, 12))
def test_same_bits_in_any_cut(data: st.DataObject, n: int, d: int) -> None:
    samples, codes = clustered(n, d, 3, seed=n + 100 * d)
    codes[3:][np.random.default_rng(n).random(n - 3) < 0.2] = -1
    job = job_of(samples, codes)
    assert_same_bits(found_in(job, data.draw(any_cut(d))), found_in(job))


@pytest.mark.parametrize("d", [5, 40])
def test_same_bits_of_any_part_of_a_long_tile(d: int) -> None:
    samples, codes = clustered(700, d, 30)
    job = job_of(samples, codes, tile_rows=1024)
    whole = found_in(job)
    for piece in (1, 63, 64, 128, 130, 257):
        assert_same_bits(found_in(job, Cut("rows", 1, 4, piece, read_rows=257)), whole)
    assert_same_bits(found_in(job, Cut("features", 1, 3, 1)), whole)


@pytest.mark.parametrize("form", ["zarr", "dask"])
@pytest.mark.parametrize("chunks", [(13, 5), (64, 12), (200, 4)])
def test_same_bits_wherever_samples_are(form: str, chunks: tuple[int, int]) -> None:
    samples, codes = clustered(200, 12, 5)
    job = job_of(samples, codes)
    expected = found_in(job)
    reduction: Any = job.reductions[0]
    reduction.operations = 2e10  # so dear that every tile may be a task
    stored: Any = {
        "source": ZarrSource(zarr.create_array(MemoryStore(), data=samples, chunks=chunks))
    }
    if form == "dask":
        stored = {"source": None, "blocks": Blocks.of(da.from_array(samples, chunks=chunks))}
    assert_same_bits(run_job(replace(job, **stored))[0], expected)


def test_a_tile_may_go_on_in_another_task() -> None:
    samples, codes = clustered(8, 10, 2)
    job = job_of(samples, codes)
    cut = Cut("rows", 1, 3, TILE)
    first = walk_window(job, cut, (0, 5), None)
    last = walk_window(job, cut, (5, 8), pickle.loads(pickle.dumps(first)))
    assert_same_bits(job.reductions[0].finalize(last[0]), found_in(job))


def test_it_pickles_without_what_it_made_of_the_centroids() -> None:
    samples, codes = clustered(30, 10, 3)
    job = job_of(samples, codes)
    before = len(pickle.dumps(job.reductions[0]))
    expected = found_in(job)
    assert len(pickle.dumps(job.reductions[0])) == before
    again: Any = pickle.loads(pickle.dumps(job.reductions[0]))
    moved = LinearJob([again], 30, 10, source=job.source, columns=job.columns)
    assert_same_bits(found_in(moved), expected)


def test_sums_without_the_values_of_samples() -> None:
    samples, codes = clustered(60, 3, 3)
    job = job_of(samples, codes)
    kept: Any = job.reductions[0]
    bare = CentroidDistancesReduction("clusters", 3, 3, ALL).about(kept.stats)
    bare.tile_rows = TILE
    found = found_in(LinearJob([bare], 60, 3, source=job.source, columns=job.columns))
    assert found.squared is not None
    assert found.squared.values is None
    assert sums_of(found.squared).tobytes() == sums_of(found_in(job).squared).tobytes()
    assert all(spec.merge != "concat" for spec in bare.fields.values())


# --- samples that take no part, and faults


@settings(max_examples=30, deadline=None)
@given(n=st.integers(6, 150), seed=st.integers(0, 99))
def test_samples_left_out_change_nothing(n: int, seed: int) -> None:
    samples, codes = clustered(n, 3, 3, seed)
    out = np.random.default_rng(seed).random(n) < 0.4
    out[:3] = False
    values, taken = samples.copy(), np.where(out, -1, codes)
    values[out] = [np.nan, np.inf, 1e300]
    found, rest = distances(values, taken), distances(samples[~out], codes[~out])
    for kind in KINDS:
        own = values_of(getattr(found, kind))
        assert np.isnan(own[out]).all()
        expected = values_of(getattr(rest, kind))
        np.testing.assert_allclose(own[~out], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(table_of(found), table_of(rest), rtol=1e-11, atol=1e-12)


def test_samples_and_features_with_gaps() -> None:
    samples, codes = clustered(60, 12, 3)
    gapped = samples.copy()
    gapped[[5, 31], 2] = np.nan
    found = distances(gapped, codes, missing="drop_any_sample")
    kept = np.delete(np.arange(60), [5, 31])
    expected = plain.centroid_silhouettes(samples[kept], codes[kept])
    np.testing.assert_allclose(values_of(found.centroid)[kept], expected, rtol=1e-9, atol=1e-12)
    assert np.isnan(values_of(found.centroid)[[5, 31]]).all()
    whole = samples.copy()
    whole[:, 4] = whole[7] = np.nan
    weights = np.linspace(0.5, 2, 12)
    found = distances(whole, codes, missing="drop", feature_weights=weights)
    kept = np.delete(np.arange(60), 7)
    left = np.delete(samples * np.sqrt(weights), 4, axis=1)[kept]
    expected = plain.centroid_silhouettes(left, codes[kept])
    np.testing.assert_allclose(values_of(found.centroid)[kept], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        values_of(found.squared)[kept], squared(left, codes[kept]), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("d", [3, 12])
def test_faulty_samples_are_named(value: float, d: int) -> None:
    samples, codes = clustered(150, d, 3)
    job = job_of(samples, codes)
    samples[141, 2] = value
    with pytest.raises(SampleValueError, match="sample 141, feature 2 is"):
        found_in(job)


def test_weighted_samples_are_refused() -> None:
    samples, codes = clustered(10, 3, 2)
    stats = moments_of(samples, codes, 2)
    heavy = MomentStats(**{**vars(stats), "mass": 2.0 * stats.hits})
    with pytest.raises(InputError, match="leave sample_weights out"):
        CentroidDistancesReduction("clusters", 2, 3, ALL).about(heavy)


# --- memory


def test_a_plan_holds_blocks_of_rows_and_not_all_of_them() -> None:
    few = CentroidDistancesReduction("clusters", 20_000, 20, frozenset({"squared"}))
    many = CentroidDistancesReduction("clusters", 20_000, 20, ALL)
    assert few.workspace.row_bytes < 1024
    assert few.workspace.process_bytes < 300 << 20
    # a square of all clusters is for the plan to refuse
    assert max(spec.nbytes for spec in few.fields.values()) < 1 << 20
    assert max(spec.nbytes for spec in many.fields.values()) == 8 * 20_000**2

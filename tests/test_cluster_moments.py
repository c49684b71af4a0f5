"""Indices of samples and clusters from moments: definitions, golden values, any way to run them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import reference_clusters as plain
import xarray as xr
import zarr
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from passes import cut_by_hand
from sklearn import datasets
from sklearn import metrics as sklearn_metrics
from strategies import cases

import somscale as ss
from somscale import metrics
from somscale.cli import main
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.columns import SampleValues
from somscale.engine.readers.sources import ArraySource
from somscale.errors import InputError, SampleValueError
from somscale.metrics.asking import limits
from somscale.metrics.spec import all_specs
from somscale.reductions.moments import MomentsReduction, MomentStats

DATA = Path(__file__).parent / "data"
SPECS = [spec for spec in all_specs() if spec.subject == "clusters"]
INDICES = [spec.name for spec in SPECS if spec.needs == ("moments",)]
NUMBERS = [spec.name for spec in SPECS if spec.needs == ("moments",) and spec.scalar]
SCALARS = [spec.name for spec in SPECS if spec.scalar]
each_index = pytest.mark.parametrize("index", INDICES)
TILE = 8
STATS = ("hits", "mass", "raw_offsets", "offsets", "squares", "distances")

RNG = np.random.default_rng(0)
N, D = 5000, 4
CLUSTERS = RNG.integers(0, 5, N)
VALUES = RNG.standard_normal((N, D)) + 3 * CLUSTERS[:, None]
LABELS = (CLUSTERS + (RNG.random(N) < 0.1)) % 5


def of(index: str, samples: Any, clusters: Any, **options: Any) -> NDArray[Any]:
    found: NDArray[Any] = getattr(metrics, index)(samples, clusters, **options).values
    return found


def kmeans(name: str) -> tuple[Any, Any]:
    """Samples, and the labels of KMeans on them."""
    loaded = {"iris": datasets.load_iris, "digits": datasets.load_digits}[name]()
    file = {"iris": "iris_kmeans_3.npy", "digits": "digits_kmeans_10.npy"}[name]
    return loaded.data, np.load(DATA / file)


def assert_identical(found: xr.Dataset, expected: xr.Dataset) -> None:
    """The same values, to the bit."""
    assert set(found.variables) == set(expected.variables)
    for name in expected.variables:
        left, right = found[name].values, expected[name].values
        assert left.dtype == right.dtype or name == "note", name
        same = left.tolist() == right.tolist() if right.dtype == object else False
        assert same or left.tobytes() == right.tobytes(), name


# --- the definitions


def grid_samples(largest: int = 20) -> st.SearchStrategy[tuple[Any, Any]]:
    """Samples on a coarse grid, of many ties and duplicates, and their clusters."""
    sizes = st.tuples(st.integers(1, largest), st.integers(1, 3), st.integers(1, 4))

    def make(drawn: tuple[tuple[int, int, int], int, float, str]) -> tuple[Any, Any]:
        (n, d, k), seed, width, dtype = drawn
        rng = np.random.default_rng(seed)
        samples = rng.integers(-4, 5, (n, d)) * (1 if dtype == "int16" else width)
        return samples.astype(dtype), rng.integers(0, k, n) * 3 - 1

    drawn = st.tuples(
        sizes,
        st.integers(0, 2**32 - 1),
        st.sampled_from([1.0, 0.25, 2.0**-30]),
        st.sampled_from(["float64", "float32", "int16"]),
    )
    return drawn.map(make)


@each_index
@settings(max_examples=20)
@given(grid_samples())
def test_every_index_is_what_it_is_defined_to_be(index: str, drawn: tuple[Any, Any]) -> None:
    samples, clusters = drawn
    expected = getattr(plain, index)(samples, clusters.tolist())
    scale = float(np.abs(samples.astype(float)).max())
    power = {"data": 1, "data^2": 2}.get(getattr(metrics, index).spec.units, 0)
    floor = 1e-13 * len(samples) * scale**power if power else 1e-14
    np.testing.assert_allclose(of(index, samples, clusters), expected, rtol=1e-11, atol=floor)


@given(grid_samples())
def test_dispersions_about_centroids(drawn: tuple[Any, Any]) -> None:
    samples, clusters = drawn
    for dispersion, expected in (
        ("rms", plain.davies_bouldin_rms),
        ("centroid", plain.davies_bouldin_score),
    ):
        found = of("davies_bouldin_index", samples, clusters, dispersion=dispersion)
        np.testing.assert_allclose(found, expected(samples, clusters.tolist()), rtol=1e-12)


@each_index
@settings(max_examples=20)
@given(cases(["gaussian", "float32", "scale 1e-9", "int16", "fitted"], samples=(2, 40)))
def test_values_of_any_kind(index: str, case: Any) -> None:
    clusters = np.random.default_rng(len(case.samples)).integers(0, 3, len(case.samples))
    expected = np.array(getattr(plain, index)(case.samples, clusters.tolist()))
    size = np.nanmax(np.abs(expected)) if np.isfinite(expected).any() else 0
    found = of(index, case.samples, clusters)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * size)


@pytest.mark.parametrize("name", ["calinski_harabasz_score", "davies_bouldin_score"])
@settings(max_examples=25)
@given(cases(["gaussian", "own codes"], samples=(12, 60)))
def test_scores_equal_scikit_learns(name: str, case: Any) -> None:
    clusters = np.arange(len(case.samples)) % 3
    expected = getattr(sklearn_metrics, name)(case.samples.astype(np.float64), clusters)
    assert of(name, case.samples, clusters) == pytest.approx(expected, rel=1e-10)


# --- golden values

GOLDEN = {
    "iris": {
        "calinski_harabasz_score": 561.62775662962,
        "xie_beni_index": 0.1627550056636563,
        "davies_bouldin_score": 0.6619715465007473,
        "rms": 0.7255872844,
    },
    "digits": {
        "calinski_harabasz_score": 169.36146065763856,
        "xie_beni_index": 1.771499127163366,
        "davies_bouldin_score": 1.9248458513925868,
        "rms": 1.9589234520,
    },
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values(name: str) -> None:
    samples, clusters = kmeans(name)
    result = ss.evaluate(samples, clusters)
    for index, expected in GOLDEN[name].items():
        if index == "rms":
            found = of("davies_bouldin_index", samples, clusters, dispersion="rms").item()
            assert found == pytest.approx(expected, abs=1e-10)
        else:
            found = result["value"].sel(metric=index).item()
            assert found == pytest.approx(expected, rel=1e-13)
    for index in ("calinski_harabasz_score", "davies_bouldin_score"):
        expected = getattr(sklearn_metrics, index)(samples, clusters)
        assert of(index, samples, clusters) == pytest.approx(expected, rel=1e-10)


# --- pitfalls


def test_a_singleton() -> None:
    samples = [[0.0], [2], [10]]
    assert of("davies_bouldin_score", samples, [0, 0, 1]) == pytest.approx(1 / 9, rel=1e-15)
    assert of("cluster_radius", samples, [0, 0, 1]).tolist() == [1, 0]


def noted(index: str, samples: Any, clusters: Any, **options: Any) -> tuple[float, str]:
    found = getattr(metrics, index)(np.asarray(samples, float), clusters, **options)
    return found.item(), found.attrs.get("note", "")


@pytest.mark.parametrize("scale", [1, 1e-9, 1e9])
def test_coincident_centroids_are_infinitely_bad(scale: float) -> None:
    samples = np.array([[-1.0], [1], [-2], [2], [9]]) * scale
    rms = {"dispersion": "rms"}
    for index, options in (
        ("davies_bouldin_score", {}),
        ("davies_bouldin_index", rms),
        ("xie_beni_index", {}),
    ):
        value, note = noted(index, samples, [0, 0, 1, 1, 2], **options)
        assert (value, note) == (np.inf, "the centroids of two clusters coincide")
    # 0.1 + 0.3 is not 2 · 0.2 to the last digit
    value, _ = noted("davies_bouldin_score", [[0.1], [0.3], [0.2], [0.2], [7.3]], [0, 0, 1, 1, 2])
    assert value > 1e12


@pytest.mark.parametrize("scale", [1e-9, 1e-150, 1e140])
def test_no_scale_is_too_small(scale: float) -> None:
    rng = np.random.default_rng(0)
    samples, clusters = rng.standard_normal((50, 3)), np.arange(50) % 3
    for index in ("davies_bouldin_score", "calinski_harabasz_score", "xie_beni_index"):
        found = of(index, samples * scale, clusters)
        assert found == pytest.approx(of(index, samples, clusters), rel=1e-10)


def test_duplicates() -> None:
    samples = [[0.0], [0], [1], [1]]
    assert of("davies_bouldin_score", samples, [0, 0, 1, 1]) == 0
    assert of("xie_beni_index", samples, [0, 0, 1, 1]) == 0
    assert of("r_squared", samples, [0, 0, 1, 1]) == 1
    assert noted("calinski_harabasz_score", samples, [0, 0, 1, 1]) == (
        np.inf,
        "every cluster is a single point",
    )


@pytest.mark.parametrize("at", [0.0, 0.1, 1e8 + 0.1])
def test_points_are_points_wherever_they_lie(at: float) -> None:
    # 5,000 additions of what is no binary fraction: several tiles
    samples = np.repeat([[at, 0.7], [at + 1 / 3, 0.3]], 2500, axis=0)
    result = ss.evaluate(samples, np.repeat([4, 9], 2500))
    assert result["cluster_within_scatter"].values.tolist() == [0, 0]
    assert result["cluster_dispersion"].values.tolist() == [0, 0]
    assert result["value"].sel(metric="davies_bouldin_score") == 0
    assert result["value"].sel(metric="r_squared") == 1
    np.testing.assert_allclose(result["centroids"], samples[[0, -1]], rtol=3e-16)


def test_what_is_undefined_says_why() -> None:
    equal = np.full((60, 3), 0.1)
    clusters = np.arange(60) % 4
    undefined = ["davies_bouldin_score", "xie_beni_index", "calinski_harabasz_score", "r_squared"]
    for index in undefined:
        value, note = noted(index, equal, clusters)
        assert np.isnan(value)
        assert "equal" in note or "same point" in note
    assert of("between_scatter", equal, clusters) == of("within_scatter", equal, clusters) == 0
    for index in undefined[:3]:
        value, note = noted(index, VALUES[:50], np.zeros(50, int))
        assert np.isnan(value)
        assert "one cluster" in note
    assert of("r_squared", VALUES[:50], np.zeros(50, int)) == 0
    value, note = noted("calinski_harabasz_score", VALUES[:50], np.arange(50))
    assert np.isnan(value)
    assert "one sample" in note
    assert of("davies_bouldin_score", VALUES[:50], np.arange(50)) == 0


@each_index
@settings(max_examples=20)
@given(grid_samples(), st.sampled_from([1e8, -1e8, 2.0**40]))
def test_offsets_are_nothing(index: str, drawn: tuple[Any, Any], offset: float) -> None:
    samples, clusters = drawn
    samples = samples.astype(np.float64)
    if 0 < np.abs(samples).max() < 1e-3:
        samples = samples * 2.0**30  # what an offset does not round away
    moved = samples + offset
    np.testing.assert_array_equal(moved - offset, samples)
    found, expected = of(index, moved, clusters), of(index, samples, clusters)
    if index == "centroids":
        found = found - offset
        np.testing.assert_allclose(found, expected, atol=4e-16 * abs(offset))
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_an_offset_over_many_tiles_costs_no_digit() -> None:
    samples = np.round(VALUES * 64) / 64
    for index in NUMBERS:
        found = of(index, samples + 1e8, CLUSTERS)
        assert found == pytest.approx(of(index, samples, CLUSTERS), rel=1e-12), index
    # in single precision there is as much to add up in double
    single = VALUES.astype(np.float32)
    for index in NUMBERS:
        assert of(index, single, CLUSTERS) == of(index, single.astype(float), CLUSTERS)


def test_noise_may_be_anything() -> None:
    samples, clusters = np.array([[0.0], [1], [10], [11], [100]]), [0, 0, 1, 1, -1]
    assert of("davies_bouldin_score", samples, clusters, noise="ignore") == pytest.approx(0.1)
    for junk in (np.nan, np.inf, 1e300):
        samples[-1] = junk
        result = ss.evaluate(samples, clusters, noise="ignore")
        assert result["value"].sel(metric="davies_bouldin_score") == pytest.approx(0.1)
        assert result["cluster_sizes"].values.tolist() == [2, 2]
        assert json.loads(result.attrs["clusters_excluded"]) == {"projection": 1}
        without = ss.evaluate(samples[:4], clusters[:4])
        np.testing.assert_array_equal(result["value"], without["value"])
        lazy = ss.evaluate(da.from_array(samples, chunks=2), clusters, noise="ignore").compute()
        np.testing.assert_array_equal(lazy["value"], result["value"])
        # a sample is noise only where it is so for every candidate
        both = {"a": clusters, "b": [0, 0, 1, 1, 1]}
        with pytest.raises(SampleValueError, match="sample 4"):
            ss.evaluate(samples, both, noise="ignore", metrics="silhouette_score")
    alone = of("cluster_sizes", samples[:4], [0, -1, -1, 1], noise="singletons")
    assert sorted(alone.tolist()) == [1, 1, 1, 1]


def test_clusters_have_their_own_names() -> None:
    samples = VALUES[:6]
    names = np.array(["b", "a", "b", "c", "c", "c"])
    found = metrics.cluster_sizes(samples, names)
    assert found["cluster"].values.tolist() == ["a", "b", "c"]
    assert found.values.tolist() == [1, 2, 3]
    gaps = ss.evaluate(samples, [0, 5, 0, 60000, 60000, 60000])
    assert gaps["cluster"].values.tolist() == [0, 5, 60000]
    np.testing.assert_allclose(
        gaps["centroids"].sel(cluster=60000), samples[3:].mean(axis=0), rtol=1e-14
    )
    assert gaps["centroid_distances"].sel(cluster=5, other_cluster=5) == 0
    floats = [0.0, np.nan, 0, 1, 1, 1]
    with pytest.raises(InputError, match="missing"):
        metrics.cluster_sizes(samples, floats)
    dropped = metrics.cluster_sizes(samples, floats, missing_labels="drop")
    assert dropped.values.tolist() == [2, 3]


# --- values that are missing or wrong


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (np.nan, "nan at sample 3, feature 2"),
        (np.inf, "infinity at sample 3, feature 2"),
        (-1e300, "too large to square at sample 3, feature 2"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_faulty_samples_are_named(value: float, complaint: str, lazy: bool) -> None:
    samples = VALUES.copy()
    samples[3, 2] = samples[4000, 1] = value
    given_samples = da.from_array(samples, chunks=(700, 2)) if lazy else samples
    with pytest.raises(SampleValueError, match=f"{complaint} .2 samples are affected"):
        metrics.r_squared(given_samples, CLUSTERS).compute()


def test_the_command_judges_clusters_without_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VALUES[:300])
    np.save(tmp_path / "c.npy", CLUSTERS[:300])
    question = ["evaluate", str(tmp_path / "x.npy"), "--clusters", str(tmp_path / "c.npy")]
    done = CliRunner().invoke(main, [*question, "--json"])
    assert done.exit_code == 0, done.output
    expected = of("calinski_harabasz_score", VALUES[:300], CLUSTERS[:300]).item()
    assert json.dumps(expected) in done.output
    table = CliRunner().invoke(main, ["metrics"]).output
    assert all(f"\n{spec.name} " in table for spec in SPECS)


def test_samples_too_far_from_the_others() -> None:
    samples = np.full((20, 400), 3e153) * np.where(np.arange(20) == 7, -1, 1)[:, None]
    with pytest.raises(SampleValueError, match="1 sample is so far from the others"):
        metrics.within_scatter(samples, np.arange(20) % 2)


def gapped(kind: str) -> tuple[Any, Any, Any]:
    """Samples with gaps, and the samples and features that are left of them."""
    samples, rows, features = VALUES.copy(), np.ones(N, bool), np.ones(D, bool)
    if kind == "drop":
        rows[[0, 5, 3000, N - 1]] = features[1] = False
        samples[~rows] = np.nan
        samples[:, 1] = np.nan
    else:
        samples[[2, 77, 4000], [0, 2, 2]] = np.nan
        rows[[2, 77, 4000]] = kind != "drop_any_sample"
        features[[0, 2]] = kind != "drop_any_feature"
    return samples, rows, features


@pytest.mark.parametrize("missing", ["drop", "drop_any_sample", "drop_any_feature"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_are_left_out_as_told(missing: str, weighted: bool) -> None:
    samples, rows, features = gapped(missing)
    weights = np.array([1.0, 0.5, 2, 0.25]) if weighted else None
    lazy = da.from_array(samples, chunks=(900, 3))
    options: Any = {"missing": missing, "feature_weights": weights}
    found = ss.evaluate(samples, CLUSTERS, **options)
    assert_identical(ss.evaluate(lazy, CLUSTERS, **options).compute(), found)
    own = None if weights is None else weights[features]
    left = ss.evaluate(samples[rows][:, features], CLUSTERS[rows], feature_weights=own)
    np.testing.assert_allclose(found["value"], left["value"], rtol=1e-12)
    np.testing.assert_array_equal(found["cluster_sizes"], left["cluster_sizes"])
    np.testing.assert_allclose(
        found["centroids"][:, features], left["centroids"], rtol=1e-13, atol=1e-14
    )
    assert np.isnan(found["centroids"].values[:, ~features]).all()
    if missing == "drop":
        samples[9, 0] = np.nan
        with pytest.raises(SampleValueError, match="isolated"):
            ss.evaluate(samples, CLUSTERS, missing="drop")


def test_a_mask_leaves_samples_and_features_out() -> None:
    rows, features = RNG.random(N) < 0.8, np.array([True, False, True, True])
    samples = VALUES.copy()
    samples[~rows] = np.nan
    found = ss.evaluate(samples, CLUSTERS, mask=(rows, features), labels=LABELS)
    left = ss.evaluate(samples[rows][:, features], CLUSTERS[rows], labels=LABELS[rows])
    np.testing.assert_allclose(found["value"], left["value"], rtol=1e-12)
    assert found["centroids"].shape == (5, D)
    assert np.isnan(found["centroids"].values[:, 1]).all()


# --- weights


def test_feature_weights_scale_the_features() -> None:
    weights = np.array([0.0, 1, 4, 9])
    found = ss.evaluate(VALUES, CLUSTERS, feature_weights=weights)
    scaled = ss.evaluate(VALUES * np.sqrt(weights), CLUSTERS)
    np.testing.assert_allclose(found["value"], scaled["value"], rtol=1e-12)
    for name in ("cluster_radius", "cluster_dispersion", "centroid_distances"):
        np.testing.assert_allclose(found[name], scaled[name], rtol=1e-12)
    # centroids are those of the samples
    np.testing.assert_allclose(found["centroids"], metrics.centroids(VALUES, CLUSTERS), rtol=1e-14)


def test_sample_weights_count_samples_more_often() -> None:
    times = RNG.integers(0, 4, N)
    weighted = ss.evaluate(VALUES, CLUSTERS, sample_weights=times)
    repeated = ss.evaluate(np.repeat(VALUES, times, axis=0), np.repeat(CLUSTERS, times))
    for name in ("cluster_within_scatter", "cluster_radius", "cluster_dispersion", "centroids"):
        np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-12)
    for name in set(NUMBERS) - {"calinski_harabasz_score"}:
        np.testing.assert_allclose(
            weighted["value"].sel(metric=name), repeated["value"].sel(metric=name), rtol=1e-12
        )
    assert weighted["cluster_sizes"].values.tolist() == np.bincount(CLUSTERS).tolist()
    none = np.where(CLUSTERS == 2, 0.0, 1.0)
    found = ss.evaluate(VALUES, CLUSTERS, sample_weights=none)
    assert np.isnan(found["cluster_radius"].values).tolist() == [False] * 2 + [True] + [False] * 2
    assert np.isnan(found["centroid_distances"].values[2]).all()
    rest = ss.evaluate(VALUES[CLUSTERS != 2], CLUSTERS[CLUSTERS != 2])
    name = "davies_bouldin_score"
    np.testing.assert_allclose(
        found["value"].sel(metric=name), rest["value"].sel(metric=name), rtol=1e-12
    )
    with pytest.raises(InputError, match="sample_weights= has no meaning for indices of labels"):
        ss.evaluate(VALUES, CLUSTERS, labels=LABELS, sample_weights=times)


# --- any way to run it


def stats_of(samples: Any, columns: Any, cut: Cut, **options: Any) -> MomentStats:
    """What two passes of small tiles find, cut by hand."""
    n, d = samples.shape
    named: Any = {name: SampleValues(np.asarray(column)) for name, column in columns.items()}
    reduction = MomentsReduction("c", np.zeros((4, d)), **options)
    reduction.tile_rows = TILE
    reduction = reduction.told_from(np.full(d, 0.5))
    for _ in range(2):
        job = LinearJob([reduction], n, d, source=ArraySource(samples), columns=named)
        stats: MomentStats = cut_by_hand(job, cut)[0]
        reduction = reduction.about(stats)
    return stats


@settings(max_examples=40)
@given(
    case=cases(samples=(1, 60), kinds=["gaussian", "integers", "offset", "float32", "int16"]),
    order=st.sampled_from(["rows", "features"]),
    run=st.sampled_from([1, 2, 8]),
    slab=st.integers(1, 6),
    piece=st.integers(1, TILE),
    missing=st.sampled_from(["raise", "drop", "drop_any_sample"]),
    weighted=st.booleans(),
)
def test_any_cut_gives_the_same_bits(
    case: Any, order: Any, run: int, slab: int, piece: int, missing: Any, weighted: bool
) -> None:
    n, d = case.samples.shape
    rng = np.random.default_rng(n)
    samples = case.samples.copy()
    if missing != "raise" and samples.dtype.kind == "f" and n > 1:
        samples[rng.integers(1, n)] = np.nan
    options: Any = {"missing": missing}
    columns = {"c": rng.integers(-1, 4, n), "w": rng.random(n)}
    columns["c"][0] = 0
    if weighted:
        options.update(sample_weights="w", feature_weights=rng.random(d) + 0.1)
    found = stats_of(samples, columns, Cut(order, run, slab, piece), **options)
    expected = stats_of(samples, columns, Cut("rows", 64, d, TILE), **options)
    for name in STATS:
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name


@pytest.fixture(scope="module")
def everything() -> xr.Dataset:
    return ss.evaluate(VALUES, CLUSTERS, labels=LABELS)


def test_external_and_internal_indices_come_together(everything: xr.Dataset) -> None:
    subjects = {"clusters", "partition"}
    expected = [s.name for s in all_specs() if s.subject in subjects and s.scalar]
    assert everything["metric"].values.tolist() == expected
    for spec in SPECS:
        held = everything[spec.name] if spec.name in everything else everything["value"]
        value = held if spec.name in everything else held.sel(metric=spec.name)
        np.testing.assert_array_equal(value, getattr(metrics, spec.name)(VALUES, CLUSTERS))
    rand = metrics.adjusted_rand_score(LABELS, CLUSTERS)
    assert everything["value"].sel(metric="adjusted_rand_score") == rand.item()
    without = ss.evaluate(VALUES, CLUSTERS)
    assert without["metric"].values.tolist() == SCALARS


@pytest.mark.parametrize("chunks", [(N, D), (700, 4), (512, 1), (4096, 3)])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_dask_gives_the_same_bits(
    chunks: tuple[int, int], scheduler: str, everything: xr.Dataset
) -> None:
    lazy = ss.evaluate(da.from_array(VALUES, chunks=chunks), CLUSTERS, labels=LABELS)
    assert all(variable.chunks is not None for variable in lazy.data_vars.values())
    assert_identical(lazy.compute(scheduler=scheduler), everything)


@pytest.mark.parametrize("scheduler", ["serial", "threads", "processes"])
def test_any_scheduler_gives_the_same_bits(
    scheduler: str, everything: xr.Dataset, tmp_path: Path
) -> None:
    array = zarr.create_array(tmp_path / "x.zarr", data=VALUES, chunks=(900, 3))
    with ss.set_options(scheduler=scheduler, workers=2):
        for samples in (array,) if scheduler == "processes" else (VALUES, array):
            assert_identical(ss.evaluate(samples, CLUSTERS, labels=LABELS), everything)


def test_lazy_indices_read_the_samples_twice_and_hold_few_blocks() -> None:
    seen: Counter[Any] = Counter()
    events: list[Any] = []

    def read(block: Any, block_id: Any) -> Any:
        seen[block_id] += 1
        events.append(block_id)
        return block

    counted = da.from_array(VALUES, chunks=(250, D)).map_blocks(read, dtype=np.float64)
    seen.clear()
    asked = [
        metrics.r_squared(counted, CLUSTERS),
        metrics.davies_bouldin_score(counted, CLUSTERS),
        metrics.centroids(counted, CLUSTERS),
    ]
    assert not seen
    found = dask.compute(*asked, scheduler="threads")
    assert set(seen.values()) == {2}
    assert len(seen) == counted.npartitions
    # every block once, then every block again: none was kept from one pass to the next
    half = len(events) // 2
    assert len(set(events[:half])) == len(set(events[half:])) == half
    for one, name in zip(found, ["r_squared", "davies_bouldin_score", "centroids"], strict=True):
        np.testing.assert_array_equal(one, of(name, VALUES, CLUSTERS))


def test_the_users_dims_and_order_are_kept() -> None:
    samples = xr.DataArray(
        VALUES[:600].reshape(20, 30, 2, 2),
        dims=("time", "x", "lat", "lon"),
        coords={"time": np.arange(20), "lat": [0.0, 60.0]},
        attrs={"units": "K"},
    )
    clusters = xr.DataArray(
        CLUSTERS[:600].reshape(20, 30), dims=("time", "x"), coords={"time": np.arange(20)}
    )
    options: Any = {"sample_dims": ["time", "x"], "feature_weights": "coslat"}
    found = ss.evaluate(samples, clusters[::-1], **options)
    assert found["centroids"].dims == ("cluster", "lat", "lon")
    assert found["centroids"].attrs["units"] == "K"
    assert found["metric_units"].sel(metric="within_scatter") == "K^2"
    flat = VALUES[:600] * np.sqrt(np.cos(np.radians([0.0, 0, 60, 60])))
    expected = ss.evaluate(flat, CLUSTERS[:600])
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-12)
    lazy = ss.evaluate(samples.chunk(time=7), clusters, **options).compute()
    np.testing.assert_array_equal(lazy["value"], found["value"])
    np.testing.assert_array_equal(lazy["centroids"], found["centroids"])


# --- what is asked for


def test_candidates_are_as_each_alone() -> None:
    several = {"a": CLUSTERS, "b": np.array(list("xyz"))[CLUSTERS % 3], "c": CLUSTERS - 1}
    for samples in (VALUES, da.from_array(VALUES, chunks=(900, 2))):
        result = ss.evaluate(samples, several, noise="ignore").compute()
        assert "cluster_sizes" not in result
        for name, clusters in several.items():
            alone = ss.evaluate(VALUES, clusters, noise="ignore")
            found = result["value"].sel(candidate=name)
            # pairs are added up in the order of the first candidate's clusters
            np.testing.assert_allclose(found, alone["value"], rtol=1e-12)
            linear = [r.name for r in SPECS if r.scalar and r.cost == "linear"]
            np.testing.assert_array_equal(
                found.sel(metric=linear), alone["value"].sel(metric=linear)
            )
    sizes = ss.evaluate(VALUES, {"a": CLUSTERS, "b": CLUSTERS + 2}, metrics="cluster_sizes")
    assert sizes["cluster"].values.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert np.isnan(sizes["cluster_sizes"].sel(candidate="b", cluster=0))
    with pytest.raises(InputError, match="names of their own"):
        ss.evaluate(
            VALUES,
            {"a": CLUSTERS, "b": CLUSTERS - 1},
            metrics="cluster_sizes",
            noise="singletons",
        )


def test_plans_show_every_pass() -> None:
    plan = ss.plan(VALUES, CLUSTERS, labels=LABELS)
    names = [[r.name.split(" ")[0] for r in p.job.reductions] for p in plan.passes]
    moments = [["centroids:projection"], ["moments:projection"]]
    about_centroids = ["centroid_silhouettes", "squared_silhouettes"]
    assert names == [["table:projection"], *moments, about_centroids, ["pairs"]]
    assert [search.name for search in plan.searches] == ["extremes of clusters"]
    assert plan.bytes_read >= 4 * VALUES.nbytes
    scatter = ss.plan(VALUES, CLUSTERS, metrics="r_squared")
    assert [[r.name for r in p.job.reductions] for p in scatter.passes] == moments
    assert not scatter.searches
    lazy = ss.plan(
        da.from_array(VALUES, chunks=700), CLUSTERS, missing="drop_any_feature", metrics="r_squared"
    )
    assert len(lazy.passes) == 3
    assert len(ss.plan(VALUES, CLUSTERS, labels=LABELS, metrics="partition").passes) == 1


def test_bad_questions_are_refused() -> None:
    som = ss.codebook(VALUES[:4], ss.Grid.chain(4))
    with pytest.raises(InputError, match="the second argument is a map"):
        metrics.r_squared(VALUES, som)
    with pytest.raises(InputError, match="give them first"):
        metrics.r_squared(None, CLUSTERS)
    with pytest.raises(InputError, match="mind the order"):
        metrics.r_squared(VALUES, VALUES)
    with pytest.raises(InputError, match="it judges a clustering, and the candidates are maps"):
        ss.evaluate(VALUES, som, metrics="r_squared")
    with pytest.raises(InputError, match="it needs samples"):
        ss.evaluate(None, CLUSTERS, labels=LABELS, metrics="r_squared")
    with pytest.raises(InputError, match=r"dispersion is one of .*not 'mean'"):
        metrics.davies_bouldin_index(VALUES, CLUSTERS, dispersion="mean")
    with pytest.raises(InputError, match=f"{N - 1} clusters and {N} samples"):
        metrics.r_squared(VALUES, CLUSTERS[:-1])
    with pytest.raises(SampleValueError, match="no sample is left"):
        metrics.r_squared(VALUES, np.full(N, -1), noise="ignore")


def test_tables_of_too_many_clusters_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    singles = np.arange(1001)
    result = ss.evaluate(VALUES[:1001], singles)
    assert "centroid_distances" not in result
    assert metrics.centroid_distances(VALUES[:1001], singles).shape == (1001, 1001)
    monkeypatch.setattr(limits, "MAX_CELLS", 1 << 10)
    with pytest.raises(InputError, match="1001 by 1001 clusters"):
        metrics.centroid_distances(VALUES[:1001], singles)
    monkeypatch.setattr(limits, "_COMPARED_CLUSTERS", 100)
    left = ss.evaluate(VALUES[:1001], singles)["metric"].values.tolist()
    assert "r_squared" in left
    assert not {"davies_bouldin_score", "xie_beni_index"} & set(left)

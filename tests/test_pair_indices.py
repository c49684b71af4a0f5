"""Indices of pairs through their own functions and ``evaluate``: values, laws, golden values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import reference_cluster_pairs as clusters_by
import reference_pairs as pairs_by
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn import datasets
from sklearn import metrics as sklearn_metrics

import somscale as ss
from somscale.metrics.passes import pair_walks
from somscale.options import set_options

Floats = NDArray[np.float64]
Asked = tuple[str, dict[str, Any]]
DATA = Path(__file__).parent / "data"
DELTAS = ["single", "complete", "average", "centroid", "average_to_centroid", "hausdorff"]
DIAMETERS = ["complete", "average", "centroid"]
LINKAGES = ["single", "complete", "average"]
OF_CLUSTERS: list[Asked] = [
    ("dunn_index", {}),
    *(
        ("generalized_dunn_index", {"delta": a, "diameter": b})
        for a, b in itertools.product(DELTAS, DIAMETERS)
    ),
    *(("davies_bouldin_index", {"dispersion": d}) for d in ("pairwise", "centroid", "rms")),
    *(
        (name, {"average": average})
        for name in ("silhouette_score", "centroid_silhouette", "squared_silhouette")
        for average in ("micro", "macro")
    ),
    ("cluster_mean_distance", {}),
    ("cluster_diameter", {}),
    ("cluster_separation", {}),
    *(("cluster_distances", {"linkage": linkage}) for linkage in LINKAGES),
    ("cluster_silhouette", {}),
    ("sample_silhouette", {}),
]
OF_PROJECTIONS: list[Asked] = [
    ("c_measure", {}),
    ("c_measure", {"normalize": True}),
    ("c_measure", {"power": 2}),
    ("kruskal_shepard_error", {}),
    ("kruskal_shepard_error", {"form": "somperf"}),
    ("shepard_correlation", {}),
    ("sammon_stress", {}),
    ("metric_stress", {}),
    ("metric_stress", {"form": "raw"}),
    ("metric_stress", {"form": "scale_normalized"}),
]
VECTORS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski"]
OTHERS = ["cosine", "correlation"]


def value_of(name: str, samples: Any, projection: Any, **given_: Any) -> Any:
    """An index by its own function, computed."""
    found = getattr(ss.metrics, name)(samples, projection, **given_)
    assert isinstance(found, xr.DataArray)
    return found.compute().values


def variants(asked: list[Asked]) -> dict[str, Any]:
    """All of these in one call of ``evaluate``."""
    return {f"index {number}": (name, own) for number, (name, own) in enumerate(asked)}


def all_of(samples: Any, projection: Any, asked: list[Asked], **given_: Any) -> list[Any]:
    """All of these by one call of ``evaluate``, computed."""
    wanted = variants(asked)
    found = ss.evaluate(samples, projection, metrics=wanted, **given_).compute()
    return [
        found[label].values if label in found else found["value"].sel(metric=label).values
        for label in wanted
    ]


def expected_of(name: str, samples: Any, clusters: Any, **given_: Any) -> Any:
    """An index of clusters as it is defined; samples in float64."""
    space = given_.pop("distance", "euclidean"), given_.pop("p", 2)
    d = clusters_by.matrix(clusters_by.centred(samples) if space[0] in VECTORS else samples, *space)
    match name:
        case "generalized_dunn_index":
            forms = given_["delta"], given_["diameter"]
            return clusters_by.generalized_dunn(samples, clusters, *forms, *space)
        case "davies_bouldin_index":
            return clusters_by.davies_bouldin(samples, clusters, given_["dispersion"], *space)
        case "cluster_distances":
            return clusters_by.linked(d, clusters, given_["linkage"])
        case "silhouette_score":
            return _averaged(clusters_by.silhouettes(d, clusters), clusters, **given_)
        case "squared_silhouette":
            return _averaged(clusters_by.silhouettes(d**2, clusters), clusters, **given_)
        case "centroid_silhouette":
            values = clusters_by.centroid_silhouettes(samples, clusters)
            return _averaged(values, clusters, **given_)
        case "cluster_silhouette":
            values = clusters_by.silhouettes(d, clusters)
            return [values[rows].mean() for rows in clusters_by.members(clusters)]
    simple = {
        "dunn_index": clusters_by.dunn,
        "cluster_mean_distance": clusters_by.mean_distance,
        "cluster_diameter": clusters_by.diameter,
        "cluster_separation": clusters_by.separation,
        "sample_silhouette": clusters_by.silhouettes,
    }
    return simple[name](d, clusters)


def _averaged(values: Floats, clusters: Any, average: str) -> float:
    return clusters_by.averaged(values, clusters, average)


def projected_of(name: str, d: Floats, e: Floats, e_possible: float | None, **given_: Any) -> float:
    """An index of a projection as it is defined."""
    match name:
        case "kruskal_shepard_error" if given_.get("form") == "somperf":
            return pairs_by.somperf_kruskal_shepard_error(d, e)
        case "kruskal_shepard_error":
            return pairs_by.kruskal_shepard_error(d, e, e_possible)
        case "metric_stress":
            forms = {
                "raw": pairs_by.raw_stress,
                "normalized": pairs_by.normalized_stress,
                "scale_normalized": pairs_by.scale_normalized_stress,
            }
            return forms[given_.get("form", "normalized")](d, e)
        case "c_measure":
            return pairs_by.c_measure(d, e, **given_)
    return {
        "shepard_correlation": pairs_by.shepard_correlation,
        "sammon_stress": pairs_by.sammon_stress,
    }[name](d, e)


def drawn_samples(seed: int, n: int, d: int, k: int, kind: str) -> tuple[Any, Any]:
    """Samples of a kind, and their clusters."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    samples: Any = rng.standard_normal((n, d))
    if kind in ("ties", "int8"):
        samples = rng.integers(-2, 3, (n, d)).astype(np.int8 if kind == "int8" else np.float64)
    elif kind == "duplicates":
        samples = samples[rng.integers(0, 3, n) % n]
    elif kind == "constant":
        samples[:, rng.integers(0, 2, d).astype(bool)] = 0.1
    elif kind == "equal":
        samples[:] = 0.1
    elif kind == "offset":
        samples = np.round(samples * 1024) / 1024 + 1e8
    elif kind == "float32":
        samples = samples.astype(np.float32)
    elif kind == "alone":
        codes = np.arange(n)
    names = np.array(["dog", "cat", "emu", "ape", "bat", "cow"])
    clusters: Any = names[codes] if kind == "gaussian" else codes * 3 - 1
    return samples, clusters


KINDS = ["gaussian", "ties", "int8", "duplicates", "constant", "equal", "offset", "float32"]
KINDS += ["alone"]
drawn = st.builds(
    drawn_samples,
    st.integers(0, 2**32 - 1),
    st.integers(1, 16),
    st.integers(1, 3),
    st.integers(1, 5),
    st.sampled_from(KINDS),
)


@pytest.fixture(autouse=True)
def _serial() -> Iterator[None]:
    with set_options(scheduler="serial"):
        yield


# --- definitions


@settings(max_examples=30)
@given(drawn, st.booleans())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_indices_of_clusters_are_what_they_are_defined_to_be(
    made: tuple[Any, Any], rows: bool
) -> None:
    samples, clusters = made
    with pytest.MonkeyPatch.context() as patch:
        if rows:
            patch.setattr(pair_walks, "_MOST_GROUPS", 0)
        found = all_of(samples, clusters, OF_CLUSTERS, noise="cluster")
    values = np.asarray(samples, np.float64)
    for (name, own), value in zip(OF_CLUSTERS, found, strict=True):
        expected = expected_of(name, values, clusters, **own)
        size = np.ptp(values, axis=0).max()
        np.testing.assert_allclose(
            value, expected, rtol=1e-8, atol=1e-12 + 1e-12 * size, err_msg=f"{name} {own}"
        )


SOM_KINDS = ["gaussian", "ties", "int8", "duplicates", "constant", "equal", "float32"]


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20),
    st.integers(1, 3),
    st.sampled_from(SOM_KINDS),
    st.sampled_from([(1, 1), (2, 2), (1, 5), (3, 4)]),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_indices_of_projections_are_what_they_are_defined_to_be(
    seed: int, n: int, d: int, kind: str, shape: tuple[int, int]
) -> None:
    samples, _ = drawn_samples(seed, n, d, 1, kind)
    rng = np.random.default_rng(seed + 1)
    grid = ss.Grid(*shape)
    codes = rng.standard_normal((grid.size, d))
    if n >= grid.size:
        codes = np.asarray(samples[: grid.size], np.float64) + 0.01
    values = np.asarray(samples, np.float64)
    units = pairs_by.best_units(values, codes)
    own = pairs_by.distances(values)
    delta = grid.distances()
    som = ss.codebook(codes, grid)
    _compare(samples, som, own, pairs_by.map_distances(units, delta), float(delta.max()))
    embedding = rng.integers(-2, 3, (n, 2)) * 0.5
    _compare(samples, embedding, own, pairs_by.distances(embedding), None)


def _compare(samples: Any, projection: Any, d: Floats, e: Floats, possible: float | None) -> None:
    found = all_of(samples, projection, OF_PROJECTIONS)
    for (name, own), value in zip(OF_PROJECTIONS, found, strict=True):
        with np.errstate(all="ignore"):
            try:
                expected = projected_of(name, d, e, possible, **own)
            except ZeroDivisionError:
                expected = math.nan
        if not math.isfinite(expected):
            assert np.isnan(value), (name, own)
        elif name == "shepard_correlation" and np.isnan(value):
            # distances that vary by rounding alone, or by nothing
            spreads = [np.ptp(pairs_by.pairs(t)) / t.max() for t in (d, e) if t.max() > 0]
            assert len(spreads) < 2 or min(spreads) < 1e-6
        else:
            size = 1.0 + abs(d).sum() ** 2 * abs(e).sum() ** 2
            atol = 1e-7 if own.get("form") == "scale_normalized" else 1e-12
            np.testing.assert_allclose(
                value, expected, rtol=1e-9, atol=atol, err_msg=f"{name} {own} {size}"
            )


GRIDS = {
    "hexagonal": lambda: ss.Grid(4, 6, topology="hexagonal"),
    "periodic": lambda: ss.Grid(4, 6, periodic=True),
    "chain": lambda: ss.Grid.chain(20),
    "euclidean": lambda: ss.Grid(3, 4, delta="euclidean"),
    "more units than a table holds": lambda: ss.Grid(46, 46),
}


@pytest.mark.parametrize("name", GRIDS)
def test_maps_of_any_grid(name: str) -> None:
    rng = np.random.default_rng(8)
    samples, grid = rng.standard_normal((300, 4)), GRIDS[name]()
    codes = rng.standard_normal((grid.size, 4))
    delta = np.array([grid.distance(unit, np.arange(grid.size)) for unit in range(grid.size)])
    e = pairs_by.map_distances(pairs_by.best_units(samples, codes), delta)
    d, som = pairs_by.distances(samples), ss.codebook(codes, grid)
    _compare(samples, som, d, e, float(grid.max_distance))
    # sums that need no second distance take another way
    for asked in (OF_PROJECTIONS[0], OF_PROJECTIONS[4]):
        found = value_of(asked[0], samples, som, **asked[1])
        lazy = value_of(asked[0], da.from_array(samples, chunks=(70, 4)), som, **asked[1])
        assert found == lazy
        assert found == pytest.approx(projected_of(asked[0], d, e, None, **asked[1]), rel=1e-11)


def test_several_maps_share_one_walk() -> None:
    samples = np.random.default_rng(9).standard_normal((200, 3))
    soms = {
        "small": ss.codebook(samples[:6], ss.Grid(2, 3)),
        "large": ss.codebook(samples[:12], ss.Grid(3, 4)),
    }
    names = ["c_measure", "kruskal_shepard_error", "sammon_stress"]
    found = ss.evaluate(samples, soms, metrics=names)
    lazy = ss.evaluate(da.from_array(samples, chunks=(33, 3)), soms, metrics=names)
    np.testing.assert_array_equal(found["value"], lazy["value"])
    for name, som in soms.items():
        own = ss.evaluate(samples, som, metrics=names)
        np.testing.assert_allclose(found["value"].sel(candidate=name), own["value"], rtol=1e-12)
    assert repr(ss.plan(samples, soms, metrics=names)).count("each once") == 1


def test_samples_that_coincide_far_from_0_coincide() -> None:
    rng = np.random.default_rng(10)
    samples = np.round(rng.standard_normal((120, 3)) * 1024) / 1024
    samples[60:90] = samples[:30]
    places = rng.standard_normal((120, 2))
    for moved in (samples, samples + 1e8):
        found = ss.evaluate(moved, places, metrics="sammon_stress")
        assert str(found["note"].values[0]).startswith("30 pairs coincide")
    forms = [asked for asked in OF_PROJECTIONS if asked[0] != "sammon_stress"]
    near, far = all_of(samples, places, forms), all_of(samples + 1e8, places, forms)
    np.testing.assert_allclose(far, near, rtol=1e-12)
    near, far = (all_of(x, np.arange(120) % 4, OF_CLUSTERS) for x in (samples, samples + 1e8))
    for one, two in zip(near, far, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("noise", ["ignore", "singletons", "cluster"])
def test_noise_is_what_the_policy_says(noise: str) -> None:
    rng = np.random.default_rng(3)
    samples, labels = rng.standard_normal((30, 2)), rng.integers(-1, 3, 30)
    found = all_of(samples, labels, OF_CLUSTERS, noise=noise)
    cut, own = samples, labels.copy()
    out = labels == -1
    if noise == "ignore":
        cut, own = samples[~out], labels[~out]
    elif noise == "singletons":
        own[out] = 100 + np.arange(out.sum())
    for (name, given_), value in zip(OF_CLUSTERS, found, strict=True):
        expected = expected_of(name, cut, own, **given_)
        if name == "sample_silhouette" and noise == "ignore":
            assert np.isnan(value[out]).all()
            value = value[~out]
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-13, err_msg=name)


def test_missing_labels_are_dropped() -> None:
    rng = np.random.default_rng(4)
    samples = rng.standard_normal((20, 2))
    labels = np.array(list("abc"), object)[rng.integers(0, 3, 20)]
    labels[[3, 11]] = None
    kept = np.delete(np.arange(20), [3, 11])
    found = all_of(samples, labels, OF_CLUSTERS, missing_labels="drop")
    expected = all_of(samples[kept], labels[kept].astype(str), OF_CLUSTERS)
    for (name, _), value, other in zip(OF_CLUSTERS, found, expected, strict=True):
        if name == "sample_silhouette":
            assert np.isnan(value[[3, 11]]).all()
            value = value[kept]
        np.testing.assert_allclose(value, other, rtol=1e-12, err_msg=name)
    with pytest.raises(ss.errors.InputError, match="clusters"):
        ss.metrics.silhouette_score(samples, labels)


# --- other distances


def _apart() -> tuple[Floats, Any]:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 3, 24)
    return rng.standard_normal((24, 4)) + 3 * clusters[:, None], clusters


def _takes_distance(name: str) -> bool:
    return "distance" in getattr(ss.metrics, name).spec.defaults


@pytest.mark.parametrize("distance", [*VECTORS, *OTHERS])
def test_clusters_in_every_space(distance: str) -> None:
    samples, clusters = _apart()
    of_means = {"centroid", "average_to_centroid"}
    asked = [
        (name, {**own, "distance": distance, "p": 3 if distance == "minkowski" else 2})
        for name, own in OF_CLUSTERS
        if _takes_distance(name)
        and own.get("dispersion", "pairwise") == "pairwise"
        and not (distance in OTHERS and (of_means & set(own.values()) or "dispersion" in own))
    ]
    assert len(asked) > 8
    for (name, own), value in zip(asked, all_of(samples, clusters, asked), strict=True):
        expected = expected_of(name, samples, clusters, **own)
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-13, err_msg=f"{name} {own}")


@pytest.mark.parametrize("distance", [*VECTORS, *OTHERS])
def test_projections_in_every_space(distance: str) -> None:
    samples, _ = _apart()
    grid = ss.Grid(2, 3)
    som, embedding = ss.codebook(samples[:6], grid), samples[:, :2]
    d = pairs_by.distances(samples, distance, 3)
    units = pairs_by.best_units(samples, samples[:6])
    delta = grid.distances()
    p = 3 if distance == "minkowski" else 2
    asked = [(name, {**own, "distance": distance, "p": p}) for name, own in OF_PROJECTIONS]
    for projection, e, possible in (
        (som, pairs_by.map_distances(units, delta), float(delta.max())),
        (embedding, pairs_by.distances(embedding), None),
    ):
        found = all_of(samples, projection, asked)
        for (name, own), value in zip(OF_PROJECTIONS, found, strict=True):
            expected = projected_of(name, d, e, possible, **own)
            np.testing.assert_allclose(value, expected, rtol=1e-9, err_msg=f"{name} {own}")


@pytest.mark.parametrize(
    ("alias", "name"),
    [("manhattan", "cityblock"), ("l1", "cityblock"), ("l2", "euclidean")],
)
def test_aliases_give_the_same_bits(alias: str, name: str) -> None:
    samples, clusters = _apart()
    for index in ("silhouette_score", "dunn_index", "davies_bouldin_index"):
        one = value_of(index, samples, clusters, distance=alias)
        assert one == value_of(index, samples, clusters, distance=name)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
def test_powers_of_minkowski(p: float) -> None:
    samples, clusters = _apart()
    table = cdist(samples, samples, "minkowski", p=p)
    expected = sklearn_metrics.silhouette_score(table, clusters, metric="precomputed")
    found = value_of("silhouette_score", samples, clusters, distance="minkowski", p=p)
    assert found == pytest.approx(expected, rel=1e-12)
    found = value_of("shepard_correlation", samples, samples[:, :2], distance="minkowski", p=p)
    e = pairs_by.distances(samples[:, :2])
    assert found == pytest.approx(pairs_by.shepard_correlation(table, e), rel=1e-12)


def canberra(x: Any, y: Any) -> Any:
    return cdist(x, y, "canberra")


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "l1", "correlation", canberra])
def test_silhouettes_equal_scikit_learns(metric: Any) -> None:
    samples, clusters = _apart()
    own = "canberra" if callable(metric) else metric
    expected = sklearn_metrics.silhouette_samples(samples, clusters, metric=own)
    found = value_of("sample_silhouette", samples, clusters, distance=metric)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    lazy = da.from_array(samples, chunks=(7, 2))
    np.testing.assert_array_equal(
        value_of("sample_silhouette", lazy, clusters, distance=metric), found
    )


def test_a_users_function_serves_every_index() -> None:
    samples, clusters = _apart()
    for name, own in OF_CLUSTERS:
        if not _takes_distance(name) or own.get("dispersion") or "centroid" in str(own):
            continue
        found = value_of(name, samples, clusters, **own, distance=_cityblock)
        expected = value_of(name, samples, clusters, **own, distance="cityblock")
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=name)
    for name, own in OF_PROJECTIONS:
        found = value_of(name, samples, samples[:, :2], **own, distance=_cityblock)
        expected = value_of(name, samples, samples[:, :2], **own, distance="cityblock")
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=name)


def _cityblock(x: Any, y: Any) -> Any:
    return cdist(x, y, "cityblock")


# --- golden values and pitfalls


def test_golden_values_of_a_map(digits_map: tuple[Floats, Floats]) -> None:
    samples, codes = digits_map
    som = ss.codebook(codes.reshape(8, 8, 64), ss.Grid(8, 8))
    found = all_of(samples, som, OF_PROJECTIONS)
    by_form = {
        name + str(sorted(own)): v for (name, own), v in zip(OF_PROJECTIONS, found, strict=True)
    }
    assert by_form["c_measure[]"] == pytest.approx(24731383.11903191, rel=1e-13)
    assert by_form["c_measure['power']"] == pytest.approx(77333109.86328125, rel=1e-14)
    assert by_form["kruskal_shepard_error[]"] == pytest.approx(0.04752027955835522, rel=1e-12)
    somperf = by_form["kruskal_shepard_error['form']"]
    assert somperf == pytest.approx(0.11316030995446379, rel=1e-12)
    preset = ss.evaluate(samples, som, metrics="kruskal_shepard_error", convention="somperf")
    assert float(preset["value"][0]) == pytest.approx(somperf, rel=1e-12)


GOLDEN: dict[str, list[tuple[str, dict[str, Any], float]]] = {
    "iris": [
        ("davies_bouldin_index", {}, 0.9348149529148105),
        ("davies_bouldin_index", {"dispersion": "centroid"}, 0.6619715465007473),
        ("davies_bouldin_index", {"dispersion": "rms"}, 0.7255872844),
        ("dunn_index", {}, 0.09880739332808099),
        ("silhouette_score", {}, 0.5528190123564101),
        ("silhouette_score", {"average": "macro"}, 0.5555218234678563),
        ("centroid_silhouette", {}, 0.6663855565),
        ("squared_silhouette", {}, 0.7356596054),
    ],
    "digits": [
        ("davies_bouldin_index", {}, 2.715578340678261),
        ("davies_bouldin_index", {"dispersion": "centroid"}, 1.9248458513925868),
        ("davies_bouldin_index", {"dispersion": "rms"}, 1.9589234520),
        ("dunn_index", {}, 0.21932626077920753),
        ("silhouette_score", {}, 0.18253573914791615),
        ("silhouette_score", {"average": "macro"}, 0.1887534433783042),
        ("centroid_silhouette", {}, 0.2826795771),
        ("squared_silhouette", {}, 0.3023487713),
    ],
}
SHOWN = {"iris": (0.264575131106, 2.677685567799), "digits": (14.899664425751, 67.933791297115)}


@pytest.mark.parametrize("data", GOLDEN)
def test_golden_values_of_clusters(data: str) -> None:
    loaded = {"iris": datasets.load_iris, "digits": datasets.load_digits}[data]()
    file = {"iris": "iris_kmeans_3.npy", "digits": "digits_kmeans_10.npy"}[data]
    labels = np.load(DATA / file)
    asked = [(name, own) for name, own, _ in GOLDEN[data]]
    for (name, _, value), found in zip(
        GOLDEN[data], all_of(loaded.data, labels, asked), strict=True
    ):
        digits = len(str(value)) - 2
        assert found == pytest.approx(value, rel=1e-13 if digits > 12 else 2e-10), name
    separation = value_of("cluster_separation", loaded.data, labels).min()
    diameter = value_of("cluster_diameter", loaded.data, labels).max()
    assert (separation, diameter) == pytest.approx(SHOWN[data], rel=1e-12)


def line(*places: float) -> Floats:
    return np.array(places)[:, None]


def test_pitfalls_of_clusters() -> None:
    single = line(0, 2, 10), [0, 0, 1]
    for name, own, expected in (
        ("davies_bouldin_index", {}, 2 / 9),
        ("davies_bouldin_index", {"dispersion": "centroid"}, 1 / 9),
        ("dunn_index", {}, 4.0),
        ("silhouette_score", {}, (1 - 2 / 10 + 1 - 2 / 8) / 3),
    ):
        assert value_of(name, *single, **own) == pytest.approx(expected, rel=1e-14)
    # centroids that coincide are no better score
    both = line(-1, 1, -2, 2), [0, 0, 1, 1]
    assert value_of("davies_bouldin_index", *both) == math.inf
    tiny = line(0, 2, 10), [0, 0, 1]
    assert value_of("davies_bouldin_index", tiny[0] * 1e-9, tiny[1]) == pytest.approx(2 / 9)
    doubled = line(0, 0, 1, 1), [0, 0, 1, 1]
    assert value_of("davies_bouldin_index", *doubled) == 0
    assert value_of("dunn_index", *doubled) == math.inf
    assert value_of("silhouette_score", *doubled) == 1
    noisy = line(0, 1, 10, 11, 100), [0, 0, 1, 1, -1]
    for name, own, expected in (
        ("davies_bouldin_index", {"dispersion": "centroid"}, 0.1),
        ("davies_bouldin_index", {}, 0.2),
        ("silhouette_score", {}, 0.899749),
        ("dunn_index", {}, 9.0),
    ):
        found = ss.metrics.__dict__[name](*noisy, noise="ignore", **own)
        assert float(found) == pytest.approx(expected, rel=1e-6)
    result = ss.evaluate(*noisy, metrics="dunn_index", noise="ignore")
    assert result.attrs["clusters_excluded"] == '{"projection": 1}'


@pytest.mark.parametrize(
    ("samples", "labels"),
    [
        (line(0, 1, 2), [0, 0, 0]),  # one cluster
        (line(3, 3, 3, 3), [0, 0, 1, 1]),  # all equal
        (line(5), [1]),  # one sample
    ],
)
def test_what_is_undefined_is_nan_with_a_reason(samples: Any, labels: Any) -> None:
    names = ["silhouette_score", "davies_bouldin_index", "dunn_index", "generalized_dunn_index"]
    names += ["centroid_silhouette", "squared_silhouette"]
    found = ss.evaluate(samples, labels, metrics=names)
    assert np.isnan(found["value"]).all()
    assert (found["note"] != "").all()


def test_a_c_measure_grows_with_the_square_of_samples() -> None:
    som = ss.codebook(line(0, 1, 2), ss.Grid.chain(3))
    assert value_of("c_measure", line(0, 1, 2), som) == 6
    assert value_of("c_measure", line(0, 0, 1, 1, 2, 2), som) == 24


def test_nan_in_samples_is_an_error_that_names_the_place() -> None:
    samples, clusters = _apart()
    samples[7, 2] = np.nan
    for name in ("silhouette_score", "dunn_index", "squared_silhouette", "davies_bouldin_index"):
        with pytest.raises(ss.errors.SampleValueError, match="sample 7, feature 2"):
            getattr(ss.metrics, name)(samples, clusters)
    for name in ("c_measure", "shepard_correlation", "metric_stress"):
        with pytest.raises(ss.errors.SampleValueError, match="sample 7, feature 2"):
            getattr(ss.metrics, name)(samples, samples[:, :2])


# --- laws

SCALED = {"cluster_mean_distance", "cluster_diameter", "cluster_separation", "cluster_distances"}


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_laws_of_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples, clusters = rng.standard_normal((18, 3)), rng.integers(0, 3, 18)
    found = all_of(samples, clusters, OF_CLUSTERS)
    turned = samples @ ortho_group.rvs(3, random_state=seed)
    others = {
        "moved": all_of(samples + 5.5, clusters, OF_CLUSTERS),
        "turned": all_of(turned, clusters, OF_CLUSTERS),
    }
    for what, values in others.items():
        for asked, one, two in zip(OF_CLUSTERS, found, values, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12, err_msg=f"{what} {asked}")
    quadrupled = all_of(4 * samples, clusters, OF_CLUSTERS)
    for (name, _), one, two in zip(OF_CLUSTERS, found, quadrupled, strict=True):
        np.testing.assert_allclose(two, one * (4 if name in SCALED else 1), rtol=1e-12)
    order = rng.permutation(3)
    renamed = all_of(samples, order[clusters], OF_CLUSTERS)
    for (name, _), one, two in zip(OF_CLUSTERS, found, renamed, strict=True):
        if one.ndim and name != "sample_silhouette" and len(np.unique(clusters)) == 3:
            two = two[order][:, order] if one.ndim == 2 else two[order]
        if len(np.unique(clusters)) == 3 or not one.ndim:
            np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12, err_msg=name)


def test_only_euclidean_distances_do_not_change_with_rotation() -> None:
    samples, clusters = _apart()
    turned = samples @ ortho_group.rvs(4, random_state=1)
    for distance in ("cityblock", "chebyshev"):
        one = value_of("silhouette_score", samples, clusters, distance=distance)
        two = value_of("silhouette_score", turned, clusters, distance=distance)
        assert abs(one - two) > 1e-4
        moved = value_of("silhouette_score", samples + 8, clusters, distance=distance)
        assert moved == pytest.approx(one, rel=1e-12)


def test_laws_of_projections() -> None:
    samples, _ = _apart()
    embedding = samples[:, :2] ** 2
    names = ["shepard_correlation", "kruskal_shepard_error", "metric_stress"]
    forms: list[Asked] = [(names[0], {}), (names[1], {}), (names[1], {"form": "somperf"})]
    forms += [(names[2], {"form": "scale_normalized"})]
    turned = embedding @ ortho_group.rvs(2, random_state=2) + 3
    base = all_of(samples, embedding, forms)
    for one, two in ((samples + 9, turned), (samples * 8, embedding), (samples, embedding * 16)):
        np.testing.assert_allclose(all_of(one, two, forms), base, rtol=1e-9)
    same = all_of(samples, samples, [("metric_stress", {}), ("sammon_stress", {}), forms[0]])
    np.testing.assert_allclose(same, [0, 0, 1], atol=1e-7)


# --- bits


def test_lazy_results_have_the_bits_of_computed_ones() -> None:
    rng = np.random.default_rng(6)
    samples, labels = rng.standard_normal((2100, 5)), rng.integers(-1, 4, 2100)
    som = ss.codebook(samples[:12], ss.Grid(3, 4))
    few: list[Asked] = [("c_measure", {}), ("sammon_stress", {}), ("kruskal_shepard_error", {})]
    some = [a for a in OF_CLUSTERS if a[1].get("diameter", "complete") == "complete"]
    for projection, asked in ((som, few), (samples[:, :2], few), (labels, some)):
        expected = all_of(samples, projection, asked)
        for chunks in ((500, 5), ((1, 2000, 99), (2, 3))):
            lazy = da.from_array(samples, chunks=chunks)
            result = ss.evaluate(lazy, projection, metrics=variants(asked))
            assert dask.is_dask_collection(result)
            for one, two in zip(all_of(lazy, projection, asked), expected, strict=True):
                np.testing.assert_array_equal(one, two)

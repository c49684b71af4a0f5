"""Formulas of clusters' pairs: definitions, golden values, pitfalls, laws; no walk over pairs."""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_cluster_pairs as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import datasets
from sklearn import metrics as sklearn_metrics

from somscale import metrics
from somscale.errors import InputError
from somscale.metrics.asking.requests import make_request
from somscale.metrics.values import note_of, number_of
from somscale.reductions.pair_stats import ClusterPairs, Extremes, Silhouettes

DATA = Path(__file__).parent / "data"
DELTAS = ["single", "complete", "average", "centroid", "average_to_centroid", "hausdorff"]
DIAMETERS = ["complete", "average", "centroid"]
FORMS = [{"delta": a, "diameter": b} for a, b in itertools.product(DELTAS, DIAMETERS)]
LINKAGES = ["single", "complete", "average"]
VECTORS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski"]
each_average = pytest.mark.parametrize("average", ["micro", "macro"])
ONE_CLUSTER = "there is one cluster, and nothing to tell it from"

Asked = tuple[str, dict[str, Any]]
SCALARS: list[Asked] = [
    ("dunn_index", {}),
    ("davies_bouldin_index", {}),
    *(("generalized_dunn_index", form) for form in FORMS),
    *(
        (name, {"average": average})
        for name in ("silhouette_score", "centroid_silhouette", "squared_silhouette")
        for average in ("micro", "macro")
    ),
]
ARRAYS: list[Asked] = [
    ("cluster_mean_distance", {}),
    ("cluster_diameter", {}),
    ("cluster_separation", {}),
    *(("cluster_distances", {"linkage": linkage}) for linkage in LINKAGES),
    ("cluster_silhouette", {}),
    ("sample_silhouette", {}),
]
EVERYTHING = SCALARS + ARRAYS


def formula_of(name: str) -> Any:
    """The pure formula of an index."""
    return getattr(metrics, name).formula


class Measured:
    """Samples and clusters, and the statistics of them that formulas ask for.

    Attributes
    ----------
    codes : (N,) int
        Clusters by number; of those numbers some may be no sample's.
    """

    def __init__(self, samples: Any, codes: Any, n_clusters: int | None = None) -> None:
        self.samples = np.asarray(samples, np.float64)
        self.codes = np.asarray(codes)
        self.count = self.codes.max() + 1 if n_clusters is None else n_clusters
        self.distances: dict[Any, plain.Floats] = {}

    def d(self, distance: str = "euclidean", p: float = 2) -> plain.Floats:
        if (distance, p) not in self.distances:
            self.distances[distance, p] = plain.matrix(self.samples, distance, p)
        return self.distances[distance, p]

    def statistic(self, need: str, tables: tuple[str, ...], given: dict[str, Any]) -> Any:
        """One statistic, with no table that the index has not asked for; None for ""."""
        if not need:
            return None
        # forms that are Euclidean alone have no such parameters
        space = given.get("distance", "euclidean"), given.get("p", 2)
        if need == "moments":
            return plain.moment_stats(self.samples, self.codes, self.count)
        if need == "extremes":
            return plain.extremes(self.d(*space), self.codes, self.count)
        if need == "cluster_pairs":
            sums = None
            if "to_centroids" in tables:
                sums = plain.sums_to_centroids(self.samples, self.codes, self.count, *space)
            return plain.cluster_pairs(self.d(*space), self.codes, self.count, tables, sums)
        taken = self.codes >= 0
        values = np.full(len(self.codes), np.nan)
        values[taken] = {
            "silhouettes_of_clusters": lambda: plain.silhouettes(self.part(space), self.own),
            "squared_silhouettes": lambda: plain.silhouettes(self.part(space) ** 2, self.own),
            "centroid_silhouettes": lambda: plain.centroid_silhouettes(
                self.samples[taken], self.own
            ),
        }[need]()
        return plain.silhouette_stats(values, self.codes, self.count)

    @property
    def own(self) -> NDArray[Any]:
        return np.asarray(self.codes[self.codes >= 0])

    def part(self, space: tuple[str, float]) -> plain.Floats:
        taken = self.codes >= 0
        return self.d(*space)[np.ix_(taken, taken)]

    def value(self, name: str, **given: Any) -> Any:
        request = make_request(name, getattr(metrics, name).spec, given)
        asked, spec = dict(request.parameters), request.spec
        statistics = [self.statistic(need, spec.tables, asked) for need in spec.needs]
        return spec.formula(*statistics, **asked)

    def of(self, name: str, **given: Any) -> NDArray[Any]:
        return number_of(self.value(name, **given))

    def noted(self, name: str, **given: Any) -> tuple[float, str]:
        value = self.value(name, **given)
        return float(number_of(value)), note_of(value)


def measured(samples: Any, clusters: Any) -> Measured:
    """Samples, and clusters by any names; numbers on a line are samples of one feature."""
    values = np.asarray(samples, np.float64)
    return Measured(values.reshape(len(values), -1), *plain.codes_of(clusters))


def grids(smallest: int = 1) -> st.SearchStrategy[tuple[Any, Any]]:
    """Samples on a coarse grid, of many ties and duplicates, and their clusters."""

    def make(drawn: tuple[int, int, int, int, float]) -> tuple[Any, Any]:
        n, d, k, seed, width = drawn
        rng = np.random.default_rng(seed)
        return rng.integers(-3, 4, (n, d)) * width, rng.integers(0, k, n) * 3 - 1

    sizes = st.tuples(st.integers(smallest, 14), st.integers(1, 3), st.integers(1, 4))
    drawn = st.tuples(sizes, st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.25, 2.0**-30]))
    return drawn.map(lambda x: make((*x[0], *x[1:])))


def expected_of(name: str, samples: Any, clusters: Any, **given: Any) -> Any:
    """The index as it is defined."""
    space = given.pop("distance", "euclidean"), given.pop("p", 2)
    d = plain.matrix(samples, *space)
    match name:
        case "generalized_dunn_index":
            forms = given["delta"], given["diameter"]
            return plain.generalized_dunn(samples, clusters, *forms, *space)
        case "davies_bouldin_index":
            dispersion = given.get("dispersion", "pairwise")
            return plain.davies_bouldin(samples, clusters, dispersion, *space)
        case "cluster_distances":
            return plain.linked(d, clusters, given["linkage"])
        case "silhouette_score":
            return plain.averaged(plain.silhouettes(d, clusters), clusters, **given)
        case "squared_silhouette":
            return plain.averaged(plain.silhouettes(d**2, clusters), clusters, **given)
        case "centroid_silhouette":
            values = plain.centroid_silhouettes(samples, clusters)
            return plain.averaged(values, clusters, **given)
        case "cluster_silhouette":
            values = plain.silhouettes(d, clusters)
            return [values[rows].mean() for rows in plain.members(clusters)]
    simple = {
        "dunn_index": plain.dunn,
        "cluster_mean_distance": plain.mean_distance,
        "cluster_diameter": plain.diameter,
        "cluster_separation": plain.separation,
        "sample_silhouette": plain.silhouettes,
    }
    return simple[name](d, clusters)


# --- the definitions


@pytest.mark.parametrize(("name", "given_"), EVERYTHING)
@settings(max_examples=15)
@given(drawn=grids())
def test_every_index_is_what_it_is_defined_to_be(name: str, given_: Any, drawn: Any) -> None:
    samples, clusters = drawn
    found = measured(samples, clusters).of(name, **given_)
    expected = expected_of(name, samples, clusters, **given_)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * np.abs(samples).max())


@pytest.mark.parametrize("distance", [*VECTORS[1:], "cosine", "correlation"])
@pytest.mark.parametrize(
    ("name", "given_"),
    [asked for asked in EVERYTHING if "distance" in getattr(metrics, asked[0]).spec.defaults],
)
def test_in_other_spaces(name: str, given_: Any, distance: str) -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 3, 12)
    samples = rng.standard_normal((12, 4)) + 3 * clusters[:, None]
    asked = {**given_, "distance": distance, "p": 3}
    of_means = name == "davies_bouldin_index" or "centroid" in "".join(map(str, given_.values()))
    if of_means and distance not in VECTORS:
        with pytest.raises(InputError, match=f"compares centroids, .*not '{distance}'"):
            measured(samples, clusters).of(name, **asked)
        return
    found = measured(samples, clusters).of(name, **asked)
    expected = expected_of(name, samples, clusters, **asked)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    euclidean = measured(samples, clusters).of(name, **given_)
    assert not np.allclose(found, euclidean, rtol=1e-3)


@given(grids())
def test_dispersions_from_moments_alone(drawn: tuple[Any, Any]) -> None:
    for dispersion in ("centroid", "rms"):
        found = measured(*drawn).of("davies_bouldin_index", dispersion=dispersion)
        expected = plain.davies_bouldin(*drawn, dispersion)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    spec = metrics.davies_bouldin_index.spec
    linear = spec.with_parameters({"dispersion": "rms"})
    assert (linear.needs, linear.cost) == (("moments", ""), "linear")
    assert (spec.needs, spec.cost) == (("moments", "cluster_pairs"), "pairs")


@each_average
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "cosine"])
def test_silhouettes_equal_scikit_learns(average: str, distance: str) -> None:
    rng = np.random.default_rng(1)
    samples, clusters = rng.standard_normal((60, 4)), np.array(list("cab"))[rng.integers(0, 3, 60)]
    clusters[0] = "z"  # alone
    own = measured(samples, clusters)
    expected = sklearn_metrics.silhouette_samples(samples, clusters, metric=distance)
    found = own.of("sample_silhouette", distance=distance)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
    means = [expected[rows].mean() for rows in plain.members(clusters)]
    found = own.of("cluster_silhouette", distance=distance)
    np.testing.assert_allclose(found, means, rtol=1e-10, atol=1e-14)
    score = sklearn_metrics.silhouette_score(samples, clusters, metric=distance)
    found = own.of("silhouette_score", average=average, distance=distance)
    assert found == pytest.approx(score if average == "micro" else np.mean(means), rel=1e-10)


def test_squared_silhouettes_need_no_pairs() -> None:
    rng = np.random.default_rng(2)
    samples, codes = rng.standard_normal((40, 3)), np.arange(40) % 3
    moments = plain.moment_stats(samples, codes, 3)
    away = ((samples[:, None] - moments.centroids) ** 2).sum(axis=2)
    sums = moments.hits * away + moments.squares
    own = sums[np.arange(40), codes] / (moments.hits[codes] - 1)
    others = np.where(np.arange(3) == codes[:, None], np.inf, sums / moments.hits)
    values = (others.min(axis=1) - own) / np.maximum(own, others.min(axis=1))
    found = measured(samples, codes).of("squared_silhouette")
    assert found == pytest.approx(values.mean(), rel=1e-12)
    assert metrics.squared_silhouette.spec.cost == metrics.centroid_silhouette.spec.cost == "linear"


def test_the_generalized_index_asks_only_for_what_a_form_needs() -> None:
    spec = metrics.generalized_dunn_index.spec

    def facts(delta: str, diameter: str, distance: str = "euclidean") -> Any:
        asked = spec.parameters({"delta": delta, "diameter": diameter, "distance": distance})
        found = spec.with_parameters(asked)
        return found.needs, found.cost, set(found.tables)

    assert facts("single", "complete") == (("", "", "extremes"), "pairs", set())
    assert facts("centroid", "centroid") == (("moments", "", ""), "linear", set())
    assert facts("average", "average") == (("", "cluster_pairs", ""), "pairs", {"between"})
    assert facts("hausdorff", "complete") == (
        ("", "cluster_pairs", "extremes"),
        "pairs",
        {"hausdorff"},
    )
    assert facts("centroid", "centroid", "cityblock") == (
        ("moments", "cluster_pairs", ""),
        "pairs",
        {"to_centroids"},
    )
    assert spec.needs == spec.with_parameters(spec.defaults).needs
    for form in FORMS:
        assert len(facts(*form.values())[0]) == len(spec.needs)


# --- golden values

GOLDEN: dict[str, list[tuple[str, dict[str, Any], float]]] = {
    "iris": [
        ("davies_bouldin_index", {}, 0.9348149529148105),
        ("davies_bouldin_index", {"dispersion": "centroid"}, 0.6619715465007473),
        ("davies_bouldin_index", {"dispersion": "rms"}, 0.7255872844),
        ("dunn_index", {}, 0.09880739332808099),
        ("generalized_dunn_index", {}, 0.09880739332808099),
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
        ("generalized_dunn_index", {}, 0.21932626077920753),
        ("silhouette_score", {}, 0.18253573914791615),
        ("silhouette_score", {"average": "macro"}, 0.1887534433783042),
        ("centroid_silhouette", {}, 0.2826795771),
        ("squared_silhouette", {}, 0.3023487713),
    ],
}
PARTS = {"iris": (0.264575131106, 2.677685567799), "digits": (14.899664425751, 67.933791297115)}


@pytest.mark.parametrize("data", GOLDEN)
def test_golden_values(data: str) -> None:
    loaded = {"iris": datasets.load_iris, "digits": datasets.load_digits}[data]()
    file = {"iris": "iris_kmeans_3.npy", "digits": "digits_kmeans_10.npy"}[data]
    own = measured(loaded.data, np.load(DATA / file))
    for name, given_, expected in GOLDEN[data]:
        found = float(own.of(name, **given_))
        digits = len(str(expected)) - 2
        assert found == pytest.approx(expected, rel=1e-13 if digits > 12 else 2e-10), name
    parts = own.of("cluster_separation").min(), own.of("cluster_diameter").max()
    assert parts == pytest.approx(PARTS[data], rel=1e-12)
    assert own.of("cluster_silhouette").mean() == own.of("silhouette_score", average="macro")
    table = own.of("cluster_distances")
    assert table[~np.eye(len(table), dtype=bool)].min() == parts[0]


# --- pitfalls


def test_mean_distances_count_every_pair_once() -> None:
    own = measured([0, 2, 5, 9], [0, 0, 0, 1])
    assert own.of("cluster_mean_distance").tolist() == [(2 + 5 + 3) / 3, 0]
    assert own.of("cluster_diameter").tolist() == [5, 0]
    assert own.of("cluster_separation").tolist() == [4, 4]
    assert own.of("cluster_distances", linkage="average")[0].tolist() == [0, (9 + 7 + 4) / 3]


def test_forms_of_the_generalized_index_by_hand() -> None:
    line = measured([0, 2, 5, 9, 10], [0, 0, 1, 1, 1])
    deltas = dict(zip(DELTAS, [3, 10, 7, 7, 7, 8], strict=True))
    for (delta, apart), (diameter, wide) in itertools.product(
        deltas.items(), zip(DIAMETERS, [5, 10 / 3, 4], strict=True)
    ):
        found = line.of("generalized_dunn_index", delta=delta, diameter=diameter)
        assert found == pytest.approx(apart / wide, rel=1e-14), (delta, diameter)
    # clusters beside one another, where means and centroids differ
    plane = measured([[0, 0], [0, 6], [4, 3], [4, 3]], [0, 0, 1, 1])
    for delta, ratio in zip(DELTAS, [5 / 6, 5 / 6, 5 / 6, 4 / 6, 3 / 4, 5 / 6], strict=True):
        assert plane.of("generalized_dunn_index", delta=delta) == pytest.approx(ratio, rel=1e-14)


@pytest.mark.parametrize(("name", "given_"), SCALARS)
def test_one_cluster_is_undefined(name: str, given_: Any) -> None:
    for samples in ([[0.0], [1], [3]], [[7.0]]):
        value, note = measured(samples, [4] * len(samples)).noted(name, **given_)
        assert np.isnan(value)
        assert note == ONE_CLUSTER


def test_fields_of_one_cluster() -> None:
    own = measured([0, 1, 3], [4, 4, 4])
    assert own.of("cluster_mean_distance").tolist() == [2]
    assert own.of("cluster_diameter").tolist() == [3]
    assert own.of("cluster_distances").tolist() == [[0]]
    for name in ("cluster_separation", "cluster_silhouette", "sample_silhouette"):
        assert np.isnan(own.of(name)).all()


def test_a_singleton() -> None:
    own = measured([0, 2, 10], [0, 0, 1])
    assert own.of("davies_bouldin_index") == pytest.approx(2 / 9, rel=1e-15)
    centroid = own.of("davies_bouldin_index", dispersion="centroid")
    assert centroid == pytest.approx(1 / 9, rel=1e-15)
    assert own.noted("dunn_index") == own.noted("generalized_dunn_index") == (4, "")
    assert own.of("silhouette_score") == pytest.approx(0.516667, abs=1e-6)
    assert own.of("sample_silhouette")[2] == own.of("cluster_silhouette")[1] == 0


@pytest.mark.parametrize("scale", [1, 1e-9, 1e9])
def test_coincident_centroids(scale: float) -> None:
    own = measured(np.array([-1.0, 1, -2, 2, 9]) * scale, [0, 0, 1, 1, 2])
    note = "the centroids of two clusters coincide"
    assert own.noted("davies_bouldin_index") == (np.inf, note)
    for diameter in DIAMETERS:
        assert own.noted("generalized_dunn_index", delta="centroid", diameter=diameter) == (0, "")
    # centroids that differ by rounding coincide in every space
    rounded = measured(np.array([0.1, 0.3, 0.2, 0.2, 7.3])[:, None] * [1, 1], [0, 0, 1, 1, 2])
    for distance in VECTORS:
        found = rounded.of("generalized_dunn_index", delta="centroid", distance=distance, p=3)
        assert found < 1e-15


def test_duplicates() -> None:
    own = measured([0, 0, 1, 1], [0, 0, 1, 1])
    points = "every cluster has the diameter 0"
    assert own.noted("davies_bouldin_index") == (0, "")
    assert own.noted("dunn_index") == (np.inf, points)
    for form in FORMS:
        assert own.noted("generalized_dunn_index", **form) == (np.inf, points)
    for name in ("silhouette_score", "centroid_silhouette", "squared_silhouette"):
        assert own.noted(name) == (1, "")


@pytest.mark.parametrize(("name", "given_"), SCALARS)
@pytest.mark.parametrize("at", [0.0, 0.1, 1e8 + 0.1])
def test_equal_samples_are_undefined(name: str, given_: Any, at: float) -> None:
    value, note = measured(np.full((8, 3), at), np.arange(8) % 3).noted(name, **given_)
    assert np.isnan(value)
    assert "0" in note or "same point" in note


def test_two_clusters_on_one_point_among_others() -> None:
    own = measured([5, 5, 5, 5, 9, 9], [0, 0, 1, 1, 2, 2])
    value, note = own.noted("davies_bouldin_index")
    assert np.isnan(value)
    assert note == "two clusters are one and the same point"
    value, note = own.noted("dunn_index")
    assert np.isnan(value)
    assert note == "every cluster has the diameter 0, and two of them the distance 0"
    value, note = own.noted("silhouette_score")
    assert np.isnan(value)
    assert note.startswith("some samples are at distance 0")
    np.testing.assert_array_equal(own.of("cluster_silhouette"), [np.nan, np.nan, 1])
    # a cluster that is more than a point: its diameter is there to measure in
    wider = measured([5, 5, 5, 5, 8, 9], [0, 0, 1, 1, 2, 2])
    assert wider.noted("dunn_index") == (0, "")


def test_clusters_of_one_sample_each() -> None:
    own = measured([0, 1, 3, 7], np.arange(4))
    assert own.noted("davies_bouldin_index") == (0, "")
    assert own.noted("dunn_index") == (np.inf, "every cluster has the diameter 0")
    for name in ("silhouette_score", "centroid_silhouette", "squared_silhouette"):
        for average in ("micro", "macro"):
            value, note = own.noted(name, average=average)
            assert np.isnan(value)
            assert "one sample" in note
    assert own.of("sample_silhouette").tolist() == own.of("cluster_silhouette").tolist() == [0] * 4


def test_noise_takes_no_part() -> None:
    own = Measured(np.array([[0.0], [1], [10], [11], [100]]), [0, 0, 1, 1, -1])
    assert own.of("davies_bouldin_index") == pytest.approx(0.2, rel=1e-15)
    assert own.of("davies_bouldin_index", dispersion="centroid") == pytest.approx(0.1, rel=1e-15)
    assert own.of("dunn_index") == 9
    assert own.of("silhouette_score") == pytest.approx(0.899749, abs=1e-6)
    assert np.isnan(own.of("sample_silhouette")).tolist() == [False] * 4 + [True]


@pytest.mark.parametrize(("name", "given_"), EVERYTHING)
def test_clusters_without_samples_change_nothing(name: str, given_: Any) -> None:
    rng = np.random.default_rng(3)
    samples, codes = rng.standard_normal((20, 2)), np.arange(20) % 3
    expected = Measured(samples, codes).of(name, **given_)
    gaps = Measured(samples, np.array([1, 2, 4])[codes], n_clusters=6)
    found = gaps.of(name, **given_)
    dims = getattr(metrics, name).spec.dims
    for axis in [i for i, dim in enumerate(dims) if dim != "sample"]:
        assert np.isnan(found.take([0, 3, 5], axis=axis)).all()
    for axis in [i for i, dim in enumerate(dims) if dim != "sample"]:
        found = found.take([1, 2, 4], axis=axis)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


# --- laws


@pytest.mark.parametrize(("name", "given_"), EVERYTHING)
@settings(max_examples=8)
@given(drawn=grids(smallest=2), seed=st.integers(0, 99))
def test_laws(name: str, given_: Any, drawn: Any, seed: int) -> None:
    samples, clusters = drawn
    spec = getattr(metrics, name).spec
    rng = np.random.default_rng(seed)
    before = measured(samples, clusters).of(name, **given_)
    close: Any = {"rtol": 1e-12, "atol": 1e-14 * np.abs(samples).max()}

    # names of clusters are but names
    names = np.array(list("fedcba"))[clusters // 3 + 1]
    renamed = measured(samples, names).of(name, **given_)
    for axis in [i for i, dim in enumerate(spec.dims) if dim != "sample"]:
        renamed = np.flip(renamed, axis)
    np.testing.assert_allclose(renamed, before, **close)

    order = rng.permutation(len(samples))
    after = measured(samples[order], clusters[order]).of(name, **given_)
    expected = before[order] if "sample" in spec.dims else before
    np.testing.assert_allclose(after, expected, **close)

    power = 1 if spec.units == "data" else 0
    after = measured(samples * 8, clusters).of(name, **given_)
    np.testing.assert_array_equal(after, before * 8**power)

    # in steps that an offset does not round away
    steps = samples / np.abs(samples[samples != 0]).min() if samples.any() else samples
    before = measured(steps, clusters).of(name, **given_)
    after = measured(steps + 1e8, clusters).of(name, **given_)
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)


TWICE = [
    *(
        ("generalized_dunn_index", {"delta": delta, "diameter": diameter})
        for delta in DELTAS
        for diameter in ("complete", "centroid")
    ),
    ("dunn_index", {}),
    ("cluster_diameter", {}),
    ("cluster_separation", {}),
    *(("cluster_distances", {"linkage": linkage}) for linkage in LINKAGES),
]


@pytest.mark.parametrize(("name", "given_"), TWICE)
@settings(max_examples=10)
@given(drawn=grids())
def test_samples_that_occur_twice_change_nothing(name: str, given_: Any, drawn: Any) -> None:
    samples, clusters = drawn
    before = measured(samples, clusters).of(name, **given_)
    after = measured(np.repeat(samples, 2, axis=0), np.repeat(clusters, 2)).of(name, **given_)
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-14 * np.abs(samples).max())


@given(grids())
def test_the_single_complete_form_is_dunns_index(drawn: tuple[Any, Any]) -> None:
    own = measured(*drawn)
    np.testing.assert_equal(own.noted("generalized_dunn_index"), own.noted("dunn_index"))
    if np.isfinite(own.of("dunn_index")):
        found = own.of("cluster_separation").min() / own.of("cluster_diameter").max()
        assert found == own.of("dunn_index")


@given(grids())
def test_averages_lie_between_extremes(drawn: tuple[Any, Any]) -> None:
    own = measured(*drawn)
    low, high, mean = (own.of("cluster_distances", linkage=linkage) for linkage in LINKAGES)
    assert (low <= mean * (1 + 1e-14)).all()
    assert (mean <= high * (1 + 1e-14)).all()
    for table in (low, mean, high):
        np.testing.assert_array_equal(table, table.T)


# --- what is refused


@pytest.mark.parametrize(
    ("name", "given_", "complaint"),
    [
        ("cluster_distances", {"linkage": "ward"}, "linkage is one of .*not 'ward'"),
        ("generalized_dunn_index", {"delta": "min"}, "delta is one of .*not 'min'"),
        ("generalized_dunn_index", {"diameter": 3}, "diameter is one of .*not 3"),
        ("silhouette_score", {"average": "both"}, "average is one of .*not 'both'"),
        ("centroid_silhouette", {"distance": "cosine"}, "no parameter 'distance'"),
        ("davies_bouldin_index", {"dispersion": "mean"}, "dispersion is one of .*not 'mean'"),
        (
            "davies_bouldin_index",
            {"dispersion": "rms", "distance": "cityblock"},
            "dispersion='rms' is Euclidean",
        ),
        ("davies_bouldin_index", {"distance": max}, "compares centroids"),
        (
            "generalized_dunn_index",
            {"delta": "average_to_centroid", "distance": "correlation"},
            "compares centroids",
        ),
    ],
)
def test_bad_forms_are_refused(name: str, given_: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make_request(name, getattr(metrics, name).spec, given_)


def test_what_was_not_asked_for_is_not_made_up() -> None:
    bare = ClusterPairs(np.array([2, 1]), np.array([3.0, 0]))
    formula = formula_of("cluster_separation")
    with pytest.raises(ValueError, match="kept no 'smallest'"):
        formula(bare)
    formula = formula_of("generalized_dunn_index")
    with pytest.raises(ValueError, match="was not asked for"):
        formula(None, bare, None)
    formula = formula_of("davies_bouldin_index")
    with pytest.raises(ValueError, match="were not asked for"):
        formula(plain.moment_stats([[0.0], [1]], [0, 1], 2), None)
    formula = formula_of("sample_silhouette")
    with pytest.raises(ValueError, match="kept no silhouettes of samples"):
        formula(Silhouettes(np.array([2, 1]), np.zeros(2)))


def test_parameters_of_distances_are_everywhere_the_same() -> None:
    for name, _ in EVERYTHING:
        known = inspect.signature(getattr(metrics, name)).parameters
        if name not in ("centroid_silhouette", "squared_silhouette"):
            assert (known["distance"].default, known["p"].default) == ("euclidean", 2), name
    # in squared and in angular distances lengths have other units
    spec = metrics.cluster_diameter.spec
    units = [spec.with_parameters({"distance": d}).units for d in ("sqeuclidean", "cosine")]
    assert units == ["data^2", "1"]


def test_extremes_may_come_from_anywhere() -> None:
    extremes = Extremes(np.array([3, 0, 1]), np.array([2.0, np.nan, 0]), 8.0)
    formula = formula_of("dunn_index")
    assert formula(extremes) == 4


def test_silhouettes_of_one_cluster_are_undefined_whatever_a_walk_finds() -> None:
    found = Silhouettes(np.array([3, 0]), np.zeros(2), np.zeros(3))
    for name in ("sample_silhouette", "cluster_silhouette"):
        assert np.isnan(formula_of(name)(found)).all()
    assert note_of(formula_of("silhouette_score")(found)) == ONE_CLUSTER

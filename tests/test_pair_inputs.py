"""What indices of pairs take: samples of any form, gaps, matrices, embeddings; what they refuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import reference_pairs as pairs_by
import scipy.sparse
import xarray as xr
import zarr
from click.testing import CliRunner
from numpy.typing import NDArray
from peaks import READ_PEAK
from sklearn import metrics as sklearn_metrics
from zarr.storage import MemoryStore

import somscale as ss
from somscale.cli import main
from somscale.errors import InputError, MemoryBudgetError, SampleValueError, SomscaleError
from somscale.metrics.passes import pair_walks
from somscale.options import set_options

Floats = NDArray[np.float64]
N, D = 2500, 5
CLUSTERS: dict[str, Any] = {
    "sil": "silhouette_score",
    "own": "sample_silhouette",
    "each": "cluster_silhouette",
    "db": "davies_bouldin_index",
    "dunn": "dunn_index",
    "haus": ("generalized_dunn_index", {"delta": "hausdorff", "diameter": "average"}),
    "means": ("generalized_dunn_index", {"delta": "average_to_centroid", "diameter": "centroid"}),
    "far": ("cluster_distances", {"linkage": "complete"}),
    "city": ("silhouette_score", {"distance": "cityblock"}),
    "simple": "centroid_silhouette",
}
PROJECTION: dict[str, Any] = {
    "c": "c_measure",
    "city": ("c_measure", {"distance": "cityblock"}),
    "kse": "kruskal_shepard_error",
    "somperf": ("kruskal_shepard_error", {"form": "somperf"}),
    "sammon": "sammon_stress",
    "stress": "metric_stress",
    "shepard": "shepard_correlation",
}


class Data:
    """Samples of more than one tile, their clusters, an embedding and a map."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.samples = rng.standard_normal((N, D)) + 7
        self.labels = rng.integers(-1, 5, N)
        self.embedding = self.samples[:, :2] + rng.random((N, 2))
        self.som = ss.codebook(self.samples[:12], ss.Grid(3, 4))

    def results(self, samples: Any, **given: Any) -> list[xr.Dataset]:
        """All indices of all three, computed."""
        labels, embedding = given.pop("labels", self.labels), given.pop("embedding", self.embedding)
        return [
            ss.evaluate(samples, labels, metrics=CLUSTERS, noise="ignore", **given).compute(),
            ss.evaluate(samples, embedding, metrics=PROJECTION, **given).compute(),
            ss.evaluate(samples, self.som, metrics=PROJECTION, **given).compute(),
        ]


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


@pytest.fixture(scope="module")
def expected(data: Data) -> list[xr.Dataset]:
    with set_options(scheduler="serial"):
        return data.results(data.samples)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    with set_options(scheduler="threads", workers=2):
        yield


def assert_same(found: Any, expected: Any, rtol: float = 0.0) -> None:
    """Equal values, of the same indices; `rtol` 0: bit by bit."""
    for one, two in zip(found, expected, strict=True):
        assert set(one.data_vars) == set(two.data_vars)
        for name in one.data_vars:
            if one[name].dtype.kind != "f":
                np.testing.assert_array_equal(one[name].values, two[name].values)
            elif rtol:
                np.testing.assert_allclose(
                    one[name].values, two[name].values, rtol=rtol, atol=rtol, err_msg=name
                )
            else:
                np.testing.assert_array_equal(one[name].values, two[name].values, err_msg=name)


# --- the same bits


def _memmap(data: Data, folder: Path) -> Any:
    np.save(folder / "x.npy", data.samples)
    return np.load(folder / "x.npy", mmap_mode="r")


FORMS: dict[str, Any] = {
    "fortran": lambda x, _: np.asfortranarray(x),
    "big-endian": lambda x, _: x.astype(">f8"),
    "strides": lambda x, _: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "path": lambda x, p: _saved(x, p),
    "zarr": lambda x, p: zarr.create_array(p / "x", data=x, chunks=(311, 2)),
    "dask": lambda x, _: da.from_array(x, chunks=((1, 2300, 199), (2, 3))),
    "dask of one chunk": lambda x, _: da.from_array(x, chunks=-1),
    "frame": lambda x, _: pd.DataFrame(x),
}


def _saved(x: Floats, folder: Path) -> str:
    np.save(folder / "x.npy", x)
    return str(folder / "x.npy")


@pytest.mark.parametrize("form", FORMS)
def test_samples_of_any_form(
    form: str, data: Data, expected: list[xr.Dataset], tmp_path: Path
) -> None:
    samples = FORMS[form](data.samples, tmp_path)
    assert_same(data.results(samples), expected)


def test_memory_maps_and_read_only_samples(
    data: Data, expected: list[xr.Dataset], tmp_path: Path
) -> None:
    samples = _memmap(data, tmp_path)
    assert not samples.flags.writeable
    assert_same(data.results(samples), expected)


def test_samples_on_several_dims(data: Data, expected: list[xr.Dataset]) -> None:
    coords = {"time": np.arange(50), "lat": np.linspace(-60, 60, 50)}
    cube = xr.DataArray(
        data.samples.reshape(50, 50, D), dims=("time", "lat", "band"), coords=coords
    )
    labels = xr.DataArray(data.labels.reshape(50, 50), dims=("time", "lat"), coords=coords)
    places = xr.DataArray(
        data.embedding.reshape(50, 50, 2), dims=("time", "lat", "component"), coords=coords
    )
    given = {"sample_dims": ("time", "lat"), "labels": labels[::-1], "embedding": places[:, ::-1]}
    for samples in (cube, cube.chunk(time=7), cube.transpose("band", "time", "lat")):
        found = data.results(samples, **given)
        own = found[0]["own"]
        assert own.dims == ("time", "lat")
        np.testing.assert_array_equal(own["lat"], coords["lat"])
        found[0]["own"] = ("sample", own.values.ravel())
        assert_same([f.drop_dims(["time", "lat"], errors="ignore") for f in found], expected)
    moved = cube.transpose("lat", "band", "time")
    one = ss.metrics.sample_silhouette(moved, labels, sample_dims=("lat", "time"), noise="ignore")
    assert one.dims == ("lat", "time")
    np.testing.assert_allclose(
        one.transpose("time", "lat").values.ravel(), expected[0]["own"].values, rtol=1e-9
    )


@pytest.mark.parametrize(
    "options",
    [
        {"scheduler": "serial"},
        {"scheduler": "threads", "workers": 1},
        {"scheduler": "threads", "workers": 3},
    ],
    ids=str,
)
def test_workers_change_no_bit(
    options: Any, data: Data, expected: list[xr.Dataset], tmp_path: Path
) -> None:
    array = zarr.create_array(tmp_path / "x", data=data.samples, chunks=(500, D))
    with set_options(**options):
        assert_same(data.results(array), expected)
        lazy = da.from_array(data.samples, chunks=(700, D))
        assert_same(data.results(lazy), expected)


def test_a_cluster_changes_no_bit(data: Data, expected: list[xr.Dataset]) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as local,
        Client(local),
        set_options(scheduler="distributed"),
    ):
        assert_same(data.results(data.samples), expected)
        assert_same(data.results(da.from_array(data.samples, chunks=(900, D))), expected)


def test_processes_change_no_bit(data: Data, expected: list[xr.Dataset]) -> None:
    with set_options(scheduler="processes", workers=2):
        found = ss.metrics.c_measure(data.samples, data.embedding)
    assert float(found) == float(expected[1]["value"].sel(metric="c"))


def test_the_lazy_ones_share_their_walk(data: Data) -> None:
    lazy = da.from_array(data.samples, chunks=(900, D))
    one = ss.metrics.silhouette_score(lazy, data.labels)
    two = ss.metrics.cluster_silhouette(lazy, data.labels)
    again = ss.metrics.silhouette_score(lazy, data.labels)
    assert one.data.name == again.data.name
    shared = {k for k in dict(one.__dask_graph__()) if "walk" in str(k)}
    assert shared & set(dict(two.__dask_graph__()))
    other = ss.metrics.silhouette_score(lazy, data.labels, distance="cityblock")
    assert one.data.name != other.data.name
    # functions are told apart by what they do
    steep = ss.metrics.silhouette_score(lazy, data.labels, distance=lambda x, y: _far(x, y) ** 2)
    plain = ss.metrics.silhouette_score(lazy, data.labels, distance=lambda x, y: _far(x, y))
    assert steep.data.name != plain.data.name


def _far(x: Any, y: Any) -> Any:
    from scipy.spatial.distance import cdist

    return cdist(x, y, "chebyshev")


def test_silhouettes_of_many_clusters_by_either_walk(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["silhouette_score", "sample_silhouette", "cluster_silhouette"]
    once = ss.evaluate(data.samples, data.labels, metrics=asked)
    text = repr(ss.plan(data.samples, data.labels, metrics=asked))
    assert "each once" in text
    assert "each twice" not in text
    monkeypatch.setattr(pair_walks, "_MOST_GROUPS", 2)
    twice = ss.evaluate(data.samples, data.labels, metrics=asked)
    assert "each twice" in repr(ss.plan(data.samples, data.labels, metrics=asked))
    assert_same([twice], [once], rtol=1e-12)


def test_a_small_budget_keeps_no_sums_of_every_sample_and_group() -> None:
    rng = np.random.default_rng(4)
    samples, labels = rng.standard_normal((9000, 3)), rng.integers(0, 60, 9000)
    expected = ss.metrics.sample_silhouette(samples, labels)

    def plan() -> Any:
        return ss.plan(samples, labels, metrics="sample_silhouette")

    once = plan().peak_memory
    with set_options(memory_budget=1 << 20), pytest.raises(MemoryBudgetError) as refused:
        plan()
    budget = refused.value.needed + (12 << 20)
    assert budget < once
    with set_options(memory_budget=budget):
        assert "each twice" in repr(plan())
        found = ss.metrics.sample_silhouette(samples, labels)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# --- gaps, masks and weights


def cut(rows: Any, features: Any, data: Data, samples: Any) -> list[xr.Dataset]:
    """Results of the data cut by hand."""
    small = Data.__new__(Data)
    small.samples, small.labels = samples[rows][:, features], data.labels[rows]
    small.embedding = data.embedding[rows]
    small.som = ss.codebook(data.samples[:12][:, features], ss.Grid(3, 4))
    return small.results(small.samples)


def assert_cut(found: list[xr.Dataset], expected: list[xr.Dataset], rows: Any) -> None:
    """The same values; samples that take no part are nan."""
    own = found[0]["own"].values
    rest = np.setdiff1d(np.arange(N), np.arange(N)[rows])
    assert np.isnan(own[rest]).all()
    first = found[0].drop_vars("own")
    first["own"] = ("sample", own[rows])
    assert_same([first, *found[1:]], expected, rtol=1e-11)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("policy", ["drop", "drop_any_sample", "drop_any_feature", "mask"])
def test_what_is_left_out_takes_no_part(policy: str, lazy: bool, data: Data) -> None:
    samples = data.samples.copy()
    rows, features = np.arange(N) != -1, np.arange(D)
    given: dict[str, Any] = {"missing": policy}
    if policy == "drop":
        samples[[3, 2200]] = np.nan
        samples[:, 2] = np.nan
        rows[[3, 2200]] = False
        features = np.delete(features, 2)
    elif policy == "drop_any_sample":
        samples[3, 1] = samples[2100] = np.nan
        rows[[3, 2100]] = False
    elif policy == "drop_any_feature":
        samples[2400, 4] = np.nan
        features = features[:4]
    else:
        rows = data.labels != 2  # a cluster of no sample is none
        given = {"mask": (rows, np.array([True, False, True, True, True]))}
        features = np.delete(features, 1)
    array: Any = da.from_array(samples, chunks=(800, 2)) if lazy else samples
    expected = cut(rows, features, data, samples)
    assert_cut(data.results(array, **given), expected, rows)


def test_a_cluster_that_loses_all_its_samples_is_nan() -> None:
    samples = np.array([[0.0], [1.0], [10.0], [11.0], [np.nan], [np.nan]])
    labels = [0, 0, 1, 1, 2, 2]
    found = ss.evaluate(
        samples, labels, metrics=["cluster_diameter", "cluster_silhouette", "cluster_separation",
                                  "cluster_mean_distance", "cluster_distances", "dunn_index",
                                  "silhouette_score"], missing="drop_any_sample",
    )  # fmt: skip
    for name in ("cluster_diameter", "cluster_silhouette", "cluster_separation"):
        np.testing.assert_array_equal(np.isnan(found[name]), [False, False, True])
    assert np.isnan(found["cluster_distances"].values[2]).all()
    assert float(found["value"].sel(metric="dunn_index")) == 9
    whole = ss.metrics.silhouette_score(samples[:4], labels[:4])
    assert float(found["value"].sel(metric="silhouette_score")) == float(whole)


def test_feature_weights_are_roots_on_the_samples(data: Data) -> None:
    weights = np.array([1.0, 2.0, 0.0, 0.5, 3.0])
    scaled = data.samples * np.sqrt(weights)
    asked = {name: what for name, what in CLUSTERS.items() if name != "city"}
    one = ss.evaluate(data.samples, data.labels, metrics=asked, feature_weights=weights)
    two = ss.evaluate(scaled, data.labels, metrics=asked)
    assert_same([one], [two], rtol=1e-10)
    c = float(ss.metrics.c_measure(data.samples, data.embedding, feature_weights=weights))
    assert c == pytest.approx(float(ss.metrics.c_measure(scaled, data.embedding)), rel=1e-12)


# --- matrices of distances


def small() -> tuple[Floats, Any, Floats]:
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2], 10)
    samples = rng.standard_normal((30, 4)) + labels[:, None]
    return samples, labels, pairs_by.distances(samples)


@pytest.mark.parametrize("form", ["numpy", "float32", "zarr", "dask", "dataarray"])
def test_matrices_give_what_samples_give(form: str) -> None:
    samples, labels, d = small()
    matrix: Any = {
        "numpy": lambda: d,
        "float32": lambda: d.astype(np.float32),
        "zarr": lambda: zarr.create_array(MemoryStore(), data=d, chunks=(7, 11)),
        "dask": lambda: da.from_array(d, chunks=(7, 11)),
        "dataarray": lambda: xr.DataArray(d, dims=("a", "b"), coords={"a": np.arange(30)}),
    }[form]()
    clusters: Any = labels
    if form == "dataarray":
        clusters = xr.DataArray(labels[::-1], dims="a", coords={"a": np.arange(30)[::-1]})
    rtol = 1e-5 if form == "float32" else 1e-11
    names = ["silhouette_score", "dunn_index", "cluster_mean_distance", "cluster_distances"]
    found = ss.evaluate(matrix, clusters, metrics=names, distance="precomputed")
    assert dask.is_dask_collection(found) == (form == "dask")
    assert_same([found.compute()], [ss.evaluate(samples, labels, metrics=names)], rtol=rtol)
    expected = sklearn_metrics.silhouette_score(d, labels, metric="precomputed")
    score = ss.metrics.silhouette_score(matrix, clusters, distance="precomputed").compute()
    assert float(score) == pytest.approx(expected, rel=rtol)
    own = ss.metrics.sample_silhouette(matrix, clusters, distance="precomputed")
    assert own.dims == (("a",) if form == "dataarray" else ("sample",))
    forms = [{"delta": "hausdorff"}, {"delta": "average", "diameter": "average"}]
    for given in forms:
        one = ss.metrics.generalized_dunn_index(matrix, clusters, distance="precomputed", **given)
        two = ss.metrics.generalized_dunn_index(samples, labels, **given)
        assert float(one.compute()) == pytest.approx(float(two), rel=rtol)
    places = samples[:, :2]
    for name in ("c_measure", "sammon_stress", "shepard_correlation", "kruskal_shepard_error"):
        index = getattr(ss.metrics, name)
        one = float(index(matrix, places, distance="precomputed").compute())
        assert one == pytest.approx(float(index(samples, places)), rel=10 * rtol), name


def test_all_of_a_matrix_leaves_out_what_needs_samples() -> None:
    _, labels, d = small()
    found = ss.evaluate(d, labels, distance="precomputed")
    names = set(found["metric"].values) | set(found.data_vars)
    assert {"silhouette_score", "dunn_index", "cluster_distances"} <= names
    assert not {"davies_bouldin_index", "squared_silhouette", "xie_beni_index"} & names


@pytest.mark.parametrize("dims", [("x", "y"), ("lat", "lon"), ("step", "time"), ("feature", "to")])
def test_the_rows_of_a_matrix_are_its_samples_whatever_its_dims(dims: Any) -> None:
    samples, labels, d = small()
    own = ss.metrics.sample_silhouette(xr.DataArray(d, dims=dims), labels, distance="precomputed")
    assert own.dims == dims[:1]
    np.testing.assert_allclose(own, ss.metrics.sample_silhouette(samples, labels), atol=1e-12)


def test_a_matrix_by_its_path(tmp_path: Path) -> None:
    samples, labels, d = small()
    np.save(tmp_path / "d.npy", d)
    np.save(tmp_path / "labels.npy", labels)
    zarr.save_array(str(tmp_path / "d.zarr"), d)
    xr.Dataset({"d": (("a", "b"), d)}).to_zarr(tmp_path / "group.zarr", consolidated=False)
    expected = float(ss.metrics.silhouette_score(samples, labels))
    for name in ("d.npy", "d.zarr"):
        path = tmp_path / name
        found = ss.metrics.silhouette_score(path, labels, distance="precomputed")
        assert float(found) == pytest.approx(expected, rel=1e-11)
        arguments = ["evaluate", str(path), "--clusters", str(tmp_path / "labels.npy"), "--json"]
        result = CliRunner().invoke(main, [*arguments, "--distance", "precomputed"])
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        place = told["coordinates"]["metric"].index("silhouette_score")
        assert told["variables"]["value"]["values"][place] == float(found)
        assert "cluster_silhouette" in told["variables"]
        assert "sample_silhouette" not in told["variables"]  # as long as the samples
    for samples_at in (tmp_path / "group.zarr", [tmp_path / "d.npy", tmp_path / "d.zarr"]):
        with pytest.raises(InputError, match="takes the path of one array"):
            ss.metrics.silhouette_score(samples_at, labels, distance="precomputed")


def test_a_mask_of_a_matrix_is_of_its_samples() -> None:
    samples, labels, d = small()
    keep = np.arange(30) % 4 != 0
    for mask in (keep, keep.tolist(), xr.DataArray(keep, dims="sample")):
        found = ss.metrics.silhouette_score(d, labels, distance="precomputed", mask=mask)
        expected = ss.metrics.silhouette_score(samples[keep], labels[keep])
        assert float(found) == pytest.approx(float(expected), rel=1e-12)
    for bad in ((keep, keep), xr.DataArray(keep, dims="feature")):
        with pytest.raises(InputError, match="one boolean array, on 'sample'"):
            ss.metrics.silhouette_score(d, labels, distance="precomputed", mask=bad)


def _changed(d: Floats, place: tuple[int, int], value: float) -> Floats:
    d = d.copy()
    d[place] = value
    return d


BAD_MATRICES: list[tuple[Any, str]] = [
    (lambda d: d[:, :20], r"not shape \(30, 20\)"),
    (lambda d: d[None], r"not shape \(1, 30, 30\)"),
    (lambda d: scipy.sparse.csr_array(d * (d < 1)), "k-nearest-neighbour graph"),
    (lambda d: d.tolist(), "not a list"),
    (lambda d: pd.DataFrame(d), "not a DataFrame"),
    (lambda d: "distances.zarr", "there is no file or store"),
    (lambda d: d + 0j, "holds real numbers, not complex128"),
    (lambda d: d > 1, "holds real numbers, not bool"),
    (lambda d: _changed(d, (2, 5), np.nan), r"holds nan at \[2, 5\]"),
    (lambda d: _changed(d, (2, 5), -1), r"holds -1\.0 at \[2, 5\]: no distance is negative"),
    (lambda d: _changed(d, (2, 5), 9), r"not symmetric: 9\.0 at \[2, 5\]"),
    (lambda d: _changed(d, (5, 5), 9), r"9\.0 at \[5, 5\], but a sample is at distance 0"),
]


@pytest.mark.parametrize(("made", "text"), BAD_MATRICES, ids=[text for _, text in BAD_MATRICES])
def test_what_is_no_matrix_is_refused(made: Any, text: str) -> None:
    _, labels, d = small()
    with pytest.raises(InputError, match=text):
        ss.metrics.silhouette_score(made(d), labels, distance="precomputed")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"feature_weights": np.ones(30)}, "feature_weights= is for samples"),
        ({"sample_weights": np.ones(30)}, "sample_weights= is for samples"),
        ({"missing": "drop"}, "missing= is for samples"),
        ({"sample_dims": "sample"}, "sample_dims= is for samples"),
    ],
)
def test_options_of_samples_are_refused_with_a_matrix(given: Any, text: str) -> None:
    _, labels, d = small()
    with pytest.raises(InputError, match=text):
        ss.metrics.silhouette_score(d, labels, distance="precomputed", **given)


def test_a_matrix_where_it_has_no_meaning_is_refused() -> None:
    samples, labels, d = small()
    som = ss.codebook(samples[:6], ss.Grid(2, 3))
    with pytest.raises(InputError, match="a map is judged on samples, not on their distances"):
        ss.metrics.c_measure(d, som, distance="precomputed")
    with pytest.raises(InputError, match="it needs samples, for their mean"):
        ss.evaluate(d, labels, metrics="squared_silhouette", distance="precomputed")
    with pytest.raises(InputError, match="compares centroids"):
        ss.metrics.davies_bouldin_index(d, labels, distance="precomputed")
    variant: Any = {"a": ("silhouette_score", {"distance": "precomputed"})}
    with pytest.raises(InputError, match="give it as an argument of its own"):
        ss.evaluate(d, labels, metrics=variant)
    variant["a"][1]["distance"] = "cosine"
    with pytest.raises(InputError, match="give it as an argument of its own"):
        ss.evaluate(d, labels, metrics=variant, distance="precomputed")


# --- distances that are refused


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"distance": "euclidian"}, "unknown distance 'euclidian'; did you mean 'euclidean'"),
        ({"distance": "manhatan"}, "did you mean 'manhattan'"),
        ({"distance": 5}, "unknown distance 5"),
        ({"distance": None}, "unknown distance None"),
        ({"distance": "minkowski", "p": 0.5}, "p must be a number of at least 1, not 0.5"),
        ({"distance": "minkowski", "p": np.nan}, "p must be a number of at least 1, not nan"),
        ({"distance": "minkowski", "p": "2"}, "p must be a number of at least 1, not '2'"),
        ({"p": np.array([1, 2])}, "p is one number, not array"),
        ({"p": 3}, "p is the exponent of distance='minkowski'; 'euclidean' takes none"),
        ({"distance": "l1", "feature_weights": np.ones(4)}, "feature_weights go with distance="),
        ({"sample_weights": np.ones(30)}, "sample_weights= has no meaning for pairs"),
    ],
)
@pytest.mark.parametrize("index", ["silhouette_score", "dunn_index", "c_measure"])
def test_distances_that_are_refused(given: Any, text: str, index: str) -> None:
    samples, labels, _ = small()
    other = samples[:, :2] if index == "c_measure" else labels
    with pytest.raises(InputError, match=text):
        getattr(ss.metrics, index)(samples, other, **given)
    with pytest.raises(InputError, match=text):
        ss.evaluate(samples, other, metrics=index, **given)


def test_a_refused_parameter_is_named_with_its_index() -> None:
    samples, _, _ = small()
    with pytest.raises(InputError, match="kruskal_shepard_error: form is one of"):
        ss.evaluate(samples, samples[:, :2], form="raw")


@pytest.mark.parametrize(("form", "lost"), [("survey", 2.0**-300), ("somperf", 2.0**-500)])
def test_distances_whose_powers_vanish_are_no_error(form: str, lost: float) -> None:
    samples, _, _ = small()
    places = samples[:, :2]
    expected = float(ss.metrics.kruskal_shepard_error(samples, places, form=form))
    index = ss.metrics.kruskal_shepard_error
    assert float(index(samples * 2.0**-200, places, form=form)) == pytest.approx(expected)
    found = index(samples * lost, places, form=form)
    assert np.isnan(float(found))
    assert "underflow" in found.attrs["note"]


def test_all_with_an_unknown_distance_names_the_near_one() -> None:
    samples, labels, _ = small()
    with pytest.raises(InputError, match="did you mean 'manhattan'"):
        ss.evaluate(samples, labels, distance="manhatan")


def test_all_leaves_out_centroids_where_a_distance_has_none() -> None:
    samples, labels, _ = small()
    for distance in ("cosine", _far):
        found = ss.evaluate(samples, labels, distance=distance)
        assert "silhouette_score" in found["metric"]
        assert "davies_bouldin_index" not in found["metric"]
        with pytest.raises(InputError, match="compares centroids"):
            ss.evaluate(samples, labels, metrics="davies_bouldin_index", distance=distance)
    assert "davies_bouldin_index" in ss.evaluate(samples, labels, distance="l1")["metric"]


@pytest.mark.parametrize("lazy", [False, True])
def test_vectors_without_a_direction_are_refused(lazy: bool) -> None:
    samples, labels, _ = small()
    samples[4] = 0
    array: Any = da.from_array(samples, chunks=(7, 3)) if lazy else samples
    with pytest.raises(SampleValueError, match="sample 4 holds only zeros"):
        ss.metrics.silhouette_score(array, labels, distance="cosine").compute()
    with pytest.raises(SampleValueError, match="sample 4 has the same value in every feature"):
        ss.metrics.c_measure(array, samples[:, :2], distance="correlation").compute()
    keep = np.arange(30) != 4
    found = ss.metrics.silhouette_score(array, labels, distance="cosine", mask=keep)
    expected = ss.metrics.silhouette_score(samples[keep], labels[keep], distance="cosine")
    assert float(found) == pytest.approx(float(expected), rel=1e-12)


def test_sample_weights_leave_pairs_out() -> None:
    samples, labels, _ = small()
    weights = np.ones(30)
    found = ss.evaluate(samples, labels, sample_weights=weights)
    assert "silhouette_score" not in found["metric"]
    assert "calinski_harabasz_score" in found["metric"]
    linear = ss.metrics.davies_bouldin_index(
        samples, labels, dispersion="rms", sample_weights=weights
    )
    expected = ss.metrics.davies_bouldin_index(samples, labels, dispersion="rms")
    assert float(linear) == pytest.approx(float(expected))
    som = ss.codebook(samples[:6], ss.Grid(2, 3))
    assert "c_measure" not in ss.evaluate(samples, som, sample_weights=weights)["metric"]
    with pytest.raises(InputError, match=r"no index is left.* no meaning for pairs"):
        ss.evaluate(samples, samples[:, :2], sample_weights=weights)


# --- embeddings


def test_embeddings_are_put_in_the_samples_order() -> None:
    samples, _, _ = small()
    order = np.random.default_rng(1).permutation(30)
    named = xr.DataArray(samples, dims=("s", "f"), coords={"s": np.arange(30)})
    places = samples[:, :2] ** 3
    shuffled = xr.DataArray(places[order], dims=("s", "c"), coords={"s": order})
    expected = float(ss.metrics.sammon_stress(samples, places))
    for one in (shuffled, shuffled.T, xr.DataArray(places, dims=("obs", "c"))):
        assert float(ss.metrics.sammon_stress(named, one)) == expected
    for other in (places.tolist(), pd.DataFrame(places), da.from_array(places, chunks=7)):
        assert float(ss.metrics.sammon_stress(samples, other)) == expected
    single = places.astype(np.float32)
    found = float(ss.metrics.sammon_stress(samples, single))
    assert found == float(ss.metrics.sammon_stress(samples, single.astype(np.float64)))
    cube = named.values.reshape(5, 6, 4)
    given = {"sample_dims": ("a", "b")}
    on_dims = xr.DataArray(cube, dims=("a", "b", "f"))
    for one in (places.reshape(5, 6, 2), places):
        assert float(ss.metrics.sammon_stress(on_dims, one, **given)) == expected


def test_several_embeddings_share_one_walk() -> None:
    samples, _, _ = small()
    candidates = {"plane": samples[:, :2], "same": samples, "line": samples[:, :1]}
    found = ss.evaluate(samples, candidates, metrics=PROJECTION)
    assert found["value"].dims == ("candidate", "metric")
    for name, places in candidates.items():
        own = ss.evaluate(samples, places, metrics=PROJECTION)
        np.testing.assert_array_equal(found["value"].sel(candidate=name), own["value"])
    planned = ss.plan(samples, candidates, metrics=PROJECTION)
    assert sum("pairs " in line for line in repr(planned).splitlines() if "each" in line) == 1
    stress = float(found["value"].sel(candidate="same", metric="stress"))
    assert stress == pytest.approx(0, abs=1e-7)


BAD_EMBEDDINGS: list[tuple[Any, str]] = [
    (lambda e: _changed(e, (3, 1), np.nan), "embedding: sample 3, component 1 is nan"),
    (lambda e: _changed(e, (3, 1), np.inf), "embedding: sample 3, component 1 is inf"),
    (lambda e: np.ma.masked_array(e, e == e[7, 0]), "sample 7, component 0 is nan"),
    (lambda e: e[:20], r"shape \(20, 2\), and there are 30 samples"),
    (lambda e: e.T, "it looks transposed"),
    (lambda e: xr.DataArray(e.T, dims=("c", "s")), "it looks transposed"),
    (lambda e: e[:, 0], r"an embedding of one component has shape \(N, 1\)"),
    (lambda e: (e[:, 0] > 0).astype(int), r"an embedding of one component has shape \(N, 1\)"),
    (lambda e: e[:, :0], r"shape \(30, 0\)"),
    (lambda e: e.astype(object), "of type object, not real numbers"),
    (lambda e: e + 0j, "of type complex128, not real numbers"),
    (lambda e: scipy.sparse.csr_array(e), "the embedding is sparse"),
    (lambda e: e[0, 0], r"of shape \(\)"),
]


@pytest.mark.parametrize(("made", "text"), BAD_EMBEDDINGS)
def test_what_is_no_embedding_is_refused(made: Any, text: str) -> None:
    samples, _, _ = small()
    with pytest.raises(InputError, match=text):
        ss.metrics.c_measure(samples, made(samples[:, :2]))


def test_candidates_of_another_kind_are_refused() -> None:
    samples, labels, _ = small()
    places, som = samples[:, :2], ss.codebook(samples[:6], ss.Grid(2, 3))
    for index, other, text in (
        ("silhouette_score", places, "judges a clustering, and the second argument is an embed"),
        ("silhouette_score", som, "judges a clustering, and the second argument is a map"),
        ("c_measure", labels, "judges a map or an embedding"),
    ):
        with pytest.raises(InputError, match=text):
            getattr(ss.metrics, index)(samples, other)
    with pytest.raises(InputError, match="labels and 30 samples; every sample needs one"):
        ss.evaluate(samples, places, labels=labels[1:])
    with pytest.raises(InputError, match="candidates must be of one kind"):
        ss.evaluate(samples, {"a": places, "b": labels})
    for index in ("c_measure", "silhouette_score"):
        with pytest.raises(InputError, match="give them first"):
            getattr(ss.metrics, index)(None, places)


@pytest.mark.parametrize(
    "samples",
    [np.array(3.0), np.ones((0, 4)), np.ones((30, 0)), np.ones((30, 4), object), "nowhere.npy"],
    ids=str,
)
def test_odd_samples_are_refused_in_a_sentence(samples: Any) -> None:
    _, labels, _ = small()
    for index, other in (("silhouette_score", labels), ("c_measure", np.ones((30, 2)))):
        with pytest.raises((SomscaleError, FileNotFoundError)):
            getattr(ss.metrics, index)(samples, other)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", ">f4", "longdouble"]
)
def test_numbers_of_any_type(dtype: str) -> None:
    samples, labels, _ = small()
    stored = (np.maximum(samples, 0) * 9).astype(dtype)
    plain = stored.astype(np.float64)
    for name, other in (
        ("silhouette_score", labels), ("dunn_index", labels), ("c_measure", samples[:, :2]),
    ):  # fmt: skip
        index = getattr(ss.metrics, name)
        assert float(index(stored, other)) == pytest.approx(float(index(plain, other)), rel=1e-12)


# --- plans


def test_plans_say_what_is_walked(data: Data) -> None:
    both = ["silhouette_score", "c_measure"]
    pairs = N * (N - 1) / 2
    text = repr(ss.plan(data.samples, data.som, metrics=["c_measure", "kruskal_shepard_error"]))
    assert f"{pairs:.3g}, each once" in text
    assert "largest distance of the samples" in text
    assert f"at most N²/2 = {N * N / 2:.1e}" in text
    assert text.count("each once") >= 1
    text = repr(ss.plan(data.samples, data.labels, metrics=both[:1]))
    assert "of up to 2,048 × 2,048" in text or "of up to 2,500 × 2,500" in text
    text = repr(ss.plan(data.samples, np.arange(N) % 100, metrics=both[:1]))
    assert f"{2 * pairs:.3g}, each twice" in text
    text = repr(ss.plan(data.samples, data.som, metrics=["kruskal_shepard_error"]))
    assert "each once" not in text  # linear: fourth moments and a search


def test_all_walks_only_over_few_samples() -> None:
    many = np.broadcast_to(np.float32(0), (100_001, 2))
    clusters = np.arange(100_001) % 3
    names = ss.plan(many, clusters).indices
    assert not {"silhouette_score", "dunn_index", "davies_bouldin_index"} & set(names)
    assert {"centroid_silhouette", "xie_beni_index"} <= set(names)
    assert "dunn_index" in ss.plan(many, clusters, metrics=["dunn_index"]).indices
    assert "dunn_index" in ss.plan(many[1:], clusters[1:]).indices
    samples = np.random.default_rng(0).random((100_001, 2))
    found = ss.evaluate(samples, clusters, metrics="all", cost="linear")
    left_out = found.attrs["indices_left_out"]
    for name in ("silhouette_score", "dunn_index", "davies_bouldin_index"):
        assert name in left_out


def test_linear_costs_keep_the_linear_forms() -> None:
    samples, labels, _ = small()
    asked = {
        "walked": "davies_bouldin_index",
        "linear": ("davies_bouldin_index", {"dispersion": "rms"}),
        "centroids": ("generalized_dunn_index", {"delta": "centroid", "diameter": "centroid"}),
        "c2": "silhouette_score",
    }
    found = ss.evaluate(samples, labels, metrics=asked, cost="linear")
    assert found["metric"].values.tolist() == ["linear", "centroids"]
    shared = ss.evaluate(samples, labels, cost="linear", dispersion="rms")
    assert "davies_bouldin_index" in shared["metric"]
    assert "silhouette_score" not in shared["metric"]


class CountingStore(MemoryStore):
    """Counts the chunks that are read."""

    reads = 0

    async def get(self, key: str, *args: Any, **given: Any) -> Any:
        CountingStore.reads += "/c/" in f"/{key}"
        return await super().get(key, *args, **given)


@pytest.mark.parametrize("what", ["labels", "som", "embedding"])
def test_a_budget_too_small_is_refused_before_anything_is_read(what: str, data: Data) -> None:
    array = zarr.create_array(CountingStore(), data=data.samples, chunks=(500, D))
    metrics = CLUSTERS if what == "labels" else PROJECTION
    expected = ss.evaluate(array, getattr(data, what), metrics=metrics)
    CountingStore.reads = 0
    with set_options(memory_budget="9MiB"):
        with pytest.raises(MemoryBudgetError, match="needs at least") as planned:
            ss.plan(array, getattr(data, what), metrics=metrics)
        with pytest.raises(MemoryBudgetError, match="needs at least") as refused:
            ss.evaluate(array, getattr(data, what), metrics=metrics)
    assert CountingStore.reads == 0
    assert abs(refused.value.needed - planned.value.needed) < 8 << 20
    named = int(re.findall(r"memory_budget='(\d+)MiB'", str(refused.value))[0])
    # what the process holds grows a little while it computes
    with set_options(memory_budget=f"{named + 12}MiB"):
        assert ss.plan(array, getattr(data, what), metrics=metrics).peak_memory <= named + 12 << 20
        found = ss.evaluate(array, getattr(data, what), metrics=metrics)
    assert_same([found], [expected], rtol=1e-12)


# --- results


def test_results_are_complete_and_can_be_written(data: Data, tmp_path: Path) -> None:
    rows = slice(0, 60)
    samples = xr.DataArray(
        data.samples[rows], dims=("day", "band"), coords={"day": np.arange(60)},
        attrs={"units": "K"},
    )  # fmt: skip
    labels = np.array(list("abcdef"))[data.labels[rows]]
    for distance in ("euclidean", "minkowski", "sqeuclidean", _far):
        own = {"distance": distance, "p": 3} if distance == "minkowski" else {"distance": distance}
        asked = {
            "own": ("sample_silhouette", own),
            "table": ("cluster_distances", own),
            "wide": ("cluster_diameter", own),
            "score": ("silhouette_score", own),
        }
        found = ss.evaluate(samples, labels, metrics=asked)
        assert found["own"].dims == ("day",)
        assert found["table"].dims == ("cluster", "other_cluster")
        assert found["cluster"].values.tolist() == sorted(set(labels))
        name = "_far" if callable(distance) else distance
        for label in ("own", "table", "wide"):
            attrs = found[label].attrs
            assert {"long_name", "units", "direction", "range", "source"} <= set(attrs)
            assert attrs["distance"] == name
            assert ("p" in attrs) == (distance == "minkowski")
        if not callable(distance):
            assert found["wide"].attrs["units"] == ("K^2" if distance == "sqeuclidean" else "K")
        assert found["own"].attrs["units"] == "1"
        assert json.loads(found.attrs["parameters"])["score"]["distance"] == name
        folder = tmp_path / name
        found.to_zarr(folder.with_suffix(".zarr"), consolidated=False)
        found.to_netcdf(folder.with_suffix(".nc"))
        for again in (
            xr.open_zarr(folder.with_suffix(".zarr"), consolidated=False),
            xr.open_dataset(folder.with_suffix(".nc")),
        ):
            for variable in ("own", "table", "wide", "value"):
                np.testing.assert_array_equal(again[variable], found[variable])
                assert again[variable].attrs == found[variable].attrs
            assert again.attrs == found.attrs
            again.close()


# --- memory

MANY_GROUPS = """
import sys
import numpy as np
import somscale as ss
rng = np.random.default_rng(0)
small, labels = rng.standard_normal((300, 5)), np.arange(300) % 150
ss.set_options(scheduler="threads", workers=2)
names = {names}
ss.evaluate(small, labels, metrics=names)
samples, labels = rng.standard_normal((20_000, 5)), rng.integers(0, 10_000, 20_000)
before = read_peak()
found = ss.evaluate(samples, labels, metrics=names)
print((read_peak() - before) >> 20)
assert np.isfinite(found["value"]).all()
"""

FROM_ZARR = """
import sys
import numpy as np
import somscale as ss
import zarr
small = np.random.default_rng(1).standard_normal((300, 20))
ss.set_options(scheduler="threads", workers=2, memory_budget="700MiB")
ss.evaluate(small, small[:, :2], metrics="c_measure")
array = zarr.open_array(sys.argv[1], mode="r")
places = np.random.default_rng(1).standard_normal((array.shape[0], 2))
before = read_peak()
found = ss.evaluate(array, places, metrics="c_measure")
print((read_peak() - before) >> 20)
"""


def extra_memory(script: str, *arguments: str) -> int:
    """MiB that a script of its own process says it took."""
    run = subprocess.run(
        [sys.executable, "-c", READ_PEAK + script, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return int(run.stdout.split()[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits there")
def test_ten_thousand_clusters_take_little_memory() -> None:
    names = ["silhouette_score", "davies_bouldin_index"]
    assert extra_memory(MANY_GROUPS.format(names=names)) < 300


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits there")
def test_a_walk_from_zarr_is_flat(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "x", shape=(30_000, 20), chunks=(4096, 20), dtype="f8")
    array[:] = np.random.default_rng(0).standard_normal((30_000, 20))
    # the distances would hold 6.7 GiB
    assert extra_memory(FROM_ZARR, str(tmp_path / "x")) < 120

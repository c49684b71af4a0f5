"""Indices of ranks as a user meets them: the public functions against plain definitions."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import dask
import dask.array as da
import numpy as np
import pytest
import reference_ranks as plain
import xarray as xr
import zarr
from numpy.typing import NDArray
from peaks import READ_PEAK
from scipy.spatial.distance import cdist
from scipy.stats import t as student
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

import somscale as ss
from somscale import metrics as m
from somscale.errors import InputError, MemoryBudgetError, SampleValueError
from somscale.metrics.spec import all_specs

Array = NDArray[Any]
RANKED: Final = {spec.name: spec for spec in all_specs() if spec.cost == "ranks"}
CURVES: Final = [
    *("q_nx", "lcmc", "r_nx", "u_n", "u_x", "b_nx", "trustworthiness", "continuity"),
    *("mrre_intrusion", "mrre_extrusion"),
]
SCALARS: Final = ["k_max", "q_local", "q_global", "auc_r_nx", "mean_r_nx"]
ASKED: Final[dict[str, Any]] = {
    "metrics": "ranks",
    "k": [1, 7, 50],
    "kappa_s": [5, 20],
    "kappa_t": [0, 6],
}


def column(*values: float) -> Array:
    return np.array(values, np.float64)[:, None]


def made(n: int, d: int = 5, *, twice: float = 0.0, seed: int = 0) -> tuple[Array, Array]:
    """Samples, some of them twice, and an embedding of two components."""
    rng = np.random.default_rng(seed + n)
    x = rng.standard_normal((n, d))
    places = x[:, :2] + 0.5 * rng.standard_normal((n, 2))
    copies = int(twice * n)
    x[rng.permutation(n)[:copies]] = x[rng.integers(0, n, copies)]
    return x, places


def stable_ranks(x: Array, rows: Any = None) -> Array:
    """Ranks around some rows: differences summed in order, ties by index, (rows, N)."""
    rows = np.arange(len(x)) if rows is None else rows
    found = np.zeros((len(rows), len(x)), np.int64)
    for place, i in enumerate(rows):
        squares = np.zeros(len(x))
        for f in range(x.shape[1]):
            squares += (x[:, f] - x[i, f]) ** 2
        order = np.argsort(squares, kind="stable")
        found[place, order[order != i]] = np.arange(1, len(x))
    return found


def fits(found: xr.Dataset, matrix: Array, k: Any, names: Any = CURVES) -> None:
    """Curves are what the plain definitions make of a co-ranking matrix."""
    for name in names:
        expected = [getattr(plain, name)(matrix, int(own)) for own in k]
        np.testing.assert_allclose(found[name].sel(k=k), expected, rtol=1e-12, atol=1e-12)


def differing(one: xr.Dataset, other: xr.Dataset) -> list[str]:
    """Variables that are not equal bit for bit, whatever dims samples have."""
    one, other = dask.compute(one, other)
    assert set(one.data_vars) == set(other.data_vars)
    return [
        str(name)
        for name in one.data_vars
        if not np.array_equal(
            np.ravel(one[name]), np.ravel(other[name]), equal_nan=one[name].dtype.kind == "f"
        )
    ]


@pytest.fixture(scope="module")
def digits() -> tuple[Array, Array]:
    samples = load_digits().data
    return samples, PCA(n_components=2, svd_solver="full").fit_transform(samples)


# --- golden values


def test_golden_values(digits: tuple[Array, Array]) -> None:
    q = ss.evaluate(*digits, metrics="ranks", k="all", kappa_s=[10, 50, 100], kappa_t=[5, 20, 1796])
    golden = {
        ("q_nx", 1): 0.02448525319977741,
        ("q_nx", 5): 0.07824151363383416,
        ("q_nx", 10): 0.11786310517529215,
        ("q_nx", 100): 0.3990372843628269,
        ("r_nx", 1): 0.023941790945292602,
        ("r_nx", 100): 0.3636031619785597,
        ("b_nx", 1): 0.0,
        ("b_nx", 5): -0.008681135225375626,
        ("b_nx", 100): -0.05162493043962159,
        ("trustworthiness", 5): 0.8304283923923886,
        ("trustworthiness", 898): 0.7585228362897839,
        ("trustworthiness", 899): 0.7581579489790344,
        ("continuity", 10): 0.9505175542047736,
        ("continuity", 898): 0.8196438703011496,
        ("continuity", 899): 0.8193594411725628,
        ("mrre_intrusion", 10): 0.17053632684302694,
        ("mrre_extrusion", 10): 0.043933571947696155,
    }
    for (name, k), value in golden.items():
        assert float(q[name].sel(k=k)) == pytest.approx(value, rel=1e-12), name
    values = [174, 0.34656630910587666, 0.7459602700473229, 0.23337979698333572, 0.3936936280074587]
    np.testing.assert_allclose(q["value"].sel(metric=SCALARS), values, rtol=1e-12)
    surface = {(10, 5): 0.11613800779076239, (50, 20): 0.22980523094045632}
    for (near, far), value in {**surface, (100, 1796): 1.600962715637173}.items():
        own = float(q["rank_quality"].sel(kappa_s=near, kappa_t=far))
        assert own == pytest.approx(value, rel=1e-13)
    region = m.rank_quality(*digits, kappa_s=10, kappa_t=5, norm="region")
    assert float(region) == pytest.approx(0.06170539885281769, rel=1e-13)
    expected = m.q_nx(*digits, k=[1, 5, 10, 100], ties="expected")
    values = [0.02448525319977741, 0.07813021702838063, 0.11782600630680763, 0.39904887775922837]
    np.testing.assert_allclose(expected, values, rtol=1e-12)
    matrix = m.coranking_matrix(*digits).values
    assert hashlib.sha256(matrix.astype("<i8").tobytes()).hexdigest().startswith("b571006af70c96f0")
    assert {*matrix.sum(axis=0), *matrix.sum(axis=1)} == {1797}


def test_without_ties_as_scikit_learn(digits: tuple[Array, Array]) -> None:
    samples, places = digits
    samples = samples + 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    q = ss.evaluate(samples, places, metrics=["trustworthiness", "continuity"], k=[5])
    for name, pair in (("trustworthiness", (samples, places)), ("continuity", (places, samples))):
        assert q[name].item() == pytest.approx(sklearn_trustworthiness(*pair, n_neighbors=5), 1e-12)


def test_somperf(digits_map: tuple[Array, Array]) -> None:
    samples, weights = digits_map
    som = ss.codebook(weights, ss.Grid(8, 8))
    names = ["neighborhood_preservation", "trustworthiness"]
    cases: list[tuple[dict[str, Any], list[float]]] = [
        ({"convention": "somperf"}, [0.6773851678854147, 0.9503044893596225]),
        ({"space": "codebook", "ties": "weighted"}, [0.6773851678854147, 0.9503044893596225]),
        ({"ties": "weighted"}, [-0.068498, 0.948070]),
    ]
    for own, values in cases:
        q = ss.evaluate(samples, som, metrics=names, k=5, **own)
        tolerance = 1e-6 if values[0] < 0 else 1e-12
        np.testing.assert_allclose([q[name].item() for name in names], values, atol=tolerance)


# --- pitfalls


def test_duplicates() -> None:
    pair = column(0, 0, 1, 2), column(0, 3, 1, 2)
    assert m.coranking_matrix(*pair).values.tolist() == [[1, 1, 2], [1, 1, 2], [2, 2, 0]]
    assert m.q_nx(*pair, k="all").values.tolist() == [0.25, 0.5, 1]
    assert m.trustworthiness(*pair, k=1) == m.continuity(*pair, k=1) == 0.375


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 0, 4, 2, 1]])
def test_a_collapsed_output_in_any_order(order: list[int]) -> None:
    pair = column(*order), np.zeros((5, 1))
    names = ["q_nx", "r_nx", "trustworthiness"]
    q = ss.evaluate(*pair, metrics=names, k=[1, 2, 3], ties="expected")
    np.testing.assert_allclose(q["q_nx"], [0.25, 0.5, 0.75], rtol=1e-14)
    np.testing.assert_allclose(q["r_nx"], 0, atol=1e-14)
    assert q["trustworthiness"].sel(k=1).item() == pytest.approx(0.5, rel=1e-14)


def test_kept_and_reversed_orders() -> None:
    x = column(0, 1, 3, 6, 10)
    q = ss.evaluate(x, x, metrics="ranks", k="all")
    assert q["lcmc"].values.tolist() == [0.75, 0.5, 0.25, 0]
    assert q["q_nx"].values.tolist() == q["trustworthiness"].values.tolist() == [1] * 4
    assert m.r_nx(x, x, k="all")["k"].values.tolist() == [1, 2, 3]
    assert float(m.rank_quality(x, x, kappa_s=1, kappa_t=0)) == 1
    turned = column(0, 10, 6, 3, 1)
    for near, far, value in ((1, 4, 2), (2, 4, 1.6), (2, 1, 0.8)):
        assert float(m.rank_quality(x, turned, kappa_s=near, kappa_t=far)) == value


def test_mrre_may_exceed_one() -> None:
    places = column(0, 1, 3, 7)
    r = plain.ranks(plain.square_distances(places))
    table = np.array([0, 3, 1, 2])[r]  # the nearest are the farthest, the second the nearest
    found = m.mrre_intrusion(table, places, k=2, distance="precomputed")
    assert float(found) == 1.25
    assert np.isnan(RANKED["mrre_intrusion"].upper)


def test_no_norm_trick() -> None:
    near = np.array([(1000, 1000), (1000.1, 1000), (1000.3, 1000), (1000.6, 1000)], np.float32)
    ranks = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [2, 1, 0, 3], [3, 2, 1, 0]])
    other = column(0, 4, 1, 9)
    expected = plain.corank(ranks, plain.ranks(plain.square_distances(other)))
    assert m.coranking_matrix(near, other).values.tolist() == expected.tolist()
    v = 1e3 * np.ones(64)
    twins = np.stack([v + 1e-6, v, v, 0 * v])
    assert m.coranking_matrix(twins, column(9, 0.1, 0.0, -30))[0, 0] >= 2  # rows 1 and 2


@pytest.mark.parametrize(
    "scaled",
    [
        lambda z: np.round(z * 3),
        lambda z: np.round(z * 100) + 1e8,
        lambda z: z * 1e-9,
        lambda z: z * 1e150,
        lambda z: np.round(z * 3).astype(np.int8),
    ],
)
def test_exact_at_any_scale(scaled: Callable[[Array], Array]) -> None:
    x, places = made(200, 3, twice=0.3)
    x = scaled(x)
    matrix = plain.corank(*(plain.ranks(plain.square_distances(s)) for s in (x, places)))
    np.testing.assert_array_equal(m.coranking_matrix(x, places), matrix)
    np.testing.assert_array_equal(m.coranking_matrix(places, x), matrix.T)


def test_swapped_spaces() -> None:
    x, places = made(150)
    one, other = (ss.evaluate(*own, **ASKED) for own in ((x, places), (places, x)))
    for name, mirrored in (
        ("trustworthiness", "continuity"),
        ("u_n", "u_x"),
        ("mrre_intrusion", "mrre_extrusion"),
        *((own, own) for own in ("q_nx", "r_nx", "rank_quality", "neighborhood_jaccard")),
    ):
        np.testing.assert_array_equal(one[name], other[mirrored])


# --- sizes


@pytest.mark.parametrize("n", [255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049])
def test_random_embeddings_around_the_tiles(n: int) -> None:
    x, _ = made(n, 6, twice=0.3)
    places = np.random.default_rng(n).standard_normal((n, 2))
    matrix = plain.corank(stable_ranks(x), stable_ranks(places))
    k = [20] if n > 1000 else [1, 20, n // 2 - 1]
    q = ss.evaluate(x, places, metrics=CURVES, k=k)
    fits(q, matrix, k, ["q_nx", "u_n", "trustworthiness", "mrre_extrusion"])
    assert abs(q["trustworthiness"].sel(k=20).item() - 0.5) < 0.05
    assert abs(q["r_nx"].sel(k=20).item()) < 0.03
    # all ranks by sorting, the few by counting: the same bits
    whole = ss.evaluate(x, places, metrics=CURVES, k="all").sel(k=k)
    assert differing(q, whole.drop_attrs()) == []


@pytest.mark.parametrize("n", [46_341, 65_535, 65_536, 83_000])
def test_rows_of_many_samples(n: int) -> None:
    x, places = made(n, 2, twice=0.3)
    drawn = np.sort(np.random.default_rng(7).choice(n, 3, replace=False, shuffle=False))
    rho, r = stable_ranks(x, drawn), stable_ranks(places, drawn)
    k = [1, 100, n // 2 - 1, n // 2, n - 2]
    own: dict[str, Any] = {"sample_anchors": 3, "seed": 7}
    names = ["q_nx", "trustworthiness", "continuity", "u_n", "mrre_extrusion"]
    q = ss.evaluate(x, places, metrics=names, k=k, **own)
    away = rho > 0
    for each in k:
        near_x, near_y = away & (rho <= each), away & (r <= each)
        most = 3 * plain.worst_excess(n, each)
        largest = sum(abs(n - 2 * j) / j for j in range(1, each + 1))
        for name, value in {
            "q_nx": (near_x & near_y).sum() / (3 * each),
            "u_n": (away & (r < rho) & near_x).sum() / (3 * each),
            "trustworthiness": 1 - (rho - each)[near_y & ~near_x].sum() / most,
            "continuity": 1 - (r - each)[near_x & ~near_y].sum() / most,
            "mrre_extrusion": (abs(rho - r)[near_x] / rho[near_x]).sum() / (3 * largest),
        }.items():
            assert q[name].sel(k=each).item() == pytest.approx(value, rel=1e-11, abs=1e-12), name
    surface = m.rank_quality(x, places, kappa_s=[1, 40], kappa_t=[0, 9, 90], **own)
    for near in (1, 40):
        for far in (0, 9, 90):
            inside = away & (np.minimum(rho, r) <= near) & (abs(rho - r) <= far)
            value = inside.sum() / (3 * near)
            assert float(surface.sel(kappa_s=near, kappa_t=far)) == pytest.approx(value, rel=1e-14)


def test_few_samples() -> None:
    x, places = made(3)
    for n in (1, 2, 3):
        q = ss.evaluate(x[:n], places[:n], metrics="ranks", k="all")
        assert q.sizes["k"] == max(n - 1, 1)
    assert np.isnan(m.q_nx(x[:1], places[:1], k="all")).all()
    assert m.q_nx(x[:2], places[:2], k=1) == m.trustworthiness(x[:2], places[:2], k=1) == 1


# --- bad input

X, PLACES = made(60)
WITH_NAN = np.where(np.arange(60)[:, None] == 7, np.nan, 1.0)
REFUSED: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "k": (lambda: m.q_nx(X, PLACES, k=60), r"q_nx: k is from 1 to N - 1 = 59 here, not 60"),
    "k of R_NX": (lambda: m.r_nx(X, PLACES, k=59), r"from 1 to N - 2 = 58 here, not 59"),
    "k = 0": (lambda: ss.evaluate(X, PLACES, metrics="ranks", k=0), "from 1 to N - 1 = 59"),
    "k in part": (lambda: m.q_nx(X, PLACES, k=3.0), "in whole numbers"),
    "kappa_s": (lambda: m.rank_quality(X, PLACES, kappa_s=60), "kappa_s is from 1 to N - 1 = 59"),
    "kappa_t": (lambda: m.rank_quality(X, PLACES, kappa_t=-1), "kappa_t is from 0 to N - 1 = 59"),
    "kappa of a sample": (
        lambda: m.pointwise_rank_quality(X, PLACES, kappa_s=[1, 60]),
        "kappa_s is from 1 to N - 1 = 59 here, not 60",
    ),
    "k_max": (lambda: m.coranking_matrix(X, PLACES, k_max=0), "k_max is from 1 to N - 1 = 59"),
    "lengths": (lambda: m.q_nx(X, PLACES[1:], k=1), r"shape \(59, 2\), and there are 60 samples"),
    "vector": (lambda: m.q_nx(X, PLACES[:, 0], k=1), r"one component has shape \(N, 1\)"),
    "path": (lambda: m.q_nx(X, "places.npy", k=1), "'places.npy' is a path, and only evaluate"),
    "nan": (lambda: m.q_nx(X * WITH_NAN, PLACES, k=1), "sample 7, feature 0 is nan"),
    "nan there": (lambda: m.q_nx(X, PLACES * WITH_NAN, k=1), "embedding: sample 7, component 0"),
    "huge": (lambda: m.q_nx(X, PLACES * 1e300, k=1), "whose square overflows"),
    "weights": (lambda: m.q_nx(X, PLACES, k=1, sample_weights=np.ones(60)), "no meaning for ranks"),
    "ties": (lambda: m.q_nx(X, PLACES, k=1, ties="weighted"), "ties='expected' is the mean"),
    "space": (lambda: m.q_nx(X, PLACES, k=1, space="codebook"), "an embedding has no code vectors"),
    "anchors": (lambda: m.q_nx(X, PLACES, k=1, sample_anchors=61), "60 samples take part"),
    "anchors of samples": (
        lambda: m.sample_q_nx(X, PLACES, k=1, sample_anchors=9),
        "a value of every sample",
    ),
    "anchors of a matrix": (
        lambda: m.coranking_matrix(X, PLACES, sample_anchors=9),
        "counts the ranks of all samples",
    ),
    "corner": (
        lambda: m.q_nx.from_matrix(m.coranking_matrix(X, PLACES, k_max=9)),
        "give the whole matrix",
    ),
    "ties of a matrix": (
        lambda: m.q_nx.from_matrix(m.coranking_matrix(X, PLACES), ties="best"),
        "are found already",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises((InputError, SampleValueError), match=message):
        call()


def test_one_component() -> None:
    places = PLACES[:, :1]
    matrix = plain.corank(*(plain.ranks(plain.square_distances(own)) for own in (X, places)))
    fits(ss.evaluate(X, places, metrics=CURVES, k=[1, 9, 58]), matrix, [1, 9, 58])


def test_constant_embeddings_without_a_storm_of_warnings() -> None:
    places = np.full((60, 2), 3.5)
    k = np.array([1, 5, 40, 58])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = ss.evaluate(X, places, metrics="ranks", k=k, ties="expected")
        by_index = ss.evaluate(X, places, metrics="ranks", k=k)
        ss.evaluate(places, places, metrics="ranks", k="all", ties="expected")
        ss.evaluate(da.from_array(X, chunks=(7, 2)), places, metrics="ranks").compute()
    np.testing.assert_allclose(q["q_nx"], k / 59, rtol=1e-13)
    np.testing.assert_allclose(q["r_nx"], 0, atol=1e-12)
    assert "note" not in q["q_nx"].attrs
    tables = [plain.square_distances(own) for own in (X, places)]
    fits(q, plain.expected_corank(*tables), k)
    fits(by_index, plain.corank(*map(plain.ranks, tables)), k)
    assert "100.0 % of the distances in the projection tie" in by_index["q_nx"].attrs["note"]
    assert "ties='expected'" in by_index["q_nx"].attrs["note"]


@pytest.mark.parametrize("lazy", [False, True])
def test_ranks_beyond_the_last_are_cut_with_a_note(lazy: bool) -> None:
    x = da.from_array(X, chunks=(13, 2)) if lazy else X
    matrix = m.coranking_matrix(x, PLACES, k_max=100)
    assert (matrix.shape, matrix.attrs["note"]) == ((59, 59), "k_max ends at N - 1 = 59")
    assert m.q_nx(x, PLACES, k=slice(1, 200)).attrs["note"] == "k ends at N - 1 = 59"


def test_notes_say_whose_they_are() -> None:
    q = ss.evaluate(X, {"a": PLACES, "b": np.round(PLACES)}, metrics=["q_nx", "k_max"], k=[3])
    assert q["q_nx"].attrs["note"].startswith("b: 9")
    assert [bool(own) for own in q["note"].sel(metric="k_max").values] == [False, True]
    q = ss.evaluate(X, {"a": PLACES, "b": PLACES[::-1]}, metrics="q_nx", k=slice(3, 99))
    assert q["q_nx"].attrs["note"] == "k ends at N - 1 = 59"


# --- the same bits


def forms(x: Array, places: Array, folder: Path) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Ways to hand over the same samples."""
    np.save(folder / "x.npy", x)
    for name, values, chunks in (("x", x, (137, 3)), ("y", places, (91, 1))):
        stored = zarr.create_array(
            folder / f"{name}.zarr", shape=values.shape, chunks=chunks, dtype=values.dtype
        )
        stored[:] = values
    lazy = da.from_array(x, chunks=((1, 299, 300), (3, 4)))
    grid = xr.DataArray(
        x.reshape(20, 30, 7), dims=("y", "x", "band"), coords={"y": np.arange(20)[::-1]}
    )
    both = {"sample_dims": ("y", "x")}
    return {
        "float64": (x.astype(np.float64), places, {}),
        "Fortran": (np.asfortranarray(x), np.asfortranarray(places), {}),
        "strided": (np.repeat(x, 2, axis=0)[::2], places, {}),
        "other bytes": (x.astype(">f4"), places, {}),
        "memmap": (np.load(folder / "x.npy", mmap_mode="r"), places, {}),
        "npy": (folder / "x.npy", places, {}),
        "zarr path": (folder / "x.zarr", places, {}),
        "zarr": (zarr.open_array(folder / "x.zarr"), zarr.open_array(folder / "y.zarr"), {}),
        "dask": (lazy, da.from_array(places, chunks=((17, 583), 1)), {}),
        "DataArray": (grid, places, both),
        "lazy DataArray": (grid.chunk(y=7, x=11, band=2), places, both),
        "both DataArrays": (grid, grid[..., :2].copy(data=places.reshape(20, 30, 2)), both),
    }


def test_every_form_has_the_same_bits(tmp_path: Path) -> None:
    x, places = made(600, 7, twice=0.3)
    x = x.astype(np.float32)
    expected = ss.evaluate(x, places, **ASKED)
    for name, (own, projection, more) in forms(x, places, tmp_path).items():
        found = ss.evaluate(own, projection, **ASKED, **more)
        assert differing(found, expected) == [], name
        lazy = name in ("dask", "lazy DataArray")
        assert (found["q_nx"].chunks is not None) == lazy, name
    lazy_result = ss.evaluate(da.from_array(x, chunks=(170, 3)), places, **ASKED)
    for scheduler in ("synchronous", "threads"):
        assert differing(dask.compute(lazy_result, scheduler=scheduler)[0], expected) == []


@pytest.mark.parametrize("ties", ["index", "expected"])
@pytest.mark.parametrize("k", [[1, 7, 40], "all"])
def test_budgets_and_workers_change_no_bit(k: Any, ties: str, tmp_path: Path) -> None:
    x, places = made(700, 12, twice=0.3)
    path = tmp_path / "x.zarr"
    stored = zarr.create_array(path, shape=x.shape, chunks=(111, 5), dtype=x.dtype)
    stored[:] = x
    asked = {**ASKED, "k": k, "ties": ties}
    expected = ss.evaluate(x, places, **asked)
    for workers in (1, 2):
        with (
            ss.set_options(workers=workers, memory_budget="1MiB"),
            pytest.raises(MemoryBudgetError, match="needs at least") as refused,
        ):
            ss.evaluate(path, places, **asked)
        named = int(re.findall(r"memory_budget='(\d+)MiB'", str(refused.value))[0])
        # what the process holds already may have grown since
        for more in (8, 2000):
            with ss.set_options(workers=workers, memory_budget=f"{named + more}MiB"):
                assert ss.plan(path, places, **asked).peak_memory <= (named + more) << 20
                assert differing(ss.evaluate(path, places, **asked), expected) == []


def test_schedulers_change_no_bit(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    x, places = made(500)
    stored = zarr.create_array(tmp_path / "x.zarr", shape=x.shape, chunks=(90, 5), dtype=x.dtype)
    stored[:] = x
    expected = ss.evaluate(x, places, **ASKED)
    for scheduler in ("serial", "threads", "processes"):
        with ss.set_options(scheduler=scheduler, workers=1 if scheduler == "processes" else 2):
            found = ss.evaluate(tmp_path / "x.zarr", places, **ASKED)
            assert differing(found, expected) == [], scheduler
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as local,
        Client(local),
        ss.set_options(scheduler="distributed"),
    ):
        assert differing(ss.evaluate(tmp_path / "x.zarr", places, **ASKED), expected) == []
        lazy = ss.evaluate(da.from_array(x, chunks=(170, 2)), places, **ASKED)
        assert differing(lazy, expected) == []


# --- distances, weights, masks


@pytest.mark.parametrize(
    ("distance", "p"),
    [
        *((name, None) for name in ("cosine", "correlation", "cityblock", "chebyshev")),
        ("minkowski", 3),
        ("minkowski", 1.5),
        (lambda a, b: cdist(a, b, "canberra"), None),
    ],
)
def test_distances(distance: Any, p: float | None) -> None:
    x, places = made(130, 6)
    more: dict[str, Any] = {} if p is None else {"p": p}
    table = distance(x, x) if callable(distance) else cdist(x, x, distance, **more)
    matrix = plain.corank(plain.ranks(table), plain.ranks(plain.square_distances(places)))
    k = [1, 7, 100]
    fits(ss.evaluate(x, places, metrics=CURVES, k=k, distance=distance, **more), matrix, k)


def test_matrices_that_are_given(tmp_path: Path) -> None:
    _, places = made(130)
    table = np.random.default_rng(0).random((130, 130))
    rho, r = plain.ranks(table), plain.ranks(plain.square_distances(places))
    stored = zarr.create_array(
        tmp_path / "d.zarr", shape=table.shape, chunks=(37, 50), dtype=table.dtype
    )
    stored[:] = table
    diagonal = np.where(np.eye(130, dtype=bool), np.nan, table)
    k = [1, 7, 100]
    for given in (
        table,
        stored,
        tmp_path / "d.zarr",
        da.from_array(table, chunks=(41, 33)),
        diagonal,
        table - 5 * np.eye(130),
    ):
        q = ss.evaluate(given, places, metrics=CURVES, k=k, distance="precomputed")
        fits(q.compute(), plain.corank(rho, r), k)
    for value, message in ((np.nan, "holds nan at"), (-1.0, "no distance is negative")):
        table[3, 5] = value
        with pytest.raises(InputError, match=message):
            m.q_nx(table, places, k=1, distance="precomputed")
    with pytest.raises(InputError, match="a row and a column for each sample"):
        m.q_nx(table[:, 1:], places, k=1, distance="precomputed")


def test_weights_of_features() -> None:
    x, places = made(130, 6)
    v = np.array([0.25, 1, 0, 4, 1, 2.25])
    one = ss.evaluate(x, places, **ASKED, feature_weights=v)
    assert differing(one, ss.evaluate(x * np.sqrt(v), places, **ASKED)) == []


@pytest.mark.parametrize("how", ["mask", "drop", "drop_any_sample"])
def test_samples_that_take_no_part(how: str) -> None:
    x, places = made(140)
    taken = np.random.default_rng(1).random(140) > 0.3
    gaps = x.copy()
    gaps[~taken, 1 if how == "drop_any_sample" else slice(None)] = np.nan
    given: dict[str, Any] = {"mask": taken} if how == "mask" else {"missing": how}
    own = ss.evaluate(x[taken], places[taken], **ASKED)
    part = ss.evaluate(x if how == "mask" else gaps, places, **ASKED, **given)
    names = [name for name in own if "sample" not in own[name].dims]
    assert differing(part[names], own[names]) == []
    for name in set(own.data_vars) - set(names):
        np.testing.assert_array_equal(part[name].values[taken], own[name])
        assert np.isnan(part[name].values[~taken]).all()


def test_an_embedding_is_put_in_order_by_coordinates() -> None:
    x, places = made(80)
    days = np.arange(80)
    samples = xr.DataArray(x, dims=("day", "f"), coords={"day": days})
    other = xr.DataArray(places.T, dims=("c", "day"), coords={"day": days}).isel(day=days[::-1])
    found = m.sample_q_nx(samples, other, k=4)
    np.testing.assert_array_equal(found["day"], days)
    np.testing.assert_array_equal(found, m.sample_q_nx(x, places, k=4))


# --- candidates, ties, maps


def test_candidates_as_each_alone() -> None:
    x, places = made(150)
    labels = np.arange(150) % 3
    candidates = {
        "a": places,
        "mirrored": places[:, ::-1] * 2,
        "three": np.random.default_rng(0).standard_normal((150, 3)),
        "ties": np.round(places),
    }
    for asked in ({**ASKED, "k": "all"}, {**ASKED, "ties": "expected"}):
        both = ss.evaluate(x, candidates, labels=labels, **asked)
        assert "neighborhood_hit" in both
        for name, own in candidates.items():
            alone = ss.evaluate(x, own, labels=labels, **asked)
            if "note" in alone:
                alone = alone.drop_vars("note")
            mine = both[list(alone.data_vars)].sel(candidate=name)
            assert differing(mine, alone) == [], name
    r = plain.ranks(plain.square_distances(candidates["three"]))
    hit = m.neighborhood_hit(x, candidates["three"], labels=labels, k=[1, 20])
    expected = [plain.neighborhood_hit(r, labels, k) for k in (1, 20)]
    np.testing.assert_allclose(hit, expected, rtol=1e-13)


def test_maps_of_several_sizes() -> None:
    x, _ = made(150)
    maps = {"small": ss.codebook(x[:4], ss.Grid(2, 2)), "large": ss.codebook(x[:12], ss.Grid(3, 4))}
    asked = {**ASKED, "metrics": [*CURVES, "rank_quality", "sample_q_nx"]}
    both = ss.evaluate(x, maps, **asked)
    for name, som in maps.items():
        alone = ss.evaluate(x, som, **asked)
        assert differing(both[list(alone.data_vars)].sel(candidate=name), alone) == []
    assert both["q_nx"].attrs["ties"] == "expected"


def projections_with_ties(x: Array) -> dict[str, tuple[Any, Array, dict[str, Any]]]:
    """Projections of 100 samples, the distances in them, and what to ask with."""
    whole = np.round(x[:, :2] * 2)
    som = ss.codebook(x[:6], ss.Grid(2, 3))
    unit = ss.project(x, som)["bmu"].values
    row, col = np.divmod(np.arange(6), 3)
    steps = abs(row[:, None] - row) + abs(col[:, None] - col)
    codes = plain.square_distances(x[:6])
    return {
        "integers": (whole, plain.square_distances(whole), {}),
        "map": (som, steps[unit][:, unit], {"space": "map"}),
        "codebook": (som, codes[unit][:, unit], {"space": "codebook"}),
    }


@pytest.mark.parametrize("ties", ["index", "expected", "best", "worst", "weighted"])
@pytest.mark.parametrize("kind", ["integers", "map", "codebook"])
def test_ties(kind: str, ties: Any) -> None:
    x, _ = made(100, 4)
    x = np.round(x, 1)
    projection, table, space = projections_with_ties(x)[kind]
    own = plain.square_distances(x)
    k = [1, 8, 49, 50, 98]
    if ties == "weighted":
        q = ss.evaluate(
            x, projection, metrics=["trustworthiness", "continuity"], k=k, ties=ties, **space
        )
        for name, of in (
            ("trustworthiness", plain.weighted_trustworthiness),
            ("continuity", plain.weighted_preservation),
        ):
            expected = [of(own, table, each) for each in k]
            np.testing.assert_allclose(q[name], expected, rtol=1e-11, atol=1e-11)
        return
    pair = plain.pair_spans(own, table, ties)
    matrix = plain.summed(pair, range(100))
    q = ss.evaluate(x, projection, metrics="ranks", k=k, ties=ties, kappa_s=[2, 30], kappa_t=[0, 9],
                    **space)  # fmt: skip
    fits(q, matrix, k)
    for near in (2, 30):
        for far in (0, 9):
            value = q["rank_quality"].sel(kappa_s=near, kappa_t=far).item()
            assert value == pytest.approx(plain.rank_quality(matrix, near, far), rel=1e-12)
    found = m.coranking_matrix(x, projection, ties=ties, **space)
    np.testing.assert_allclose(found, matrix, atol=1e-11)
    np.testing.assert_allclose(m.q_nx.from_matrix(found, k=k), q["q_nx"], rtol=1e-12)


@pytest.mark.parametrize("ties", ["index", "expected", "best", "worst"])
def test_values_of_samples_have_the_value_as_their_mean(ties: str) -> None:
    x, places = made(120)
    places = np.round(places)
    for own, name in (
        ("sample_q_nx", "q_nx"),
        ("sample_trustworthiness", "trustworthiness"),
        ("sample_continuity", "continuity"),
    ):
        each = getattr(m, own)(x, places, k=[1, 7, 90], ties=ties)
        whole = getattr(m, name)(x, places, k=[1, 7, 90], ties=ties)
        np.testing.assert_allclose(each.mean("sample"), whole, rtol=1e-12)
    near = {"kappa_s": [1, 9], "kappa_t": [0, 30], "ties": ties}
    for norm in ("lueks", "region"):
        whole = m.rank_quality(x, places, norm=norm, **near)
        for side in ("both", "row", "column"):
            each = m.pointwise_rank_quality(x, places, side=side, norm=norm, **near)
            np.testing.assert_allclose(each.mean("sample"), whole, rtol=1e-12)
            assert each.attrs["norm"] == norm


def test_samples_in_the_norm_of_the_region() -> None:
    x, places = made(60)
    pair = plain.pair_spans(plain.square_distances(x), plain.square_distances(places), "index")
    near: dict[str, Any] = {"kappa_s": 7, "kappa_t": 4, "norm": "region"}
    for side in ("both", "row"):
        found = m.pointwise_rank_quality(
            da.from_array(x, chunks=(23, 2)), places, side=side, **near
        )
        wanted = plain.pointwise_rank_quality(pair, 7, 4, side, "region")
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        assert found.attrs["range"] == ("[0, 2]" if side == "row" else "[0, inf)")
    # asked for along with others, and with all pairs at which it is not worth a note
    q = ss.evaluate(x, places, metrics={
        "all": ("pointwise_rank_quality", {"kappa_t": 58, "norm": "region"}),
        "own": ("pointwise_rank_quality", {"kappa_t": 58}),
        "few": ("pointwise_rank_quality", {"kappa_t": 4, "norm": "region", "side": "row"}),
    }, kappa_s=7)  # fmt: skip
    np.testing.assert_allclose(q["few"], wanted, rtol=1e-13)
    assert q["all"].mean().item() == pytest.approx(1, rel=1e-13)
    assert "note" not in q["own"].attrs
    with pytest.raises(InputError, match="pointwise_rank_quality: norm is one of"):
        m.pointwise_rank_quality(x, places, norm="own")


# --- samples that are drawn


@pytest.mark.parametrize("ties", ["index", "expected", "worst"])
def test_all_rows_drawn_are_the_exact_values(ties: str) -> None:
    x, places = made(120)
    exact = ss.evaluate(x, np.round(places), **{**ASKED, "k": "all"}, ties=ties)
    drawn = ss.evaluate(x, np.round(places), **{**ASKED, "k": "all"}, ties=ties, sample_anchors=120)
    shared = [name for name in drawn.data_vars if name in exact]
    assert {*CURVES, "value", "rank_quality", "rank_regions"} <= {*shared}
    assert differing(drawn[shared], exact[shared]) == []
    errors = [name for name in drawn.data_vars if str(name).endswith("standard_error")]
    assert len(errors) >= len(CURVES) + 2
    assert all(np.nanmax(drawn[name]) == 0 for name in errors)
    assert not [name for name in drawn if "sample" in drawn[name].dims]


@pytest.mark.parametrize("ties", ["index", "expected"])
def test_estimates_depend_on_nothing_else_that_is_asked(ties: str) -> None:
    x, places = made(300)
    asked: dict[str, Any] = {**ASKED, "ties": ties, "sample_anchors": 60}
    few = ss.evaluate(x, np.round(places), **asked)
    whole = ss.evaluate(x, np.round(places), **{**asked, "k": "all"}).sel(k=few["k"])
    assert differing(whole[list(few.data_vars)], few) == []
    alone = m.trustworthiness(x, np.round(places), k=7, ties=ties, sample_anchors=60)
    for name in ("standard_error", "interval_low", "interval_high"):
        own = few[f"trustworthiness_{name}"].sel(k=7)
        np.testing.assert_array_equal(alone.coords[name], own)


def test_estimates_and_their_errors_from_the_rows() -> None:
    x, places = made(400)
    drawn = np.sort(np.random.default_rng(3).choice(400, 100, replace=False, shuffle=False))
    q = ss.evaluate(
        da.from_array(x, chunks=(33, 2)),
        places,
        metrics=["q_nx", "trustworthiness", "rank_quality", "k_max", "auc_r_nx"],
        k=[5], kappa_s=[5], kappa_t=[3], sample_anchors=100, seed=3,
    ).compute()  # fmt: skip
    rows = {
        "q_nx": m.sample_q_nx(x, places, k=5),
        "trustworthiness": m.sample_trustworthiness(x, places, k=5),
        "rank_quality": m.pointwise_rank_quality(x, places, kappa_s=5, kappa_t=3, side="row"),
    }
    for name, own in rows.items():
        values = own.values[drawn]
        error = values.std(ddof=1) / 10 * np.sqrt(0.75)
        assert q[name].item() == pytest.approx(values.mean(), rel=1e-12)
        assert q[f"{name}_standard_error"].item() == pytest.approx(error, rel=1e-9)
        reach = q[f"{name}_interval_high"].item() - q[name].item()
        assert reach == pytest.approx(student.ppf(0.975, 99) * error, rel=1e-9)
        assert (q[name].attrs["sample_anchors"], q[name].attrs["seed"]) == (100, 3)
    assert (q["standard_error"] > 0).all()
    assert (q["interval_low"] <= q["value"]).all()
    assert (q["value"] <= q["interval_high"]).all()


# --- what comes with the values


def test_every_output_says_what_it_is(tmp_path: Path) -> None:
    x, places = made(90)
    grid = xr.DataArray(
        x.reshape(9, 10, 5),
        dims=("lat", "lon", "band"),
        coords={"lat": np.linspace(60, 40, 9), "lon": np.arange(10.0)},
    )
    names = [n for n, s in RANKED.items() if "agreement" not in s.tables and "unit" not in s.dims]
    q = ss.evaluate(grid, np.round(places), sample_dims=("lat", "lon"), metrics=names,
                    **{n: ASKED[n] for n in ("k", "kappa_s", "kappa_t")})  # fmt: skip
    assert q["sample_q_nx"].dims == ("lat", "lon", "k")
    assert q["coranking_matrix"].dims == ("rank_in", "rank_out")
    for name in set(names) - set(SCALARS):
        facts = q[name].attrs
        assert {"long_name", "units", "direction", "range", "source", "ties"} <= set(facts), name
        assert facts["direction"] == RANKED[name].direction
    assert list(q["metric"].values) == [n for n in names if n in SCALARS]
    for coordinate in ("direction", "lower", "upper", "long_name", "metric_units", "source"):
        assert coordinate in q.coords
    assert json.loads(q.attrs["parameters"])["q_nx"]["k"] == [1, 7, 50]
    assert q["b_nx"].attrs["direction"] == "zero"
    for dim in ("k", "kappa_s", "kappa_t", "region", "rank_in", "rank_out"):
        assert q[dim].attrs["long_name"], dim
    q.to_netcdf(tmp_path / "q.nc")
    q.to_zarr(tmp_path / "q.zarr", consolidated=False)
    with (
        xr.open_dataset(tmp_path / "q.nc") as one,
        xr.open_zarr(tmp_path / "q.zarr", consolidated=False) as other,
    ):
        for back in (one, other):
            xr.testing.assert_equal(back.compute(), q.compute())
            assert all(dict(back[name].attrs) == dict(q[name].attrs) for name in q.variables)
            assert back.attrs == q.attrs


def test_from_a_matrix_as_from_samples() -> None:
    matrix = m.coranking_matrix(X, PLACES)
    for name in RANKED:
        function = getattr(m, name)
        if not hasattr(function, "from_matrix"):
            continue
        given = {"k": "all"} if "k" in RANKED[name].dims else {}
        own = function(X, PLACES, **given)
        for one in (matrix, matrix.transpose(), matrix.values, matrix.values.astype(float)):
            np.testing.assert_array_equal(function.from_matrix(one, **given), own, err_msg=name)
        assert function.from_matrix(matrix, **given).dims == own.dims


# --- memory

MEASURED: Final = """
import numpy as np, somscale as ss
samples = np.random.default_rng(0).standard_normal((10_000, 20))
asked = {"metrics": ["q_nx", "trustworthiness", "continuity"], "k": range(1, 51)}
with ss.set_options(memory_budget="400MiB", workers=2):
    plan = ss.plan(samples, samples[:, :2], **asked)
    q = ss.evaluate(samples, samples[:, :2], **asked)
print(plan.peak_memory, read_peak())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read as Linux tells them")
def test_memory_stays_inside_the_plan() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_PEAK + MEASURED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    planned, peak = map(int, done.stdout.split())
    assert peak <= planned <= 400 << 20

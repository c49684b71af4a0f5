"""Walks over pairs: what every accumulator adds up, against whole tables of distances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_cluster_pairs as clusters
import reference_pairs as plain
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import plan_pair_job, run_pairs
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import Column, SampleVectors
from somscale.engine.readers.sources import ArraySource, ZarrSource
from somscale.errors import InputError, SampleValueError
from somscale.options import set_options
from somscale.reductions import pair_walk
from somscale.reductions.distance_totals import DistanceTotals, MapTotals
from somscale.reductions.group_pairs import GroupPairs
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_walk import PairWalk, RowWalk, tile_rows_of
from somscale.reductions.sample_pairs import (
    RowNearest,
    RowSilhouettes,
    SampleSums,
    silhouettes_of,
)
from somscale.spaces import MapSpace, make_space
from somscale.topology import Grid

Floats = NDArray[np.float64]
ALL: frozenset[Any] = frozenset({"d4", "sammon"})
TABLES: frozenset[Any] = frozenset({"within", "between", "extremes"})
GRID = Grid(2, 3)


class Given:
    """Samples, their groups, an embedding and units of a map.

    Attributes
    ----------
    taken : (N,) bool
        Samples that take part.
    """

    def __init__(self, seed: int, n: int, d: int, k: int, kind: str) -> None:
        rng = np.random.default_rng(seed)
        self.k, self.n = k, n
        if kind == "ties":
            self.samples: Any = rng.integers(-2, 3, (n, d))
        elif kind == "equal":
            self.samples = np.full((n, d), 0.1)
        else:
            dtype = np.float32 if kind == "float32" else np.float64
            offset = 1e8 if kind == "offset" else 0.0
            self.samples = (rng.standard_normal((n, d)) + offset).astype(dtype)
        self.codes = rng.integers(-1, k, n)
        self.units = rng.integers(0, GRID.size, n)
        self.embedding = rng.integers(-3, 4, (n, 2)) * 0.5
        self.excluded = rng.random(n) < 0.2
        self.taken = np.ones(n, bool)

    @property
    def columns(self) -> dict[str, Any]:
        return {
            "c": Column(self.codes, 0, range(self.k)),
            "units": Column(self.units, 0, range(GRID.size)),
            "embedding": SampleVectors(self.embedding),
            "out": Column(self.excluded.astype(np.int8), 0, range(2)),
        }

    @property
    def spaces(self) -> dict[str, PlacedSpace]:
        center = np.nan_to_num(np.asarray(self.samples[0], np.float64))
        return {
            "samples": PlacedSpace(make_space("euclidean", center=center)),
            "embedding": PlacedSpace(make_space("euclidean"), "embedding", "embedding"),
            "map": PlacedSpace(MapSpace(GRID), "units", "best-matching units"),
        }

    def accumulators(self) -> list[Any]:
        delta = GRID.distances()
        return [
            GroupPairs("groups", "c", self.k, TABLES, space="samples"),
            MapTotals("table", "units", delta, space="samples"),
            MapTotals("computed", "units", lambda a, b: delta[np.ix_(a, b)], space="samples"),
            DistanceTotals("embedded", ("samples", "embedding"), ALL),
            DistanceTotals("mapped", ("samples", "map"), ALL),
            SampleSums("sums", "c", self.k, self.n, space="samples"),
        ]

    def kept(self) -> list[Any]:
        return [
            RowSilhouettes("silhouettes", "c", self.k, self.n, space="samples"),
            RowNearest("nearest", "c", self.k, space="samples"),
        ]

    def walk(self, side: Any, accumulators: list[Any], **choice: Any) -> Any:
        options = {"tile_rows": 8, "n_features": self.samples.shape[1]}
        options |= {n: choice.pop(n) for n in ("tile_rows",) if n in choice}
        needed = {name for a in accumulators for name in a.needs}
        spaces = {name: space for name, space in self.spaces.items() if name in needed}
        return side("walk", spaces, accumulators, RowChoice(**choice), **options)

    def job(self, reduction: Any, **where: Any) -> PairJob:
        where = where or {"source": ArraySource(self.samples)}
        return PairJob([reduction], *self.samples.shape, columns=self.columns, **where)

    def d(self) -> Floats:
        """All distances, between samples about one of them."""
        values = self.samples.astype(np.float64)
        return plain.distances(values - values[0])


@pytest.fixture(autouse=True)
def _serial() -> Iterator[None]:
    with set_options(scheduler="serial"):
        yield


cases = st.builds(
    Given,
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from(["ties", "equal", "gaussian", "offset", "float32"]),
)
cuts = st.fixed_dictionaries(
    {
        "tile_rows": st.sampled_from([1, 3, 8, 64]),
        "sort_by": st.sampled_from([None, "c", "units"]),
        "excluded": st.sampled_from([None, "out"]),
    }
)
parts = st.sampled_from([(128, 1024), (3, 5), (4, 2), (1, 1)])


def run(case: Given, side: Any, accumulators: list[Any], part: Any, **choice: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_walk, "_PART_ROWS", part[0])
        patch.setattr(pair_walk, "_PART_COLUMNS", part[1])
        return run_pairs(case.job(case.walk(side, accumulators, **choice)))[0]


def chosen(case: Given, choice: dict[str, Any]) -> Any:
    """Distances and codes of the samples that take part."""
    rows = np.flatnonzero(~case.excluded) if choice["excluded"] else np.arange(case.n)
    return rows, case.d()[np.ix_(rows, rows)]


def assert_close(found: Any, expected: Any, size: float = 1.0) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * size)


@settings(max_examples=30)
@given(cases, cuts, parts)
def test_a_walk_over_pairs_adds_up_what_whole_tables_do(
    case: Given, choice: dict[str, Any], part: tuple[int, int]
) -> None:
    found = run(case, PairWalk, case.accumulators(), part, **choice)
    rows, d = chosen(case, choice)
    codes, units = case.codes[rows], case.units[rows]
    assert found["n_samples"] == len(rows)

    expected, groups = pairs_of(d, codes, case.k), found["groups"]
    np.testing.assert_array_equal(groups.hits, expected.hits)
    assert_close(groups.within, expected.within, d.sum())
    assert_close(groups.between, expected.between, d.sum())
    squares = pairs_of(d**2, codes, case.k).within
    assert_close(groups.within_squares, squares, (d**2).sum())
    for name in ("largest", "smallest"):
        assert_close(getattr(groups, name), getattr(expected, name))
    assert_close(groups.diameters, clusters.extremes(d, codes, case.k).diameters)

    delta = GRID.distances()[np.ix_(units, units)]
    embedded = plain.distances(case.embedding[rows])
    for name, e in (("embedded", embedded), ("mapped", delta)):
        totals = plain.totals_of(d, e)
        for total, value in found[name].items():
            assert_close(value, totals[total], (d.sum() + e.sum()) ** 2 + 1)
    totals = plain.totals_of(d, delta)
    for name in ("table", "computed"):
        for total in ("d", "de", "d_max"):
            assert_close(found[name][total], totals[total])


@settings(max_examples=30)
@given(cases, cuts, parts)
def test_silhouettes_and_nearest_samples_by_either_walk(
    case: Given, choice: dict[str, Any], part: tuple[int, int]
) -> None:
    rows, d = chosen(case, choice)
    some = rows[case.codes[rows] >= 0]
    own = case.d()[np.ix_(some, some)]
    expected = np.full(case.n, np.nan)
    if len(some):
        expected[some] = clusters.silhouettes(own, case.codes[some])
    sums = [
        expected[some][case.codes[some] == k].sum() if len(some) else 0.0 for k in range(case.k)
    ]
    hits = np.bincount(case.codes[some], minlength=case.k)
    once = run(case, PairWalk, case.accumulators()[-1:], part, **choice)
    twice = run(case, RowWalk, case.kept(), part, **choice)
    for silhouettes in (once["sums"], twice["silhouettes"]):
        np.testing.assert_allclose(silhouettes.values, expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(silhouettes.sums, sums, rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(silhouettes.hits, hits)
    pairs = pairs_of(d, case.codes[rows], case.k)
    apart = ~np.eye(case.k, dtype=bool) & ((hits[:, None] > 0) & (hits > 0))
    assert_close(twice["nearest"].hausdorff[apart], pairs.hausdorff[apart])


@pytest.mark.parametrize("name", ["cityblock", "chebyshev", "sqeuclidean", "cosine", "correlation"])
def test_walks_take_any_space(name: str) -> None:
    case = Given(3, 30, 4, 3, "gaussian")
    walk = PairWalk(
        "walk",
        {"samples": PlacedSpace(make_space(name))},
        [GroupPairs("groups", "c", 3, TABLES, space="samples")],
        RowChoice(),
        n_features=4,
        tile_rows=7,
    )
    found = run_pairs(case.job(walk))[0]["groups"]
    expected = pairs_of(plain.distances(case.samples, name), case.codes, 3)
    np.testing.assert_allclose(found.between, expected.between, rtol=1e-12)
    np.testing.assert_allclose(found.largest, expected.largest, rtol=1e-12)
    np.testing.assert_allclose(found.smallest, expected.smallest, rtol=1e-9)


def walked_matrix(case: Given, side: Any, accumulators: list[Any], matrix: Any) -> Any:
    for a in accumulators:
        a.needs = tuple("given" if n == "samples" else n for n in a.needs)
    walk = side(
        "walk", {}, accumulators, RowChoice(sort_by="c"), n_features=0, tile_rows=7, matrix="given"
    )
    return run_pairs(PairJob([walk], case.n, columns=case.columns, matrix=matrix))[0]


@pytest.mark.parametrize("form", ["numpy", "zarr", "dask"])
def test_stored_matrices_give_what_samples_give(form: str, tmp_path: Path) -> None:
    case = Given(5, 41, 3, 4, "gaussian")
    d = case.d()
    matrix: Any = {
        "numpy": lambda: ArraySource(d),
        "zarr": lambda: ZarrSource(zarr.create_array(tmp_path / "d", data=d, chunks=(9, 13))),
        "dask": lambda: da.from_array(d, chunks=(10, 17)),
    }[form]()
    groups = GroupPairs("groups", "c", 4, TABLES, space="samples")
    sums = SampleSums("sums", "c", 4, case.n, space="samples")
    found = walked_matrix(case, PairWalk, [groups, sums], matrix)
    expected = pairs_of(d, case.codes, 4)
    np.testing.assert_allclose(found["groups"].between, expected.between, rtol=1e-12)
    np.testing.assert_array_equal(found["groups"].smallest, expected.smallest)
    twice = walked_matrix(case, RowWalk, case.kept(), matrix)
    np.testing.assert_allclose(
        found["sums"].values, twice["silhouettes"].values, rtol=1e-12, atol=1e-14
    )
    some = case.codes >= 0
    silhouettes = clusters.silhouettes(d[np.ix_(some, some)], case.codes[some])
    np.testing.assert_allclose(twice["silhouettes"].values[some], silhouettes, rtol=1e-12)


def bits_of(found: Any) -> list[Any]:
    """All numbers of a result, in a fixed order."""
    if isinstance(found, dict):
        return [bit for name in sorted(found) for bit in bits_of(found[name])]
    if hasattr(found, "__dataclass_fields__"):
        return [bit for name in found.__dataclass_fields__ for bit in bits_of(getattr(found, name))]
    return [] if found is None else [np.asarray(found)]


def pairs_of(d: Floats, codes: Any, k: int) -> Any:
    """Sums and extremes by whole tables."""
    return clusters.cluster_pairs(d, codes, k)


def assert_same_bits(found: Any, expected: Any) -> None:
    one, two = bits_of(found), bits_of(expected)
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("side", ["pairs", "rows"])
@pytest.mark.parametrize("form", ["zarr", "dask", "threads"])
@pytest.mark.parametrize("operations", [1.0, 1e7, 1e9])
def test_the_cut_changes_no_bit(side: str, form: str, operations: float, tmp_path: Path) -> None:
    case = Given(7, 107, 3, 5, "gaussian")
    both = side == "pairs"

    def reduction() -> Any:
        walk = case.walk(
            PairWalk if both else RowWalk,
            case.accumulators() if both else case.kept(),
            sort_by="c",
            excluded="out",
        )
        # work per pair decides the size of tasks
        walk.operations = operations
        return walk

    first = reduction()
    first.operations = 1.0
    expected = run_pairs(case.job(first))[0]
    where: dict[str, Any] = {}
    if form == "zarr":
        array = zarr.create_array(tmp_path / "x", data=case.samples, chunks=(13, 2))
        where = {"source": ZarrSource(array)}
    elif form == "dask":
        where = {"blocks": Blocks.of(da.from_array(case.samples, chunks=((50, 7, 50), (1, 2))))}
    with set_options(scheduler="threads", workers=3):
        assert_same_bits(run_pairs(case.job(reduction(), **where))[0], expected)


def test_every_sample_that_takes_part_has_a_unit() -> None:
    case = Given(10, 20, 2, 3, "gaussian")
    case.units[4] = -1
    totals = [MapTotals("map", "units", GRID.distances(), space="samples")]
    with pytest.raises(ValueError, match="has no unit"):
        run_pairs(case.job(case.walk(PairWalk, totals)))
    case.excluded[:] = case.units < 0
    found = run_pairs(case.job(case.walk(PairWalk, totals, excluded="out")))[0]
    kept = ~case.excluded
    delta = GRID.distances()[np.ix_(case.units[kept], case.units[kept])]
    expected = plain.totals_of(case.d()[np.ix_(kept, kept)], delta)
    assert found["map"]["de"] == pytest.approx(expected["de"], rel=1e-12)


def test_gaps_are_left_out_by_policy() -> None:
    case = Given(11, 30, 3, 3, "gaussian")
    case.samples[4, 1] = np.nan
    case.samples[9] = np.nan
    kept = ~np.isnan(case.samples).any(axis=1)
    groups = [GroupPairs("groups", "c", 3, TABLES, space="samples")]
    found = run_pairs(case.job(case.walk(PairWalk, groups, missing="drop_any_sample")))[0]
    own = pairs_of(plain.distances(case.samples[kept]), case.codes[kept], 3)
    assert found["n_samples"] == 28
    np.testing.assert_allclose(found["groups"].between, own.between, rtol=1e-12)
    with pytest.raises(SampleValueError, match="sample 4, feature 1"):
        run_pairs(case.job(case.walk(PairWalk, groups)))
    with pytest.raises(SampleValueError, match="sample 4, feature 1"):
        run_pairs(case.job(case.walk(PairWalk, groups, missing="drop")))


def test_features_that_all_samples_lack_are_left_out() -> None:
    case = Given(12, 20, 4, 3, "gaussian")
    case.samples[:, 2] = np.nan
    missing = np.array([False, False, True, False])
    groups = [GroupPairs("groups", "c", 3, TABLES, space="samples")]
    walk = case.walk(PairWalk, groups, missing="drop")
    told = walk.told(center=case.samples[0], missing_features=missing)
    found = run_pairs(case.job(told))[0]["groups"]
    d = plain.distances(case.samples[:, ~missing])
    np.testing.assert_allclose(found.between, pairs_of(d, case.codes, 3).between, rtol=1e-12)
    case.samples[5, 3] = np.inf
    with pytest.raises(SampleValueError, match="sample 5, feature 3"):
        run_pairs(case.job(told))


def test_bad_places_of_an_embedding_are_named() -> None:
    case = Given(13, 20, 2, 3, "gaussian")
    case.embedding[17, 1] = np.nan
    totals = [DistanceTotals("t", ("samples", "embedding"), ALL)]
    with pytest.raises(SampleValueError, match="embedding: sample 17, component 1"):
        run_pairs(case.job(case.walk(PairWalk, totals)))


def test_a_bad_pair_of_a_function_is_named_by_both_samples() -> None:
    def one_sided(x: Any, y: Any) -> Any:
        found = np.abs(x[:, :1] - y[:, 0])
        return np.where((x[:, :1] == 3) & (y[:, 0] == 12), -1.0, found)

    case = Given(14, 20, 1, 2, "gaussian")
    case.samples = np.arange(20.0)[:, None]
    walk = PairWalk(
        "walk",
        {"samples": PlacedSpace(make_space(one_sided))},
        [GroupPairs("groups", "c", 2, TABLES, space="samples")],
        RowChoice(),
        n_features=1,
        tile_rows=8,
    )
    with pytest.raises(SampleValueError, match=r"sample 3 and sample 12: .*-1\.0"):
        run_pairs(case.job(walk))


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (lambda d: _put(d, (3, 12), np.nan), r"nan at \[3, 12\]"),
        (lambda d: _put(d, (12, 3), -1.0), r"-1\.0 at \[12, 3\]"),
        (lambda d: _put(d, (2, 11), 9.5), r"not symmetric: 9\.5 at \[2, 11\]"),
        (lambda d: _put(d, (10, 10), 0.5), r"0\.5 at \[10, 10\]"),
    ],
)
@pytest.mark.parametrize("side", [PairWalk, RowWalk])
def test_what_is_no_matrix_of_distances_is_refused(matrix: Any, text: str, side: Any) -> None:
    case = Given(15, 20, 2, 3, "gaussian")
    accumulators = case.kept()
    if side is PairWalk:
        accumulators = [GroupPairs("groups", "c", 3, TABLES, space="samples")]
    with pytest.raises(InputError, match=text):
        walked_matrix(case, side, accumulators, ArraySource(matrix(case.d())))


def _put(d: Floats, place: tuple[int, int], value: float) -> Floats:
    d = d.copy()
    d[place] = value
    return d


def test_silhouettes_of_sums() -> None:
    hits = np.array([2, 1, 0, 1])
    sums = np.array([[3.0, 0.0, 0.0, 1.0], [4.0, 0.0, 0.0, 1.0], [0, 0, 0, 0], [9.0, 2.0, 5.0, 0]])
    found = silhouettes_of(sums, np.array([0, 0, -1, 3]), hits)
    # a = b = 0, no group, and a group of one
    np.testing.assert_array_equal(found, [0.25, np.nan, np.nan, 0.0])
    alone = silhouettes_of(np.array([[3.0, 3.0]]), np.array([0, 0]), np.array([2]))
    assert np.isnan(alone).all()


def test_tiles_shrink_by_shape_alone() -> None:
    assert tile_rows_of(50) == 2048
    assert tile_rows_of(2048) == 2048
    assert tile_rows_of(2049) == 1024
    assert tile_rows_of(3, 10, 10_000) == 256
    assert tile_rows_of(10**9) == 128
    assert tile_rows_of() == 2048


def test_plans_say_what_a_walk_is() -> None:
    case = Given(16, 100, 3, 3, "gaussian")
    once = plan_pair_job(case.job(case.walk(PairWalk, case.accumulators())))
    twice = plan_pair_job(case.job(case.walk(RowWalk, case.kept())))
    assert once.job.n_pairs * 2 == twice.job.n_pairs
    kept = case.walk(RowWalk, case.kept())
    # sums and nearest, of 3 groups
    assert kept.workspace.kept_row_bytes == 8 * 2 * 3


def test_walks_over_unordered_pairs_keep_no_rows() -> None:
    walk = Given(17, 9, 2, 2, "gaussian").walk(PairWalk, [])
    for method in (walk.start, lambda b: walk.finish(b, {})):
        with pytest.raises(ValueError, match="keeps no rows"):
            method(None)

"""Walks that compare all samples with a few anchors: their sums, in any cut, and faults."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
import pytest
import reference_pairs as plain
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from passes import cut_by_hand
from unit_passes import TILE, Values, any_cut
from zarr.storage import MemoryStore

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.linear.walk import walk_window
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import Column, SampleVectors
from somscale.engine.readers.sources import ArraySource, ZarrSource
from somscale.errors import InputError, SampleValueError
from somscale.reductions.anchor_walk import AnchorRows, Anchors, AnchorWalk
from somscale.reductions.anchored import (
    AnchorGroups,
    AnchorSilhouettes,
    AnchorTotals,
    RowGroups,
    RowTotals,
)
from somscale.reductions.base import Rows
from somscale.reductions.distance_totals import DistanceTotals
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_walk import PairWalk, RowWalk
from somscale.reductions.sample_pairs import RowSilhouettes
from somscale.reductions.units import UnitsReduction
from somscale.spaces.base import Space
from somscale.spaces.function import FunctionSpace
from somscale.spaces.lookup import make_space
from somscale.spaces.mapped import MapSpace

ALL = frozenset({"d4", "sammon"})
GROUPS = 4


class Case:
    """Samples, their groups and their embedding, and some of them as anchors."""

    def __init__(
        self, n: int, d: int, numbers: ArrayLike, seed: int = 0, dtype: str = "float64"
    ) -> None:
        rng = np.random.default_rng(seed)
        self.samples = (3 * rng.standard_normal((n, d)) + 1).astype(dtype)
        self.groups = rng.integers(0, GROUPS, n)
        self.groups[:GROUPS] = np.arange(GROUPS)
        self.embedded = rng.standard_normal((n, 2))
        self.numbers = np.asarray(numbers, np.int64)
        self.options: dict[str, Any] = {}
        self.excluded: NDArray[np.bool_] | None = None
        self.space: Space = make_space("euclidean", center=np.ones(d))

    @property
    def columns(self) -> dict[str, Any]:
        n = len(self.samples)
        columns: dict[str, Any] = {
            "groups": Column(self.groups, 0, range(GROUPS)),
            "places": SampleVectors(self.embedded),
        }
        if self.excluded is not None:
            columns["out"] = Values(self.excluded)
        assert all(len(column) == n for column in columns.values())
        return columns

    @property
    def anchors(self) -> Anchors:
        columns = {name: column.values[self.numbers] for name, column in self.columns.items()}
        return Anchors(self.numbers, self.samples[self.numbers], columns)

    def walk(self, anchors: Anchors | None = None) -> AnchorWalk:
        n = len(self.samples)
        return AnchorWalk(
            "anchors",
            {
                "samples": PlacedSpace(self.space),
                "projection": PlacedSpace(make_space("euclidean"), "places", "the embedding"),
            },
            [
                RowTotals("totals", ("samples", "projection"), ALL),
                RowGroups("groups", "groups", GROUPS, space="samples"),
                AnchorSilhouettes("silhouettes", "groups", GROUPS, n, space="samples"),
            ],
            RowChoice(None if self.excluded is None else "out", **self.options),
            self.anchors if anchors is None else anchors,
        )

    def job(self, tile_rows: int = TILE) -> LinearJob:
        walk = self.walk()
        walk.tile_rows = tile_rows
        n, d = self.samples.shape
        return LinearJob([walk], n, d, source=ArraySource(self.samples), columns=self.columns)

    def found(self, cut: Cut | None = None, tile_rows: int = TILE) -> dict[str, Any]:
        job = self.job(tile_rows)
        whole = Cut("rows", 1 << 20, job.n_features, tile_rows)
        found: dict[str, Any] = cut_by_hand(job, cut or whole)[0]
        return found


def arrays_of(found: dict[str, Any]) -> dict[str, NDArray[Any]]:
    totals, groups = found["totals"], found["groups"]
    assert isinstance(totals, AnchorTotals)
    assert isinstance(groups, AnchorGroups)
    own = {name: getattr(groups, name) for name in ("numbers", "codes", "own", "hits")}
    values = {"values": found["silhouettes"].values, "n": np.asarray(found["n_samples"])}
    return {**totals.sums, **own, **values}


def assert_same_bits(found: dict[str, Any], expected: dict[str, Any]) -> None:
    left, right = arrays_of(found), arrays_of(expected)
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].tobytes() == right[name].tobytes(), name


def assert_sums(case: Case, found: dict[str, Any], taken: Sequence[int], name: Any) -> None:
    """Compare with whole tables over the samples that take part."""
    kept = np.asarray(taken)
    d = plain.distances(case.samples[kept], name)
    e = plain.distances(case.embedded[kept])
    own = np.flatnonzero(np.isin(kept, case.numbers))
    apart = d > 0
    ratio = np.divide((d - e) ** 2, d, out=np.zeros(d.shape), where=apart)
    expected: dict[str, NDArray[Any]] = {
        "d": d,
        "d2": d**2,
        "e": e,
        "e2": e**2,
        "de": d * e,
        "stress": (d - e) ** 2,
    }
    expected |= {"d4": d**4, "d2e": d**2 * e, "sammon": ratio, "collapsed": ~apart & (e > 0)}
    sums = found["totals"].sums
    assert sums.keys() == expected.keys()
    for key, table in expected.items():
        np.testing.assert_allclose(sums[key], table.sum(axis=1)[own], rtol=1e-10, err_msg=key)
    assert found["totals"].numbers.tolist() == kept[own].tolist()
    assert found["n_samples"] == len(kept)
    codes = case.groups[kept]
    same = codes[:, None] == codes
    np.testing.assert_allclose(found["groups"].own, (d * same).sum(axis=1)[own], rtol=1e-12)
    assert found["groups"].codes.tolist() == codes[own].tolist()
    assert found["groups"].hits.tolist() == np.bincount(codes, minlength=GROUPS).tolist()


# --- sums


@pytest.mark.parametrize(
    ("n", "d", "numbers"),
    [
        (9, 3, [0, 8]),
        (300, 12, [4, 127, 128, 299]),
        (131, 3, [130]),
        (140, 20, range(140)),
    ],
)
def test_sums_over_all_samples(n: int, d: int, numbers: ArrayLike) -> None:
    case = Case(n, d, numbers)
    assert_sums(case, case.found(), range(n), "euclidean")


def test_more_anchors_than_are_compared_at_a_time() -> None:
    case = Case(1300, 2, np.arange(100, 1250))
    assert_sums(case, case.found(tile_rows=2048), range(1300), "euclidean")


@pytest.mark.parametrize("name", ["sqeuclidean", "cityblock", "chebyshev", "cosine"])
def test_other_distances(name: str) -> None:
    case = Case(150, 12, [3, 70, 149])
    case.space = make_space(name)
    assert_sums(case, case.found(), range(150), name)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_samples_of_other_types(dtype: str) -> None:
    case = Case(100, 12, [3, 70], dtype=dtype)
    assert_sums(case, case.found(), range(100), "euclidean")


def test_samples_far_from_zero() -> None:
    case = Case(100, 12, [3, 70])
    near = case.found()
    case.samples = np.round(case.samples * 64) / 64
    near = case.found()
    case.samples = case.samples + 2.0**27
    case.space = make_space("euclidean", center=np.full(12, 2.0**27))
    far = case.found()
    np.testing.assert_allclose(far["totals"].sums["d"], near["totals"].sums["d"], rtol=1e-12)


def test_all_samples_as_anchors_find_what_walks_over_pairs_find() -> None:
    case = Case(220, 10, range(220))
    found = case.found()
    n, d = case.samples.shape
    walks: list[Any] = [
        PairWalk(
            "pairs",
            case.walk().spaces,
            [DistanceTotals("totals", ("samples", "projection"), ALL)],
            RowChoice(),
            n_features=d,
            tile_rows=128,
        ),
        RowWalk(
            "rows",
            {"samples": PlacedSpace(case.space)},
            [RowSilhouettes("silhouettes", "groups", GROUPS, n, space="samples")],
            RowChoice(),
            n_features=d,
            tile_rows=128,
        ),
    ]
    pairs, rows = (
        run_pairs(PairJob([walk], n, d, source=ArraySource(case.samples), columns=case.columns))[0]
        for walk in walks
    )
    for name, sums in found["totals"].sums.items():
        assert sums.sum() / 2 == pytest.approx(pairs["totals"][name], rel=1e-12), name
    np.testing.assert_allclose(
        found["silhouettes"].values, rows["silhouettes"].values, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(found["silhouettes"].sums, rows["silhouettes"].sums, rtol=1e-9)


def test_silhouettes_of_samples_that_are_no_anchors_are_unknown() -> None:
    case = Case(60, 3, [5, 20, 41])
    values = case.found()["silhouettes"].values
    assert np.flatnonzero(~np.isnan(values)).tolist() == [5, 20, 41]


def test_mean_distances_within_groups() -> None:
    groups = AnchorGroups(
        np.arange(3), np.array([0, 1, -1]), np.array([6.0, 0.0, 2.0]), np.array([4, 1])
    )
    np.testing.assert_array_equal(groups.mean_distances(), [2, 0, np.nan])


def test_totals_that_were_not_asked_for_are_left_out() -> None:
    case = Case(20, 3, [5])
    walk = case.walk()
    accumulator = RowTotals("totals", ("samples", "projection"), frozenset({"de"}))
    walk.accumulators = [accumulator]
    job = LinearJob([walk], 20, 3, source=ArraySource(case.samples), columns=case.columns)
    sums = run_job(job)[0]["totals"].sums
    assert set(sums) == {"d", "d2", "e", "e2", "de", "stress"}


def test_an_anchor_is_at_no_distance_from_itself() -> None:
    case = Case(130, 3, [0, 129])
    case.space = FunctionSpace(lambda a, b: np.ones((len(a), len(b))))
    found = case.found()
    assert found["totals"].sums["d"].tolist() == [129, 129]


def test_units_that_another_reduction_publishes() -> None:
    case = Case(200, 5, [7, 99])
    codes = case.samples[[1, 50, 120]].astype(np.float64)
    delta = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    bmu = plain.best_units(case.samples, codes)
    anchors = Anchors(case.numbers, case.samples[case.numbers], {"map": bmu[case.numbers]})
    spaces = {
        "samples": PlacedSpace(case.space),
        "map": PlacedSpace(MapSpace.from_table(delta), "map", "units"),
    }
    totals = RowTotals("totals", ("samples", "map"), frozenset({"de"}))
    reductions: list[Any] = [
        UnitsReduction(codes, name="map"),
        AnchorWalk("anchors", spaces, [totals], RowChoice(), anchors),
    ]
    job = LinearJob(reductions, 200, 5, source=ArraySource(case.samples))
    found = run_job(job)[1]
    d, e = plain.distances(case.samples), plain.map_distances(bmu, delta)
    expected = (d * e).sum(axis=1)[case.numbers]
    np.testing.assert_allclose(found["totals"].sums["de"], expected, rtol=1e-12)


# --- the same bits in any cut


@settings(max_examples=50, deadline=None)
@given(data=st.data(), n=st.integers(4, 40), d=st.integers(1, 12))
def test_same_bits_in_any_cut(data: st.DataObject, n: int, d: int) -> None:
    case = Case(n, d, np.arange(0, n, 3), seed=n + 100 * d)
    case.excluded = np.random.default_rng(n).random(n) < 0.2
    case.excluded[case.numbers] = False
    assert_same_bits(case.found(data.draw(any_cut(d))), case.found())


@pytest.mark.parametrize(("name", "d"), [("euclidean", 40), ("euclidean", 5), ("cosine", 40)])
def test_same_bits_of_any_part_of_a_long_tile(name: str, d: int) -> None:
    case = Case(700, d, range(3, 700, 11))
    case.space = make_space(name)
    whole = case.found(tile_rows=1024)
    for piece in (1, 63, 64, 128, 130, 257):
        cut = Cut("rows", 1, 4, piece, read_rows=257)
        assert_same_bits(case.found(cut, tile_rows=1024), whole)
    assert_same_bits(case.found(Cut("features", 1, 3, 1), tile_rows=1024), whole)


@pytest.mark.parametrize("form", ["zarr", "dask"])
@pytest.mark.parametrize("chunks", [(13, 5), (64, 12), (200, 4)])
def test_same_bits_wherever_samples_are(form: str, chunks: tuple[int, int]) -> None:
    case = Case(200, 12, range(1, 200, 9))
    job = case.job()
    walk: Any = job.reductions[0]
    walk.operations = 2e10  # so dear that every tile may be a task
    stored: Any = {
        "source": ZarrSource(zarr.create_array(MemoryStore(), data=case.samples, chunks=chunks))
    }
    if form == "dask":
        stored = {"source": None, "blocks": Blocks.of(da.from_array(case.samples, chunks=chunks))}
    assert_same_bits(run_job(replace(job, **stored))[0], case.found())


def test_a_tile_may_go_on_in_another_task() -> None:
    case = Case(8, 10, [1, 6])
    job = case.job()
    cut = Cut("rows", 1, 3, TILE)
    first = walk_window(job, cut, (0, 5), None)
    last = walk_window(job, cut, (5, 8), pickle.loads(pickle.dumps(first)))
    assert_same_bits(job.reductions[0].finalize(last[0]), case.found())


def test_a_walk_pickles_without_what_it_made_of_its_anchors() -> None:
    case = Case(40, 10, [1, 6])
    walk = case.walk()
    before = len(pickle.dumps(walk))
    expected = case.found()
    again = pickle.loads(pickle.dumps(walk))
    assert walk.numbers.tolist() == [1, 6]
    assert len(pickle.dumps(walk)) == before
    job = case.job()
    again.tile_rows = TILE
    moved = LinearJob([again], 40, 10, source=job.source, columns=job.columns)
    assert_same_bits(cut_by_hand(moved, Cut("rows", 4, 10, TILE))[0], expected)


# --- samples that take no part, and faults


@settings(max_examples=20, deadline=None)
@given(n=st.integers(12, 200), seed=st.integers(0, 99))
def test_samples_left_out_change_nothing(n: int, seed: int) -> None:
    case = Case(n, 3, [0, 5, 9], seed)
    case.excluded = np.random.default_rng(seed).random(n) < 0.4
    case.excluded[[0, 9]] = False
    case.samples[case.excluded] = [np.nan, np.inf, 1e300]
    found = case.found()
    assert_sums(case, found, np.flatnonzero(~case.excluded).tolist(), "euclidean")


def test_tiles_whose_samples_are_all_left_out_are_not_read() -> None:
    case = Case(40, 3, [0, 39])
    case.excluded = (np.arange(40) >= 8) & (np.arange(40) < 24)
    taken = np.flatnonzero(~case.excluded)
    assert_sums(case, case.found(), taken.tolist(), "euclidean")
    walk = case.walk()
    for first, wanted in ((0, True), (8, False), (16, False), (24, True)):
        rows = Rows(first, first + 8, columns={"out": case.excluded[first : first + 8]})
        assert walk.wants(0, walk.begin(rows, {})) == wanted


def test_samples_and_features_with_gaps() -> None:
    case = Case(50, 12, [3, 20, 30])
    case.samples[[3, 11], 1] = np.nan
    case.options = {"missing": "drop_any_sample"}
    taken = [i for i in range(50) if i not in (3, 11)]
    found = case.found()
    assert found["totals"].numbers.tolist() == [20, 30]
    assert_sums(case, found, taken, "euclidean")
    case = Case(50, 12, [3, 20, 30])
    case.space = make_space("euclidean")
    case.samples[:, 4] = case.samples[11] = np.nan
    features = np.arange(12) == 4
    case.options = {"missing": "drop", "missing_features": features}
    found = case.found()
    case.samples = case.samples[:, ~features]
    assert_sums(case, found, [i for i in range(50) if i != 11], "euclidean")


@pytest.mark.parametrize("d", [3, 12])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "nan"), (np.inf, "inf"), (1e200, "1e.200")])
@pytest.mark.parametrize("number", [130, 141])
def test_faulty_samples_are_named(value: float, words: str, d: int, number: int) -> None:
    case = Case(150, d, [2, 141])
    case.samples[number, 2] = value
    with pytest.raises(SampleValueError, match=f"sample {number}, feature 2 is {words}"):
        case.found()


def test_faulty_places_are_named() -> None:
    case = Case(150, 3, [2, 141])
    case.embedded[130, 1] = np.nan
    with pytest.raises(SampleValueError, match="the embedding: sample 130, component 1 is nan"):
        case.found()


def test_faulty_distances_are_named() -> None:
    case = Case(150, 1, [2, 141])
    case.samples[:, 0] = np.arange(150)
    case.excluded = np.arange(150) == 3
    case.space = FunctionSpace(
        lambda a, b: np.where((a == 137) & (b.T == 141), np.nan, np.abs(a - b.T))
    )
    with pytest.raises(SampleValueError, match="sample 137 and sample 141: distance function"):
        case.found()


def test_anchors_that_fit_nothing() -> None:
    with pytest.raises(InputError, match="in the order of their numbers"):
        Anchors(np.array([3, 3]), np.zeros((2, 2)))
    with pytest.raises(InputError, match="2 anchors have 3 rows of 'codes'"):
        Anchors(np.array([3, 4]), np.zeros((2, 2)), {"codes": np.zeros(3)})


# --- anchors


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(1, 40), d=st.integers(1, 5))
def test_anchors_are_read_in_any_cut(data: st.DataObject, n: int, d: int) -> None:
    numbers = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    samples = np.random.default_rng(n).standard_normal((n, d)).astype(np.float32)
    reduction = AnchorRows(numbers, d)
    reduction.tile_rows = TILE
    job = LinearJob([reduction], n, d, source=ArraySource(samples))
    anchors = cut_by_hand(job, data.draw(any_cut(d)))[0]
    assert anchors.numbers.tolist() == numbers.tolist()
    np.testing.assert_array_equal(anchors.values, samples[numbers])


def test_a_walk_is_planned_before_its_anchors_are_read() -> None:
    case = Case(40, 10, [1, 6])
    planned = case.walk(Anchors.planned(case.numbers, 10))
    walk = planned.meeting(case.anchors)
    assert planned.numbers.tolist() == walk.numbers.tolist()
    assert planned.fields == walk.fields
    assert planned.operations == walk.operations > 0
    assert planned.workspace == walk.workspace
    n, d = case.samples.shape
    job = LinearJob([walk], n, d, source=ArraySource(case.samples), columns=case.columns)
    assert_sums(case, run_job(job)[0], range(40), "euclidean")

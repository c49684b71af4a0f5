"""Passes: the same bits from any input, cut and scheduler; memory, reading, faults, restarts."""

from __future__ import annotations

import pickle
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import tiled_unit_sums
from strategies import KINDS, Case, cases, cuts
from zarr.storage import LocalStore, MemoryStore, WrapperStore

from somscale.engine import run as run_module
from somscale.engine.cutting import LinearPlan, plan_linear
from somscale.engine.job import Cut, LinearJob
from somscale.engine.run import lazy_pass, plan_job, run_job
from somscale.engine.sources import (
    ArraySource,
    BlocksSource,
    MemmapSource,
    Source,
    XarraySource,
    ZarrSource,
)
from somscale.engine.walk import walk_run
from somscale.errors import InputError, MemoryBudgetError, SampleValueError
from somscale.options import set_options
from somscale.reductions.merge import Fold
from somscale.reductions.units import UnitsReduction, UnitStats

TILE = 8
FORMS = ("numpy", "zarr", "dask")
SCHEDULERS = ("serial", "threads", "processes", "distributed")
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """A cluster of two processes on this machine."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture
def on(request: pytest.FixtureRequest) -> Iterator[str]:
    """The scheduler that a test asks for, in force."""
    scheduler: str = request.param
    if scheduler == "distributed":
        request.getfixturevalue("cluster")
    with set_options(scheduler=scheduler, workers=2):
        yield scheduler


on_each_scheduler = pytest.mark.parametrize("on", SCHEDULERS, indirect=True)
# starting processes takes seconds, and a cluster's workers are processes too
on_most_schedulers = pytest.mark.parametrize(
    "on", ["serial", "threads", "distributed"], indirect=True
)


def units(codes: NDArray[np.float64], name: str = "units") -> UnitsReduction:
    """A reduction whose tiles are small, and so dear that every tile may be a task."""
    reduction = UnitsReduction(codes, samplewise=True, name=name)
    reduction.tile_rows, reduction.operations = TILE, 2e10
    return reduction


def job_of(case: Case, source: Source | None = None, blocks: da.Array | None = None) -> LinearJob:
    if source is None and blocks is None:
        source = ArraySource(case.samples)
    return LinearJob([units(case.codes)], *case.samples.shape, source=source, blocks=blocks)


def in_form(
    form: str, case: Case, rows: Sequence[int], columns: Sequence[int], store: Any = None
) -> LinearJob:
    """A job on the samples as an array in memory, in Zarr, or in a Dask array, so chunked."""
    if form == "numpy":
        return job_of(case)
    if form == "dask":
        return job_of(case, blocks=da.from_array(case.samples, chunks=(tuple(rows), tuple(columns))))
    chunks = (max(rows), max(columns))
    array = zarr.create_array(store or MemoryStore(), data=case.samples, chunks=chunks)
    return job_of(case, ZarrSource(array))


def gaussian(n: int = 60, d: int = 5, k: int = 7, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    return Case("gaussian", rng.standard_normal((n, d)), rng.standard_normal((k, d)))


def cut_by_hand(job: LinearJob, cut: Cut) -> list[Any]:
    """Walk every run of a cut here and fold the runs."""
    folds = [Fold(r.fields) for r in job.reductions]
    for run in range(cut.runs(job)):
        for fold, partial in zip(folds, walk_run(job, cut, run), strict=True):
            fold.add(cut.run_tiles.bit_length() - 1, run, partial)
    totals = [fold.result() for fold in folds]
    return [r.finalize(t) for r, t in zip(job.reductions, totals, strict=True) if t is not None]


def whole(case: Case) -> UnitStats:
    """What one run over all tiles finds."""
    job = job_of(case)
    stats: UnitStats = cut_by_hand(job, Cut("rows", 64, case.samples.shape[1], TILE))[0]
    return stats


def assert_same_bits(found: UnitStats, expected: UnitStats) -> None:
    for item in fields(UnitStats):
        left, right = getattr(found, item.name), getattr(expected, item.name)
        assert np.asarray(left).dtype == np.asarray(right).dtype, item.name
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes(), item.name


# --- the same bits


@given(case=cases())
def test_sums_are_rounded_as_documented(case: Case) -> None:
    stats, expected = whole(case), tiled_unit_sums(case.samples, case.codes, TILE)
    for name, sums in expected.items():
        np.testing.assert_array_equal(getattr(stats, name), sums)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data())
def test_any_cut_gives_the_same_bits(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases([kind]))
    cut = Cut(
        data.draw(st.sampled_from(["rows", "features"])),
        data.draw(st.sampled_from([1, 2, 4, 8])),
        data.draw(st.integers(1, case.samples.shape[1] + 1)),
        data.draw(st.integers(1, TILE)),
    )
    assert_same_bits(cut_by_hand(job_of(case), cut)[0], whole(case))


@each_form
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@settings(max_examples=20)
@given(data=st.data())
def test_any_chunks_give_the_same_bits(form: str, scheduler: str, data: st.DataObject) -> None:
    case = data.draw(cases())
    n, d = case.samples.shape
    job = in_form(form, case, data.draw(cuts(n)), data.draw(cuts(d, 3)))
    with set_options(scheduler=scheduler, workers=2):
        assert_same_bits(run_job(job)[0], whole(case))


@on_each_scheduler
@each_form
def test_any_scheduler_gives_the_same_bits(form: str, on: str, tmp_path: Path) -> None:
    case = gaussian()
    job = in_form(form, case, (8, 16, 3, 16, 16, 1), (2, 3), LocalStore(tmp_path / "x.zarr"))
    assert plan_job(job).tasks > 1
    assert_same_bits(run_job(job)[0], whole(case))


@on_most_schedulers
def test_two_maps_in_one_pass_are_as_each_alone(on: str) -> None:
    case, other = gaussian(), gaussian(k=3, seed=1)
    job = job_of(case)
    both = replace(job, reductions=[*job.reductions, units(other.codes, "other")])
    first, second = run_job(both)
    assert_same_bits(first, whole(case))
    assert_same_bits(second, whole(replace(other, samples=case.samples)))


@pytest.mark.parametrize("on", ["threads", "distributed"], indirect=True)
@each_form
def test_a_lazy_pass_gives_the_same_bits_later(form: str, on: str, tmp_path: Path) -> None:
    case = gaussian()
    job = in_form(form, case, (20, 40), (2, 3), LocalStore(tmp_path / "x.zarr"))
    lazy = lazy_pass(job, uuid.uuid4().hex)
    names = [name for _, name in lazy.pieces]
    parts = [[node for node, _ in pieces] for pieces in lazy.pieces.values()]
    scheduler = {} if on == "distributed" else {"scheduler": on}
    (stats,), *arrays = dask.compute(lazy.stats, *parts, **scheduler)
    values = {name: np.concatenate(array) for name, array in zip(names, arrays, strict=True)}
    assert [sum(rows for _, rows in pieces) for pieces in lazy.pieces.values()] == [60] * 3
    assert_same_bits(replace(stats, **values), whole(case))


@settings(max_examples=20)
@given(case=cases(samples=(1, 3)), scheduler=st.sampled_from(["serial", "threads"]))
def test_fewer_samples_than_a_tile(case: Case, scheduler: str) -> None:
    with set_options(scheduler=scheduler):
        assert_same_bits(run_job(job_of(case))[0], whole(case))


def test_distributed_needs_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_client", lambda: None)
    with (
        set_options(scheduler="distributed"),
        pytest.raises(InputError, match="needs a running cluster"),
    ):
        run_job(job_of(gaussian()))


# --- sources


@pytest.mark.parametrize("order", ["C", "F"])
def test_sources_read_what_slicing_gives(tmp_path: Path, order: Any) -> None:
    values = np.asarray(np.random.default_rng(1).standard_normal((30, 7)), order=order)
    mapped = np.memmap(tmp_path / "x.bin", np.float64, "w+", shape=(30, 7), order=order)
    mapped[:] = values
    mapped.flush()
    part = MemmapSource.of(mapped[4:] if order == "C" else mapped[:, 2:])
    assert part is not None
    expected = values[4:] if order == "C" else values[:, 2:]
    np.testing.assert_array_equal(part.read(slice(1, 9), slice(2, 5)), expected[1:9, 2:5])
    edges = [(0, 11, 12, 30), (0, 2, 7)]
    blocks = [[values[a:b, :2], values[a:b, 2:]] for a, b in [(0, 11), (11, 12), (12, 30)]]
    whole_map = MemmapSource.of(mapped)
    assert whole_map is not None
    sources: list[Source] = [
        ArraySource(values),
        whole_map,
        ZarrSource(zarr.create_array(MemoryStore(), data=values, chunks=(11, 2))),
        XarraySource(xr.DataArray(values, dims=("sample", "feature"))),
        BlocksSource(blocks, 0),
    ]
    for source in (pickle.loads(pickle.dumps(s)) for s in sources):
        assert (source.shape, source.dtype) == ((30, 7), np.float64)
        for rows in [slice(0, 30), slice(10, 13), *map(slice, edges[0], edges[0][1:])]:
            for columns in [slice(0, 7), slice(1, 3), *map(slice, edges[1], edges[1][1:])]:
                np.testing.assert_array_equal(source.read(rows, columns), values[rows, columns])


def test_blocks_keep_their_global_row_numbers() -> None:
    source = BlocksSource([[np.full((3, 2), 1.0)], [np.full((2, 2), 2.0)]], 10)
    assert source.shape == (15, 2)
    assert source.read(slice(12, 14), slice(1, 2)).tolist() == [[1], [2]]


def test_a_view_that_a_file_cannot_tell_is_no_memmap_source(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "x.bin", np.float64, "w+", shape=(6, 4))
    assert MemmapSource.of(mapped[::2]) is None
    assert MemmapSource.of(mapped[:, 1:]) is None


# --- faulty samples


@pytest.mark.parametrize(
    ("form", "on"),
    [*product(FORMS, ["serial", "threads", "distributed"]), ("zarr", "processes")],
    indirect=["on"],
)
def test_the_first_faulty_entry_is_named_on_every_scheduler(
    form: str, on: str, tmp_path: Path
) -> None:
    case = gaussian()
    case.samples[[44, 43, 43, 51], [0, 4, 2, 1]] = [np.nan, 1e300, -np.inf, np.nan]
    job = in_form(form, case, (16, 44), (2, 3), LocalStore(tmp_path / "x.zarr"))
    with pytest.raises(SampleValueError) as caught:
        run_job(job)
    assert str(caught.value) == (
        "the samples hold infinity at sample 43, feature 2 (3 samples are affected); "
        "drop or fill such samples first"
    )


@given(
    entries=st.lists(
        st.tuples(
            st.integers(0, 59),
            st.integers(0, 4),
            st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300]),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda entry: entry[:2],
    ),
    order=st.sampled_from(["rows", "features"]),
    slab=st.integers(1, 5),
    piece=st.integers(1, TILE),
)
def test_the_first_faulty_entry_is_named_in_any_cut(
    entries: list[tuple[int, int, float]], order: Any, slab: int, piece: int
) -> None:
    case = gaussian()
    for sample, feature, value in entries:
        case.samples[sample, feature] = value
    sample, feature, value = min(entries)
    kind = "nan" if np.isnan(value) else "infinity" if np.isinf(value) else "a value too large"
    with pytest.raises(SampleValueError, match=f"{kind}.* at sample {sample}, feature {feature} "):
        cut_by_hand(job_of(case), Cut(order, 2, slab, piece))


# --- what is kept of a pass that failed


@dataclass(frozen=True)
class FolderSink:
    """Keeps every run in a file of its own; a run stored twice is an error."""

    folder: Path

    def _path(self, key: str) -> Path:
        return self.folder / key.replace("/", "-")

    def get(self, key: str) -> Any:
        path = self._path(key)
        return pickle.loads(path.read_bytes()) if path.exists() else None

    def put(self, key: str, partials: Any) -> None:
        with self._path(key).open("xb") as file:
            pickle.dump(partials, file)


@dataclass(frozen=True)
class LoggedSource(ArraySource):
    """Notes the first row of every read, and fails to read a given row."""

    log: Path = Path()
    broken: int = -1

    def read(self, rows: slice, features: slice) -> Any:
        (self.log / uuid.uuid4().hex).write_text(str(rows.start))
        if rows.start <= self.broken < rows.stop:
            raise OSError("this row cannot be read")
        return super().read(rows, features)

    def reads(self) -> list[int]:
        """The first rows read since last asked."""
        starts = []
        for path in self.log.iterdir():
            starts.append(int(path.read_text()))
            path.unlink()
        return sorted(starts)


@pytest.fixture
def kept(tmp_path: Path) -> tuple[FolderSink, Path]:
    """A sink, and a folder for the log of reads."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "log").mkdir()
    return FolderSink(tmp_path / "runs"), tmp_path / "log"


@pytest.mark.parametrize("failing", [0, 3, 7])
def test_a_failed_pass_goes_on_where_it_stopped(
    kept: tuple[FolderSink, Path], failing: int
) -> None:
    sink, log = kept
    case = gaussian()
    source = LoggedSource(case.samples, log=log, broken=failing * TILE + 2)
    with set_options(scheduler="serial"):
        with pytest.raises(OSError, match="this row cannot be read"):
            run_job(job_of(case, source), sink=sink, token="a")
        assert source.reads() == [run * TILE for run in range(failing + 1)]
        stats = run_job(job_of(case, replace(source, broken=-1)), sink=sink, token="a")[0]
    assert source.reads() == [run * TILE for run in range(failing, 8)]
    assert_same_bits(stats, whole(case))


@on_most_schedulers
def test_only_runs_that_are_not_kept_are_computed(
    kept: tuple[FolderSink, Path], on: str
) -> None:
    sink, log = kept
    case = gaussian()
    source = LoggedSource(case.samples, log=log)
    run_job(job_of(case, source), sink=sink, token="a")
    assert source.reads() == [run * TILE for run in range(8)]
    for run in (1, 4, 5):
        next(sink.folder.glob(f"*-{run}")).unlink()
    stats = run_job(job_of(case, source), sink=sink, token="a")[0]
    assert source.reads() == [8, 32, 40]
    assert_same_bits(stats, whole(case))
    run_job(job_of(case, source), sink=sink, token="another job")
    assert len(source.reads()) == 8


@pytest.mark.parametrize("on", ["threads", "distributed"], indirect=True)
def test_a_failed_pass_may_be_tried_again_at_once(on: str, tmp_path: Path) -> None:
    case = gaussian()
    broken = LoggedSource(case.samples, log=tmp_path, broken=30)
    with pytest.raises(OSError, match="this row cannot be read"):
        run_job(job_of(case, broken), token="a")
    assert_same_bits(run_job(job_of(case, replace(broken, broken=-1)), token="a")[0], whole(case))


# --- memory


@dataclass(frozen=True)
class UnreadSource:
    """Samples of which only sizes may be asked."""

    shape: tuple[int, int]
    chunks: tuple[int, int]
    dtype: np.dtype[Any] = np.dtype(np.float32)
    resident: bool = False

    def read(self, rows: slice, features: slice) -> Any:
        raise AssertionError("a plan reads nothing")


def unread_job(shape: tuple[int, int], chunks: tuple[int, int], n_units: int = 4) -> LinearJob:
    reduction = UnitsReduction(np.zeros((n_units, shape[1])), samplewise=True)
    return LinearJob([reduction], *shape, source=UnreadSource(shape, chunks))


MEBIBYTE = 1 << 20


def smallest_budget(error: MemoryBudgetError) -> int:
    named = re.search(r"memory_budget='(\d+)MiB'", str(error))
    assert named is not None
    return int(named[1]) * MEBIBYTE


@settings(max_examples=40)
@given(
    n=st.integers(1, 3_000_000),
    d=st.integers(1, 5000),
    chunks=st.tuples(st.integers(1, 100_000), st.integers(1, 5000)),
    n_units=st.sampled_from([1, 100, 2500]),
    threads=st.integers(1, 4),
    fixed=st.booleans(),
)
def test_the_smallest_budget_named_is_the_smallest(
    n: int, d: int, chunks: tuple[int, int], n_units: int, threads: int, fixed: bool
) -> None:
    job = unread_job((n, d), (min(chunks[0], n), min(chunks[1], d)), n_units)
    arguments: Any = {"baseline": 77 * MEBIBYTE, "threads": threads, "fixed_threads": fixed}
    with pytest.raises(MemoryBudgetError, match=r"\(77 MiB of it held") as caught:
        plan_linear(job, budget=1, **arguments)
    smallest = smallest_budget(caught.value)
    plan = plan_linear(job, budget=smallest, **arguments)
    assert plan.memory.peak <= smallest
    with pytest.raises(MemoryBudgetError):
        plan_linear(job, budget=smallest - MEBIBYTE, **arguments)


def test_a_job_that_cannot_fit_is_refused_unread_and_the_named_budget_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "baseline_bytes", lambda: 50 * MEBIBYTE)
    job = unread_job((10_000, 30), (1000, 30))
    with set_options(memory_budget="60MiB"):
        for refused in (run_job, plan_job, lambda j: lazy_pass(j, "a")):
            with pytest.raises(MemoryBudgetError) as caught:
                refused(job)
    rng = np.random.default_rng(2)
    samples = rng.standard_normal((10_000, 30)).astype(np.float32)
    array = zarr.create_array(MemoryStore(), data=samples, chunks=(1000, 30))
    reduction = UnitsReduction(rng.standard_normal((4, 30)), samplewise=True)
    held, stored = (
        LinearJob([reduction], 10_000, 30, source=source)
        for source in (ArraySource(samples), ZarrSource(array))
    )
    with set_options(memory_budget=smallest_budget(caught.value)):
        tight = run_job(stored)[0]
    with set_options(memory_budget="4GiB"):
        assert_same_bits(tight, run_job(held)[0])


# --- reading


class CountingStore(WrapperStore[MemoryStore]):
    """Counts how often each chunk is fetched."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.fetched: Counter[str] = Counter()

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if not key.endswith("zarr.json"):
            self.fetched[key] += 1
        return await super().get(key, prototype, byte_range)


def counted(samples: NDArray[Any], chunks: tuple[int, int]) -> tuple[CountingStore, ZarrSource]:
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, data=samples, chunks=chunks)
    store.fetched.clear()
    return store, ZarrSource(array)


@pytest.mark.parametrize("n_maps", [1, 2])
@pytest.mark.parametrize("chunks", [(8, 5), (16, 2), (60, 1), (24, 5), (10, 3), (7, 5)])
@pytest.mark.parametrize("on", ["serial", "threads"], indirect=True)
def test_every_chunk_is_read_once(on: str, chunks: tuple[int, int], n_maps: int) -> None:
    case = gaussian()
    store, source = counted(case.samples, chunks)
    maps = [units(gaussian(seed=seed).codes, f"map {seed}") for seed in range(n_maps)]
    job = replace(job_of(case, source), reductions=maps)
    plan = plan_job(job)
    assert plan.bytes_read == plan.bytes_stored == case.samples.nbytes
    assert plan.tasks == {8: 8, 16: 4}.get(chunks[0], 1)
    run_job(job)
    n_chunks = -(-60 // chunks[0]) * -(-5 // chunks[1])
    assert store.fetched.total() == len(store.fetched) == n_chunks


def wide_case(n: int = 64, d: int = 4096) -> Case:
    """Samples so close to their codes that single precision leaves no unit open."""
    rng = np.random.default_rng(3)
    codes = 10 * rng.standard_normal((3, d))
    samples = codes[rng.integers(0, 3, n)] + 0.1 * rng.standard_normal((n, d))
    return Case("wide", samples.astype(np.float32), codes)


def plan_by_features(job: LinearJob) -> LinearPlan:
    """The plan for the largest budget that does not hold a task's rows whole."""
    for budget in range(60 * MEBIBYTE, 20 * MEBIBYTE, -MEBIBYTE // 16):
        plan = plan_linear(job, budget=budget, baseline=0, threads=1)
        if plan.cut.order == "features":
            return plan
    raise AssertionError("no budget makes the plan walk by features")


@pytest.mark.parametrize("chunks", [(64, 512), (32, 512), (16, 128)])
def test_a_walk_by_features_reads_what_its_plan_says(chunks: tuple[int, int]) -> None:
    case = wide_case()
    store, source = counted(case.samples, chunks)
    job = job_of(case, source)
    plan = plan_by_features(job)
    stats = cut_by_hand(job, plan.cut)[0]
    assert store.fetched.total() * 4 * chunks[0] * chunks[1] == plan.bytes_read
    assert_same_bits(stats, whole(case))

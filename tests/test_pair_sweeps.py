"""Walks in sweeps: kept rows meet all samples, once or twice, and always give the same bits."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import sweep_cases
import zarr
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from keeping import keeping
from pair_cases import (
    KINDS,
    SQUARES,
    TILE,
    TILES,
    WHOLE_WALK,
    CountingSource,
    D,
    N,
    RowSums,
    assert_same_bits,
    distances,
    samples,
)
from pair_cases import reset as reset_pairs
from sweep_cases import (
    ONCE,
    TWICE,
    WIDE,
    NearCounts,
    assert_found,
    codes_of,
    drawn,
    expected,
    reference,
    square,
    sweep_job,
)

from somscale.engine import where
from somscale.engine.linear.cutting import MOST_TASKS
from somscale.engine.pairs import cutting
from somscale.engine.pairs.cutting import PairPlan, plan_pairs
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.memory import project_pairs
from somscale.engine.pairs.run import lazy_pairs, pair_total_later, plan_pair_job, run_pairs
from somscale.engine.planview import Plan
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.sources import ArraySource, RegularChunks, ZarrSource
from somscale.errors import InputError, MemoryBudgetError
from somscale.options import set_options
from somscale.reductions.anchor_walk import Anchors
from somscale.reductions.base import Block, Way

MIB = 1 << 20
SOME = (0, 3, 4, 11, 12, 13, 40, 41, 77, 90, 104, 105, 106)

MATRICES = {
    "numpy": lambda m, _: ArraySource(m),
    "zarr": lambda m, path: ZarrSource(zarr.create_array(path, data=m, chunks=(13, 20))),
    "dask": lambda m, _: da.from_array(m, chunks=(11, 30)),
}


@pytest.fixture(autouse=True)
def fresh_counts() -> Iterator[None]:
    sweep_cases.reset()
    reset_pairs()
    yield
    sweep_cases.reset()
    reset_pairs()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as found:
        yield found


def all_distances(values: np.ndarray) -> np.ndarray:
    everything = Block(0, len(values), values)
    return distances(everything, everything)


# --- what is computed


@pytest.mark.parametrize("operations", [WHOLE_WALK, SQUARES, TILES])
@pytest.mark.parametrize("way", [ONCE, TWICE, WIDE])
def test_sweeps_equal_plain_numpy(way: Way, operations: float) -> None:
    with set_options(scheduler="serial"):
        found = run_pairs(sweep_job(way, operations=operations))[0]
    assert_found(found, expected(all_distances(samples())))
    groups = [n for tile in range(0, N, TILE) for n in range(tile, min(tile + TILE, N), 3)]
    if way is ONCE:
        assert NearCounts.starts == groups
    tasks = {WHOLE_WALK: 1, SQUARES: 7, TILES: 14}[operations]
    assert NearCounts.prepared == [(0, N)] * tasks, "samples at hand are made ready once a task"


@given(n=st.integers(2, 4 * TILE + 1), operations=st.sampled_from([1e8, 1e10]))
def test_any_number_of_samples(n: int, operations: float) -> None:
    values = samples(n)
    for way in (ONCE, TWICE):
        with set_options(scheduler="serial"):
            found = run_pairs(sweep_job(way, operations=operations, values=values))[0]
        assert_same_bits(found, reference(values=values))


@given(
    rows=st.lists(st.integers(1, 12), min_size=1, max_size=6).filter(lambda rows: sum(rows) > 1),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
    operations=st.sampled_from([1e8, 1e10]),
    way=st.sampled_from([ONCE, TWICE]),
)
def test_any_chunks(rows: list[int], columns: tuple[int, ...], operations: float, way: Way) -> None:
    values = samples(sum(rows))
    blocks = Blocks.of(da.from_array(values, chunks=(tuple(rows), columns)))
    with set_options(scheduler="serial"):
        found = run_pairs(sweep_job(way, operations=operations, values=values, blocks=blocks))[0]
    assert_same_bits(found, reference(values=values))


@pytest.mark.parametrize("kept", [None, SOME])
@pytest.mark.parametrize("way", [ONCE, TWICE])
@pytest.mark.parametrize("kind", MATRICES)
def test_rows_of_a_matrix_that_is_not_symmetric(
    kind: str, way: Way, kept: tuple[int, ...] | None, tmp_path: Path
) -> None:
    matrix = MATRICES[kind](square(), tmp_path / "m.zarr")
    numbers = None if kept is None else np.array(kept)
    rows = None if numbers is None else Anchors.planned(numbers, 0)
    job = sweep_job(way, operations=TILES, matrix=matrix, kept=rows)
    bits = reference(matrix=ArraySource(square()), kept=rows)
    assert_found(bits, expected(square(), numbers))
    for scheduler in ("serial", "threads"):
        with set_options(scheduler=scheduler, workers=3):
            assert plan_pair_job(job).tasks == -(-(N if kept is None else len(kept)) // TILE)
            assert_same_bits(run_pairs(job)[0], bits)


# --- kept rows that are given


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [ONCE, TWICE])
def test_kept_rows_that_were_drawn(way: Way, kind: str, tmp_path: Path) -> None:
    given_as = KINDS[kind](samples(), tmp_path / "x.zarr")
    job = sweep_job(way, operations=TILES, kept=drawn(*SOME), **given_as)
    assert (job.n_kept, job.n_tiles, job.sample_tiles) == (13, 2, 14)
    assert job.n_pairs == 13 * (N - 1)
    wanted = expected(all_distances(samples()), np.array(SOME))
    assert_found(reference(kept=drawn(*SOME)), wanted)
    for scheduler in ("serial", "threads"):
        with set_options(scheduler=scheduler, workers=2):
            assert_same_bits(run_pairs(job)[0], reference(kept=drawn(*SOME)))
    if kind == "numpy":
        assert set(NearCounts.prepared) == {(0, N)}


def test_columns_may_come_with_kept_rows() -> None:
    anchors = drawn(*SOME)
    codes = np.full(len(SOME), 2)
    anchors = Anchors(anchors.numbers, anchors.values, {"code": codes})
    found = run_pairs(sweep_job(ONCE, kept=anchors))[0]
    np.testing.assert_array_equal(found["codes"], codes)
    np.testing.assert_array_equal(found["numbers"], SOME)


def test_rows_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(InputError, match="of 107 samples; number them from 0 to 106"):
        sweep_job(ONCE, kept=Anchors.planned(np.array([3, N]), D))
    with pytest.raises(InputError, match="no row is kept"):
        sweep_job(ONCE, kept=Anchors.planned(np.array([], np.int64), D))
    with pytest.raises(InputError, match=r"Side\.SWEEPS alone"):
        PairJob([RowSums()], N, D, source=ArraySource(samples()), kept=drawn(*SOME))
    with pytest.raises(InputError, match="one reduction, not 2"):
        PairJob([NearCounts(ONCE), NearCounts(ONCE)], N, D, source=ArraySource(samples()))
    with pytest.raises(ValueError, match="have not been read"):
        run_pairs(sweep_job(ONCE, kept=Anchors.planned(np.array([3]), D)))


# --- the same bits, however it is computed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operations", [WHOLE_WALK, SQUARES, TILES])
@pytest.mark.parametrize("way", [ONCE, TWICE])
def test_same_bits_for_tasks_threads_and_sources(
    way: Way, operations: float, kind: str, tmp_path: Path
) -> None:
    given_as = KINDS[kind](samples(), tmp_path / "x.zarr")
    job = sweep_job(way, operations=operations, **given_as)
    for scheduler in ("serial", "threads"):
        with set_options(scheduler=scheduler, workers=3):
            assert_same_bits(run_pairs(job)[0], reference())


CASES = [("numpy", ONCE), ("zarr", TWICE), ("dask", ONCE)]


@pytest.mark.parametrize(("kind", "way"), CASES)
def test_same_bits_in_processes(
    kind: str, way: Way, tmp_path: Path, pool: ProcessPoolExecutor
) -> None:
    bits = reference(), reference(kept=drawn(*SOME)), reference(matrix=ArraySource(square()))
    sweep_cases.reset()
    settings: dict[str, Any] = KINDS[kind](samples(), tmp_path / "x.zarr")
    matrix = MATRICES[kind](square(), tmp_path / "m.zarr")
    jobs = [
        sweep_job(way, operations=TILES, **settings),
        sweep_job(way, operations=TILES, kept=drawn(*SOME), **settings),
        sweep_job(way, operations=TILES, matrix=matrix),
    ]
    with dask.config.set(pool=pool), set_options(scheduler="processes", workers=2):
        for job, wanted in zip(jobs, bits, strict=True):
            assert plan_pair_job(job).tasks > 1
            assert_same_bits(run_pairs(job)[0], wanted)
    assert not NearCounts.starts, "this process walked groups itself"


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_on_a_cluster(kind: str, tmp_path: Path, client: Client) -> None:
    settings: dict[str, Any] = KINDS[kind](samples(), tmp_path / "x.zarr")
    matrix = MATRICES[kind](square(), tmp_path / "m.zarr")
    few = Anchors.planned(np.array(SOME), 0)
    way = TWICE if kind == "zarr" else ONCE
    with client.as_current(), set_options(scheduler="distributed"):
        for given_as in (settings, {"matrix": matrix}):
            found = run_pairs(sweep_job(way, operations=SQUARES, **given_as))[0]
            kept = few if "matrix" in given_as else drawn(*SOME)
            part = run_pairs(sweep_job(way, operations=TILES, kept=kept, **given_as))[0]
            plain = {"matrix": ArraySource(square())} if "matrix" in given_as else {}
            assert_same_bits(found, reference(**plain))
            assert_same_bits(part, reference(kept=kept, **plain))


# --- the plan


class Sized(RegularChunks):
    """A source of some size that nobody reads."""

    dtype = np.dtype(np.float64)
    resident = False

    def __init__(self, rows: int, columns: int, chunk_rows: int) -> None:
        self.shape, self.chunks = (rows, columns), (chunk_rows, columns)


def large_job(n: int, *ways: Way, features: int = 50, operations: float = 150.0) -> PairJob:
    reduction = NearCounts(*ways, operations=operations, n=n)
    reduction.tile_rows = 256  # type: ignore[misc]
    return PairJob([reduction], n, features, source=Sized(n, features, 1000))


def plan_for(job: PairJob, budget: int, **settings: Any) -> PairPlan:
    return plan_pairs(job, budget=budget, baseline=0, **{"threads": 2, **settings})


@pytest.mark.parametrize("n", [2, 256, 257, 5000, 50_000, 3_000_000])
def test_tasks_keep_all_workers_busy_and_are_few(n: int) -> None:
    job = large_job(n, Way(64, 1, MIB, 500), operations=1500.0)
    plan = plan_for(job, 1 << 34)
    assert plan.tasks == -(-n // (256 * plan.cut.run_tiles)) == len(plan.cut.tasks(job))
    assert 8 * (n >= 5000) <= plan.tasks <= MOST_TASKS
    # no thread waits long for the last task of the other
    assert n < 5000 or -(-plan.tasks // 2) * 2 * plan.cut.run_tiles <= 1.05 * job.n_tiles


def test_memory_decides_how_samples_are_met() -> None:
    n = 1_000_000
    once, twice = Way(64, 1, 64 * 16 * n, 450), Way(64, 2, MIB, 450)
    job, stored = large_job(n, once, twice), n * 50 * 8
    roomy = plan_for(job, 1 << 32, processes=3)
    assert roomy.cut.way == once
    assert not roomy.cut.together
    assert (roomy.reading, roomy.bytes_read) == ("loaded once per process", 3 * stored)
    # one sweep's buffers take a gigabyte each
    less = plan_for(job, 3 << 29)
    assert less.cut.way == twice
    assert (less.reading, less.bytes_read) == ("loaded once per process", stored)
    tight = plan_for(job, 500 * MIB)
    assert tight.cut.way == twice
    assert tight.cut.together
    assert tight.reading == "read by panels"
    assert 2 * stored <= tight.bytes_read < 500 * stored
    tighter = plan_for(job, 250 * MIB)
    assert tighter.cut.run_tiles < tight.cut.run_tiles, "as many rows are kept as memory allows"
    assert tighter.bytes_read > tight.bytes_read
    for plan, budget in ((roomy, 1 << 32), (less, 3 << 29), (tight, 500), (tighter, 250)):
        assert plan.memory.peak <= max(budget, budget * MIB * (budget < 1000))
    text = repr(Plan([tight], ["x"], ["y"]))
    assert f"rows meet panels of {tight.cut.panel_tiles * 256:,} others twice, all of a" in text
    assert "rows meet all others once, 64 at a time" in repr(Plan([roomy], ["x"], ["y"]))


@pytest.mark.parametrize("ways", [(ONCE,), (TWICE,), (ONCE, TWICE)])
def test_refusal_names_the_smallest_budget(ways: tuple[Way, ...]) -> None:
    job = large_job(100_000, *ways, features=500)
    settings: dict[str, Any] = {"baseline": 80 * MIB, "threads": 3}
    with pytest.raises(MemoryBudgetError) as refused:
        plan_pairs(job, budget=90 * MIB, **settings)
    named = int(str(refused.value).split("memory_budget='")[1].split("MiB'")[0])
    assert plan_pairs(job, budget=named * MIB, **settings).memory.peak <= named * MIB
    with pytest.raises(MemoryBudgetError):
        plan_pairs(job, budget=(named - 1) * MIB, **settings)


def cut_and_budget(job: PairJob, cut: PairCut) -> int:
    return project_pairs(job, cut, baseline=0, threads=1, workers="here").peak


@pytest.mark.parametrize("kept", [None, SOME])
def test_panels_are_read_as_planned(
    kept: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "baseline_bytes", lambda: 0)
    rows = None if kept is None else drawn(*kept)
    # what is made of the samples is too much for all of them
    way = Way(4, 2, 10_000, MIB)
    source = CountingSource(samples())
    job = sweep_job(way, operations=TILES, source=source, kept=rows)
    cut = PairCut(1, 1, "panels", way=way, together=True)
    with set_options(scheduler="serial", memory_budget=cut_and_budget(job, cut)):
        plan = plan_pair_job(job)
        assert plan.cut.way == way
        assert plan.cut.together
        assert (plan.cut.panel_tiles, plan.reading) == (1, "read by panels")
        assert_same_bits(run_pairs(job)[0], reference(kept=rows))
        assert plan.bytes_read == sum(CountingSource.bytes_read)
        runs = plan.cut.runs(job)
        panels = [(low, min(low + TILE, N)) for low in range(0, N, TILE)]
        assert NearCounts.prepared[: 2 * len(panels) * runs] == panels * 2 * runs


@pytest.mark.parametrize("kept", [None, SOME])
@pytest.mark.parametrize("together", [False, True])
def test_only_the_rows_of_a_matrix_that_are_kept_are_read(
    together: bool, kept: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "baseline_bytes", lambda: 0)
    way = Way(TILE // 2, 1, 100 if together else 100 * MIB, 0)
    source = CountingSource(square())
    rows = None if kept is None else Anchors.planned(np.array(kept), 0)
    job = sweep_job(way, operations=TILES, matrix=source, kept=rows)
    with set_options(scheduler="serial", memory_budget="150 MiB"):
        plan = plan_pair_job(job)
        assert plan.cut.together == together
        assert_same_bits(run_pairs(job)[0], reference(matrix=ArraySource(square()), kept=rows))
    assert plan.bytes_read == sum(CountingSource.bytes_read)
    whole = square().nbytes
    assert plan.bytes_read <= 2 * whole
    if together and kept is None:
        # a chunk of five rows is read again only where a task of eight begins inside it
        assert plan.bytes_read < 1.6 * whole


def test_what_cannot_fit_is_refused_before_reading() -> None:
    job = sweep_job(ONCE, TWICE, source=CountingSource(samples()))
    for call in (run_pairs, lambda job: lazy_pairs(job, "token")):
        with (
            set_options(memory_budget="1MiB"),
            pytest.raises(MemoryBudgetError, match="pairs of 107 samples × 3 features"),
        ):
            call(job)
    assert not CountingSource.bytes_read


def test_blocks_of_a_dask_array_may_stay_in_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "baseline_bytes", lambda: 0)
    way = Way(4, 2, 10_000, MIB)
    blocks = Blocks.of(da.from_array(samples(), chunks=(11, 2)))
    for rows in (None, drawn(*SOME)):
        job = sweep_job(way, operations=TILES, blocks=blocks, kept=rows)
        with set_options(scheduler="serial", memory_budget="60 MiB"):
            plan = plan_pair_job(job)
            assert (plan.cut.together, plan.reading) == (True, "sent to the tasks")
            assert plan.cut.panel_tiles < job.sample_tiles
            assert_same_bits(run_pairs(job)[0], reference(kept=rows))


def cuts() -> Iterator[PairCut]:
    for way in (ONCE, TWICE):
        for tiles in (1, 2, 16):
            for panel in (1, 4, 16):
                for together in (False, True):
                    yield PairCut(tiles, panel, "panels", 2, way, together)


@pytest.mark.parametrize("kept", [None, SOME])
@pytest.mark.parametrize("matrix", [False, True])
def test_same_bits_and_planned_reads_for_every_cut(
    matrix: bool, kept: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = None if kept is None else drawn(*kept)
    values = square() if matrix else samples()
    key = "matrix" if matrix else "source"
    bits = reference(kept=rows, **{key: ArraySource(values)})
    for cut in cuts():
        held = cut.panel_tiles == 16
        if not matrix and not held and (cut.way == ONCE or not cut.together):
            continue  # never planned: one sweep has all samples at hand
        job = sweep_job(ONCE, kept=rows, **{key: CountingSource(values)})
        monkeypatch.setattr(cutting, "sweep_cuts", lambda *_, cut=cut: iter([cut]))
        CountingSource.bytes_read = []
        with set_options(scheduler="serial"):
            assert_same_bits(run_pairs(job)[0], bits)
            assert plan_pair_job(job).bytes_read == sum(CountingSource.bytes_read), cut


# --- what is kept and left for later


@pytest.mark.parametrize("scheduler", ["serial", "threads"])
def test_finished_tasks_are_not_walked_again(scheduler: str, tmp_path: Path) -> None:
    job = sweep_job(ONCE, operations=TILES)
    wanted = reference()
    with set_options(scheduler=scheduler, workers=1):
        sweep_cases.reset()
        NearCounts.fail_at = 20
        with pytest.raises(ArithmeticError, match="this group fails"), keeping(tmp_path):
            run_pairs(job)
        stored = {int(path.name.split("-")[-1]) for path in tmp_path.iterdir()}
        assert 0 < len(stored) < plan_pair_job(job).tasks
        sweep_cases.reset()
        with keeping(tmp_path):
            assert_same_bits(run_pairs(job)[0], wanted)
        assert not {start // TILE for start in NearCounts.starts} & stored
        sweep_cases.reset()
        with keeping(tmp_path):
            assert_same_bits(run_pairs(job)[0], wanted)
        assert not NearCounts.starts


@pytest.mark.parametrize("kept", [None, SOME])
@pytest.mark.parametrize("kind", KINDS)
def test_lazy_sweeps_compute_nothing_until_asked(
    kind: str, kept: tuple[int, ...] | None, tmp_path: Path
) -> None:
    rows = None if kept is None else drawn(*kept)
    settings: dict[str, Any] = KINDS[kind](samples(), tmp_path / "x.zarr")
    job = sweep_job(TWICE, operations=TILES, kept=rows, **settings)
    pending = lazy_pairs(job, f"lazy-{kind}-{kept is None}")
    assert not NearCounts.starts
    pieces = pending.pieces[0, "counts"]
    assert sum(n for _, n in pieces) == job.n_kept
    with dask.config.set(scheduler="threads", num_workers=2):
        total, *parts = dask.compute(pending.stats[0], *[piece for piece, _ in pieces])
    wanted = reference(kept=rows)
    np.testing.assert_array_equal(np.concatenate(parts), wanted["counts"])
    for name in ("near", "total", "farthest"):
        np.testing.assert_array_equal(total[name], wanted[name])


def test_kept_rows_may_become_known_later() -> None:
    planned = sweep_job(ONCE, operations=TILES, kept=Anchors.planned(np.array(SOME), D))
    ready = sweep_job(ONCE, operations=TILES, kept=drawn(*SOME))
    node = dask.delayed(ready, traverse=False, name="job-of-sweeps")
    total = pair_total_later(planned, "kept-later", node)
    (found,) = dask.compute(total, scheduler="synchronous")[0]
    assert found["total"] == reference(kept=drawn(*SOME))["total"]
    assert codes_of()[list(SOME)].min() < 0, "some kept rows take no part"


def test_a_way_must_be_among_the_cuts() -> None:
    job = sweep_job(ONCE)
    with pytest.raises(ValueError, match="some way"):
        project_pairs(job, PairCut(1, 1, "memory"), baseline=0, threads=1, workers="here")
    assert WIDE.group_rows == job.tile_rows

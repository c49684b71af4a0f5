"""The engine's walk over pairs of samples: every pair once, and always the same bits."""

from __future__ import annotations

import gc
import math
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
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
    CodePairs,
    Counted,
    CountingSource,
    D,
    Marks,
    N,
    PairSums,
    RowSums,
    assert_same_bits,
    distances,
    job_of,
    reference,
    reset,
    samples,
    whole_walk,
)

from somscale.engine import schedulers, serial
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import lazy_pairs, plan_pair_job, run_pairs
from somscale.engine.pairs.zorder import WHOLE, upper_squares
from somscale.engine.readers import resident
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.kernels.counts import sort_keyed
from somscale.options import set_options
from somscale.reductions.base import Block, Side


@pytest.fixture(autouse=True)
def fresh_counts() -> Iterator[None]:
    reset()
    yield
    reset()


@pytest.fixture(scope="module")
def idle_client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture
def client(idle_client: Client) -> Iterator[Client]:
    with idle_client.as_current():
        yield idle_client


# --- what is computed


def test_squares_come_in_z_order_and_reach_the_diagonal() -> None:
    def interleaved(row: int, column: int) -> int:
        return sum(((row >> b & 1) * 2 + (column >> b & 1)) << 2 * b for b in range(8))

    for size in (1, 2, 3, 4, 7, 13):
        found = list(upper_squares(WHOLE, 4, size))
        cells = [(i, j) for i in range(size) for j in range(i, size)]
        assert sorted((s.row, s.column) for s in found) == cells
        assert [s.number for s in found] == sorted(interleaved(*cell) for cell in cells)
        assert all(s.number == interleaved(s.row, s.column) for s in found)


@pytest.mark.parametrize("operations", [WHOLE_WALK, SQUARES, TILES])
@pytest.mark.parametrize("side", [Side.BOTH, Side.ROWS])
def test_every_pair_is_seen_once(side: Side, operations: float) -> None:
    expected = np.triu(np.ones((N, N)), 1) if side is Side.BOTH else 1 - np.eye(N)
    reductions = [Marks(side, TILE, operations), Marks(side, 3 * TILE, operations)]
    for result in run_pairs(job_of(samples(), *reductions)):
        np.testing.assert_array_equal(result["seen"], expected)


def test_pairs_equal_brute_force() -> None:
    values = samples()
    everything = Block(0, N, values)
    d = distances(everything, everything)[np.triu_indices(N, 1)]
    found = reference(values, PairSums)
    assert found["pairs"] == N * (N - 1) // 2
    assert found["total"] == pytest.approx(math.fsum(d), rel=1e-14)
    assert (found["smallest"], found["largest"]) == (d.min(), d.max())
    keys, counts = np.unique(np.rint(d), return_counts=True)
    np.testing.assert_array_equal(sort_keyed(found["rounded"]), [keys, counts])


def test_rows_equal_brute_force() -> None:
    values = samples()
    everything = Block(0, N, values)
    d = distances(everything, everything)
    found = reference(values, RowSums)
    np.testing.assert_allclose(found["sums"], [math.fsum(row) for row in d], rtol=1e-14)
    np.testing.assert_array_equal(found["farthest"], d.max(axis=1))
    assert found["total"] == pytest.approx(math.fsum(d.ravel()), rel=1e-14)
    bands = [math.fsum(d[top : top + TILE].ravel()) for top in range(0, N, TILE)]
    assert found["heaviest_tile"] == pytest.approx(max(bands), rel=1e-14)


def test_columns_without_samples() -> None:
    codes = np.random.default_rng(1).integers(0, 3, N)
    column = Column(codes + 4, 4, np.arange(3))
    found = run_pairs(PairJob([CodePairs(TILES)], N, columns={"code": column}))[0]["table"]
    per_code = np.bincount(codes)
    both = found + found.T
    np.testing.assert_array_equal(both, np.outer(per_code, per_code) - np.diag(per_code))


def test_reductions_that_do_not_fit_one_walk_are_refused() -> None:
    with pytest.raises(InputError, match="one side"):
        job_of(samples(), PairSums(), RowSums())
    reduction = RowSums()
    reduction.side = Side.BOTH
    with pytest.raises(InputError, match="'sums' of 'row-sums'"):
        job_of(samples(), reduction)


# --- the same bits, however it is computed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operations", [WHOLE_WALK, SQUARES, TILES])
@pytest.mark.parametrize("reduction", [PairSums, RowSums])
def test_same_bits_for_tasks_threads_and_sources(
    reduction: type[Counted], operations: float, kind: str, tmp_path: Path
) -> None:
    expected = reference(samples(), reduction)
    given_as = KINDS[kind](samples(), tmp_path / "x.zarr")
    job = PairJob([reduction(operations)], N, D, **given_as)
    for scheduler in ("serial", "threads"):
        with set_options(scheduler=scheduler, workers=3):
            assert_same_bits(run_pairs(job)[0], expected)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as found:
        yield found


@pytest.mark.parametrize(
    ("kind", "reduction"), [("numpy", PairSums), ("zarr", PairSums), ("dask", RowSums)]
)
def test_same_bits_in_processes(
    kind: str, reduction: type[Counted], tmp_path: Path, pool: ProcessPoolExecutor
) -> None:
    expected = reference(samples(), reduction)
    Counted.calls.clear()
    job = PairJob([reduction(SQUARES)], N, D, **KINDS[kind](samples(), tmp_path / "x.zarr"))
    with dask.config.set(pool=pool), set_options(scheduler="processes", workers=2):
        assert plan_pair_job(job).tasks > 1
        assert_same_bits(run_pairs(job)[0], expected)
    assert not Counted.calls, "this process walked tiles itself"


def test_a_pool_loads_samples_once_a_process(tmp_path: Path, pool: ProcessPoolExecutor) -> None:
    for name in ("first", "second"):
        log = tmp_path / name
        job = PairJob([PairSums(TILES)], N, D, source=CountingSource(samples(), log))
        with dask.config.set(pool=pool), set_options(scheduler="processes", workers=2):
            assert plan_pair_job(job).reading == "loaded once per process"
            run_pairs(job)
        processes, rows = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
        assert len(set(processes)) == len(processes) <= 2
        assert set(rows) == {str(N)}
    assert not CountingSource.bytes_read, "this process read samples"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduction", [PairSums, RowSums])
def test_same_bits_on_a_cluster(
    reduction: type[Counted], kind: str, tmp_path: Path, client: Client
) -> None:
    expected = reference(samples(), reduction)
    job = PairJob([reduction(SQUARES)], N, D, **KINDS[kind](samples(), tmp_path / "x.zarr"))
    with set_options(scheduler="distributed"):
        assert_same_bits(run_pairs(job)[0], expected)


@given(
    rows=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
    operations=st.sampled_from([WHOLE_WALK, 1e8, 1e10]),
    reduction=st.sampled_from([PairSums, RowSums]),
)
def test_same_bits_for_any_chunks(
    rows: list[int], columns: tuple[int, ...], operations: float, reduction: type[Counted]
) -> None:
    values = samples(sum(rows))
    blocks = da.from_array(values, chunks=(tuple(rows), columns))
    job = PairJob([reduction(operations)], *values.shape, blocks=Blocks.of(blocks))
    with set_options(scheduler="serial"):
        assert_same_bits(run_pairs(job)[0], reference(values, reduction))


@given(n=st.integers(1, 4 * TILE + 1), operations=st.sampled_from([1e8, 1e10]))
def test_same_bits_for_any_number_of_samples(n: int, operations: float) -> None:
    for reduction in (PairSums, RowSums):
        with set_options(scheduler="serial"):
            found = run_pairs(job_of(samples(n), reduction(operations)))[0]
        assert_same_bits(found, reference(samples(n), reduction))


def test_the_plain_loop_needs_no_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dask", "somscale.engine.pairs.graph", "somscale.engine.schedulers"):
        monkeypatch.setitem(sys.modules, module, None)
    job = job_of(samples(), PairSums(TILES))
    with set_options(scheduler="serial"):
        assert plan_pair_job(job).tasks > 1
        run_pairs(job)


def test_the_progress_bar_counts_tasks(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    class Bar:
        disable = False

        def __init__(self, total: int, label: str) -> None:
            self.total, self.done = total, 0
            bars.append(self)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self) -> None:
            self.done += 1

    bars: list[Bar] = []
    monkeypatch.setattr(serial, "progress_bar", Bar)
    monkeypatch.setattr(schedulers, "progress_bar", Bar)
    for scheduler in ("serial", "threads", "distributed"):
        Counted.calls.clear()
        with set_options(scheduler=scheduler):
            run_pairs(job_of(samples(), PairSums(SQUARES)))
        assert bars[-1].done == bars[-1].total > 1, scheduler
        assert len(Counted.calls) == whole_walk(PairSums), "tiles were walked twice"


# --- what is held, kept and left for later


def assert_nothing_is_held() -> None:
    gc.collect()
    assert CountingSource.last is not None
    assert CountingSource.last() is None
    assert not resident._alive
    assert not resident._pinned


@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@pytest.mark.parametrize("fail_at", [None, 7])
def test_samples_are_loaded_once_and_released(scheduler: str, fail_at: int | None) -> None:
    job = PairJob([PairSums(SQUARES)], N, D, source=CountingSource(samples()))
    Counted.fail_at = fail_at
    # a second worker would be under way with a tile when the first one fails
    with set_options(scheduler=scheduler, workers=2 if fail_at is None else 1):
        assert plan_pair_job(job).reading == "loaded once per process"
        if fail_at is None:
            run_pairs(job)
        else:
            # the failure's traceback is alive, yet the samples are gone
            with pytest.raises(ArithmeticError) as failure:
                run_pairs(job)
            assert failure.tb is not None
            assert_nothing_is_held()
    assert len(Counted.calls) >= 7
    assert sum(CountingSource.bytes_read) == samples().nbytes
    assert_nothing_is_held()


def test_lazy_samples_are_loaded_once_and_released() -> None:
    job = PairJob([PairSums(SQUARES)], N, D, source=CountingSource(samples()))
    pending = lazy_pairs(job, "a-token")
    assert not CountingSource.bytes_read
    with dask.config.set(scheduler="threads", num_workers=2):
        (found,) = dask.compute(*pending.stats)
        assert_same_bits(found, reference(samples(), PairSums))
        assert sum(CountingSource.bytes_read) == samples().nbytes
        assert_nothing_is_held()
        Counted.calls, Counted.fail_at = [], 7
        with pytest.raises(ArithmeticError):
            dask.compute(*pending.stats, num_workers=1)
    assert_nothing_is_held()


@pytest.mark.parametrize("scheduler", ["serial", "threads", "distributed"])
@pytest.mark.parametrize("reduction", [PairSums, RowSums])
def test_finished_tasks_are_not_walked_again(
    reduction: type[Counted], scheduler: str, tmp_path: Path, client: Client
) -> None:
    expected = reference(samples(), reduction)
    job = job_of(samples(), reduction(SQUARES))
    with set_options(scheduler=scheduler, workers=1):
        plan = plan_pair_job(job)
        tasks = {task.number: (task.row, task.column) for task in plan.cut.tasks(job)}
        Counted.calls, Counted.fail_at = [], 60
        with pytest.raises(ArithmeticError, match="this tile fails"), keeping(tmp_path):
            run_pairs(job)
        stored = {tasks[int(path.name.split("-")[-1])] for path in tmp_path.iterdir()}
        assert 0 < len(stored) < plan.tasks
        Counted.calls, Counted.fail_at = [], None
        with keeping(tmp_path):
            assert_same_bits(run_pairs(job)[0], expected)
        rows = TILE * plan.cut.run_tiles
        walked = {(i // rows, j // rows * (reduction is PairSums)) for i, j in Counted.calls}
        assert not walked & stored
        # on the cluster a task that was under way ends after the failure
        assert scheduler == "distributed" or walked | stored == set(tasks.values())
        Counted.calls = []
        with keeping(tmp_path):
            assert_same_bits(run_pairs(job)[0], expected)
        assert not Counted.calls


def test_lazy_walks_of_one_token_may_be_cut_in_two_ways() -> None:
    job = job_of(samples(), RowSums(SQUARES))
    pending, sizes = [], []
    for workers in (8, 1):
        with set_options(workers=workers):
            pieces = lazy_pairs(job, "one-token").pieces[0, "sums"]
        pending.append([piece for piece, _ in pieces])
        sizes.append(len(pieces))
    assert sizes[0] > sizes[1] > 1
    with dask.config.set(scheduler="synchronous"):
        for parts in dask.compute(*pending):
            expected = reference(samples(), RowSums)["sums"]
            np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_lazy_walks_compute_nothing_until_asked() -> None:
    computed: list[int] = []

    def block(block_info: Any = None) -> np.ndarray:
        (top, bottom), _ = block_info[None]["array-location"]
        computed.append(top)
        return samples()[top:bottom]

    sizes = (30, 30, 30, 17)
    blocks = da.map_blocks(block, chunks=(sizes, (D,)), dtype=np.float32, meta=samples()[:0])
    computed.clear()
    job = PairJob([RowSums(SQUARES)], N, D, blocks=Blocks.of(blocks))
    pending = lazy_pairs(job, "another-token")
    assert not computed
    assert not Counted.calls
    pieces = pending.pieces[0, "sums"]
    assert sum(rows for _, rows in pieces) == N
    total, *parts = dask.compute(pending.stats[0], *[piece for piece, _ in pieces])
    expected = reference(samples(), RowSums)
    assert [len(part) for part in parts] == [rows for _, rows in pieces]
    np.testing.assert_array_equal(np.concatenate(parts), expected["sums"])
    assert total["total"] == expected["total"]
    assert sorted(computed) == [0, 30, 60, 90]

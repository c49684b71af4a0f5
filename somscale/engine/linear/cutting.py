"""Choose how a job's work is cut: tasks that fit the budget and read as little as possible.

The choice is made from sizes alone, before a byte is read, and refuses where
nothing fits.  It changes speed and memory, never a digit of a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.memory import Memory, Workers, project
from somscale.errors import MemoryBudgetError

if TYPE_CHECKING:
    from somscale.engine.pairs.job import PairJob

__all__ = [
    "LEAST_OPERATIONS",
    "MOST_TASKS",
    "TASK_OPERATIONS",
    "LinearPlan",
    "budget_error",
    "ceil_power",
    "fan_in_of",
    "floor_power",
    "format_bytes",
    "plan_linear",
]

_SLAB = 1024
"""Features at hand at a time: with a tile of 2,048 rows, 16 MiB of float64."""
_PIECE_BYTES = 16 << 20
_TASK_BYTES = 64 << 20
TASK_OPERATIONS = 2e10
"""About a second of one core, beside which a task's overhead is nothing."""
LEAST_OPERATIONS = 1e9
MOST_TASKS = 10_000
_FAN_IN_BYTES = 64 << 20
_MOST_REREADS = 8


@dataclass(frozen=True)
class LinearPlan:
    """A job, its cut, and what it is projected to cost.

    Attributes
    ----------
    job : LinearJob
        The reductions and where their samples are.
    cut : Cut
        How the work is cut.
    memory : Memory
        Projected peak of one worker process.
    bytes_read : int
        Bytes of samples that are read (decoded), all tasks together.
    bytes_stored : int
        Bytes of the samples; equal to `bytes_read` when each chunk is read once.
    budget : int
        The memory budget of one worker process.
    """

    job: LinearJob
    cut: Cut
    memory: Memory
    bytes_read: int
    bytes_stored: int
    budget: int

    @property
    def tasks(self) -> int:
        """Tasks that read samples."""
        return self.cut.runs(self.job)


def plan_linear(
    job: LinearJob,
    *,
    budget: int,
    baseline: int,
    threads: int,
    fixed_threads: bool = False,
    processes: int = 1,
    workers: Workers = "here",
    run_tiles: int | None = None,
) -> LinearPlan:
    """Cut a job for a budget.

    Parameters
    ----------
    job : LinearJob
        What to run.
    budget : int
        Bytes that one worker process may hold, `baseline` included.
    baseline : int
        Bytes it holds before.
    threads : int
        Tasks at a time in one process; fewer are planned where memory is short.
    fixed_threads : bool
        Whether the number of threads is not ours to lower.
    processes : int
        Processes that compute, each with so many threads.
    workers : {"here", "pool", "cluster"}
        Where tasks run.
    run_tiles : int, optional
        Tiles of a task, where that is not free: in a pass that was begun before.

    Raises
    ------
    MemoryBudgetError
        No cut fits; the message names the smallest budget that works.
    """
    fewest = threads if fixed_threads else 1
    for count in range(threads, fewest - 1, -1):
        cuts = _candidates(job, count * processes, run_tiles)
        best = _best(job, cuts, baseline, count, workers, budget)
        if best is not None:
            return best
    smallest = min(
        project(job, cut, baseline=baseline, threads=fewest, workers=workers).peak
        for cut in _candidates(job, 1, run_tiles)
    )
    raise budget_error("the pass over", job, smallest, baseline=baseline, budget=budget)


def _best(
    job: LinearJob, cuts: Iterable[Cut], baseline: int, threads: int, workers: Workers, budget: int
) -> LinearPlan | None:
    """The first of some cuts that fits, unless one that follows reads much less."""
    stored = _stored(job)
    best: LinearPlan | None = None
    for cut in cuts:
        memory = project(job, cut, baseline=baseline, threads=threads, workers=workers)
        if memory.peak > budget:
            continue
        cost = bytes_read(job, cut)
        if best is None or 1.05 * cost < best.bytes_read:
            best = LinearPlan(job, cut, memory, cost, stored, budget)
        if best.bytes_read <= 1.05 * stored:
            break
    return best


def budget_error(
    what: str, job: LinearJob | PairJob, smallest: int, *, baseline: int, budget: int
) -> MemoryBudgetError:
    """The refusal of a plan; it names the smallest budget that works."""
    least = format_bytes(smallest, up=True)
    hint = ""
    if job.blocks is not None and job.blocks.chunk_rows > job.tile_rows:
        hint = (
            f"; the blocks of this Dask array hold up to {job.blocks.chunk_rows} samples: a path "
            f"is read by features, and blocks of {job.tile_rows} samples and all features need less"
        )
    refusal = MemoryBudgetError(
        f"{what} {job.n_rows} samples × {job.n_features} features needs at least {least} in a "
        f"worker process ({format_bytes(baseline)} of it held already), and the budget is "
        f"{format_bytes(budget)}; set memory_budget='{least.replace(' ', '')}' or more{hint}"
    )
    refusal.needed = smallest
    return refusal


def _candidates(job: LinearJob, workers: int, run_tiles: int | None = None) -> Iterator[Cut]:
    """Cuts to try, best first: in row order from the wished size down, then by features."""
    row_bytes = max((r.workspace.row_bytes for r in job.reductions), default=0)
    piece = floor_power(_PIECE_BYTES // max(1, row_bytes))
    piece = max(1, min(piece, job.tile_rows))
    fan_in = fan_in_of(job)
    slab = min(job.n_features, _SLAB)
    tiles = _wished_tiles(job, workers)
    largest = ceil_power(job.n_tiles)
    # larger runs than wished for read fewer chunks twice; smaller ones hold less
    sizes = [tiles << n for n in range(20) if tiles << n <= largest] or [largest]
    sizes += [tiles >> n for n in range(1, 20) if tiles >> n]
    if run_tiles is not None:
        sizes = [run_tiles]
    for size in sizes:
        for read_rows in _window_sizes(job, size):
            yield Cut("rows", size, slab, piece, fan_in, read_rows)
    if _splits_features(job):
        wide = _feature_slab(job)
        all_sizes = [largest >> n for n in range(largest.bit_length())]
        for size in all_sizes if run_tiles is None else [run_tiles]:
            yield Cut("features", size, wide, piece, fan_in)


def _window_sizes(job: LinearJob, run_tiles: int) -> Iterator[int]:
    """Rows to read at a time, best first: whole chunks of some 64 MiB; all (0); ever fewer."""
    run_rows = min(run_tiles * job.tile_rows, job.n_rows)
    chunk = _chunk_rows(job)
    # the blocks of a task of several tiles come at once, and what is in memory costs nothing
    fixed = (job.source is None or job.source.resident) if run_tiles > 1 else _in_memory(job)
    if fixed or not job.sweeps:
        yield 0
        return
    wished = _TASK_BYTES // max(1, job.n_features * _itemsize(job))
    wished = max(wished // chunk, 1) * chunk
    if wished < run_rows:
        yield wished
    yield 0
    fewer = min(wished, run_rows)
    # below a chunk every read decodes it again: a few times over is better than not at all
    while fewer > max(1, chunk // _MOST_REREADS):
        fewer = max(1, fewer // chunk // 2 * chunk if fewer >= 2 * chunk else fewer // 2)
        yield fewer


def _in_memory(job: LinearJob) -> bool:
    return job.blocks is None and (job.source is None or job.source.resident)


def _chunk_rows(job: LinearJob) -> int:
    if job.blocks is not None:
        return job.blocks.chunk_rows
    return 1 if job.source is None else job.source.chunks[0]


def _itemsize(job: LinearJob) -> int:
    if job.source is not None:
        return job.source.dtype.itemsize
    return 8 if job.blocks is None else job.blocks.dtype.itemsize


def fan_in_of(job: LinearJob | PairJob) -> int:
    """Partials to merge in one task: fewer where they are large."""
    whole = sum(s.nbytes for r in job.reductions for s in r.fields.values() if s.merge != "concat")
    return max(2, min(16, floor_power(_FAN_IN_BYTES // max(1, whole))))


def _wished_tiles(job: LinearJob, workers: int) -> int:
    """Tiles of a task that is worth its overhead, on whole chunks, and leaves work for all."""
    per_row = max(1.0, job.operations / max(1, job.n_rows))
    rows = TASK_OPERATIONS / per_row
    chunk_rows = _chunk_rows(job)
    if job.n_features:
        rows = min(rows, _TASK_BYTES / (job.n_features * _itemsize(job)))
    shared = max(job.n_rows / (4 * workers), LEAST_OPERATIONS / per_row)
    rows = max(min(rows, shared), min(chunk_rows, job.n_rows), job.n_rows / MOST_TASKS)
    return min(ceil_power(rows / job.tile_rows), ceil_power(job.n_tiles))


def _splits_features(job: LinearJob) -> bool:
    source = job.source
    if source is None or source.resident or job.n_features <= _SLAB:
        return False
    return source.chunks[1] < job.n_features


def _feature_slab(job: LinearJob) -> int:
    """Features of a slab in feature order: whole chunks."""
    chunk = job.source.chunks[1] if job.source is not None else 1
    return min(job.n_features, chunk * max(1, _SLAB // chunk))


def bytes_read(job: LinearJob, cut: Cut) -> int:
    """Bytes of samples that all tasks of a cut decode; a chunk counts whole, every time."""
    if job.source is None or not job.sweeps or job.source.resident:
        return _stored(job)
    if cut.order == "features":
        # every slab is read once for the products and once for the residuals
        edges = np.array([(slab.start, slab.stop) for slab in cut.slabs(job.n_features)])
        times = min(job.sweeps, 2)
    else:
        edges, times = np.array([(0, job.n_features)]), 1
    width = times * job.source.decoded(1, (edges[:, 0], edges[:, 1]))
    return job.source.decoded(0, cut.ranges(job)) * width * job.source.dtype.itemsize


def _stored(job: LinearJob) -> int:
    size = sum(column.values.dtype.itemsize for column in job.columns.values()) * job.n_rows
    return job.n_rows * job.n_features * _itemsize(job) if job.sweeps else size


def floor_power(value: float) -> int:
    """The largest power of two that is no larger; at least 1."""
    return 1 << max(0, int(value).bit_length() - 1)


def ceil_power(value: float) -> int:
    """The smallest power of two that is no smaller; at least 1."""
    return 1 << max(0, math.ceil(value) - 1).bit_length()


def format_bytes(size: int, *, up: bool = False) -> str:
    """Bytes in words, rounded up where the text is a bound to keep."""
    if size < 1 << 20:
        return f"{math.ceil(size / 1024)} KiB"
    mebibytes = size / (1 << 20)
    if mebibytes < 10_000:
        return f"{math.ceil(mebibytes) if up else round(mebibytes)} MiB"
    return f"{math.ceil(10 * mebibytes / 1024) / 10 if up else round(mebibytes / 1024, 1)} GiB"

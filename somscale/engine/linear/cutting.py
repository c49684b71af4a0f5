"""Choose how a job's work is cut: tasks that fit the budget and read as little as possible.

The choice is made from sizes alone, before a byte is read, and refuses where
nothing fits.  It changes speed and memory, never a digit of a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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

    Raises
    ------
    MemoryBudgetError
        No cut fits; the message names the smallest budget that works.
    """
    fewest = threads if fixed_threads else 1
    for count in range(threads, fewest - 1, -1):
        fitting = []
        for cut in _candidates(job, count * processes):
            memory = project(job, cut, baseline=baseline, threads=count, workers=workers)
            if memory.peak <= budget:
                fitting.append((bytes_read(job, cut), cut, memory))
        if fitting:
            # candidates come best first; only fewer bytes to read changes the choice
            least = min(cost for cost, _, _ in fitting)
            cost, cut, memory = next(f for f in fitting if f[0] <= 1.05 * least)
            return LinearPlan(job, cut, memory, cost, _stored(job), budget)
    smallest = min(
        project(job, cut, baseline=baseline, threads=fewest, workers=workers).peak
        for cut in _candidates(job, 1)
    )
    raise budget_error("the pass over", job, smallest, baseline=baseline, budget=budget)


def budget_error(
    what: str, job: LinearJob | PairJob, smallest: int, *, baseline: int, budget: int
) -> MemoryBudgetError:
    """The refusal of a plan; it names the smallest budget that works."""
    least = format_bytes(smallest, up=True)
    return MemoryBudgetError(
        f"{what} {job.n_rows} samples × {job.n_features} features needs at least {least} in a "
        f"worker process ({format_bytes(baseline)} of it held already), and the budget is "
        f"{format_bytes(budget)}; set memory_budget='{least.replace(' ', '')}' or more"
    )


def _candidates(job: LinearJob, workers: int) -> Iterator[Cut]:
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
    for size in sizes:
        yield Cut("rows", size, slab, piece, fan_in)
    if _splits_features(job):
        wide = _feature_slab(job)
        for size in (largest >> n for n in range(largest.bit_length())):
            yield Cut("features", size, wide, piece, fan_in)


def fan_in_of(job: LinearJob | PairJob) -> int:
    """Partials to merge in one task: fewer where they are large."""
    whole = sum(s.nbytes for r in job.reductions for s in r.fields.values() if s.merge != "concat")
    return max(2, min(16, floor_power(_FAN_IN_BYTES // max(1, whole))))


def _wished_tiles(job: LinearJob, workers: int) -> int:
    """Tiles of a task that is worth its overhead, on whole chunks, and leaves work for all."""
    per_row = max(1.0, job.operations / max(1, job.n_rows))
    rows = TASK_OPERATIONS / per_row
    itemsize, chunk_rows = 8, 1
    if job.source is not None:
        itemsize, chunk_rows = job.source.dtype.itemsize, job.source.chunks[0]
    elif job.blocks is not None:
        itemsize, chunk_rows = job.blocks.dtype.itemsize, max(job.blocks.chunks[0])
    if job.n_features:
        rows = min(rows, _TASK_BYTES / (job.n_features * itemsize))
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
    if job.source is None or not job.sweeps:
        return _stored(job)
    rows, features = job.source.chunks
    itemsize = job.source.dtype.itemsize
    starts = np.arange(cut.runs(job)) * (cut.run_tiles * job.tile_rows)
    stops = np.minimum(starts + cut.run_tiles * job.tile_rows, job.n_rows)
    touched = int(np.sum(-(-stops // rows) - starts // rows))
    read_rows = min(touched * rows, job.n_rows + (touched - math.ceil(job.n_rows / rows)) * rows)
    width = job.n_features
    if cut.order == "features":
        # every slab is read once for the products and once for the residuals
        slabs = list(cut.slabs(job.n_features))
        chunks = sum(-(-s.stop // features) - s.start // features for s in slabs)
        width = min(job.sweeps, 2) * min(
            chunks * features, job.n_features + (len(slabs) - 1) * features
        )
    return read_rows * width * itemsize


def _stored(job: LinearJob) -> int:
    size = sum(column.values.dtype.itemsize for column in job.columns.values()) * job.n_rows
    if not job.sweeps:
        return size
    itemsize = 8
    if job.source is not None:
        itemsize = job.source.dtype.itemsize
    elif job.blocks is not None:
        itemsize = job.blocks.dtype.itemsize
    return job.n_rows * job.n_features * itemsize


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

"""What this machine and process hold, and what a job would add."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import Literal, TypeAlias

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.sources import Source
from somscale.errors import MemoryBudgetError
from somscale.options import get_options

__all__ = [
    "TASK_OVERHEAD",
    "Memory",
    "Workers",
    "baseline_bytes",
    "budget_bytes",
    "fresh_bytes",
    "project",
    "reading_bytes",
    "refuse_more_than_budget",
    "waiting_partials",
    "worker_count",
]

TASK_OVERHEAD = 32 << 20
"""A thread's stack, allocator arena and interpreter objects, and BLAS's packing buffers."""
_ZARR_CONCURRENCY = 10
"""Chunks that Zarr decodes at a time."""

_LIBRARIES = {"somscale.kernels.loops": 128 << 20, "dask.array": 28 << 20, "zarr": 12 << 20}
"""What a process holds more once a pass has loaded them (the loops with numba and its code)."""

_LOADED = 240 << 20
"""What a process holds that has loaded them, and has done nothing yet."""

Workers: TypeAlias = Literal["here", "pool", "cluster"]
"""Where tasks run: in this process, in a pool that is sent every task with all it
needs, or on a cluster whose workers keep what they were sent.
"""


def baseline_bytes() -> int:
    """Resident memory of this process now, and of the libraries a pass has yet to load."""
    import psutil

    coming = sum(size for name, size in _LIBRARIES.items() if name not in sys.modules)
    return int(psutil.Process().memory_info().rss) + coming


def fresh_bytes(held: int) -> int:
    """What another process that holds so much will hold once a pass has loaded its libraries."""
    return max(held, min(held + sum(_LIBRARIES.values()), _LOADED))


def budget_bytes() -> int:
    """The memory a worker process may hold: the option, else half of what is free or allowed."""
    option = get_options().memory_budget
    if option is not None:
        return option
    import psutil

    free = int(psutil.virtual_memory().available) // 2 + baseline_bytes()
    return min([free, *_limits()])


def _limits() -> list[int]:
    if sys.platform == "win32":
        return []
    import resource

    kinds = (resource.RLIMIT_DATA, resource.RLIMIT_AS)
    soft = [resource.getrlimit(kind)[0] for kind in kinds]
    return [limit for limit in soft if limit != resource.RLIM_INFINITY]


def worker_count() -> int:
    """Threads or processes that work at a time: the option, else the cores allowed here."""
    option = get_options().workers
    if option is not None:
        return option
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


@dataclass(frozen=True)
class Memory:
    """Projected peak of one worker process, by what holds it.

    Attributes
    ----------
    baseline : int
        What the process holds before the pass.
    task : int
        What one task adds while it runs.
    threads : int
        Tasks at a time in one process.
    partials : int
        Partials that wait to be merged.
    results : int
        Values of every sample that are kept.
    samples : int
        Samples, and factors of the products, that are held from one task to the next.
    """

    baseline: int
    task: int
    threads: int
    partials: int
    results: int
    samples: int = 0

    @property
    def peak(self) -> int:
        """Projected peak in bytes."""
        kept = self.partials + self.results + self.samples
        return self.baseline + self.threads * self.task + kept


def project(
    job: LinearJob, cut: Cut, *, baseline: int, threads: int, workers: Workers = "here"
) -> Memory:
    """Project the peak memory of a job, cut in a given way."""
    run_rows = min(cut.run_tiles * job.tile_rows, job.n_rows)
    at_once = min(cut.read_rows or run_rows, run_rows)
    fields = [spec for r in job.reductions for spec in r.fields.values()]
    whole = sum(spec.nbytes for spec in fields if spec.merge != "concat")
    a_row = sum(spec.nbytes for spec in fields if spec.merge == "concat")
    in_tree = math.log2(cut.run_tiles) + 3
    if cut.order == "features":
        in_tree = min(cut.run_tiles, job.n_tiles) + 2
    if job.blocks is not None and at_once < run_rows:
        in_tree += 1  # what a task of a chain goes on from, beside its own
    held = whole * in_tree + 2 * a_row * run_rows + _values_bytes(job, cut, at_once, workers)
    live_rows = min(cut.piece_rows, at_once) if cut.order == "rows" else run_rows
    for reduction in job.reductions:
        space = reduction.workspace
        width = min(cut.slab, job.n_features)
        held += live_rows * space.row_bytes
        held += min(live_rows, job.tile_rows) * width * space.row_feature_bytes
    runs = cut.runs(job)
    return Memory(
        baseline=baseline,
        task=int(held) + TASK_OVERHEAD,
        threads=min(threads, runs),
        partials=whole * waiting_partials(runs, cut.fan_in, threads),
        results=2 * a_row * job.n_rows,
        samples=(_shipped_bytes(job) if workers == "cluster" else 0)
        + sum(reduction.workspace.process_bytes for reduction in job.reductions),
    )


def _shipped_bytes(job: LinearJob) -> int:
    """Samples in memory that every worker of a cluster is sent once."""
    if job.source is None or not job.source.resident:
        return 0
    return job.n_rows * job.n_features * job.source.dtype.itemsize


def _values_bytes(job: LinearJob, cut: Cut, run_rows: int, workers: Workers) -> int:
    """Bytes of the samples at hand, with what reading them takes besides."""
    if not job.sweeps:
        return 16 * min(cut.piece_rows, run_rows) * len(job.columns)
    if job.source is None:
        itemsize = job.blocks.dtype.itemsize if job.blocks is not None else 8
        chunk_rows = job.blocks.chunk_rows if job.blocks is not None else 1
        return int((run_rows + 2 * chunk_rows) * job.n_features * itemsize)
    if job.source.resident:
        # what arrives with a task is held once as bytes and once as an array
        sent = run_rows * job.n_features * job.source.dtype.itemsize
        return 2 * sent if workers == "pool" else 0
    width = job.n_features if cut.order == "rows" else min(cut.slab, job.n_features)
    return reading_bytes(job.source, run_rows, width)


def refuse_more_than_budget(needed: int, what: str, way_out: str) -> None:
    """Refuse arrays that this process would hold besides a pass, before there are any.

    Parameters
    ----------
    needed : int
        Their bytes.
    what : str
        What they are of, the subject of the sentence.
    way_out : str
        What else can be done than raise the budget.

    Raises
    ------
    MemoryBudgetError
        They do not fit the budget.
    """
    baseline, budget = baseline_bytes(), budget_bytes()
    if baseline + needed <= budget:
        return
    least = _mebibytes(baseline + needed)
    refusal = MemoryBudgetError(
        f"{what} would hold {_mebibytes(needed)} more in this process, which holds "
        f"{_mebibytes(baseline)}, and the budget is {_mebibytes(budget)}; set "
        f"memory_budget='{least.replace(' ', '')}' or more, or {way_out}"
    )
    refusal.needed = baseline + needed
    raise refusal


def _mebibytes(size: int) -> str:
    return f"{math.ceil(size / (1 << 20))} MiB"


def reading_bytes(source: Source, n_rows: int, n_features: int) -> int:
    """Bytes that reading some rows and features takes: the values, and chunks being decoded."""
    itemsize = source.dtype.itemsize
    rows, features = source.chunks[0], source.chunks[1]
    down = math.ceil(n_rows / rows)
    if n_rows % rows and n_rows < source.shape[0]:
        # these rows begin inside a chunk, and may end inside one more
        down = math.ceil((n_rows - 1) / rows) + 1
    chunks = down * math.ceil(n_features / features)
    decoding = 2 * rows * features * itemsize * min(chunks, _ZARR_CONCURRENCY)
    return n_rows * n_features * itemsize + decoding


def waiting_partials(tasks: int, fan_in: int, threads: int) -> int:
    """Partials that wait to be merged at a time, at most."""
    levels = max(1, math.ceil(math.log(max(tasks, 2), fan_in)))
    return min(tasks, fan_in * levels + threads)

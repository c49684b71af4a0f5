"""Choose how a walk over pairs is cut: tasks that fit the budget and read little.

As for one read of the samples, the choice is made from sizes alone, refuses
where nothing fits, and never changes a digit of a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from somscale.engine.linear.cutting import (
    LEAST_OPERATIONS,
    MOST_TASKS,
    TASK_OPERATIONS,
    budget_error,
    ceil_power,
    fan_in_of,
    floor_power,
)
from somscale.engine.memory import Memory, Workers
from somscale.engine.pairs.job import PairCut, PairJob, Reading
from somscale.engine.pairs.memory import project_pairs
from somscale.engine.pairs.reading import chunked_bytes, itemsize_of, readings
from somscale.engine.pairs.sweep_cuts import sweep_bytes, sweep_cuts, sweep_work
from somscale.reductions.base import Side

__all__ = ["PairPlan", "plan_pairs"]

_READ_BYTES = 5e8
"""Bytes that one core decodes in a second, about; TASK_OPERATIONS are computed meanwhile."""
_MUCH_WORK = 1.05
"""Work beside the least there is, that is still as good."""
_KEPT_BYTES = 1 << 26
"""What the kept rows of a task gather is wished to hold at most: rows meet all others anyway."""
_WORDS: dict[Reading, str] = {
    "memory": "in memory",
    "loaded": "loaded once per process",
    "panels": "read by panels",
    "sent": "sent to the tasks",
}


@dataclass(frozen=True)
class PairPlan:
    """A job over pairs, its cut, and what it is projected to cost.

    Attributes
    ----------
    job : PairJob
        The reductions and where their samples are.
    cut : PairCut
        How the work is cut.
    memory : Memory
        Projected peak of one worker process.
    bytes_read : int
        Bytes of samples that are read (decoded), all tasks and processes together.
    bytes_stored : int
        Bytes of the samples.
    budget : int
        The memory budget of one worker process.
    """

    job: PairJob
    cut: PairCut
    memory: Memory
    bytes_read: int
    bytes_stored: int
    budget: int

    @property
    def tasks(self) -> int:
        """Tasks that walk pairs."""
        return self.cut.n_tasks(self.job)

    @property
    def reading(self) -> str:
        """How tasks come by the samples, in words."""
        return _WORDS[self.cut.reading]


def plan_pairs(
    job: PairJob,
    *,
    budget: int,
    baseline: int,
    threads: int,
    fixed_threads: bool = False,
    processes: int = 1,
    workers: Workers = "here",
    run_tiles: int | None = None,
    task_bytes: int = 0,
) -> PairPlan:
    """Cut a job over pairs for a budget.

    Parameters
    ----------
    job : PairJob
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
        Where tasks run: in this process, in a pool that is sent every task with all
        it needs, or on a cluster whose workers keep what they were sent.
    run_tiles : int, optional
        Tiles of a task, where that is not free: in a walk that was begun before, or that
        fills the blocks of a matrix.
    task_bytes : int
        What a task holds besides, for what becomes of its walk.

    Raises
    ------
    MemoryBudgetError
        No cut fits; the message names the smallest budget that works.
    """
    fewest = threads if fixed_threads else 1
    fitting: list[tuple[float, PairPlan]] = []
    smallest, least = 0, math.inf
    reads: dict[PairCut, int] = {}
    stored = job.n_rows * job.n_features * itemsize_of(job)
    for count in range(threads, fewest - 1, -1):
        for cut in _candidates(job, count * processes, workers, run_tiles):
            if cut not in reads:
                reads[cut] = bytes_read(job, cut, processes)
            work = _operations(job, cut, count * processes) / TASK_OPERATIONS
            seconds = (work + reads[cut] / _READ_BYTES) / count
            if seconds > _MUCH_WORK * least:
                continue  # not chosen whether it fits or not
            memory = project_pairs(job, cut, baseline=baseline, threads=count, workers=workers)
            memory = replace(memory, task=memory.task + task_bytes)
            smallest = min(smallest or memory.peak, memory.peak)
            if memory.peak <= budget:
                fitting.append((seconds, PairPlan(job, cut, memory, reads[cut], stored, budget)))
                least = min(least, seconds)
    if not fitting:
        raise budget_error(
            "the walk over pairs of", job, smallest, baseline=baseline, budget=budget
        )
    # candidates come best first; only much less work changes the choice
    return next(plan for seconds, plan in fitting if seconds <= _MUCH_WORK * least)


def _candidates(
    job: PairJob, workers: int, where: Workers, run_tiles: int | None
) -> Iterator[PairCut]:
    """Cuts to try, best first: from tasks of the wished size down, then by panels."""
    fan_in = fan_in_of(job)
    whole = ceil_power(job.n_tiles)
    sizes = _task_sizes(job, workers) if run_tiles is None else [run_tiles]
    if job.side is Side.SWEEPS:
        cuts = sweep_cuts(job, sizes, readings(job, where), fan_in, workers)
        yield from (cut for cut in cuts if run_tiles in (None, cut.run_tiles))
        return
    for reading in readings(job, where):
        for tiles in sizes:
            if reading == "sent":
                yield PairCut(tiles, tiles, reading, fan_in)
            elif reading == "panels" and job.matrix is None:
                for panel in (tiles >> n for n in range(tiles.bit_length())):
                    yield PairCut(tiles, panel, reading, fan_in)
            else:
                yield PairCut(tiles, tiles if job.side is Side.BOTH else whole, reading, fan_in)


def _task_sizes(job: PairJob, workers: int) -> list[int]:
    """Tiles along the side of a task: about a second of work, and work for all; then smaller."""
    pairs = min(TASK_OPERATIONS, max(job.operations / (4 * workers), LEAST_OPERATIONS))
    pairs /= max(1.0, job.operations / max(1.0, job.n_pairs))
    if job.side is Side.BOTH:
        rows = math.sqrt(pairs)
        fewest = job.n_tiles / (math.isqrt(2 * MOST_TASKS) - 1)
    else:
        kept = sum(reduction.workspace.kept_row_bytes for reduction in job.reductions)
        rows = min(pairs / job.n_rows, _KEPT_BYTES / max(1, kept))
        fewest = job.n_tiles / MOST_TASKS
    wished = min(floor_power(rows / job.tile_rows), ceil_power(job.n_tiles))
    least = min(ceil_power(fewest), ceil_power(job.n_tiles))
    sizes = [wished >> n for n in range(wished.bit_length()) if wished >> n >= least]
    return sizes or [least]


def _operations(job: PairJob, cut: PairCut, workers: int) -> float:
    """Operations of a walk, cut in a given way, as far as cuts differ."""
    return sweep_work(job, cut, workers) if job.side is Side.SWEEPS else job.operations


def bytes_read(job: PairJob, cut: PairCut, processes: int) -> int:
    """Bytes of samples that all tasks decode; a chunk counts whole, every time."""
    if job.side is Side.SWEEPS:
        return sweep_bytes(job, cut, processes)
    if job.matrix is not None:
        # a box beside the diagonal, and the one that mirrors it
        whole = int(job.n_rows**2 * job.matrix.dtype.itemsize)
        if job.symmetric and job.side is Side.BOTH:
            return whole * (job.n_tiles + 1) // (2 * job.n_tiles)
        return whole
    if job.source is None or cut.reading == "sent":
        return job.n_rows * job.n_features * itemsize_of(job)
    if cut.reading == "memory":
        return job.n_rows * job.n_features * itemsize_of(job)
    if cut.reading == "loaded":
        return processes * chunked_bytes(job, job.n_tiles)
    panels = chunked_bytes(job, cut.panel_tiles)
    if job.side is Side.ROWS:
        return chunked_bytes(job, cut.run_tiles) + cut.runs(job) * panels
    if cut.panel_tiles == cut.run_tiles:
        # a panel is read with each of the others, and once for itself
        return cut.runs(job) * panels
    # inside a task the column changes at every step in Z-order, the row at every other
    return math.ceil(0.75 * math.ceil(job.n_tiles / cut.panel_tiles) * panels)

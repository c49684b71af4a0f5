"""The Dask graph of a pass: tasks that read runs of tiles, joined along the tile tree.

Only public Dask calls are used.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.joining import Node, PassGraph, bound, join_tasks
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.recall import run_or_recall
from somscale.engine.linear.walk import walk_window
from somscale.engine.naming import label_of
from somscale.engine.readers.blocked import Arrival
from somscale.engine.readers.sources import ArraySource
from somscale.engine.sink import Sink
from somscale.reductions.base import RunResult

if TYPE_CHECKING:
    from somscale.engine.linear.cutting import LinearPlan

__all__ = ["build_graph"]


def build_graph(
    plan: LinearPlan,
    token: str,
    *,
    pool: bool = False,
    job_node: Any = None,
    sink: Sink | None = None,
) -> PassGraph:
    """Build the graph of a pass.

    Parameters
    ----------
    plan : LinearPlan
        The job and its cut.
    token : str
        Text for the keys: equal tokens must mean equal results.
    pool : bool
        Whether tasks run in a pool of processes that are sent every task anew.
    job_node : optional
        A future of the job where a cluster has it already.
    sink : Sink, optional
        Where finished runs are kept.
    """
    job, cut = plan.job, plan.cut
    # a task's partial depends on its tiles, so plans of other cuts must not share its key
    token = f"{token}-{cut.run_tiles}-{cut.read_rows}-{cut.fan_in}"
    if job_node is None:
        carried = job if _held_rows(job, pool) is None else replace(job, source=None)
        job_node = delayed(
            replace(carried, blocks=None), traverse=False, name=f"somscale-job-{token}"
        )
    tasks = _Tasks(job, cut, job_node, f"read-{label_of(job.reductions)}-{token}", sink)
    nodes = []
    for number in range(plan.tasks):
        start, stop = cut.run_rows(job, number)
        nodes.append(Node(number, stop - start, tasks.run(number, pool)))
    level = cut.run_tiles.bit_length() - 1
    return join_tasks(job.reductions, nodes, level=level, fan_in=cut.fan_in, token=token)


def _held_rows(job: LinearJob, pool: bool) -> AnyArray | None:
    """Samples in memory of which a pool's tasks are sent their rows alone, not all of them."""
    # a subclass reads in its own way, and goes with the job
    if pool and job.sweeps and type(job.source) is ArraySource:
        return job.source.values
    return None


@dataclass(frozen=True)
class _Tasks:
    """Makes the tasks of one pass."""

    job: LinearJob
    cut: Cut
    job_node: Any
    name: str
    sink: Sink | None

    def run(self, number: int, pool: bool) -> Delayed:
        """The task, or the chain of tasks, that walks one run."""
        job, cut = self.job, self.cut
        start, stop = cut.run_rows(job, number)
        inputs: list[Delayed] = []
        arrival = None
        held = _held_rows(job, pool)
        if held is not None:
            arrival = Arrival.of_rows(start, stop, held.shape)
            part = held[start:stop]
            inputs = [delayed(part, traverse=False, name=f"rows-{uuid.uuid4()}")]
        elif job.blocks is not None and job.sweeps:
            if len(windows := cut.windows(start, stop)) > 1:
                return self._chain(number, windows)
            inputs, arrival = job.blocks.inputs(start, stop)
        read = bound(_read_run, cut, number, arrival, self.sink)
        run: Delayed = read(self.job_node, *inputs, dask_key_name=(self.name, number))
        return run

    def _chain(self, number: int, windows: list[tuple[int, int]]) -> Delayed:
        """Tasks that take a tile's rows one after the other, each holding a few alone.

        The blocks of a task are all in memory before it begins, and a tile of wide
        samples may not fit.
        """
        if self.job.blocks is None:
            raise ValueError("only Dask arrays are taken in a chain of tasks")
        before: Any = None
        for position, rows in enumerate(windows):
            last = position == len(windows) - 1
            inputs, arrival = self.job.blocks.inputs(*rows)
            read = bound(_read_window, self.cut, rows, arrival)
            key = (self.name, number) if last else (f"{self.name}-part", number, position)
            before = read(self.job_node, before, *inputs, dask_key_name=key)
        chained: Delayed = before
        return chained


def _read_run(
    cut: Cut,
    number: int,
    arrival: Arrival | None,
    sink: Sink | None,
    job: LinearJob,
    *blocks: AnyArray,
) -> RunResult:
    """Walk one run of tiles, on the blocks that came with the task if any did."""
    arrived = None if arrival is None else arrival.source(blocks)
    return run_or_recall(job, cut, number, arrived, sink)


def _read_window(
    cut: Cut,
    rows: tuple[int, int],
    arrival: Arrival,
    job: LinearJob,
    before: RunResult | None,
    *blocks: AnyArray,
) -> RunResult:
    """Go on with a tile by the rows that came with the task."""
    return walk_window(job.with_source(arrival.source(blocks)), cut, rows, before)

"""The Dask graph of a pass: tasks that read runs of tiles, joined along the tile tree.

Only public Dask calls are used.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.joining import Node, PassGraph, bound, join_tasks, label_of
from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.recall import run_or_recall
from somscale.engine.readers.sources import ArraySource
from somscale.engine.sink import Sink

if TYPE_CHECKING:
    import dask.array as da

from somscale.reductions.base import RunResult

__all__ = ["blocks_of_rows", "build_graph"]


def build_graph(
    plan: LinearPlan,
    token: str,
    *,
    pool: bool = False,
    job_node: Any = None,
    sink: Sink | None = None,
    sink_token: str = "",
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
    sink_token : str
        Key under which the sink knows the job.
    """
    job, cut = plan.job, plan.cut
    # a task's partial depends on its tiles, so plans of other cuts must not share its key
    token = f"{token}-{cut.run_tiles}-{cut.fan_in}"
    label = label_of(job.reductions)
    if job_node is None:
        carried = job if _rows_sent(job, pool) is None else replace(job, source=None)
        job_node = delayed(
            replace(carried, blocks=None), traverse=False, name=f"somscale-job-{token}"
        )
    nodes = []
    for number in range(plan.tasks):
        start, stop = cut.run_rows(job, number)
        first_row, blocks = _blocks(job, start, stop, pool)
        width = len(blocks[0]) if blocks else 0
        read = bound(_read_run, cut, number, first_row, width, sink, sink_token)
        key = (f"read-{label}-{token}", number)
        run = read(job_node, *chain.from_iterable(blocks), dask_key_name=key)
        nodes.append(Node(number, stop - start, run))
    level = cut.run_tiles.bit_length() - 1
    return join_tasks(job.reductions, nodes, level=level, fan_in=cut.fan_in, token=token)


def _rows_sent(job: LinearJob, pool: bool) -> AnyArray | None:
    """Samples in memory of which a pool's tasks are sent their rows alone, not all of them."""
    # a subclass reads in its own way, and goes with the job
    if pool and job.sweeps and type(job.source) is ArraySource:
        return job.source.values
    return None


def _blocks(job: LinearJob, start: int, stop: int, pool: bool) -> tuple[int, list[list[Any]]]:
    """The blocks of samples that a run is sent, and the first one's first row."""
    held = _rows_sent(job, pool)
    if held is not None:
        return start, [[delayed(held[start:stop], traverse=False, name=f"rows-{uuid.uuid4()}")]]
    if job.blocks is None or not job.sweeps:
        return start, []
    return blocks_of_rows(job.blocks, start, stop)


def _read_run(
    cut: Cut,
    number: int,
    first_row: int,
    width: int,
    sink: Sink | None,
    token: str,
    job: LinearJob,
    *blocks: AnyArray,
) -> RunResult:
    """Walk one run of tiles; its blocks of samples, if it is sent any, come row by row."""
    grid = [blocks[first : first + width] for first in range(0, len(blocks), max(1, width))]
    return run_or_recall(job, cut, number, (first_row, grid) if grid else None, sink, token)


def blocks_of_rows(array: da.Array, start: int, stop: int) -> tuple[int, list[list[Delayed]]]:
    """The blocks of a Dask array that hold some rows, and the first one's first row."""
    edges = np.concatenate([[0], np.cumsum(array.chunks[0])])
    first = int(np.searchsorted(edges, start, side="right")) - 1
    last = int(np.searchsorted(edges, stop, side="left"))
    parts = array.blocks[first:last].to_delayed(optimize_graph=False)
    return int(edges[first]), [list(row) for row in parts]

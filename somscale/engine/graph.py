"""The Dask graph of a pass: tasks that read, a tree of merges, and arrays of samples' values.

Only public Dask calls are used.  A task holds an aligned run of tiles; merges
follow the tile tree, so the graph's shape never shows in a result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.cutting import LinearPlan
from somscale.engine.job import Cut, LinearJob
from somscale.engine.recall import run_or_recall
from somscale.engine.sink import Sink
from somscale.engine.sources import ArraySource
from somscale.engine.walk import RunResult
from somscale.reductions.base import Field, Partial
from somscale.reductions.merge import fold_nodes

if TYPE_CHECKING:
    import dask.array as da

__all__ = [
    "HasFields",
    "Node",
    "PassGraph",
    "blocks_of_rows",
    "bound",
    "build_graph",
    "join_tasks",
    "label_of",
]


class HasFields(Protocol):
    """What a graph asks of a reduction."""

    @property
    def name(self) -> str:
        """Name of the reduction."""

    @property
    def fields(self) -> Any:
        """Its fields, by name."""


def bound(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """A delayed function that has its plain arguments already.

    Dask searches what a delayed function is given for delayed values, entry by entry,
    and takes a millisecond for each that it finds inside a list.
    """
    return delayed(partial(function, *arguments, **settings), pure=False)


@dataclass(frozen=True)
class Node:
    """A task whose result is a node of the tile tree.

    Attributes
    ----------
    index : int
        Index of the node at its level.
    rows : int
        Samples whose values the result holds, if it holds any.
    task : Delayed
        Gives one partial a reduction.
    """

    index: int
    rows: int
    task: Delayed


@dataclass(frozen=True)
class PassGraph:
    """A pass that has not been computed.

    Attributes
    ----------
    runs : list of Delayed
        The tasks that read samples; each gives one partial a reduction.
    total : Delayed
        The merged partials of all runs, without the values of samples.
    pieces : dict
        (number of the reduction, field) to (Delayed array, rows) of every run in order.
    """

    runs: list[Delayed]
    total: Delayed
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]]


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


def label_of(reductions: Sequence[HasFields]) -> str:
    """Names of the reductions, for the keys that a dashboard shows."""
    return "+".join(dict.fromkeys(r.name.split(":")[0] for r in reductions))


def join_tasks(
    reductions: Sequence[HasFields], nodes: Sequence[Node], *, level: int, fan_in: int, token: str
) -> PassGraph:
    """Join the tasks of a pass: merge what is merged, and pick the values of samples.

    Parameters
    ----------
    reductions : sequence
        In the order of the tasks' partials.
    nodes : sequence of Node
        The tasks, by ascending index.
    level : int
        Level of the tasks in the tree over tiles.
    fan_in : int
        Partials merged by one task, a power of two.
    token : str
        Text for the keys.
    """
    runs = [node.task for node in nodes]
    name = f"merge-{label_of(reductions)}-{token}"
    total = _merge_tree(reductions, nodes, level, fan_in, name)
    return PassGraph(runs, total, _pieces(reductions, nodes, token))


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


def _merge_tree(
    reductions: Sequence[HasFields], nodes: Sequence[Node], level: int, fan_in: int, name: str
) -> Delayed:
    fields = [_mergeable(r.fields) for r in reductions]
    step = fan_in.bit_length() - 1
    tasks, height = [(node.index, node.task) for node in nodes], 0
    while len(tasks) > 1 or height == 0:
        merged = []
        for index, group in groupby(tasks, lambda task: task[0] >> step):
            indices, parts = zip(*group, strict=True)
            merge = bound(_merge_runs, fields, level, indices)
            merged.append((index, merge(*parts, dask_key_name=(name, height, index))))
        tasks = merged
        level += step
        height += 1
    return tasks[0][1]


def _mergeable(fields: Any) -> dict[str, Field]:
    return {name: spec for name, spec in fields.items() if spec.merge != "concat"}


def _merge_runs(
    fields: list[dict[str, Field]], level: int, indices: Sequence[int], *runs: RunResult
) -> RunResult:
    """Fold nodes of one level below a common ancestor, for every reduction."""
    merged: list[Partial] = []
    for number, specs in enumerate(fields):
        nodes = [
            (level, index, {name: run[number][name] for name in specs})
            for index, run in zip(indices, runs, strict=True)
        ]
        total = fold_nodes(specs, nodes)
        merged.append({} if total is None else total)
    return merged


def _pieces(
    reductions: Sequence[HasFields], nodes: Sequence[Node], token: str
) -> dict[tuple[int, str], list[tuple[Delayed, int]]]:
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]] = {}
    for number, reduction in enumerate(reductions):
        for name, spec in reduction.fields.items():
            if spec.merge != "concat":
                continue
            pieces[number, name] = [
                (
                    delayed(_pick, pure=False)(
                        node.task,
                        number,
                        name,
                        dask_key_name=(f"{name}-{number}-{token}", position),
                    ),
                    node.rows,
                )
                for position, node in enumerate(nodes)
            ]
    return pieces


def _pick(run: RunResult, number: int, name: str) -> AnyArray:
    return run[number][name]

"""The Dask graph of a walk over pairs: a triangle of square tasks, or a column of rows.

``dask.array.blockwise`` cannot leave out half of a square, so the tasks are
written one by one.  Samples come as the cut says: read by the tasks, held once
a process, or joined to panels that many tasks share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.joining import Node, PassGraph, bound, join_tasks
from somscale.engine.naming import label_of
from somscale.engine.pairs.cutting import PairPlan
from somscale.engine.pairs.job import PairJob, rows_of
from somscale.engine.pairs.panels import read_listed
from somscale.engine.pairs.recall import Panel, pairs_or_recall
from somscale.engine.pairs.zorder import Square
from somscale.engine.readers.blocked import Arrival
from somscale.engine.readers.resident import Resident, resident
from somscale.engine.sink import Sink
from somscale.reductions.base import Side

__all__ = ["build_pair_graph", "pair_nodes"]


def build_pair_graph(
    plan: PairPlan,
    token: str,
    *,
    pool: bool = False,
    job_node: Any = None,
    sink: Sink | None = None,
) -> PassGraph:
    """Build the graph of a walk over pairs.

    Parameters
    ----------
    plan : PairPlan
        The job and its cut.
    token : str
        Text for the keys: equal tokens must mean equal results.
    pool : bool
        Whether tasks run in a pool of processes that are sent every task anew.
    job_node : optional
        A future of the job where a cluster has it already.
    sink : Sink, optional
        Where finished tasks are kept.
    """
    job, cut = plan.job, plan.cut
    keys = _keys(plan, token)
    work = {"function": pairs_or_recall, "sink": sink}
    nodes = pair_nodes(plan, token, cut.tasks(job), work, pool=pool, job_node=job_node)
    return join_tasks(job.reductions, nodes, level=cut.level(job), fan_in=cut.fan_in, token=keys)


def _keys(plan: PairPlan, token: str) -> str:
    # a task's partial depends on its tiles, so plans of other cuts must not share its key
    return f"{token}-{plan.cut.run_tiles}-{plan.cut.fan_in}"


def pair_nodes(
    plan: PairPlan,
    token: str,
    tasks: Sequence[Square],
    work: Mapping[str, Any],
    *,
    pool: bool = False,
    job_node: Any = None,
) -> list[Node]:
    """Tasks of a walk, each with the samples it needs.

    Parameters
    ----------
    plan, token, pool, job_node
        As for :func:`build_pair_graph`.
    tasks : sequence of Square
        Some of the cut's, in order.
    work : mapping
        The "function" of a task, called with the job, what was sent of the samples, `cut` and
        `task`; and other arguments of its by their names.
    """
    job, cut = plan.job, plan.cut
    keys = _keys(plan, token)
    if job_node is None:
        carried = job.without_samples() if cut.reading == "sent" else job
        job_node = delayed(carried, traverse=False, name=f"somscale-job-{keys}")
    held: list[Delayed] = []
    panels = None
    if cut.reading == "loaded":
        hold = bound(_hold, token=token, pin=pool)
        held = [hold(job_node, dask_key_name=f"samples-{keys}")]
    elif cut.reading == "sent":
        panels = _Panels(plan, keys)
    name = f"pairs-{label_of(job.reductions)}-{keys}"
    nodes = []
    settings = dict(work)
    function = settings.pop("function")
    for task in tasks:
        start, stop = cut.run_rows(job, task.row)
        walk = bound(function, cut=cut, task=task, **settings)
        sent = held if panels is None else panels.of(task)
        run = walk(job_node, *sent, dask_key_name=(name, task.number))
        nodes.append(Node(task.number, stop - start, run))
    return nodes


def _hold(job: PairJob, token: str, pin: bool) -> Resident:
    if job.source is None:
        raise ValueError("this job has no source to hold")
    return resident(job.source, token, pin)


class _Panels:
    """Panels of rows as nodes of the graph, each joined once and shared by its tasks."""

    def __init__(self, plan: PairPlan, keys: str) -> None:
        job, cut = plan.job, plan.cut
        self._job, self._cut, self._keys = job, cut, keys
        self._all: Delayed | None = None
        if job.matrix is not None:
            return
        size = cut.run_tiles
        if job.side is Side.SWEEPS:
            # panels of all samples, whatever the rows that a task keeps
            size, keys = cut.panel_tiles, f"{keys}-{cut.panel_tiles}"
        self._panels = [
            _panel(job, *rows_of(job, number * size, size), key=(f"panel-{keys}", number))
            for number in range(-(-job.sample_tiles // size))
        ]
        if job.side is not Side.BOTH:
            # one dependency a task instead of one for every panel
            self._all = bound(_gather)(*self._panels, dask_key_name=f"panels-{keys}")

    def of(self, task: Square) -> list[Delayed]:
        """The panels that a task walks."""
        if self._job.matrix is not None:
            return self._boxes(task)
        if self._all is not None:
            return [self._all]
        return [self._panels[run] for run in sorted({task.row, task.column})]

    def _boxes(self, task: Square) -> list[Delayed]:
        """The boxes of a matrix that a task walks, on both sides of the diagonal."""
        if self._job.side is Side.SWEEPS:
            return [self._kept_box(task)]
        runs = [self._cut.run_rows(self._job, run) for run in (task.row, task.column)]
        rows, columns = runs if self._job.side is Side.BOTH else (runs[0], (0, self._job.n_rows))
        mirrored = [] if self._job.symmetric else [(columns, rows)]
        places = dict.fromkeys([(rows, columns), *mirrored])
        return [
            bound(_box, a[0], b[0])(
                self._read(slice(*a), slice(*b)),
                dask_key_name=(f"box-{self._keys}", task.number, number),
            )
            for number, (a, b) in enumerate(places)
        ]

    def _kept_box(self, task: Square) -> Delayed:
        """The rows of a matrix that a task keeps, at their places among all kept ones."""
        job, columns = self._job, slice(0, self._job.n_rows)
        start, stop = self._cut.run_rows(job, task.row)
        if job.kept is None:
            values = self._read(slice(start, stop), columns)
        elif job.stored is None:
            values = job.matrix[job.kept.numbers[start:stop]]
        else:
            values = read_listed(job.stored, job.kept.numbers[start:stop], columns)
        box: Delayed = bound(_box, start, 0)(
            values, dask_key_name=(f"box-{self._keys}", task.number, 0)
        )
        return box

    def _read(self, rows: slice, columns: slice) -> Any:
        stored = self._job.stored
        return self._job.matrix[rows, columns] if stored is None else stored.read(rows, columns)


def _box(top: int, left: int, values: AnyArray) -> Panel:
    return top, left, np.asarray(values)


def _panel(job: PairJob, start: int, stop: int, *, key: tuple[str, int]) -> Delayed:
    if job.blocks is None:
        if job.source is None:
            raise ValueError("this job has no samples to send")
        values = job.source.read(slice(start, stop), slice(0, job.n_features))
        panel: Delayed = delayed((start, 0, values), traverse=False, name=key)
        return panel
    inputs, arrival = job.blocks.inputs(start, stop)
    joined: Delayed = bound(_join, arrival, start, stop)(*inputs, dask_key_name=key)
    return joined


def _join(arrival: Arrival, start: int, stop: int, *blocks: AnyArray) -> Panel:
    source = arrival.source(blocks)
    return start, 0, source.read(slice(start, stop), slice(0, source.shape[1]))


def _gather(*panels: Panel) -> list[Panel]:
    return list(panels)

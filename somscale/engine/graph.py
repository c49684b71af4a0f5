"""The Dask graph of a pass: tasks that read, a tree of merges, and arrays of samples' values.

Only public Dask calls are used.  A task holds an aligned run of tiles; merges
follow the tile tree, so the graph's shape never shows in a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from somscale.engine.cutting import LinearPlan
from somscale.engine.job import Cut, LinearJob
from somscale.engine.recall import run_or_recall
from somscale.engine.sink import Sink
from somscale.engine.walk import RunResult
from somscale.kernels.types import AnyArray
from somscale.reductions.base import Field, Partial
from somscale.reductions.merge import fold_nodes

__all__ = ["PassGraph", "build_graph"]


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
    plan: LinearPlan, token: str, *, job_node: Any = None, sink: Sink | None = None
) -> PassGraph:
    """Build the graph of a pass.

    Parameters
    ----------
    plan : LinearPlan
        The job and its cut.
    token : str
        Unique text for the keys: equal tokens must mean equal results.
    job_node : optional
        A future of the job where a cluster has it already.
    sink : Sink, optional
        Where finished runs are kept.
    """
    job, cut = plan.job, plan.cut
    label = "+".join(dict.fromkeys(r.name.split(":")[0] for r in job.reductions))
    if job_node is None:
        job_node = delayed(_without_blocks(job), traverse=False, name=f"somscale-job-{token}")
    runs = [
        delayed(run_or_recall, pure=False)(
            job_node,
            cut,
            number,
            _blocks(job, cut, number),
            sink,
            token,
            dask_key_name=(f"read-{label}-{token}", number),
        )
        for number in range(plan.tasks)
    ]
    total = _merge_tree(job, cut, runs, f"merge-{label}-{token}")
    return PassGraph(runs, total, _pieces(job, cut, runs, token))


def _without_blocks(job: LinearJob) -> LinearJob:
    return replace(job, blocks=None)


def _blocks(job: LinearJob, cut: Cut, number: int) -> tuple[int, list[list[Delayed]]] | None:
    """The blocks of a Dask array that a run needs, and the first one's first row."""
    if job.blocks is None or not job.sweeps:
        return None
    start, stop = cut.run_rows(job, number)
    edges = np.concatenate([[0], np.cumsum(job.blocks.chunks[0])])
    first = int(np.searchsorted(edges, start, side="right")) - 1
    last = int(np.searchsorted(edges, stop, side="left"))
    parts = job.blocks.blocks[first:last].to_delayed(optimize_graph=False)
    return int(edges[first]), [list(row) for row in parts]


def _merge_tree(job: LinearJob, cut: Cut, runs: list[Delayed], name: str) -> Delayed:
    fields = [_mergeable(r.fields) for r in job.reductions]
    level = cut.run_tiles.bit_length() - 1
    step = cut.fan_in.bit_length() - 1
    nodes, height = runs, 0
    while len(nodes) > 1 or height == 0:
        nodes = [
            delayed(_merge_runs, pure=False)(
                fields,
                level,
                start,
                nodes[start : start + cut.fan_in],
                dask_key_name=(name, height, start),
            )
            for start in range(0, len(nodes), cut.fan_in)
        ]
        level += step
        height += 1
    return nodes[0]


def _mergeable(fields: Any) -> dict[str, Field]:
    return {name: spec for name, spec in fields.items() if spec.merge != "concat"}


def _merge_runs(
    fields: list[dict[str, Field]], level: int, first: int, runs: list[RunResult]
) -> RunResult:
    """Fold neighbouring nodes of one level, for every reduction."""
    merged: list[Partial] = []
    for number, specs in enumerate(fields):
        nodes = [
            (level, first + position, {name: run[number][name] for name in specs})
            for position, run in enumerate(runs)
        ]
        total = fold_nodes(specs, nodes)
        merged.append({} if total is None else total)
    return merged


def _pieces(
    job: LinearJob, cut: Cut, runs: list[Delayed], token: str
) -> dict[tuple[int, str], list[tuple[Delayed, int]]]:
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]] = {}
    for number, reduction in enumerate(job.reductions):
        for name, spec in reduction.fields.items():
            if spec.merge != "concat":
                continue
            pieces[number, name] = [
                (
                    delayed(_pick, pure=False)(
                        run, number, name, dask_key_name=(f"{name}-{number}-{token}", position)
                    ),
                    np.subtract(*reversed(cut.run_rows(job, position))).item(),
                )
                for position, run in enumerate(runs)
            ]
    return pieces


def _pick(run: RunResult, number: int, name: str) -> AnyArray:
    return run[number][name]


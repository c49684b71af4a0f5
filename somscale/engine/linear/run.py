"""Run a linear pass: as a plain loop, on Dask's schedulers, or as a graph for later.

All ways walk the same tiles and fold the same tree, so they give the same
bits.  The plain loop is the reference, and is used where the work is small.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from somscale.engine.checkpoints import KeptPass, kept_pass
from somscale.engine.linear.cutting import LinearPlan, plan_linear
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.recall import run_or_recall
from somscale.engine.serial import fold_alone
from somscale.engine.sink import Sink
from somscale.engine.where import Where, where_to_run
from somscale.errors import MemoryBudgetError
from somscale.reductions.base import Partial

if TYPE_CHECKING:
    from somscale.engine.later import LazyPass

__all__ = ["lazy_pass", "plan_job", "run_job"]


def plan_job(job: LinearJob, *, lazy: bool = False) -> LinearPlan:
    """Plan a job for this machine, scheduler and budget; raises where nothing fits."""
    return _plan(job, where_to_run(), lazy=lazy)


def _plan(
    job: LinearJob, where: Where, *, lazy: bool = False, run_tiles: int | None = None
) -> LinearPlan:
    return plan_linear(
        job,
        budget=where.budget,
        baseline=where.baseline,
        threads=where.threads,
        fixed_threads=lazy or where.fixed_threads,
        processes=where.processes,
        workers=where.workers,
        run_tiles=run_tiles,
    )


def _plan_again(job: LinearJob, where: Where, kept: KeptPass | None) -> LinearPlan:
    """Cut a pass as when it was begun, where that fits still."""
    if kept is not None and kept.run_tiles is not None:
        with suppress(MemoryBudgetError):
            return _plan(job, where, run_tiles=kept.run_tiles)
    return _plan(job, where)


def run_job(job: LinearJob, label: str = "reading") -> list[Any]:
    """Compute a job now; inside `checkpointing`, only what was not finished before.

    Parameters
    ----------
    job : LinearJob
        What to run.
    label : str
        What a progress bar says of it.

    Returns
    -------
    list
        The finished statistics, one a reduction.
    """
    where = where_to_run()
    kept = kept_pass(job.reductions, job.n_rows, job.n_features, job.tile_rows)
    plan = _plan_again(job, where, kept)
    sink = None if kept is None else kept.sink(plan.cut.run_tiles)
    if where.alone(plan.tasks, job.operations) and job.blocks is None:
        totals = _run_serial(plan, sink, label)
    else:
        totals = _run_dask(plan, where, sink, label)
    return [r.finalize(total) for r, total in zip(job.reductions, totals, strict=True)]


def _run_serial(plan: LinearPlan, sink: Sink | None, label: str) -> list[Partial]:
    """The plain loop."""
    job, cut = plan.job, plan.cut
    return fold_alone(
        job.reductions,
        cut.run_tiles.bit_length() - 1,
        list(range(plan.tasks)),
        lambda number: run_or_recall(job, cut, number, None, sink),
        label,
    )


def _run_dask(plan: LinearPlan, where: Where, sink: Sink | None, label: str) -> list[Partial]:
    from somscale.engine.linear.graph import build_graph
    from somscale.engine.schedulers import compute_graph, ship

    job_node = None
    if where.client is not None:
        job_node = ship(where.client, plan.job)
    # fresh keys: a cluster would answer a second try with the failure of the first
    keys = uuid.uuid4().hex
    graph = build_graph(
        plan,
        keys,
        pool=where.workers == "pool",
        job_node=job_node,
        sink=sink,
    )
    return compute_graph(graph, where, threads=plan.memory.threads, label=label)


def lazy_pass(job: LinearJob, token: str) -> LazyPass:
    """The graph of a job; nothing is computed, yet a job that cannot fit is refused here."""
    from somscale.engine.later import later
    from somscale.engine.linear.graph import build_graph

    where = where_to_run()
    graph = build_graph(_plan(job, where, lazy=True), token, pool=where.workers == "pool")
    return later(job.reductions, graph, token)

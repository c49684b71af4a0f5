"""Run a linear pass: as a plain loop, on Dask's schedulers, or as a graph for later.

All ways walk the same tiles and fold the same tree, so they give the same
bits.  The plain loop is the reference, and is used where the work is small.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from somscale.engine.linear.cutting import LinearPlan, plan_linear
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.recall import run_or_recall
from somscale.engine.memory import budget_bytes
from somscale.engine.serial import fold_alone
from somscale.engine.sink import Sink
from somscale.engine.where import Where, where_to_run
from somscale.reductions.base import Partial

if TYPE_CHECKING:
    from somscale.engine.later import LazyPass

__all__ = ["lazy_pass", "plan_job", "run_job"]


def plan_job(job: LinearJob, *, lazy: bool = False) -> LinearPlan:
    """Plan a job for this machine, scheduler and budget; raises where nothing fits."""
    return _plan(job, where_to_run(), lazy=lazy)


def _plan(job: LinearJob, where: Where, *, lazy: bool = False) -> LinearPlan:
    return plan_linear(
        job,
        budget=budget_bytes(),
        baseline=where.baseline,
        threads=where.threads,
        fixed_threads=lazy or where.fixed_threads,
        processes=where.processes,
        workers=where.workers,
    )


def run_job(job: LinearJob, *, sink: Sink | None = None, token: str | None = None) -> list[Any]:
    """Compute a job now.

    Parameters
    ----------
    job : LinearJob
        What to run.
    sink : Sink, optional
        Keeps finished runs; those it has already are not computed again.
    token : str, optional
        Key under which the sink knows this job; needed with a sink.

    Returns
    -------
    list
        The finished statistics, one a reduction.
    """
    where = where_to_run()
    plan = _plan(job, where)
    token = token or uuid.uuid4().hex
    if where.alone(plan.tasks, job.operations) and job.blocks is None:
        totals = _run_serial(plan, sink, token)
    else:
        totals = _run_dask(plan, where, sink, token)
    return [r.finalize(total) for r, total in zip(job.reductions, totals, strict=True)]


def _run_serial(plan: LinearPlan, sink: Sink | None, token: str) -> list[Partial]:
    """The plain loop."""
    job, cut = plan.job, plan.cut
    return fold_alone(
        job.reductions,
        cut.run_tiles.bit_length() - 1,
        list(range(plan.tasks)),
        lambda number: run_or_recall(job, cut, number, None, sink, token),
        "reading",
    )


def _run_dask(plan: LinearPlan, where: Where, sink: Sink | None, token: str) -> list[Partial]:
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
        sink_token=token,
    )
    return compute_graph(graph, where, threads=plan.memory.threads, label="reading")


def lazy_pass(job: LinearJob, token: str) -> LazyPass:
    """The graph of a job; nothing is computed, yet a job that cannot fit is refused here."""
    from somscale.engine.later import later
    from somscale.engine.linear.graph import build_graph

    where = where_to_run()
    graph = build_graph(_plan(job, where, lazy=True), token, pool=where.workers == "pool")
    return later(job.reductions, graph, token)

"""Run a walk over pairs: as a plain loop, on Dask's schedulers, or as a graph for later.

The sibling of :mod:`somscale.engine.linear.run`; here too all ways give the same bits.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

from somscale.engine.checkpoints import KeptPass, kept_pass
from somscale.engine.pairs.cutting import PairPlan, plan_pairs
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.recall import Sent, pairs_or_recall
from somscale.engine.readers.resident import release, resident
from somscale.engine.serial import fold_alone
from somscale.engine.sink import Sink
from somscale.engine.where import Where, where_to_run
from somscale.errors import MemoryBudgetError
from somscale.reductions.base import Partial

if TYPE_CHECKING:
    from somscale.engine.later import LazyPass

__all__ = ["lazy_pairs", "pair_total_later", "plan_pair_job", "plan_where", "run_pairs"]


def plan_pair_job(job: PairJob, *, lazy: bool = False) -> PairPlan:
    """Plan a job for this machine, scheduler and budget; raises where nothing fits."""
    return plan_where(job, where_to_run(), lazy=lazy)


def plan_where(
    job: PairJob,
    where: Where,
    *,
    lazy: bool = False,
    run_tiles: int | None = None,
    task_bytes: int = 0,
) -> PairPlan:
    """Plan a job for a scheduler; see :func:`somscale.engine.pairs.cutting.plan_pairs`."""
    return plan_pairs(
        job,
        budget=where.budget,
        baseline=where.baseline,
        threads=where.threads,
        fixed_threads=lazy or where.fixed_threads,
        processes=where.processes,
        workers=where.workers,
        run_tiles=run_tiles,
        task_bytes=task_bytes,
    )


def _plan_again(job: PairJob, where: Where, kept: KeptPass | None) -> PairPlan:
    """Cut a walk as when it was begun, where that fits still."""
    if kept is not None and kept.run_tiles is not None:
        with suppress(MemoryBudgetError):
            return plan_where(job, where, run_tiles=kept.run_tiles)
    return plan_where(job, where)


def run_pairs(job: PairJob) -> list[Any]:
    """Compute a job over pairs now; inside `checkpointing`, only what was not finished before.

    Parameters
    ----------
    job : PairJob
        What to run.

    Returns
    -------
    list
        The finished statistics, one a reduction.

    Raises
    ------
    MemoryBudgetError
        No cut fits the budget; nothing was computed.
    """
    where = where_to_run()
    kept = kept_pass(job.reductions, job.n_rows, job.n_features, job.tile_rows)
    plan = _plan_again(job, where, kept)
    sink = None if kept is None else kept.sink(plan.cut.run_tiles)
    # fresh keys: a cluster would answer a second try with the failure of the first
    keys = uuid.uuid4().hex
    run = _run_dask
    in_dask = job.blocks is not None or job.matrix_blocks is not None
    if where.alone(plan.tasks, job.operations) and not in_dask:
        run = _run_serial
    try:
        totals = run(plan, where, keys, sink)
    except BaseException as failure:
        # a notebook keeps the last traceback, whose frames would keep all samples
        clear_frames(failure.__traceback__)
        raise
    finally:
        release(keys)
    return [r.finalize(total) for r, total in zip(job.reductions, totals, strict=True)]


def _run_serial(plan: PairPlan, where: Where, keys: str, sink: Sink | None) -> list[Partial]:
    """The plain loop."""
    job, cut = plan.job, plan.cut
    tasks = cut.tasks(job)
    held: list[Sent] = []
    if cut.reading == "loaded" and job.source is not None:
        held = [resident(job.source, keys)]
    return fold_alone(
        job.reductions,
        cut.level(job),
        [task.number for task in tasks],
        lambda position: pairs_or_recall(job, *held, cut=cut, task=tasks[position], sink=sink),
        "pairs",
    )


def _run_dask(plan: PairPlan, where: Where, keys: str, sink: Sink | None) -> list[Partial]:
    from somscale.engine.pairs.graph import build_pair_graph
    from somscale.engine.schedulers import compute_graph, ship

    job_node = None
    if where.client is not None:
        job_node = ship(where.client, plan.job)
    graph = build_pair_graph(
        plan,
        keys,
        pool=where.workers == "pool",
        job_node=job_node,
        sink=sink,
    )
    return compute_graph(graph, where, threads=plan.memory.threads, label="pairs")


def lazy_pairs(job: PairJob, token: str) -> LazyPass:
    """The graph of a job over pairs; nothing is computed, yet what cannot fit is refused here.

    Samples that are held once a process are let go of when the computation ends.
    Under a process pool that is chosen only when the graph is computed, and not in
    Dask's configuration, every task reads them whole.
    """
    from somscale.engine.later import later
    from somscale.engine.pairs.graph import build_pair_graph

    where = where_to_run()
    plan = plan_where(job, where, lazy=True)
    graph = build_pair_graph(plan, token, pool=where.workers == "pool")
    return later(job.reductions, graph, token)


def pair_total_later(job: PairJob, token: str, job_node: Any) -> Any:
    """The merged sums of a walk whose columns are not known yet, delayed.

    `job` has their widths; `job_node` is the delayed job without samples.
    """
    from somscale.engine.pairs.graph import build_pair_graph

    where = where_to_run()
    plan = plan_where(job, where, lazy=True)
    return build_pair_graph(plan, token, pool=where.workers == "pool", job_node=job_node).total

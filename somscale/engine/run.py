"""Run a pass: as a plain loop, on Dask's schedulers, or as a graph for later.

All ways walk the same tiles and fold the same tree, so they give the same
bits.  The plain loop is the reference, and is used where the work is small.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from somscale._types import AnyArray
from somscale.engine.blas import single_threaded_blas
from somscale.engine.cutting import LinearPlan, plan_linear
from somscale.engine.job import LinearJob
from somscale.engine.memory import Workers, baseline_bytes, budget_bytes, worker_count
from somscale.engine.progress import progress_bar
from somscale.engine.sink import Sink
from somscale.engine.walk import RunResult
from somscale.errors import InputError
from somscale.options import get_options
from somscale.reductions.base import Partial
from somscale.reductions.merge import Fold

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from somscale.engine.joining import HasFields, PassGraph

__all__ = [
    "LazyPass",
    "Where",
    "fold_alone",
    "later",
    "lazy_pass",
    "plan_job",
    "run_job",
    "where_to_run",
]

_SERIAL_OPERATIONS = 2e9
"""Below about a tenth of a second of work a scheduler costs more than it gives."""


@dataclass(frozen=True)
class Where:
    """Which scheduler computes, with how many tasks at a time in a process.

    Attributes
    ----------
    scheduler : str
        "serial", "threads", "processes", "distributed" or "dask" (the scheduler that
        the user has set in Dask's own configuration).
    threads : int
        Tasks at a time in one process.
    baseline : int
        Bytes that a worker process holds already.
    client : optional
        The Dask client.
    processes : int
        Processes that compute.
    workers : {"here", "pool", "cluster"}
        Whether tasks run in this process, in a pool that is sent every task with all
        it needs, or on a cluster whose workers keep what they were sent.
    """

    scheduler: str
    threads: int
    baseline: int
    client: Any = None
    processes: int = 1
    workers: Workers = "here"

    @property
    def fixed_threads(self) -> bool:
        """Whether the number of threads is not ours to lower."""
        return self.scheduler in ("distributed", "dask")

    def alone(self, tasks: int, operations: float) -> bool:
        """Whether the plain loop serves best: asked for, or as good as a scheduler."""
        small = tasks == 1 or operations < _SERIAL_OPERATIONS
        return self.scheduler == "serial" or (self.scheduler == "threads" and small)


def where_to_run() -> Where:
    """Find the scheduler: the option, else a Dask client or setting, else threads."""
    wish = get_options().scheduler
    client = _client() if wish in ("auto", "distributed") else None
    if wish == "distributed" and client is None:
        raise InputError(
            "scheduler='distributed' needs a running cluster; make a dask.distributed.Client first"
        )
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        threads = max((w["nthreads"] for w in workers), default=1)
        held = max((w["metrics"].get("memory", 0) for w in workers), default=0)
        baseline = held or baseline_bytes()
        return Where("distributed", threads, baseline, client, max(1, len(workers)), "cluster")
    if wish == "auto" and "dask" in sys.modules:
        import dask

        chosen = dask.config.get("scheduler", None)
        if chosen in ("processes", "multiprocessing"):
            return Where("dask", 1, baseline_bytes(), None, worker_count(), "pool")
        if chosen is not None:
            return Where("dask", worker_count(), baseline_bytes())
    if wish == "processes":
        return Where(wish, 1, baseline_bytes(), None, worker_count(), "pool")
    if wish == "serial":
        return Where(wish, 1, baseline_bytes())
    return Where("threads", worker_count(), baseline_bytes())


def _client() -> Any:
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


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
    from somscale.engine.recall import run_or_recall

    job, cut = plan.job, plan.cut
    return fold_alone(
        job.reductions,
        cut.run_tiles.bit_length() - 1,
        list(range(plan.tasks)),
        lambda number: run_or_recall(job, cut, number, None, sink, token),
        "reading",
    )


def fold_alone(
    reductions: Sequence[HasFields],
    level: int,
    indices: Sequence[int],
    run: Callable[[int], RunResult],
    label: str,
) -> list[Partial]:
    """Run tasks one after another and fold their partials; no Dask.

    Parameters
    ----------
    reductions : sequence
        In the order of the tasks' partials.
    level : int
        Level of the tasks in the tree over tiles.
    indices : sequence of int
        Their indices at that level, ascending.
    run : callable
        Gives the partials of the task at a position in `indices`.
    label : str
        What the progress bar says.
    """
    folds = [Fold(r.fields) for r in reductions]
    with single_threaded_blas(), progress_bar(len(indices), label) as bar:
        for position, index in enumerate(indices):
            for fold, partial in zip(folds, run(position), strict=True):
                fold.add(level, index, partial)
            bar.update()
    totals = [fold.result() for fold in folds]
    return [total for total in totals if total is not None]


def _run_dask(plan: LinearPlan, where: Where, sink: Sink | None, token: str) -> list[Partial]:
    from somscale.engine.graph import build_graph
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


@dataclass(frozen=True)
class LazyPass:
    """A pass to be computed later.

    Attributes
    ----------
    stats : list of Delayed
        Finished statistics, one a reduction, without the values of samples.
    pieces : dict
        (number of the reduction, field) to (Delayed array, rows) of every run in order.
    """

    stats: list[Delayed]
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]]


def lazy_pass(job: LinearJob, token: str) -> LazyPass:
    """The graph of a job; nothing is computed, yet a job that cannot fit is refused here."""
    from somscale.engine.graph import build_graph

    where = where_to_run()
    graph = build_graph(_plan(job, where, lazy=True), token, pool=where.workers == "pool")
    return later(job.reductions, graph, token)


def later(reductions: Sequence[Any], graph: PassGraph, token: str) -> LazyPass:
    """Finish a graph's statistics when it is computed."""
    from dask.delayed import delayed

    stats = [
        delayed(_finalize, pure=False)(
            reduction,
            graph.total,
            number,
            dask_key_name=(f"finish-{reduction.name}-{token}", number),
        )
        for number, reduction in enumerate(reductions)
    ]
    return LazyPass(stats, _checked_pieces(reductions, graph, token))


def _checked_pieces(
    reductions: Sequence[Any], graph: PassGraph, token: str
) -> dict[tuple[int, str], list[tuple[Delayed, int]]]:
    """Values of samples, which a run gives out only where it found no faulty sample.

    The whole pass is checked in finalize, but these go past it: to wait for it, all of
    them would have to be held.
    """
    from dask.delayed import delayed

    checked = dict(graph.pieces)
    for (number, name), pieces in graph.pieces.items():
        check = getattr(reductions[number], "check", None)
        if check is None:
            continue
        node = delayed(check, traverse=False, name=f"check-{number}-{token}")
        checked[number, name] = [
            (
                delayed(_if_sound, pure=False)(
                    piece, run, number, node, dask_key_name=(f"sound-{piece.key[0]}", position)
                ),
                rows,
            )
            for position, ((piece, rows), run) in enumerate(zip(pieces, graph.runs, strict=True))
        ]
    return checked


def _if_sound(
    piece: AnyArray, run: RunResult, number: int, check: Callable[[Partial], None]
) -> AnyArray:
    check(run[number])
    return piece


def _finalize(reduction: Any, totals: RunResult, number: int) -> Any:
    return reduction.finalize(totals[number])

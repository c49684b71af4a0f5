"""One run of a pass, walked now or fetched from where it was finished before."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.readers.sources import Source
from somscale.engine.sink import Sink
from somscale.reductions.base import RunResult

__all__ = ["recall_or_make", "run_or_recall"]


def recall_or_make(sink: Sink | None, number: int, make: Callable[[], RunResult]) -> RunResult:
    """Fetch a task's partials from the sink, or make them and keep them there."""
    if sink is None:
        return make()
    kept = sink.get(number)
    if kept is None:
        begun = perf_counter()
        kept = make()
        sink.put(number, kept, perf_counter() - begun)
    return kept


def run_or_recall(
    job: LinearJob,
    cut: Cut,
    number: int,
    arrived: Source | None = None,
    sink: Sink | None = None,
) -> RunResult:
    """Walk one run, or fetch it from the sink where it was finished before.

    Parameters
    ----------
    job : LinearJob
        The reductions, and where their samples are unless these have `arrived`.
    cut : Cut
        How the work is cut.
    number : int
        Number of the run.
    arrived : Source, optional
        Samples that came with the task.
    sink : Sink, optional
        Where finished runs are kept.
    """
    if arrived is not None:
        job = job.with_source(arrived)
    return recall_or_make(sink, number, lambda: walk_run(job, cut, number))

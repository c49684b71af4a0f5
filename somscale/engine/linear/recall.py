"""One run of a pass, walked now or fetched from where it was finished before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from somscale._types import AnyArray
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.readers.sources import BlocksSource
from somscale.engine.sink import Sink
from somscale.reductions.base import RunResult

__all__ = ["recall_or_make", "run_or_recall"]


def recall_or_make(sink: Sink | None, key: str, make: Callable[[], RunResult]) -> RunResult:
    """Fetch a task's partials from the sink, or make them and store them there."""
    if sink is None:
        return make()
    kept = sink.get(key)
    if kept is None:
        kept = make()
        sink.put(key, kept)
    return kept


def run_or_recall(
    job: LinearJob,
    cut: Cut,
    number: int,
    blocks: tuple[int, Sequence[Sequence[AnyArray]]] | None = None,
    sink: Sink | None = None,
    token: str = "",
) -> RunResult:
    """Walk one run, or fetch it from the sink where it was finished before."""
    if blocks is not None:
        first_row, parts = blocks
        job = job.with_source(BlocksSource(parts, first_row))
    return recall_or_make(
        sink, f"{token}/{cut.run_tiles}/{number}", lambda: walk_run(job, cut, number)
    )

"""One run of a pass, walked now or fetched from where it was finished before."""

from __future__ import annotations

from collections.abc import Sequence

from somscale.engine.job import Cut, LinearJob
from somscale.engine.sink import Sink
from somscale.engine.sources import BlocksSource
from somscale.engine.walk import RunResult, walk_run
from somscale.kernels.types import AnyArray

__all__ = ["run_or_recall"]


def run_or_recall(
    job: LinearJob,
    cut: Cut,
    number: int,
    blocks: tuple[int, Sequence[Sequence[AnyArray]]] | None = None,
    sink: Sink | None = None,
    token: str = "",
) -> RunResult:
    """Walk one run, or fetch it from the sink where it was finished before."""
    key = f"{token}/{cut.run_tiles}/{number}"
    if sink is not None:
        kept = sink.get(key)
        if kept is not None:
            return kept
    if blocks is not None:
        first_row, parts = blocks
        job = job.with_source(BlocksSource(parts, first_row))
    result = walk_run(job, cut, number)
    if sink is not None:
        sink.put(key, result)
    return result

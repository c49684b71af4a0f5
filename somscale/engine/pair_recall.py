"""One task of a walk over pairs, walked now or fetched from where it was finished before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from somscale._types import AnyArray
from somscale.engine.pair_job import PairCut, PairJob
from somscale.engine.pair_walk import PanelReader, Reader, walk_pairs
from somscale.engine.recall import recall_or_make
from somscale.engine.resident import Resident
from somscale.engine.sink import Sink
from somscale.engine.walk import RunResult
from somscale.engine.zorder import Square

__all__ = ["Sent", "pairs_or_recall"]

Sent: TypeAlias = Resident | Sequence[tuple[int, AnyArray]] | None
"""Samples that reach a task with it: read once a process, as panels, or not at all."""


def pairs_or_recall(
    job: PairJob,
    cut: PairCut,
    task: Square,
    sent: Sent = None,
    sink: Sink | None = None,
    token: str = "",
) -> RunResult:
    """Walk one task, or fetch it from the sink where it was finished before."""
    reader: Reader | None = job.source
    if isinstance(sent, Resident):
        reader = sent
    elif sent is not None:
        reader = PanelReader(sent)
    key = f"{token}/{job.side.value}/{cut.run_tiles}/{task.number}"
    return recall_or_make(sink, key, lambda: walk_pairs(job, cut, task, reader))

"""One task of a walk over pairs, walked now or fetched from where it was finished before."""

from __future__ import annotations

from typing import TypeAlias

from somscale._types import AnyArray
from somscale.engine.linear.recall import recall_or_make
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.panels import PanelReader, Reader
from somscale.engine.pairs.walk import walk_pairs
from somscale.engine.pairs.zorder import Square
from somscale.engine.readers.resident import Resident
from somscale.engine.sink import Sink
from somscale.reductions.base import RunResult

__all__ = ["Panel", "Sent", "pairs_or_recall", "reader_of"]

Panel: TypeAlias = tuple[int, int, AnyArray]
"""First row, first column and values of a box of the samples, or of a matrix."""
Sent: TypeAlias = Resident | list[Panel] | Panel
"""Samples that reach a task with it: held once a process, all panels, or one of them."""


def pairs_or_recall(
    job: PairJob,
    *sent: Sent,
    cut: PairCut,
    task: Square,
    sink: Sink | None = None,
) -> RunResult:
    """Walk one task, or fetch it from the sink where it was finished before."""
    return recall_or_make(
        sink, task.number, lambda: walk_pairs(job, cut, task, reader_of(job, sent))
    )


def reader_of(job: PairJob, sent: tuple[Sent, ...]) -> Reader | None:
    """What a task reads from: what was sent to it, or where the samples are."""
    panels: list[Panel] = []
    for item in sent:
        if isinstance(item, Resident):
            return item
        panels += item if isinstance(item, list) else [item]
    return PanelReader(panels) if panels else job.stored or job.source

"""The walk of one task in sweeps: groups of kept rows meet all samples, once or twice.

Groups go one after another where all samples are at hand, and all together where these come
in panels.  Either way a group meets the samples in order, and nothing shows in a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias, cast

import numpy as np

from somscale._types import AnyArray
from somscale.engine.pairs.job import PairCut, PairJob, rows_of
from somscale.engine.pairs.panels import Reader, read_listed
from somscale.engine.pairs.zorder import Square
from somscale.reductions.base import Block, Partial, RunResult, SweepReduction, Way
from somscale.reductions.merge import Fold

__all__ = ["sweep_tiles", "walk_sweeps"]

_Span: TypeAlias = tuple[int, int]
"""Place of a group's first row among the kept ones, and the place after its last."""


def walk_sweeps(job: PairJob, cut: PairCut, task: Square, reader: Reader | None) -> RunResult:
    """Let the kept rows of one task meet all samples.

    Parameters are those of :func:`somscale.engine.pairs.walk.walk_pairs`.
    """
    fold = Fold(job.reductions[0].fields)
    for tile, partial in sweep_tiles(job, cut, task, reader):
        fold.add(0, tile, partial)
    result = fold.result()
    if result is None:
        raise ValueError("a task holds at least one tile")
    return [result]


def sweep_tiles(
    job: PairJob, cut: PairCut, task: Square, reader: Reader | None
) -> Iterator[tuple[int, Partial]]:
    """The tiles of a task by their numbers, each with its partial once its rows have met all."""
    if cut.way is None:
        raise ValueError("a walk in sweeps is cut in some way of its reduction")
    reduction = cast("SweepReduction", job.reductions[0])
    run = _Run(job, cut, cut.way, task, reader, reduction)
    first = task.row * cut.run_tiles
    tiles = range(first, min(first + cut.run_tiles, job.n_tiles))
    for some in [tiles] if cut.together else [[tile] for tile in tiles]:
        spans = [run.spans(tile) for tile in some]
        if cut.together:
            groups = run.meet(list(chain.from_iterable(spans)))
        else:
            groups = list(chain.from_iterable(run.meet([one]) for one in spans[0]))
        for tile, own in zip(some, spans, strict=True):
            partial = reduction.finish(groups[: len(own)])
            del groups[: len(own)]
            yield tile, partial
            del partial


@dataclass
class _Run:
    """The rows that a task keeps, and the samples that these meet."""

    job: PairJob
    cut: PairCut
    way: Way
    task: Square
    reader: Reader | None
    reduction: SweepReduction
    _whole: Block | None = field(default=None, init=False)
    _own: AnyArray | None = field(default=None, init=False)

    def spans(self, tile: int) -> list[_Span]:
        """The groups of a tile."""
        start = tile * self.job.tile_rows
        stop = min(start + self.job.tile_rows, self.job.n_kept)
        size = self.way.group_rows
        return [(low, min(low + size, stop)) for low in range(start, stop, size)]

    def meet(self, spans: Sequence[_Span]) -> list[Any]:
        """Let neighbouring groups meet all samples, and hand them out."""
        reduction = self.reduction
        groups = [reduction.start(self._kept(*span), self.way, span[0]) for span in spans]
        low, high = spans[0][0], spans[-1][1]
        for sweep in range(self.way.sweeps):
            for others in self._others():
                box = self._box(low, high, others)
                for group, (start, stop) in zip(groups, spans, strict=True):
                    given = None if box is None else box[start - low : stop - low]
                    reduction.meet(group, others, sweep, given)
                    del given
                del others, box  # before more is read
            for group in groups:
                reduction.turn(group, sweep)
        return groups

    def _others(self) -> Iterator[Block]:
        """All samples in order: one block that stays, or panels."""
        job, size = self.job, self.cut.panel_tiles
        if size >= job.sample_tiles:
            if self._whole is None:
                self._whole = self._read(0, job.n_rows)
            yield self._whole
            return
        for first in range(0, job.sample_tiles, size):
            yield self._read(*rows_of(job, first, size))

    def _read(self, start: int, stop: int) -> Block:
        return Block(start, stop, self._values(start, stop), self._columns(start, stop))

    def _values(self, start: int, stop: int) -> AnyArray:
        if self.reader is None or self.job.given:
            return np.empty((stop - start, 0))
        return self.reader.read(slice(start, stop), slice(0, self.job.n_features))

    def _columns(self, start: int, stop: int) -> dict[str, AnyArray]:
        return {name: column.read(start, stop) for name, column in self.job.columns.items()}

    def _kept(self, start: int, stop: int) -> Block:
        """The kept rows of a group."""
        if self.job.kept is not None:
            return self._drawn(start, stop)
        if self.cut.panel_tiles >= self.job.sample_tiles:
            (whole,) = self._others()
            values = whole.values[start:stop]
        elif self.cut.reading == "panels":
            # at once: what lies in one chunk would be decoded for every group
            top, bottom = self.cut.run_rows(self.job, self.task.row)
            if self._own is None:
                self._own = self._values(top, bottom)
            values = self._own[start - top : stop - top]
        else:
            values = self._values(start, stop)
        return Block(start, stop, values, self._columns(start, stop))

    def _drawn(self, start: int, stop: int) -> Block:
        """Kept rows that came with the job."""
        kept = self.job.kept
        if kept is None or not (kept.known or self.job.given):
            raise ValueError("the kept rows have not been read")
        numbers = kept.numbers[start:stop]
        columns = {name: values[start:stop] for name, values in kept.columns.items()}
        for name, column in self.job.columns.items():
            if name not in columns:
                columns[name] = np.concatenate([column.read(n, n + 1) for n in numbers.tolist()])
        return Block(start, stop, kept.values[start:stop], columns, numbers=numbers)

    def _box(self, low: int, high: int, others: Block) -> AnyArray | None:
        """The distances of kept rows to others that a stored matrix has."""
        job = self.job
        if not job.given or self.reader is None:
            return None
        columns = slice(others.start, others.stop)
        if job.kept is None or job.stored is None:
            # a box that arrived with the task holds kept rows alone
            return self.reader.read(slice(low, high), columns)
        return read_listed(job.stored, job.kept.numbers[low:high], columns)

"""The walk of one task over pairs: panels of rows are read, tiles of pairs accumulated.

Tiles come in the order of their tree, whatever the panels are; only what is
held and what is read again differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from somscale._types import AnyArray
from somscale.engine.blas import single_threaded_blas
from somscale.engine.pairs.job import PairCut, PairJob, rows_of
from somscale.engine.pairs.zorder import Square, upper_squares
from somscale.reductions.base import Block, Field, PairReduction, Partial, RunResult, Side
from somscale.reductions.merge import Fold

__all__ = ["PanelReader", "Reader", "walk_pairs"]


class Reader(Protocol):
    """What a walk asks of a source."""

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows and features."""


@dataclass(frozen=True)
class PanelReader:
    """Panels of rows that a task was given.

    Parameters
    ----------
    panels : sequence of (int, array)
        First row and values of every panel.
    """

    panels: Sequence[tuple[int, AnyArray]]

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows of one panel."""
        for start, values in self.panels:
            if start <= rows.start and rows.stop <= start + len(values):
                return values[rows.start - start : rows.stop - start, features]
        raise ValueError(f"rows {rows.start} to {rows.stop} did not arrive with the task")


def walk_pairs(job: PairJob, cut: PairCut, task: Square, reader: Reader | None) -> RunResult:
    """Accumulate all reductions over one task.

    Parameters
    ----------
    job : PairJob
        The reductions and their columns.
    cut : PairCut
        How the work is cut.
    task : Square
        The task, one of ``cut.tasks(job)``.
    reader : Reader, optional
        Where the samples are read; None where only columns are.

    Returns
    -------
    list of dict
        One partial a reduction: a node of its tree, at level ``cut.level(job)``.
    """
    with single_threaded_blas():
        if job.side is Side.BOTH:
            return _walk_square(job, cut, task, reader)
        return _walk_rows(job, cut, task, reader)


def _walk_square(job: PairJob, cut: PairCut, task: Square, reader: Reader | None) -> RunResult:
    folds = [Fold(reduction.fields) for reduction in job.reductions]
    size = cut.panel_tiles
    across = (cut.run_tiles // size).bit_length() - 1
    held: dict[int, list[Block]] = {}
    for square in upper_squares(task, across, -(-job.n_tiles // size)):
        panels = (square.row, square.column)
        # drop what is not wanted again before reading more
        held = {number: held[number] for number in panels if number in held}
        for number in panels:
            if number not in held:
                held[number] = _read_panel(job, number * size, size, reader)
        _fold_square(job, size, square, held, folds)
    return [_result(fold) for fold in folds]


def _fold_square(
    job: PairJob, size: int, square: Square, held: Mapping[int, list[Block]], folds: list[Fold]
) -> None:
    """Accumulate the tiles between two panels; nothing holds on to these afterwards."""
    left, right = held[square.row], held[square.column]
    for tile in upper_squares(square, size.bit_length() - 1, job.n_tiles):
        block_i, block_j = left[tile.row % size], right[tile.column % size]
        for fold, reduction in zip(folds, job.reductions, strict=True):
            fold.add(0, tile.number, reduction.tile(block_i, block_j, Side.BOTH))


def _walk_rows(job: PairJob, cut: PairCut, task: Square, reader: Reader | None) -> RunResult:
    first = task.row * cut.run_tiles
    kept = _read_panel(job, first, cut.run_tiles, reader)
    rows = [_Row(job, tile, block) for tile, block in enumerate(kept, first)]
    for start in range(0, job.n_tiles, cut.panel_tiles):
        # the panel before is let go of as the next is read
        _meet(job, rows, start, _read_panel(job, start, cut.panel_tiles, reader))
    folds = [Fold(reduction.fields) for reduction in job.reductions]
    for row in rows:
        for fold, partial in zip(folds, row.total, strict=True):
            fold.add(0, row.tile, partial)
    return [_result(fold) for fold in folds]


class _Row:
    """A kept tile, and what it has gathered over the tiles it has met."""

    def __init__(self, job: PairJob, tile: int, block: Block) -> None:
        self.tile = tile
        self.block = block
        self.folds = [Fold(_inner_fields(reduction)) for reduction in job.reductions]
        self.total: RunResult = []

    def finish(self) -> None:
        """Keep the totals alone, which are smaller than the tree they come from."""
        self.total = [_result(fold) for fold in self.folds]
        self.folds = []


def _meet(job: PairJob, rows: Sequence[_Row], start: int, others: Sequence[Block]) -> None:
    """Let every kept tile meet the tiles of a panel."""
    for row in rows:
        for tile, block_j in enumerate(others, start):
            # a reduction may know the diagonal by its one block
            other = row.block if tile == row.tile else block_j
            for fold, reduction in zip(row.folds, job.reductions, strict=True):
                fold.add(0, tile, reduction.tile(row.block, other, Side.ROWS))
        if start + len(others) == job.n_tiles:
            row.finish()


def _inner_fields(reduction: PairReduction) -> dict[str, Field]:
    return {
        name: replace(spec, merge=spec.inner or spec.merge)
        for name, spec in reduction.fields.items()
    }


def _read_panel(job: PairJob, first_tile: int, tiles: int, reader: Reader | None) -> list[Block]:
    """Read neighbouring tiles at once, and hand them out as blocks."""
    top, bottom = rows_of(job, first_tile, tiles)
    if reader is None:
        values: AnyArray = np.empty((bottom - top, 0))
    else:
        values = reader.read(slice(top, bottom), slice(0, job.n_features))
    return list(_blocks(job, top, bottom, values))


def _blocks(job: PairJob, top: int, bottom: int, values: AnyArray) -> Iterator[Block]:
    for start in range(top, bottom, job.tile_rows):
        stop = min(start + job.tile_rows, bottom)
        columns = {name: column.read(start, stop) for name, column in job.columns.items()}
        yield Block(start, stop, values[start - top : stop - top], columns)


def _result(fold: Fold) -> Partial:
    result = fold.result()
    if result is None:
        raise ValueError("a task holds at least one tile")
    return result

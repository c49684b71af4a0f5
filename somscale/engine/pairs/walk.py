"""The walk of one task over pairs: panels of rows are read, tiles of pairs accumulated.

Tiles come in the order of their tree, whatever the panels are; only what is
held and what is read again differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from somscale._types import AnyArray
from somscale.engine.blas import single_threaded_blas
from somscale.engine.pairs.job import PairCut, PairJob, rows_of
from somscale.engine.pairs.panels import Reader
from somscale.engine.pairs.sweeps import walk_sweeps
from somscale.engine.pairs.zorder import Square, upper_squares
from somscale.reductions.base import (
    Block,
    Given,
    PairReduction,
    Partial,
    RunResult,
    Side,
    fresh_partial,
)
from somscale.reductions.merge import Fold

__all__ = ["square_blocks", "walk_pairs"]


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
        if job.side is Side.SWEEPS:
            return walk_sweeps(job, cut, task, reader)
        reductions = cast("Sequence[PairReduction]", job.reductions)
        walk = _walk_square if job.side is Side.BOTH else _walk_rows
        return walk(job, reductions, cut, task, reader)


def _walk_square(
    job: PairJob,
    reductions: Sequence[PairReduction],
    cut: PairCut,
    task: Square,
    reader: Reader | None,
) -> RunResult:
    folds = [Fold(reduction.fields) for reduction in reductions]
    for left, right, tile in square_blocks(job, cut, task, reader):
        given = _given(job, left, right, reader)
        for fold, reduction in zip(folds, reductions, strict=True):
            partial = fresh_partial(reduction.fields)
            reduction.tile(left, right, partial, given)
            fold.add(0, tile.number, partial)
        del left, right, given  # before more is read
    return [_result(fold) for fold in folds]


def square_blocks(
    job: PairJob, cut: PairCut, task: Square, reader: Reader | None
) -> Iterator[tuple[Block, Block, Square]]:
    """The two blocks of every tile of a task, and the tile, in the order of their tree.

    Who takes them lets go of both before the next: they hold the panels they are cut from.
    """
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
        left, right = held[square.row], held[square.column]
        for tile in upper_squares(square, size.bit_length() - 1, job.n_tiles):
            yield left[tile.row % size], right[tile.column % size], tile
        del left, right  # before more is read


def _given(job: PairJob, block_i: Block, block_j: Block, reader: Reader | None) -> Given | None:
    """The distances of two blocks that a stored matrix has, both ways round."""
    if not job.given or reader is None:
        return None
    rows, columns = slice(block_i.start, block_i.stop), slice(block_j.start, block_j.stop)
    box = reader.read(rows, columns)
    if block_i is block_j:
        return Given(box, box)
    return Given(box, box.T if job.symmetric else reader.read(columns, rows))


def _walk_rows(
    job: PairJob,
    reductions: Sequence[PairReduction],
    cut: PairCut,
    task: Square,
    reader: Reader | None,
) -> RunResult:
    first = task.row * cut.run_tiles
    kept = _read_panel(job, first, cut.run_tiles, reader)
    gathered = [[reduction.start(block) for reduction in reductions] for block in kept]
    for start in range(0, job.n_tiles, cut.panel_tiles):
        others = _read_panel(job, start, cut.panel_tiles, reader)
        for tile, own in enumerate(kept, first):
            for number, other in enumerate(others, start):
                # a reduction knows the diagonal by its one block
                pair = own, own if tile == number else other
                given = _given(job, *pair, reader)
                for reduction, partial in zip(reductions, gathered[tile - first], strict=True):
                    reduction.tile(*pair, partial, given)
        del others  # before the next is read
    folds = [Fold(reduction.fields) for reduction in reductions]
    for tile, own in enumerate(kept, first):
        for fold, reduction, partial in zip(folds, reductions, gathered[tile - first], strict=True):
            fold.add(0, tile, reduction.finish(own, partial))
        gathered[tile - first] = []
    return [_result(fold) for fold in folds]


def _read_panel(job: PairJob, first_tile: int, tiles: int, reader: Reader | None) -> list[Block]:
    """Read neighbouring tiles at once, and hand them out as blocks."""
    top, bottom = rows_of(job, first_tile, tiles)
    if reader is None or job.given:
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

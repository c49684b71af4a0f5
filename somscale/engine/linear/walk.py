"""The walk of one task: its tiles, pieces and features, in the order the cut says.

Both orders call the reductions with the same rows and the same features in
the same order, so they give the same bits; only what is held and what is read
again differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from somscale._types import AnyArray
from somscale.engine.blas import single_threaded_blas
from somscale.engine.linear.job import Cut, LinearJob
from somscale.reductions.base import Partial, Rows, RunResult, fresh_partial
from somscale.reductions.merge import Fold

__all__ = ["walk_run", "walk_window"]

ReadSlab: TypeAlias = Callable[[slice], AnyArray]


@dataclass
class _Piece:
    """Rows at hand, the reductions' partials of their tile and what they have begun."""

    rows: Rows
    partials: Sequence[Partial]
    states: list[Any]


def walk_run(job: LinearJob, cut: Cut, run: int) -> RunResult:
    """Accumulate all reductions over one run of tiles.

    Parameters
    ----------
    job : LinearJob
        With a source that can be read here.
    cut : Cut
        How the work is cut.
    run : int
        Number of the run.

    Returns
    -------
    list of dict
        One partial a reduction: a node of its tree, at level log2(run_tiles).
    """
    with single_threaded_blas():
        walk = _walk_rows if cut.order == "rows" else _walk_features
        return walk(job, cut, run)


def walk_window(
    job: LinearJob, cut: Cut, rows: tuple[int, int], before: RunResult | None
) -> RunResult:
    """Go on with a tile by some of its rows.

    Parameters
    ----------
    job, cut
        As in :func:`walk_run`.
    rows : (int, int)
        First row and the row after the last, of one tile.
    before : list of dict or None
        Its partials so far; they are left as they are, for a task may be run twice.

    Returns
    -------
    list of dict
        Its partials with these rows.
    """
    top = rows[0] // job.tile_rows * job.tile_rows
    bottom = min(top + job.tile_rows, job.n_rows)
    if before is None:
        partials = [fresh_partial(r.fields, bottom - top) for r in job.reductions]
    else:
        partials = [{name: value.copy() for name, value in p.items()} for p in before]
    with single_threaded_blas():
        _walk_pieces(job, cut, _Window(job, *rows), top, partials)
    return partials


class _Window:
    """Some rows of the samples, in memory."""

    def __init__(self, job: LinearJob, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self._values = None
        if job.sweeps and job.source is not None:
            self._values = job.source.read(slice(start, stop), slice(0, job.n_features))

    def reader(self, first: int, last: int) -> ReadSlab:
        """Read slabs of some of these rows."""

        def read(features: slice) -> AnyArray:
            if self._values is None:
                raise ValueError("this job has sweeps but no samples")
            return self._values[first - self.start : last - self.start, features]

        return read


def _walk_rows(job: LinearJob, cut: Cut, run: int) -> RunResult:
    folds = [Fold(r.fields) for r in job.reductions]
    tile, partials = -1, None
    for start, stop in cut.windows(*cut.run_rows(job, run)):
        window = _Window(job, start, stop)
        # a tile may go on from one window to the next
        for number in range(start // job.tile_rows, -(-stop // job.tile_rows)):
            top = number * job.tile_rows
            bottom = min(top + job.tile_rows, job.n_rows)
            if number != tile or partials is None:
                partials = [fresh_partial(r.fields, bottom - top) for r in job.reductions]
                tile = number
            _walk_pieces(job, cut, window, top, partials)
            if bottom <= stop:
                for fold, partial in zip(folds, partials, strict=True):
                    fold.add(0, tile, partial)
        del window  # before the next is read
    return [_result(fold) for fold in folds]


def _walk_pieces(
    job: LinearJob, cut: Cut, window: _Window, top: int, partials: Sequence[Partial]
) -> None:
    """Take the rows of a tile that are in a window, piece by piece."""
    last_row = min(top + job.tile_rows, window.stop)
    for first in range(max(top, window.start), last_row, cut.piece_rows):
        last = min(first + cut.piece_rows, last_row)
        piece = _begin(job, partials, Rows(first, last, first - top))
        _sweep(job, cut, [piece], window.reader(first, last))


def _walk_features(job: LinearJob, cut: Cut, run: int) -> RunResult:
    start, stop = cut.run_rows(job, run)
    if job.source is None:
        raise ValueError("this job has sweeps but no samples")
    source = job.source
    pieces = []
    for _, top, bottom in _tiles(job, start, stop):
        partials = [fresh_partial(r.fields, bottom - top) for r in job.reductions]
        pieces.append(_begin(job, partials, Rows(top, bottom, rereads=True)))
    _sweep(job, cut, pieces, lambda features: source.read(slice(start, stop), features))
    folds = [Fold(r.fields) for r in job.reductions]
    for (tile, _, _), piece in zip(_tiles(job, start, stop), pieces, strict=True):
        for fold, partial in zip(folds, piece.partials, strict=True):
            fold.add(0, tile, partial)
    return [_result(fold) for fold in folds]


def _tiles(job: LinearJob, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Number, first row and end of the tiles of some rows."""
    for top in range(start, stop, job.tile_rows):
        yield top // job.tile_rows, top, min(top + job.tile_rows, stop)


def _begin(job: LinearJob, partials: Sequence[Partial], rows: Rows) -> _Piece:
    rows.columns = {n: column.read(rows.start, rows.stop) for n, column in job.columns.items()}
    states = [r.begin(rows, p) for r, p in zip(job.reductions, partials, strict=True)]
    return _Piece(rows, partials, states)


def _sweep(job: LinearJob, cut: Cut, pieces: Sequence[_Piece], read: ReadSlab) -> None:
    """Walk the features as often as any reduction asks, all pieces in lockstep."""
    base = pieces[0].rows.start
    for sweep in range(job.sweeps):
        wanted = [
            (reduction, state, slice(piece.rows.start - base, piece.rows.stop - base))
            for piece in pieces
            for reduction, state in zip(job.reductions, piece.states, strict=True)
            if sweep < reduction.sweeps and reduction.wants(sweep, state)
        ]
        if not wanted:
            continue
        for features in cut.slabs(job.n_features):
            values = read(features)
            for reduction, state, rows in wanted:
                reduction.sweep(sweep, state, features.start, values[rows])
    for piece in pieces:
        for reduction, state in zip(job.reductions, piece.states, strict=True):
            reduction.end(state)


def _result(fold: Fold) -> Partial:
    result = fold.result()
    if result is None:
        raise ValueError("a run holds at least one tile")
    return result

"""How a walk in sweeps may be cut, best first, and what it then reads and computes.

Where all samples are at hand, groups of kept rows go one after another, of the size that the
reduction likes best.  Where samples come in panels, every panel meets all groups of a task, so
that tasks which keep more rows read less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from somscale._types import Int
from somscale.engine.linear.cutting import TASK_OPERATIONS, ceil_power, floor_power
from somscale.engine.pairs.job import PairCut, PairJob, Reading
from somscale.engine.pairs.panels import listed_ranges
from somscale.engine.pairs.reading import chunked_bytes, itemsize_of
from somscale.reductions.base import SweepReduction, Way

__all__ = ["sweep_bytes", "sweep_cuts", "sweep_work"]

_PANEL_BYTES = 1 << 26
"""What a panel is wished to hold at most."""
_LONG_TASKS = 64
"""Wished tasks in one that streams panels: about a minute, all that is lost if it is stopped."""
_READY_OPERATIONS = 8
"""Operations that make a byte of what is made of the samples, about."""


def sweep_cuts(
    job: PairJob, sizes: Sequence[int], readings: Sequence[Reading], fan_in: int, workers: int
) -> Iterator[PairCut]:
    """Cuts to try, best first.

    Parameters
    ----------
    job : PairJob
        What to run.
    sizes : sequence of int
        Tiles of a task, from the wished number down.
    readings : sequence of {"memory", "loaded", "panels", "sent"}
        Ways to come by the samples, best first.
    fan_in : int
        Partials merged by one task.
    workers : int
        Tasks at a time, in all processes.
    """
    whole = ceil_power(job.sample_tiles)
    streaming = _streaming_sizes(job, sizes, workers)
    holding = [sizes[0], *sorted(set(streaming) - set(sizes)), *sizes[1:]]
    for way in cast("SweepReduction", job.reductions[0]).ways(job.n_rows):
        for reading in readings:
            if reading != "panels":
                for tiles in holding:
                    yield PairCut(tiles, whole, reading, fan_in, way)
            if way.sweeps == 1 and not (reading == "panels" and (job.given or way.panels)):
                continue  # one sweep has all samples at hand
            for tiles in streaming:
                for panel in _panel_sizes(job, way):
                    yield PairCut(tiles, panel, reading, fan_in, way, together=True)
                    if job.given:
                        yield PairCut(tiles, panel, reading, fan_in, way)


def _streaming_sizes(job: PairJob, sizes: Sequence[int], workers: int) -> list[int]:
    """Tiles of a task that streams panels, best first.

    The most that is sensible, for every task reads all samples; down to the wished number; then
    more than is sensible, and fewer than was wished.
    """
    wished = sizes[0]
    a_tile = job.operations / job.n_tiles
    sensible = min(_LONG_TASKS * TASK_OPERATIONS / max(1.0, a_tile), job.n_tiles / (4 * workers))
    most = ceil_power(job.n_tiles / workers)
    larger = [wished << n for n in range(1, 40) if wished << n <= most]
    good = [tiles for tiles in reversed(larger) if tiles <= sensible]
    return [*good, wished, *larger[len(good) :], *sizes[1:]]


def _panel_sizes(job: PairJob, way: Way) -> list[int]:
    """Tiles of a panel, best first: some 64 MiB, or a whole chunk; then ever fewer."""
    if job.stored is not None:
        chunk, a_row = job.stored.chunks[1], job.tile_rows * job.stored.dtype.itemsize
    else:
        chunk = 1 if job.source is None else job.source.chunks[0]
        a_row = job.n_features * itemsize_of(job)
    rows = max(chunk, _PANEL_BYTES // max(1, a_row + way.others_row_bytes))
    wished = min(floor_power(rows / job.tile_rows), ceil_power(job.sample_tiles))
    sizes = [wished >> n for n in range(0, wished.bit_length(), 2)]
    return sizes if sizes[-1] == 1 else [*sizes, 1]


def sweep_work(job: PairJob, cut: PairCut, workers: int) -> float:
    """Operations of a walk, and what workers that wait for the last tasks might have done."""
    if cut.way is None:
        raise ValueError("a walk in sweeps is cut in some way of its reduction")
    runs, tiles = cut.runs(job), min(cut.run_tiles, job.n_tiles)
    readied = runs * (1 if cut.panel_tiles >= job.sample_tiles else cut.way.sweeps)
    ready = _READY_OPERATIONS * float(readied) * job.n_rows * cut.way.others_row_bytes
    idle = max(1.0, math.ceil(runs / workers) * workers * tiles / job.n_tiles)
    return (job.operations * cut.way.sweeps + ready) * idle


def sweep_bytes(job: PairJob, cut: PairCut, processes: int) -> int:
    """Bytes of samples, or of a matrix, that all tasks decode; a chunk counts whole."""
    if job.matrix is not None:
        return _matrix_bytes(job, cut)
    if job.source is None or cut.reading in ("memory", "sent"):
        return job.n_rows * job.n_features * itemsize_of(job)
    if cut.reading == "loaded":
        return processes * chunked_bytes(job, job.sample_tiles)
    panels = cut.runs(job) * chunked_bytes(job, cut.panel_tiles)
    if cut.way is None or cut.panel_tiles >= job.sample_tiles:
        return panels
    own = 0 if job.kept is not None else chunked_bytes(job, cut.run_tiles)
    return own + cut.way.sweeps * panels


def _matrix_bytes(job: PairJob, cut: PairCut) -> int:
    stored, itemsize = job.stored, job.matrix.dtype.itemsize
    if stored is None or stored.resident or cut.way is None:
        return int(job.n_kept * job.n_rows * itemsize)
    size = cut.panel_tiles * job.tile_rows
    left = np.arange(0, job.n_rows, size)
    across = stored.decoded(1, (left, np.minimum(left + size, job.n_rows)))
    down = stored.decoded(0, _row_ranges(job, cut, cut.way))
    return int(down * across * itemsize * cut.way.sweeps)


def _row_ranges(job: PairJob, cut: PairCut, way: Way) -> tuple[Int, Int]:
    """Rows of a stored matrix that are read at once."""
    places = np.arange(job.n_kept)
    if cut.together:
        batch = places // (cut.run_tiles * job.tile_rows)
    else:
        groups = math.ceil(job.tile_rows / way.group_rows)
        batch = places // job.tile_rows * groups + places % job.tile_rows // way.group_rows
    first = np.flatnonzero(np.diff(batch, prepend=-1))
    if job.kept is None or job.stored is None:
        return first, np.append(first[1:], job.n_kept)
    chunk = job.stored.chunks[0]
    parts = [listed_ranges(part, chunk) for part in np.split(job.kept.numbers, first[1:])]
    starts, stops = zip(*parts, strict=True)
    return np.concatenate(starts), np.concatenate(stops)

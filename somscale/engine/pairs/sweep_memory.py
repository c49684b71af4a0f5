"""What a walk in sweeps holds, cut in a given way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from somscale.engine.memory import (
    TASK_OVERHEAD,
    Memory,
    Workers,
    reading_bytes,
    waiting_partials,
)
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.reading import itemsize_of
from somscale.reductions.base import Way

__all__ = ["project_sweeps"]


def project_sweeps(
    job: PairJob, cut: PairCut, *, baseline: int, threads: int, workers: Workers
) -> Memory:
    """Project the peak memory of a walk in sweeps.

    Parameters are those of :func:`somscale.engine.pairs.memory.project_pairs`.
    """
    if cut.way is None:
        raise ValueError("a walk in sweeps is cut in some way of its reduction")
    tasks = cut.n_tasks(job)
    fields = list(job.reductions[0].fields.values())
    whole = sum(spec.nbytes for spec in fields if not spec.samplewise)
    a_row = sum(spec.nbytes for spec in fields if spec.samplewise)
    rows = min(cut.run_tiles * job.tile_rows, job.n_kept)
    tiles = min(cut.run_tiles, job.n_tiles) if cut.together else 1
    held = job.reductions[0].workspace.tile_bytes + _group_bytes(job, cut, cut.way)
    held += _reading_bytes(job, cut, cut.way, workers) + _box_bytes(job, cut, cut.way, workers)
    held += whole * (cut.level(job) + 2 + tiles) + 3 * a_row * rows
    return Memory(
        baseline=baseline,
        task=held + TASK_OVERHEAD,
        threads=min(threads, tasks),
        partials=whole * waiting_partials(tasks, cut.fan_in, threads),
        results=2 * a_row * job.n_kept,
        samples=_sample_bytes(job, cut, workers),
    )


def _at_hand(job: PairJob, cut: PairCut) -> int:
    """Samples that kept rows meet at a time."""
    return min(cut.panel_tiles * job.tile_rows, job.n_rows)


def _group_bytes(job: PairJob, cut: PairCut, way: Way) -> int:
    """Groups at a time, and what is made of the samples at hand."""
    groups = 1
    if cut.together:
        groups = min(cut.run_tiles, job.n_tiles) * math.ceil(
            min(job.tile_rows, job.n_kept) / way.group_rows
        )
    return groups * way.group_bytes + _at_hand(job, cut) * way.others_row_bytes


def _reading_bytes(job: PairJob, cut: PairCut, way: Way, workers: Workers) -> int:
    """Samples that a task holds by itself, and the columns of rows at hand."""
    run_rows = min(cut.run_tiles * job.tile_rows, job.n_kept)
    kept, panel = run_rows if cut.together else way.group_rows, _at_hand(job, cut)
    columns = 8 * sum(column.width for column in job.columns.values()) * (kept + panel)
    if job.given:
        return columns
    if cut.reading == "panels" and job.source is not None:
        reading = reading_bytes(job.source, panel, job.n_features)
        if job.kept is not None or panel == job.n_rows:
            return columns + reading
        own = run_rows * job.n_features * itemsize_of(job)
        decoding = reading_bytes(job.source, run_rows, job.n_features) - own
        return columns + own + max(reading, decoding)
    if cut.reading == "sent" and workers == "pool":
        # what arrives is held once as bytes and once as an array
        return columns + 2 * job.n_rows * job.n_features * itemsize_of(job)
    return columns


def _box_bytes(job: PairJob, cut: PairCut, way: Way, workers: Workers) -> int:
    """Distances of a stored matrix that a task holds."""
    if job.matrix is None:
        return 0
    itemsize = int(job.matrix.dtype.itemsize)
    run_rows = min(cut.run_tiles * job.tile_rows, job.n_kept)
    if cut.reading == "sent":
        # joined of blocks that reach beyond it; or held as bytes and as an array
        beyond = 0 if job.stored is not None else 2 * max(job.matrix.chunks[0])
        copies = 3 if workers == "pool" and job.stored is None else 2
        return (copies * run_rows + beyond) * job.n_rows * itemsize
    rows, columns = run_rows if cut.together else way.group_rows, _at_hand(job, cut)
    if job.stored is None or (job.stored.resident and job.kept is None):
        return 0
    if job.kept is None:
        return reading_bytes(job.stored, rows, columns)
    chunk = min(job.stored.chunks[0], job.n_rows)
    return rows * columns * itemsize + reading_bytes(job.stored, chunk, columns)


def _sample_bytes(job: PairJob, cut: PairCut, workers: Workers) -> int:
    """Samples that a process holds from one task to the next, and kept rows that were drawn."""
    itemsize = itemsize_of(job)
    whole = job.n_rows * job.n_features * itemsize
    drawn = 0 if job.kept is None else 8 * len(job.kept) * (1 + _width(job.kept.values.shape))
    if job.matrix is not None:
        shipped = cut.reading == "memory" and workers == "cluster"
        return drawn + shipped * job.n_rows**2 * int(job.matrix.dtype.itemsize)
    if cut.reading == "loaded" and job.source is not None:
        return drawn + reading_bytes(job.source, job.n_rows, job.n_features)
    if cut.reading == "sent" and workers != "pool" and job.blocks is not None:
        panel, chunk = _at_hand(job, cut), job.blocks.chunk_rows
        # blocks wait until their panel is joined: all of them where it is the only one
        copies = 2 * chunk if panel == job.n_rows else 2 * (panel + 2 * chunk) - job.n_rows
        return drawn + 2 * whole + copies * job.n_features * itemsize
    return drawn + (whole if cut.reading == "memory" and workers == "cluster" else 0)


def _width(shape: Sequence[int]) -> int:
    return math.prod(shape[1:])

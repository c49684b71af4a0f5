"""What a walk over pairs holds, cut in a given way."""

from __future__ import annotations

from somscale.engine.memory import (
    TASK_OVERHEAD,
    Memory,
    Workers,
    reading_bytes,
    waiting_partials,
)
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.reductions.base import Side

__all__ = ["itemsize_of", "project_pairs"]

_TILE_ARRAYS = 4
"""Arrays of one value a pair that a tile keeps at a time: distances, keys, masks, an order."""


def project_pairs(
    job: PairJob, cut: PairCut, *, baseline: int, threads: int, workers: Workers
) -> Memory:
    """Project the peak memory of a walk over pairs.

    Parameters
    ----------
    job : PairJob
        What to run.
    cut : PairCut
        How it is cut.
    baseline : int
        Bytes that a worker process holds before.
    threads : int
        Tasks at a time in one process.
    workers : {"here", "pool", "cluster"}
        Where tasks run.
    """
    tasks = cut.n_tasks(job)
    fields = [spec for r in job.reductions for spec in r.fields.values()]
    whole = sum(spec.nbytes for spec in fields if spec.merge != "concat")
    a_row = sum(spec.nbytes for spec in fields if spec.merge == "concat")
    held = (
        _tile_bytes(job) + _panel_bytes(job, cut, workers) + _partial_bytes(job, cut, whole, a_row)
    )
    return Memory(
        baseline=baseline,
        task=held + TASK_OVERHEAD,
        threads=min(threads, tasks),
        partials=whole * waiting_partials(tasks, cut.fan_in, threads),
        results=2 * a_row * job.n_rows,
        samples=_sample_bytes(job, cut, workers),
    )


def _tile_bytes(job: PairJob) -> int:
    """Arrays of a tile's pairs, and both of its blocks as float64."""
    rows = min(job.tile_rows, job.n_rows)
    return 8 * rows * (_TILE_ARRAYS * rows + 2 * job.n_features)


def _partial_bytes(job: PairJob, cut: PairCut, whole: int, a_row: int) -> int:
    """Partials of a task that wait in its trees."""
    if job.side is Side.BOTH:
        return whole * (cut.level(job) + 3)
    depth = (job.n_tiles - 1).bit_length() + 2
    kept = min(cut.run_tiles, job.n_tiles)
    # all kept tiles wait for the next panel, unless one panel holds all
    at_once = 1 if cut.panel_tiles >= job.n_tiles else kept
    rows = min(job.tile_rows, job.n_rows)
    inner = (whole + a_row * rows) * (depth * at_once + kept)
    return inner + whole * (cut.level(job) + 3) + 2 * a_row * kept * rows


def _panel_bytes(job: PairJob, cut: PairCut, workers: Workers) -> int:
    """Panels of samples that a task holds by itself, and its columns."""
    kept = min(cut.run_tiles * job.tile_rows, job.n_rows)
    panel = min(cut.panel_tiles * job.tile_rows, job.n_rows)
    codes = 8 * len(job.columns) * (kept + panel)
    if cut.reading == "panels" and job.source is not None:
        reading = reading_bytes(job.source, panel, job.n_features)
        at_hand = panel if job.side is Side.BOTH else kept
        return codes + reading + at_hand * job.n_features * job.source.dtype.itemsize
    if cut.reading == "sent" and workers == "pool":
        # what arrives is held once as bytes and once as an array
        rows = job.n_rows if job.side is Side.ROWS else 2 * panel
        return codes + 2 * rows * job.n_features * itemsize_of(job)
    return codes


def _sample_bytes(job: PairJob, cut: PairCut, workers: Workers) -> int:
    """Samples that a process holds from one task to the next."""
    whole = job.n_rows * job.n_features * itemsize_of(job)
    if cut.reading == "loaded" and job.source is not None:
        return reading_bytes(job.source, job.n_rows, job.n_features)
    if cut.reading == "sent" and workers != "pool" and job.blocks is not None:
        # blocks wait until their panel is joined
        chunk = job.blocks.chunk_rows
        panel = min(job.n_rows, cut.panel_tiles * job.tile_rows)
        return whole + 2 * (panel + 2 * chunk) * job.n_features * itemsize_of(job)
    if cut.reading == "memory" and workers == "cluster":
        return whole
    return 0


def itemsize_of(job: PairJob) -> int:
    """Bytes of one value of the samples."""
    if job.source is not None:
        return job.source.dtype.itemsize
    return int(job.blocks.dtype.itemsize) if job.blocks is not None else 8

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
from somscale.engine.pairs.reading import itemsize_of
from somscale.engine.pairs.sweep_memory import project_sweeps
from somscale.reductions.base import Side

__all__ = ["project_pairs"]


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
    if job.side is Side.SWEEPS:
        return project_sweeps(job, cut, baseline=baseline, threads=threads, workers=workers)
    tasks = cut.n_tasks(job)
    fields = [spec for r in job.reductions for spec in r.fields.values()]
    whole = sum(spec.nbytes for spec in fields if not spec.samplewise)
    a_row = sum(spec.nbytes for spec in fields if spec.samplewise)
    held = _tile_bytes(job) + _block_bytes(job, cut)
    held += _panel_bytes(job, cut, workers) + _partial_bytes(job, cut, whole, a_row)
    waiting = waiting_partials(tasks, cut.fan_in, threads)
    if job.side is Side.BOTH:
        # values of samples wait in the partials of both runs that a task has met
        whole += a_row * min(2 * cut.run_tiles * job.tile_rows, job.n_rows)
    return Memory(
        baseline=baseline,
        task=held + TASK_OVERHEAD,
        threads=min(threads, tasks),
        partials=whole * waiting,
        results=2 * a_row * job.n_rows,
        samples=_sample_bytes(job, cut, workers),
    )


def _tile_bytes(job: PairJob) -> int:
    """What one tile takes, and the distances that a stored matrix has for it."""
    rows = min(job.tile_rows, job.n_rows)
    given = 0 if job.matrix is None else 4 * rows * rows * job.matrix.dtype.itemsize
    return given + max(reduction.workspace.tile_bytes for reduction in job.reductions)


def _block_bytes(job: PairJob, cut: PairCut) -> int:
    """What reductions make of the blocks at hand."""
    rows = min(job.tile_rows, job.n_rows)
    kept = min(cut.run_tiles, job.n_tiles) * rows
    at_once = kept + min(cut.panel_tiles, job.n_tiles) * rows
    if job.side is Side.BOTH:
        at_once = 2 * min(cut.panel_tiles, job.n_tiles) * rows
    space = [reduction.workspace for reduction in job.reductions]
    return at_once * sum(s.row_bytes for s in space) + kept * sum(s.kept_row_bytes for s in space)


def _partial_bytes(job: PairJob, cut: PairCut, whole: int, a_row: int) -> int:
    """Partials of a task that wait in its trees."""
    rows = min(cut.run_tiles * job.tile_rows, job.n_rows)
    sides = 2 if job.side is Side.BOTH else 1
    # rows of the squares that wait halve from level to level
    return whole * (cut.level(job) + 3) + 3 * a_row * sides * rows


def _panel_bytes(job: PairJob, cut: PairCut, workers: Workers) -> int:
    """Panels of samples that a task holds by itself, and its columns."""
    kept = min(cut.run_tiles * job.tile_rows, job.n_rows)
    panel = min(cut.panel_tiles * job.tile_rows, job.n_rows)
    codes = 8 * sum(column.width for column in job.columns.values()) * (kept + panel)
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

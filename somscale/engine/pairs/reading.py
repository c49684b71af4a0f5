"""How the tasks of a walk over pairs may come by their samples, and what they decode."""

from __future__ import annotations

import numpy as np

from somscale.engine.memory import Workers
from somscale.engine.pairs.job import PairJob, Reading

__all__ = ["chunked_bytes", "itemsize_of", "readings"]


def readings(job: PairJob, where: Workers) -> list[Reading]:
    """Ways to come by the samples, best first."""
    if job.blocks is not None or job.matrix_blocks is not None:
        return ["sent"]
    if job.stored is not None:
        resident = job.stored.resident
        return ["sent" if where == "pool" else "memory"] if resident else ["panels"]
    if job.source is None:
        return ["memory"]
    if job.source.resident:
        return ["sent"] if where == "pool" else ["memory"]
    return ["loaded", "panels"]


def chunked_bytes(job: PairJob, tiles: int) -> int:
    """Bytes decoded when all samples are read in panels of so many tiles."""
    if job.source is None:
        return 0
    size = tiles * job.tile_rows
    starts = np.arange(0, job.n_rows, size)
    stops = np.minimum(starts + size, job.n_rows)
    whole = (np.array([0]), np.array([job.n_features]))
    decoded = job.source.decoded(0, (starts, stops)) * job.source.decoded(1, whole)
    return decoded * job.source.dtype.itemsize


def itemsize_of(job: PairJob) -> int:
    """Bytes of one value of the samples."""
    if job.source is not None:
        return job.source.dtype.itemsize
    return int(job.blocks.dtype.itemsize) if job.blocks is not None else 8

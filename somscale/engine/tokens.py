"""Keys of a pass: equal keys mean equal work, so that Dask does it once."""

from __future__ import annotations

import hashlib
import uuid

from somscale.engine.linear.job import LinearJob

__all__ = ["job_token"]


def job_token(job: LinearJob) -> str:
    """A text that names a job's samples and reductions.

    Two indices asked for one by one over the same Dask array share the keys of
    their passes, so that computing both together reads the samples once.
    Samples without a name of their own get a fresh token.
    """
    if job.blocks is None:
        return uuid.uuid4().hex[:16]
    digest = hashlib.sha256(str(job.blocks.name).encode())
    for reduction in job.reductions:
        digest.update(f"{reduction.name};{sorted(reduction.fields)};".encode())
        codes = getattr(reduction, "codes", None)
        if codes is not None:
            digest.update(codes.tobytes())
    for name, column in sorted(job.columns.items()):
        digest.update(f"{name};{column.base};{column.n_categories};".encode())
        digest.update(column.values.tobytes())
    return digest.hexdigest()[:16]

"""Keys of a pass: equal keys mean equal work, so that Dask does it once."""

from __future__ import annotations

import hashlib
import uuid

import numpy as np

from somscale.engine.linear.job import LinearJob

__all__ = ["job_token", "text_token"]

_FACTS = ("codes", "feature_weights", "sample_weights", "excluded", "missing", "masked")
"""What a reduction's result depends on besides its name, its fields and its columns."""


def job_token(job: LinearJob) -> str:
    """A text that names a job's samples and reductions.

    Two indices asked for one by one over the same Dask array share the keys of
    their passes, so that computing both together reads the samples once.
    Samples without a name of their own get a fresh token.
    """
    if job.blocks is None:
        return uuid.uuid4().hex[:16]
    digest = hashlib.sha256(job.blocks.name.encode())
    for reduction in job.reductions:
        digest.update(f"{reduction.name};{sorted(reduction.fields)};".encode())
        for fact in _FACTS:
            value = getattr(reduction, fact, None)
            digest.update(
                value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            )
    for name, column in sorted(job.columns.items()):
        digest.update(name.encode())
        digest.update(column.identity())
    return digest.hexdigest()[:16]


def text_token(*parts: object) -> str:
    """A text that is equal only where all parts are."""
    from dask.base import tokenize

    return str(tokenize(*parts))[:16]

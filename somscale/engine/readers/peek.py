"""Read a few rows ahead of a pass, the same ones however the samples are chunked."""

from __future__ import annotations

import numpy as np

from somscale._types import Float
from somscale.engine.readers.samples import Samples
from somscale.reductions.faults import LARGEST_VALUE

__all__ = ["read_some_rows"]

_BLOCK_ROWS = 256
_BYTES = 64 << 20


def read_some_rows(samples: Samples, at_least: int, rng: np.random.Generator) -> Float:
    """About `at_least` rows in aligned blocks, drawn without repetition, in row order.

    Blocks rather than single rows, since a store gives whole chunks.  Rows that no pass
    would take are left out (the pass that follows names the first of all); where no
    other is seen, one row of zeros stands for them.
    """
    n_rows, n_features = samples.shape
    n_blocks = -(-n_rows // _BLOCK_ROWS)
    most = max(1, _BYTES // (8 * _BLOCK_ROWS * n_features))
    wanted = min(n_blocks, max(-(-at_least // _BLOCK_ROWS), min(8, most)))
    chosen = np.sort(rng.choice(n_blocks, size=wanted, replace=False))
    parts = []
    for block in chosen:
        start = int(block) * _BLOCK_ROWS
        values = _read(samples, start, min(start + _BLOCK_ROWS, n_rows))
        parts.append(values[(np.abs(values) <= LARGEST_VALUE).all(axis=1)])
    rows = np.concatenate(parts)
    return rows if len(rows) else np.zeros((1, n_features))


def _read(samples: Samples, start: int, stop: int) -> Float:
    if samples.source is not None:
        values = samples.source.read(slice(start, stop), slice(0, samples.shape[1]))
    elif samples.blocks is not None:
        import dask

        inputs, arrival = samples.blocks.inputs(start, stop)
        source = arrival.source(dask.compute(*inputs))
        values = source.read(slice(start, stop), slice(0, samples.shape[1]))
    else:
        raise ValueError("these samples have neither a source nor blocks")
    return np.asarray(values, dtype=np.float64)

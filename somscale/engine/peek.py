"""Read a few rows ahead of a pass, the same ones however the samples are chunked."""

from __future__ import annotations

import numpy as np

from somscale.engine.samples import Samples
from somscale.errors import SampleValueError
from somscale.kernels.types import Float

__all__ = ["read_some_rows"]

_BLOCK_ROWS = 256
_BYTES = 64 << 20


def read_some_rows(samples: Samples, at_least: int, rng: np.random.Generator) -> Float:
    """About `at_least` rows in aligned blocks, drawn without repetition, in row order.

    Blocks rather than single rows, since a store gives whole chunks.

    Raises
    ------
    SampleValueError
        A value among them is not finite.
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
        faulty = np.argwhere(~np.isfinite(values))
        if len(faulty):
            row, feature = (int(n) for n in faulty[0])
            where = samples.entry_names.describe(start + row, feature)
            raise SampleValueError(
                f"the samples hold {values[row, feature]} at {where}; drop or fill such samples first"
            )
        parts.append(values)
    return np.concatenate(parts)


def _read(samples: Samples, start: int, stop: int) -> Float:
    if samples.source is not None:
        values = samples.source.read(slice(start, stop), slice(0, samples.shape[1]))
    elif samples.blocks is not None:
        values = samples.blocks[start:stop].compute()
    else:
        raise ValueError("these samples have neither a source nor blocks")
    return np.asarray(values, dtype=np.float64)

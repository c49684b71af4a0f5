"""Read a few rows ahead of a pass, the same ones however the samples are chunked."""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.reductions.faults import LARGEST_VALUE

__all__ = ["read_ranges", "read_some_rows"]

_BLOCK_ROWS = 256
_BYTES = 64 << 20
_SLAB = 1024


def read_some_rows(
    samples: Samples, at_least: int, rng: np.random.Generator, *, incomplete: bool = False
) -> Float:
    """About `at_least` rows in aligned blocks, drawn without repetition, in row order.

    Blocks rather than single rows, since a store gives whole chunks.  Rows that no pass
    would take are left out (the pass that follows names the first of all); where no
    other is seen, one row of zeros stands for them.  With `incomplete` rows that lack some
    features take part, and are nan there.
    """
    n_rows, n_features = samples.shape
    n_blocks = -(-n_rows // _BLOCK_ROWS)
    most = max(1, _BYTES // (8 * _BLOCK_ROWS * n_features))
    wanted = min(n_blocks, max(-(-at_least // _BLOCK_ROWS), min(8, most)))
    chosen = np.sort(rng.choice(n_blocks, size=wanted, replace=False))
    starts = chosen * _BLOCK_ROWS
    stops = np.minimum(starts + _BLOCK_ROWS, n_rows)
    values = _without_gaps(samples, read_ranges(samples, starts, stops), starts, stops)
    sound = np.abs(values) <= LARGEST_VALUE
    if incomplete:
        sound |= np.isnan(values)
    rows = values[sound.all(axis=1)]
    return rows if len(rows) else np.zeros((1, n_features))


def _without_gaps(samples: Samples, values: Float, starts: Int, stops: Int) -> Float:
    """Rows that take part, 0 where all of them lack a feature and that is allowed."""
    if samples.excluded is not None:
        ends = zip(starts.tolist(), stops.tolist(), strict=True)
        left_out = np.concatenate([samples.excluded.read(*both) for both in ends])
        values = values[~left_out]
    if samples.missing == "raise":
        return values
    missing = np.isnan(values)
    some = ~missing.all(axis=1)
    values, missing = values[some], missing[some]
    return np.where(missing.all(axis=0), 0.0, values)


def read_ranges(samples: Samples, starts: Int, stops: Int) -> Float:
    """Some ranges of rows, ascending, one below the other, float64."""
    if samples.source is not None:
        read = _from_source(samples.source, starts, stops)
    elif samples.blocks is not None:
        read = _from_blocks(samples.blocks, starts, stops)
    else:
        raise ValueError("these samples have neither a source nor blocks")
    return np.asarray(read, dtype=np.float64)


def _from_blocks(blocks: Blocks, starts: Int, stops: Int) -> AnyArray:
    """All ranges in one go, so that a chunk that several need is computed once."""
    import dask

    ranges = list(zip(starts.tolist(), stops.tolist(), strict=True))
    asked = [blocks.inputs(start, stop) for start, stop in ranges]
    computed = dask.compute([inputs for inputs, _ in asked])[0]
    features = slice(0, blocks.shape[1])
    return np.concatenate(
        [
            arrival.source(values).read(slice(*ends), features)
            for ends, values, (_, arrival) in zip(ranges, computed, asked, strict=True)
        ]
    )


def _from_source(source: Source, starts: Int, stops: Int) -> AnyArray:
    """Rows of the same chunks are read together, a slab of features at a time.

    Chunks that are whole in time would be decoded for every range anew.
    """
    n_features, (chunk, width) = source.shape[1], source.chunks[:2]
    slab = max(width, _SLAB // max(1, width) * width)
    groups = np.split(np.arange(len(starts)), np.flatnonzero(np.diff(starts // chunk)) + 1)
    parts = []
    for group in groups:
        first, last = int(starts[group[0]]), int(stops[group[-1]])
        wanted = np.concatenate([np.arange(starts[n], stops[n]) for n in group]) - first
        slabs = [
            source.read(slice(first, last), slice(left, min(left + slab, n_features)))[wanted]
            for left in range(0, n_features, slab)
        ]
        parts.append(slabs[0] if len(slabs) == 1 else np.concatenate(slabs, axis=1))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

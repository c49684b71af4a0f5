"""Read a few rows ahead of a pass, the same ones however the samples are chunked."""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.reductions.faults import LARGEST_VALUE

__all__ = ["draw_rows", "read_ranges", "read_some_rows"]

_BLOCK_ROWS = 256
_BYTES = 64 << 20
_BLOCK_BYTES = 256 << 20
_SLAB = 1024
_DRAWS = 8


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
    rows = _sound(samples, starts, stops, incomplete=incomplete)
    return rows if len(rows) else np.zeros((1, n_features))


def draw_rows(
    samples: Samples, count: int, rng: np.random.Generator, *, incomplete: bool = False
) -> Float:
    """`count` different samples from anywhere, all that take part where they are fewer.

    The numbers are drawn from those of all rows but excluded ones, whatever the chunks; of a
    store only the chunks that hold one are read.  Rows that no pass would take are left out
    and others drawn for them, at most a few times; `incomplete` is as in `read_some_rows`.
    """
    n_rows, n_features = samples.shape
    free = np.arange(n_rows) if samples.excluded is None else _free_rows(samples)
    drawn: list[Float] = []
    missing = count
    for _ in range(_DRAWS):
        if not missing or not len(free):
            break
        places = np.sort(rng.choice(len(free), size=min(missing, len(free)), replace=False))
        rows, free = free[places], np.delete(free, places)
        drawn.append(_sound(samples, rows, rows + 1, incomplete=incomplete))
        missing -= len(drawn[-1])
    found = np.concatenate(drawn) if drawn else np.zeros((0, n_features))
    return found if len(found) else np.zeros((1, n_features))


def _free_rows(samples: Samples) -> Int:
    """Numbers of the rows that are not excluded."""
    if samples.excluded is None:
        raise ValueError("these samples exclude no row")
    return np.flatnonzero(~np.asarray(samples.excluded.read(0, samples.shape[0]), bool))


def _sound(samples: Samples, starts: Int, stops: Int, *, incomplete: bool) -> Float:
    """Rows of some ranges, but those that no pass would take; 0 where all lack a feature."""
    values = _taking_part(samples, read_ranges(samples, starts, stops), starts, stops)
    if samples.missing == "drop" and not incomplete and len(values):
        values = np.where(np.isnan(values).all(axis=0), 0.0, values)
    sound = np.abs(values) <= LARGEST_VALUE
    if incomplete:
        sound |= np.isnan(values)
    return np.asarray(values[sound.all(axis=1)])


def _taking_part(samples: Samples, values: Float, starts: Int, stops: Int) -> Float:
    """Rows that are not excluded and, where nan may be, hold some value."""
    if samples.excluded is not None:
        ends = zip(starts.tolist(), stops.tolist(), strict=True)
        left_out = np.concatenate([samples.excluded.read(*both) for both in ends])
        values = values[~left_out]
    return values if samples.missing == "raise" else values[~np.isnan(values).all(axis=1)]


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
    """Ranges of the same or of a few blocks in one go, so that a block is computed once."""
    import dask

    features, parts = slice(0, blocks.shape[1]), []
    chunk = blocks.chunk_rows
    # what is computed in one go is held at once
    together = max(1, _BLOCK_BYTES // max(1, 8 * chunk * blocks.shape[1]))
    group = np.unique(starts // chunk, return_inverse=True)[1] // together
    for ends in np.split(np.stack([starts, stops], axis=1), np.flatnonzero(np.diff(group)) + 1):
        asked = [blocks.inputs(start, stop) for start, stop in ends.tolist()]
        computed = dask.compute([inputs for inputs, _ in asked])[0]
        parts += [
            arrival.source(values).read(slice(*rows), features)
            for rows, values, (_, arrival) in zip(ends.tolist(), computed, asked, strict=True)
        ]
    return np.concatenate(parts)


def _from_source(source: Source, starts: Int, stops: Int) -> AnyArray:
    """Rows of the same chunks are read together, a slab of features at a time.

    Chunks that are whole in time would be decoded for every range anew.
    """
    n_features, (chunk, width) = source.shape[1], source.chunks[:2]
    groups = np.split(np.arange(len(starts)), np.flatnonzero(np.diff(starts // chunk)) + 1)
    parts = []
    for group in groups:
        first, last = int(starts[group[0]]), int(stops[group[-1]])
        wanted = np.concatenate([np.arange(starts[n], stops[n]) for n in group]) - first
        most = min(_SLAB, max(1, _BYTES // (8 * (last - first))))
        slab = max(width, most // max(1, width) * width)
        slabs = [
            source.read(slice(first, last), slice(left, min(left + slab, n_features)))[wanted]
            for left in range(0, n_features, slab)
        ]
        parts.append(slabs[0] if len(slabs) == 1 else np.concatenate(slabs, axis=1))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

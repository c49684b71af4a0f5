"""Samples copied into a workspace: whole chunks, in bounded memory, each read once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray
from somscale.engine.memory import budget_bytes
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.arrays import StoredArray, create_array
from somscale.store.fingerprints import Digester, Fingerprint, block_rows, fingerprint_of
from somscale.store.location import Location
from somscale.workspace.recorded import ARRAY

__all__ = ["chunk_of", "copy_samples", "create_samples"]

_CHUNK_BYTES = 32 << 20
_SLAB_BYTES = 128 << 20


def chunk_of(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    """The chunk of at most so many entries that lie one after the other.

    The last dims are whole, one is cut at a power of two, those before have one entry a
    chunk: so the entries of a chunk follow each other, and chunks follow each other, too.
    """
    chunk = [1] * len(sizes)
    for axis in reversed(range(len(sizes))):
        if sizes[axis] > most:
            chunk[axis] = 1 << (most.bit_length() - 1)
            break
        chunk[axis] = max(1, sizes[axis])
        most //= chunk[axis]
    return tuple(chunk)


def create_samples(location: Location, samples: Samples, source: Source) -> StoredArray:
    """The array of the samples, on their own dims and with nothing in it.

    A chunk is whole samples of 16 to 32 MiB, or a part of one that is larger.
    """
    rows, features, dtype = samples.rows, samples.features, source.dtype
    if dtype.itemsize > 8:
        raise InputError(
            f"samples of type {dtype} cannot be stored; convert them, for example to float64"
        )
    most = max(1, _CHUNK_BYTES // dtype.itemsize)
    own = chunk_of(features.shape, most)
    fitting = max(1, most // features.size) if own == features.shape else 1
    about = {"long_name": samples.long_name, "units": samples.units}
    return create_array(
        location,
        ARRAY,
        shape=(*rows.shape, *features.shape),
        dtype=dtype,
        chunk=(*chunk_of(rows.shape, fitting), *own),
        shard=None,
        fill=np.nan if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min,
        dims=(*rows.dims, *features.dims),
        codec="plain",
        attributes={name: value for name, value in about.items() if value is not None},
    )


@dataclass(frozen=True)
class _Rows:
    """The samples of some chunks, which follow each other."""

    start: int
    stop: int
    chunk: tuple[int, ...]


def copy_samples(source: Source, target: StoredArray, n_sample_dims: int) -> Fingerprint:
    """Copy what is not there yet, and digest everything.

    Parameters
    ----------
    source : Source
        Samples × features.
    target : StoredArray
        On the user's dims.
    n_sample_dims : int
        How many of them are the samples'.

    Raises
    ------
    WorkspaceError
        A chunk that is there already holds other values, or the place takes no more.
    """
    missing = set(target.missing())
    n_features = source.shape[1]
    digester = Digester(n_features, block_rows(n_features))
    ranges = list(_row_ranges(target, n_sample_dims))
    for rows, values in _read_along(source, ranges):
        digester.feed(values)
        for index in np.ndindex(target.units()[n_sample_dims:]):
            unit = (*rows.chunk, *index)
            part = _part(values, target, unit, n_sample_dims)
            if unit in missing or _damaged_or_equal(part, target, unit, rows) == "damaged":
                target.write(unit, part)
    return fingerprint_of(source, digester.finish())


def _row_ranges(target: StoredArray, n_sample_dims: int) -> Iterator[_Rows]:
    start = 0
    for number in np.ndindex(target.units()[:n_sample_dims]):
        box = target.box((*number, *[0] * (len(target.shape) - n_sample_dims)))
        stop = start + math.prod(part.stop - part.start for part in box[:n_sample_dims])
        yield _Rows(start, stop, number)
        start = stop


def _read_along(source: Source, ranges: Sequence[_Rows]) -> Iterator[tuple[_Rows, AnyArray]]:
    """The samples of each range, read along the source's own chunks."""
    slabs = _slabs(source)
    held = next(slabs)
    first = 0  # of what is held
    for rows in ranges:
        if rows.start > first:
            held, first = held[rows.start - first :], rows.start
        parts = [held]
        while sum(map(len, parts)) < rows.stop - first:
            parts.append(next(slabs))
        held = parts[0] if len(parts) == 1 else np.concatenate(parts)
        yield rows, held[: rows.stop - first]


def _slabs(source: Source) -> Iterator[AnyArray]:
    n_samples, n_features = source.shape
    row_bytes = n_features * source.dtype.itemsize
    chunk = min(max(1, source.chunks[0]), n_samples)
    limit = _SLAB_BYTES
    if chunk * row_bytes > limit:
        # parts of such tall chunks decode them over and over: as few parts as memory allows
        limit = max(limit, min(chunk * row_bytes, budget_bytes() // 4))
    step = max(1, limit // (chunk * row_bytes)) * chunk
    if chunk * row_bytes > limit:
        step = max(1, limit // row_bytes)
    for start in range(0, n_samples, step):
        yield source.read(slice(start, min(start + step, n_samples)), slice(0, n_features))


def _part(
    values: AnyArray, target: StoredArray, unit: tuple[int, ...], n_sample_dims: int
) -> AnyArray:
    """The values of a chunk on the user's dims, from those of its samples."""
    box = target.box(unit)
    rows = [part.stop - part.start for part in box[:n_sample_dims]]
    whole = values.reshape(*rows, *target.shape[n_sample_dims:])
    return whole[(*[slice(None)] * n_sample_dims, *box[n_sample_dims:])]


def _damaged_or_equal(
    part: AnyArray, target: StoredArray, unit: tuple[int, ...], rows: _Rows
) -> str:
    """Whether a chunk that is there is damaged, or holds just these values."""
    try:
        known = target.read(*target.box(unit))
    except ChunkError:
        return "damaged"
    if known.tobytes() != part.astype(known.dtype, copy=False).tobytes():
        raise WorkspaceError(
            f"samples {rows.start} to {rows.stop - 1} differ from those whose copy was begun in "
            f"{target.location.name}; give the same samples again, or take another workspace"
        )
    return "equal"

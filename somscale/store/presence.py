"""Whether a chunk is there: what Zarr does not say when it gives the fill value."""

from __future__ import annotations

import math

import numpy as np

from somscale.store.keys import read_tail, stamp_of
from somscale.store.location import Location

__all__ = ["fault_of"]

Index = tuple[int, ...]

_WORD = np.dtype("<u8")
_CHECKSUM = 4  # bytes behind the index of a shard
_ABSENT = 2**64 - 1


def fault_of(location: Location, key: str, inner: Index = (), grid: Index = ()) -> str | None:
    """What is wrong with a chunk that could be read, or None if it is there.

    Parameters
    ----------
    location : Location
        Workspace.
    key : str
        Of the chunk, or of the shard in which it lies.
    inner : tuple of int
        Number of the chunk in the shard along every dim.
    grid : tuple of int
        Chunks of a shard along every dim; none where there are no shards.

    Returns
    -------
    str or None
        The end of a sentence about the chunk.

    Raises
    ------
    OSError
        The store cannot be asked.
    """
    stamp = stamp_of(location, key)
    if stamp is None:
        return "is missing"
    if stamp.size == 0:
        return "is empty"
    if grid and not _lies_in_shard(location, key, stamp.size, inner, grid):
        return "is missing in its shard, which is damaged"
    return None


def _lies_in_shard(location: Location, key: str, size: int, inner: Index, grid: Index) -> bool:
    """Whether the index at the end of a shard has a chunk, and the shard its bytes.

    The index holds offset and length of every chunk, in C order, and a checksum.
    """
    length = math.prod(grid) * 2 * _WORD.itemsize + _CHECKSUM
    data = read_tail(location, key, length)
    if len(data) < length:
        return False
    index = np.frombuffer(data[:-_CHECKSUM], _WORD).reshape(*grid, 2)
    offset, count = map(int, index[inner])
    return offset != _ABSENT and offset + count <= size - length

"""Delayed values as Dask arrays of known shape."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from somscale._types import AnyArray
from somscale.engine.readers.sources import Source

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed

__all__ = [
    "array_of",
    "array_of_source",
    "call_later",
    "join_later",
    "later_array",
    "rows_of_array",
    "sample_array",
    "stack_arrays",
]


def sample_array(pieces: Sequence[tuple[Delayed, int]], dtype: str) -> da.Array:
    """The values of all samples, one chunk a task."""
    import dask.array as da

    parts = [da.from_delayed(piece, (rows,), dtype=dtype) for piece, rows in pieces]
    joined: da.Array = da.concatenate(parts)
    return joined


def join_later(pieces: Sequence[tuple[Delayed, int]], name: str) -> Delayed:
    """The values of all samples in one array, delayed."""
    return call_later(_join, *(piece for piece, _ in pieces), name=f"join-{name}")


def _join(*parts: AnyArray) -> AnyArray:
    return np.concatenate(parts)


def later_array(value: Delayed, shape: tuple[int, ...], dtype: Any) -> da.Array:
    """A delayed array of known shape and type, in one chunk."""
    import dask.array as da

    array: da.Array = da.from_delayed(value, shape, dtype=dtype)
    return array


def call_later(function: Any, *arguments: Any, name: str, **settings: Any) -> Delayed:
    """Call a function once its delayed arguments are there."""
    from dask.delayed import delayed

    result: Delayed = delayed(function, pure=False)(*arguments, dask_key_name=name, **settings)
    return result


def compute_together(values: Sequence[Any]) -> tuple[Any, ...]:
    """Compute collections of any kind in one go, so that what they share is done once."""
    import dask

    found: tuple[Any, ...] = dask.compute(*values)
    return found


def array_of(values: AnyArray) -> da.Array:
    """A small array that is known already."""
    import dask.array as da

    array: da.Array = da.from_array(values, chunks=values.shape)
    return array


def rows_of_array(values: AnyArray, rows: int) -> da.Array:
    """An array that is known already, so many rows a chunk; named by chance, not by its bytes."""
    import dask.array as da

    chunks = (rows, *values.shape[1:])
    array: da.Array = da.from_array(values, chunks=chunks, name=f"rows-{uuid.uuid4().hex}")
    return array


@dataclass(frozen=True)
class _Readable:
    """A source as Dask slices it."""

    source: Source

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every dim."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.source.dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.source.shape)

    def __getitem__(self, box: tuple[slice | int, ...]) -> AnyArray:
        # Dask joins slices of slices, also with a number that is taken of them
        whole = [part if isinstance(part, slice) else slice(part, part + 1) for part in box]
        parts = [part.indices(size) for part, size in zip(whole, self.shape, strict=True)]
        values = self.source.read(*(slice(low, max(low, high)) for low, high, _ in parts))
        steps = [slice(None, None, step) for _, _, step in parts]
        return values[
            tuple(s if isinstance(part, slice) else 0 for s, part in zip(steps, box, strict=True))
        ]


def array_of_source(source: Source, chunks: tuple[int, ...], name: str) -> da.Array:
    """What a source holds, read by its own means; `name` is what it is known by."""
    import dask.array as da

    array: da.Array = da.from_array(
        _Readable(source),
        chunks=chunks,
        name=f"{name}-{uuid.uuid4().hex}",
        asarray=False,
        fancy=False,
    )
    return array


def stack_arrays(values: Sequence[Any]) -> da.Array:
    """Dask arrays of one shape, along a new first dimension."""
    import dask.array as da

    stacked: da.Array = da.stack(list(values))
    return stacked

"""Stored arrays: written by whole chunks, read without a silent fill value.

Zarr reads a chunk that is not there as the fill value, and deletes a chunk when it is
overwritten with the fill value.  Here every write keeps the chunk, and every read that
gives the fill value looks whether the chunk is there.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from somscale._types import AnyArray
from somscale.engine.readers.sources import RegularChunks
from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.boxes import inside, overlaps
from somscale.store.causes import DAMAGED, cause_of, reason_of
from somscale.store.keys import delete_key, delete_prefix, list_keys, stamp_of
from somscale.store.layouts import Codec, codecs
from somscale.store.location import Location
from somscale.store.opening import opened_array
from somscale.store.points import reach
from somscale.store.presence import fault_of

if TYPE_CHECKING:
    import zarr

__all__ = ["StoredArray", "create_array", "open_array"]

Index = tuple[int, ...]


@dataclass(frozen=True)
class StoredArray(RegularChunks):
    """An array of a workspace; it pickles, and is opened anew where it is used.

    Attributes
    ----------
    location : Location
        Workspace.
    path : str
        Of the array in the workspace, such as ``distances/euclidean/distance``.
    shape, dtype
        Of the array.
    chunks : tuple of int
        What is decoded at least.
    unit : tuple of int
        What is written at once: the shard where there are shards, else the chunk.
    fill : scalar
        What Zarr gives for chunks that are not there.
    resident : bool
        False: reading costs.
    """

    location: Location
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    unit: tuple[int, ...]
    fill: Any = field(compare=False)
    resident: bool = False

    @property
    def name(self) -> str:
        """Workspace and path, for messages."""
        return f"{self.location.name}, {self.path}"

    @cached_property
    def _array(self) -> zarr.Array[Any]:
        return opened_array(self.location, self.path, writable=not self.location.read_only)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_array"}

    def units(self) -> tuple[int, ...]:
        """Number of units along every dim."""
        return tuple(-(-size // unit) for size, unit in zip(self.shape, self.unit, strict=True))

    def key(self, index: Index) -> str:
        """The key of a unit in the workspace."""
        return "/".join([self.path, "c", *map(str, index)])

    def box(self, index: Index) -> tuple[slice, ...]:
        """What a unit holds, one slice a dim."""
        return tuple(
            slice(number * unit, min((number + 1) * unit, size))
            for number, unit, size in zip(index, self.unit, self.shape, strict=True)
        )

    def read(self, *box: slice) -> AnyArray:
        """The values of a box.

        Parameters
        ----------
        *box : slice
            One a dim, with a step of 1; none at all for the whole array.

        Raises
        ------
        ChunkError
            A chunk is missing or damaged.
        WorkspaceError
            The array itself is not there any more.
        """
        ranges = self._ranges(box)
        array = self._array
        try:
            values = np.asarray(array[ranges])
        except DAMAGED:
            values = self._read_by_chunks(ranges)
        for chunk, parts in overlaps(ranges, self.chunks):
            if _is_fill(values[tuple(part.start for part in inside(parts, ranges))], self.fill):
                self._check_there(chunk)
        return values

    def write(self, index: Index, values: AnyArray) -> None:
        """Write one unit, whole; at the edge of the array its part.

        Parameters
        ----------
        index : tuple of int
            Number of the unit along every dim.
        values : ndarray
            Of the shape of the unit.

        Raises
        ------
        InputError
            There is no such unit, or the values have another shape.
        WorkspaceError
            The store is read-only, full or failing.
        """
        self.location.check_writable()
        self._check_index(index)
        shape = tuple(part.stop - part.start for part in self.box(index))
        if np.shape(values) != shape:
            raise InputError(
                f"chunk {index} of {self.path} takes values of shape {shape}, "
                f"not {np.shape(values)}"
            )
        array = self._array
        reach("chunk:before")
        try:
            self._put(array, index, np.asarray(values, self.dtype))
        except (OSError, ExceptionGroup) as error:
            if not isinstance(cause_of(error), OSError):
                raise
            raise WorkspaceError(
                f"chunk {index} of {self.name} cannot be written: {cause_of(error)}; "
                "mend that, and the same command goes on from here"
            ) from error
        reach("chunk:after")

    def _put(self, array: zarr.Array[Any], index: Index, values: AnyArray) -> None:
        try:
            array[self.box(index)] = values
        except DAMAGED as error:
            if isinstance(cause_of(error), OSError | MemoryError):
                raise
            # Zarr takes a shard at the edge of the array for one that is written in part, and
            # reads what is there first, which may be what is to be mended
            delete_key(self.location, self.key(index))
            array[self.box(index)] = values

    def missing(self) -> list[Index]:
        """Units that are still to be written, in order.

        They are not there, or empty; where an interrupted write may leave a part of a
        chunk, those that do not decode are among them.

        Raises
        ------
        WorkspaceError
            The store cannot be listed.
        """
        try:
            found = list_keys(self.location, f"{self.path}/c")
        except OSError as error:
            raise WorkspaceError(f"{self.name} cannot be listed: {error}") from error
        if not self.shape:
            there = stamp_of(self.location, self.key(()))
            found = {} if there is None else {"": there}
        return [
            index
            for index in itertools.product(*map(range, self.units()))
            if not self._is_whole(index, found)
        ]

    def _is_whole(self, index: Index, found: Mapping[str, Any]) -> bool:
        stamp = found.get("/".join(map(str, index)))
        if stamp is None or stamp.size == 0:
            return False
        if self.location.atomic:
            return True
        try:
            self.read(*self.box(index))
        except ChunkError:
            return False
        return True

    def _check_index(self, index: Index) -> None:
        units = self.units()
        if len(index) != len(units) or not all(map(_within, index, units)):
            raise InputError(f"{self.path} has {units} chunks along its dims, and no {index}")

    def _ranges(self, box: tuple[slice, ...]) -> tuple[slice, ...]:
        if not box:
            return tuple(slice(0, size) for size in self.shape)
        return tuple(
            slice(*part.indices(size)[:2]) for part, size in zip(box, self.shape, strict=True)
        )

    def _read_by_chunks(self, ranges: tuple[slice, ...]) -> AnyArray:
        """A box that cannot be read at once, chunk by chunk: name the one that fails."""
        out = np.empty([part.stop - part.start for part in ranges], self.dtype)
        for chunk, parts in overlaps(ranges, self.chunks):
            try:
                out[inside(parts, ranges)] = self._array[parts]
            except DAMAGED as error:
                self._check_there(chunk)
                if isinstance(cause_of(error), MemoryError):
                    raise
                raise self._error(chunk, f"cannot be read: {reason_of(error)}") from error
        return out

    def _check_there(self, chunk: Index) -> None:
        """Raise if a chunk, of which Zarr gave the fill value or nothing, is not there."""
        index, inner = zip(*map(divmod, chunk, self._grid), strict=True) if chunk else ((), ())
        grid = self._grid if self.unit != self.chunks else ()
        try:
            fault = fault_of(self.location, self.key(index), inner, grid)
        except OSError as error:
            raise self._error(chunk, f"cannot be read: {reason_of(error)}") from error
        if fault is not None:
            raise self._error(chunk, fault)

    @property
    def _grid(self) -> Index:
        """Chunks of a unit along every dim."""
        return tuple(unit // chunk for unit, chunk in zip(self.unit, self.chunks, strict=True))

    def _error(self, chunk: Index, what: str) -> ChunkError:
        """The error of a chunk, which is named by its unit: that is what is written anew."""
        index = tuple(map(operator.floordiv, chunk, self._grid))
        error = ChunkError(
            f"chunk {index} of {self.name} {what}; write it anew, "
            "or repair the workspace (somscale verify --repair)"
        )
        error.array, error.chunk = self.path, index
        return error


def create_array(
    location: Location,
    path: str,
    *,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunk: tuple[int, ...],
    shard: tuple[int, ...] | None,
    fill: Any,
    dims: Sequence[str],
    codec: Codec = "plain",
    attributes: Mapping[str, Any] | None = None,
) -> StoredArray:
    """Make an array without chunks, in place of whatever is there.

    Parameters
    ----------
    location : Location
        Workspace; the groups above the array are made if need be.
    path : str
        Of the array.
    shape, dtype
        Of the array.
    chunk : tuple of int
        What is decoded at once.
    shard : tuple of int or None
        What is written at once, a multiple of `chunk`; None where that is the chunk.
    fill : scalar
        What stands for chunks that are not there; best a value that is never stored.
    dims : sequence of str
        Names of the dims.
    codec : {"distance", "rank", "plain"}
        See :func:`somscale.store.layouts.codecs`.
    attributes : mapping, optional
        Of the array.

    Raises
    ------
    WorkspaceError
        The store is read-only, full or failing.
    """
    import zarr

    location.check_writable()
    kind = np.dtype(dtype).newbyteorder("=")
    parent, _, _ = path.rpartition("/")
    try:
        delete_prefix(location, path)
        location.group(parent, mode="a")
        zarr.create_array(
            location.store,
            name=path,
            shape=shape,
            dtype=kind,
            chunks=chunk,
            # a shard of one chunk is a chunk
            shards=None if shard is None or tuple(shard) == tuple(chunk) else shard,
            fill_value=fill,
            compressors=codecs(codec, kind),
            dimension_names=tuple(dims),
            attributes=dict(attributes or {}),
            chunk_key_encoding={"name": "default", "separator": "/"},
            config={"write_empty_chunks": True},
        )
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{location.name}, {path} cannot be made: {error}; "
            "mend that, and the same command goes on from here"
        ) from error
    return open_array(location, path)


def open_array(location: Location, path: str) -> StoredArray:
    """Find an array.

    Raises
    ------
    WorkspaceError
        There is none, or its metadata cannot be read.
    """
    array = opened_array(location, path, writable=False)
    return StoredArray(
        location,
        path,
        tuple(array.shape),
        np.dtype(array.dtype),
        tuple(array.chunks),
        tuple(array.shards or array.chunks),
        array.fill_value,
    )


def _is_fill(value: Any, fill: Any) -> bool:
    return bool(value == fill) or bool(value != value and fill != fill)


def _within(number: int, count: int) -> bool:
    return 0 <= number < count

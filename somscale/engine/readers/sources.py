"""Sources: where a task reads its samples from.

A source is an array that a task carries at no cost: a reference to memory, a
file or a store.  It is read box by box.  Passes read sources of two dims,
(sample, feature); :mod:`somscale.engine.readers.views` makes such views of
sources of any other dims.  The blocks of a Dask array are no source until they
have arrived, as dependencies of the task.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from somscale._types import AnyArray, Int
from somscale.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    import zarr

__all__ = [
    "ArraySource",
    "BlocksSource",
    "MemmapSource",
    "Ranges",
    "RegularChunks",
    "Source",
    "SparseSource",
    "XarraySource",
    "ZarrSource",
]

Ranges: TypeAlias = tuple[Int, Int]
"""Starts and stops of ranges that are read one by one."""


class Source(Protocol):
    """An array that can be read by boxes from inside a task."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every dim; of samples (N, D)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values as they are read."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """What is read together at least along each dim; all 1 when nothing is wasted."""

    @property
    def resident(self) -> bool:
        """Whether the values are in memory already, so that reading them costs none."""

    def read(self, *box: slice) -> AnyArray:
        """The values of a box, one slice a dim."""

    def decoded(self, axis: int, ranges: Ranges) -> int:
        """Entries along a dim that reading these ranges one by one decodes, whole chunks."""


class _Chunked(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def chunks(self) -> tuple[int, ...]: ...


class RegularChunks:
    """The chunks of a source are of one size."""

    def decoded(self: _Chunked, axis: int, ranges: Ranges) -> int:
        """Entries along a dim that reading these ranges one by one decodes, whole chunks."""
        starts, stops = ranges
        chunk = self.chunks[axis]
        ends = np.minimum(-(-stops // chunk) * chunk, self.shape[axis])
        return int(np.sum(ends - starts // chunk * chunk))


@dataclass(frozen=True)
class ArraySource(RegularChunks):
    """Samples in memory."""

    values: AnyArray
    chunks: tuple[int, ...] = ()
    resident: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunks", self.chunks or (1,) * self.values.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def read(self, *box: slice) -> AnyArray:
        return self.values[box]


@dataclass(frozen=True)
class MemmapSource(RegularChunks):
    """Samples in a flat file, mapped anew by every task and copied a box at a time.

    A memory map handed to Dask or pickled would be copied whole.
    """

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    fortran: bool = False
    resident: bool = False

    @property
    def chunks(self) -> tuple[int, ...]:
        # a file gives what lies together: whole rows, or whole columns
        if self.fortran:
            return (*self.shape[:-1], 1)
        return (1, *self.shape[1:])

    @classmethod
    def of(cls, values: np.memmap[Any, Any]) -> MemmapSource | None:
        """The source of a memory map, or None where it is a view that a file cannot tell."""
        fortran = bool(values.flags.f_contiguous and not values.flags.c_contiguous)
        # in copy-on-write mode the file does not hold what the user has changed
        if (
            values.mode == "c"
            or values.filename is None
            or not (values.flags.c_contiguous or fortran)
        ):
            return None
        base = values.base if isinstance(values.base, np.memmap) else values
        address = values.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        offset = base.offset + address
        return cls(str(values.filename), values.dtype, values.shape, offset, fortran)

    def read(self, *box: slice) -> AnyArray:
        order: Literal["F", "C"] = "F" if self.fortran else "C"
        mapped: AnyArray = np.memmap(
            self.path, self.dtype, "r", offset=self.offset, shape=self.shape, order=order
        )
        return np.array(mapped[box])


@dataclass(frozen=True)
class ZarrSource(RegularChunks):
    """Samples in an undecoded Zarr array, read without xarray."""

    array: zarr.Array[Any]
    resident: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    @property
    def chunks(self) -> tuple[int, ...]:
        return tuple(self.array.chunks)

    def read(self, *box: slice) -> AnyArray:
        try:
            return np.asarray(self.array[box])
        except (RuntimeError, OSError) as error:
            where = ", ".join(f"{part.start} to {part.stop - 1}" for part in box)
            raise InputError(
                f"{self.array.store_path}: the entries [{where}] cannot be read: {error}"
            ) from error


@dataclass(frozen=True)
class XarraySource(RegularChunks):
    """Samples in a DataArray without Dask, decoded and locked as xarray does it."""

    array: xr.DataArray
    chunks: tuple[int, ...]
    resident: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    def read(self, *box: slice) -> AnyArray:
        return self.array[box].to_numpy()


@dataclass(frozen=True)
class SparseSource(RegularChunks):
    """Samples in a SciPy CSR matrix in memory, made dense a block of rows at a time."""

    matrix: Any
    resident: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.matrix.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        return (1, self.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.matrix.dtype
        return dtype

    def read(self, *box: slice) -> AnyArray:
        rows, features = box
        block = self.matrix[rows]
        if features != slice(0, self.shape[1]):
            block = block[:, features]
        return np.asarray(block.toarray())


@dataclass(frozen=True)
class BlocksSource(RegularChunks):
    """The blocks of a Dask array that one task was given.

    Parameters
    ----------
    blocks : mapping
        Number of the block along every dim to its values.
    edges : per dim, sequence of int
        Where the blocks begin along the dim, and where the last one ends; of the blocks
        at hand alone, of which the first has the number 0.
    shape : tuple of int
        Of the whole array.
    """

    blocks: Mapping[tuple[int, ...], AnyArray]
    edges: Sequence[Sequence[int]]
    shape: tuple[int, ...]
    resident: bool = True

    @property
    def chunks(self) -> tuple[int, ...]:
        return (1,) * len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = next(iter(self.blocks.values())).dtype
        return dtype

    def read(self, *box: slice) -> AnyArray:
        parts = [self._overlaps(axis, part) for axis, part in enumerate(box)]
        if all(len(found) == 1 for found in parts):
            inside = tuple(found[0][1] for found in parts)
            return np.asarray(self.blocks[tuple(found[0][0] for found in parts)])[inside]
        out = np.empty([part.stop - part.start for part in box], self.dtype)
        for chosen in itertools.product(*parts):
            block = np.asarray(self.blocks[tuple(number for number, _, _ in chosen)])
            out[tuple(into for _, _, into in chosen)] = block[tuple(own for _, own, _ in chosen)]
        return out

    def _overlaps(self, axis: int, wanted: slice) -> list[tuple[int, slice, slice]]:
        """Blocks along a dim that hold a part of a range: number, where in it, and whereto."""
        edges = self.edges[axis]
        first = bisect.bisect_right(edges, wanted.start) - 1
        last = bisect.bisect_left(edges, wanted.stop)
        found = []
        for number in range(first, last):
            low, high = max(edges[number], wanted.start), min(edges[number + 1], wanted.stop)
            if low < high:
                own = slice(low - edges[number], high - edges[number])
                found.append((number, own, slice(low - wanted.start, high - wanted.start)))
        return found

"""Sources: where a task reads its samples from.

A source is a 2-D array (sample, feature) that a task carries at no cost: a
reference to memory, a file or a store.  The blocks of a Dask array are no
source until they have arrived, as dependencies of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from somscale._types import AnyArray
from somscale.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    import zarr

__all__ = [
    "ArraySource",
    "BlocksSource",
    "MemmapSource",
    "Source",
    "XarraySource",
    "ZarrSource",
]


class Source(Protocol):
    """Samples that can be read by rows and features from inside a task."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values as they are read."""

    @property
    def chunks(self) -> tuple[int, int]:
        """Rows and features that are read together at least; (1, 1) when nothing is wasted."""

    @property
    def resident(self) -> bool:
        """Whether the values are in memory already, so that reading them costs none."""

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows and features."""


@dataclass(frozen=True)
class ArraySource:
    """Samples in memory."""

    values: AnyArray
    chunks: tuple[int, int] = (1, 1)
    resident: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def read(self, rows: slice, features: slice) -> AnyArray:
        return self.values[rows, features]


@dataclass(frozen=True)
class MemmapSource:
    """Samples in a flat file, mapped anew by every task and copied a block at a time.

    A memory map handed to Dask or pickled would be copied whole.
    """

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    offset: int
    fortran: bool = False
    resident: bool = False

    @property
    def chunks(self) -> tuple[int, int]:
        return (self.shape[0], 1) if self.fortran else (1, self.shape[1])

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
        shape = (values.shape[0], values.shape[1])
        offset = base.offset + address
        return cls(str(values.filename), values.dtype, shape, offset, fortran)

    def read(self, rows: slice, features: slice) -> AnyArray:
        order: Literal["F", "C"] = "F" if self.fortran else "C"
        mapped: AnyArray = np.memmap(
            self.path, self.dtype, "r", offset=self.offset, shape=self.shape, order=order
        )
        return np.array(mapped[rows, features])


@dataclass(frozen=True)
class ZarrSource:
    """Samples in an undecoded Zarr array, read without xarray."""

    array: zarr.Array[Any]
    resident: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    @property
    def chunks(self) -> tuple[int, int]:
        return self.array.chunks[0], self.array.chunks[1]

    def read(self, rows: slice, features: slice) -> AnyArray:
        try:
            return np.asarray(self.array[rows, features])
        except (RuntimeError, OSError) as error:
            raise InputError(
                f"{self.array.store_path}: samples {rows.start} to {rows.stop - 1} cannot be read: "
                f"{error}"
            ) from error


@dataclass(frozen=True)
class XarraySource:
    """Samples in a 2-D DataArray without Dask, decoded and locked as xarray does it."""

    array: xr.DataArray
    chunks: tuple[int, int] = (1, 1)
    resident: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    def read(self, rows: slice, features: slice) -> AnyArray:
        return self.array[rows, features].to_numpy()


@dataclass(frozen=True)
class BlocksSource:
    """The rows of a Dask array that one task was given, as a grid of computed blocks.

    Parameters
    ----------
    blocks : rows of blocks
        Neighbouring blocks, as many columns in every row.
    first_row : int
        Global number of the first block's first row.
    """

    blocks: Sequence[Sequence[AnyArray]]
    first_row: int
    chunks: tuple[int, int] = (1, 1)
    resident: bool = True
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        rows = self.first_row + sum(row[0].shape[0] for row in self.blocks)
        object.__setattr__(self, "shape", (rows, sum(b.shape[1] for b in self.blocks[0])))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.blocks[0][0].dtype

    def read(self, rows: slice, features: slice) -> AnyArray:
        parts = []
        top = self.first_row
        for row in self.blocks:
            bottom = top + row[0].shape[0]
            if top < rows.stop and rows.start < bottom:
                where = slice(max(rows.start - top, 0), min(rows.stop, bottom) - top)
                parts.append(self._columns(row, where, features))
            top = bottom
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @staticmethod
    def _columns(row: Sequence[AnyArray], rows: slice, features: slice) -> AnyArray:
        parts = []
        left = 0
        for block in row:
            right = left + block.shape[1]
            if left < features.stop and features.start < right:
                where = slice(max(features.start - left, 0), min(features.stop, right) - left)
                parts.append(np.asarray(block)[rows, where])
            left = right
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

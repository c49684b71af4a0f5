"""The user's own dims of the samples and of the features, with their coordinates.

A pass sees one flat axis of each; errors and results speak of these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import AnyArray
from somscale.engine.readers.alignment import coords_along
from somscale.errors import InputError
from somscale.reductions.names import AxisNames

__all__ = ["Axes", "flat_labels", "refuse_names", "time_like"]

_TIME_NAMES = {"time", "date", "day", "month", "year", "t", "valid_time", "datetime"}


@dataclass(frozen=True)
class Axes:
    """Dims that are flattened together, in their order.

    Attributes
    ----------
    dims : tuple of str
        Names; empty for samples of one feature each.
    shape : tuple of int
        Their sizes.
    coords : mapping of str to Variable
        Coordinates along these dims alone.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coords: Mapping[str, xr.Variable] = field(default_factory=dict)

    @classmethod
    def of(cls, array: xr.DataArray, dims: Sequence[str]) -> Axes:
        """Some dims of an array."""
        shape = tuple(array.sizes[dim] for dim in dims)
        return cls(tuple(dims), shape, coords_along(array, *dims))

    @property
    def size(self) -> int:
        """Entries of the flat axis."""
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """The dims in words."""
        return " × ".join(self.dims) or "feature"

    def names(self) -> AxisNames:
        """How errors name an entry."""
        labels = {
            dim: np.asarray(self.coords[dim].values) for dim in self.dims if dim in self.coords
        }
        return AxisNames(self.dims, self.shape, labels)

    def along(self, values: Any, n_before: int = 0) -> Any:
        """A flat axis of `values` as these dims; `n_before` dims of it come first."""
        return values.reshape(*values.shape[:n_before], *self.shape)

    def spread(self, array: xr.DataArray, what: str) -> AnyArray:
        """Values on some of these dims, broadcast to all of them without a copy.

        Raises
        ------
        InputError
            A dim that is none of these, or of another size.
        """
        for dim in map(str, array.dims):
            if dim not in self.dims:
                raise InputError(f"{what} have the dim {dim!r}, which is none of {self.dims}")
            size = self.shape[self.dims.index(dim)]
            if array.sizes[dim] != size:
                raise InputError(
                    f"{what} have {array.sizes[dim]} entries along {dim!r}, and there are {size}"
                )
        present = [dim for dim in self.dims if dim in array.dims]
        values = array.transpose(*present).to_numpy()
        shape = [
            size if dim in present else 1 for dim, size in zip(self.dims, self.shape, strict=True)
        ]
        return np.broadcast_to(values.reshape(shape), self.shape)

    def refuse_names(self, taken: Collection[str], what: str) -> None:
        """Refuse dims and coordinates that the result has another use for."""
        refuse_names([*self.dims, *self.coords], taken, what)


def refuse_names(names: Iterable[str], taken: Collection[str], what: str) -> None:
    """Refuse dims and coordinates whose names the result needs itself.

    Raises
    ------
    InputError
        One of the names is taken.
    """
    for name in names:
        if name in taken:
            raise InputError(
                f"the {what} have a dim or coordinate {name!r}, and the result has another of that "
                f"name; rename it, for example with {what}.rename({name}='my_{name}')"
            )


def time_like(array: xr.DataArray | xr.Dataset) -> str | None:
    """The first dim that looks like time, if any does."""
    for dim in map(str, array.dims):
        coord = array.coords.get(dim)
        if coord is not None:
            if coord.dtype.kind == "M" or coord.attrs.get("axis") == "T":
                return dim
            first = coord.values.ravel()[:1].tolist()
            if coord.dtype == object and first and type(first[0]).__module__.startswith("cftime"):
                return dim
    return next((str(dim) for dim in array.dims if str(dim).lower() in _TIME_NAMES), None)


def flat_labels(axes: Axes) -> dict[str, AnyArray]:
    """Every coordinate along the flat axis."""
    return {
        name: axes.spread(xr.DataArray(coord), name).ravel()
        for name, coord in axes.coords.items()
        if coord.dims
    }

"""Same labels, same order: coordinates along one dimension of two objects, compared or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.errors import InputError

__all__ = ["coords_along", "order_to_match"]


def coords_along(array: xr.DataArray, dim: str) -> dict[str, xr.Variable]:
    """One-dimensional coordinates along a dim; of a MultiIndex its levels, not its tuples.

    Tuples cannot be written to Zarr or NetCDF.
    """
    stacked = dim in array.indexes and array.indexes[dim].nlevels > 1
    return {
        str(name): coord.variable.to_base_variable()
        for name, coord in array.coords.items()
        if coord.dims == (dim,) and not (stacked and name == dim)
    }


def order_to_match(
    ours: Mapping[str, xr.Variable], theirs: Mapping[str, xr.Variable], dim: str, what: str
) -> list[int] | None:
    """Where each of their labels is among ours; None when they lie in the same order.

    Labels are the dim's own coordinate where both have it, else all coordinates that
    both have; without any, order is all there is to go by.

    Parameters
    ----------
    ours, theirs : mapping of str to Variable
        Coordinates along `dim`.
    dim : str
        Name of the dimension.
    what : str
        Words for errors: what is compared with what.

    Raises
    ------
    InputError
        The labels differ, or repeat in another order.
    """
    shared = [dim] if dim in ours and dim in theirs else sorted(set(ours) & set(theirs))
    if all(_equal(ours[name], theirs[name]) for name in shared):
        return None
    own, wanted = _labels(ours, shared), _labels(theirs, shared)
    place = {label: position for position, label in enumerate(own)}
    missing = [label for label in wanted if label not in place]
    if missing or not len(place) == len(set(wanted)) == len(own) == len(wanted):
        names = " and ".join(repr(name) for name in shared)
        pairs = enumerate(zip(own, wanted, strict=False))
        at = next((position for position, (left, right) in pairs if left != right), 0)
        culprit = f"{_text(own[at])} and {_text(wanted[at])} at position {at}"
        if not missing:
            culprit += ", and some labels repeat"
        raise InputError(
            f"{what} differ along {dim!r} in {names} ({culprit}); select the same labels in both, "
            f"or drop them with drop_vars({shared[0]!r}) to go by position"
        )
    return [place[label] for label in wanted]


def _equal(left: xr.Variable, right: xr.Variable) -> bool:
    own, other = np.asarray(left.values), np.asarray(right.values)
    floats = own.dtype.kind == other.dtype.kind == "f"
    return own.shape == other.shape and np.array_equal(own, other, equal_nan=floats)


def _labels(coords: Mapping[str, xr.Variable], names: list[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(np.asarray(coords[name].values).tolist() for name in names), strict=True))


def _text(label: tuple[Any, ...]) -> str:
    return ", ".join(str(part) for part in label)

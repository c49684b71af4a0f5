"""Same labels, same order: coordinates along one dimension of two objects, compared or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.errors import InputError

__all__ = ["align", "coords_along", "order_to_match"]


def coords_along(array: xr.DataArray | xr.Dataset, *dims: str) -> dict[str, xr.Variable]:
    """Coordinates along some dims alone; of a MultiIndex its levels, not its tuples.

    Tuples cannot be written to Zarr or NetCDF.
    """
    stacked = {dim for dim in dims if dim in array.indexes and array.indexes[dim].nlevels > 1}
    return {
        str(name): coord.variable.to_base_variable()
        for name, coord in array.coords.items()
        if coord.dims and set(coord.dims) <= set(dims) and name not in stacked
    }


def align(array: xr.DataArray, coords: Mapping[str, xr.Variable], what: str) -> xr.DataArray:
    """An array with each of its dims in the order of the labels that it shares with `coords`.

    Parameters
    ----------
    array : DataArray
        To be put in order.
    coords : mapping of str to Variable
        Coordinates of what it belongs to.
    what : str
        Words for errors: what is compared with what.

    Raises
    ------
    InputError
        The labels along a dim differ, or repeat in another order.
    """
    for dim in map(str, array.dims):
        ours = coords_along(array, dim)
        theirs = {name: coord for name, coord in coords.items() if coord.dims == (dim,)}
        if any(len(coord) != array.sizes[dim] for coord in theirs.values()):
            continue  # another number of entries, which is refused by its length
        order = order_to_match(ours, theirs, dim, what)
        if order is not None:
            array = array.isel({dim: order})
    _refuse_other_places(array, coords, what)
    return array


def _refuse_other_places(array: xr.DataArray, coords: Mapping[str, xr.Variable], what: str) -> None:
    """Refuse other coordinates over several dims, of curvilinear grids: no order mends them."""
    for name, coord in coords.items():
        if len(coord.dims) < 2 or name not in array.coords:
            continue
        own = array.coords[name].variable
        if set(own.dims) != set(coord.dims) or dict(own.sizes) != dict(coord.sizes):
            continue
        if not _equal(own.transpose(*coord.dims), coord):
            raise InputError(
                f"{what} differ in the coordinate {name!r} over {coord.dims}; select the same "
                f"region in both, or drop it with drop_vars({name!r}) to go without it"
            )


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
        mending = _mending(shared, ours, theirs) or "select the same labels in both"
        raise InputError(
            f"{what} differ along {dim!r} in {names} ({culprit}); {mending}, or drop them with "
            f"drop_vars({shared[0]!r}) to go by position"
        )
    return [place[label] for label in wanted]


def _mending(
    shared: list[str], ours: Mapping[str, xr.Variable], theirs: Mapping[str, xr.Variable]
) -> str:
    """The call that makes labels agree which differ for a known reason."""
    if len(shared) != 1:
        return ""
    name = shared[0]
    own, other = (np.sort(np.asarray(side[name].values)) for side in (ours, theirs))
    if own.shape != other.shape or not all(v.dtype.kind in "iuf" for v in (own, other)):
        return ""
    own, other = own.astype(np.float64), other.astype(np.float64)
    step = float(np.diff(other).min(initial=np.inf)) or 1.0
    close = min(1e-3 * step, 1e-4 * max(1.0, float(np.abs(other).max(initial=0.0))))
    if np.allclose(own, other, rtol=0, atol=close):
        return f"they differ by rounding: take over the others' with assign_coords({name}=…)"
    own, other = np.sort(np.mod(own, 360)), np.sort(np.mod(other, 360))
    if np.allclose(own, other, rtol=0, atol=close):
        return (
            "one side runs from -180 to 180 and the other from 0 to 360: bring the former over "
            f"with x.assign_coords({name}=x[{name!r}] % 360)"
        )
    return ""


def _equal(left: xr.Variable, right: xr.Variable) -> bool:
    own, other = np.asarray(left.values), np.asarray(right.values)
    floats = own.dtype.kind == other.dtype.kind == "f"
    return own.shape == other.shape and np.array_equal(own, other, equal_nan=floats)


def _labels(coords: Mapping[str, xr.Variable], names: list[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(np.asarray(coords[name].values).tolist() for name in names), strict=True))


def _text(label: tuple[Any, ...]) -> str:
    return ", ".join(str(part) for part in label)

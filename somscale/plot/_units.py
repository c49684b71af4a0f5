"""Which map a picture is of, and the value that each of its units has."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import AnyArray, Float
from somscale.codebook import as_map, is_map
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["grid_for", "numbers_by_unit", "values_by_unit", "variable_by_unit"]


def grid_for(values: Any, grid: Any = None) -> Grid:
    """Return the grid that is given, or the one that the values know.

    Parameters
    ----------
    values : Dataset, DataArray or array_like
        What is drawn; a map or a result knows its grid, and so do a result's variables.
    grid : Grid, Dataset, path, MiniSom or Somoclu, optional
        The grid, a map or a result.

    Raises
    ------
    InputError
        Neither knows one, or a result knows those of several maps.
    """
    if isinstance(grid, Grid):
        return grid
    source = values if grid is None else grid
    if isinstance(source, xr.DataArray):
        text = source.attrs.get("grid")
        if text is None:
            name = "the array" if source.name is None else source.name
            raise InputError(
                f"{name} does not say which grid its units lie on; give "
                "grid=, the map, its Grid or the result of ss.evaluate"
            )
        return _regular(json.loads(text))
    if isinstance(source, xr.Dataset) and "grids" in source.attrs:
        return _regular(_chosen(json.loads(source.attrs["grids"]), values, source))
    if is_map(source) or isinstance(source, str | os.PathLike):
        return as_map(source).grid
    raise InputError(
        f"the grid of {type(source).__name__} is not known; give grid=, the map, its Grid or the "
        "result of ss.evaluate"
    )


def _chosen(specs: dict[str, Any], values: Any, source: xr.Dataset) -> dict[str, Any]:
    """The grid of the candidate that the values are of."""
    for known in (values, source):
        if isinstance(known, xr.DataArray | xr.Dataset) and "candidate" in known.coords:
            names = np.atleast_1d(known["candidate"].values)
            if len(names) == 1 and str(names[0]) in specs:
                return dict(specs[str(names[0])])
    found = list(specs.values())
    if any(spec != found[0] for spec in found):
        own: list[Any] = list(specs)
        if "candidate" in source.coords:
            own = np.atleast_1d(source["candidate"].values).tolist()
        raise InputError(
            f"the result is of maps with different grids ({', '.join(map(repr, own))}); choose "
            f"one, as q.sel(candidate={own[0]!r})"
        )
    return dict(found[0])


def _regular(spec: dict[str, Any]) -> Grid:
    if spec["topology"] in ("graph", "table"):
        raise InputError(
            f"results do not hold the places of an irregular map (a {spec['topology']} of "
            f"{spec['size']} units); give grid=, the map or its Grid"
        )
    return Grid.from_spec(spec)


def variable_by_unit(source: Any, name: str) -> xr.DataArray:
    """Return a variable of a result, or the array itself.

    Raises
    ------
    InputError
        The result lacks it.
    """
    if isinstance(source, xr.DataArray):
        return source
    if not isinstance(source, xr.Dataset):
        return xr.DataArray(np.asarray(source), dims=_dims_of(source), name=name)
    if name not in source:
        held = ", ".join(map(str, source.data_vars)) or "no variable"
        raise InputError(
            f"the Dataset has no {name} (it has {held}); ask ss.evaluate for metrics=[{name!r}]"
        )
    return source[name]


def _dims_of(values: Any) -> tuple[str, ...]:
    ndim = np.ndim(values)
    return ("unit",) if ndim == 1 else ("row", "col") if ndim == 2 else tuple("abcdefgh"[:ndim])


def numbers_by_unit(values: Any, grid: Grid) -> Float:
    """Return one number a unit, (K,), in the order of the units; nan where there is none.

    Raises
    ------
    InputError
        Other dims or another number of units, or no numbers.
    """
    found = values_by_unit(values, grid)
    if found.dtype.kind not in "biuf":
        raise InputError(
            f"the values are of type {found.dtype}, not real numbers; labels are drawn by "
            "ss.plot.label_map"
        )
    return found.astype(float)


def values_by_unit(values: Any, grid: Grid) -> AnyArray:
    """One value a unit, (K,), of any kind; a part of the units is filled up with nan."""
    if isinstance(values, xr.Dataset):
        held = [str(name) for name, own in values.data_vars.items() if "unit" in own.dims]
        raise InputError(
            "one variable is drawn, not a Dataset; "
            + (f"choose it, as q[{held[0]!r}]" if held else "this one has none by unit")
        )
    array = values if isinstance(values, xr.DataArray) else None
    if array is None:
        flat = np.asarray(values)
        if flat.shape == grid.shape and flat.ndim == 2:
            flat = flat.reshape(-1)
        _check_size(flat.shape, grid)
        return flat
    if set(array.dims) == {"row", "col"}:
        return values_by_unit(array.transpose("row", "col").values, grid)
    _check_dims(array)
    flat = np.asarray(array.values)
    if "unit" not in array.coords:
        _check_size(flat.shape, grid)
        return flat
    return _placed(flat, np.asarray(array["unit"].values), grid)


def _placed(flat: AnyArray, units: AnyArray, grid: Grid) -> AnyArray:
    """Values at their units; those of a map of fewer units end in nan, which is cut off."""
    beyond = (units < 0) | (units >= grid.size)
    if beyond.any() and not (flat.dtype.kind == "f" and np.isnan(flat[beyond]).all()):
        unit = units[beyond][0]
        raise InputError(f"there is a value of unit {unit}, but the grid has {grid.size} units")
    if len(units) == grid.size and not beyond.any() and (units == np.arange(grid.size)).all():
        return flat
    if flat.dtype.kind not in "biuf":
        raise InputError("some units have no label; give one for each")
    placed = np.full(grid.size, np.nan)
    placed[units[~beyond]] = flat[~beyond]
    return placed


def _check_dims(array: xr.DataArray) -> None:
    others = [str(dim) for dim in array.dims if dim != "unit"]
    name = "the array" if array.name is None else array.name
    if "unit" not in array.dims:
        raise InputError(f"{name} has the dims {array.dims}, not one value a unit")
    if others:
        first = array[others[0]].values[0] if others[0] in array.coords else 0
        how = "sel" if others[0] in array.coords else "isel"
        raise InputError(
            f"{name} has more values a unit, along {', '.join(others)}; choose one, as "
            f".{how}({others[0]}={first!r})"
        )


def _check_size(shape: tuple[int, ...], grid: Grid) -> None:
    if shape != (grid.size,):
        raise InputError(
            f"the values have shape {shape}; the grid has {grid.rows} x {grid.cols} units, "
            f"which need ({grid.size},)"
        )

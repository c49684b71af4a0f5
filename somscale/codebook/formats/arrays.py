"""Code vectors in NumPy's ``.npy`` and ``.npz``; nothing is unpickled."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.codebook.dataset import GRID_ARRAYS, codebook
from somscale.codebook.formats.table import Layout, label_units, need_grid
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["read_array", "write_npz"]

ORIENTATION: Final = "row and col are the first two axes, units are numbered row by row"

_CODES: Final = ("codes", "codebook", "weights")
"""Names of code vectors in a ``.npz`` of several arrays."""


def read_array(path: Path, grid: Grid | None) -> xr.Dataset:
    """Read a ``.npy``, or a ``.npz`` of code vectors, written here or not.

    Raises
    ------
    InputError
        It is no such file, or holds no array of numbers for the grid.
    """
    held = _load(path)
    arrays = held if isinstance(held, Mapping) else {"codes": held}
    codes = _codes(path, arrays)
    if grid is None and "grid" in arrays:
        grid = _stored_grid(path, arrays)
    grid = _grid_for(path, codes, grid)
    dims = [str(dim) for dim in arrays["dims"]] if {"dims", "grid"} <= set(arrays) else []
    weights: Any = codes
    if dims:
        coords = {dim: arrays[f"coord_{dim}"] for dim in dims if f"coord_{dim}" in arrays}
        try:
            weights = xr.DataArray(codes, dims=("unit", *dims), coords=coords)
        except ValueError as error:
            raise InputError(
                f"{path.name!r} has codes that do not fit its names: {error}"
            ) from None
    try:
        som = codebook(weights, grid)
    except InputError as error:
        raise InputError(f"{path.name!r}: {error}") from None
    som.attrs |= {"source_format": f"NumPy {path.suffix}", "orientation": ORIENTATION}
    labels = arrays.get("label")
    return som if labels is None else label_units(som, [str(label) for label in labels])


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            return held if isinstance(held, np.ndarray) else dict(held)
    except FileNotFoundError:
        raise InputError(f"there is no file at {str(path)!r}") from None
    except MemoryError:
        raise InputError(f"{path.name!r} claims an array larger than memory") from None
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if "pickle" in str(error):
            raise InputError(
                f"{path.name!r} holds pickled objects, or is no NumPy file; what is pickled runs "
                "code when it is opened, so load it yourself and give the array or the map"
            ) from None
        reason = "it is empty" if not path.stat().st_size else str(error).splitlines()[0]
        raise InputError(f"{path.name!r} is no whole NumPy file: {reason}") from None


def _codes(path: Path, arrays: Mapping[str, Any]) -> Any:
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    found = [name for name in _CODES if name in arrays]
    if len(found) != 1:
        raise InputError(
            f"{path.name!r} holds the arrays {sorted(arrays)}; one of them must be called 'codes'"
        )
    return arrays[found[0]]


def _stored_grid(path: Path, arrays: Mapping[str, Any]) -> Grid:
    """The grid that :func:`write_npz` has stored."""
    try:
        spec = json.loads(str(arrays["grid"]))
    except ValueError:
        spec = None
    if not isinstance(spec, dict):
        raise InputError(f"{path.name!r} has a 'grid' that is no JSON of one; give grid=")
    stored = {n: arrays[f"grid_{n}"] for n in GRID_ARRAYS if f"grid_{n}" in arrays}
    return Grid.from_spec(spec | stored)


def _grid_for(path: Path, codes: Any, grid: Grid | None) -> Grid:
    """The given grid, or the planar rectangle that (row, col, feature) alone can mean."""
    if grid is not None or codes.ndim < 3 or 0 in codes.shape:
        return need_grid(grid, path)
    rows, cols = codes.shape[:2]
    return Layout(rows, cols, assumed=True).fitted(None, path)


def write_npz(som: xr.Dataset, path: Path) -> None:
    """Write codes, grid, dims, coordinates and labels as plain arrays."""
    codes = som["codes"]
    arrays = {"codes": codes.values, "grid": np.array(som.attrs["grid"])}
    arrays["dims"] = np.array([str(dim) for dim in codes.dims[1:]])
    arrays |= {n: som[n].values for n in (f"grid_{name}" for name in GRID_ARRAYS) if n in som}
    stored = {f"coord_{dim}": codes[dim].values for dim in codes.dims[1:] if dim in codes.coords}
    if "label" in som.coords:
        stored["label"] = som["label"].values
    for name, values in stored.items():
        # objects would be pickled
        arrays[name] = values.astype(str) if values.dtype.kind in "OT" else values
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)

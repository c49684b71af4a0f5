"""Code vectors in NumPy's ``.npy`` and ``.npz``; nothing is unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.codebook.dataset import GRID_ARRAYS, codebook, stored_grid
from somscale.codebook.formats.numpy_files import load_arrays
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
    held = load_arrays(path, _is_ours)
    arrays = held if isinstance(held, Mapping) else {"codes": held}
    codes = _codes(path, arrays)
    try:
        if grid is None and "grid" in arrays:
            stored = {n: arrays[f"grid_{n}"] for n in GRID_ARRAYS if f"grid_{n}" in arrays}
            grid = stored_grid(str(arrays["grid"]), stored)
        grid = _grid_for(path, codes, grid)
        som = codebook(_named(codes, arrays), grid)
    except InputError as error:
        # some of these name the file already
        named = str(error) if path.name in str(error) else f"{path.name!r}: {error}"
        raise InputError(named) from None
    som.attrs |= {"source_format": f"NumPy {path.suffix}", "orientation": ORIENTATION}
    labels = arrays.get("label")
    if labels is None:
        return som
    if labels.shape != (grid.size,):
        raise InputError(
            f"{path.name!r} has labels of shape {labels.shape}, and its map {grid.size} units"
        )
    return label_units(som, [str(label) for label in labels])


def _is_ours(name: str) -> bool:
    """Whether an array of a ``.npz`` may be part of a map."""
    return name in (*_CODES, "grid", "dims", "label") or name.startswith(("grid_", "coord_"))


def _named(codes: Any, arrays: Mapping[str, Any]) -> Any:
    """Codes with the dims and coordinates that :func:`write_npz` has stored."""
    if not {"dims", "grid"} <= set(arrays):
        return codes
    names = arrays["dims"]
    if names.ndim != 1 or names.dtype.kind not in "US" or "unit" in names:
        raise InputError("its 'dims' are no names of features' dims")
    dims = [str(dim) for dim in names]
    coords = {dim: arrays[f"coord_{dim}"] for dim in dims if f"coord_{dim}" in arrays}
    try:
        return xr.DataArray(codes, dims=("unit", *dims), coords=coords)
    except ValueError as error:
        raise InputError(f"its codes do not fit their names: {error}") from None


def _codes(path: Path, arrays: Mapping[str, Any]) -> Any:
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    found = [name for name in _CODES if name in arrays]
    if len(found) != 1:
        raise InputError(
            f"{path.name!r} holds the arrays {sorted(arrays)}; one of them must be called 'codes'"
        )
    return arrays[found[0]]


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

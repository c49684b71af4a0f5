"""Datasets on disk: written whole or not at all, opened without decoding surprises."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import xarray as xr

from somscale.errors import InputError

__all__ = ["open_dataset", "write_dataset"]


def write_dataset(
    dataset: xr.Dataset, path: str | os.PathLike[str], *, encoding: Any = None
) -> None:
    """Write a Dataset to a ``.zarr`` store or a ``.nc`` file.

    What is there already is replaced, and only once the new one is whole.

    Raises
    ------
    InputError
        The name ends in neither ``.zarr`` nor ``.nc``.
    """
    target = Path(path)
    fresh = target.with_name(f".{target.name}.partial")
    _remove(fresh)
    if target.suffix == ".zarr":
        with warnings.catch_warnings():
            # xarray opens a store quickest, and without a warning, by consolidated metadata
            warnings.filterwarnings("ignore", "Consolidated metadata is currently", UserWarning)
            _with_plain_text(dataset).to_zarr(fresh, mode="w", encoding=encoding, consolidated=True)
    elif target.suffix == ".nc":
        dataset.to_netcdf(fresh, encoding=encoding)
    else:
        raise InputError(f"a Dataset is written as .zarr or .nc, not {target.name!r}")
    _remove(target)
    fresh.rename(target)


def _with_plain_text(dataset: xr.Dataset) -> xr.Dataset:
    """Text of any length instead of NumPy's of fixed length, which Zarr has no standard for."""
    fixed = [name for name, variable in dataset.variables.items() if variable.dtype.kind == "U"]
    return dataset.assign({name: dataset[name].astype(object) for name in fixed})


def open_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open a Zarr store or a NetCDF file, lazily and without Dask.

    Raises
    ------
    InputError
        There is nothing, or it is neither.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"there is no file or store at {str(source)!r}")
    try:
        if not source.is_dir():
            return xr.open_dataset(source)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Failed to open Zarr store", RuntimeWarning)
            opened: xr.Dataset = xr.open_zarr(source, chunks=None)
            return opened
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{str(source)!r} is neither a Zarr store nor NetCDF: {error}") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()

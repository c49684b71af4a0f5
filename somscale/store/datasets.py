"""Datasets on disk: written whole or not at all, opened without decoding surprises."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import xarray as xr

from somscale.engine.readers.unreadable import has_netcdf4, why_unreadable
from somscale.engine.readers.urls import Url, open_url
from somscale.errors import InputError

__all__ = ["check_target", "open_dataset", "write_dataset"]


def write_dataset(
    dataset: xr.Dataset, path: str | os.PathLike[str], *, encoding: Any = None
) -> None:
    """Write a Dataset to a ``.zarr`` store or a ``.nc`` file.

    A store or file that is there already is replaced, and only once the new one is
    whole.  Anything else there is left alone.

    Raises
    ------
    InputError
        The name ends in neither ``.zarr`` nor ``.nc``, or is a URL; NetCDF cannot be written
        here; or what is there is a link, or a folder that is no Zarr store.
    """
    target = Path(path)
    if Url.of(path) is not None:
        raise InputError(f"a Dataset is written to disk alone, not to {str(path)!r}")
    check_target(target)
    fresh = target.with_name(f".{target.name}.partial")
    _remove(fresh)
    if target.suffix == ".zarr":
        with warnings.catch_warnings():
            # xarray opens a store quickest, and without a warning, by consolidated metadata
            warnings.filterwarnings("ignore", "Consolidated metadata is currently", UserWarning)
            _with_plain_text(dataset).to_zarr(fresh, mode="w", encoding=encoding, consolidated=True)
    else:
        dataset.to_netcdf(fresh, encoding=encoding)
    _remove(target)
    fresh.rename(target)


def check_target(path: Path) -> None:
    """Refuse a name that :func:`write_dataset` cannot write, before there is anything to lose.

    Raises
    ------
    InputError
        As :func:`write_dataset`.
    """
    if path.suffix not in (".zarr", ".nc"):
        raise InputError(f"a Dataset is written as .zarr or .nc, not {path.name!r}")
    _check_replaceable(path)
    # without either xarray falls back to NetCDF 3, which has no 64-bit integers
    if path.suffix == ".nc" and not has_netcdf4():
        raise InputError(
            f"{path.name!r} needs netCDF4 or h5netcdf: pip install 'somscale[netcdf]', "
            "or write .zarr"
        )


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what may hold more than a Dataset."""
    if path.is_symlink():
        raise InputError(f"{str(path)!r} is a link; name the place it leads to, or another")
    is_store = any((path / name).is_file() for name in ("zarr.json", ".zgroup"))
    if path.is_dir() and not is_store:
        raise InputError(f"{str(path)!r} is a folder and no Zarr store; choose another name")


def _with_plain_text(dataset: xr.Dataset) -> xr.Dataset:
    """Text of any length instead of NumPy's of fixed length, which Zarr has no standard for."""
    fixed = [name for name, variable in dataset.variables.items() if variable.dtype.kind == "U"]
    return dataset.assign({name: dataset[name].astype(object) for name in fixed})


def open_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open a Zarr store, also at a URL, or a NetCDF file, lazily and without Dask.

    Raises
    ------
    InputError
        There is nothing, or it is neither.
    """
    url = Url.of(path)
    if url is not None:
        return _open_at(url)
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
        raise InputError(
            f"{str(source)!r} is neither a Zarr store nor NetCDF that can be read here: "
            f"{why_unreadable(source, error)}"
        ) from None


def _open_at(url: Url) -> xr.Dataset:
    store = open_url(str(url), read_only=True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Failed to open Zarr store", RuntimeWarning)
            opened: xr.Dataset = xr.open_zarr(store, chunks=None)
            return opened
    except FileNotFoundError:
        raise InputError(f"there is no Zarr store at {str(url)!r}") from None
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{str(url)!r} is no Zarr store that can be read here: {error}") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()

"""Archives named by their paths: Zarr stores, NetCDF files (one or many), ``.npy`` files.

A Zarr store may be at a URL, too, which fsspec opens.

Everything that xarray wrote is read through xarray, decoded and under its locks; only
stored numbers that decoding would not touch are read from Zarr directly.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.axes import time_like
from somscale.engine.readers.opening import (
    Opened,
    SampleDims,
    open_bare,
    sample_dims_of,
)
from somscale.engine.readers.sources import Source, XarraySource, ZarrSource
from somscale.engine.readers.unreadable import why_unreadable
from somscale.engine.readers.urls import Url, open_url
from somscale.engine.readers.variables import Variables, open_variables
from somscale.engine.readers.views import JoinedSource
from somscale.errors import InputError

__all__ = ["is_path", "open_bare_path", "open_paths"]

_MAGIC = ("*", "?", "[")


def is_path(samples: Any) -> bool:
    """Whether samples are named by one path, a pattern of paths or several paths."""
    if isinstance(samples, list | tuple) and samples:
        return all(isinstance(part, str | os.PathLike) for part in samples)
    return isinstance(samples, str | os.PathLike)


def open_paths(samples: Any, sample_dims: SampleDims, variables: Variables) -> Opened:
    """Open what one or several paths lead to.

    Raises
    ------
    InputError
        There is nothing, it cannot be read, or the files do not continue each other.
    """
    paths = expand(samples)
    if len(paths) == 1 and paths[0].suffix == ".npy":
        return open_bare(_npy(paths[0]), "raise")
    if len(paths) == 1:
        archive = _Archive(paths[0])
        if archive.bare is not None:
            return open_bare(archive.bare, "raise")
        return open_variables(archive.dataset, sample_dims, variables, archive.source)
    return _open_many([_Archive(path) for path in paths], sample_dims, variables)


def open_bare_path(samples: Any) -> Any:
    """The array without names that one path leads to, not yet read; None where it is another."""
    paths = expand(samples)
    if len(paths) > 1:
        return None
    return _npy(paths[0]) if paths[0].suffix == ".npy" else _Archive(paths[0]).bare


def expand(samples: Any) -> list[Path | Url]:
    """The files that paths and patterns stand for, and URLs as they are.

    Raises
    ------
    InputError
        There is nothing, or something twice, or a URL leads to what is read from disk alone.
    """
    paths: list[Path | Url] = []
    for part in samples if isinstance(samples, list | tuple) else [samples]:
        url = Url.of(part)
        if url is not None:
            _check_zarr(url)
            paths.append(url)
            continue
        path = Path(part)
        if path.exists():
            paths.append(path)
        elif any(sign in str(part) for sign in _MAGIC):
            found = sorted(Path(name) for name in glob.glob(str(part), recursive=True))
            if not found:
                raise InputError(f"no file or store matches {str(part)!r}")
            paths += found
        else:
            raise InputError(f"there is no file or store at {str(path)!r}")
    seen = set()
    for named in paths:
        if named.resolve() in seen:
            raise InputError(f"{str(named)!r} is named twice; its samples would count twice")
        seen.add(named.resolve())
    return paths


def _check_zarr(url: Url) -> None:
    if any(sign in url.text for sign in _MAGIC):
        raise InputError(f"{str(url)!r}: patterns are of paths on disk; name each URL")
    if url.suffix in (".npy", ".nc", ".nc4", ".h5", ".hdf5"):
        raise InputError(
            f"{str(url)!r}: at a URL somscale reads Zarr alone; copy the file here, or open it "
            "with xarray and give the DataArray"
        )


def _npy(path: Path | Url) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        raise InputError(f"{str(path)!r} is no .npy file of numbers") from None


class _Archive:
    """A Zarr store or a NetCDF file, opened by xarray without Dask."""

    def __init__(self, path: Path | Url) -> None:
        self.path = path
        self.bare: Any = None
        self._group: Any = None
        if isinstance(path, Url):
            self.dataset = self._open_zarr(open_url(str(path), read_only=True))
        else:
            self.dataset = self._open_zarr(str(path)) if path.is_dir() else _netcdf(path)

    def _open_zarr(self, place: Any) -> xr.Dataset:
        import zarr

        try:
            node = zarr.open(place, mode="r")
        except FileNotFoundError as error:
            if isinstance(self.path, Url):
                raise InputError(f"there is no Zarr store at {str(self.path)!r}") from None
            raise InputError(f"{str(self.path)!r} is no Zarr store: {error}") from None
        except (OSError, ValueError, KeyError) as error:
            what = "cannot be read" if isinstance(error, OSError) else "is no Zarr store"
            raise InputError(f"{str(self.path)!r} {what}: {error}") from None
        if isinstance(node, zarr.Array):
            self.bare = node
            return xr.Dataset()
        self._group = node
        # over a network each array's own metadata cost a request
        together = isinstance(self.path, Url) and node.metadata.consolidated_metadata is not None
        opened: xr.Dataset = xr.open_zarr(place, chunks=None, consolidated=together)
        return opened

    def source(self, array: xr.DataArray) -> Source | None:
        """The stored numbers of a variable, where decoding them does nothing."""
        if self._group is None:
            return None
        import zarr

        stored = self._group[str(array.name)]
        if isinstance(stored, zarr.Array) and _is_raw(array, stored):
            return ZarrSource(stored)
        return None


def _netcdf(path: Path) -> xr.Dataset:
    try:
        return xr.open_dataset(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} is neither a Zarr store (a folder) nor a .npy or NetCDF "
            f"file that can be read here: {why_unreadable(path, error)}"
        ) from None


def _is_raw(array: xr.DataArray, stored: Any) -> bool:
    fill = array.encoding.get("_FillValue")
    plain = fill is None or fill != fill
    coded = {"scale_factor", "add_offset", "units", "missing_value"} & set(array.encoding)
    return plain and not coded and stored.dtype == array.dtype


def _open_many(
    archives: Sequence[_Archive], sample_dims: SampleDims, variables: Variables
) -> Opened:
    """Files that continue each other along the first sample dim, put in its order."""
    for archive in archives:
        if archive.bare is not None:
            raise InputError(
                f"{str(archive.path)!r} is a bare array; several archives need named dims"
            )
    first = archives[0].dataset
    if sample_dims is None:
        likely = time_like(first) or "time"
        raise InputError(
            f"several files are joined along the samples' first dim: say sample_dims={likely!r}"
        )
    dim = sample_dims_of(first, sample_dims)[0]
    archives = _in_order(archives, dim)
    coords = _joined_coords(archives, dim)

    def source_of(array: xr.DataArray) -> Source | None:
        if dim not in array.dims:
            return None
        parts = []
        for archive in archives:
            own = archive.dataset[array.name]
            chunks = own.encoding.get("preferred_chunks", {})
            sizes = tuple(int(chunks.get(d, 1)) for d in own.dims)
            bare = own.drop_vars(list(own.coords))
            parts.append(archive.source(own) or XarraySource(bare, sizes))
        return JoinedSource(tuple(parts), array.dims.index(dim))

    return open_variables(_skeleton(archives, coords, dim), sample_dims, variables, source_of)


def _in_order(archives: Sequence[_Archive], dim: str) -> list[_Archive]:
    """Archives by the first label of a dim, where all have one; else as they were named."""
    if not all(dim in archive.dataset.indexes for archive in archives):
        return list(archives)
    for archive in archives:
        if not archive.dataset.sizes[dim]:
            raise InputError(f"{archive.path.name!r} has nothing along {dim!r}; leave it out")
    return sorted(archives, key=lambda archive: archive.dataset.indexes[dim][0])


def _joined_coords(archives: Sequence[_Archive], dim: str) -> xr.Dataset:
    """Coordinates of all archives, those along the dim joined; refused where others differ."""
    first = archives[0].dataset
    for archive in archives[1:]:
        for name, coord in first.coords.items():
            other = archive.dataset.coords.get(name)
            if dim not in coord.dims and (other is None or not coord.equals(other)):
                raise InputError(
                    f"{archive.path.name!r} and {archives[0].path.name!r} differ in the "
                    f"coordinate {str(name)!r}; archives that are joined along {dim!r} share all "
                    "others"
                )
    bare = [archive.dataset[list(map(str, archive.dataset.coords))] for archive in archives]
    along = [data[[str(n) for n, c in data.coords.items() if dim in c.dims]] for data in bare]
    joined = xr.concat(along, dim=dim, join="override", combine_attrs="override")
    return joined.assign_coords({n: c for n, c in bare[0].coords.items() if dim not in c.dims})


def _skeleton(archives: Sequence[_Archive], coords: xr.Dataset, dim: str) -> xr.Dataset:
    """The joined archive with its names and sizes, and no values."""
    size = sum(archive.dataset.sizes[dim] for archive in archives)
    variables = {}
    for name, array in archives[0].dataset.data_vars.items():
        for archive in archives[1:]:
            other = archive.dataset.data_vars.get(name)
            if other is None or other.dims != array.dims:
                raise InputError(f"{archive.path.name!r} has no variable {str(name)!r} like others")
            units = other.attrs.get("units"), array.attrs.get("units")
            if units[0] != units[1]:
                raise InputError(
                    f"{str(name)!r} is in {units[0]!r} in {archive.path.name!r} and in "
                    f"{units[1]!r} in {archives[0].path.name!r}; convert one of them first"
                )
            for own in array.dims:
                if own != dim and other.sizes[own] != array.sizes[own]:
                    raise InputError(
                        f"{archive.path.name!r} has {other.sizes[own]} entries along {str(own)!r} "
                        f"and {archives[0].path.name!r} has {array.sizes[own]}"
                    )
        shape = [size if own == dim else array.sizes[own] for own in array.dims]
        dtypes = {archive.dataset[name].dtype for archive in archives}
        dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
        nothing = np.broadcast_to(np.zeros((), dtype), shape)
        variables[name] = xr.DataArray(
            nothing, dims=array.dims, coords={n: coords[n] for n in array.coords}, attrs=array.attrs
        )
    return xr.Dataset(variables)

"""Datasets as groups of a workspace: as plain xarray reads them, and never with a gap.

The same Dataset gives the same bytes: nothing here knows the time, and Blosc, which may
order its blocks by the arrival of its threads, is not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.keys import delete_prefix, list_keys, stamp_of
from somscale.store.location import Location

__all__ = ["get_dataset", "group_attributes", "load_dataset", "put_dataset", "put_variable", "seal"]

_CHUNK_BYTES = 16 << 20
_KEPT = ("complete", "dtypes", "provenance")
_MENDING = "delete the group and compute it anew"
_DAMAGED = (OSError, ValueError, RuntimeError, TypeError, IndexError, KeyError)


def put_dataset(
    location: Location, path: str, dataset: xr.Dataset, provenance: Mapping[str, Any]
) -> None:
    """Write a Dataset in place of whatever is there; it counts once it is sealed.

    Parameters
    ----------
    location : Location
        Workspace.
    path : str
        Of the group.
    dataset : Dataset
        What is written; Dask arrays are computed.
    provenance : mapping
        What it was made from, as JSON can say it.

    Raises
    ------
    InputError
        A name or an attribute that cannot be stored.
    WorkspaceError
        The store is read-only, full or failing.
    """
    _check_names(dataset)
    plain = _with_plain_text(dataset.compute())
    plain.attrs = {
        **dataset.attrs,
        "provenance": json.dumps(dict(provenance)),
        "dtypes": json.dumps({str(name): str(v.dtype) for name, v in dataset.variables.items()}),
        "complete": False,
    }
    location.check_writable()
    try:
        delete_prefix(location, path)
        location.group(path.rpartition("/")[0], mode="a")
        plain.to_zarr(
            location.store,
            group=path,
            mode="w",
            consolidated=False,
            zarr_format=3,
            encoding={name: _encoding(v) for name, v in plain.variables.items()},
            write_empty_chunks=True,
        )
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{location.name}, {path} cannot be written: {error}; mend that, and the same "
            "command goes on from here"
        ) from error


def put_variable(location: Location, path: str, name: str, variable: xr.Variable) -> None:
    """Write one array of a group anew, and leave the others and the attributes as they are.

    Parameters and errors are those of :func:`put_dataset`.
    """
    known = group_attributes(location, path) or {}
    plain = _with_plain_text(xr.Dataset({name: variable.to_base_variable()}).compute())
    plain.attrs = known
    location.check_writable()
    try:
        delete_prefix(location, f"{path}/{name}")
        plain.to_zarr(
            location.store,
            group=path,
            mode="a",
            consolidated=False,
            zarr_format=3,
            encoding={name: _encoding(plain[name].variable)},
            write_empty_chunks=True,
        )
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{location.name}, {path}/{name} cannot be written: {error}; mend that, and the same "
            "command goes on from here"
        ) from error


def seal(location: Location, path: str) -> None:
    """Say that a group is whole; to be done last."""
    try:
        location.group(path, mode="a").attrs["complete"] = True
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{location.name}, {path} cannot be completed: {error}; mend that, and the same "
            "command goes on from here"
        ) from error


def group_attributes(location: Location, path: str) -> dict[str, Any] | None:
    """The attributes of a group; None where there is none."""
    if stamp_of(location, f"{path}/zarr.json") is None:
        return None
    return dict(location.group(path, mode="r").attrs)


def get_dataset(location: Location, path: str) -> xr.Dataset | None:
    """A Dataset just as it was written, in memory; None where it was not sealed.

    Raises
    ------
    ChunkError
        A chunk is missing or damaged.
    WorkspaceError
        A variable is missing, or the group cannot be read.
    """
    known = group_attributes(location, path)
    if known is None or known.get("complete") is not True:
        return None
    return load_dataset(location, path, known)


def load_dataset(location: Location, path: str, known: Mapping[str, Any]) -> xr.Dataset:
    """What a group of these attributes holds, but for arrays that were added to it."""
    dtypes = json.loads(known["dtypes"])
    _check_keys(location, path, dtypes)
    try:
        lazy = xr.open_zarr(
            location.store, group=path, consolidated=False, chunks=None, zarr_format=3
        )
        whole = lazy.drop_vars([name for name in lazy.variables if name not in dtypes]).load()
    except _DAMAGED as error:
        for name in dtypes:
            open_array(location, f"{path}/{name}").read()  # names the chunk
        raise WorkspaceError(f"{location.name}, {path} cannot be read: {error}") from error
    found = _as_written(whole.drop_encoding(), dtypes)
    found.attrs = {name: value for name, value in whole.attrs.items() if name not in _KEPT}
    return found


def _check_keys(location: Location, path: str, names: Iterable[str]) -> None:
    """Refuse a group without one of its variables, or without a chunk of one."""
    there = list_keys(location, path)
    for name in names:
        if f"{name}/zarr.json" not in there:
            raise WorkspaceError(f"{location.name}, {path} lacks its variable {name!r}; {_MENDING}")
        array = f"{path}/{name}"
        for chunk in np.ndindex(open_array(location, array).units()):
            stamp = there.get("/".join([name, "c", *map(str, chunk)]))
            if stamp is None or stamp.size == 0:
                what = "is missing" if stamp is None else "is empty"
                error = ChunkError(f"chunk {chunk} of {location.name}, {array} {what}; {_MENDING}")
                error.array, error.chunk = array, chunk
                raise error


def _check_names(dataset: xr.Dataset) -> None:
    for name in [*dataset.variables, *dataset.dims]:
        text = str(name)
        if "/" in text or text.startswith((".", "__")) or text in ("", "zarr.json"):
            raise InputError(f"a variable or dim {name!r} cannot be stored; rename it")
    for name in _KEPT:
        if name in dataset.attrs:
            raise InputError(
                f"the Dataset has an attribute {name!r}, which a workspace needs itself; drop it"
            )


def _with_plain_text(dataset: xr.Dataset) -> xr.Dataset:
    """Text of any length instead of NumPy's own, and no trace of another store."""
    text = {
        name: xr.Variable(variable.dims, variable.to_numpy().astype(object), variable.attrs)
        for name, variable in dataset.variables.items()
        if variable.dtype.kind in "UT"
    }
    return dataset.assign(text).drop_encoding()


def _as_written(dataset: xr.Dataset, dtypes: Mapping[str, str]) -> xr.Dataset:
    """The types that were written, as xarray knows one kind of text, and their order."""
    variables = {}
    for name, text in dtypes.items():
        found = dataset.variables[name]
        values = found.to_numpy()
        if str(values.dtype) != text:
            kind: Any = np.dtypes.StringDType() if text.startswith("StringDType") else text
            values = values.astype(kind)
        variables[name] = xr.Variable(found.dims, values, found.attrs)
    coords = {name: variables.pop(name) for name in dtypes if name in dataset.coords}
    return xr.Dataset(variables, coords)


def _encoding(variable: xr.Variable) -> dict[str, Any]:
    from zarr.codecs import Crc32cCodec, ZstdCodec

    encoding: dict[str, Any] = {"compressors": (ZstdCodec(level=3), Crc32cCodec())}
    if variable.ndim and variable.size:
        row = max(1, variable.nbytes // variable.shape[0])
        rows = min(variable.shape[0], max(1, _CHUNK_BYTES // row))
        encoding["chunks"] = (rows, *variable.shape[1:])
    return encoding

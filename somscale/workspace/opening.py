"""What a workspace holds as xarray objects, lazy and checked where they are large."""

from __future__ import annotations

import warnings
from typing import Any

import xarray as xr

from somscale.engine.arrays import array_of_source
from somscale.errors import WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.keys import stamp_of
from somscale.store.location import Location
from somscale.workspace.matrices import KINDS
from somscale.workspace.results import names, read_map, read_result

__all__ = ["open_path", "open_tree"]

_ARRAYS: dict[str, str] = {"samples": "samples", **{str(k): v for k, v in KINDS.items()}}


def open_path(location: Location, path: str) -> xr.DataArray | xr.Dataset:
    """Something of a workspace: the samples or a matrix lazily, by the chunks that are stored.

    Raises
    ------
    WorkspaceError
        There is no such thing, or it is not complete.
    ChunkError
        A chunk of it is missing.
    """
    kind, _, name = path.partition("/")
    if kind in ("results", "maps") and name:
        found = (read_result if kind == "results" else read_map)(location, name)
        if found is None:
            known = ", ".join(names(location, kind)) or "none"
            raise WorkspaceError(
                f"there is no {path!r} in {location.name} that is complete; there are: {known}"
            )
        return found
    if (kind not in _ARRAYS) or bool(name) == (kind == "samples") or "/" in name:
        raise WorkspaceError(
            f"{path!r} is nothing that a workspace holds; it has 'samples', 'maps/…', "
            "'distances/…', 'ranks/…' and 'results/…'"
        )
    if stamp_of(location, f"{path}/zarr.json") is None:
        raise WorkspaceError(f"there is no {path!r} in {location.name}")
    group = location.group(path, mode="r")
    variable = _ARRAYS[kind]
    if kind == "samples" and variable not in group:
        raise WorkspaceError(
            f"{location.name} has only the fingerprint of its samples, not the samples themselves"
        )
    array = open_array(location, f"{path}/{variable}")
    missing = array.missing()
    if missing and group.attrs.get("complete") is not True:
        total = 1
        for count in array.units():
            total *= count
        raise WorkspaceError(
            f"{path} in {location.name} is not complete: {len(missing)} of {total} chunks are "
            "still to be written; the call that wrote the others goes on from here"
        )
    if missing:
        array.read(*array.box(missing[0]))  # says which and what to do
    plain: xr.DataArray = _plain(location, path)[variable]
    lazy = array_of_source(array, array.unit, f"{location.name}/{path}")
    return plain.copy(data=lazy)


def _plain(location: Location, path: str) -> xr.Dataset:
    """A group as plain xarray opens it."""
    opened: xr.Dataset = xr.open_zarr(location.store, group=path, chunks=None, consolidated=False)
    return opened


def open_tree(location: Location) -> xr.DataTree:
    """The whole workspace as plain xarray opens it."""
    store: Any = location.store  # which xarray takes, and does not say so
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata", UserWarning)
        tree: xr.DataTree = xr.open_datatree(store, engine="zarr", consolidated=False, chunks=None)
    return tree

"""Results and maps of a workspace: Datasets that are there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import xarray as xr

from somscale.store.groups import get_dataset, group_attributes, put_dataset, seal
from somscale.store.keys import list_children
from somscale.store.location import Location
from somscale.store.points import reach
from somscale.store.root import check_name

__all__ = [
    "names",
    "read_map",
    "read_result",
    "result_provenance",
    "write_map",
    "write_result",
]


def write_result(
    location: Location, name: str, dataset: xr.Dataset, provenance: Mapping[str, Any]
) -> None:
    """Write the result of an evaluation under ``results/<name>``, in place of one of this name.

    Equal results of equal provenance give the same bytes.

    Parameters
    ----------
    location : Location
        Workspace.
    name : str
        Letters, digits, "_", "-" and ".".
    dataset : Dataset
        As :func:`somscale.evaluate` gives it; Dask arrays are computed.
    provenance : mapping
        What it was made from, as JSON can say it.

    Raises
    ------
    InputError
        A name that cannot be stored.
    WorkspaceError
        The store is read-only, full or failing.
    """
    _write(location, "result", f"results/{check_name(name)}", dataset, provenance)


def read_result(location: Location, name: str) -> xr.Dataset | None:
    """A result, in memory, just as it was written; None where there is none that is whole.

    Raises
    ------
    ChunkError
        A chunk of it is missing or damaged.
    """
    return get_dataset(location, f"results/{check_name(name)}")


def result_provenance(location: Location, name: str) -> dict[str, Any] | None:
    """What a result was made from; None where there is none that is whole."""
    known = group_attributes(location, f"results/{check_name(name)}")
    if known is None or known.get("complete") is not True:
        return None
    return dict(json.loads(known["provenance"]))


def write_map(
    location: Location,
    name: str,
    dataset: xr.Dataset,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write a map, as :func:`somscale.codebook` makes it, under ``maps/<name>``.

    Parameters and errors are those of :func:`write_result`.
    """
    _write(location, "map", f"maps/{check_name(name)}", dataset, provenance or {})


def read_map(location: Location, name: str) -> xr.Dataset | None:
    """A map, in memory, just as it was written; None where there is none that is whole.

    Raises
    ------
    ChunkError
        A chunk of it is missing or damaged.
    """
    return get_dataset(location, f"maps/{check_name(name)}")


def names(location: Location, kind: str) -> list[str]:
    """Names of what is whole, sorted.

    Parameters
    ----------
    location : Location
        Workspace.
    kind : {"results", "maps", "distances", "ranks"}
        Which children.
    """
    found = [name for name in list_children(location, kind) if name != "zarr.json"]
    attributes = {name: group_attributes(location, f"{kind}/{name}") for name in found}
    return sorted(n for n, known in attributes.items() if known and known.get("complete") is True)


def _write(
    location: Location, kind: str, path: str, dataset: xr.Dataset, provenance: Mapping[str, Any]
) -> None:
    put_dataset(location, path, dataset, provenance)
    reach(f"{kind}:created")
    seal(location, path)
    reach(f"{kind}:complete")

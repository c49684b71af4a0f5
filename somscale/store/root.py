"""The root group of a workspace: made, opened, and told from anything else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from somscale._version import __version__
from somscale.errors import InputError, WorkspaceError
from somscale.store import lease
from somscale.store.keys import delete_key, is_torn, list_children, read_key
from somscale.store.location import Location
from somscale.store.points import reach

if TYPE_CHECKING:
    import zarr

__all__ = ["FORMAT", "check_name", "open_root"]

FORMAT = 1
"""Number of the layout of a workspace that this version reads and writes."""

_ATTRIBUTE = "somscale_workspace"
_CHILDREN = ("samples", "maps", "distances", "ranks", "results", "partials")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


def open_root(location: Location, *, create: bool) -> zarr.Group:
    """Open the root group of a workspace, after a look at what it is.

    Parameters
    ----------
    location : Location
        Where it is.
    create : bool
        Make it where there is nothing yet.

    Returns
    -------
    zarr.Group
        For reading alone where the location is.

    Raises
    ------
    WorkspaceError
        There is nothing and `create` is False, or what is there is no workspace of this
        format, or the place can be neither read nor written.
    """
    try:
        if not _check(location):
            _check_creatable(location, create)
            _make(location)
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(f"{location.name} cannot be opened: {error}") from error
    return location.group(mode="r" if location.read_only else "a")


def check_name(name: str, what: str = "name") -> str:
    """A name of a child of the workspace, given back if it can be one.

    Parameters
    ----------
    name : str
        Letters, digits, "_", "-" and ".", the first of them not ".".
    what : str
        What it names, for the message.

    Raises
    ------
    InputError
        It holds something else.
    """
    # the one name below a group that is Zarr's own
    if _NAME.fullmatch(name) is None or name == "zarr.json":
        raise InputError(
            f"{what} {name!r} cannot stand in a workspace; "
            "use letters, digits, '_', '-' and '.', and no '.' at the start"
        )
    return name


def _check(location: Location) -> bool:
    """Whether there is a workspace; False where there is nothing, an error for all else."""
    name = location.name
    if location.path is not None and location.path.exists() and not location.path.is_dir():
        raise WorkspaceError(f"{name} is a file, and a workspace is a Zarr group")
    text = read_key(location, "zarr.json")
    if text is not None and _is_torn(location, text):
        return False
    children = [] if text is not None else list_children(location, "")
    # the lease of whoever is about to make the workspace is in it before the root
    children = [child for child in children if child != lease.PATH]
    if text is None and not children:
        return False
    if {".zgroup", ".zarray", ".zmetadata"} & set(children):
        raise WorkspaceError(f"{name} is in Zarr format 2, and a workspace is in format 3")
    if text is None:
        raise WorkspaceError(
            f"{name} is a folder of other things ({children[0]!r} and {len(children) - 1} more), "
            "and no workspace; choose another name"
        )
    _check_metadata(name, text)
    return True


def _is_torn(location: Location, text: bytes) -> bool:
    """Whether a process died while it wrote the root, beside nothing but what a workspace has."""
    if location.atomic or not is_torn(text):
        return False
    return set(list_children(location, "")) <= {"zarr.json", lease.PATH, *_CHILDREN}


def _check_metadata(name: str, text: bytes) -> None:
    try:
        metadata: Any = json.loads(text)
    except ValueError as error:
        raise WorkspaceError(f"the zarr.json of {name} cannot be read: {error}") from None
    if not isinstance(metadata, dict) or metadata.get("node_type") != "group":
        raise WorkspaceError(f"{name} is a Zarr array or something else, and no workspace")
    attributes = metadata.get("attributes") or {}
    if _ATTRIBUTE not in attributes:
        raise WorkspaceError(
            f"{name} is a Zarr group, but no workspace of somscale; choose another name"
        )
    number = attributes[_ATTRIBUTE]
    if number == FORMAT:
        return
    by = attributes.get("somscale_version", "another version")
    later = isinstance(number, int) and number > FORMAT
    raise WorkspaceError(
        f"{name} is a workspace of format {number}, made by somscale {by}, and this one "
        f"({__version__}) reads format {FORMAT}; "
        + ("update somscale" if later else "make the workspace anew")
    )


def _check_creatable(location: Location, create: bool) -> None:
    if not create:
        raise WorkspaceError(
            f"there is no workspace at {location.name}; "
            "somscale store makes one, and so does ss.Workspace"
        )
    if location.read_only:
        raise WorkspaceError(
            f"there is no workspace at {location.name}, "
            "and none can be made where nothing may be written"
        )


def _make(location: Location) -> None:
    import zarr

    delete_key(location, "zarr.json")
    zarr.create_group(
        location.store,
        zarr_format=3,
        attributes={_ATTRIBUTE: FORMAT, "somscale_version": __version__},
    )
    reach("root:created")

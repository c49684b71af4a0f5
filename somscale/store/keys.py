"""Raw keys of a workspace: listed, read, written and deleted below Zarr's arrays.

Everything here is synchronous.  Keys are paths below the root of the workspace, with "/".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from somscale.errors import WorkspaceError
from somscale.store.location import Location
from somscale.store.stamps import PARTIAL, Keys, Stamp

__all__ = [
    "Stamp",
    "delete_key",
    "delete_prefix",
    "is_torn",
    "list_children",
    "list_keys",
    "read_key",
    "read_tail",
    "stamp_of",
    "sweep_partial",
    "sweep_torn",
    "write_key",
]


def list_keys(location: Location, prefix: str) -> dict[str, Stamp]:
    """All keys below a prefix, at any depth, by their names relative to it.

    Parameters
    ----------
    location : Location
        Workspace.
    prefix : str
        Path of a group or array; "" for everything.
    """
    with _told(location, prefix, "listed"):
        return _keys(location).list(prefix)


def list_children(location: Location, prefix: str) -> list[str]:
    """Names one level below a prefix, of keys and of what lies deeper alike, sorted."""
    with _told(location, prefix, "listed"):
        return sorted(_keys(location).children(prefix))


def stamp_of(location: Location, key: str) -> Stamp | None:
    """The stamp of one key; None where there is none."""
    with _told(location, key, "looked for"):
        return _keys(location).stamp(key)


def read_key(location: Location, key: str) -> bytes | None:
    """The bytes of a key; None where there is none."""
    with _told(location, key, "read"):
        return _keys(location).read(key)


def read_tail(location: Location, key: str, count: int) -> bytes:
    """The last bytes of a key; all of them where there are fewer.

    Raises
    ------
    FileNotFoundError
        There is no such key.
    """
    return _keys(location).tail(key, count)


def write_key(location: Location, key: str, data: bytes) -> None:
    """Write the bytes of a key, whole or not at all where the location is atomic.

    Raises
    ------
    WorkspaceError
        The location is read-only.
    """
    location.check_writable()
    with _told(location, key, "written"):
        _keys(location).write(key, data)


def delete_key(location: Location, key: str) -> None:
    """Delete a key, if it is there.

    Raises
    ------
    WorkspaceError
        The location is read-only.
    """
    location.check_writable()
    with _told(location, key, "deleted"):
        _keys(location).delete(key)


def delete_prefix(location: Location, prefix: str) -> None:
    """Delete all keys below a prefix.

    Its own metadata go first: what a process leaves that dies meanwhile is no group or array
    any more.

    Raises
    ------
    WorkspaceError
        The location is read-only, or fails.
    """
    location.check_writable()
    keys = _keys(location)
    with _told(location, prefix, "deleted"):
        keys.delete(f"{prefix}/zarr.json".removeprefix("/"))
        keys.delete_below(prefix)


def sweep_partial(location: Location) -> int:
    """Delete the temporary files that interrupted writes left behind in a local folder.

    Only the one who holds the lock may do so, before it writes.

    Returns
    -------
    int
        How many there were.

    Raises
    ------
    WorkspaceError
        The location is read-only.
    """
    location.check_writable()
    if location.path is None:
        return 0
    count = 0
    for folder, _, names in os.walk(location.path):
        for name in filter(PARTIAL.search, names):
            Path(folder, name).unlink(missing_ok=True)
            count += 1
    return count


def sweep_torn(location: Location) -> int:
    """Delete metadata of which a write that was interrupted left a part alone.

    What they belonged to counts as not there.  Only where a write may leave a part: nowhere
    else is anything read.

    Returns
    -------
    int
        How many there were.

    Raises
    ------
    WorkspaceError
        The location is read-only, or fails.
    """
    location.check_writable()
    if location.atomic:
        return 0
    count = 0
    for key in list_keys(location, ""):
        if key.rpartition("/")[2] == "zarr.json" and is_torn(read_key(location, key)):
            delete_key(location, key)
            count += 1
    return count


def is_torn(metadata: bytes | None) -> bool:
    """Whether these are not the whole metadata of a group or an array."""
    if metadata is None:
        return False
    try:
        json.loads(metadata)
    except ValueError:
        return True
    return False


@contextmanager
def _told(location: Location, key: str, what: str) -> Iterator[None]:
    """Say of an error of the store where it was, and that nothing is lost."""
    try:
        yield
    except (WorkspaceError, FileNotFoundError):
        raise
    except OSError as error:
        raise WorkspaceError(
            f"{location.name}, {key or 'its keys'} cannot be {what}: {error}; "
            "mend that, and the same command goes on from here"
        ) from error


def _keys(location: Location) -> Keys:
    """What knows the keys of a place; a class derived from a store is asked as it is itself."""
    if location.path is not None and not location.given:
        from somscale.store.keys_local import LocalKeys

        return LocalKeys(location.path)
    from zarr.storage import FsspecStore

    from somscale.engine.readers.url_store import UrlStore

    store = location.store
    if isinstance(store, FsspecStore) and type(store) in (FsspecStore, UrlStore):
        from somscale.store.keys_fsspec import FsspecKeys

        return FsspecKeys.of(store)
    from somscale.store.keys_store import StoreKeys

    return StoreKeys(store)

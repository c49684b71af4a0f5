"""All keys of a workspace in one listing, by the room and the child that they belong to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from somscale.errors import WorkspaceError
from somscale.store.keys import Stamp, list_keys, read_key
from somscale.store.location import Location

__all__ = ["ROOMS", "Listed", "Listing", "list_workspace"]

ROOMS = ("samples", "maps", "distances", "ranks", "results")
"""Rooms of a workspace, but for those of unfinished runs."""


@dataclass(frozen=True)
class Listed:
    """The keys of one group.

    Attributes
    ----------
    location : Location
        The workspace.
    path : str
        Of the group.
    keys : mapping of str to Stamp
        Relative to the group.
    """

    location: Location
    path: str
    keys: Mapping[str, Stamp]

    @property
    def bytes(self) -> int:
        """What it takes in the store."""
        return sum(stamp.size for stamp in self.keys.values())

    @property
    def arrays(self) -> list[str]:
        """Names of what may be its arrays, sorted."""
        return sorted(key.removesuffix("/zarr.json") for key in self.keys if _is_metadata(key))

    def metadata(self, name: str = "") -> dict[str, Any] | None:
        """Metadata of the group or one of its arrays; None where they are missing or torn."""
        key = f"{self.path}/{name}/zarr.json" if name else f"{self.path}/zarr.json"
        try:
            found = json.loads(read_key(self.location, key) or b"")
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def attributes(self) -> dict[str, Any] | None:
        """Attributes of the group; None where its metadata are missing or torn."""
        known = self.metadata()
        if known is None or known.get("node_type") != "group":
            return None
        return dict(known.get("attributes") or {})

    def size_of(self, name: str, index: tuple[int, ...]) -> int:
        """Bytes of a chunk of an array; 0 where it is missing or empty."""
        stamp = self.keys.get("/".join([name, "c", *map(str, index)]))
        return 0 if stamp is None else stamp.size

    def bytes_of(self, name: str) -> int:
        """Bytes of all chunks of an array in the store."""
        return sum(self._chunks(name))

    def present(self, name: str) -> int:
        """How many chunks of an array are there."""
        return sum(map(bool, self._chunks(name)))

    def _chunks(self, name: str) -> Iterator[int]:
        """Bytes of every chunk of an array."""
        start = f"{name}/c"
        for key, stamp in self.keys.items():
            if key == start or key.startswith(f"{start}/"):
                yield stamp.size


def _is_metadata(key: str) -> bool:
    name, _, last = key.partition("/")
    return bool(name) and last == "zarr.json"


@dataclass(frozen=True)
class Listing:
    """What there is in a workspace.

    Attributes
    ----------
    location : Location
        The workspace.
    groups : mapping of str to Listed
        By their paths: "samples", "distances/euclidean", ...
    """

    location: Location
    groups: Mapping[str, Listed]

    def of(self, room: str) -> list[Listed]:
        """The groups of a room, by name."""
        return [g for path, g in sorted(self.groups.items()) if path.partition("/")[0] == room]

    def room_is_torn(self, room: str) -> bool:
        """Whether the metadata of the group of a room are missing or torn."""
        return Listed(self.location, room, {}).attributes() is None


def list_workspace(location: Location) -> Listing:
    """List all keys of a workspace.

    Raises
    ------
    WorkspaceError
        The store cannot be listed.
    """
    try:
        keys = list_keys(location, "")
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(f"{location.name} cannot be listed: {error}") from error
    found: defaultdict[str, dict[str, Stamp]] = defaultdict(dict)
    for key, stamp in keys.items():
        room, *rest = key.split("/")
        if room == "samples" and rest:
            found[room]["/".join(rest)] = stamp
        elif room in ROOMS and len(rest) > 1:
            found[f"{room}/{rest[0]}"]["/".join(rest[1:])] = stamp
    return Listing(location, {path: Listed(location, path, own) for path, own in found.items()})

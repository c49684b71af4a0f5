"""Where a workspace is: a local folder, a URL that fsspec knows, or a Zarr store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from somscale.engine.readers.urls import Url, check_url, open_url
from somscale.errors import InputError, WorkspaceError

if TYPE_CHECKING:
    import zarr
    from zarr.abc.store import Store

__all__ = ["Location", "locate"]

# Protocols of fsspec under which an object is there whole or not at all.
_ATOMIC = frozenset({"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci"})

# Stores of this process (a fork needs its own) by place and options; those handed over.
_opened: dict[tuple[int, str, bool, str], Store] = {}
_handed: WeakValueDictionary[tuple[str, bool], Store] = WeakValueDictionary()


@dataclass(frozen=True)
class Location:
    """A place for a workspace; it pickles, and is opened anew in every process.

    Locations of the same name are equal.

    Attributes
    ----------
    name : str
        Path or URL, for messages.
    path : Path or None
        Local folder; None for anything else.
    read_only : bool
        Whether nothing may be written.
    sharded : bool
        Whether chunks lie in shards, as every object costs a request.
    atomic : bool
        Whether a write that was interrupted leaves nothing, or what was there before.
    """

    name: str
    path: Path | None = field(compare=False)
    read_only: bool = field(compare=False)
    sharded: bool = field(compare=False)
    atomic: bool = field(compare=False)
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    _given: Store | None = field(default=None, compare=False, repr=False)

    @property
    def store(self) -> Store:
        """The Zarr store, opened on first use in each process."""
        if self._given is not None:
            return self._given
        key = (os.getpid(), self.name, self.read_only, repr(sorted(self.options.items())))
        if key not in _opened:
            _opened.setdefault(key, self._open())
        return _opened[key]

    def _open(self) -> Store:
        from zarr.storage import LocalStore

        if self.path is not None:
            return LocalStore(self.path, read_only=self.read_only)
        return open_url(self.name, storage_options=self.options, read_only=self.read_only)

    def group(self, path: str = "", *, mode: Literal["r", "a"]) -> zarr.Group:
        """A group of the workspace; with mode "a" it and those above are created if need be.

        Raises
        ------
        WorkspaceError
            There is no such group, it cannot be read, or nothing may be written here.
        """
        import zarr

        try:
            if mode == "a":
                self.check_writable()
                group = zarr.open_group(self.store, mode="a", zarr_format=3, use_consolidated=False)
                for name in filter(None, path.split("/")):
                    # each level is written, so that plain xarray sees a tree without gaps
                    group = group.require_group(name)
                return group
            return zarr.open_group(
                self.store, path=path, mode="r", zarr_format=3, use_consolidated=False
            )
        except WorkspaceError:
            raise
        except FileNotFoundError:
            raise WorkspaceError(f"there is no group {path!r} in {self.name}") from None
        except (OSError, ValueError, TypeError) as error:
            raise WorkspaceError(
                f"the group {path!r} of {self.name} cannot be opened: {error}; mend that, and the "
                "same command goes on from here"
            ) from error

    def check_writable(self) -> None:
        """Refuse to write where it was opened for reading alone.

        Raises
        ------
        WorkspaceError
            The location is read-only.
        """
        if self.read_only:
            raise WorkspaceError(f"{self.name} is open for reading only; nothing is written to it")

    @property
    def given(self) -> bool:
        """Whether the Zarr store was handed over, and may be of any class."""
        return self._given is not None

    @property
    def in_memory(self) -> bool:
        """Whether it is in the memory of this process."""
        from zarr.storage import MemoryStore

        if self._given is None:
            return self.name.startswith("memory://")
        return isinstance(self._given, MemoryStore) or _protocol_of(self._given) == "memory"

    @property
    def shared(self) -> bool:
        """Whether other processes can reach it."""
        if self._given is None:
            return not self.name.startswith("memory://")
        return _protocol_of(self._given) not in (None, "memory")

    def check_shared(self) -> None:
        """Refuse a place that other processes cannot reach.

        Raises
        ------
        InputError
            The workspace is in the memory of this process, or in a store that was handed over.
        """
        if not self.shared:
            raise InputError(
                f"other processes cannot reach {self.name}; "
                "use a workspace on disk, or compute with threads (scheduler='threads')"
            )

    def __dask_tokenize__(self) -> tuple[str, str]:
        return ("somscale.Location", self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._given is not None and not self.shared:
            # a pickled memory store would be a copy that swallows what is written
            return _handed_over, (self.name, self.read_only)
        return _restored, tuple(getattr(self, each.name) for each in fields(self))


def _restored(*values: Any) -> Location:
    return Location(*values)


def _handed_over(name: str, read_only: bool) -> Location:
    store = _handed.get((name, read_only))
    if store is None:
        raise InputError(f"the store {name} is in the memory of another process")
    return _of_store(store, read_only)


def locate(
    place: str | os.PathLike[str] | Store,
    *,
    read_only: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Location:
    """Find out where a workspace is; nothing is opened, read or made.

    Parameters
    ----------
    place : str, path or zarr.abc.store.Store
        A local path; a URL that fsspec knows, such as ``s3://bucket/work.zarr`` or
        ``memory://work``; or a Zarr store, which is taken as it is.
    read_only : bool
        Refuse to write.
    storage_options : mapping, optional
        What fsspec needs for a URL: keys, an endpoint.  Held in memory and pickled for the
        workers, never stored.

    Raises
    ------
    InputError
        `place` is none of these, a URL that leads to no store, or options go with anything but
        a URL.
    """
    if isinstance(place, Url):
        place = str(place)
    if isinstance(place, str) and "://" in place:
        return _of_url(place, read_only, dict(storage_options or {}))
    if storage_options:
        raise InputError(f"storage_options go with a URL, not with {place!r}")
    if isinstance(place, str | os.PathLike):
        text = os.fspath(place)
        if not text:
            raise InputError("a workspace needs a path, a URL or a Zarr store, not an empty text")
        # absolute, since a worker may stand in another folder, and links resolved, since two
        # names of one folder must have one lock
        path = Path(os.path.realpath(text))
        return Location(str(path), path, read_only, sharded=False, atomic=True)
    return _of_store(place, read_only)


def _of_url(url: str, read_only: bool, options: dict[str, Any]) -> Location:
    check_url(url)
    protocol = url.partition("://")[0]
    if protocol in ("file", "local"):
        options = {"auto_mkdir": True, **options}
    return Location(
        url.rstrip("/"), None, read_only, sharded=True, atomic=protocol in _ATOMIC, options=options
    )


def _of_store(place: object, read_only: bool) -> Location:
    from zarr.abc.store import Store
    from zarr.storage import LocalStore, MemoryStore

    if not isinstance(place, Store):
        kind = type(place).__name__
        raise InputError(f"a workspace needs a path, a URL or a Zarr store, not {kind}")
    if type(place) is LocalStore:
        return locate(place.root, read_only=read_only or place.read_only)
    store = place.with_read_only(True) if read_only and not place.read_only else place
    protocol = _protocol_of(store)
    path = Path(os.path.realpath(store.root)) if isinstance(store, LocalStore) else None
    atomic = protocol in _ATOMIC or isinstance(store, LocalStore | MemoryStore)
    name = f"{type(store).__name__} {store}"
    _handed[name, store.read_only] = store
    return Location(name, path, store.read_only, protocol is not None, atomic, {}, store)


def _protocol_of(store: Store) -> str | None:
    """Under which protocol fsspec reaches a store; None for stores that are not fsspec's."""
    from zarr.storage import FsspecStore

    if not isinstance(store, FsspecStore):
        return None
    protocol = store.fs.protocol
    return str(protocol if isinstance(protocol, str) else protocol[0])

"""Keys behind fsspec, asked through a synchronous filesystem beside Zarr's asynchronous one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from somscale.engine.readers.url_store import failures_as_oserror
from somscale.store.stamps import Stamp

if TYPE_CHECKING:
    from zarr.storage import FsspecStore

__all__ = ["FsspecKeys"]

_ABSENT = (FileNotFoundError, NotADirectoryError)
_TIMES = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True)
class FsspecKeys:
    """A filesystem of fsspec, and the path of the workspace in it.

    What it has listed before is never believed, as other processes write too.
    """

    fs: Any
    root: str

    @classmethod
    def of(cls, store: FsspecStore) -> FsspecKeys:
        """The keys of a store of Zarr."""
        fs: Any = store.fs
        # Zarr's own filesystem does not hear of what is written and deleted here
        fs.invalidate_cache()
        inner = getattr(fs, "sync_fs", None)
        if inner is None:
            # made once: fsspec keeps its instances
            inner = type(fs)(*fs.storage_args, **{**fs.storage_options, "asynchronous": False})
        inner.invalidate_cache()
        return cls(inner, store.path.rstrip("/"))

    @failures_as_oserror()
    def list(self, prefix: str) -> dict[str, Stamp]:
        """All keys below a prefix, at any depth, relative to it."""
        base = self._path(prefix)
        try:
            found = self.fs.find(base, detail=True)
        except _ABSENT:
            return {}
        # a prefix that is itself a key is listed too
        start = f"{base}/"
        return {
            name.removeprefix(start): _stamp(info)
            for name, info in found.items()
            if name.startswith(start)
        }

    @failures_as_oserror()
    def children(self, prefix: str) -> set[str]:
        """Names one level below a prefix."""
        base = self._path(prefix)
        try:
            found = self.fs.ls(base, detail=False)
        except _ABSENT:
            return set()
        start = f"{base}/"
        names = {name.rstrip("/").removeprefix(start) for name in found if name.startswith(start)}
        return names - {""}

    @failures_as_oserror()
    def stamp(self, key: str) -> Stamp | None:
        """The stamp of a key; None where there is none."""
        try:
            info = self.fs.info(self._path(key))
        except _ABSENT:
            return None
        return _stamp(info) if info["type"] == "file" else None

    @failures_as_oserror()
    def read(self, key: str) -> bytes | None:
        """The bytes of a key; None where there is none."""
        try:
            data: bytes = self.fs.cat_file(self._path(key))
        except (*_ABSENT, IsADirectoryError):
            return None
        return data

    @failures_as_oserror()
    def tail(self, key: str, count: int) -> bytes:
        """The last bytes of a key that is there; all where there are fewer."""
        data: bytes = self.fs.cat_file(self._path(key), start=-count)
        return data

    @failures_as_oserror()
    def write(self, key: str, data: bytes) -> None:
        """Write the bytes of a key."""
        self.fs.pipe_file(self._path(key), data)

    @failures_as_oserror()
    def delete(self, key: str) -> None:
        """Delete a key, if it is there."""
        with contextlib.suppress(*_ABSENT):
            self.fs.rm(self._path(key))

    @failures_as_oserror()
    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix."""
        with contextlib.suppress(*_ABSENT):
            self.fs.rm(self._path(prefix), recursive=True)

    def _path(self, key: str) -> str:
        return f"{self.root}/{key}".rstrip("/")


def _stamp(info: dict[str, Any]) -> Stamp:
    time = next((info[name] for name in _TIMES if info.get(name) is not None), "")
    return Stamp(int(info.get("size") or 0), str(time))

"""Keys in a local folder, walked directly."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from somscale.store.stamps import PARTIAL, Stamp

__all__ = ["LocalKeys"]

_ABSENT = (FileNotFoundError, NotADirectoryError)


@dataclass(frozen=True)
class LocalKeys:
    """Keys are paths of files below a folder; temporary files of writes are none."""

    root: Path

    def list(self, prefix: str) -> dict[str, Stamp]:
        """All keys below a prefix, at any depth, relative to it."""
        return dict(_walk(self.root / prefix, ""))

    def children(self, prefix: str) -> set[str]:
        """Names one level below a prefix."""
        try:
            names = os.listdir(self.root / prefix)
        except _ABSENT:
            return set()
        return {name for name in names if not PARTIAL.search(name)}

    def stamp(self, key: str) -> Stamp | None:
        """The stamp of a key; None where there is none."""
        try:
            return _stamp(os.stat(self.root / key))
        except _ABSENT:
            return None

    def read(self, key: str) -> bytes | None:
        """The bytes of a key; None where there is none."""
        try:
            return (self.root / key).read_bytes()
        except (*_ABSENT, IsADirectoryError):
            return None

    def tail(self, key: str, count: int) -> bytes:
        """The last bytes of a key that is there; all where there are fewer."""
        with open(self.root / key, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - count, 0))
            return file.read()

    def write(self, key: str, data: bytes) -> None:
        """Write the bytes of a key, whole or not at all."""
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        try:
            fresh.write_bytes(data)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise

    def delete(self, key: str) -> None:
        """Delete a key, if it is there."""
        with contextlib.suppress(*_ABSENT):
            (self.root / key).unlink()

    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix."""
        with contextlib.suppress(*_ABSENT):
            shutil.rmtree(self.root / prefix)


def _walk(folder: Path | str, prefix: str) -> Iterator[tuple[str, Stamp]]:
    try:
        entries = os.scandir(folder)
    except _ABSENT:
        return
    with entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path, f"{prefix}{entry.name}/")
            elif not PARTIAL.search(entry.name):
                # a file may go while the folder is read
                with contextlib.suppress(FileNotFoundError):
                    yield prefix + entry.name, _stamp(entry.stat())


def _stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, str(found.st_mtime_ns))

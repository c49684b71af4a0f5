"""Checkpoints in a folder, for tests of the engine."""

from __future__ import annotations

import pickle
from contextlib import AbstractContextManager
from pathlib import Path

from somscale.engine.checkpoints import checkpointing
from somscale.reductions.base import Partial


class FolderSink:
    """Keeps partials as files, so that workers of any kind share it."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self.prefix = prefix

    def path(self, number: int) -> Path:
        return self.folder / f"{self.prefix}-{number}"

    def get(self, number: int) -> list[Partial] | None:
        path = self.path(number)
        return pickle.loads(path.read_bytes()) if path.exists() else None

    def put(self, number: int, partials: list[Partial], seconds: float) -> None:
        assert seconds >= 0
        assert not self.path(number).exists()
        self.path(number).write_bytes(pickle.dumps(partials))


class FolderCheckpoints:
    """Keeps the passes of a run in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokens: list[str] = []

    def run_tiles(self, token: str) -> int | None:
        sizes = {int(path.name.split("-")[-2]) for path in self.folder.glob(f"{token}-*")}
        return max(sizes, default=None)

    def sink(self, token: str, run_tiles: int) -> FolderSink:
        self.tokens.append(token)
        return FolderSink(self.folder, f"{token}-{run_tiles}")


def keeping(folder: Path) -> AbstractContextManager[None]:
    """Keep finished tasks in a folder."""
    return checkpointing(FolderCheckpoints(folder))

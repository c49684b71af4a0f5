"""Stores that the tests of workspaces share: one of each kind, and one that counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from zarr.storage import MemoryStore, WrapperStore

from somscale.store.arrays import StoredArray, create_array
from somscale.store.location import Location, locate

KINDS = ("local", "memory URL", "file URL", "memory store", "wrapper")


def place(kind: str, folder: Path) -> Any:
    """An empty place of a kind, with blanks and letters beyond ASCII in its name."""
    name = f"wörk {uuid4().hex}.zarr"
    match kind:
        case "local":
            return folder / name
        case "memory URL":
            return f"memory://tests/{name}"
        case "file URL":
            return f"file://{folder / name}"
        case "memory store":
            return MemoryStore()
        case _:
            return CountingStore(MemoryStore())


class CountingStore(WrapperStore[Any]):
    """Counts how often every chunk is asked for."""

    def __init__(self, store: Any, counts: Counter[str] | None = None) -> None:
        super().__init__(store)
        self.counts = Counter() if counts is None else counts

    def with_read_only(self, read_only: bool = False) -> CountingStore:
        return CountingStore(self._store.with_read_only(read_only), self.counts)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if "/c/" in key:
            self.counts[key] += 1
        return await super().get(key, prototype, byte_range)


def stored(
    location: Location,
    values: np.ndarray[Any, Any],
    chunk: tuple[int, ...],
    *,
    path: str = "distances/euclidean/distance",
    fill: Any = None,
    per_shard: int = 2,
    in_shards: bool | None = None,
    **settings: Any,
) -> StoredArray:
    """An array with its values written unit by unit; in shards where the place wants them."""
    location.group(mode="a")
    if fill is None:
        fill = np.nan if values.dtype.kind in "fc" else np.array(0).astype(values.dtype)[()]
    in_shards = location.sharded if in_shards is None else in_shards
    shard = tuple(per_shard * size for size in chunk) if in_shards else None
    dims = tuple(f"dim_{axis}" for axis in range(values.ndim))
    array = create_array(
        location, path, shape=values.shape, dtype=values.dtype, chunk=chunk, shard=shard,
        fill=fill, dims=dims, **settings,
    )  # fmt: skip
    for index in array.missing():
        array.write(index, values[array.box(index)])
    return array


def local(folder: Path, name: str = "wörk space.zarr") -> Location:
    return locate(folder / name)

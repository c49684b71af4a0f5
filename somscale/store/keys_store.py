"""Keys of any Zarr store, by its asynchronous methods run to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from somscale.store.stamps import PARTIAL, Stamp

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["StoreKeys"]

T = TypeVar("T")

_AT_ONCE = 32  # sizes asked of a store at the same time


@dataclass(frozen=True)
class StoreKeys:
    """The keys of a Zarr store."""

    store: Store

    def list(self, prefix: str) -> dict[str, Stamp]:
        """All keys below a prefix, at any depth, relative to it."""
        return _run(_list(self.store, f"{prefix}/" if prefix else ""))

    def children(self, prefix: str) -> set[str]:
        """Names one level below a prefix."""
        return _run(_children(self.store, prefix))

    def stamp(self, key: str) -> Stamp | None:
        """The stamp of a key; None where there is none."""
        return _run(_stamp(self.store, key))

    def read(self, key: str) -> bytes | None:
        """The bytes of a key; None where there is none."""
        return _run(_read(self.store, key))

    def tail(self, key: str, count: int) -> bytes:
        """The last bytes of a key that is there; all where there are fewer."""
        return _run(_tail(self.store, key, count))

    def write(self, key: str, data: bytes) -> None:
        """Write the bytes of a key."""
        _run(_write(self.store, key, data))

    def delete(self, key: str) -> None:
        """Delete a key, if it is there."""
        _run(self.store.delete(key))

    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix."""
        _run(self.store.delete_dir(prefix))


async def _list(store: Store, start: str) -> dict[str, Stamp]:
    keys = [key async for key in store.list_prefix(start) if not PARTIAL.search(key)]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def sized(key: str) -> tuple[str, Stamp] | None:
        async with limit:
            found = await _stamp(store, key)
        return None if found is None else (key.removeprefix(start), found)

    return dict(filter(None, await asyncio.gather(*map(sized, keys))))


async def _children(store: Store, prefix: str) -> set[str]:
    return {name.rstrip("/") async for name in store.list_dir(prefix)} - {""}


async def _stamp(store: Store, key: str) -> Stamp | None:
    try:
        return Stamp(await store.getsize(key), "")
    except FileNotFoundError:
        return None


async def _read(store: Store, key: str) -> bytes | None:
    from zarr.buffer import default_buffer_prototype

    found = await store.get(key, default_buffer_prototype())
    return None if found is None else found.to_bytes()


async def _tail(store: Store, key: str, count: int) -> bytes:
    from zarr.abc.store import SuffixByteRequest
    from zarr.buffer import default_buffer_prototype

    found = await store.get(key, default_buffer_prototype(), SuffixByteRequest(count))
    if found is None:
        raise FileNotFoundError(key)
    return found.to_bytes()


async def _write(store: Store, key: str, data: bytes) -> None:
    from zarr.buffer.cpu import Buffer

    await store.set(key, Buffer.from_bytes(data))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where this thread has a running loop, as in Jupyter."""
    with ThreadPoolExecutor(1, thread_name_prefix="somscale-keys") as thread:
        return thread.submit(asyncio.run, work).result()

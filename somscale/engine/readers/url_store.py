"""A Zarr store behind fsspec whose failures are those of the operating system."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager

from zarr.abc.buffer import Buffer, BufferPrototype
from zarr.abc.store import ByteRequest
from zarr.storage import FsspecStore

__all__ = ["UrlStore", "failures_as_oserror"]

# What the libraries behind fsspec raise that is no OSError, where they are loaded.
_FAILURES = {
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "aiohttp": ("ClientError",),
    "gcsfs.retry": ("HttpError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "azure.core.exceptions": ("AzureError",),
}


@contextmanager
def failures_as_oserror() -> Iterator[None]:
    """Raise what a service fails with as an OSError, which is what callers expect of a store.

    A missing key, a refusal and a broken connection are OSErrors of fsspec already; missing
    credentials and a server that is not there are errors of the library below it.
    """
    try:
        yield
    except OSError:
        raise
    except _failures() as error:
        raise OSError(" ".join(str(error).split())) from error


def _failures() -> tuple[type[Exception], ...]:
    return tuple(
        getattr(sys.modules[module], name)
        for module, names in _FAILURES.items()
        if module in sys.modules
        for name in names
    )


class UrlStore(FsspecStore):
    """The store of a URL."""

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The value of a key, or a part of it; None where there is none."""
        with failures_as_oserror():
            return await super().get(key, prototype, byte_range)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        """The parts of several keys."""
        with failures_as_oserror():
            return await super().get_partial_values(prototype, key_ranges)

    async def set(self, key: str, value: Buffer, byte_range: tuple[int, int] | None = None) -> None:
        """Write the value of a key."""
        with failures_as_oserror():
            await super().set(key, value, byte_range)

    async def delete(self, key: str) -> None:
        """Delete a key, if it is there."""
        with failures_as_oserror():
            await super().delete(key)

    async def delete_dir(self, prefix: str) -> None:
        """Delete all keys below a prefix."""
        with failures_as_oserror():
            await super().delete_dir(prefix)

    async def exists(self, key: str) -> bool:
        """Whether there is a key."""
        with failures_as_oserror():
            return await super().exists(key)

    async def getsize(self, key: str) -> int:
        """Bytes of a key."""
        with failures_as_oserror():
            return await super().getsize(key)

    async def list(self) -> AsyncIterator[str]:
        """All keys."""
        with failures_as_oserror():
            async for key in super().list():
                yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """All keys below a prefix."""
        with failures_as_oserror():
            async for key in super().list_prefix(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Names one level below a prefix."""
        with failures_as_oserror():
            async for key in super().list_dir(prefix):
                yield key

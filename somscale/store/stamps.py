"""What a store knows of a key without reading it, and what every kind of store can do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

__all__ = ["PARTIAL", "Keys", "Stamp"]

# What a local store calls a file that it is still writing.
PARTIAL = re.compile(r"\.[0-9a-f]{32}\.partial$")


@dataclass(frozen=True)
class Stamp:
    """What tells a stored value from another without reading it.

    Attributes
    ----------
    size : int
        Bytes.
    time : str
        Tag, or time of the last change in units of the store; "" where it knows neither.
    """

    size: int
    time: str


class Keys(Protocol):
    """The keys of one kind of store."""

    def list(self, prefix: str) -> dict[str, Stamp]:
        """All keys below a prefix, at any depth, relative to it."""

    def children(self, prefix: str) -> set[str]:
        """Names one level below a prefix."""

    def stamp(self, key: str) -> Stamp | None:
        """The stamp of a key; None where there is none."""

    def read(self, key: str) -> bytes | None:
        """The bytes of a key; None where there is none."""

    def tail(self, key: str, count: int) -> bytes:
        """The last bytes of a key that is there; all where there are fewer."""

    def write(self, key: str, data: bytes) -> None:
        """Write the bytes of a key."""

    def delete(self, key: str) -> None:
        """Delete a key, if it is there."""

    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix."""

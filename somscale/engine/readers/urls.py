"""What a URL leads to, by fsspec: its name, and its Zarr store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from somscale.errors import InputError

if TYPE_CHECKING:
    from zarr.storage import FsspecStore

__all__ = ["Url", "check_url", "open_url"]

_MARK = "://"
# two letters at least: one is a drive of Windows
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")


@dataclass(frozen=True)
class Url(os.PathLike[str]):
    """A URL where elsewhere a path stands; of a path it has what is asked of both.

    A ``pathlib.Path`` of a URL would lose one of its slashes.

    Attributes
    ----------
    text : str
        The URL, without a slash at its end.
    """

    text: str

    @classmethod
    def of(cls, place: str | os.PathLike[str]) -> Url | None:
        """The URL that a text is; None where it is a path.

        Raises
        ------
        InputError
            It names nothing, or a chain of file systems.
        """
        text = os.fspath(place)
        if _URL.match(text) is None:
            return None
        check_url(text)
        return cls(text.rstrip("/"))

    def __fspath__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """Its last part."""
        return PurePosixPath(self.text.partition(_MARK)[2]).name

    @property
    def suffix(self) -> str:
        """The end of its name, from the last dot."""
        return PurePosixPath(self.name).suffix

    @property
    def parents(self) -> tuple[Url, ...]:
        """What it lies in, from the nearest on."""
        protocol, mark, rest = self.text.partition(_MARK)
        above = map(str, PurePosixPath(rest).parents)
        return tuple(Url(protocol + mark + each) for each in above if each not in (".", "/"))

    def resolve(self) -> Url:
        """The URL itself."""
        return self


def check_url(url: str) -> None:
    """Refuse a URL that leads to no store of its own.

    Raises
    ------
    InputError
        It names nothing behind the protocol, or a chain of file systems.
    """
    protocol, _, rest = url.partition(_MARK)
    if not rest.strip("/"):
        raise InputError(f"{url!r} names nothing; write on, as in {protocol}://bucket/work.zarr")
    if "::" in protocol:
        raise InputError(
            f"{url!r} is a chain of file systems; give the URL of the store itself, as in "
            f"{protocol.rpartition('::')[2]}://bucket/work.zarr"
        )


def open_url(
    url: str, *, storage_options: Mapping[str, Any] | None = None, read_only: bool
) -> FsspecStore:
    """The Zarr store at a URL; nothing is read yet.

    Parameters
    ----------
    url : str
        As fsspec knows it, such as ``s3://bucket/work.zarr``.
    storage_options : mapping, optional
        What fsspec is told besides its own configuration.
    read_only : bool
        Refuse to write.

    Raises
    ------
    InputError
        No such protocol is known, or what it needs is not installed.
    """
    from somscale.engine.readers.url_store import UrlStore

    try:
        return UrlStore.from_url(
            url, storage_options=dict(storage_options or {}), read_only=read_only
        )
    except ImportError as error:
        raise InputError(
            f"{url!r} needs a package that is not installed: {error} "
            "(for s3:// it comes with pip install 'somscale[s3]')"
        ) from None
    except ValueError as error:
        raise InputError(f"{url!r} cannot be opened: {error}") from None

"""Arrays of Zarr, opened such that every chunk that is written stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from somscale.errors import WorkspaceError
from somscale.store.causes import DAMAGED, reason_of
from somscale.store.location import Location

if TYPE_CHECKING:
    import zarr

__all__ = ["opened_array"]


def opened_array(location: Location, path: str, *, writable: bool) -> zarr.Array[Any]:
    """Open an array that is there.

    Raises
    ------
    WorkspaceError
        There is none, or its metadata cannot be read.
    """
    import zarr

    try:
        array = zarr.open_array(
            location.store, path=path, mode="r+" if writable else "r", zarr_format=3
        )
    except FileNotFoundError:
        raise WorkspaceError(f"there is no array {path!r} in {location.name}") from None
    except DAMAGED as error:
        raise WorkspaceError(
            f"the array {path!r} of {location.name} cannot be opened: {reason_of(error)}"
        ) from error
    # else a block of the fill value deletes its chunk; Zarr 3.1 heeds it only here, and not
    # as an argument of open_array
    return array.with_config({"write_empty_chunks": True})

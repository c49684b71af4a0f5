"""The samples of a workspace: written once, read with checks, and compared with others.

They are kept as they are read, before masks and weights, on the user's own dims.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from somscale._types import AnyArray
from somscale.engine.readers.opening import open_labelled
from somscale.engine.readers.samples import Samples, open_samples, with_conditions
from somscale.engine.readers.streamed import whole_source
from somscale.engine.readers.views import flatten
from somscale.errors import WorkspaceError
from somscale.store.arrays import StoredArray, open_array
from somscale.store.digests import digest_of
from somscale.store.fingerprints import (
    block_rows,
    fingerprint,
    first_difference,
    stamps_of,
)
from somscale.store.groups import load_dataset
from somscale.store.keys import stamp_of
from somscale.store.location import Location
from somscale.store.opening import opened_array
from somscale.store.points import reach
from somscale.workspace.copying import copy_samples, create_samples
from somscale.workspace.recorded import (
    ARRAY,
    GROUP,
    Recorded,
    begin,
    chunk_stamps,
    complete,
    recorded,
    renew,
)

__all__ = [
    "check_unchanged",
    "compare",
    "fingerprint_text",
    "open_stored",
    "stored_samples",
    "write_samples",
]


def write_samples(
    location: Location,
    samples: Any,
    *,
    sample_dims: Any = None,
    variable: Any = None,
    copy: bool = True,
) -> None:
    """Write samples into a workspace, or go on with it where it was stopped.

    They are read once, a slab at a time.  Where the same samples are there already, nothing
    is done.

    Parameters
    ----------
    location : Location
        Workspace.
    samples, sample_dims, variable
        As for :func:`somscale.evaluate`.
    copy : bool
        Whether the values are copied.  If not, only coordinates and a fingerprint are kept.

    Raises
    ------
    InputError
        A dim or coordinate has a name that the workspace needs itself.
    WorkspaceError
        There are other samples, the place is read-only, or it takes no more.
    """
    opened = open_samples(samples, sample_dims=sample_dims, variable=variable)
    known = recorded(location)
    if known is not None and known.complete:
        compare(location, opened, samples)
        if known.copied or not copy:
            return
    elif known is not None:
        _refuse(location, known.difference(opened))
    location.check_writable()
    source = whole_source(opened)
    if known is None or known.complete or known.copied != copy or not _array_is_there(location):
        begin(
            location,
            opened,
            source=stamps_of(samples) or "",
            rows=block_rows(source.shape[1]),
            copied=copy,
            text="" if known is None else known.text,
        )
        if copy:
            create_samples(location, opened, source)
    reach("samples:created")
    n_sample_dims = len(opened.rows.dims)
    if copy:
        found = copy_samples(source, open_array(location, ARRAY), n_sample_dims)
    else:
        found = fingerprint(source)
    if known is not None and known.text not in ("", found.text()):
        _refuse(location, "values")
    complete(location, found)
    reach("samples:complete")


def _array_is_there(location: Location) -> bool:
    return stamp_of(location, f"{ARRAY}/zarr.json") is not None


def fingerprint_text(location: Location) -> str:
    """Fingerprint of the samples of a workspace; "" where there are none that are complete."""
    known = recorded(location)
    return known.text if known is not None and known.complete else ""


def _known(location: Location) -> Recorded:
    known = recorded(location)
    if known is None:
        raise WorkspaceError(f"{location.name} has no samples; write them with write_samples")
    if not known.complete:
        raise WorkspaceError(
            f"the samples of {location.name} are not complete; the call that wrote them goes on "
            "from there"
        )
    return known


def _refuse(location: Location, difference: str | None) -> None:
    if difference is not None:
        raise WorkspaceError(
            f"the samples are not those of {location.name}: {difference}; give the samples it was "
            "made from, or take another workspace for these"
        )


def compare(location: Location, given: Samples, argument: Any = None) -> None:
    """Refuse samples that are not those of the workspace.

    Parameters
    ----------
    location : Location
        Workspace.
    given : Samples
        The samples as they were opened.
    argument : object
        What they were opened from.  A path whose files have the same sizes and times as
        those that the workspace was made from is not read again.

    Raises
    ------
    WorkspaceError
        They differ; it is told in what, and in which samples.
    """
    known = _known(location)
    _refuse(location, known.difference(given) or _other_labels(location, known, given))
    stamps = stamps_of(argument)
    if stamps is not None and stamps == known.source and given.left_out == known.left_out:
        return
    _refuse(location, first_difference(known.fingerprint(location), whole_source(given)))


def _other_labels(location: Location, known: Recorded, given: Samples) -> str | None:
    """The coordinate that both have and that differs."""
    coords = load_dataset(location, GROUP, known.attributes).variables
    for axes in (given.rows, given.features):
        for name, coord in axes.coords.items():
            if name not in coords:
                continue
            own = coords[name]
            if own.dims != coord.dims or not _equal(own.to_numpy(), coord.to_numpy()):
                return f"the coordinate {name!r} has other labels"
    return None


def _equal(own: AnyArray, other: AnyArray) -> bool:
    kinds = {own.dtype.kind, other.dtype.kind}
    if kinds & set("UTO"):
        return digest_of(own.tolist()) == digest_of(other.tolist())
    return np.array_equal(own, other, equal_nan=kinds in ({"f"}, {"M"}, {"m"}))


def check_unchanged(location: Location) -> None:
    """Make sure that the workspace still has the samples that were written.

    Chunks of the sizes and times that were noted are taken as they are; in a copy of a
    workspace, or where files were touched, their content is read once and compared.

    Raises
    ------
    ChunkError
        A chunk is missing or damaged.
    WorkspaceError
        Chunks hold other values, or there are no complete samples.
    """
    known = _known(location)
    if not known.copied or chunk_stamps(location) == known.stamps:
        return
    stored = open_array(location, ARRAY)
    if absent := stored.missing():
        stored.read(*stored.box(absent[0]))  # says which
    flat = flatten(stored, range(len(stored.shape)), known.n_sample_dims)
    difference = first_difference(known.fingerprint(location), flat)
    if difference is not None:
        raise WorkspaceError(
            f"{ARRAY} in {location.name} was changed since it was written: {difference}; make the "
            "workspace anew"
        )
    if not location.read_only:
        # a place that takes nothing is read again the next time
        with contextlib.suppress(OSError):
            renew(location, {"chunk_stamps": chunk_stamps(location)})


def open_stored(location: Location) -> xr.DataArray:
    """The samples on their own dims, lazily; a chunk that is missing or damaged is an error.

    Raises
    ------
    WorkspaceError
        There are none, or only their fingerprint.
    """
    return _opened(location, _known(location))[0]


def stored_samples(location: Location, **reading: Any) -> Samples:
    """The samples as a pass reads them.

    Parameters
    ----------
    location : Location
        Workspace.
    **reading
        `missing`, `mask`, `feature_weights` and `sample_weights` as for
        :func:`somscale.evaluate`.

    Raises
    ------
    WorkspaceError
        There are none, or only their fingerprint.
    """
    known = _known(location)
    array, stored = _opened(location, known)
    # its own name is the workspace's, and would pass for that of the values
    opened = open_labelled(array.rename(None), known.sample_dims, source=stored)
    return with_conditions(replace(opened, left_out=known.left_out), **reading)


def _opened(location: Location, known: Recorded) -> tuple[xr.DataArray, StoredArray]:
    if not known.copied:
        raise WorkspaceError(
            f"{location.name} has only the fingerprint of its samples; give the samples, too"
        )
    stored = open_array(location, ARRAY)
    attributes = dict(opened_array(location, ARRAY, writable=False).attrs)
    lazy = indexing.LazilyIndexedArray(_Checked(stored))
    chunks = dict(zip(known.dims, stored.chunks, strict=True))
    variable = xr.Variable(
        tuple(known.dims), lazy, attributes, {"preferred_chunks": chunks}, fastpath=True
    )
    coords = load_dataset(location, GROUP, known.attributes).coords
    return xr.DataArray(variable, coords=coords, name="samples"), stored


class _Checked(BackendArray):
    """A stored array as xarray indexes it."""

    def __init__(self, stored: StoredArray) -> None:
        self.stored = stored
        self.shape = stored.shape
        self.dtype = stored.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, key: tuple[Any, ...]) -> AnyArray:
        boxes: list[slice] = []
        inside: list[int | slice] = []
        for part, size in zip(key, self.shape, strict=True):
            if not isinstance(part, slice):
                boxes.append(slice(int(part), int(part) + 1))
                inside.append(0)
                continue
            wanted = range(*part.indices(size))
            low, high = (min(wanted), max(wanted) + 1) if wanted else (0, 0)
            boxes.append(slice(low, high))
            inside.append(slice(None, None, wanted.step if wanted else 1))
        return np.asarray(self.stored.read(*boxes)[tuple(inside)])

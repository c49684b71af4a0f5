"""The samples of a workspace, checked against the digests that were made when they were written."""

from __future__ import annotations

import itertools
import math

import numpy as np

from somscale.engine.readers.views import flatten
from somscale.errors import ChunkError, WorkspaceError
from somscale.store.arrays import StoredArray, open_array
from somscale.store.fingerprints import fingerprint
from somscale.workspace.checking import Index, Inspection, expected_arrays
from somscale.workspace.listing import Listed
from somscale.workspace.recorded import ARRAY, DIGESTS, Recorded, recorded

__all__ = ["check_samples"]


def check_samples(found: Inspection, group: Listed) -> None:
    """Check coordinates, digests and, where they were copied, the values of the samples."""
    attributes = group.attributes()
    if attributes is None:
        if "zarr.json" in group.keys:
            found.bad(group.path, "its metadata cannot be read")
        else:
            found.open(group.path, "is what is left of something that was deleted")
        return
    try:
        known = recorded(group.location)
    except (KeyError, TypeError, ValueError):
        found.bad(group.path, "its attributes are not those that were written")
        return
    if known is None:
        return
    for name in expected_arrays(group, attributes):
        found.array(group, name)
    if not known.complete:
        found.open(group.path, _progress(group, known))
        return
    before = len(found.damaged)
    found.array(group, "digests")
    if known.copied:
        _check_values(found, group, known, comparable=len(found.damaged) == before)


def _progress(group: Listed, known: Recorded) -> str:
    if not known.copied:
        return "their fingerprint is still to be made"
    try:
        array = open_array(group.location, ARRAY)
    except WorkspaceError:
        return "were only begun"
    total = math.prod(array.units())
    missing = total - group.present("samples")
    return f"{missing:,} of {total:,} chunks are still to be written"


def _check_values(found: Inspection, group: Listed, known: Recorded, *, comparable: bool) -> None:
    if not comparable:
        found.array(group, "samples")
        return
    try:
        array = open_array(group.location, ARRAY)
        flat = flatten(array, range(len(array.shape)), known.n_sample_dims)
        digests = fingerprint(flat).digests
        wanted = known.fingerprint(group.location)
    except ChunkError:
        found.array(group, "samples")  # finds all of them
        return
    except WorkspaceError as error:
        own = DIGESTS if DIGESTS in str(error) else ARRAY
        found.bad(own, "does not belong to the samples there" if own == DIGESTS else str(error))
        return
    found.chunks += math.prod(array.units())
    found.bytes += group.bytes_of("samples")
    if digests.shape != wanted.digests.shape:
        found.bad(ARRAY, f"has {array.shape} values, and samples of {known.shape} were written")
        return
    bad = np.flatnonzero((digests != wanted.digests).any(axis=1))
    if bad.size:
        for index in _touched(array, known.n_sample_dims, bad * wanted.rows, wanted.rows):
            found.bad(ARRAY, "holds other values than were written", index)


def _touched(array: StoredArray, n_sample_dims: int, firsts: np.ndarray, rows: int) -> list[Index]:
    """Chunks of the samples in some blocks of `rows` samples that follow each other."""
    touched: list[Index] = []
    sizes = array.shape[:n_sample_dims]
    for index in itertools.product(*map(range, array.units())):
        box = array.box(index)[:n_sample_dims]
        # a chunk is of samples that follow each other
        start = int(np.ravel_multi_index([part.start for part in box], sizes))
        stop = start + math.prod(part.stop - part.start for part in box)
        if bool(((firsts < stop) & (firsts + rows > start)).any()):
            touched.append(index)
    return touched

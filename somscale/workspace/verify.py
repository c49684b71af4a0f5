"""Check a workspace, chunk by chunk, and mend it where that is wished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from somscale.engine.readers.samples import Samples, open_samples
from somscale.store.location import Location
from somscale.workspace.checking import Inspection
from somscale.workspace.checking_runs import check_runs
from somscale.workspace.checking_samples import check_samples
from somscale.workspace.findings import Finding, Verification
from somscale.workspace.listing import ROOMS, Listing, list_workspace
from somscale.workspace.mending import Repair
from somscale.workspace.recorded import recorded

if TYPE_CHECKING:
    from somscale.workspace.workspace import Workspace

__all__ = ["Verification", "verify"]


def verify(workspace: Workspace, *, repair: bool = False, samples: Any = None) -> Verification:
    """Read every chunk of a workspace, and check what it holds.

    Checksums, chunks that are missing, the samples against their digests, distances and ranks
    that cannot be, and the checkpoints of unfinished runs.  One chunk a thread is held.

    Parameters
    ----------
    workspace : Workspace
        What is checked.
    repair : bool
        Whether to mend: chunks of matrices that are damaged or missing are computed again,
        and nothing else is; chunks of samples are copied again; results that are damaged are
        deleted, since the same call computes them again.  Maps that are damaged are left.
    samples : optional
        The samples, for a repair of chunks that hold them, or of matrices where the workspace
        has only their fingerprint.

    Returns
    -------
    Verification
        What is damaged, repaired and not complete; prints as text.

    Raises
    ------
    WorkspaceError
        A repair of what can only be read, or the store cannot be listed.
    WorkspaceBusyError
        A repair while another process writes.
    """
    location = workspace.location
    if not repair:
        return _told(location, _inspect(location, list_workspace(location)), [])
    location.check_writable()
    given = _opened(location, samples)
    with workspace.writing():
        listing = list_workspace(location)
        found = _inspect(location, listing)
        repairing = Repair(location, listing, found, given)
        repairing.mend()
    return _told(location, found, repairing.repaired)


def _opened(location: Location, samples: Any) -> Samples | None:
    """Samples that are given, on the dims that the workspace has them on."""
    if samples is None or isinstance(samples, Samples):
        return samples
    known = recorded(location)
    named = known is not None and known.sample_dims != ("sample",)
    return open_samples(samples, sample_dims=list(known.sample_dims) if known and named else None)


def _inspect(location: Location, listing: Listing) -> Inspection:
    found = Inspection()
    for room in ROOMS:
        groups = listing.of(room)
        if not groups:
            continue
        if room != "samples" and listing.room_is_torn(room):
            found.bad(room, "its metadata cannot be read")
        for group in groups:
            if room == "samples":
                check_samples(found, group)
            else:
                found.group(group)
    check_runs(found, location)
    return found


def _told(location: Location, found: Inspection, repaired: list[Finding]) -> Verification:
    return Verification(
        location.name,
        tuple(found.damaged),
        tuple(repaired),
        tuple(found.unfinished),
        found.checked,
    )

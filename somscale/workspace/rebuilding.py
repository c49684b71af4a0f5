"""The writer of a matrix, made again from what is kept with it."""

from __future__ import annotations

from dataclasses import replace

from somscale.engine.readers.samples import Samples
from somscale.errors import WorkspaceError
from somscale.metrics.asking.pair_wishes import Measure
from somscale.store.location import Location
from somscale.store.provenance import kept_account
from somscale.workspace.matrices import Kind, MatrixWriter
from somscale.workspace.reading import read_as_kept
from somscale.workspace.samples import stored_samples
from somscale.workspace.stored import reading_of

__all__ = ["check_rebuildable", "writer_of"]


def writer_of(
    location: Location, kind: Kind, name: str, samples: Samples | None = None
) -> MatrixWriter:
    """What writes a matrix that is there, in whole or in part.

    Parameters
    ----------
    location : Location
        The workspace.
    kind, name
        Of the matrix.
    samples : Samples, optional
        The samples without conditions; by default those of the workspace.

    Raises
    ------
    WorkspaceError
        It is of a function of the user's, or what is kept of it is not enough; or the
        workspace has only the fingerprint of its samples, and none are given.
    """
    path = f"{kind}/{name}"
    check_rebuildable(location, kind, name)
    account = kept_account(location.group(path, mode="r").attrs)
    raw = stored_samples(location) if samples is None else samples
    raw = replace(raw, missing=account["missing"])
    read = read_as_kept(raw, location, path)
    if reading_of(read) != account["reading"]:
        raise WorkspaceError(
            f"how the samples of {path} were read cannot be told any more; write it again with "
            "overwrite=True"
        )
    measure = Measure(account["distance"], account["p"])
    return MatrixWriter(location, kind, name, read, measure, account, account.get("dtype"))


def check_rebuildable(location: Location, kind: Kind, name: str) -> None:
    """Refuse a matrix that cannot be computed from what is kept with it.

    Raises
    ------
    WorkspaceError
        As for :func:`writer_of`, but for the samples.
    """
    path = f"{kind}/{name}"
    account = kept_account(location.group(path, mode="r").attrs)
    if "function" in account:
        raise WorkspaceError(
            f"{account['distance']} is not kept; call write_{kind} with it again, which computes "
            "only what is missing"
        )
    if not {"missing", "reading", "distance", "p"} <= set(account):
        raise WorkspaceError(
            f"what {path} was made from cannot be told any more; write it again with overwrite=True"
        )

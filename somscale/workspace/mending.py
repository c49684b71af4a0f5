"""Mend a workspace: compute or copy again what fails, and leave all else as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from somscale.engine.readers.samples import Samples
from somscale.engine.readers.streamed import whole_source
from somscale.engine.readers.views import flatten
from somscale.errors import MemoryBudgetError, WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.fingerprints import Fingerprint, fingerprint
from somscale.store.groups import group_attributes, put_variable
from somscale.store.keys import delete_key, delete_prefix, stamp_of
from somscale.store.location import Location
from somscale.workspace.checking import Inspection, is_matrix, matrix_of
from somscale.workspace.copying import copy_samples
from somscale.workspace.findings import Finding
from somscale.workspace.listing import Listing
from somscale.workspace.matrices import Kind, MatrixWriter, coords_of_matrix
from somscale.workspace.rebuilding import check_rebuildable, writer_of
from somscale.workspace.recorded import ARRAY, DIGESTS, GROUP, complete, recorded

__all__ = ["Repair"]

_AGAIN = "computed again"
_REFUSED = (WorkspaceError, MemoryBudgetError)


@dataclass
class Repair:
    """Mends what was found; `found` keeps what could not be, and why.

    Parameters
    ----------
    location : Location
        The workspace.
    listing : Listing
        What there was.
    found : Inspection
        What is wrong.
    samples : Samples or None
        The samples without conditions, as they were given.
    repaired : list of Finding
        What was mended.
    """

    location: Location
    listing: Listing
    found: Inspection
    samples: Samples | None
    repaired: list[Finding] = field(default_factory=list)

    def mend(self) -> None:
        """Mend everything: the samples first, from which matrices are computed."""
        for finding in [f for f in self.found.damaged if "/" not in f.path and f.path != GROUP]:
            delete_key(self.location, f"{finding.path}/zarr.json")
            self.location.group(finding.path, mode="a")
            self._done([finding], "written again")
        self._mend_samples(self._of(GROUP))
        for path in self.listing.groups:
            damaged, open_ones = self._of(path), self._open_of(path)
            if path == GROUP or (not damaged and not open_ones):
                continue
            if is_matrix(path):
                self._mend_matrix(path, damaged, open_ones)
            else:
                self._mend_dataset(path, damaged, open_ones)
        for finding in [f for f in self.found.damaged if f.path.startswith("partials/")]:
            delete_prefix(self.location, finding.path)
            self._done([finding], "dropped; that task is done again")

    def _of(self, path: str) -> list[Finding]:
        return [f for f in self.found.damaged if f.path == path or f.path.startswith(f"{path}/")]

    def _open_of(self, path: str) -> list[Finding]:
        return [f for f in self.found.unfinished if f.path == path]

    def _done(self, findings: Sequence[Finding], outcome: str) -> None:
        self.repaired += [finding.ending(outcome) for finding in findings]
        self.found.unfinished = [f for f in self.found.unfinished if f not in findings]

    def _failed(self, findings: Sequence[Finding], why: str) -> None:
        for kept in (self.found.damaged, self.found.unfinished):
            kept[:] = [f.ending(why) if f in findings else f for f in kept]

    def _mend_dataset(
        self, path: str, damaged: Sequence[Finding], open_ones: Sequence[Finding]
    ) -> None:
        """A result or a map."""
        if damaged and path.startswith("maps/"):
            self._failed(damaged, "keep the map again under this name")
            return
        delete_prefix(self.location, path)
        again = "the same call computes it again" if path.startswith("results/") else "removed"
        self._done(damaged, f"deleted with the whole of {path}; {again}")
        self._done(open_ones, "deleted" if again == "removed" else f"deleted; {again}")

    def _mend_matrix(
        self, path: str, damaged: Sequence[Finding], open_ones: Sequence[Finding]
    ) -> None:
        kind, _, name = path.partition("/")
        if stamp_of(self.location, f"{path}/zarr.json") is None:
            delete_prefix(self.location, path)
            self._done([*damaged, *open_ones], "deleted")
            return
        if any(finding.path == path for finding in damaged):
            self._failed(damaged, "delete it and write it again")
            return
        try:
            check_rebuildable(self.location, cast(Kind, kind), name)
        except WorkspaceError as error:
            self._give_up(path, damaged)
            self._failed([*damaged, *open_ones], str(error))
            return
        try:
            self._compute(path, damaged)
        except _REFUSED as error:
            self._failed([*damaged, *open_ones], str(error))
            return
        self._done(damaged, _AGAIN)
        self._done(open_ones, "completed")

    def _give_up(self, path: str, damaged: Sequence[Finding]) -> None:
        """Delete chunks that cannot be computed here, so that whoever can does so."""
        main = _main_arrays(path)
        chunks = [f for f in damaged if f.chunk is not None and f.path in main]
        if chunks:
            self.location.group(path, mode="a").attrs["complete"] = False
            self._delete_chunks(chunks)

    def _compute(self, path: str, damaged: Sequence[Finding]) -> None:
        writer = self._writer(path)
        writer.plan()  # what does not fit is refused before anything is deleted
        main = _main_arrays(path)
        begun = all(stamp_of(self.location, f"{array}/zarr.json") for array in main)
        if not begun or any(f.chunk is None and f.path in main for f in damaged):
            delete_prefix(self.location, path)
            writer.write()
            return
        self.location.group(path, mode="a").attrs["complete"] = False
        coords = coords_of_matrix(writer.samples)
        for array in {f.path for f in damaged} - main:
            own = array.removeprefix(f"{path}/")
            put_variable(self.location, path, own, coords[own])
        chunks = [f for f in damaged if f.path in main]
        self._delete_chunks(chunks)
        writer.mend()
        self._look_again(chunks)

    def _writer(self, path: str) -> MatrixWriter:
        kind, _, name = path.partition("/")
        known = recorded(self.location)
        own = known is not None and known.copied
        if own and not set(self._of(GROUP)) <= {f.ending("") for f in self.repaired}:
            raise WorkspaceError("the samples are damaged themselves, and come first")
        samples = None if own else self._checked_samples()
        return writer_of(self.location, cast(Kind, kind), name, samples)

    def _delete_chunks(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if finding.chunk is not None:
                array = open_array(self.location, finding.path)
                delete_key(self.location, array.key(finding.chunk))

    def _look_again(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if finding.chunk is not None:
                array = open_array(self.location, finding.path)
                array.read(*array.box(finding.chunk))

    def _checked_samples(self) -> Samples:
        """The samples that were given, if they are those of the workspace."""
        known = recorded(self.location)
        if self.samples is None:
            raise WorkspaceError("its repair needs the samples: give samples=")
        if known is None or known.difference(self.samples) is not None:
            raise WorkspaceError("the samples that are given are not those of the workspace")
        if fingerprint(whole_source(self.samples)).text() != known.text:
            raise WorkspaceError("the samples that are given are not those of the workspace")
        return self.samples

    def _mend_samples(self, damaged: Sequence[Finding]) -> None:
        if not damaged:
            return
        if any(f.path == GROUP for f in damaged):
            self._failed(damaged, "make the workspace anew")
            return
        chunks = [f for f in damaged if f.path == ARRAY and f.chunk is not None]
        digests = [f for f in damaged if f.path == DIGESTS]
        coords = [f for f in damaged if f.path not in (ARRAY, DIGESTS)]
        lost = [f for f in damaged if f.path == ARRAY and f.chunk is None]
        self._failed(lost, "make the workspace anew")
        try:
            if chunks or coords:
                given = self._checked_samples()
                self._copy_chunks(given, chunks)
                self._copy_coords(given, coords)
            if digests and not lost:
                self._digest_again()
        except WorkspaceError as error:
            self._failed([*chunks, *coords, *digests], str(error))
            return
        self._done([*chunks, *coords], "copied again")
        if not lost:
            self._done(digests, "made again")

    def _copy_chunks(self, given: Samples, chunks: Sequence[Finding]) -> None:
        if not chunks:
            return
        known = recorded(self.location)
        assert known is not None
        self._delete_chunks(chunks)
        array = open_array(self.location, ARRAY)
        self._complete(copy_samples(whole_source(given), array, known.n_sample_dims))

    def _copy_coords(self, given: Samples, findings: Sequence[Finding]) -> None:
        coords = {**given.scalars, **given.features.coords, **given.rows.coords}
        for path in {f.path for f in findings}:
            name = path.removeprefix(f"{GROUP}/")
            if name not in coords:
                raise WorkspaceError(f"the samples that are given have no coordinate {name!r}")
            put_variable(self.location, GROUP, name, coords[name])

    def _digest_again(self) -> None:
        known = recorded(self.location)
        assert known is not None
        if known.copied:
            array = open_array(self.location, ARRAY)
            source = flatten(array, range(len(array.shape)), known.n_sample_dims)
        else:
            source = whole_source(self._checked_samples())
        self._complete(fingerprint(source))

    def _complete(self, found: Fingerprint) -> None:
        known = group_attributes(self.location, GROUP) or {}
        if found.text() != known.get("fingerprint"):
            raise WorkspaceError("the samples are not those that were written")
        complete(self.location, found)


def _main_arrays(path: str) -> set[str]:
    """The arrays of a matrix's group that are computed."""
    found = {f"{path}/{matrix_of(path)}"}
    return found | {f"{path}/taken"} if path.startswith("ranks/") else found

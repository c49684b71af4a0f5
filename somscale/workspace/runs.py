"""Runs of a workspace: known by what they are made of, gone on with, and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from somscale.codebook import TrainedMap
from somscale.engine.checkpoints import checkpointing
from somscale.engine.readers.samples import Samples
from somscale.errors import WorkspaceError
from somscale.metrics.asking.question import Candidate, Problem, Request
from somscale.store.checkpoints import WorkspaceCheckpoints
from somscale.store.digests import digest_of
from somscale.store.keys import delete_prefix
from somscale.store.location import Location
from somscale.store.points import reach
from somscale.store.provenance import differences, versions
from somscale.workspace.results import read_result, result_provenance, write_result
from somscale.workspace.stored import reading_of

__all__ = ["Run", "account_of_run"]


def account_of_run(
    problem: Problem,
    requests: Sequence[Request],
    samples: str,
    *,
    named: bool,
    omitted: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """What a result is made of; equal accounts mean equal results.

    Parameters
    ----------
    problem, requests
        The question.
    samples : str
        Fingerprint of the samples.
    named : bool
        Whether the candidates have names of the user's.
    omitted
        Indices that were left out, by the reason.
    """
    own = problem.samples
    account: dict[str, Any] = {"versions": versions(), "samples": samples}
    if own is not None:
        account["reading"] = reading_of(own)
        weights = own.sample_weights
        account["weights"] = None if weights is None else weights.identity().hex()
        account["labels_of_samples"] = digest_of(_labels_of(own), own.units, own.long_name)
    account["kind"] = problem.kind
    account["candidates"] = {
        name: _candidate_digest(candidate) for name, candidate in problem.candidates.items()
    }
    account["named"] = named
    if problem.numbered:
        account["numbered"] = True
    account["labels"] = None if problem.labels is None else problem.labels.identity().hex()
    account["categories"] = None if problem.labels is None else digest_of(problem.labels.categories)
    account["sampling"] = None if problem.sampling is None else list(problem.sampling)
    account["metrics"] = {
        request.label: digest_of(request.spec.name, dict(request.parameters), request.notes)
        for request in requests
    }
    # JSON's mappings have no order, and a Dataset has
    account["order"] = [list(problem.candidates), [request.label for request in requests]]
    account["left_out"] = {reason: list(found) for reason, found in omitted.items()}
    return account


def _labels_of(samples: Samples) -> list[Any]:
    return [
        (axes.dims, axes.shape, {name: (v.dims, v.values) for name, v in axes.coords.items()})
        for axes in (samples.rows, samples.features)
    ]


def _candidate_digest(candidate: Candidate) -> str:
    if isinstance(candidate, TrainedMap):
        return digest_of(candidate.codes, candidate.grid.to_spec())
    parts: list[object] = [candidate.identity()]
    if hasattr(candidate, "categories"):
        parts.append(candidate.categories)
    return digest_of(*parts)


@dataclass(frozen=True)
class Run:
    """One evaluation in a workspace.

    Parameters
    ----------
    location : Location
        The workspace.
    account : mapping
        What its result is made of.
    given_name : str or None
        The user's name of it; by default its kind and a part of its digest.
    means : sequence of str
        Stored matrices that may be read: they are no part of the question, but sums from
        distances that are stored differ in the last digits from others, and a run that goes
        on must not mix both.
    """

    location: Location
    account: Mapping[str, Any]
    given_name: str | None = None
    means: Sequence[str] = ()

    @property
    def token(self) -> str:
        """Digest of the account."""
        return digest_of(dict(self.account))

    @property
    def name(self) -> str:
        """Name of the result."""
        return self.given_name or f"{self.account['kind']}-{self.token[:8]}"

    def finished(self) -> xr.Dataset | None:
        """The result, where the run is complete already.

        Raises
        ------
        WorkspaceError
            There is a result of this name that is made of something else.
        """
        known = result_provenance(self.location, self.name)
        if known is None:
            return None
        if not self.location.read_only:
            # a run that was stopped after its result was whole has left them
            self._checkpoints().clear()
        found = differences(known, self.account)
        if found:
            raise WorkspaceError(
                f"results/{self.name} in {self.location.name} is of another question ({found}); "
                "give this run another name, or delete that result"
            )
        return read_result(self.location, self.name)

    def compute(self, work: Callable[[], xr.Dataset]) -> xr.Dataset:
        """Compute the result, from where it stopped if it was begun, and keep it."""
        checkpoints = self._checkpoints()
        with checkpointing(checkpoints):
            result = work()
        write_result(self.location, self.name, result, dict(self.account))
        checkpoints.clear()
        reach("run:cleaned")
        return result

    def forget(self) -> None:
        """Delete what the run had finished, and its result; not one of another question."""
        known = result_provenance(self.location, self.name)
        if known is not None and not differences(known, self.account):
            delete_prefix(self.location, f"results/{self.name}")
        self._checkpoints().clear()

    def _checkpoints(self) -> WorkspaceCheckpoints:
        return WorkspaceCheckpoints(self.location, digest_of(self.token, list(self.means))[:16])

"""A question that is answered from a workspace, and whose answer stays there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray as xr

from somscale.engine.readers.samples import Samples
from somscale.errors import InputError
from somscale.metrics.answering.asked import Asked
from somscale.metrics.asking.pair_wishes import measure_of
from somscale.metrics.asking.problem import READING
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.stored import StoredMatrices
from somscale.store.location import Location
from somscale.workspace.runs import Run, account_of_run
from somscale.workspace.stored import stored_matrices
from somscale.workspace.workspace import Workspace

__all__ = ["judged_samples", "kept_answer", "stored_for"]


def judged_samples(
    workspace: Workspace, samples: Any, settings: Mapping[str, Any], distance: Any
) -> Samples:
    """The samples that a workspace has, or those that are given, compared with them.

    Raises
    ------
    InputError
        They are a matrix of distances, or of another workspace.
    WorkspaceError
        They are other samples, or there are none.
    """
    if isinstance(distance, str) and distance == "precomputed":
        raise InputError(
            "a workspace is of samples, and distance='precomputed' gives their distances; "
            "leave store= out, or give the samples"
        )
    reading = {name: settings[name] for name in READING}
    if not isinstance(samples, Workspace):
        return workspace.samples(samples, take=True, **reading)
    if samples.location != workspace.location:
        raise InputError(
            f"the samples are those of {samples.name}, and store= is {workspace.name}; "
            "give one of them"
        )
    return workspace.samples(**reading)


def kept_answer(
    workspace: Workspace,
    asked: Asked,
    problem: Problem,
    *,
    named: bool,
    run: str | None,
    resume: bool,
) -> xr.Dataset:
    """The answer to a question: as it was kept, or computed from where that was stopped.

    Parameters
    ----------
    workspace : Workspace
        Held for writing, unless it is read-only: then nothing is kept.
    asked, problem
        The question.
    named : bool
        Whether the candidates have names of the user's.
    run : str or None
        Name of the result.
    resume : bool
        Whether what the same question has left is of use.
    """
    fingerprint = workspace.fingerprint
    problem, requests = asked.posed(problem)
    omitted = asked.omitted(problem)
    account = account_of_run(problem, requests, fingerprint, named=named, omitted=omitted)
    stored = stored_for(workspace.location, problem, requests, fingerprint)
    kept = Run(workspace.location, account, run, means=_serving(stored))
    if not resume:
        kept.forget()
    found = kept.finished()
    if found is not None:
        return found

    def compute() -> xr.Dataset:
        result = asked.answer(replace(problem, stored=stored), requests, named=named)
        result.attrs["stored_matrices"] = _told(stored)
        return result

    return compute() if workspace.read_only else kept.compute(compute)


def stored_for(
    location: Location, problem: Problem, requests: Sequence[Request], samples: str
) -> StoredMatrices | None:
    """The matrices of a workspace that some requests may read.

    Parameters
    ----------
    samples : str
        Fingerprint of the samples.
    """
    if problem.samples is None:
        return None
    measures = [measure_of(problem, r.parameters) for r in requests if r.spec.needs]
    return stored_matrices(
        location, problem.samples, list(dict.fromkeys(measures)), fingerprint=samples
    )


def _serving(stored: StoredMatrices | None) -> list[str]:
    return [] if stored is None else sorted(stored.names.values())


def _told(stored: StoredMatrices | None) -> str:
    """Which stored matrices were read, and why others were not, as JSON."""
    if stored is None:
        return json.dumps({"read": [], "passed_over": {}})
    return json.dumps({"read": sorted(stored.used), "passed_over": stored.passed_over})

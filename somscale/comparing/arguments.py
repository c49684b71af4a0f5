"""What a comparison is asked for, each argument checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from somscale.comparing.numbers import is_number
from somscale.errors import InputError
from somscale.evaluate import open_candidates
from somscale.metrics.asking.problem import READING, pose, with_sampling
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.selection import Metrics, select
from somscale.workspace import Workspace
from somscale.workspace.answering import stored_for

__all__ = ["question_of"]

_INTERVALS: Final = ("bootstrap", "anchors", None)
_POLICIES: Final = {"noise": "cluster", "noise_label": -1, "missing_labels": "error"}
LEAST_RESAMPLES: Final = 40
"""Of fewer none would lie outside an interval of 95 %."""


def question_of(
    samples: Any,
    candidates: Any,
    metrics: Metrics,
    labels: Any,
    intervals: Any,
    n_boot: Any,
    seed: Any,
    options: Mapping[str, Any],
) -> tuple[Problem, list[Request]]:
    """Candidates of one kind, and indices that are one number each."""
    if not isinstance(candidates, dict):
        raise InputError(
            "candidates are compared by their names: give a dict like {'small': som, 'large': "
            f"som}}, not a {type(candidates).__name__}"
        )
    if len(candidates) < 2:
        raise InputError(
            f"a comparison needs at least two candidates, and the dict holds {len(candidates)}; "
            "ss.evaluate judges one"
        )
    rest = dict(options)
    anchors = rest.pop("sample_anchors", None)
    _check(intervals, n_boot, seed, anchors)
    cost, convention = rest.pop("cost", None), rest.pop("convention", None)
    policies = {n.removesuffix("_labels"): rest.pop(n, value) for n, value in _POLICIES.items()}
    reading = {name: rest.pop(name, value) for name, value in READING.items()}
    workspace, samples = _samples_of(samples, rest.pop("store", None), reading)
    opened, _ = open_candidates(candidates)
    distance = rest.get("distance", "euclidean")
    problem = pose(samples, opened, labels, policies, reading, distance=distance)
    problem = with_sampling(problem, anchors, seed)
    made = select(metrics, problem, cost=cost, convention=convention, parameters=rest)
    requests = _numbers(metrics, made)
    if workspace is not None:
        stored = stored_for(workspace.location, problem, requests, workspace.fingerprint)
        problem = replace(problem, stored=stored)
    return problem, requests


def _samples_of(
    samples: Any, store: Any, reading: Mapping[str, Any]
) -> tuple[Workspace | None, Any]:
    """The workspace whose distances and ranks are read, and the samples, compared with its own."""
    if isinstance(samples, Workspace):
        if store is not None:
            raise InputError("the samples are a workspace's own; leave store= out")
        return samples, samples.samples(**reading)
    if store is None:
        return None, samples
    workspace = store if isinstance(store, Workspace) else Workspace(store, mode="r")
    return workspace, workspace.samples(samples, **reading)


def _numbers(metrics: Metrics, requests: Sequence[Request]) -> list[Request]:
    """The requests that are one number each; others are refused if they are named."""
    named = {metrics} if isinstance(metrics, str) else set(metrics)
    for request in requests:
        if request.label in named and not is_number(request):
            dims = request.spec.dims
            along = request.spec.parameters_as_dims
            mend = f"give one {' and one '.join(along)}" if along == dims else "use ss.evaluate"
            raise InputError(
                f"{request.label} is no single number but lies on {', '.join(dims)}, so that "
                f"candidates have no ranks by it; {mend}"
            )
    numbers = [request for request in requests if is_number(request)]
    if not numbers:
        raise InputError(f"metrics={metrics!r} holds no index that is a single number")
    return numbers


def _check(intervals: Any, n_boot: Any, seed: Any, anchors: Any) -> None:
    if not (intervals is None or isinstance(intervals, str)) or intervals not in _INTERVALS:
        raise InputError(f"intervals is one of {_INTERVALS}, not {intervals!r}")
    if intervals == "anchors" and anchors is None:
        raise InputError("intervals='anchors' are those of estimates; give sample_anchors= as well")
    if not _is_whole(n_boot) or n_boot < LEAST_RESAMPLES:
        raise InputError(
            f"n_boot is a whole number from {LEAST_RESAMPLES} on, of which some lie outside a 95 % "
            f"interval, not {n_boot!r}"
        )
    if not _is_whole(seed) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed is a whole number from 0 on, not {seed!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)

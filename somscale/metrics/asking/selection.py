"""Which indices a user asks for: by name, by family, all that apply, or in variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.asking.conventions import convention_parameters
from somscale.metrics.asking.limits import (
    is_long_walk,
    most_clusters,
    pairs_obstacle,
    size_obstacle,
    takes_distance,
)
from somscale.metrics.asking.pair_wishes import named_distance
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.requests import make_request, share_values
from somscale.metrics.asking.reserved import RESERVED_LABELS
from somscale.metrics.asking.unit_columns import grid_of
from somscale.metrics.spec import MetricSpec, all_specs, find_spec

__all__ = ["Metrics", "left_out", "select"]

Metrics: TypeAlias = str | Sequence[str] | Mapping[str, str | tuple[str, Mapping[str, Any]]]

_COSTS = ("linear", "pairs", "ranks")


def select(
    metrics: Metrics,
    problem: Problem,
    *,
    cost: str | None = None,
    convention: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> list[Request]:
    """The requests that `metrics` stands for, each checked.

    Raises
    ------
    UnknownMetricError
        An unknown name.
    InputError
        An index that does not apply, a parameter no index has, or nothing left to do.
    """
    if cost is not None and cost not in _COSTS:
        raise InputError(f"cost is one of {_COSTS}, not {cost!r}")
    shared = dict(parameters or {})
    wanted = _wanted(metrics, problem, shared)
    _check_shared(shared, [spec for _, spec, _ in wanted])
    preset = convention_parameters(convention)
    grids = [g for g in map(grid_of, problem.candidates.values()) if g is not None]
    made = [
        make_request(
            label,
            spec,
            {
                **preset.get(spec.name, {}),
                **{n: v for n, v in shared.items() if n in spec.defaults},
                **own,
            },
            grids,
        )
        for label, spec, own in wanted
    ]
    # a parameter may choose a form that costs less than the index by itself
    requests = share_values(
        r for r in made if cost is None or _COSTS.index(r.spec.cost) <= _COSTS.index(cost)
    )
    if not requests:
        raise InputError(f"no index is left to compute: {_why_none(problem)}")
    for request in requests:
        # a parameter may have chosen a form that needs more than the index by itself
        obstacle = pairs_obstacle(request.spec, problem)
        if obstacle is not None:
            raise InputError(f"{request.label} does not apply: {obstacle}")
    return requests


def _wanted(
    metrics: Metrics, problem: Problem, shared: Mapping[str, Any]
) -> list[tuple[str, MetricSpec, dict[str, Any]]]:
    if isinstance(metrics, Mapping):
        return [_variant(label, wish, problem) for label, wish in metrics.items()]
    if not isinstance(metrics, str | Sequence):
        raise InputError(
            f"metrics is a name, a list of names or a dict of variants, not {metrics!r}"
        )
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    chosen: dict[str, MetricSpec] = {}
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"metrics are names, not {name!r}")
        for spec in _named(name, problem, shared):
            chosen[spec.name] = spec
    return [(name, spec, {}) for name, spec in chosen.items()]


def _named(name: str, problem: Problem, shared: Mapping[str, Any]) -> list[MetricSpec]:
    families = {spec.family for spec in all_specs()}
    if name == "all" or name in families:
        members = [s for s in all_specs() if name in ("all", s.family)]
        distance = named_distance(shared.get("distance", "euclidean"))
        fitting = [
            s
            for s in members
            if _obstacle(s, problem) is None
            and not _too_much(s, problem)
            and takes_distance(s, distance)
        ]
        if not fitting and name != "all":
            raise InputError(
                f"the family {name!r} does not apply: {_obstacle(members[0], problem)}"
            )
        return fitting
    spec = find_spec(name)
    obstacle = _obstacle(spec, problem)
    if obstacle is not None:
        raise InputError(f"{name} does not apply: {obstacle}")
    return [spec]


def _variant(label: Any, wish: Any, problem: Problem) -> tuple[str, MetricSpec, dict[str, Any]]:
    if not isinstance(label, str) or not label or "/" in label:
        raise InputError(f"a label is a text without '/', not {label!r}")
    if label in RESERVED_LABELS:
        raise InputError(f"the label {label!r} is a name of the result's own; choose another")
    name, own = (wish, {}) if isinstance(wish, str) else _pair(label, wish)
    spec = find_spec(name)
    obstacle = _obstacle(spec, problem)
    if obstacle is not None:
        raise InputError(f"{name} does not apply: {obstacle}")
    return label, spec, own


def _pair(label: str, wish: Any) -> tuple[str, dict[str, Any]]:
    match wish:
        case (str() as name, Mapping() as own):
            return name, dict(own)
    raise InputError(f"variant {label!r} is a name, or a pair (name, parameters), not {wish!r}")


def _too_much(spec: MetricSpec, problem: Problem) -> bool:
    """Whether an index is given only when asked for by name."""
    several = len(problem.candidates) > 1
    # fields of units and features, of ever so many candidates
    if "feature" in spec.dims and several:
        return True
    if is_long_walk(spec, problem):
        return True
    if spec.subject != "clusters":
        return False
    # clusters of two clusterings have no more in common than their names
    if "cluster" in spec.dims and several:
        return True
    largest = max(problem.size("cluster", name) for name in problem.candidates)
    return largest > most_clusters(spec)


def left_out(metrics: Metrics, problem: Problem) -> dict[str, list[str]]:
    """Indices that "all" leaves out although they apply, by the reason."""
    if metrics != "all":
        return {}
    exact = replace(problem, sampling=None)
    found: dict[str, list[str]] = {}
    for spec in all_specs():
        if _obstacle(spec, exact) is not None:
            continue
        if _obstacle(spec, problem) is not None:
            found.setdefault("a few samples do not estimate it", []).append(spec.name)
        elif is_long_walk(spec, problem):
            reason = "all pairs of so many samples are walked only for indices that are named"
            found.setdefault(reason, []).append(spec.name)
    return found


_PLURALS = {"map": "maps", "clusters": "clusterings", "embedding": "embeddings"}
_JUDGED = {
    "map": ("map", "a map"),
    "units": ("map", "a map"),
    "projection": ("map", "embedding", "a map or an embedding"),
    "clusters": ("clusters", "a clustering"),
    "partition": ("map", "clusters", "a map or a clustering"),
}


def _obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why an index cannot be computed here; None when it can."""
    *kinds, words = _JUDGED[spec.subject]
    if problem.kind not in kinds:
        return f"it judges {words}, and the candidates are {_PLURALS[problem.kind]}"
    if spec.subject in ("partition", "units") and problem.labels is None:
        return "it needs labels="
    if spec.subject == "clusters":
        if problem.samples is None:
            return "it needs samples"
        if "cluster" in spec.dims and len(problem.candidates) > 1 and _share_names(problem):
            return (
                "several clusterings stand side by side by the names of their clusters, and some "
                "clusters have no names of their own; evaluate each clustering apart"
            )
    return pairs_obstacle(spec, problem) or size_obstacle(spec, problem)


def _share_names(problem: Problem) -> bool:
    """Whether clusters of one clustering have the same name, as noise has that stands alone."""
    columns = [c for c in problem.candidates.values() if isinstance(c, Column)]
    named = [c.categories for c in columns if not isinstance(c.categories, range)]
    return any(len(np.unique(names)) < len(names) for names in named)


def _why_none(problem: Problem) -> str:
    if problem.kind == "embedding":
        weighted = [s for s in all_specs() if s.subject == "projection"]
        found = next(filter(None, (pairs_obstacle(s, problem) for s in weighted)), None)
        return found or "the selection is empty"
    if problem.labels is None and problem.samples is None and problem.kind != "map":
        return "clusterings are judged on samples or compared with labels; give one of them"
    if problem.kind == "embedding":
        return (
            "all indices of an embedding compare pairs of samples, which cost='linear' leaves out"
        )
    return "all that was named costs more"


def _check_shared(shared: Mapping[str, Any], specs: Sequence[MetricSpec]) -> None:
    known = {name for spec in specs for name in spec.defaults}
    for name in shared:
        if name not in known:
            text = ", ".join(sorted(known)) or "none"
            raise InputError(f"no index asked for has a parameter {name!r}; they have: {text}")

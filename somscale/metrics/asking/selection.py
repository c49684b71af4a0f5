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
    gaps_obstacle,
    is_dear,
    is_long_walk,
    most_clusters,
    not_given,
    pairs_obstacle,
    ranks_too_many,
    size_obstacle,
    takes_distance,
)
from somscale.metrics.asking.pair_wishes import named_distance
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.rank_values import RankScope, ties_obstacle
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
    preset = convention_parameters(convention, problem.kind)
    scope = RankScope.of(problem)
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
            scope,
        )
        for label, spec, own in wanted
    ]
    # a parameter may choose a form that costs less than the index by itself
    requests = share_values(r for r in made if not _costs_more(r.spec, cost))
    if not requests:
        raise InputError(f"no index is left to compute: {_why_none(problem)}")
    for request in requests:
        # a parameter may have chosen a form that needs more than the index by itself
        obstacle = pairs_obstacle(request.spec, problem)
        if obstacle is not None:
            raise InputError(f"{request.label} does not apply: {obstacle}")
    return requests


def _costs_more(spec: MetricSpec, cost: str | None) -> bool:
    return cost is not None and _COSTS.index(spec.cost) > _COSTS.index(cost)


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
    if name == "all" or name in _families():
        members = [s for s in all_specs() if name in ("all", s.family)]
        # who names a family that walks over pairs throughout names the walk
        unasked = name == "all" or any(s.cost == "linear" for s in members)
        distance = named_distance(shared.get("distance", "euclidean"))
        fitting = [
            s
            for s in members
            if _obstacle(s, problem) is None
            and not _too_much(s, problem)
            and not (unasked and (is_long_walk(s, problem) or is_dear(s)))
            and _rank_obstacle(s, problem, shared) is None
            and not_given(s, shared) is None
            and takes_distance(s, distance)
        ]
        if not fitting and name != "all":
            why = _why_no_member(members, problem, shared)
            raise InputError(f"the family {name!r} does not apply: {why}")
        return fitting
    spec = find_spec(name)
    obstacle = _obstacle(spec, problem)
    if obstacle is not None:
        raise InputError(f"{name} does not apply: {obstacle}")
    return [spec]


def _families() -> set[str]:
    return {spec.family for spec in all_specs()}


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
    if spec.subject != "clusters":
        return False
    # clusters of two clusterings have no more in common than their names
    if "cluster" in spec.dims and several:
        return True
    largest = max(problem.size("cluster", name) for name in problem.candidates)
    return largest > most_clusters(spec)


def left_out(
    metrics: Metrics,
    problem: Problem,
    *,
    cost: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, list[str]]:
    """Indices that "all" or a family leaves out although they apply, by the reason."""
    if isinstance(metrics, Mapping):
        return {}
    names = {metrics} if isinstance(metrics, str) else set(metrics)
    shared = parameters or {}
    broad = {name for name in names if name == "all" or name in _families()}
    chosen = names.union(*({s.name for s in _named(n, problem, shared)} for n in broad))
    samples = problem.samples
    without_gaps = None if samples is None else replace(samples, missing="raise")
    exact = replace(problem, sampling=None, samples=without_gaps)
    found: dict[str, list[str]] = {}
    for spec in all_specs():
        if broad.isdisjoint({"all", spec.family}) or spec.name in chosen:
            continue
        if _obstacle(spec, exact) is not None:
            continue
        obstacle = None if _costs_more(spec, cost) else _rank_obstacle(spec, problem, shared)
        gaps = gaps_obstacle(spec, problem)
        if gaps is not None:
            obstacle = None if _costs_more(spec, cost) else gaps
        elif _obstacle(spec, problem) is not None:
            obstacle = "a few samples do not estimate it"
        elif obstacle is None and is_long_walk(spec, problem):
            obstacle = "all pairs of so many samples are walked only for indices that are named"
        elif obstacle is None and not_given(spec, shared) is not None:
            obstacle = not_given(spec, shared)
        elif obstacle is None and is_dear(spec):
            obstacle = "every value is placed among the codes only for indices that are named"
        if obstacle is not None:
            found.setdefault(obstacle, []).append(spec.name)
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
    labelled = spec.subject in ("partition", "units") or "agreement" in spec.tables
    if labelled and problem.labels is None:
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


def _rank_obstacle(spec: MetricSpec, problem: Problem, shared: Mapping[str, Any]) -> str | None:
    """Why an index of ranks is left out, under parameters that others share, unless named."""
    return ties_obstacle(spec, shared.get("ties")) or ranks_too_many(spec, problem, shared)


def _why_no_member(
    members: Sequence[MetricSpec], problem: Problem, shared: Mapping[str, Any]
) -> str:
    """Why no index of a family can be had, by one that judges what there is."""
    fitting = [s for s in members if problem.kind in _JUDGED[s.subject]]
    # of those that judge other things, the one that judges the most
    likely = fitting or sorted(members, key=lambda s: -len(_JUDGED[s.subject]))
    reasons = (
        _obstacle(s, problem) or _rank_obstacle(s, problem, shared) or not_given(s, shared)
        for s in likely
    )
    return next(filter(None, reasons), "its indices are given only when they are named")


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

"""One index by its own function: the same pass and the same answer as in ``evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.answering.compute import solve
from somscale.metrics.answering.labelled import errors_of_estimate, labelled
from somscale.metrics.asking.candidates import (
    check_lengths,
    coordinates_of,
    open_clusters,
    open_labels,
)
from somscale.metrics.asking.limits import pairs_obstacle, size_obstacle
from somscale.metrics.asking.problem import READING, pose, with_sampling
from somscale.metrics.asking.question import Answer, Problem
from somscale.metrics.asking.requests import make_request
from somscale.metrics.asking.unit_columns import grid_of, open_units
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import note_of, number_of
from somscale.reductions.contingency import Contingency

__all__ = [
    "compute_clusters_index",
    "compute_map_index",
    "compute_partition_index",
    "compute_projection_index",
    "compute_table_index",
    "compute_units_index",
]

_POLICIES = ("noise", "noise_label", "missing")
_CLUSTER_POLICIES = ("noise", "noise_label", "missing_labels")


def compute_map_index(
    spec: MetricSpec, samples: Any, som: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and a map."""
    reading = {name: given.get(name, default) for name, default in READING.items()}
    rest = {name: value for name, value in given.items() if name not in READING}
    return _compute(spec, pose(samples, {"map": som}, None, {}, reading), rest)


def compute_projection_index(
    spec: MetricSpec, samples: Any, projection: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and a map or an embedding, over pairs of samples."""
    if samples is None:
        raise InputError(f"{spec.name} compares distances of the samples; give them first")
    reading = {name: given.get(name, default) for name, default in READING.items()}
    rest = {name: value for name, value in given.items() if name not in READING}
    anchors, seed = rest.pop("sample_anchors", None), rest.pop("seed", 0)
    distance = rest.get("distance", "euclidean")
    clustering = InputError(
        f"{spec.name} judges a map or an embedding, and the second argument is a clustering; "
        "an embedding of one component has shape (N, 1)"
    )
    if len(getattr(projection, "shape", ())) == 1:
        # numbers of one component are no labels, which would be said of them first
        raise clustering
    problem = pose(samples, {"projection": projection}, None, {}, reading, distance=distance)
    if problem.kind == "clusters":
        raise clustering
    return _compute(spec, with_sampling(problem, anchors, seed), rest)


def compute_clusters_index(
    spec: MetricSpec, samples: Any, clusters: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and their clusters."""
    if samples is None:
        raise InputError(f"{spec.name} judges clusters on samples; give them first")
    reading = {name: given.get(name, default) for name, default in READING.items()}
    own = {name: "missing" if name == "missing_labels" else name for name in _CLUSTER_POLICIES}
    policies = {own[name]: given[name] for name in own if name in given}
    rest = {n: value for n, value in given.items() if n not in READING and n not in own}
    anchors, seed = rest.pop("sample_anchors", None), rest.pop("seed", 0)
    distance = rest.get("distance", "euclidean")
    problem = pose(samples, {"clusters": clusters}, None, policies, reading, distance=distance)
    if problem.kind != "clusters":
        found = "a map" if problem.kind == "map" else "an embedding"
        raise InputError(
            f"{spec.name} judges a clustering, and the second argument is {found}; give the "
            "cluster of every sample, such as its best-matching unit (ss.metrics.bmu), and mind "
            "the order (samples, clusters)"
        )
    obstacle = size_obstacle(spec, problem)
    if obstacle is not None:
        raise InputError(f"{spec.name} does not apply: {obstacle}")
    return _compute(spec, with_sampling(problem, anchors, seed), rest)


def compute_partition_index(
    spec: MetricSpec, labels: Any, clusters: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of two partitions."""
    policies = {name: given[name] for name in _POLICIES if name in given}
    rest = {name: value for name, value in given.items() if name not in _POLICIES}
    classes = open_labels(labels, coordinates_of(labels), missing=policies.get("missing", "error"))
    found: Column = open_clusters(clusters, coordinates_of(labels), **policies)
    check_lengths(classes, found)
    return _compute(spec, Problem({"clusters": found}, labels=classes), rest)


def compute_table_index(spec: MetricSpec, table: Any, given: Mapping[str, Any]) -> xr.DataArray:
    """Compute an index of two partitions that are counted already."""
    request = make_request(spec.name, spec, given)
    counted = Contingency.from_table(table)
    value = spec.formula(counted, **request.parameters)
    # a value of two partitions has no dim of samples, so none are needed
    uncounted = Column(np.zeros(0, np.int64), 0, range(counted.shape[1]), "clusters")
    answer = Answer(number_of(value), note_of(value))
    return labelled(Problem({"clusters": uncounted}), "clusters", request, answer)


def compute_units_index(
    spec: MetricSpec, labels: Any, units: Any, grid: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of labels on a map."""
    missing = given.get("missing", "error")
    rest = {name: value for name, value in given.items() if name != "missing"}
    classes = open_labels(labels, coordinates_of(labels), missing=missing)
    found = open_units(units, grid, coordinates_of(labels), missing=missing)
    check_lengths(classes, found)
    problem = Problem({"units": found}, labels=classes)
    obstacle = size_obstacle(spec, problem)
    if obstacle is not None:
        raise InputError(f"{spec.name} does not apply: {obstacle}")
    return _compute(spec, problem, rest)


def _compute(spec: MetricSpec, problem: Problem, given: Mapping[str, Any]) -> xr.DataArray:
    grids = [g for g in map(grid_of, problem.candidates.values()) if g is not None]
    request = make_request(spec.name, spec, given, grids)
    obstacle = pairs_obstacle(request.spec, problem)
    if obstacle is not None:
        raise InputError(f"{spec.name} does not apply: {obstacle}")
    candidate = next(iter(problem.candidates))
    answer = solve(problem, [request])[candidate][spec.name]
    array = labelled(problem, candidate, request, answer)
    array = array.assign_coords(errors_of_estimate(array, answer))
    parameter = spec.parameter
    if parameter is None:
        return array
    chosen = given.get(parameter, spec.defaults[parameter])
    if np.ndim(chosen) == 0 and chosen is not None:
        array = array.squeeze(parameter)
    return array

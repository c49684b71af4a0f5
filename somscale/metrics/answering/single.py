"""One index by its own function: the same pass and the same answer as in ``evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.arrays import array_of
from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.answering.assemble import assemble
from somscale.metrics.answering.compute import solve
from somscale.metrics.answering.labelled import errors_of_estimate, labelled, long_name_of
from somscale.metrics.asking.candidates import (
    check_lengths,
    coordinates_of,
    open_clusters,
    open_labels,
)
from somscale.metrics.asking.limits import pairs_obstacle, size_obstacle
from somscale.metrics.asking.problem import READING, pose, with_sampling
from somscale.metrics.asking.question import Answer, Problem
from somscale.metrics.asking.rank_values import RankScope
from somscale.metrics.asking.requests import make_request
from somscale.metrics.asking.unit_columns import grid_of, open_units
from somscale.metrics.passes.rank_finding import RankFinder
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import note_of, number_of
from somscale.reductions.contingency import Contingency

__all__ = [
    "compute_clusters_index",
    "compute_index",
    "compute_map_index",
    "compute_partition_index",
    "compute_projection_index",
    "compute_table_index",
    "compute_units_index",
    "put_off",
]

_POLICIES = ("noise", "noise_label", "missing")
_CLUSTER_POLICIES = ("noise", "noise_label", "missing_labels")


def compute_map_index(
    spec: MetricSpec, samples: Any, som: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and a map."""
    reading = {name: given.get(name, default) for name, default in READING.items()}
    rest = {name: value for name, value in given.items() if name not in READING}
    distance = rest.get("distance", "euclidean")
    problem = pose(samples, {"map": som}, None, {}, reading, distance=distance)
    return compute_index(spec, problem, rest)


def compute_projection_index(
    spec: MetricSpec, samples: Any, projection: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and a map or an embedding, over pairs of samples."""
    labels, missing_labels = None, "error"
    if "agreement" in spec.tables:
        given = dict(given)
        labels, missing_labels = given.pop("labels", None), given.pop("missing_labels", "error")
        if labels is None:
            raise InputError(f"{spec.name} counts neighbours of one class; give labels=")
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
    if "matrix" in spec.tables:
        samples = put_off(samples)
    policies = {"missing": missing_labels}
    judged = {"projection": projection}
    problem = pose(samples, judged, labels, policies, reading, distance=distance)
    if problem.kind == "clusters":
        raise clustering
    array = compute_index(spec, with_sampling(problem, anchors, seed), rest)
    if "matrix" in spec.tables and array.chunks is None:
        return array.copy(data=array_of(array.values))
    return array


def put_off(samples: Any) -> Any:
    """Samples in memory as a Dask array, so that what is large is computed once it is asked for."""
    if type(samples) is np.ndarray and samples.size:
        return array_of(samples)
    if isinstance(samples, xr.DataArray) and samples.chunks is None:
        return samples.chunk()
    return samples


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
    return compute_index(spec, with_sampling(problem, anchors, seed), rest)


def compute_partition_index(
    spec: MetricSpec, labels: Any, clusters: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of two partitions."""
    policies = {name: given[name] for name in _POLICIES if name in given}
    rest = {name: value for name, value in given.items() if name not in _POLICIES}
    classes = open_labels(labels, coordinates_of(labels), missing=policies.get("missing", "error"))
    found: Column = open_clusters(clusters, coordinates_of(labels), **policies)
    check_lengths(classes, found)
    return compute_index(spec, Problem({"clusters": found}, labels=classes), rest)


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
    return compute_index(spec, problem, rest)


def compute_index(
    spec: MetricSpec,
    problem: Problem,
    given: Mapping[str, Any],
    *,
    named: bool = False,
    ranks: RankFinder | None = None,
) -> xr.DataArray:
    """Compute one index.

    Parameters
    ----------
    given : mapping
        Its parameters.
    named : bool
        Whether the candidates stand along the dim ``candidate``; else there is one.
    ranks : RankFinder, optional
        Where ranks of neighbours come from.
    """
    grids = [g for g in map(grid_of, problem.candidates.values()) if g is not None]
    request = make_request(spec.name, spec, given, grids, RankScope.of(problem))
    obstacle = pairs_obstacle(request.spec, problem)
    if obstacle is not None:
        raise InputError(f"{spec.name} does not apply: {obstacle}")
    answers = solve(problem, [request], ranks or RankFinder())
    if named:
        return _squeezed(assemble(problem, [request], answers, named=True)[spec.name], spec, given)
    candidate = next(iter(problem.candidates))
    answer = answers[candidate][spec.name]
    array = labelled(problem, candidate, request, answer)
    array = array.assign_coords(errors_of_estimate(array, answer))
    return _squeezed(array, spec, given)


def _squeezed(array: xr.DataArray, spec: MetricSpec, given: Mapping[str, Any]) -> xr.DataArray:
    """The same without dims of parameters that are one number; these become coordinates."""
    for name in spec.parameters_as_dims:
        chosen = given.get(name, spec.defaults[name])
        if name not in array.dims:
            facts = {"long_name": long_name_of(name), "units": "1"}
            array = array.assign_coords({name: ((), array.attrs.pop(name), facts)})
        elif chosen is not None and np.ndim(chosen) == 0 and not isinstance(chosen, str | slice):
            array = array.squeeze(name)
    return array

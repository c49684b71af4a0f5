"""One index by its own function: the same pass and the same answer as in ``evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.columns import Column
from somscale.metrics.candidates import (
    check_lengths,
    coordinates_of,
    open_clusters,
    open_judged,
    open_labels,
    open_map,
)
from somscale.metrics.compute import Problem, solve
from somscale.metrics.labelled import labelled
from somscale.metrics.requests import make_request
from somscale.metrics.spec import MetricSpec

__all__ = ["compute_map_index", "compute_partition_index"]

_POLICIES = ("noise", "noise_label", "missing")


def compute_map_index(
    spec: MetricSpec, samples: Any, som: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of samples and a map."""
    opened = open_judged(samples)
    problem = Problem({"map": open_map(som, opened)}, opened)
    return _compute(spec, problem, given)


def compute_partition_index(
    spec: MetricSpec, labels: Any, clusters: Any, given: Mapping[str, Any]
) -> xr.DataArray:
    """Compute an index of two partitions."""
    policies = {name: given[name] for name in _POLICIES if name in given}
    rest = {name: value for name, value in given.items() if name not in _POLICIES}
    classes = open_labels(labels, {}, missing=policies.get("missing", "error"))
    found: Column = open_clusters(clusters, coordinates_of(labels), **policies)
    check_lengths(classes, found)
    return _compute(spec, Problem({"clusters": found}, labels=classes), rest)


def _compute(spec: MetricSpec, problem: Problem, given: Mapping[str, Any]) -> xr.DataArray:
    request = make_request(spec.name, spec, given)
    candidate = next(iter(problem.candidates))
    answer = solve(problem, [request])[candidate][spec.name]
    array = labelled(problem, candidate, request, answer)
    parameter = spec.parameter
    if parameter is None:
        return array
    if np.ndim(given.get(parameter, spec.defaults[parameter])) == 0:
        array = array.squeeze(parameter)
    return array

"""The front door: indices asked for, the passes they need, one Dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.planview import Plan
from somscale.engine.readers.columns import Column
from somscale.engine.readers.labels import check_policies
from somscale.engine.readers.samples import Samples
from somscale.errors import InputError
from somscale.metrics.assemble import assemble, refuse_clashes
from somscale.metrics.candidates import (
    check_lengths,
    coordinates_of,
    open_clusters,
    open_judged,
    open_labels,
    open_map,
)
from somscale.metrics.compute import Problem, plan_problem, solve
from somscale.metrics.selection import Metrics, select
from somscale.store import open_dataset

__all__ = ["evaluate", "plan"]


def evaluate(
    samples: Any,
    projection: Any,
    *,
    labels: Any = None,
    metrics: Metrics = "all",
    cost: str | None = None,
    noise: str = "cluster",
    noise_label: Any = -1,
    missing_labels: str = "error",
    **parameters: Any,
) -> xr.Dataset:
    """Judge a map or a clustering, or several candidates at once, by any number of indices.

    Parameters
    ----------
    samples : array, DataArray, Dask array, zarr.Array or path, (sample, feature)
        The samples.  A path leads to a Zarr store or a ``.npy`` file.  None is
        allowed where clusterings are judged against labels alone.
    projection : Dataset, path, MiniSom, array_like (sample,), or a dict of candidates
        A map (a path leads to its ``.zarr`` or ``.nc``), or a clustering (one label a
        sample).  A dict of candidates of one
        kind adds the dim ``candidate``; the samples are read once for all.
    labels : array_like, (sample,), optional
        Classes of the samples; they add the external indices (labels against
        clusters, or against a map's units).  Labels and clusterings that are
        DataArrays are put in the samples' order by the coordinates they share.
    metrics : "all", name, sequence or mapping
        Indices or families by name; a mapping gives variants, label to name or
        to (name, parameters).
    cost : {"linear", "pairs", "ranks"}, optional
        Leave out indices that cost more.
    noise : {"cluster", "ignore", "singletons"}
        What `noise_label` means in a clustering.
    noise_label : optional
        The label of noise.
    missing_labels : {"error", "drop"}
        What to do with missing labels (nan, None, masked).
    **parameters
        Parameters of indices, for each index that has one of this name, for
        example ``temperature=[1, 2]``, ``kernel="window"``,
        ``neighborhood="vertex"``.

    Returns
    -------
    Dataset
        ``value(metric)``: every index that is one number, with coordinates
        ``direction``, ``lower``, ``upper``, ``metric_units``, ``long_name`` and
        ``source``, and ``note(metric)``: why a value is nan.  Every other index is a
        variable of its name, on dims ``unit``, ``temperature``, … and the samples' own.
        Lazy when the samples are a Dask collection, else computed.

    Raises
    ------
    InputError
        Arguments of the wrong shape, type or value.
    UnknownMetricError
        An unknown index; the nearest names are given.
    SampleValueError
        Samples that are not finite, the first one named.
    MemoryBudgetError
        A pass that does not fit the budget; nothing was computed.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> som = ss.codebook([[0.05], [1.05]], ss.Grid.chain(2))
    >>> q = ss.evaluate(samples, som)
    >>> round(float(q["value"].sel(metric="quantization_error")), 6)
    0.05
    """
    policies = {"noise": noise, "noise_label": noise_label, "missing": missing_labels}
    problem, named = _problem(samples, projection, labels, policies)
    requests = select(metrics, problem, cost=cost, parameters=parameters)
    refuse_clashes(problem, requests)
    return assemble(problem, requests, solve(problem, requests), named=named)


def plan(
    samples: Any,
    projection: Any,
    *,
    labels: Any = None,
    metrics: Metrics = "all",
    cost: str | None = None,
    **parameters: Any,
) -> Plan:
    """Say what :func:`evaluate` would do, without reading a sample.

    Parameters
    ----------
    samples, projection, labels, metrics, cost, **parameters
        As in :func:`evaluate`.

    Returns
    -------
    Plan
        Passes, tasks, bytes to read and projected peak memory; prints as text and
        shows as a table in a notebook.

    Raises
    ------
    MemoryBudgetError
        No plan fits the budget; the smallest budget that works is named.
    """
    options = ("noise", "noise_label", "missing_labels")
    given = {
        name.removesuffix("_labels"): parameters.pop(name) for name in options if name in parameters
    }
    problem, _ = _problem(samples, projection, labels, given)
    requests = select(metrics, problem, cost=cost, parameters=parameters)
    refuse_clashes(problem, requests)
    planned: LinearPlan = plan_problem(problem, requests)
    return Plan([planned], [request.label for request in requests], list(problem.candidates))


def _problem(
    samples: Any, projection: Any, labels: Any, policies: Mapping[str, Any]
) -> tuple[Problem, bool]:
    """The problem, and whether the candidates have names of the user's."""
    check_policies(**policies)
    opened = None if samples is None else open_judged(samples)
    named = isinstance(projection, dict)
    candidates = projection if named else {"projection": projection}
    candidates = {name: _open_candidate(value) for name, value in candidates.items()}
    if not candidates:
        raise InputError("the dict of candidates is empty; give at least one map or clustering")
    kinds = {name: _kind(value) for name, value in candidates.items()}
    if len(set(kinds.values())) > 1:
        raise InputError(f"candidates must be of one kind, not {kinds}; evaluate each kind apart")
    kind = next(iter(kinds.values()))
    if any(not isinstance(name, str) or not name for name in candidates):
        raise InputError(f"candidates need names that are texts, not {list(candidates)}")
    classes = None
    if labels is not None:
        known = {} if opened is None else opened.sample_coords
        classes = open_labels(labels, known, missing=policies.get("missing", "error"))
    if kind == "map":
        problem = _map_problem(opened, candidates, classes)
    else:
        known = coordinates_of(labels) if opened is None else opened.sample_coords
        problem = _cluster_problem(opened, candidates, classes, known, policies)
    return problem, named


def _map_problem(opened: Samples | None, candidates: Mapping[str, Any], classes: Any) -> Problem:
    if opened is None:
        raise InputError("a map is judged on samples; give them as the first argument")
    if classes is not None:
        check_lengths(classes, opened)
    maps = {name: open_map(som, opened) for name, som in candidates.items()}
    return Problem(maps, opened, classes)


def _cluster_problem(
    opened: Samples | None,
    candidates: Mapping[str, Any],
    classes: Column | None,
    known: Mapping[str, xr.Variable],
    policies: Mapping[str, Any],
) -> Problem:
    several = len(candidates) > 1
    clusters = {
        name: open_clusters(value, known, name=name if several else "clusters", **policies)
        for name, value in candidates.items()
    }
    for column in clusters.values():
        for other in (classes, opened):
            if other is not None:
                check_lengths(column, other)
    return Problem(clusters, opened, classes)


def _open_candidate(candidate: Any) -> Any:
    """A map that is named by its path; anything else as it is."""
    if isinstance(candidate, str | os.PathLike):
        with open_dataset(candidate) as som:
            return som.load()
    return candidate


def _kind(candidate: Any) -> str:
    if isinstance(candidate, list | tuple) and any(isinstance(c, xr.Dataset) for c in candidate):
        raise InputError(
            "several candidates are a dict of names, like {'small': som, 'large': som}"
        )
    if isinstance(candidate, xr.Dataset) or type(candidate).__module__.startswith("minisom"):
        return "map"
    shape: tuple[Any, ...] | str
    try:
        shape = tuple(candidate.shape if hasattr(candidate, "shape") else np.shape(candidate))
    except ValueError:
        shape = "unknown"  # a list of lists of unequal lengths
    if isinstance(shape, tuple) and len(shape) == 1:
        return "clusters"
    raise InputError(
        f"a candidate is a {type(candidate).__name__} of shape {shape}: neither a map "
        "(make one with ss.codebook(weights, grid)) nor a clustering (one label a sample)"
    )

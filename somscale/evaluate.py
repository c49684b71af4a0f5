"""The front door: indices asked for, the passes they need, one Dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import xarray as xr

from somscale.codebook import read_codebook
from somscale.engine.planview import Plan
from somscale.engine.readers.opening import SampleDims
from somscale.engine.readers.variables import Variables
from somscale.errors import InputError
from somscale.metrics.answering.asked import Asked
from somscale.metrics.answering.compute import plan_problem
from somscale.metrics.asking.problem import READING, pose
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.selection import Metrics
from somscale.workspace import Workspace, as_workspace, known_workspace
from somscale.workspace.answering import judged_samples, kept_answer, stored_for
from somscale.workspace.reading import CONDITIONS
from somscale.workspace.samples import stored_samples

__all__ = ["evaluate", "open_candidates", "plan"]


def evaluate(
    samples: Any,
    projection: Any,
    *,
    labels: Any = None,
    metrics: Metrics = "all",
    cost: str | None = None,
    convention: str | None = None,
    noise: str = "cluster",
    noise_label: Any = -1,
    missing_labels: str = "error",
    sample_dims: SampleDims = None,
    variable: Variables = None,
    missing: str = "raise",
    mask: Any = None,
    feature_weights: Any = None,
    sample_weights: Any = None,
    sample_anchors: int | None = None,
    seed: int = 0,
    store: Any = None,
    run: str | None = None,
    resume: bool = True,
    **parameters: Any,
) -> xr.Dataset:
    """Judge a map, an embedding or a clustering, or several at once, by any number of indices.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, CSR matrix, path(s) or Workspace
        The samples: (sample, feature), or any dims with `sample_dims`.  A path leads to a
        Zarr store, a NetCDF or a ``.npy`` file; several paths, or a pattern, to files that
        continue each other along the first sample dim.  None is allowed where clusterings
        are judged against labels alone.  A workspace stands for its samples, and is the
        `store` as well.
    projection : Dataset, path, MiniSom, Somoclu, array_like (sample,), or a dict of candidates
        A map (a path leads to any file that :func:`somscale.read_codebook` reads), an
        embedding (sample, component),
        or a clustering (one label a sample).  A dict of candidates of one kind adds the dim
        ``candidate``, of their names, texts or all of them integers; the samples are read
        once for all maps, and twice for all
        clusterings: for their centroids, and about these; pairs and ranks of all maps or
        embeddings take one walk.
    labels : array_like, (sample,), optional
        Classes of the samples; they add the external indices (labels against
        clusters, or against a map's units) to those of samples and clusters or map, and
        `neighborhood_hit` to those of an embedding.
        Labels and clusterings that are DataArrays are put in the samples' order by the
        coordinates they share.
    metrics : "all", name, sequence or mapping
        Indices or families by name; a mapping gives variants, label to name or
        to (name, parameters).  What "all" or a family leaves out for its cost, though it
        applies, is in the attribute ``indices_left_out``.
    cost : {"linear", "pairs", "ranks"}, optional
        Leave out indices that cost more.
    convention : {"somperf"}, optional
        Take the form of each index that another program computes, unless a parameter
        says otherwise: "somperf", the package of Forest et al. (2020).
    noise : {"cluster", "ignore", "singletons"}
        What `noise_label` means in a clustering.
    noise_label : optional
        The label of noise.
    missing_labels : {"error", "drop"}
        What to do with missing labels (nan, None, masked).
    sample_dims : str or sequence of str, optional
        Dims of the samples; all others are features.  Nothing is stacked: results come
        back on these dims, in the order of the input.
    variable : str or sequence of str, optional
        Variables of a Dataset or store that are features; by default all of numbers
        that have the sample dims.
    missing : {"raise", "drop", "drop_any_sample", "drop_any_feature", "partial"}
        What nan means.  "drop" leaves out samples that lack every feature and features
        that every sample lacks, and refuses any other gap; "drop_any_sample" leaves out
        every sample with a gap, "drop_any_feature" every feature with one (found in a
        read of its own, which is done at once also for Dask samples).  What is left out
        is counted, in ``samples_dropped`` and ``features_dropped``; ``bmu`` is −1 there.
        "partial", of maps alone, compares each sample by the features i that it has, as
        :func:`somscale.train` does: d² = V / V_i Σ_{f∈i} v_f (x_f − m_f)², V adding up the
        weights v of all features that the map has, and V_i those of these (their numbers,
        without weights).  Units, distances and all that is made of them are by this distance,
        composites are means of the samples that have a feature, and a sample without any is
        left out.  Indices that have no meaning then are refused where they are named, else
        listed in ``indices_left_out``.
    mask : boolean array or DataArray, or a pair of them
        True where samples, or features, take part, as for ``DataArray.where``.
    feature_weights : array, DataArray or "coslat", optional
        Weights v ≥ 0 of the squared differences, d² = Σ_f v_f (x_f − m_f)², on dims of the
        features.  "coslat" is cos φ at the latitude that CF marks or names.  Weights that
        multiply the *data* are their roots: "coslat" equals data × √cos φ.  They are not
        normalised; their sum is in the attributes.
    sample_weights : array, DataArray or "coslat", optional
        Weights w ≥ 0 of the samples in every mean and sum over samples of the indices of a
        map, or of samples and clusters.
    sample_anchors : int, optional
        Estimate sums over all pairs, and ranks: so many samples are drawn, and each is
        compared with all others, in time linear in the samples.  Every estimate comes with its
        standard error and a 95 % interval.  Indices that are made of extremes refuse; those that
        take linear time anyhow stay exact.
    seed : int
        Which samples are drawn; the same ones for any chunks, workers and candidates.
    store : Workspace or path, optional
        Where the run is kept.  What its passes finish is kept as they go, so that a run that
        was stopped, in whatever way, goes on from there when the same call is made again; the
        result is kept at last, and given back where the same call was made before.
        Distances and ranks that the workspace has of these samples are read instead of
        computed, with the same numbers.  Results are computed, also of Dask samples, which
        are written to the workspace first.
    run : str, optional
        Name of the result in the workspace; by default made of the question.
    resume : bool
        False: forget first what the same call has left in the workspace before.
    **parameters
        Parameters of indices, for each index that has one of this name, for
        example ``temperature=[1, 2]``, ``kernel="window"``,
        ``neighborhood="vertex"``.  Those of indices of ranks: `k` (neighbours K), `kappa_s`
        (ranks that count as near) and `kappa_t` (changes of rank that are tolerated), each
        a number, a list, a range or "all", by default the first hundred; `ties` ("index",
        "expected", "weighted", "best" or "worst"): ranks of equal distances; `space` ("map"
        or "codebook"): where a map's units lie.

    Returns
    -------
    Dataset
        ``value(metric)``: every index that is one number, with coordinates
        ``direction``, ``lower``, ``upper``, ``metric_units``, ``long_name`` and
        ``source``, and ``note(metric)``: why a value is nan.  Every other index is a
        variable of its name, on dims ``unit``, ``cluster``, ``temperature``, … and the
        samples' own.
        With `sample_anchors`: ``standard_error``, ``interval_low`` and ``interval_high``
        along ``metric``, nan where a value is exact, and the same of every other estimate
        under its name, as ``cluster_silhouette_standard_error``.
        The grids of maps are in the attribute ``grids``, for pictures of the result.
        Lazy when the samples are a Dask collection and there is no `store`, else computed.
        With a `store`, the attribute ``stored_matrices`` says which of its distances and ranks
        were read, and why others were not.

    Warns
    -----
    UserWarning
        A map says that it was trained with feature weights, and is judged without or with others.

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
    WorkspaceError
        The workspace is of other samples, is being written to, or takes no more.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> som = ss.codebook([[0.05], [1.05]], ss.Grid.chain(2))
    >>> q = ss.evaluate(samples, som)
    >>> round(float(q["value"].sel(metric="quantization_error")), 6)
    0.05
    """
    settings = {
        "noise": noise,
        "noise_label": noise_label,
        "missing_labels": missing_labels,
        "sample_dims": sample_dims,
        "variable": variable,
        "missing": missing,
        "mask": mask,
        "feature_weights": feature_weights,
        "sample_weights": sample_weights,
    }
    asked = Asked(metrics, cost, convention, sample_anchors, seed, parameters)
    if store is None and not isinstance(samples, Workspace):
        if run is not None:
            raise InputError(f"run={run!r} names a result in a workspace; say store= as well")
        problem, named = _problem(samples, projection, labels, settings, asked.distance)
        return asked.answer(*asked.posed(problem), named=named)
    workspace = samples if store is None else as_workspace(store)
    with nullcontext() if workspace.read_only else workspace.writing():
        own = judged_samples(workspace, samples, settings, asked.distance)
        problem, named = _problem(own, projection, labels, settings, asked.distance)
        return kept_answer(workspace, asked, problem, named=named, run=run, resume=resume)


def plan(
    samples: Any,
    projection: Any,
    *,
    labels: Any = None,
    metrics: Metrics = "all",
    cost: str | None = None,
    convention: str | None = None,
    store: Any = None,
    **parameters: Any,
) -> Plan:
    """Say what :func:`evaluate` would do, without reading a sample.

    Parameters
    ----------
    samples, projection, labels, metrics, cost, convention, **parameters
        As in :func:`evaluate`.
    store : Workspace or path, optional
        Distances and ranks that it has of these samples are read instead of computed.  That
        they are the same samples is not looked at, and nothing is written.

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
    settings = {**_POLICIES, **READING}
    anchors, seed = parameters.pop("sample_anchors", None), parameters.pop("seed", 0)
    given = {name: parameters.pop(name, default) for name, default in settings.items()}
    distance = parameters.get("distance", "euclidean")
    workspace = samples if isinstance(samples, Workspace) else known_workspace(store)
    if isinstance(samples, Workspace):
        conditions = {name: given[name] for name in CONDITIONS}
        samples = stored_samples(samples.location, **conditions)
    problem, _ = _problem(samples, projection, labels, given, reads=False, distance=distance)
    asked = Asked(metrics, cost, convention, anchors, seed, parameters)
    problem, requests = asked.posed(problem)
    if workspace is not None:
        stored = stored_for(workspace.location, problem, requests, workspace.fingerprint)
        problem = replace(problem, stored=stored)
    passes, searches = plan_problem(problem, requests)
    labels = [request.label for request in requests]
    return Plan(passes, labels, list(problem.candidates), searches)


_POLICIES = {"noise": "cluster", "noise_label": -1, "missing_labels": "error"}


def _problem(
    samples: Any,
    projection: Any,
    labels: Any,
    settings: Mapping[str, Any],
    distance: Any = "euclidean",
    *,
    reads: bool = True,
) -> tuple[Problem, bool]:
    """The problem, and whether the candidates have names of the user's."""
    candidates, named = open_candidates(projection)
    policies = {name.removesuffix("_labels"): settings[name] for name in _POLICIES}
    reading = {name: settings[name] for name in READING}
    problem = pose(samples, candidates, labels, policies, reading, reads=reads, distance=distance)
    return problem, named


def open_candidates(projection: Any) -> tuple[dict[str, Any], bool]:
    """Candidates by their names, and whether these are the user's."""
    named = isinstance(projection, dict)
    candidates = projection if named else {"projection": projection}
    return {name: _open_candidate(value) for name, value in candidates.items()}, named


def _open_candidate(candidate: Any) -> Any:
    """A map that is named by its path; anything else as it is."""
    if isinstance(candidate, str | os.PathLike):
        return read_codebook(candidate)
    return candidate

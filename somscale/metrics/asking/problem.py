"""From a user's arguments to a problem: what is judged, and on what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook.opening import is_map
from somscale.codebook.passes import without_gapped_features
from somscale.codebook.weighting import warn_of_other_weights
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.columns import Column, code_dtype
from somscale.engine.readers.labels import check_policies
from somscale.engine.readers.samples import Samples, refuse_partial
from somscale.errors import InputError
from somscale.metrics.asking.candidate_names import checked_names
from somscale.metrics.asking.candidates import (
    Coordinates,
    check_lengths,
    coordinates_of,
    open_clusters,
    open_judged,
    open_labels,
    open_map,
)
from somscale.metrics.asking.embeddings import (
    is_embedding,
    mask_of_rows,
    matrix_of,
    open_embedding,
    refuse_no_matrix,
)
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.sampling import draw_anchors

__all__ = ["READING", "open_input", "pose", "with_sampling"]

_BLOCK = 1 << 20
READING: dict[str, Any] = {
    "sample_dims": None,
    "variable": None,
    "missing": "raise",
    "mask": None,
    "feature_weights": None,
    "sample_weights": None,
}
"""How samples are read, and the defaults."""


def pose(
    samples: Any,
    candidates: Mapping[Any, Any],
    labels: Any,
    policies: Mapping[str, Any],
    reading: Mapping[str, Any],
    *,
    reads: bool = True,
    distance: Any = "euclidean",
) -> Problem:
    """The problem that a user's arguments stand for, each checked.

    Parameters
    ----------
    samples : optional
        The samples; opened ones are read as they are.
    candidates : mapping
        Names, texts or else integers, to maps or clusterings.
    labels : optional
        Classes of the samples.
    policies : mapping
        What noise and missing labels mean.
    reading : mapping
        How the samples are read, as in `READING`.
    reads : bool
        Whether samples may be read here, where a question needs it before its pass.
    distance : optional
        The samples' distance; "precomputed" where they are a matrix of distances.
    """
    check_policies(**policies)
    numbered = checked_names(candidates)
    matrix = isinstance(distance, str) and distance == "precomputed"
    opened = samples
    if samples is not None and not isinstance(samples, Samples):
        opened = open_input(samples, reading, matrix=matrix)
    rows = None if opened is None else opened.rows
    dims = coordinates_of(labels) if opened is None else rows
    kinds = {name: _kind(value, dims) for name, value in candidates.items()}
    if len(set(kinds.values())) > 1:
        raise InputError(f"candidates must be of one kind, not {kinds}; evaluate each kind apart")
    kind = next(iter(kinds.values()))
    classes = None
    if labels is not None:
        if opened is not None and opened.sample_weights is not None:
            raise InputError(
                "sample_weights= has no meaning for indices of labels, which count samples and "
                "pairs of them; ask for these in a call of their own, without weights"
            )
        like = coordinates_of(labels) if opened is None else rows
        classes = open_labels(labels, like, missing=policies.get("missing", "error"))
    if kind != "map" and opened is not None:
        refuse_partial(opened, "clusterings" if kind == "clusters" else "embeddings")
    if kind == "map" and matrix:
        raise InputError(
            "a map is judged on samples, not on their distances; give the samples, and the map's "
            "units as a clustering where distances are to be judged"
        )
    if kind == "map":
        problem = _map_problem(opened, candidates, classes, reads=reads)
    elif kind == "embedding":
        problem = _embedding_problem(opened, candidates, classes, reads=reads)
    else:
        known = coordinates_of(labels) if opened is None else rows
        problem = _cluster_problem(opened, candidates, classes, known, policies, reads=reads)
    opened_ones = {str(name): own for name, own in problem.candidates.items()}
    return replace(problem, candidates=opened_ones, matrix=matrix, numbered=numbered)


def open_input(samples: Any, reading: Mapping[str, Any], *, matrix: bool) -> Samples:
    """Open samples, or a matrix of their distances, each option checked."""
    if matrix:
        samples = matrix_of(samples)
        refuse_no_matrix(samples, reading)
        reading = {**reading, "mask": mask_of_rows(samples, reading.get("mask"))}
        if isinstance(samples, xr.DataArray) and len(set(samples.dims)) == 2:
            reading["sample_dims"] = str(samples.dims[0])  # whatever the names of its two dims
    return open_judged(samples, **reading)


def with_sampling(problem: Problem, sample_anchors: Any, seed: Any) -> Problem:
    """The same problem, sums over pairs estimated from so many anchors, if any.

    Raises
    ------
    InputError
        No such number of anchors, or samples that are a matrix.
    """
    if sample_anchors is None:
        return problem
    if problem.matrix or problem.samples is None:
        raise InputError(
            "sample_anchors= compares some samples with all others, and there are no samples but "
            "their distances or clusterings; leave it out"
        )
    draw_anchors(problem.n_samples, sample_anchors, seed)  # refuses what is no such number
    return replace(problem, sampling=(int(sample_anchors), int(seed)))


def _map_problem(
    opened: Samples | None, candidates: Mapping[Any, Any], classes: Any, *, reads: bool
) -> Problem:
    if opened is None:
        raise InputError("a map is judged on samples; give them as the first argument")
    if classes is not None:
        check_lengths(classes, opened)
    # maps that do not fit are refused before anything is read
    maps = {name: open_map(som, opened) for name, som in candidates.items()}
    for name, som in maps.items():
        own = name if len(maps) > 1 else ""
        warn_of_other_weights(som.weighting, opened.feature_weights, name=own)
    if reads and opened.missing == "drop_any_feature":
        whole, opened = opened, without_gapped_features(opened)
        if opened.kept is not whole.kept:
            maps = {name: open_map(som, opened) for name, som in candidates.items()}
    return Problem(maps, opened, classes)


def _embedding_problem(
    opened: Samples | None, candidates: Mapping[Any, Any], classes: Any, *, reads: bool
) -> Problem:
    if opened is None:
        raise InputError("an embedding is judged on samples; give them as the first argument")
    if classes is not None:
        check_lengths(classes, opened)
    several = len(candidates) > 1
    vectors = {
        name: open_embedding(value, opened.rows, name=str(name) if several else "embedding")
        for name, value in candidates.items()
    }
    return Problem(vectors, without_gapped_features(opened) if reads else opened, classes)


def _cluster_problem(
    opened: Samples | None,
    candidates: Mapping[Any, Any],
    classes: Column | None,
    known: Coordinates,
    policies: Mapping[str, Any],
    *,
    reads: bool,
) -> Problem:
    several = len(candidates) > 1
    clusters = {
        name: open_clusters(value, known, name=str(name) if several else "clusters", **policies)
        for name, value in candidates.items()
    }
    for column in clusters.values():
        for other in (classes, opened):
            if other is not None:
                check_lengths(column, other)
    if opened is not None and opened.excluded is not None:
        left_out = opened.excluded.read(0, opened.shape[0])
        clusters = {name: _without(column, left_out) for name, column in clusters.items()}
    if opened is not None:
        clusters = {name: _occurring(column) for name, column in clusters.items()}
        opened = without_gapped_features(opened) if reads else opened
    return Problem(clusters, opened, classes)


def _without(column: Column, left_out: np.ndarray[Any, Any]) -> Column:
    """A clustering in which the samples of a mask take no part."""
    codes = column.read(0, len(column)).astype(np.int64)
    codes[left_out] = -1
    return replace(column, values=codes, base=0, n_excluded=int(np.count_nonzero(codes < 0)))


def _occurring(column: Column) -> Column:
    """The same clustering without the categories that no sample has."""
    present = np.zeros(column.n_categories, bool)
    for start in range(0, len(column), _BLOCK):
        codes = column.read(start, start + _BLOCK)
        present[codes[codes >= 0]] = True
    if present.all() or not present.any():
        return column
    codes = column.read(0, len(column))
    places = np.append(np.cumsum(present) - 1, -1)  # the last one is that of no cluster
    values = places.astype(code_dtype(column.n_categories))[np.where(codes < 0, -1, codes)]
    return replace(
        column, values=values, base=0, categories=column.labels_of(np.flatnonzero(present))
    )


def _kind(candidate: Any, rows: Coordinates) -> str:
    if isinstance(candidate, list | tuple) and any(isinstance(c, xr.Dataset) for c in candidate):
        raise InputError(
            "several candidates are a dict of names, like {'small': som, 'large': som}"
        )
    if is_map(candidate):
        return "map"
    shape: tuple[Any, ...] | str
    try:
        shape = tuple(candidate.shape if hasattr(candidate, "shape") else np.shape(candidate))
    except ValueError:
        shape = "unknown"  # a list of lists of unequal lengths
    several = rows is not None and len(rows.dims) > 1
    on_rows = rows is not None and several and _lies_on(candidate, shape, rows)
    if on_rows or (isinstance(shape, tuple) and len(shape) == 1):
        return "clusters"
    if rows is not None and is_embedding(candidate, shape, rows):
        return "embedding"
    if rows is None and isinstance(shape, tuple) and len(shape) == 2:
        raise InputError("an embedding is judged on samples; give them as the first argument")
    if isinstance(candidate, str | os.PathLike):
        raise InputError(
            f"{os.fspath(candidate)!r} is a path, and only evaluate opens those, of maps; open it "
            "and give the map, the embedding or the labels themselves"
        )
    raise InputError(
        f"a candidate is a {type(candidate).__name__} of shape {shape}: neither a clustering (one "
        "label a sample), an embedding (sample, component) nor a map; give code vectors a grid "
        "with ss.codebook(weights, grid), and mind the order (samples, projection)"
    )


def _lies_on(candidate: Any, shape: Any, rows: Axes) -> bool:
    """Whether a candidate is one value a sample, on several dims."""
    if isinstance(candidate, xr.DataArray):
        return bool(candidate.ndim) and set(map(str, candidate.dims)) <= set(rows.dims)
    if not isinstance(shape, tuple) or len(shape) != len(rows.dims):
        return False
    # a row for every sample, all dims flattened, is an embedding
    return shape == rows.shape or shape[:1] != (rows.size,)

"""Which of a workspace's matrices serve some samples, and why others do not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from somscale._types import Bool
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.rank_wishes import ranked_measure
from somscale.metrics.asking.stored import StoredMatrices
from somscale.spaces import FunctionSpace
from somscale.store.arrays import open_array
from somscale.store.digests import digest_of
from somscale.store.groups import group_attributes
from somscale.store.keys import list_children
from somscale.store.location import Location
from somscale.store.root import open_root

__all__ = ["measure_facts", "measure_name", "reading_of", "stored_matrices"]

_FLOAT32: Final = (
    "float32 distances would change the numbers; judge them with distance='precomputed'"
)


def reading_of(samples: Samples) -> str:
    """Digest of how samples are read: what distances depend on besides their values.

    Parameters
    ----------
    samples : Samples
        Once features with gaps are left out.

    Returns
    -------
    str
        Equal only for the same handling of missing values, samples that a mask leaves out,
        feature weights and features that take part.
    """
    excluded = None
    if samples.excluded is not None:
        left_out = samples.excluded.read(0, samples.shape[0]).astype(bool)
        excluded = left_out if left_out.any() else None
    kept = samples.kept
    if kept is not None and len(kept) == samples.features.size:
        kept = None
    numbers = None if kept is None else np.asarray(kept, np.int64)
    return digest_of(samples.missing, excluded, samples.feature_weights, numbers)


def measure_name(measure: Measure) -> str:
    """The name of a group of distances or ranks unless the user says otherwise.

    "euclidean", "minkowski_p3", "minkowski_p2.5", or "function_" and a function's name.
    """
    if callable(measure.distance):
        own = FunctionSpace(measure.distance).name
        return f"function_{re.sub(r'[^A-Za-z0-9_-]+', '_', own).strip('_') or 'unnamed'}"
    if measure.p is None:
        return measure.distance
    return f"{measure.distance}_p{repr(measure.p).removesuffix('.0').replace('+', '')}"


def measure_facts(measure: Measure) -> dict[str, Any]:
    """What the provenance of a matrix says of its distance.

    Returns
    -------
    dict
        "distance", its name, and "p", its exponent or None; of a function "function" and its
        name, and "function", a digest of what it does.
    """
    if callable(measure.distance):
        own = FunctionSpace(measure.distance).name
        return {"distance": f"function {own}", "function": digest_of(measure.distance)}
    return {"distance": measure.distance, "p": measure.p}


def stored_matrices(
    location: Location, samples: Samples, measures: Sequence[Measure], *, fingerprint: str
) -> StoredMatrices | None:
    """The distances and ranks of a workspace that serve some samples, read as they are read.

    Parameters
    ----------
    location : Location
        The workspace.
    samples : Samples
        Once features with gaps are left out.
    measures : sequence of Measure
        Distances that are asked for.
    fingerprint : str
        Text of the samples' fingerprint.

    Returns
    -------
    StoredMatrices or None
        None where neither distances nor ranks of these measures are stored; those that do
        not serve are in `passed_over`.

    Raises
    ------
    WorkspaceError
        There is no workspace, or a matrix that is complete cannot be opened.
    """
    wanted = {"samples": fingerprint, "reading": reading_of(samples)}
    distances: dict[Measure, Source] = {}
    ranks: dict[Measure, tuple[Source, Bool]] = {}
    names: dict[tuple[str, Measure], str] = {}
    passed_over: dict[str, str] = {}
    asked = [("distances", measure) for measure in measures]
    asked += [("ranks", measure) for measure in dict.fromkeys(map(ranked_measure, measures))]
    for name, known in _groups(location):
        kind = name.partition("/")[0]
        found = [m for k, m in asked if k == kind and _is_of(known, kind, m)]
        for measure in found:
            if (kind, measure) in names:
                continue
            why = _obstacle(known, wanted)
            if why is None and kind == "distances":
                matrix = open_array(location, f"{name}/distance")
                why = _FLOAT32 if matrix.dtype != np.float64 else None
                if why is None:
                    distances[measure] = matrix
            elif why is None:
                taken = open_array(location, f"{name}/taken").read().astype(bool)
                ranks[measure] = open_array(location, f"{name}/rank"), taken
            if why is None:
                names[kind, measure] = name
            else:
                passed_over[name] = why
    if not names and not passed_over:
        return None
    token = digest_of(location.name, sorted(names.values()), wanted)
    return StoredMatrices(distances, ranks, names, passed_over, token=token)


def _groups(location: Location) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every group of a matrix: its name, and what is known of it."""
    open_root(location, create=False)
    for kind in ("distances", "ranks"):
        for name in list_children(location, kind):
            # what is left of a group that was being deleted has no attributes
            known = group_attributes(location, f"{kind}/{name}")
            if known is not None:
                yield f"{kind}/{name}", _account(known)


def _account(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a group, and those in the text of its provenance."""
    known = dict(attributes)
    text = known.pop("provenance", None)
    return {**(json.loads(text) if isinstance(text, str) else text or {}), **known}


def _is_of(known: Mapping[str, Any], kind: str, measure: Measure) -> bool:
    """Whether a matrix is of a distance, or puts samples in the same order."""
    facts = measure_facts(measure)
    own = {name: known.get(name) for name in ("distance", "p", "function")}
    if kind == "ranks" and own["distance"] == "sqeuclidean":
        own["distance"] = ranked_measure(Measure("sqeuclidean")).distance
    return own == {name: facts.get(name) for name in own}


def _obstacle(known: Mapping[str, Any], wanted: Mapping[str, str]) -> str | None:
    """Why a matrix does not serve; None if it does."""
    if known.get("complete") is not True:
        return "it is not complete; store it again, which goes on from what is there"
    if known.get("samples") != wanted["samples"]:
        return "it is of other samples"
    if known.get("reading") != wanted["reading"]:
        return "it was computed with another mask, weights or handling of missing values"
    return None

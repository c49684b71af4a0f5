"""Stored matrices of samples, and questions that are answered with and without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
import zarr

import somscale as ss
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import ArraySource, Source, ZarrSource
from somscale.errors import InputError
from somscale.metrics.answering.assemble import assemble
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.pair_wishes import PAIR_NEEDS, Measure
from somscale.metrics.asking.problem import READING, pose
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.selection import select
from somscale.metrics.asking.stored import StoredMatrices
from somscale.metrics.passes.rank_prepared import PreparedRanks
from somscale.metrics.spec import MetricSpec, all_specs
from somscale.spaces import Space, make_space

Array = np.ndarray[Any, Any]
Wrap = Callable[[Array], Source]
EUCLIDEAN = Measure("euclidean")
POLICIES = {"noise": "ignore", "noise_label": -1, "missing": "drop"}


def in_zarr(chunks: tuple[int, int]) -> Wrap:
    """Put a matrix into a Zarr store in memory."""

    def wrap(values: Array) -> Source:
        store = zarr.storage.MemoryStore()
        return ZarrSource(zarr.create_array(store, data=values, chunks=chunks))

    return wrap


def distances_of(samples: Samples, measure: Measure, taken: Array) -> Array:
    """Distances of the samples that take part, by their space; nan of all others."""
    n, d = samples.shape
    assert samples.source is not None
    values = np.asarray(samples.source.read(slice(0, n), slice(0, d)))
    values = values[taken]
    if samples.missing == "drop":
        values = values[:, ~np.isnan(values).all(axis=0)]
    weights = samples.feature_weights
    space: Space = make_space(measure.distance, p=measure.p, feature_weights=weights)
    ready, table = space.prepare(values), np.empty((len(values), len(values)))
    space.distances(ready, ready, table, same=True)
    upper = np.triu(table, 1)
    whole = np.full((n, n), np.nan)
    whole[np.ix_(taken, taken)] = upper + upper.T
    return whole


def stored_of(
    samples: Samples,
    *measures: Measure,
    kinds: str = "distances ranks",
    wrap: Wrap = ArraySource,
) -> StoredMatrices:
    """Matrices of some samples: ranks by the walk that keeps them, distances by the spaces."""
    stored = StoredMatrices({}, {})
    for measure in measures:
        held = PreparedRanks(samples, measure, "ranks", 1).held
        if "ranks" in kinds:
            # what is not there is the largest integer, which is no rank
            values = np.where(
                held.taken[:, None] & held.taken, held.values, np.iinfo(held.values.dtype).max
            )
            stored.ranks[measure] = wrap(values.astype(held.values.dtype)), held.taken
        if "distances" in kinds:
            stored.distances[measure] = wrap(distances_of(samples, measure, held.taken))
    return stored


def problem_of(
    samples: Any,
    candidates: Mapping[str, Any],
    *,
    labels: Any = None,
    distance: Any = "euclidean",
    **reading: Any,
) -> Problem:
    """The problem that some arguments stand for."""
    return pose(samples, candidates, labels, POLICIES, {**READING, **reading}, distance=distance)


def answer(
    problem: Problem, metrics: Any, stored: StoredMatrices | None = None, **parameters: Any
) -> xr.Dataset:
    """Values of some indices, with those of the parameters that any of them has."""
    own = [metrics] if isinstance(metrics, str) else metrics
    known = {n for spec in all_specs() if spec.name in own for n in spec.defaults}
    parameters = {name: value for name, value in parameters.items() if name in known}
    problem = replace(problem, stored=stored)
    requests = select(metrics, problem, parameters=parameters)
    return assemble(problem, requests, solve(problem, requests), named=True)


def walked_specs() -> list[MetricSpec]:
    """All indices that need pairs of samples or ranks."""
    return [s for s in all_specs() if is_of_pairs(s) or is_of_ranks(s)]


def is_of_pairs(spec: MetricSpec) -> bool:
    return not PAIR_NEEDS.isdisjoint(spec.needs) or any(
        not PAIR_NEEDS.isdisjoint(facts.get("needs", ())) for facts in spec.variants.values()
    )


def is_of_ranks(spec: MetricSpec) -> bool:
    return "ranks" in spec.needs


def applicable(problem: Problem, specs: Sequence[MetricSpec], **parameters: Any) -> list[str]:
    """Those of some indices that a problem allows with these parameters."""
    found = []
    for spec in specs:
        own = {n: v for n, v in parameters.items() if n in spec.defaults}
        try:
            select({spec.name: (spec.name, own)}, problem)
        except InputError:
            continue
        found.append(spec.name)
    return found


def compare(found: xr.Dataset, expected: xr.Dataset) -> None:
    """Ranks bit for bit, sums to twelve digits."""
    assert set(found.variables) == set(expected.variables)
    exact = {s.name for s in all_specs() if is_of_ranks(s)}
    for name in expected.variables:
        one, two = found[name], expected[name]
        if name in exact:
            xr.testing.assert_identical(one, two)
        else:
            xr.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)


def some_map(samples: Array, *, gaps: bool = False) -> xr.Dataset:
    """A map of code vectors near some of the samples; with `gaps` nan where no sample is."""
    rng = np.random.default_rng(len(samples))
    codes = np.nan_to_num(samples)[rng.integers(0, len(samples), 12)].astype(float)
    codes += 0.1 * rng.standard_normal(codes.shape)
    if gaps:
        codes[:, np.isnan(samples).all(axis=0)] = np.nan
    return ss.codebook(codes, ss.Grid(3, 4))

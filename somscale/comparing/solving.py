"""Compute the indices of a comparison, and sums over resamples in the same read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.codebook.passes import weights_column
from somscale.comparing.intervals import Key, Replicates, replicates_of
from somscale.comparing.means import (
    Means,
    means_of_clusterings,
    means_of_maps,
    sample_requests,
)
from somscale.comparing.numbers import as_table
from somscale.comparing.tables import replicates_of_tables
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import SampleValues
from somscale.metrics.answering.assemble import assemble
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.spec import MetricSpec
from somscale.reductions.resampled import ResampledSums

__all__ = ["solve_resampled"]


def solve_resampled(
    problem: Problem, requests: Sequence[Request], n_boot: int, seed: int
) -> tuple[xr.Dataset, Replicates, dict[Key, str]]:
    """The table of the indices, and each in every resample; and why there are none of some."""
    solved = _solve_maps if problem.kind == "map" else _solve_others
    result, means, sums = solved(problem, requests, n_boot, seed)
    result = as_table(result, requests)
    values = {
        (name, r.label): float(result["value"].sel(metric=r.label, candidate=name))
        for name in problem.candidates
        for r in requests
    }
    replicates, reasons = replicates_of(means, sums, values)
    if problem.kind == "clusters":
        known, why = replicates_of_tables(problem, requests, n_boot, seed)
        replicates, reasons = replicates | known, reasons | why
    return result, replicates, reasons


def _solve_others(
    problem: Problem, requests: Sequence[Request], n_boot: int, seed: int
) -> tuple[xr.Dataset, Means, Float]:
    """Of embeddings, and of clusterings with values of samples that are kept."""
    hidden = sample_requests(problem, requests)
    answers = solve(problem, [*requests, *hidden.values()])
    result = assemble(problem, requests, answers, named=True)
    means = means_of_clusterings(problem, requests, list(hidden))
    if not hidden:
        return result.compute(), means, _no_sums(n_boot)
    keys = [(name, label) for name in problem.candidates for label in hidden]
    parts = [answers[name][hidden[label].label].value for name, label in keys]
    result, values = _computed(result, parts)
    columns = {"/".join(key): SampleValues(own) for key, own in zip(keys, values, strict=True)}
    reduction = ResampledSums(means.terms, n_boot=n_boot, seed=seed)
    sums = run_job(LinearJob([reduction], problem.n_samples, columns=columns))[0]
    return result, means, sums


def _solve_maps(
    problem: Problem, requests: Sequence[Request], n_boot: int, seed: int
) -> tuple[xr.Dataset, Means, Float]:
    """Of maps, with sums over resamples from the same read."""
    means = means_of_maps(problem, requests)
    if not means.terms or problem.samples is None:
        result = assemble(problem, requests, solve(problem, requests), named=True)
        return result.compute(), means, _no_sums(n_boot)
    weights = weights_column(problem.samples)
    summed = ResampledSums(means.terms, n_boot=n_boot, seed=seed, sample_weights=weights)
    hidden = _request_of_sums(summed)
    answers = solve(replace(problem, resampling=summed), [*requests, hidden])
    first = answers[next(iter(problem.candidates))][hidden.label]
    result = assemble(problem, requests, answers, named=True)
    result, (sums,) = _computed(result, [first.value])
    return result, means, sums


def _no_sums(n_boot: int) -> Float:
    return np.zeros((n_boot + 1, 0))


def _computed(result: xr.Dataset, parts: Sequence[Any]) -> tuple[xr.Dataset, list[Float]]:
    """A Dataset and some arrays, computed together: samples in Dask arrays are read once."""
    # no index has a name with a stroke
    hidden = {
        f"/{place}": (tuple(f"/{place}/{axis}" for axis in range(part.ndim)), part)
        for place, part in enumerate(parts)
    }
    whole = result.assign(hidden).compute()
    return whole.drop_vars(list(hidden)), [whole[name].values for name in hidden]


def _request_of_sums(sums: ResampledSums) -> Request:
    """The request that hands the sums of resamples on, as an index does its value."""
    dims = ("resample", "term")
    spec = MetricSpec(
        name=sums.name,
        formula=_as_they_are,
        needs=("resampled",),
        long_name="sums over resamples",
        definition="",
        direction="none",
        lower=-np.inf,
        upper=np.inf,
        units="1",
        dims=dims,
        sample_field=None,
        family="",
        subject="map",
        cost="linear",
        source="",
        defaults=dict.fromkeys(dims),
        dtype="float64",
        check=None,
        undefined="",
        values_on=None,
        variants={},
    )
    places = {"resample": np.arange(sums.n_boot + 1), "term": np.arange(len(sums.terms))}
    return Request(sums.name, spec, places, (), dims)


def _as_they_are(sums: Float, **places: Any) -> Float:
    return sums

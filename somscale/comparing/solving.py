"""Compute the indices of a comparison, and what their errors are made of, in the same read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.codebook.passes import weights_column
from somscale.comparing.intervals import Key, Replicates, replicates_of
from somscale.comparing.means import NO_MEAN, Means, means_of_maps
from somscale.comparing.numbers import as_table
from somscale.comparing.subsets import Pool, pool_of, replicates_of_subsets, smooth_requests
from somscale.comparing.tables import replicates_of_tables, tabled_requests
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import Column
from somscale.metrics.answering.assemble import assemble
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.spec import MetricSpec, find_spec
from somscale.reductions.resampled import ResampledSums

__all__ = ["solve_resampled"]


@dataclass(frozen=True)
class _Gathered:
    """What was computed besides the indices.

    Attributes
    ----------
    sums : (n_boot + 1, T) float64
        Of the means' terms.
    pool : (P, D) float64 or None
        Features of the samples that subsets are drawn from.
    clusterings : mapping
        Clusters, or units, of the samples, where labels are compared with them.
    """

    sums: Float
    pool: Float | None
    clusterings: Mapping[str, Column]


def solve_resampled(
    problem: Problem, requests: Sequence[Request], n_boot: int, seed: int
) -> tuple[xr.Dataset, Replicates, dict[Key, str]]:
    """The table of the indices, and each on other samples; and why that is unknown of some."""
    smooth, tabled = smooth_requests(problem, requests), tabled_requests(problem, requests)
    pool = pool_of(problem, seed) if smooth else ""
    drawn = pool if isinstance(pool, Pool) else None
    means = means_of_maps(problem, requests)
    solved = _solve_maps if problem.kind == "map" else _solve_others
    result, gathered = solved(problem, requests, means, drawn, bool(tabled), n_boot, seed)
    result = as_table(result, requests)
    keys = [(name, r.label) for name in problem.candidates for r in requests]
    table = result["value"].transpose("candidate", "metric").values
    values = dict(zip(keys, table.ravel().tolist(), strict=True))
    replicates, reasons = replicates_of(means, gathered.sums, values)
    reasons = dict.fromkeys(keys, NO_MEAN) | reasons
    found, why = replicates_of_tables(
        problem, tabled, gathered.clusterings, values, n_boot=n_boot, seed=seed
    )
    replicates, reasons = replicates | found, reasons | why
    if drawn is None or gathered.pool is None:
        return result, replicates, reasons | dict.fromkeys(_keys(problem, smooth), str(pool))
    found, why = replicates_of_subsets(problem, smooth, drawn, gathered.pool, values, seed=seed)
    return result, replicates | found, reasons | why


def _keys(problem: Problem, requests: Sequence[Request]) -> list[Key]:
    return [(name, request.label) for name in problem.candidates for request in requests]


def _solve_others(
    problem: Problem,
    requests: Sequence[Request],
    means: Means,
    pool: Pool | None,
    tabled: bool,
    n_boot: int,
    seed: int,
) -> tuple[xr.Dataset, _Gathered]:
    """Of embeddings and clusterings, which are read more than once anyhow."""
    result = assemble(problem, requests, solve(problem, requests), named=True).compute()
    features, samples = None, problem.samples
    if pool is not None and samples is not None:
        where: dict[str, Any] = {"source": samples.source, "blocks": samples.blocks}
        features = run_job(LinearJob([pool.reader], *samples.shape, **where))[0].values
    clusterings = {n: c for n, c in problem.candidates.items() if isinstance(c, Column)}
    return result, _Gathered(_no_sums(n_boot), features, clusterings)


def _solve_maps(
    problem: Problem,
    requests: Sequence[Request],
    means: Means,
    pool: Pool | None,
    tabled: bool,
    n_boot: int,
    seed: int,
) -> tuple[xr.Dataset, _Gathered]:
    """Of maps, with all else from the same read."""
    if problem.samples is None:
        raise ValueError("a map is judged on samples")
    hidden: list[Request] = []
    resampling: list[Any] = []
    if means.terms:
        weights = weights_column(problem.samples)
        summed = ResampledSums(means.terms, n_boot=n_boot, seed=seed, sample_weights=weights)
        resampling.append(summed)
        sizes = {"resample": n_boot + 1, "term": len(summed.terms)}
        hidden.append(_handed_on(summed.name, np.asarray, sizes))
    if pool is not None:
        resampling.append(pool.reader)
        sizes = {"pooled": len(pool.reader.numbers), "feature_of_pool": pool.reader.n_features}
        hidden.append(_handed_on(pool.reader.name, _features, sizes))
    units = Request("units of samples", find_spec("bmu"), {}, (), ("sample",))
    extra = [*hidden, units] if tabled else hidden
    answers = solve(replace(problem, resampling=tuple(resampling)), [*requests, *extra])
    first = next(iter(answers.values()))
    parts = [first[own.label].value for own in hidden]
    if tabled:
        parts += [own[units.label].value for own in answers.values()]
    result, arrays = _computed(assemble(problem, requests, answers, named=True), parts)
    return result, _Gathered(
        arrays[0] if means.terms else _no_sums(n_boot),
        arrays[len(hidden) - 1] if pool is not None else None,
        {
            name: Column(own.reshape(-1).astype(np.int32), 0, range(problem.size("unit", name)))
            for name, own in zip(problem.candidates, arrays[len(hidden) :], strict=False)
        },
    )


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


def _handed_on(name: str, formula: Callable[..., Any], sizes: Mapping[str, int]) -> Request:
    """The request that hands on what the read has gathered, as an index does its value."""

    def as_it_is(gathered: Any, **places: Any) -> Any:
        return formula(gathered)

    dims = tuple(sizes)
    spec = MetricSpec(
        name=name,
        formula=as_it_is,
        needs=(name,),
        long_name="gathered in the read",
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
    places = {dim: np.arange(size) for dim, size in sizes.items()}
    return Request(name, spec, places, (), dims)


def _features(pooled: Any) -> Any:
    return pooled.values

"""The two passes that find the moments of clusterings: run now, put off, or planned.

The first finds the centroids, in sums about one point near the samples; the second goes
about these, which gives distances to the centroids and scatter to the last digits.
Of Dask arrays the second pass computes the blocks anew, so that none is kept for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from somscale._types import Float
from somscale.codebook.passes import job_over
from somscale.engine.arrays import call_later
from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import plan_job, run_job
from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import Samples
from somscale.engine.tokens import job_token
from somscale.engine.where import where_to_run
from somscale.metrics.passes.origins import first_looks, look_later, look_now
from somscale.reductions.moments import MomentsReduction, MomentStats

if TYPE_CHECKING:
    from somscale.engine.joining import PassGraph

__all__ = ["find_moments", "find_moments_later", "moments_jobs", "pass_later", "plan_moments"]

Clusterings = Mapping[str, Column]
_WEIGHTS = "sample weights"


def find_moments(
    samples: Samples, clusterings: Clusterings, *, samplewise: bool = False
) -> dict[str, MomentStats]:
    """Moments of every clustering, in two reads of the samples.

    With `samplewise` each sample's distance to its centre is kept.
    """
    looks = first_looks(samples, clusterings.values())
    first = _from_origins(_first(samples, clusterings), *look_now(samples, looks))
    stats = run_job(_about_means(samplewise, first, *run_job(first)))
    return dict(zip(clusterings, stats, strict=True))


def find_moments_later(
    samples: Samples, clusterings: Clusterings, *, samplewise: bool = False
) -> tuple[dict[str, Any], str]:
    """The same for samples in Dask arrays, delayed, and the token of the passes."""
    if samples.blocks is None:
        raise ValueError("only what is asked of Dask arrays is put off")
    job = _first(samples, clusterings)
    token = job_token(job)
    origins = look_later(samples.blocks, first_looks(samples, clusterings.values()), token)
    carried = replace(job, blocks=None)
    job_node = call_later(_from_origins, carried, *origins, name=f"somscale-job-{token}")
    total = pass_later(job, job_node, token).total
    finish = [
        call_later(_finish, job_node, total, number, name=f"means-{number}-{token}")
        for number in range(len(clusterings))
    ]
    token = f"{token}-about-means{'-samplewise' if samplewise else ''}"
    job_node = call_later(_about_means, samplewise, job_node, *finish, name=f"somscale-job-{token}")
    again = replace(_second(job, samplewise), blocks=samples.blocks.again(job_node, token))
    graph = pass_later(again, job_node, token)
    stats = {}
    for number, name in enumerate(clusterings):
        radii = [piece for piece, _ in graph.pieces.get((number, "radii"), ())]
        stats[name] = call_later(
            _finish, job_node, graph.total, number, *radii, name=f"moments-{number}-{token}"
        )
    return stats, token


def pass_later(job: LinearJob, job_node: Any, token: str) -> PassGraph:
    """A pass whose centres are not known yet, delayed."""
    from somscale.engine.linear.graph import build_graph

    plan, pool = plan_job(job, lazy=True), where_to_run().workers == "pool"
    return build_graph(plan, token, pool=pool, job_node=job_node)


def plan_moments(
    samples: Samples, clusterings: Clusterings, *, samplewise: bool = False
) -> list[LinearPlan]:
    """Plans of both passes; nothing is read."""
    jobs = moments_jobs(samples, clusterings, samplewise=samplewise)
    return [plan_job(job, lazy=samples.lazy) for job in jobs]


def moments_jobs(
    samples: Samples, clusterings: Clusterings, *, samplewise: bool = False
) -> list[LinearJob]:
    """Both passes before their centres are known, to be planned."""
    first = _first(samples, clusterings)
    return [first, _second(first, samplewise)]


def _first(samples: Samples, clusterings: Clusterings) -> LinearJob:
    """The first pass, before it is known where the samples lie."""
    reductions = [
        MomentsReduction(
            f"clusters:{name}",
            np.zeros((column.n_categories, samples.shape[1])),
            name=f"centroids:{name}",
            names=samples.entry_names,
            feature_weights=samples.feature_weights,
            sample_weights=None if samples.sample_weights is None else _WEIGHTS,
            missing="drop" if samples.missing == "drop_any_feature" else samples.missing,
        )
        for name, column in clusterings.items()
    ]
    columns = {f"clusters:{name}": column for name, column in clusterings.items()}
    return job_over(samples, reductions, columns)


def _from_origins(job: LinearJob, *origins: Float) -> LinearJob:
    """The first pass, once it is known where the samples of each clustering lie."""
    reductions: Sequence[Any] = job.reductions
    pairs = zip(reductions, origins, strict=True)
    return replace(job, reductions=[r.told_from(origin) for r, origin in pairs])


def _about_means(samplewise: bool, first: LinearJob, *found: MomentStats) -> LinearJob:
    """The second pass: about the centroids that the first has found."""
    second = _second(first, samplewise)
    reductions: Sequence[Any] = second.reductions
    pairs = zip(reductions, found, strict=True)
    return replace(second, reductions=[r.about(stats) for r, stats in pairs])


def _second(first: LinearJob, samplewise: bool) -> LinearJob:
    """The second pass before its centres are known."""
    reductions: Sequence[Any] = first.reductions
    if samplewise:
        reductions = [r.samplewise() for r in reductions]
    names = [r.name.replace("centroids:", "moments:", 1) for r in reductions]
    renamed = [r.named(name) for r, name in zip(reductions, names, strict=True)]
    return replace(first, reductions=renamed)


def _finish(job: LinearJob, totals: Any, number: int, *radii: Float) -> Any:
    stats = job.reductions[number].finalize(totals[number])
    return replace(stats, radii=np.concatenate(radii)) if radii else stats

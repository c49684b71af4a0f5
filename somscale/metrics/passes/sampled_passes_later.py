"""Sampled answers for samples in Dask arrays: the same reads, put off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from somscale.engine.arrays import call_later
from somscale.engine.linear.job import LinearJob
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Candidate, Problem
from somscale.metrics.passes.cluster_passes import find_moments_later, pass_later
from somscale.metrics.passes.extreme_passes import find_extremes_later
from somscale.metrics.passes.origins import everyone
from somscale.metrics.passes.pair_linear import LARGEST
from somscale.metrics.passes.pair_passes_later import late_later
from somscale.metrics.passes.sampled_passes import (
    Sampled,
    anchor_codes,
    anchor_job,
    exact_totals,
    reads_largest,
    told,
)
from somscale.reductions.anchor_walk import Anchors

__all__ = ["find_sampled_later"]


def find_sampled_later(
    problem: Problem,
    wishes: Sequence[Wish],
    found: Mapping[str, Any],
    units: Mapping[str, Any],
    token: str,
) -> dict[Wish, Any]:
    """What anchors tell of the wishes that are sampled, delayed.

    Parameters
    ----------
    found, units, token
        As for :func:`somscale.metrics.passes.pair_passes_later.find_walks_later`.
    """
    samples = problem.samples
    if samples is None or samples.blocks is None:
        return {}
    job = anchor_job(problem, samples, wishes)
    if job is None:
        return {}
    token = f"anchors-{token}"
    rows, walk = (replace(own, blocks=None) for own in (job.rows, job.walk))
    rows_node = call_later(_same, rows, name=f"somscale-job-rows-{token}")
    read = pass_later(job.rows, rows_node, f"rows-{token}").total
    anchors = call_later(_anchors, rows_node, read, name=f"rows-{token}")
    late = late_later(problem, samples, found, units, token)
    walk_node = call_later(told, walk, late, anchors, name=f"somscale-job-{token}")
    again = replace(job.walk, blocks=samples.blocks.again(walk_node, token))
    total = pass_later(again, walk_node, token).total
    largest = None
    if reads_largest(wishes):
        column = {"all": everyone(samples)}
        moments, own_token = find_moments_later(samples, column, samplewise=True)
        extremes = find_extremes_later(samples, column, moments, own_token, which=LARGEST)
        largest = extremes["all"]
    answers = {}
    for number, wish in enumerate(wishes):
        if wish.anchors:
            answers[wish.key] = call_later(
                _sampled,
                walk_node,
                total,
                (job.places[wish.key], job.columns[wish.key], wish),
                found.get(f"units:{wish.candidate}"),
                problem.candidates[wish.candidate],
                largest,
                name=f"sampled-{number}-{token}",
            )
    return answers


def _same(job: LinearJob) -> LinearJob:
    return job


def _anchors(job: LinearJob, totals: Any) -> Anchors:
    found: Anchors = job.reductions[0].finalize(totals[0])
    return found


def _sampled(
    job: LinearJob,
    totals: Any,
    place: tuple[str, str, Wish],
    units: Any,
    candidate: Candidate,
    largest: Any,
) -> Sampled:
    name, column, wish = place
    walk: Any = job.reductions[0]
    results = walk.finalize(totals[0])
    exact = exact_totals(wish, candidate, units, largest)
    codes = anchor_codes(walk, column)
    return Sampled(results[name], results["n_samples"], codes, walk.numbers, exact)

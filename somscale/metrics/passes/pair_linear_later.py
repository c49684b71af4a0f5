"""Statistics of pairs of samples in Dask arrays that need no walk, put off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from somscale.codebook import TrainedMap
from somscale.engine.arrays import call_later
from somscale.engine.linear.job import LinearJob
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.cluster_passes import find_moments_later, pass_later
from somscale.metrics.passes.extreme_passes import find_extremes_later
from somscale.metrics.passes.origins import everyone
from somscale.metrics.passes.pair_linear import (
    FOURTH,
    LARGEST,
    centroids_job,
    clusterings_of,
    fourth_job,
    fourth_reduction,
    linear_totals,
    which_of,
)
from somscale.reductions.fourth_moments import mean_of_units
from somscale.reductions.pair_stats import Extremes

__all__ = ["find_linear_later"]


def find_linear_later(
    problem: Problem,
    wishes: Sequence[Wish],
    found: Mapping[str, Any],
    moments_token: str,
    token: str,
) -> dict[Wish, Any]:
    """The statistics that come from reads of the samples and from searches, delayed.

    Parameters
    ----------
    found : mapping
        Delayed statistics of earlier passes, by their names.
    moments_token : str
        Token of the moments among them.
    token : str
        A text that names the samples and all wishes.
    """
    samples = problem.samples
    if samples is None or samples.blocks is None:
        return {}
    answers = _totals_later(problem, samples, wishes, found, token)
    searched = [wish for wish in wishes if wish.linear and wish.need == "extremes"]
    if searched:
        moments = {wish.candidate: found[f"moments:{wish.candidate}"] for wish in searched}
        extremes = find_extremes_later(
            samples,
            clusterings_of(problem, searched),
            moments,
            moments_token,
            which=which_of(searched),
        )
        answers |= {wish.key: extremes[wish.candidate] for wish in searched}
    return answers | _centroids_later(problem, samples, wishes, found, token)


def _totals_later(
    problem: Problem,
    samples: Samples,
    wishes: Sequence[Wish],
    found: Mapping[str, Any],
    token: str,
) -> dict[Wish, Any]:
    answers: dict[Wish, Any] = {}
    fourth = None
    for number, wish in enumerate(wishes):
        candidate = problem.candidates[wish.candidate]
        if not wish.linear or wish.need != "totals" or not isinstance(candidate, TrainedMap):
            continue
        units = found[f"units:{wish.candidate}"]
        if wish.reads & FOURTH and fourth is None:
            fourth = _fourth_later(samples, units, token)
        answers[wish.key] = call_later(
            linear_totals,
            units,
            candidate,
            {} if fourth is None else fourth,
            name=f"totals-{number}-{token}",
        )
    return answers


def _fourth_later(samples: Samples, units: Any, token: str) -> Any:
    """Totals of the samples alone, delayed; the largest distance is searched for."""
    if samples.blocks is None:
        raise ValueError("only what is asked of Dask arrays is put off")
    planned = fourth_job(samples, fourth_reduction(samples, [0.0] * samples.shape[1]))
    carried = replace(planned, blocks=None)
    job_node = call_later(_about, carried, units, name=f"somscale-job-fourth-{token}")
    again = replace(planned, blocks=samples.blocks.again(job_node, f"fourth-{token}"))
    total = pass_later(again, job_node, f"fourth-{token}").total
    column = {"all": everyone(samples)}
    moments, moments_token = find_moments_later(samples, column, samplewise=True)
    extremes = find_extremes_later(samples, column, moments, moments_token, which=LARGEST)
    return call_later(_fourth, job_node, total, extremes["all"], name=f"fourth-{token}")


def _about(job: LinearJob, units: Any) -> LinearJob:
    reduction: Any = job.reductions[0]
    return replace(job, reductions=[reduction.about(mean_of_units(units))])


def _fourth(job: LinearJob, totals: Any, extremes: Extremes) -> dict[str, float]:
    own: Any = job.reductions[0]
    stats = own.finalize(totals[0])
    return {"d4": stats.sum_of_fourth_powers(), "d_max": float(extremes.diameters[0])}


def _centroids_later(
    problem: Problem,
    samples: Samples,
    wishes: Sequence[Wish],
    found: Mapping[str, Any],
    token: str,
) -> dict[Wish, Any]:
    job, places = centroids_job(problem, wishes)
    if job is None or samples.blocks is None:
        return {}
    moments = [found[f"moments:{wish.candidate}"] for wish in places]
    carried, token = replace(job, blocks=None), f"centroids-{token}"
    job_node = call_later(_about_all, carried, *moments, name=f"somscale-job-{token}")
    again = replace(job, blocks=samples.blocks.again(job_node, token))
    total = pass_later(again, job_node, token).total
    return {
        wish.key: call_later(
            _silhouettes, job_node, total, number, wish.need, name=f"{wish.need}-{number}-{token}"
        )
        for number, wish in enumerate(places)
    }


def _about_all(job: LinearJob, *moments: Any) -> LinearJob:
    reductions: Sequence[Any] = job.reductions
    about = [r.about(stats) for r, stats in zip(reductions, moments, strict=True)]
    return replace(job, reductions=about)


def _silhouettes(job: LinearJob, totals: Any, number: int, need: str) -> Any:
    result: Any = job.reductions[number].finalize(totals[number])
    return {
        "centroid_silhouettes": result.centroid,
        "squared_silhouettes": result.squared,
    }.get(need, result.to_centroids)

"""Statistics of pairs that need no walk: closed forms, centroids, and pruned searches.

Sums over pairs of a map's samples follow from its units and from fourth moments; the
largest and smallest distances are searched among the few samples that can have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from somscale.codebook import TrainedMap
from somscale.codebook.passes import job_over
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.planview import Search
from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.extreme_candidates import Which
from somscale.metrics.passes.extreme_passes import describe_extremes, find_diameter, find_extremes
from somscale.metrics.passes.map_pair_totals import map_pair_totals
from somscale.metrics.passes.origins import everyone
from somscale.reductions.centroid_distances import CentroidDistancesReduction, Want
from somscale.reductions.fourth_moments import FourthMomentsReduction, mean_of_units
from somscale.reductions.pair_stats import PairTotals
from somscale.reductions.unit_stats import UnitStats

__all__ = [
    "FOURTH",
    "LARGEST",
    "centroids_job",
    "clusterings_of",
    "find_linear",
    "fourth_reduction",
    "linear_jobs",
    "linear_totals",
    "needs_moments",
    "needs_radii",
    "which_of",
]

FOURTH = frozenset({"d4", "d_max"})
"""Totals that take reads of their own."""

LARGEST: tuple[Which, ...] = ("largest",)

_KINDS: Mapping[str, Want] = {
    "centroid_silhouettes": "centroid",
    "squared_silhouettes": "squared",
}


def needs_moments(wishes: Sequence[Wish]) -> bool:
    """Whether any wish is found from the centroids of clusters."""
    return needs_radii(wishes) or any(
        wish.need in _KINDS or "to_centroids" in wish.reads for wish in wishes
    )


def needs_radii(wishes: Sequence[Wish]) -> bool:
    """Whether any wish is searched for among the outermost samples."""
    return any(wish.linear and wish.need == "extremes" for wish in wishes)


def find_linear(
    problem: Problem, wishes: Sequence[Wish], found: Mapping[str, Any]
) -> dict[Wish, Any]:
    """The statistics that come from reads of the samples and from searches.

    Parameters
    ----------
    found : mapping
        Statistics of earlier passes, by their names.
    """
    samples = problem.samples
    if samples is None:
        return {}
    answers: dict[Wish, Any] = dict(_find_totals(problem, samples, wishes, found))
    searched = [wish for wish in wishes if wish.linear and wish.need == "extremes"]
    if searched:
        moments = {wish.candidate: found[f"moments:{wish.candidate}"] for wish in searched}
        clusterings = clusterings_of(problem, searched)
        extremes = find_extremes(samples, clusterings, moments, which=which_of(searched))
        answers |= {wish.key: extremes[wish.candidate] for wish in searched}
    job, places = centroids_job(problem, wishes)
    if job is not None:
        reductions: Sequence[Any] = job.reductions
        about = [
            r.about(found[f"moments:{wish.candidate}"])
            for r, wish in zip(reductions, places, strict=True)
        ]
        results = run_job(LinearJob(about, *samples.shape, **_where(job)))
        for wish, result in zip(places, results, strict=True):
            answers[wish.key] = getattr(result, _KINDS.get(wish.need, "to_centroids"))
    return answers


def _where(job: LinearJob) -> dict[str, Any]:
    return {"source": job.source, "blocks": job.blocks, "columns": job.columns}


def linear_jobs(problem: Problem, wishes: Sequence[Wish]) -> tuple[list[LinearJob], list[Search]]:
    """The reads, to be planned, and what the searches will take; nothing is read."""
    samples = problem.samples
    if samples is None:
        return [], []
    jobs, searches = [], []
    if any(wish.linear and wish.need == "totals" and wish.reads & FOURTH for wish in wishes):
        job = fourth_job(samples, fourth_reduction(samples, np.zeros(samples.shape[1])))
        jobs.append(job)
        text = describe_extremes(samples, {"all": everyone(samples)}, which=LARGEST)
        searches.append(Search("largest distance of the samples", text))
    searched = [wish for wish in wishes if wish.linear and wish.need == "extremes"]
    if searched:
        which = which_of(searched)
        text = describe_extremes(samples, clusterings_of(problem, searched), which=which)
        searches.append(Search("extremes of clusters", text))
    compared, _ = centroids_job(problem, wishes)
    if compared is not None:
        jobs.append(compared)
    return jobs, searches


def clusterings_of(problem: Problem, wishes: Sequence[Wish]) -> dict[str, Column]:
    """The clusterings that some wishes are about."""
    own = {wish.candidate: problem.candidates[wish.candidate] for wish in wishes}
    return {name: column for name, column in own.items() if isinstance(column, Column)}


def which_of(wishes: Sequence[Wish]) -> Any:
    """Which extremes are searched for: where all diameters are, the largest is among them."""
    reads = frozenset().union(*(wish.reads for wish in wishes))
    return reads - {"largest"} if "diameters" in reads else reads


def centroids_job(problem: Problem, wishes: Sequence[Wish]) -> tuple[LinearJob | None, list[Wish]]:
    """The pass that compares samples with centroids, and the wish of every reduction."""
    samples = problem.samples
    compared = [w for w in wishes if w.need in _KINDS or "to_centroids" in w.reads]
    if samples is None or not compared:
        return None, []
    clusterings = clusterings_of(problem, compared)
    reductions = [
        CentroidDistancesReduction(
            f"clusters:{wish.candidate}",
            clusterings[wish.candidate].n_categories,
            samples.shape[1],
            frozenset({_KINDS.get(wish.need, "to_centroids")}),
            name=f"{wish.need} {number}",
            space=None if wish.measure.euclidean else wish.measure.space(problem),
            names=samples.entry_names,
            feature_weights=samples.feature_weights,
            missing="drop" if samples.missing == "drop_any_feature" else samples.missing,
            samplewise="samples" in wish.reads,
        )
        for number, wish in enumerate(compared)
    ]
    columns = {f"clusters:{name}": column for name, column in clusterings.items()}
    return job_over(samples, reductions, columns), compared


def fourth_reduction(samples: Samples, center: Any) -> FourthMomentsReduction:
    """The reduction of fourth moments over samples, with their weights, mask and gaps."""
    return FourthMomentsReduction(
        center,
        samplewise=True,
        names=samples.entry_names,
        feature_weights=samples.feature_weights,
        excluded=None if samples.excluded is None else "samples left out",
        missing="drop" if samples.missing == "drop_any_feature" else samples.missing,
    )


def fourth_job(samples: Samples, reduction: FourthMomentsReduction) -> LinearJob:
    """The pass of fourth moments."""
    return job_over(samples, [reduction])


def _find_totals(
    problem: Problem, samples: Samples, wishes: Sequence[Wish], found: Mapping[str, Any]
) -> dict[Wish, PairTotals]:
    answers: dict[Wish, PairTotals] = {}
    fourth: dict[str, float] = {}
    for wish in wishes:
        candidate = problem.candidates[wish.candidate]
        if not wish.linear or wish.need != "totals" or not isinstance(candidate, TrainedMap):
            continue
        units: UnitStats = found[f"units:{wish.candidate}"]
        if wish.reads & FOURTH and not fourth:
            fourth = _fourth_totals(samples, units)
        answers[wish.key] = linear_totals(units, candidate, fourth)
    return answers


def _fourth_totals(samples: Samples, units: UnitStats) -> dict[str, float]:
    """Totals of the samples alone, about their mean."""
    center = mean_of_units(units)
    stats = run_job(fourth_job(samples, fourth_reduction(samples, center)))[0]
    largest = find_diameter(samples, center, stats.radius, missing_features=units.missing_features)
    return {"d4": stats.sum_of_fourth_powers(), "d_max": largest}


def linear_totals(
    units: UnitStats, candidate: TrainedMap, fourth: Mapping[str, float]
) -> PairTotals:
    """Totals of a map in closed form, and those of the samples alone."""
    closed = map_pair_totals(units, candidate.grid)
    return PairTotals(closed.n_samples, {**closed.values, **fourth})

"""From a user's arguments to finished values: which passes are needed, run or put off.

``evaluate`` and every index's own function come through here, so they give
the same answer for the same work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somscale.codebook.passes import gaps_job
from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import plan_job, run_job
from somscale.engine.pairs.cutting import PairPlan
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import plan_pair_job
from somscale.engine.planview import Search
from somscale.errors import MemoryBudgetError
from somscale.metrics.answering.answers import (
    answer_now,
    bundle_of,
    judged_clusterings,
    pair_bundle,
)
from somscale.metrics.answering.compute_later import solve_later
from somscale.metrics.asking.pair_wishes import Wish, wishes_of
from somscale.metrics.asking.question import Answer, Problem, Request
from somscale.metrics.asking.rank_wishes import RANKS, rank_bundle, rank_wishes
from somscale.metrics.passes.cluster_passes import find_moments, moments_jobs
from somscale.metrics.passes.linear_passes import first_job
from somscale.metrics.passes.pair_linear import find_linear, linear_jobs, needs_radii
from somscale.metrics.passes.pair_passes import (
    find_walks,
    merge_pairs,
    units_of_maps,
    walk_jobs,
)
from somscale.metrics.passes.rank_finding import RankFinder
from somscale.metrics.passes.sampled_passes import find_sampled, sampled_jobs

__all__ = ["plan_problem", "solve"]

_WALKED = RankFinder()


def plan_problem(
    problem: Problem, requests: Sequence[Request], ranks: RankFinder = _WALKED
) -> tuple[list[LinearPlan | PairPlan], list[Search]]:
    """Plan the passes of a problem, and the searches between them, without computing anything.

    Raises
    ------
    MemoryBudgetError
        A pass does not fit the budget; of several, that of the one that needs most.
    """
    jobs: list[LinearJob | PairJob] = []
    wishes, samples = wishes_of(problem, requests), problem.samples
    job = _first_job(problem, requests, wishes)
    if job.reductions:
        jobs.append(job)
    clusterings = judged_clusterings(problem, requests, wishes)
    if samples is not None and clusterings:
        jobs += moments_jobs(samples, clusterings, samplewise=needs_radii(wishes))
    reads, searches = linear_jobs(problem, wishes)
    jobs += [*reads, *sampled_jobs(problem, wishes), *walk_jobs(problem, wishes)]
    jobs += ranks.jobs(problem, rank_wishes(problem, requests))
    plans = _fitting(jobs, lazy=problem.lazy)
    if samples is not None and samples.missing == "drop_any_feature":
        plans.insert(0, plan_job(gaps_job(samples)))
    return plans, searches


def _fitting(jobs: Sequence[LinearJob | PairJob], *, lazy: bool) -> list[LinearPlan | PairPlan]:
    plans: list[LinearPlan | PairPlan] = []
    refusals: list[MemoryBudgetError] = []
    for job in jobs:
        try:
            if isinstance(job, PairJob):
                plans.append(plan_pair_job(job, lazy=lazy))
            else:
                plans.append(plan_job(job, lazy=lazy))
        except MemoryBudgetError as refusal:
            refusals.append(refusal)
    if refusals:
        raise max(refusals, key=lambda refusal: refusal.needed)
    return plans


def _first_job(problem: Problem, requests: Sequence[Request], wishes: Sequence[Wish]) -> LinearJob:
    """The first read of the samples, which also finds the units that walks go by."""
    ranked = any(RANKS in request.spec.needs for request in requests)
    walked = problem.kind == "map" and (ranked or not all(wish.linear for wish in wishes))
    return first_job(problem, requests, units_of_samples=walked)


def solve(
    problem: Problem, requests: Sequence[Request], ranks: RankFinder = _WALKED
) -> dict[str, dict[str, Answer]]:
    """Compute indices for all candidates: in one pass, for moments of clusters in two.

    Parameters
    ----------
    ranks : RankFinder
        Where ranks of neighbours come from.

    Returns
    -------
    dict
        Candidate to label to answer.
    """
    # what does not fit is refused before anything is read
    plan_problem(problem, requests, ranks)
    wishes = wishes_of(problem, requests)
    job = _first_job(problem, requests, wishes)
    if problem.lazy:
        return solve_later(problem, requests, wishes, job, ranks)
    found: dict[str, Any] = {}
    if job.reductions:
        found.update(zip((r.name for r in job.reductions), run_job(job), strict=True))
    clusterings = judged_clusterings(problem, requests, wishes)
    if problem.samples is not None and clusterings:
        moments = find_moments(problem.samples, clusterings, samplewise=needs_radii(wishes))
        found.update({f"moments:{name}": stats for name, stats in moments.items()})
    of_pairs = merge_pairs(find_linear(problem, wishes, found), find_walks(problem, wishes, found))
    of_pairs |= find_sampled(problem, wishes, found)
    of_ranks = ranks.now(problem, rank_wishes(problem, requests), found)
    units = units_of_maps(problem, found)
    return {
        candidate: {
            request.label: answer_now(
                problem,
                request,
                bundle_of(problem, candidate, found, units)
                | pair_bundle(problem, candidate, request, of_pairs)
                | rank_bundle(problem, candidate, request, of_ranks),
            )
            for request in requests
        }
        for candidate in problem.candidates
    }

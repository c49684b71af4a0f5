"""Ranks of neighbours for all candidates: found now, or planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_wishes import RankKey
from somscale.metrics.passes.pair_passes import late_of, reads_samples
from somscale.metrics.passes.rank_walks import RankWalks, fill_ranks, finished_ranks, rank_walks
from somscale.reductions.rank_want import RankWant

__all__ = ["find_ranks", "rank_jobs"]


def find_ranks(
    problem: Problem,
    wishes: Mapping[RankKey, RankWant],
    found: Mapping[str, Any],
    walks: RankWalks | None = None,
) -> dict[Any, Any]:
    """The ranks that some indices read.

    Parameters
    ----------
    found : mapping
        Statistics of earlier passes, by their names.
    walks : RankWalks, optional
        What is walked, where it is not what the wishes ask for by themselves.
    """
    walks = rank_walks(problem, wishes) if walks is None else walks
    if not walks.jobs or problem.samples is None:
        return {}
    late = late_of(problem, problem.samples, found, reads=reads_samples(walks.jobs))
    anchors = None if walks.rows is None else run_job(walks.rows)[0]
    results = [run_pairs(fill_ranks(job, late, anchors))[0] for job in walks.jobs]
    return {
        key: finished_ranks(results[number][name], walks.rows is not None)
        for key, (number, name) in walks.places.items()
    }


def rank_jobs(problem: Problem, wishes: Mapping[RankKey, RankWant]) -> list[LinearJob | PairJob]:
    """The reads and walks, to be planned; nothing is read."""
    walks = rank_walks(problem, wishes)
    return [*([] if walks.rows is None else [walks.rows]), *walks.jobs]

"""Ranks of neighbours of samples in Dask arrays: the same walks, put off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from somscale._types import AnyArray
from somscale.engine.arrays import call_later, join_later
from somscale.engine.linear.job import LinearJob
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import plan_pair_job
from somscale.engine.tokens import text_token
from somscale.engine.where import where_to_run
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_wishes import RankKey
from somscale.metrics.passes.cluster_passes import pass_later
from somscale.metrics.passes.pair_passes import reads_samples
from somscale.metrics.passes.pair_passes_later import late_later
from somscale.metrics.passes.rank_walks import RankWalks, fill_ranks, finished_ranks, rank_walks
from somscale.reductions.rank_want import RankWant

__all__ = ["find_ranks_later", "ranks_token"]


def ranks_token(problem: Problem, wishes: Mapping[RankKey, RankWant], before: str) -> str:
    """A text that names the walks and what they tally; equal ones mean equal results."""
    labels = None if problem.labels is None else problem.labels.identity()
    parts: list[Any] = [before, problem.sampling, labels]
    for key, want in wishes.items():
        parts += [key.candidate, key.measure.distance, key.measure.p, key.space, repr(want)]
    return text_token(*parts)


def find_ranks_later(
    problem: Problem,
    wishes: Mapping[RankKey, RankWant],
    found: Mapping[str, Any],
    units: Mapping[str, Any],
    token: str,
    walks: RankWalks | None = None,
) -> dict[Any, Any]:
    """The ranks that some indices read, delayed.

    Parameters
    ----------
    found : mapping
        Delayed statistics of earlier passes, by their names.
    units : mapping
        Delayed best-matching units of all samples, by candidate.
    token : str
        Names the samples, the candidates and the wishes, from :func:`ranks_token`.
    walks : RankWalks, optional
        What is walked, where it is not what the wishes ask for by themselves.
    """
    samples = problem.samples
    walks = rank_walks(problem, wishes) if walks is None else walks
    if not walks.jobs or samples is None or samples.blocks is None:
        return {}
    token = f"ranks-{token}"
    late = late_later(problem, samples, found, units, token, reads=reads_samples(walks.jobs))
    anchors = None
    if walks.rows is not None:
        rows = replace(walks.rows, blocks=None)
        rows_node = call_later(_same, rows, name=f"somscale-job-rows-{token}")
        total = pass_later(walks.rows, rows_node, f"rows-{token}").total
        anchors = call_later(_anchors, rows_node, total, name=f"rows-{token}")
    again = bool(found) or anchors is not None
    results = []
    for number, job in enumerate(walks.jobs):
        own = f"{token}-{number}"
        node = call_later(fill_ranks, job.carried(), late, anchors, name=f"somscale-job-{own}")
        if (again or number) and job.blocks is not None:
            # blocks that an earlier pass has read would all be kept for this one
            job = replace(job, blocks=job.blocks.again(node, own))
        results.append(_result_later(job, own, node))
    sampled = walks.rows is not None
    return {
        key: call_later(_picked, results[number], name, sampled, name=f"{name}-{number}-{token}")
        for key, (number, name) in walks.places.items()
    }


def _result_later(job: PairJob, token: str, job_node: Any) -> Any:
    """What a walk tells, delayed; what it keeps of every row is joined beside its sums."""
    from somscale.engine.pairs.graph import build_pair_graph

    plan, pool = plan_pair_job(job, lazy=True), where_to_run().workers == "pool"
    graph = build_pair_graph(plan, token, pool=pool, job_node=job_node)
    names = [name for _, name in graph.pieces]
    kept = [join_later(own, f"{name}-{token}") for (_, name), own in graph.pieces.items()]
    return call_later(_finalized, job_node, graph.total, names, *kept, name=f"walk-{token}")


def _same(job: LinearJob) -> LinearJob:
    return job


def _anchors(job: LinearJob, totals: Any) -> Any:
    return job.reductions[0].finalize(totals[0])


def _finalized(job: Any, totals: Any, names: Sequence[str], *kept: AnyArray) -> Any:
    return job.reductions[0].finalize({**totals[0], **dict(zip(names, kept, strict=True))})


def _picked(result: Mapping[str, Any], name: str, sampled: bool) -> Any:
    return finished_ranks(result[name], sampled)

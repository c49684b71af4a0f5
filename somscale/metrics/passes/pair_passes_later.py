"""Statistics of pairs of samples in Dask arrays: the same walks, put off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from somscale._types import Bool, Float
from somscale.codebook import TrainedMap
from somscale.engine.arrays import call_later
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import pair_total_later
from somscale.engine.readers.samples import Samples
from somscale.engine.tokens import text_token
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.cluster_passes import find_moments_later
from somscale.metrics.passes.origins import everyone, first_looks, look_later
from somscale.metrics.passes.pair_builder import Late, fill
from somscale.metrics.passes.pair_passes import (
    finished,
    grid_of_map,
    joined,
    largest_of,
    reads_samples,
)
from somscale.metrics.passes.pair_walks import Walks, reach_of, rounds_of, walks_of

__all__ = ["find_walks_later", "late_later", "merge_pairs_later", "walks_token"]


def find_walks_later(
    problem: Problem,
    wishes: Sequence[Wish],
    found: Mapping[str, Any],
    units: Mapping[str, Any],
    token: str,
) -> dict[Wish, Any]:
    """The statistics that come from walks over pairs, delayed.

    Parameters
    ----------
    found : mapping
        Delayed statistics of earlier passes, by their names.
    units : mapping
        Delayed best-matching units of all samples, by candidate.
    token : str
        From :func:`walks_token`.
    """
    samples = problem.samples
    answers: dict[Wish, Any] = {}
    late = None
    for turn, own in enumerate(rounds_of(wishes)):
        walks = walks_of(problem, own)
        if not walks.jobs or samples is None or samples.blocks is None:
            continue
        if late is None:
            reads = reads_samples(walks.jobs)
            late = late_later(problem, samples, found, units, token, reads=reads)
        known, name = late, f"{token}-{turn}"
        ends = [answers[reach_of(wish).key] for wish in own if wish.need == "shepard"]
        if ends:
            known = call_later(_reaching, late, own, walks.places, *ends, name=f"reaching-{name}")
        results = [
            _result_later(problem, job, known, bool(found) or bool(answers), f"{name}-{number}")
            for number, job in enumerate(walks.jobs)
        ]
        for place, (key, places) in enumerate(walks.places.items()):
            wish = next(w for w in own if w.key == key)
            answers[key] = call_later(
                _picked,
                wish,
                [name for _, name in places],
                found.get(f"units:{wish.candidate}"),
                grid_of_map(problem, wish),
                *(results[number] for number, _ in places),
                name=f"pairs-{place}-{name}",
            )
    return answers


def _reaching(late: Late, wishes: Sequence[Wish], places: Any, *ends: Any) -> Late:
    diagrams = [wish for wish in wishes if wish.need == "shepard"]
    answers = {reach_of(w).key: end for w, end in zip(diagrams, ends, strict=True)}
    return replace(late, largest=largest_of(wishes, Walks([], places), answers))


def merge_pairs_later(
    linear: Mapping[Wish, Any], walked: Mapping[Wish, Any], token: str
) -> dict[Wish, Any]:
    """All statistics of pairs, delayed; sums to centroids join the others of their clusters."""
    both = {
        key: call_later(joined, value, linear[key], name=f"joined-{number}-{token}")
        for number, (key, value) in enumerate(walked.items())
        if key in linear
    }
    return {**linear, **walked, **both}


def walks_token(problem: Problem, wishes: Sequence[Wish], before: str) -> str:
    """A text that names the walks' samples and what they add up; equal ones mean equal results."""
    samples = problem.samples
    if samples is None or samples.blocks is None:
        raise ValueError("only what is asked of Dask arrays is put off")
    parts: list[Any] = [before, samples.blocks.name, samples.missing, problem.matrix]
    parts += [samples.feature_weights, samples.entry_names]
    parts += [None if samples.excluded is None else samples.excluded.identity()]
    parts += [None if problem.stored is None else problem.stored.token]
    for wish in wishes:
        parts += [wish.need, wish.candidate, sorted(wish.reads), wish.bins]
        parts += [wish.measure.distance, wish.measure.p, wish.anchors]
    for name, candidate in problem.candidates.items():
        parts += [name]
        if isinstance(candidate, TrainedMap):
            parts += [candidate.fingerprint]
        else:
            parts += [candidate.identity()]
    return text_token(*parts)


def late_later(
    problem: Problem,
    samples: Samples,
    found: Mapping[str, Any],
    units: Mapping[str, Any],
    token: str,
    *,
    reads: bool = True,
) -> Any:
    """What earlier passes found, and a look at the samples, delayed; see `late_of`."""
    center = None
    if reads and not problem.matrix and samples.blocks is not None:
        looks = first_looks(samples, [everyone(samples)])
        center = look_later(samples.blocks, looks, f"pairs-{token}")[0]
    statistics = None
    if reads and samples.missing == "drop":
        known = [s for name, s in found.items() if name.startswith(("units:", "moments:"))]
        if not known:
            known = list(find_moments_later(samples, {"all": everyone(samples)})[0].values())
        statistics = known[0]
    return call_later(
        _late_of, center, statistics, list(units), *units.values(), name=f"late-{token}"
    )


def _late_of(center: Float | None, statistics: Any, names: list[str], *units: Any) -> Late:
    missing: Bool | None = None if statistics is None else statistics.missing_features
    return Late(center, missing, dict(zip(names, units, strict=True)))


def _result_later(problem: Problem, job: PairJob, late: Any, again: bool, token: str) -> Any:
    job_node = call_later(fill, job.carried(), late, name=f"somscale-job-{token}")
    if again and job.blocks is not None:
        # blocks that an earlier pass has read would all be kept for this one
        job = replace(job, blocks=job.blocks.again(job_node, token))
    total = pair_total_later(job, token, job_node)
    return call_later(_finalized, job_node, total, name=f"walk-{token}")


def _finalized(job: PairJob, totals: Any) -> Any:
    return job.reductions[0].finalize(totals[0])


def _picked(wish: Wish, names: Sequence[str], units: Any, grid: Any, *results: Any) -> Any:
    parts = [result[name] for result, name in zip(results, names, strict=True)]
    return finished(wish, parts, results[0]["n_samples"], units, grid)

"""Statistics of pairs for all candidates: found now, put off, or planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from somscale._types import Bool, Float
from somscale.codebook import TrainedMap
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.cluster_passes import find_moments
from somscale.metrics.passes.map_pair_totals import map_pair_totals
from somscale.metrics.passes.origins import everyone, first_looks, look_now
from somscale.metrics.passes.pair_builder import Late, fill
from somscale.metrics.passes.pair_walks import Walks, reach_of, rounds_of, walks_of
from somscale.reductions.pair_stats import ClusterPairs, Extremes, PairTotals
from somscale.reductions.unit_stats import UnitStats
from somscale.topology import Grid

__all__ = [
    "find_walks",
    "finished",
    "grid_of_map",
    "joined",
    "largest_of",
    "late_of",
    "merge_pairs",
    "reads_samples",
    "units_of_maps",
    "walk_jobs",
]


def find_walks(
    problem: Problem, wishes: Sequence[Wish], found: Mapping[str, Any]
) -> dict[Wish, Any]:
    """The statistics that come from walks over pairs.

    Parameters
    ----------
    found : mapping
        Statistics of earlier passes, by their names.
    """
    answers: dict[Wish, Any] = {}
    late = None
    for own in rounds_of(wishes):
        walks = walks_of(problem, own)
        if not walks.jobs or problem.samples is None:
            continue
        if late is None:
            late = late_of(problem, problem.samples, found, reads=reads_samples(walks.jobs))
        known = replace(late, largest=largest_of(own, walks, answers))
        results = [run_pairs(fill(job, known))[0] for job in walks.jobs]
        for key, places in walks.places.items():
            wish = next(w for w in own if w.key == key)
            answers[key] = finished(
                wish,
                [results[number][name] for number, name in places],
                results[places[0][0]]["n_samples"],
                found.get(f"units:{wish.candidate}"),
                grid_of_map(problem, wish),
            )
    return answers


def late_of(
    problem: Problem, samples: Samples, found: Mapping[str, Any], *, reads: bool = True
) -> Late:
    """What earlier passes found, and, for walks that read the samples, a look at these."""
    return Late(
        center=None if problem.matrix or not reads else center_now(samples),
        missing_features=_missing_features(problem, found) if reads else None,
        units=units_of_maps(problem, found),
    )


def reads_samples(jobs: Sequence[PairJob]) -> bool:
    """Whether any walk takes distances of samples, and not from a matrix."""
    return any(not job.given for job in jobs)


def largest_of(
    wishes: Sequence[Wish], walks: Walks, answers: Mapping[Wish, Any]
) -> dict[str, tuple[float, float]]:
    """Where Shepard diagrams end, from the totals of a walk before, by accumulator."""
    found = {}
    for wish in wishes:
        if wish.need == "shepard":
            totals: PairTotals = answers[reach_of(wish).key]
            ends = totals["d_max"], totals["e_max_possible"]
            found[walks.places[wish.key][0][1]] = ends
    return found


def walk_jobs(problem: Problem, wishes: Sequence[Wish]) -> list[PairJob]:
    """The walks, to be planned; nothing is read."""
    return [job for own in rounds_of(wishes) for job in walks_of(problem, own).jobs]


def merge_pairs(linear: Mapping[Wish, Any], walked: Mapping[Wish, Any]) -> dict[Wish, Any]:
    """All statistics of pairs; sums to centroids join the others of their clusters."""
    return {**linear, **{key: joined(value, linear.get(key)) for key, value in walked.items()}}


def joined(walked: Any, to_centroids: Float | None) -> Any:
    """A walk's statistic, with sums to centroids where there are any."""
    return walked if to_centroids is None else replace(walked, to_centroids=to_centroids)


def finished(
    wish: Wish, parts: Sequence[Any], n_samples: int, units: UnitStats | None, grid: Grid | None
) -> Any:
    """Results of walks as the statistic that formulas read."""
    result = parts[0]
    for part in parts[1:]:
        result = replace(result, hausdorff=part.hausdorff)
    if wish.need == "extremes":
        return _extremes(result)
    if wish.need != "totals":
        return result
    values = dict(result)
    if grid is None:
        values["e_max_possible"] = values["e_max"]
    elif "stress" in values:
        values["e_max_possible"] = grid.max_distance
    elif units is not None:
        # what no walk is needed for comes from the same sums for all indices
        values = {**map_pair_totals(units, grid).values, **values}
    return PairTotals(n_samples, values)


def grid_of_map(problem: Problem, wish: Wish) -> Grid | None:
    """The grid of a wish's candidate, where that is a map."""
    candidate = problem.candidates[wish.candidate]
    return candidate.grid if isinstance(candidate, TrainedMap) else None


def center_now(samples: Samples) -> Float:
    """A point near the samples."""
    return look_now(samples, first_looks(samples, [everyone(samples)]))[0]


def _missing_features(problem: Problem, found: Mapping[str, Any]) -> Bool | None:
    """Features that every sample lacks, where they are dropped."""
    samples = problem.samples
    if samples is None or samples.missing != "drop":
        return None
    for name, statistics in found.items():
        if name.startswith(("units:", "moments:")):
            missing: Bool | None = statistics.missing_features
            return missing
    return find_moments(samples, {"all": everyone(samples)})["all"].missing_features


def units_of_maps(problem: Problem, found: Mapping[str, Any]) -> dict[str, Any]:
    """Best-matching units of the samples, of every candidate that is a map."""
    return {
        name: found[f"units:{name}"].bmu
        for name, candidate in problem.candidates.items()
        if isinstance(candidate, TrainedMap)
    }


def _extremes(pairs: ClusterPairs) -> Extremes:
    """Diameters, and the smallest distance between two clusters, of all pairs."""
    if pairs.smallest is None or pairs.diameters is None:
        raise ValueError("the walk kept no extremes")
    apart = pairs.smallest.copy()
    np.fill_diagonal(apart, np.inf)
    return Extremes(pairs.hits, pairs.diameters, float(apart.min(initial=np.inf)))

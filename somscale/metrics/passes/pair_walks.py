"""The walks over pairs that some statistics need: spaces, accumulators and columns put together.

One walk sees every unordered pair once and serves all of them.  Silhouettes keep a sum
for every sample and group there; where these are too many for the memory budget, or
groups are small, a walk of its own keeps some samples and meets all others, which
computes every distance twice.

A distance that a store has is read there, in walks of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from somscale._types import Float, Int
from somscale.codebook import TrainedMap
from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import plan_pair_job
from somscale.engine.readers.samples import Samples
from somscale.errors import MemoryBudgetError
from somscale.metrics.asking.pair_wishes import Measure, Wish
from somscale.metrics.asking.question import Candidate, Problem
from somscale.metrics.asking.stored import StoredSpace
from somscale.metrics.passes.pair_builder import Builder
from somscale.reductions.distance_ranks import rank_accumulator
from somscale.reductions.distance_totals import DistanceTotals, MapTotals
from somscale.reductions.group_pairs import GroupPairs, Want
from somscale.reductions.pair_walk import PairWalk, RowWalk
from somscale.reductions.sample_pairs import RowNearest, RowSilhouettes, SampleSums
from somscale.reductions.shepard import ShepardCounts
from somscale.topology import Grid

__all__ = ["Walks", "reach_of", "rounds_of", "walks_of"]

_TABLES: Mapping[str, Want] = {
    "between": "between",
    "smallest": "extremes",
    "largest": "extremes",
}
_MOST_GROUPS = 64
"""Groups up to which sums of both samples of a pair cost less than a second distance."""
_LARGEST_TABLE = 2_048


@dataclass(frozen=True)
class Walks:
    """Walks, and where each statistic is among their results.

    Attributes
    ----------
    jobs : list of PairJob
        With `Late` left out.
    places : dict
        Statistic to the number of its job and the name of its accumulator, one or two.
    """

    jobs: list[PairJob]
    places: dict[Wish, list[tuple[int, str]]]


def rounds_of(wishes: Sequence[Wish]) -> list[list[Wish]]:
    """Walks one after the other: a Shepard diagram has bins up to distances that are known."""
    walked = [wish for wish in wishes if not wish.linear and not wish.anchors]
    first = [wish for wish in walked if wish.need != "shepard"]
    second = [wish for wish in walked if wish.need == "shepard"]
    for wish in second:
        ends = reach_of(wish)
        same = [other for other in first if other.key == ends.key]
        first = [other for other in first if other.key != ends.key]
        first.append(replace(ends, reads=ends.reads.union(*(other.reads for other in same))))
    return [first, second]


def reach_of(wish: Wish) -> Wish:
    """The totals among which are the largest distances of a Shepard diagram."""
    ends = frozenset({"d_max", "e_max"})
    return replace(wish, need="totals", bins=0, reads=ends, anchors=None, by_column=False)


def walks_of(problem: Problem, wishes: Sequence[Wish]) -> Walks:
    """The walks that serve some wishes; those that closed forms serve are left out."""
    samples = problem.samples
    walked = [wish for wish in wishes if not wish.linear]
    if samples is None or not walked:
        return Walks([], {})
    walks = Walks([], {})
    for stored, own in _apart(problem, walked):
        _add_walks(walks, problem, samples, own, stored)
    return walks


def _apart(problem: Problem, wishes: Sequence[Wish]) -> list[tuple[StoredSpace | None, list[Wish]]]:
    """Wishes that share their walks: all of distances that are computed, those of a matrix."""
    if problem.stored is None or problem.matrix:
        return [(None, list(wishes))]
    stored: dict[Measure, StoredSpace] = {}
    for measure in dict.fromkeys(wish.measure for wish in wishes):
        found = problem.stored.distances_of(measure, problem.n_samples)
        if found is not None:
            stored[measure] = found
    rest = [wish for wish in wishes if wish.measure not in stored]
    read = [(found, [w for w in wishes if w.measure == m]) for m, found in stored.items()]
    return [*([(None, rest)] if rest else []), *read]


def _add_walks(
    walks: Walks,
    problem: Problem,
    samples: Samples,
    walked: Sequence[Wish],
    stored: StoredSpace | None,
) -> None:
    """Add one walk over pairs, and one that keeps samples where it is needed."""
    small = [w for w in walked if w.need != "silhouettes_of_clusters" or _few(problem, w)]
    first = len(walks.places)
    pairs, places = _pair_walk(Builder(problem, samples, stored), small, first)
    if pairs is not None and any(w.need == "silhouettes_of_clusters" for w in small):
        try:
            plan_pair_job(pairs, lazy=samples.lazy)
        except MemoryBudgetError:
            small = [w for w in small if w.need != "silhouettes_of_clusters"]
            pairs, places = _pair_walk(Builder(problem, samples, stored), small, first)
    if pairs is not None:
        walks.places.update({wish.key: [(len(walks.jobs), n)] for wish, n in places.items()})
        walks.jobs.append(pairs)
    rows = Builder(problem, samples, stored)
    kept: list[Any] = []
    for wish in walked:
        if wish not in small or "hausdorff" in wish.reads:
            name = f"{wish.need} {len(kept)}"
            kept.append(_row_accumulator(rows, wish, name))
            walks.places.setdefault(wish.key, []).append((len(walks.jobs), name))
    if kept:
        walks.jobs.append(rows.job(RowWalk, "rows", kept))


def _row_accumulator(builder: Builder, wish: Wish, name: str) -> Any:
    column, size = builder.groups(wish.candidate)
    space = builder.samples_space(wish.measure)
    if wish.need == "cluster_pairs":
        return RowNearest(name, column, size, space=space)
    return RowSilhouettes(name, column, size, builder.problem.n_samples, space=space)


def _few(problem: Problem, wish: Wish) -> bool:
    return problem.size("cluster", wish.candidate) <= _MOST_GROUPS


def _pair_walk(
    builder: Builder, wishes: Sequence[Wish], first: int
) -> tuple[PairJob | None, dict[Wish, str]]:
    """The walk of some wishes; accumulators of all walks have different names."""
    places: dict[Wish, str] = {}
    accumulators: list[Any] = []
    for wish in wishes:
        name = f"{wish.need} {first + len(accumulators)}"
        accumulators.append(_accumulator(builder, wish, name))
        places[wish] = name
    if not accumulators:
        return None, {}
    return builder.job(PairWalk, "pairs", accumulators), places


def _accumulator(builder: Builder, wish: Wish, name: str) -> Any:
    space = builder.samples_space(wish.measure)
    candidate = builder.problem.candidates[wish.candidate]
    if wish.need == "totals" and isinstance(candidate, TrainedMap):
        column, _ = builder.groups(wish.candidate)
        if wish.by_column:
            delta = _delta(candidate.grid)
            return MapTotals(name, column, delta, space=space)
    if wish.need in ("shepard", "ranked"):
        both = space, builder.projection(wish.candidate)
        if wish.need == "shepard":
            return ShepardCounts(name, both, largest=(1.0, 1.0), bins=wish.bins)
        levels = np.unique(_delta(candidate.grid)) if _has_levels(candidate) else None
        return rank_accumulator(name, both, builder.problem.n_samples, levels=levels)
    if wish.need == "totals":
        return DistanceTotals(name, (space, builder.projection(wish.candidate)), wish.reads)
    column, size = builder.groups(wish.candidate)
    if wish.need == "silhouettes_of_clusters":
        return SampleSums(name, column, size, builder.problem.n_samples, space=space)
    wants: set[Want] = {"within"}
    wants |= {_TABLES[table] for table in wish.reads if table in _TABLES}
    if wish.need == "extremes":
        wants.add("extremes")
    return GroupPairs(name, column, size, frozenset(wants), space=space)


def _has_levels(candidate: Candidate) -> TypeGuard[TrainedMap]:
    """Whether distances of a projection are those of few units."""
    return isinstance(candidate, TrainedMap) and candidate.grid.size <= _LARGEST_TABLE


@dataclass(frozen=True)
class _GridDistances:
    """Distances on a map of so many units that no table is kept."""

    grid: Grid

    def __call__(self, units: Int, others: Int) -> Float:
        return self.grid.distance(units[:, None], others[None, :])


def _delta(grid: Grid) -> Any:
    return grid.distances() if grid.size <= _LARGEST_TABLE else _GridDistances(grid)

"""The walks that rank neighbours: one over the samples' distances serves all projections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from somscale.engine.linear.job import LinearJob
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_sampling import DrawnRanks
from somscale.metrics.asking.rank_wishes import RankKey
from somscale.metrics.passes.pair_builder import Builder, Late, fill
from somscale.metrics.passes.sampled_passes import drawn, with_columns
from somscale.reductions.anchor_walk import AnchorRows, Anchors
from somscale.reductions.rank_stats import RankStats, Tally
from somscale.reductions.rank_walk import RankWalk
from somscale.reductions.rank_want import RankWant

__all__ = ["RankWalks", "fill_ranks", "finished_ranks", "rank_walks"]

_GROUPED_BYTES: Final = 64 << 20
_GROUPS: Final = 64
"""Groups of drawn rows, where tallies of each row would take more than `_GROUPED_BYTES`."""


@dataclass(frozen=True)
class RankWalks:
    """Walks, where each statistic is among their results, and the read before them.

    Attributes
    ----------
    jobs : list of PairJob
        With `Late` left out.
    places : dict
        Statistic to the number of its job and its name there.
    rows : LinearJob or None
        The read that finds the features of rows that are drawn.
    """

    jobs: list[PairJob]
    places: Mapping[Any, tuple[int, str]]
    rows: LinearJob | None = None


def rank_walks(problem: Problem, wishes: Mapping[RankKey, RankWant]) -> RankWalks:
    """The walks that serve some wishes, one for each distance of the samples.

    What a store has is taken in the place of the samples, unless rows of these are drawn.
    """
    samples = problem.samples
    if samples is None or not wishes:
        return RankWalks([], {})
    kept, rows = None, None
    if problem.sampling is not None:
        kept = drawn(samples, *problem.sampling)
        where: dict[str, Any] = {"source": samples.source, "blocks": samples.blocks}
        rows = LinearJob([AnchorRows(kept.numbers, samples.shape[1])], *samples.shape, **where)
    jobs: list[PairJob] = []
    places: dict[RankKey, tuple[int, str]] = {}
    for measure in dict.fromkeys(key.measure for key in wishes):
        own = {key: want for key, want in wishes.items() if key.measure == measure}
        names = {key: f"ranks {number}" for number, key in enumerate(own)}
        places.update({key: (len(jobs), name) for key, name in names.items()})
        wants = {names[key]: (key, want) for key, want in own.items()}
        jobs.append(_walk(problem, samples, measure, wants, kept))
    return RankWalks(jobs, places, rows)


def _walk(
    problem: Problem,
    samples: Samples,
    measure: Measure,
    wants: Mapping[str, tuple[RankKey, RankWant]],
    kept: Anchors | None,
) -> PairJob:
    stored = None
    if problem.stored is not None and kept is None and not problem.matrix:
        stored = problem.stored.order_of(measure, measure.space(problem), problem.n_samples)
    builder = Builder(problem, samples, stored)
    space = builder.samples_space(measure)
    placed: dict[str, tuple[str, RankWant]] = {}
    for name, (key, want) in wants.items():
        output = builder.code_vectors if key.space == "codebook" else builder.projection
        if want.labels is not None:
            builder.classes(want.labels)
        if kept is not None and problem.sampling is not None:
            want = _of_drawn(want, *problem.sampling)
        placed[name] = (output(key.candidate), want)
    walk = RankWalk(
        "ranks",
        builder.spaces,
        space,
        placed,
        # ranks that tie go by the samples' numbers
        replace(builder.choice(), sort_by=None),
        n_samples=samples.shape[0],
        n_features=builder.n_features,
        matrix=builder.matrix,
        stored=None if stored is None else stored.checked,
    )
    return builder.over_samples(walk, kept)


def _of_drawn(want: RankWant, m: int, seed: int) -> RankWant:
    """What is tallied of drawn rows, each by itself or in groups that chance makes."""
    groups = None
    if m * want.k_max * len(Tally) * 8 > _GROUPED_BYTES:
        groups = tuple((np.random.default_rng(seed).permutation(m) % _GROUPS).tolist())
    return replace(want, drawn=m, groups=groups)


def fill_ranks(job: PairJob, late: Late, anchors: Anchors | None = None) -> PairJob:
    """A walk, told what earlier passes found, and the rows that were drawn."""
    filled = fill(job, late)
    if anchors is None:
        return filled
    return replace(filled, kept=with_columns(anchors, filled.columns))


def finished_ranks(stats: RankStats, sampled: bool) -> Any:
    """A walk's result as formulas read it; of drawn rows as estimates are made of it."""
    return DrawnRanks(stats) if sampled else stats

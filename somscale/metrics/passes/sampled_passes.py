"""Sampled answers: anchors are drawn, read, and compared with all samples in one more read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from somscale._types import AnyArray, Int
from somscale.codebook import TrainedMap
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import RowValues, SampleVectors
from somscale.engine.readers.samples import Samples
from somscale.kernels.farthest import farthest_pair
from somscale.metrics.asking.pair_wishes import Wish
from somscale.metrics.asking.question import Candidate, Problem
from somscale.metrics.asking.sampling import draw_anchors
from somscale.metrics.passes.cluster_passes import find_moments
from somscale.metrics.passes.extreme_passes import find_extremes
from somscale.metrics.passes.map_pair_totals import map_pair_totals
from somscale.metrics.passes.origins import everyone
from somscale.metrics.passes.pair_builder import Builder, Late, fill_columns
from somscale.metrics.passes.pair_passes import late_of
from somscale.reductions.anchor_walk import AnchorRows, Anchors, AnchorWalk
from somscale.reductions.anchored import AnchorSilhouettes, RowGroups, RowTotals
from somscale.reductions.pair_stats import Extremes
from somscale.reductions.unit_stats import UnitStats

__all__ = [
    "AnchorJob",
    "Sampled",
    "anchor_codes",
    "anchor_job",
    "drawn",
    "exact_totals",
    "find_sampled",
    "reads_largest",
    "sampled_jobs",
    "told",
    "with_columns",
]


@dataclass(frozen=True)
class Sampled:
    """What anchors gathered for a statistic, and what is known exactly.

    Attributes
    ----------
    result : AnchorTotals, AnchorGroups or Silhouettes
        From the anchors.
    n_samples : int
        Samples N that take part.
    codes : (m,) int64
        Groups of the anchors, negative for none; empty where there are no groups.
    numbers : (m,) int64
        Numbers of the anchors that take part.
    exact : mapping of str to float
        Totals that are known exactly.
    """

    result: Any
    n_samples: int
    codes: Int
    numbers: Int
    exact: Mapping[str, float]


@dataclass(frozen=True)
class AnchorJob:
    """The read that compares samples with anchors.

    Attributes
    ----------
    rows : LinearJob
        The read that finds the anchors' features.
    walk : LinearJob
        The read that compares, before it knows them.
    places : dict
        Statistic to the name of its accumulator.
    columns : dict
        Statistic to the column of its groups, "" where it has none.
    """

    rows: LinearJob
    walk: LinearJob
    places: dict[Wish, str]
    columns: dict[Wish, str]


def anchor_job(problem: Problem, samples: Samples, wishes: Sequence[Wish]) -> AnchorJob | None:
    """The reads that serve the wishes that are sampled."""
    sampled = [wish for wish in wishes if wish.anchors]
    if not sampled or problem.sampling is None:
        return None
    m, seed = problem.sampling
    builder = Builder(problem, samples)
    places: dict[Wish, str] = {}
    columns: dict[Wish, str] = {}
    accumulators: list[Any] = []
    for wish in sampled:
        name, space = f"{wish.need} {len(accumulators)}", builder.samples_space(wish.measure)
        places[wish.key], columns[wish.key] = name, ""
        if wish.need == "totals":
            both = space, builder.projection(wish.candidate)
            accumulators.append(RowTotals(name, both, wish.reads))
            continue
        column, size = builder.groups(wish.candidate)
        columns[wish.key] = column
        if wish.need == "cluster_pairs":
            accumulators.append(RowGroups(name, column, size, space=space))
        else:
            rows = problem.n_samples
            accumulators.append(AnchorSilhouettes(name, column, size, rows, space=space))
    anchors = drawn(samples, m, seed)
    numbers = anchors.numbers
    choice = builder.choice()
    walk = AnchorWalk("anchors", builder.spaces, accumulators, choice, anchors)
    where: dict[str, Any] = {"source": samples.source, "blocks": samples.blocks}
    reader = AnchorRows(numbers, samples.shape[1])
    return AnchorJob(
        LinearJob([reader], *samples.shape, **where),
        LinearJob([walk], *samples.shape, columns=builder.columns, **where),
        places,
        columns,
    )


def drawn(samples: Samples, m: int, seed: int) -> Anchors:
    """Anchors among the samples that a mask does not leave out, still to be read."""
    taken = None
    if samples.excluded is not None:
        taken = ~samples.excluded.read(0, samples.shape[0]).astype(bool)
    numbers = draw_anchors(samples.shape[0], m, seed, taken)
    return Anchors.planned(numbers, samples.shape[1])


def find_sampled(
    problem: Problem, wishes: Sequence[Wish], found: Mapping[str, Any]
) -> dict[Wish, Sampled]:
    """What anchors tell of the wishes that are sampled.

    Parameters
    ----------
    found : mapping
        Statistics of earlier passes, by their names.
    """
    samples = problem.samples
    if samples is None:
        return {}
    job = anchor_job(problem, samples, wishes)
    if job is None:
        return {}
    walk = told(job.walk, late_of(problem, samples, found), run_job(job.rows)[0])
    results = run_job(walk)[0]
    largest = None
    if reads_largest(wishes):
        column = {"all": everyone(samples)}
        moments = find_moments(samples, column, samplewise=True)
        largest = find_extremes(samples, column, moments, which=("largest",))["all"]
    reduction: Any = walk.reductions[0]
    return {
        wish.key: Sampled(
            results[job.places[wish.key]],
            results["n_samples"],
            anchor_codes(reduction, job.columns[wish.key]),
            reduction.numbers,
            exact_totals(
                wish,
                problem.candidates[wish.candidate],
                found.get(f"units:{wish.candidate}"),
                largest,
            ),
        )
        for wish in wishes
        if wish.anchors
    }


def sampled_jobs(problem: Problem, wishes: Sequence[Wish]) -> list[LinearJob]:
    """The reads, to be planned; nothing is read."""
    samples = problem.samples
    job = None if samples is None else anchor_job(problem, samples, wishes)
    return [] if job is None else [job.rows, job.walk]


def told(job: LinearJob, late: Late, anchors: Anchors) -> LinearJob:
    """The read that compares, once the anchors are known and what earlier passes found."""
    walk: Any = job.reductions[0]
    columns = fill_columns(job.columns, late)
    walk = walk.told(center=late.center, missing_features=late.missing_features)
    walk = walk.meeting(with_columns(anchors, columns))
    return replace(job, reductions=[walk], columns=columns)


def with_columns(anchors: Anchors, columns: Mapping[str, RowValues]) -> Anchors:
    """Anchors with their values of some columns."""
    own: dict[str, AnyArray] = {
        name: _values_at(column, anchors.numbers) for name, column in columns.items()
    }
    return replace(anchors, columns=own)


def _values_at(column: Any, numbers: Int) -> AnyArray:
    """A column's values of some samples."""
    parts = [column.read(n, n + 1) for n in numbers.tolist()]
    return np.concatenate(parts) if parts else column.read(0, 0)


def anchor_codes(walk: AnchorWalk, column: str) -> Int:
    """Groups of the anchors that take part."""
    if not column:
        return np.zeros(0, np.int64)
    places = np.searchsorted(walk.anchors.numbers, walk.numbers)
    return np.asarray(walk.anchors.columns[column][places], np.int64)


def reads_largest(wishes: Sequence[Wish]) -> bool:
    """Whether any estimate is told in terms of the largest distance of the samples."""
    return any("d_max" in wish.reads for wish in wishes if wish.anchors)


def exact_totals(
    wish: Wish, candidate: Candidate, units: UnitStats | None, largest: Extremes | None
) -> dict[str, float]:
    """Totals of one wish that need no sampling: closed forms of a map, and largest distances.

    Parameters
    ----------
    units : UnitStats or None
        What the pass of a map found.
    largest : Extremes or None
        The diameter of all samples, where any wish reads it.
    """
    if wish.need != "totals":
        return {}
    exact: dict[str, float] = {}
    if isinstance(candidate, TrainedMap) and wish.measure.euclidean and units is not None:
        exact |= map_pair_totals(units, candidate.grid).values
    if "d_max" in wish.reads and largest is not None:
        exact["d_max"] = float(largest.diameters[0])
    names = wish.reads & {"e_max", "e_max_possible"}
    if names and isinstance(candidate, SampleVectors):
        exact |= dict.fromkeys(names, _spread(candidate))
    return exact


def _spread(vectors: SampleVectors) -> float:
    """The largest distance between two places of an embedding."""
    points = np.ascontiguousarray(vectors.values, np.float64)
    away = points - points.mean(axis=0)
    square, _, _ = farthest_pair(points, np.sqrt(np.einsum("ij,ij->i", away, away)))
    return float(np.sqrt(square))

"""The samples' side of a walk over pairs: spaces and columns, collected as they are asked for.

What only earlier passes know, such as the units of a map's samples, is filled in later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from somscale._types import Bool, Float, Int
from somscale.codebook import TrainedMap
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.columns import Column, RowValues, SampleVectors
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.stored import MatrixGaps, StoredSpace
from somscale.reductions.anchor_walk import Anchors
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_walk import RowWalk, tile_rows_of
from somscale.spaces import CodeSpace, MapSpace, make_space

__all__ = ["Builder", "Late", "fill", "fill_columns"]

_EXCLUDED = "samples left out"


@dataclass(frozen=True)
class Late:
    """What earlier passes found, and a walk needs.

    Attributes
    ----------
    center : (D,) float64 or None
        A point near the samples.
    missing_features : (D,) bool or None
        Features that every sample lacks.
    units : mapping of str to (N,) integer
        Best-matching units of the samples, by candidate.
    largest : mapping of str to (float, float)
        Largest distances of the samples and of a projection, for the Shepard diagram of
        each candidate and distance, by the names of its accumulator.
    """

    center: Float | None = None
    missing_features: Bool | None = None
    units: Mapping[str, Int] = field(default_factory=dict)
    largest: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Builder:
    """Collects the spaces and columns of a walk as accumulators ask for them.

    Parameters
    ----------
    problem : Problem
        The candidates.
    samples : Samples
        What they are judged on.
    stored : StoredSpace, optional
        A matrix that is walked in the place of the samples.
    """

    def __init__(
        self, problem: Problem, samples: Samples, stored: StoredSpace | None = None
    ) -> None:
        self.problem = problem
        self.samples = samples
        self.stored = stored
        self.spaces: dict[str, PlacedSpace] = {}
        self.columns: dict[str, RowValues] = {}
        self.sort_by: str | None = None
        self.matrix: str | None = None
        self.widest = 0

    def samples_space(self, measure: Measure) -> str:
        """Name of the samples' space."""
        if self.problem.matrix or self.stored is not None:
            self.matrix = "samples"
            return self.matrix
        name = f"samples {measure.distance} {measure.p}"
        if name not in self.spaces:
            self.spaces[name] = PlacedSpace(measure.space(self.problem))
        return name

    def projection(self, candidate: str) -> str:
        """Name of a projection's space."""
        name = f"projection {candidate}"
        own = self.problem.candidates[candidate]
        if name not in self.spaces:
            if isinstance(own, SampleVectors):
                self.columns[f"vectors:{candidate}"] = own
                name_of, euclid = f"vectors:{candidate}", make_space("euclidean")
                space = PlacedSpace(euclid, name_of, "embedding", own.width)
                self.widest = max(self.widest, own.width)
            elif isinstance(own, TrainedMap):
                column, _ = self.groups(candidate)
                space = PlacedSpace(MapSpace(own.grid), column, "best-matching units")
            else:
                raise ValueError("a clustering has no distances")
            self.spaces[name] = space
        return name

    @property
    def n_features(self) -> int:
        """Features D that the walk reads: none where it reads a matrix."""
        given = self.problem.matrix or self.stored is not None
        return 0 if given else self.samples.shape[1]

    def code_vectors(self, candidate: str) -> str:
        """Name of the space of the code vectors of samples' units."""
        name = f"codes {candidate}"
        own = self.problem.candidates[candidate]
        if not isinstance(own, TrainedMap):
            raise ValueError("only a map has code vectors")
        column, _ = self.groups(candidate)
        space = CodeSpace(own.codes, self.samples.feature_weights)
        self.spaces[name] = PlacedSpace(space, column, "best-matching units")
        return name

    def classes(self, name: str) -> str:
        """Name of the column of classes."""
        if self.problem.labels is None:
            raise ValueError("there are no classes")
        self.columns[name] = self.problem.labels
        return name

    def groups(self, candidate: str) -> tuple[str, int]:
        """Name of the column of a candidate's clusters or units, and how many these are."""
        name = f"groups:{candidate}"
        own = self.problem.candidates[candidate]
        if isinstance(own, TrainedMap):
            size = own.grid.size
            # filled in once the pass over the map is through
            unknown = np.broadcast_to(np.int32(0), self.problem.n_samples)
            column = Column(unknown, 0, range(size), "units")
        elif isinstance(own, Column):
            column, size = own, own.n_categories
        else:
            raise ValueError("an embedding has no groups")
        self.columns[name] = column
        self.sort_by = self.sort_by or name
        return name, size

    def choice(self) -> RowChoice:
        """Which samples take part; a mask becomes a column."""
        samples, stored = self.samples, self.stored
        excluded = samples.excluded if stored is None else stored.excluded(samples)
        if excluded is not None:
            self.columns[_EXCLUDED] = excluded
        return RowChoice(
            excluded=None if excluded is None else _EXCLUDED,
            missing="drop" if samples.missing == "drop_any_feature" else samples.missing,
            sort_by=self.sort_by,
            groups=self._grouped(),
            names=samples.entry_names,
        )

    def _grouped(self) -> tuple[str, ...]:
        """Columns of clusters, of which every sample that takes part has one."""
        own = self.problem.candidates
        found = {f"groups:{name}" for name, column in own.items() if isinstance(column, Column)}
        return tuple(name for name in self.columns if name in found)

    def job(self, walk: Any, name: str, accumulators: Sequence[Any]) -> PairJob:
        """The walk over the samples that some accumulators add up."""
        n_features = self.n_features
        kept = (
            [sum(f.nbytes for f in a.gathered(1).values()) // 8 for a in accumulators]
            if (walk is RowWalk)
            else []
        )
        reduction = walk(
            name,
            self.spaces,
            accumulators,
            self.choice(),
            n_features=n_features,
            tile_rows=tile_rows_of(n_features, self.widest, *kept),
            matrix=self.matrix,
            stored=None if self.stored is None else self.stored.checked,
        )
        return self.over_samples(reduction)

    def over_samples(self, reduction: Any, kept: Anchors | None = None) -> PairJob:
        """A walk over the samples, or of some that are kept over all."""
        samples = self.samples
        if self.stored is not None:
            return self._over_stored(reduction, self.stored)
        if self.problem.matrix:
            matrix = samples.source if samples.blocks is None else samples.blocks.whole
            return PairJob([reduction], samples.shape[0], columns=self.columns, matrix=matrix)
        return PairJob(
            [reduction],
            *samples.shape,
            source=samples.source,
            blocks=samples.blocks,
            columns=self.columns,
            kept=kept,
        )

    def _over_stored(self, reduction: Any, stored: StoredSpace) -> PairJob:
        if self.problem.stored is not None:
            self.problem.stored.used.add(stored.name)
        return PairJob(
            [reduction],
            self.samples.shape[0],
            columns=self.columns,
            matrix=stored.source,
            symmetric=stored.symmetric,
        )


def fill(job: PairJob, late: Late) -> PairJob:
    """A walk, told what earlier passes found."""
    reductions: Sequence[Any] = job.reductions
    filled = [
        r.told(center=late.center, missing_features=late.missing_features, largest=late.largest)
        for r in reductions
    ]
    return replace(job, reductions=filled, columns=fill_columns(job.columns, late))


def fill_columns(columns: Mapping[str, RowValues], late: Late) -> dict[str, RowValues]:
    """Columns of a walk, with the units that a pass has found, and the gaps of a matrix."""
    filled = {n: c.known() if isinstance(c, MatrixGaps) else c for n, c in columns.items()}
    for candidate, units in late.units.items():
        column = filled.get(f"groups:{candidate}")
        if isinstance(column, Column):
            filled[f"groups:{candidate}"] = replace(column, values=units)
    return filled

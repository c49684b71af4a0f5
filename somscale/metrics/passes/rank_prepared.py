"""Ranks of neighbours for many projections, from what is kept of the samples' distances."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray
from somscale.engine.arrays import rows_of_array
from somscale.engine.linear.job import LinearJob
from somscale.engine.memory import baseline_bytes, budget_bytes
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.columns import SampleValues, SampleVectors
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import MemoryBudgetError
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_wishes import RankKey
from somscale.metrics.passes.pair_builder import Builder
from somscale.metrics.passes.rank_finding import RankFinder, Wishes
from somscale.metrics.passes.rank_passes import find_ranks
from somscale.metrics.passes.rank_passes_later import find_ranks_later
from somscale.metrics.passes.rank_walks import RankWalks, rank_walks
from somscale.reductions.known_walk import KnownWalk
from somscale.reductions.neighbor_walk import Kept, NeighborWalk, RankMatrixWalk
from somscale.reductions.rank_want import RankWant

__all__ = ["LISTED", "PreparedRanks", "refuse_ranks"]

LISTED: Final = frozenset(
    {"q_nx", "r_nx", "lcmc", "u_n", "u_x", "b_nx", "rank_regions", "neighborhood_jaccard"}
    | {"continuity", "neighborhood_preservation", "mrre_extrusion"}
)
"""Indices that need ρ of the nearest samples alone."""

_LISTS: Final = "nearest samples"
_KEPT: Final = "kept"
_CHUNK_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class _Lists(SampleVectors):
    """Lists of all samples, of which a walk reads views that cost nothing."""

    @property
    def width(self) -> int:
        """Nothing is copied."""
        return 0


class PreparedRanks(RankFinder):
    """Ranks the neighbours of candidates from what one walk over the samples left.

    Parameters
    ----------
    samples : Samples
        The samples, or the matrix of their distances.
    measure : Measure
        Their distance.
    keep : {"lists", "ranks"} or None
        What is kept.
    k_max : int
        Length of the lists.
    """

    def __init__(self, samples: Samples, measure: Measure, keep: str | None, k_max: int) -> None:
        self.samples = samples
        self.measure = measure
        self.keep = keep
        self.k_max = k_max
        self._held: Kept | None = None
        self._asked: frozenset[str] = frozenset()
        self._holder = self

    def asked(self, names: frozenset[str]) -> PreparedRanks:
        """The same, for some indices; what is kept is shared."""
        other = PreparedRanks(self.samples, self.measure, self.keep, self.k_max)
        other._asked, other._holder = names, self._holder
        return other

    @property
    def held(self) -> Kept:
        """What is kept; found when it is first asked for."""
        holder = self._holder
        if holder._held is None:
            holder._held = self._find()
        return holder._held

    def jobs(self, problem: Problem, wishes: Wishes) -> list[LinearJob | PairJob]:
        """The walks, to be planned; where nothing is kept yet, the one that will find it."""
        if not self._serves(wishes):
            return super().jobs(problem, wishes)
        if self._holder._held is None:
            return [self._finding().jobs[0]]
        return [*self._walks(self._substituted(problem), wishes).jobs]

    def now(self, problem: Problem, wishes: Wishes, found: Mapping[str, Any]) -> dict[RankKey, Any]:
        """The ranks."""
        if not self._serves(wishes):
            return super().now(problem, wishes, found)
        own = self._substituted(problem)
        return find_ranks(own, wishes, found, self._walks(own, wishes))

    def later(
        self,
        problem: Problem,
        wishes: Wishes,
        found: Mapping[str, Any],
        units: Mapping[str, Any],
        token: str,
    ) -> dict[RankKey, Any]:
        """The ranks, delayed; what is kept is found now."""
        if not self._serves(wishes):
            return super().later(problem, wishes, found, units, token)
        own, token = self._substituted(problem), f"{self.keep}-{self.k_max}-{token}"
        return find_ranks_later(own, wishes, found, units, token, self._walks(own, wishes))

    def _serves(self, wishes: Wishes) -> bool:
        """Whether what is kept tells all that is asked for."""
        if self.keep != "lists":
            return self.keep == "ranks"
        return self._asked <= LISTED and all(
            want.ties == "index" and want.reach <= self.k_max for want in wishes.values()
        )

    def _find(self) -> Kept:
        problem, walks = self._problem(self.samples), self._finding()
        if not self.samples.lazy:
            kept: Kept = find_ranks(problem, {}, {}, walks)[_KEPT]
            return kept
        token = f"{self.keep}-{uuid.uuid4().hex}"
        kept = find_ranks_later(problem, {}, {}, {}, token, walks)[_KEPT].compute()
        return kept

    def _problem(self, samples: Samples) -> Problem:
        return Problem({}, samples, matrix=self.measure.distance == "precomputed")

    def _finding(self) -> RankWalks:
        """The walk that finds what is kept."""
        samples = self.samples
        problem = self._problem(samples)
        builder = Builder(problem, samples)
        space = builder.samples_space(self.measure)
        given: dict[str, Any] = {
            "n_samples": samples.shape[0],
            "n_features": 0 if problem.matrix else samples.shape[1],
            "matrix": builder.matrix,
        }
        choice = builder.choice()
        walk: NeighborWalk | RankMatrixWalk
        if self.keep == "lists":
            walk = NeighborWalk(_KEPT, builder.spaces, space, choice, self.k_max, **given)
        else:
            walk = RankMatrixWalk(_KEPT, builder.spaces, space, choice, **given)
        return RankWalks([builder.over_samples(walk)], {_KEPT: (0, _KEPT)})

    def _substituted(self, problem: Problem) -> Problem:
        """The problem on what is kept, in the place of the samples."""
        samples, kept = problem.samples, self.held
        if samples is None:
            raise ValueError("what is kept is of samples")
        left_out = None if kept.taken.all() else SampleValues(~kept.taken)
        own = replace(samples, missing="raise", excluded=left_out)
        if self.keep == "ranks":
            opened = open_samples(_in_dask(kept.values) if samples.lazy else kept.values)
            own = replace(own, source=opened.source, blocks=opened.blocks)
        return replace(problem, samples=own, matrix=True)

    def _walks(self, problem: Problem, wishes: Wishes) -> RankWalks:
        """The walks over what is kept."""
        samples = problem.samples
        if self.keep == "ranks" or samples is None or not wishes:
            return rank_walks(problem, wishes)
        builder = Builder(problem, samples)
        placed: dict[str, tuple[str, RankWant]] = {}
        places: dict[Any, tuple[int, str]] = {}
        for number, (key, want) in enumerate(wishes.items()):
            output = builder.code_vectors if key.space == "codebook" else builder.projection
            placed[f"ranks {number}"] = output(key.candidate), want
            places[key] = 0, f"ranks {number}"
        choice = replace(builder.choice(), sort_by=None)
        n_samples = samples.shape[0]
        walk = KnownWalk("ranks", builder.spaces, _LISTS, placed, choice, n_samples=n_samples)
        columns = {**builder.columns, _LISTS: _Lists(self.held.values)}
        return RankWalks([PairJob([walk], n_samples, columns=columns)], places)


def _in_dask(matrix: AnyArray) -> Any:
    rows = _CHUNK_BYTES // max(1, matrix.shape[1] * matrix.itemsize)
    return rows_of_array(matrix, max(1, rows))


def refuse_ranks(n_samples: int) -> None:
    """Refuse a matrix of ranks that does not fit, before anything is computed.

    Raises
    ------
    MemoryBudgetError
        The matrix, twice while its rows are put together, is beyond the budget.
    """
    dtype = np.min_scalar_type(n_samples)
    held = n_samples**2 * dtype.itemsize
    needed, budget = 2 * held + baseline_bytes(), budget_bytes()
    if needed <= budget:
        return
    refusal = MemoryBudgetError(
        f"keep='ranks' holds {n_samples} x {n_samples} ranks of {dtype.itemsize} bytes, "
        f"{held:_} bytes, twice while they are put together, and the budget is {budget:_} "
        f"bytes; use keep='lists', or set memory_budget={needed} or more"
    )
    refusal.needed = needed
    raise refusal

"""Where ranks of neighbours come from: a walk over the samples, unless these are prepared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from somscale.engine.linear.job import LinearJob
from somscale.engine.pairs.job import PairJob
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.rank_wishes import RankKey
from somscale.metrics.passes.rank_passes import find_ranks, rank_jobs
from somscale.metrics.passes.rank_passes_later import find_ranks_later
from somscale.reductions.rank_want import RankWant

__all__ = ["RankFinder"]

Wishes = Mapping[RankKey, RankWant]


class RankFinder:
    """Ranks the neighbours of all candidates in one walk over the samples."""

    def jobs(self, problem: Problem, wishes: Wishes) -> list[LinearJob | PairJob]:
        """The reads and walks, to be planned; nothing is read."""
        return rank_jobs(problem, wishes)

    def now(self, problem: Problem, wishes: Wishes, found: Mapping[str, Any]) -> dict[RankKey, Any]:
        """The ranks; `found` has the statistics of earlier passes, by their names."""
        return find_ranks(problem, wishes, found)

    def later(
        self,
        problem: Problem,
        wishes: Wishes,
        found: Mapping[str, Any],
        units: Mapping[str, Any],
        token: str,
    ) -> dict[RankKey, Any]:
        """The ranks, delayed; see :func:`find_ranks_later`."""
        return find_ranks_later(problem, wishes, found, units, token)

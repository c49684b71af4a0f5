"""From ranks of neighbours to the values of indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from somscale.metrics.asking.question import Request
from somscale.metrics.asking.rank_sampling import DrawnRanks, estimate_ranks
from somscale.metrics.asking.sampling import Estimate
from somscale.metrics.values import Noted, Value, note_of, number_of
from somscale.reductions.rank_stats import RankStats

__all__ = ["is_ranked", "ranked_value"]

_TIED: Final = 0.01
"""Share of distances that tie from which the order of the samples is mentioned."""


def is_ranked(statistics: Sequence[Any]) -> bool:
    """Whether a formula is called with ranks."""
    return any(isinstance(own, RankStats | DrawnRanks) for own in statistics)


def ranked_value(request: Request, statistics: Sequence[Any]) -> Value | Estimate:
    """The value of an index of ranks, or its estimate from drawn rows."""
    ranks = next(own for own in statistics if isinstance(own, RankStats | DrawnRanks))

    def formula(stats: RankStats) -> Value:
        given = [stats if one is ranks else one for one in statistics]
        return request.spec.formula(*given, **request.parameters)

    if isinstance(ranks, DrawnRanks):
        found = estimate_ranks(request.spec, formula, ranks, request.parameters)
        return replace(found, note=_notes(request, ranks.stats, found.note))
    value = formula(ranks)
    axes = tuple(n for n, dim in enumerate(request.formula_dims) if dim not in request.spec.dims)
    number = np.squeeze(number_of(value), axis=axes) if axes else number_of(value)
    note = _notes(request, ranks, note_of(value))
    return Noted(number, note) if note else number


def _notes(request: Request, stats: RankStats, note: str) -> str:
    """All that there is to say of a value."""
    notes = [note, *request.notes]
    if request.parameters.get("ties") == "index" and stats.tied > _TIED:
        notes.append(
            f"{100 * stats.tied:.1f} % of the distances in the projection tie, of those that were "
            "ranked, and the order of the samples decides; ties='expected' is the mean over all "
            "orders"
        )
    return "; ".join(filter(None, notes))

"""Values of every unit of a map: means of those of the samples whose best-matching unit it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale._types import Int
from somscale.metrics.public import IndexFunction, map_index
from somscale.metrics.ranks.along import BEYOND, LEE, LUEKS
from somscale.metrics.ranks.pointwise import (
    check_form,
    pointwise_rank_quality,
    sample_continuity,
    sample_q_nx,
    sample_trustworthiness,
)
from somscale.metrics.values import Noted, Value, note_of, number_of
from somscale.reductions.rank_stats import RankStats
from somscale.topology import Grid

__all__ = ["unit_continuity", "unit_q_nx", "unit_rank_quality", "unit_trustworthiness"]

_NONE: Final = f"units without samples; {BEYOND}"
_FACTS: Final[Mapping[str, Any]] = {
    "needs": ("ranks", "bmu", "grid"),
    "tables": ("samples",),
    "family": "ranks",
    "cost": "ranks",
    "direction": "higher",
}


def _means(of: IndexFunction, ranks: RankStats, bmu: Int, grid: Grid, **parameters: Any) -> Value:
    """Means of the values of samples over those of each unit, (unit, ...); nan where none are."""
    value = of.spec.formula(ranks, **parameters)
    values = number_of(value)
    taken = bmu >= 0
    units = bmu[taken]
    columns = values[taken].reshape(len(units), -1).T
    sums = np.array([np.bincount(units, own, grid.size) for own in columns])
    hits = np.bincount(units, minlength=grid.size)
    means = np.where(hits > 0, sums / np.maximum(hits, 1), np.nan)
    found = means.T.reshape(grid.size, *values.shape[1:])
    return Noted(found, note_of(value)) if note_of(value) else found


@map_index(
    **_FACTS,
    long_name="share of neighbours that are kept, of each unit",
    definition="mean over a unit's samples of the share of their K nearest that are among their "
    "K nearest on the map",
    upper=1.0,
    dims=("unit", "k"),
    source=LEE,
    undefined=_NONE,
)
def unit_q_nx(
    ranks: RankStats,
    bmu: Int,
    grid: Grid,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Share of their K nearest neighbours that the samples of each unit keep on the map.

    The mean of `sample_q_nx` over the samples whose best-matching unit it is; nan for units
    without any.  Weighted by hits, its mean over units is `q_nx`.
    """
    return _means(sample_q_nx, ranks, bmu, grid, k=k)


@map_index(
    **_FACTS,
    long_name="trustworthiness of each unit's neighbours",
    definition="mean over a unit's samples of 1 - (2 N / G_k) sum over j with r <= k < rho of "
    "(rho - k)",
    upper=1.0,
    dims=("unit", "k"),
    source=sample_trustworthiness.spec.source,
    undefined=_NONE,
    variants=sample_trustworthiness.spec.variants,
)
def unit_trustworthiness(
    ranks: RankStats,
    bmu: Int,
    grid: Grid,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether neighbours on the map of each unit's samples are neighbours among the samples.

    The mean of `sample_trustworthiness` over the samples whose best-matching unit it is; nan
    for units without any.  Weighted by hits, its mean over units is `trustworthiness`.
    """
    return _means(sample_trustworthiness, ranks, bmu, grid, k=k)


@map_index(
    **_FACTS,
    long_name="continuity of each unit's neighbours",
    definition="mean over a unit's samples of 1 - (2 N / G_k) sum over j with rho <= k < r of "
    "(r - k)",
    upper=1.0,
    dims=("unit", "k"),
    source=sample_continuity.spec.source,
    undefined=_NONE,
    variants=sample_continuity.spec.variants,
)
def unit_continuity(
    ranks: RankStats,
    bmu: Int,
    grid: Grid,
    *,
    k: Any = None,
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Whether neighbours of each unit's samples are their neighbours on the map.

    The mean of `sample_continuity` over the samples whose best-matching unit it is; nan for
    units without any.  Weighted by hits, its mean over units is `continuity`.
    """
    return _means(sample_continuity, ranks, bmu, grid, k=k)


@map_index(
    **_FACTS,
    long_name="quality of ranks Q' of each unit",
    definition="mean over a unit's samples of 1 / (2 kappa_s) sum over j of pairs (i, j) and "
    "(j, i) with min(rho, r) <= kappa_s and |rho - r| <= kappa_t",
    dims=("unit", "kappa_s", "kappa_t"),
    source=LUEKS,
    check=check_form,
    undefined="units without samples; κs beyond the number of neighbours that dropped samples "
    "leave",
    variants={
        pair: {**facts, "definition": f"mean over a unit's samples of {facts['definition']}"}
        for pair, facts in pointwise_rank_quality.spec.variants.items()
    },
)
def unit_rank_quality(
    ranks: RankStats,
    bmu: Int,
    grid: Grid,
    *,
    kappa_s: Any = None,
    kappa_t: Any = None,
    side: str = "both",
    norm: str = "lueks",
    ties: str | None = None,
    space: str | None = None,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """How many neighbours of each unit's samples keep their rank to within a tolerance.

    The mean of `pointwise_rank_quality` over the samples whose best-matching unit it is; nan
    for units without any.  Weighted by hits, its mean over units is `rank_quality` of the same
    norm.

    Parameters
    ----------
    side : {"both", "row", "column"}
        "both": pairs (i, j) and (j, i), half each.  "row": (i, j), of the samples' own
        neighbours.  "column": (j, i), of those whose neighbours they are.
    norm : {"lueks", "region"}
        "lueks": over κs.  "region": over the mean number of pairs (i, j) with min(ρ, r) ≤ κs
        that a sample i has, of all samples.
    """
    given = {"kappa_s": kappa_s, "kappa_t": kappa_t, "side": side, "norm": norm}
    return _means(pointwise_rank_quality, ranks, bmu, grid, **given)

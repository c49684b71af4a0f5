"""The Shepard diagram, and the rank correlation of its points.

As in :mod:`somscale.metrics.projections.distance_agreement`: d are distances of samples, e those of
their projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from somscale.errors import InputError
from somscale.metrics.projections.distance_agreement import ONE_SAMPLE
from somscale.metrics.public import projection_index
from somscale.metrics.values import Noted, Value, undefined
from somscale.reductions.rank_correlation import RankedPairs
from somscale.reductions.shepard import ShepardDiagram

__all__ = [
    "MOST_BINS",
    "shepard_diagram",
    "shepard_rank_correlation",
]

MOST_BINS = 1000
"""Bins of either distance: 8 MB of counts, and no picture has more."""


@projection_index(
    needs=("ranked",),
    long_name="Shepard rank correlation",
    definition="Spearman correlation over pairs of samples of d and e",
    direction="higher",
    lower=-1.0,
    upper=1.0,
    source="Spearman 1904, doi:10.2307/1412159; Shepard 1962, doi:10.1007/BF02289630 (the "
    "diagram that it sums up)",
    undefined="fewer than three samples, and distances that are all equal",
)
def shepard_rank_correlation(
    ranked: RankedPairs, *, distance: Any = "euclidean", p: float = 2
) -> Value:
    """Spearman correlation of distances of samples and distances of their projections.

    Over the N(N − 1)/2 pairs, the points of a Shepard diagram: 1 where e rises with d,
    however it does.  Ties have their average rank.

    Notes
    -----
    Exact up to 2,048 samples, with distances as ties that differ by less than 1e-12 of
    themselves, which may be rounding.  Beyond, distances are counted in bins 1.2e-4 of
    themselves wide, one walk whatever their range; a note then tells how far off the
    exact value may be, most often below 1e-3, which is proved and not estimated: the
    value itself is mostly right to 1e-6.  Samples alone decide which of both it is, never
    the memory.
    """
    if not ranked.n_pairs:
        return undefined(ONE_SAMPLE)
    if ranked.n_pairs == 1:
        return undefined("two samples have one pair, and one distance does not vary")
    if ranked.constant:
        whose = "projections" if ranked.constant == "projection" else "samples"
        return undefined(f"the distances of the {whose} are all equal, but for rounding")
    if not ranked.error:
        return ranked.correlation
    note = f"from distances in bins: within {_rounded_up(ranked.error)} of the exact value"
    return Noted(ranked.correlation, note)


def _rounded_up(error: float) -> str:
    return f"{error * 1.05:.1e}"  # no digit that is left out makes it smaller


def _check_bins(parameters: Mapping[str, Any]) -> None:
    bins = parameters["bins"]
    whole = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    if not whole or not 1 <= bins <= MOST_BINS:
        raise InputError(f"bins is a whole number from 1 to {MOST_BINS}, not {bins!r}")


@projection_index(
    needs=("shepard",),
    long_name="Shepard diagram",
    definition="pairs of samples by the bins of d and e",
    direction="none",
    units="pairs",
    dims=("input_distance", "output_distance"),
    dtype="int64",
    source="Shepard 1962, doi:10.1007/BF02289630",
    check=_check_bins,
)
def shepard_diagram(
    diagram: ShepardDiagram, *, bins: int = 50, distance: Any = "euclidean", p: float = 2
) -> Value:
    """Pairs of samples counted by distance of the samples and of their projections.

    The scatter plot of all N(N − 1)/2 pairs as a 2-D histogram, with even bins from 0 on.

    Parameters
    ----------
    bins : int
        Bins of either distance, 1 to 1,000.

    Notes
    -----
    Bins end where no distance reaches beyond, which is known before all pairs are walked:
    the last ones may be empty.  Each holds its lower end and the last one both, as those
    of ``numpy.histogram2d`` do.  Where e are steps on a map, bins fall between them.
    """
    return diagram.counts

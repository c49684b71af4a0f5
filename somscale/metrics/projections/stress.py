"""Stress: how much a projection's distances e differ from the samples' distances d.

As in :mod:`somscale.metrics.projections.distance_agreement`, from sums over pairs i < j.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from somscale.metrics.checks import check_choice
from somscale.metrics.projections.distance_agreement import ALL_COINCIDE, ONE_SAMPLE
from somscale.metrics.public import projection_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.pair_stats import PairTotals

__all__ = ["metric_stress", "sammon_stress"]

_FORMS: Final = ("raw", "normalized", "scale_normalized")


@projection_index(
    totals=("sammon", "d", "collapsed"),
    long_name="Sammon stress",
    definition="sum over pairs of samples of (d - e)^2 / d, over the sum of d",
    direction="lower",
    source="Sammon 1969, doi:10.1109/T-C.1969.222678",
    undefined="one sample, samples that all coincide, and samples that coincide but are apart "
    "in the projection",
)
def sammon_stress(totals: PairTotals, *, distance: Any = "euclidean", p: float = 2) -> Value:
    """Squared differences of distances, each over the samples' distance.

    (1 / Σ d) Σ (d − e)² / d over pairs of samples, so that small distances count for more
    than in :func:`metric_stress`.

    Notes
    -----
    e must be on the scale of d; on a map e are steps on the grid.  Pairs with d = e = 0
    add nothing; any pair with d = 0 < e makes the stress infinite, so that it is
    undefined and the pairs are counted in a note.
    """
    if not totals.n_pairs:
        return undefined(ONE_SAMPLE)
    collapsed = int(totals["collapsed"])
    if collapsed:
        pairs = "1 pair of samples coincides" if collapsed == 1 else f"{collapsed} pairs coincide"
        return undefined(f"{pairs}, d = 0, but not so in the projection: the stress is infinite")
    if totals["d"] == 0:
        return undefined(ALL_COINCIDE)
    return totals["sammon"] / totals["d"]


def _check(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "form", _FORMS)


def _raw(units: str) -> dict[str, Any]:
    return {
        "totals": ("stress",),
        "units": units,
        "definition": "sum over pairs of samples of (d - e)^2",
        "undefined": "",
    }


@projection_index(
    totals=("stress", "d2"),
    long_name="metric stress",
    definition="sqrt(sum over pairs of samples of (d - e)^2 / sum of d^2)",
    direction="lower",
    source='Kruskal 1964, doi:10.1007/BF02289565; Smelser, Miller & Kobourov 2024, "Normalized '
    'Stress" is Not Normalized, arXiv:2408.07724',
    check=_check,
    undefined="one sample, and samples that all coincide",
    variants={
        ("form", "raw"): _raw("data^2"),
        (("form", "raw"), ("distance", "sqeuclidean")): _raw("data^4"),
        (("form", "raw"), ("distance", "cosine")): _raw("1"),
        (("form", "raw"), ("distance", "correlation")): _raw("1"),
        ("form", "scale_normalized"): {
            "totals": ("stress", "d2", "de", "e2"),
            "upper": 1.0,
            "definition": "min over a of sqrt(sum over pairs of (d - a e)^2 / sum of d^2)",
        },
    },
)
def metric_stress(
    totals: PairTotals,
    *,
    form: str = "normalized",
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Squared differences of the samples' distances and their projections'.

    Parameters
    ----------
    form : {"raw", "normalized", "scale_normalized"}
        "raw": Σ (d − e)².  "normalized": √(Σ (d − e)² / Σ d²).  "scale_normalized": the
        least that this becomes when e is multiplied by a number,
        √(1 − (Σ d e)² / (Σ d² Σ e²)), in [0, 1].

    Notes
    -----
    Only the scale-normalised form does not change with the size of the projection: choose
    it where e has a scale of its own, as steps on a map have.  It is 1 where all e are 0.
    Where e is nearly on the scale of d it is found from what that scale leaves to gain,
    Σ (d − e)² − (Σ e (d − e))² / Σ e², and right to about 1e-15; else the difference from
    1 cancels, and values below 1e-7 are no more than that.
    """
    if form == "raw":
        return totals["stress"]
    if not totals.n_pairs:
        return undefined(ONE_SAMPLE)
    if totals["d2"] == 0:
        return undefined(ALL_COINCIDE)
    if form == "normalized":
        return math.sqrt(totals["stress"] / totals["d2"])
    return math.sqrt(min(max(_unexplained(totals), 0.0), 1.0))


def _unexplained(totals: PairTotals) -> float:
    """The share of Σ d² that no multiple of e explains."""
    squares, products = totals["e2"], totals["de"]
    if squares == 0:
        return 1.0
    if totals["stress"] < totals["d2"]:
        gained = (products - squares) / squares
        return (totals["stress"] - gained * (products - squares)) / totals["d2"]
    return 1 - (products / totals["d2"]) * (products / squares)

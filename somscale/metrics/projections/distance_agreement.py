"""How far a projection keeps the samples' distances: products, differences, correlation.

d are distances of samples; e those of their best-matching units on a map's grid, or of
their places in an embedding.  The formulas know d and e by their sums over pairs i < j.
Which distance d is, `distance` and `p` say: the walk over pairs heeds them, and the
formulas have them only as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale.errors import InputError
from somscale.metrics.checks import check_choice, check_flag
from somscale.metrics.public import projection_index
from somscale.metrics.spec import Variants
from somscale.metrics.values import Value, undefined
from somscale.reductions.pair_stats import PairTotals

__all__ = [
    "ALL_COINCIDE",
    "ONE_SAMPLE",
    "c_measure",
    "kruskal_shepard_error",
    "shepard_correlation",
]

ONE_SAMPLE: Final = "one sample has no pairs"
ALL_COINCIDE: Final = "all samples coincide"

_FLAT = 1e-12
"""A variance that is a smaller part of the mean square may be all rounding: of 1e-16 a term."""

_SMALLEST_FOURTH, _SMALLEST_SQUARE = 2.0**-230, 2.0**-460
"""Largest distances whose powers, and those of a 10⁸th of them, are normal numbers."""

_PRODUCT_UNITS: Final[Variants] = {
    ("power", 2): {"totals": ("d2e",), "units": "data^2"},
    ("distance", "sqeuclidean"): {"units": "data^2"},
    ("distance", "cosine"): {"units": "1"},
    ("distance", "correlation"): {"units": "1"},
    (("power", 2), ("distance", "sqeuclidean")): {"units": "data^4"},
}


def _check_c_measure(parameters: Mapping[str, Any]) -> None:
    check_flag(parameters, "normalize")
    power = parameters["power"]
    if isinstance(power, bool) or power not in (1, 2):
        raise InputError(f"power is 1 or 2, not {power!r}")


@projection_index(
    totals=("de",),
    long_name="C measure",
    definition="sum over pairs of samples of d(i, j) e(i, j)",
    direction="higher",
    units="data",
    source="Goodhill & Sejnowski 1997, A unifying objective function for topographic mappings, "
    "Neural Computation 9; Forest et al. 2020, arXiv:2011.05847, eq. 10",
    check=_check_c_measure,
    undefined="one sample, where normalised",
    variants=_PRODUCT_UNITS,
)
def c_measure(
    totals: PairTotals,
    *,
    normalize: bool = False,
    power: int = 1,
    distance: Any = "euclidean",
    p: float = 2,
) -> Value:
    """Sum of the products of distances of samples and distances of their projections.

    Σ_{j<i} d(x_i, x_j) e(i, j); on a map e = δ(b_i, b_j), in steps on the grid.

    Parameters
    ----------
    normalize : bool
        Divide by the N(N − 1)/2 pairs; the sum grows with N².
    power : {1, 2}
        2: squared distances d², whose sum is in closed form on a map.

    Notes
    -----
    Larger where samples that are far apart are so in the projection too.  It compares
    projections of the same samples that are of one size: e twice as long doubles it.
    """
    total = totals["de" if power == 1 else "d2e"]
    if not normalize:
        return total
    return total / totals.n_pairs if totals.n_pairs else undefined(ONE_SAMPLE)


def _check_form(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "form", ("survey", "somperf"))


@projection_index(
    totals=("d4", "d2e", "e2", "d_max", "e_max_possible"),
    long_name="Kruskal-Shepard error",
    definition="mean over pairs of samples of (d^2 / max d^2 - e / max e)^2",
    direction="lower",
    upper=1.0,
    source="Kruskal 1964, doi:10.1007/BF02289565; Elend & Kramer 2019, Self-organizing maps with "
    "convolutional layers; Forest et al. 2020, arXiv:2011.05847",
    check=_check_form,
    undefined="one sample, samples that all coincide, and projections without any distance",
    variants={
        ("form", "somperf"): {
            "totals": ("d2", "de", "e2", "d_max", "e_max"),
            "definition": "mean over pairs of samples of (d / max d - e / max e)^2",
        }
    },
)
def kruskal_shepard_error(
    totals: PairTotals, *, form: str = "survey", distance: Any = "euclidean", p: float = 2
) -> Value:
    """Mean squared difference of distances of samples and of their projections, both scaled.

    Parameters
    ----------
    form : {"survey", "somperf"}
        "survey": 1/(N(N − 1)) Σ_{i≠j} (d²/max d² − e/max e)², with the largest distance
        that the map's grid has, whether or not two samples are so far apart; of an
        embedding the largest there is.  "somperf": 1/(N(N − 1)) Σ_{i≠j} (d/max d − e/max e)²
        with the largest e of two samples, as in the package SOMperf.

    Notes
    -----
    The survey's form compares squared distances with distances that are not, so that 0 is
    for projections whose distances go as d².  Both are computed from sums that cancel
    where the error is small: they are right to about 1e-15, not to so many digits.
    Undefined for one sample, where all samples coincide, and where all e are 0 (in the
    survey's form: where the map has one unit).
    """
    if not totals.n_pairs:
        return undefined(ONE_SAMPLE)
    if totals["d_max"] == 0:
        return undefined(ALL_COINCIDE)
    survey = form == "survey"
    largest = totals["e_max_possible" if survey else "e_max"]
    if largest == 0:
        return undefined("all samples have one place in the projection")
    scale = totals["d_max"]
    if scale < (_SMALLEST_FOURTH if survey else _SMALLEST_SQUARE):
        power = "fourth powers" if survey else "squares"
        return undefined(f"the {power} of the distances underflow float64; rescale the samples")
    # divided one by one: powers of the scale may leave the range of float64
    if survey:
        own = totals["d4"] / scale / scale / scale / scale
        both = totals["d2e"] / scale / scale / largest
    else:
        own = totals["d2"] / scale / scale
        both = totals["de"] / scale / largest
    error = (own - 2 * both + totals["e2"] / largest / largest) / totals.n_pairs
    return max(error, 0.0)


@projection_index(
    totals=("d", "d2", "e", "e2", "de"),
    long_name="Shepard correlation",
    definition="Pearson correlation over pairs of samples of d and e",
    direction="higher",
    lower=-1.0,
    upper=1.0,
    source="Shepard 1962, doi:10.1007/BF02289630 (the diagram that it sums up)",
    undefined="fewer than three samples, and distances that are all equal",
)
def shepard_correlation(totals: PairTotals, *, distance: Any = "euclidean", p: float = 2) -> Value:
    """Pearson correlation of distances of samples and distances of their projections.

    Over the N(N − 1)/2 pairs, the points of a Shepard diagram: 1 where e = a + b d, b > 0.

    Notes
    -----
    Not Székely's distance correlation, which tests for independence.  The share that the
    variance of the distances has in their mean square is lost in digits: undefined where
    it is below 1e-12, which may be rounding.
    """
    if not totals.n_pairs:
        return undefined(ONE_SAMPLE)
    if totals.n_pairs == 1:
        return undefined("two samples have one pair, and one distance does not vary")
    count = float(totals.n_pairs)
    means = {name: totals[name] / count for name in ("d", "d2", "e", "e2", "de")}
    deviations = []
    for one, two, what in (("d", "d2", "samples"), ("e", "e2", "projections")):
        variance = means[two] - means[one] * means[one]
        if not variance > _FLAT * means[two]:
            return undefined(f"the distances of the {what} are all equal, but for rounding")
        deviations.append(float(np.sqrt(variance)))
    covariance = means["de"] - means["d"] * means["e"]
    return float(np.clip(covariance / deviations[0] / deviations[1], -1.0, 1.0))

"""Sampled answers with an error bar: anchors drawn at random, each compared with all samples.

What an anchor a gathers, H_a = Σ_{j≠a} h(a, j) over *all* samples j, is exact, and the sum
over pairs is Σ_a H_a / 2.  So a total over N²/2 pairs is a total of N fixed numbers, of
which m are drawn without replacement, all choices being equally likely.  Nothing else is
random: that pairs share samples matters no more, for both ends of a pair are in the H_a of
either.  The variance of the estimate is (1 − m/N) S²/m times N²/4 with the variance S² of
the H_a, which that of the m drawn estimates without bias (Cochran 1977, Sampling
Techniques, chapter 2).  A sample of the *data* has no such property: it sees of each
H_a a part, and what is no mean over pairs, as a silhouette, changes its meaning.

What a formula makes of several totals is judged by the jackknife over anchors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from somscale._types import AnyArray, Bool, Float, Int
from somscale.errors import InputError
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import Value, note_of, number_of
from somscale.reductions.anchored import AnchorTotals
from somscale.reductions.pair_stats import PairTotals

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "draw_anchors",
    "estimate_mean",
    "estimate_of",
    "estimate_totals",
    "exact_totals",
    "no_estimate",
    "refuse_sampling",
    "students_t",
]

CONFIDENCE: Final = 0.95
_LARGEST: Final = ("d_max", "e_max", "e_max_possible")
_NO_ERROR: Final = "so few anchors tell no error; draw more"


@dataclass(frozen=True)
class Estimate:
    """A sampled answer.

    Attributes
    ----------
    value : float or (K,) array
        The estimate; nan where it is undefined.
    standard_error : float or (K,) array
        Of the estimate, 0 where every sample is an anchor; nan where the anchors tell none.
    low, high : float or (K,) array
        Ends of the interval, 95 % unless asked for otherwise, from Student's t.
    n_anchors : int
        Anchors m.
    note : str
        Why something is nan.
    """

    value: float | NDArray[Any]
    standard_error: float | NDArray[Any]
    low: float | NDArray[Any]
    high: float | NDArray[Any]
    n_anchors: int
    note: str = ""


def draw_anchors(n_samples: int, m: int, seed: int, taken: Bool | None = None) -> Int:
    """Draw samples without replacement, every choice being equally likely.

    Parameters
    ----------
    n_samples : int
        Samples N.
    m : int
        Anchors, 2 or more; N to compare all samples.
    seed : int
        The same seed draws the same anchors.
    taken : (N,) bool, optional
        Samples that take part; only those are drawn.

    Returns
    -------
    (m,) int64
        Numbers of the anchors, ascending.

    Raises
    ------
    InputError
        There are fewer samples than anchors, or `m` or `seed` is no such number.
    """
    _check_whole("sample_anchors", m, min(2, n_samples))
    _check_whole("seed", seed, 0)
    numbers = np.arange(n_samples) if taken is None else np.flatnonzero(taken)
    if m > len(numbers):
        raise InputError(
            f"sample_anchors is {m}, but {len(numbers)} samples take part; draw fewer, or leave "
            "sample_anchors out for the exact value"
        )
    drawn = np.random.default_rng(seed).choice(len(numbers), m, replace=False, shuffle=False)
    return np.asarray(numbers[np.sort(drawn)], np.int64)


def refuse_sampling(spec: MetricSpec) -> None:
    """Refuse an index that anchors do not estimate.

    Parameters
    ----------
    spec : MetricSpec
        The index with its parameters, from ``with_parameters``.

    Raises
    ------
    InputError
        It has one value for every sample, takes time linear in the samples anyhow, counts
        all ranks, or is made of smallest or largest distances.
    """
    name = spec.name
    if "sample" in spec.dims:
        raise InputError(
            f"{name} is a value of every sample, not a mean over them; leave sample_anchors out"
        )
    if spec.cost == "linear":
        raise InputError(f"{name} is exact in time linear in the samples; leave sample_anchors out")
    if spec.cost == "ranks" and not spec.estimable:
        raise InputError(f"{name} counts the ranks of all samples; leave sample_anchors out")
    if not {"shepard", "ranked"}.isdisjoint(spec.needs):
        raise InputError(
            f"{name} counts or ranks the distances of all pairs; leave sample_anchors out"
        )
    if "extremes" in spec.needs or (spec.tables and spec.cost != "ranks"):
        raise InputError(
            f"{name} is made of smallest or largest distances, or of those of every two clusters, "
            "and a few anchors do not know them; leave sample_anchors out for the exact value"
        )


def exact_totals(spec: MetricSpec) -> frozenset[str]:
    """Largest distances that the formula reads, which are to be found exactly.

    Parameters
    ----------
    spec : MetricSpec
        The index with its parameters.
    """
    return frozenset(spec.totals) & frozenset(_LARGEST)


def estimate_mean(values: Float, n_samples: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a mean over samples, as a silhouette's, from those of the anchors.

    Parameters
    ----------
    values : (m,) float64
        The anchors' own; nan where one is undefined, which makes the mean undefined.
    n_samples : int
        Samples N that take part.
    confidence : float
        Of the interval.
    """
    m = len(values)
    if np.isnan(values).any():
        return no_estimate("the value of an anchor is undefined, and so is the mean", m)
    spread = float(np.var(values, ddof=1)) if m > 1 else math.nan
    variance = _unseen(m, n_samples, spread / m)
    return estimate_of(float(np.mean(values)), variance, m, confidence=confidence)


def estimate_totals(
    formula: Callable[[PairTotals], Value],
    anchors: AnchorTotals,
    n_samples: int,
    *,
    exact: Mapping[str, float] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimate what a formula makes of sums over pairs.

    Parameters
    ----------
    formula : callable
        From totals over pairs to a value, smooth in those that are sampled.
    anchors : AnchorTotals
        What the anchors have gathered.
    n_samples : int
        Samples N that take part.
    exact : mapping of str to float, optional
        Totals that are known exactly, as "d_max": they are in the place of sampled ones
        and stay what they are in the jackknife.
    confidence : float
        Of the interval.

    Notes
    -----
    Totals are N/m Σ_a H_a / 2, without bias.  What is linear in them has the error of a
    mean, exactly; else it is that of the delete-one jackknife, and the bias is of order
    1/m.  That no anchor is part of a pair with d = 0 < e does not say that there is none.
    """
    m, exact = len(anchors.numbers), exact or {}
    sums = {name: own for name, own in anchors.sums.items() if name not in exact}
    whole = {name: float(own.sum()) for name, own in sums.items()}
    full = formula(_totals(whole, n_samples, m, exact))
    if np.isnan(value := float(number_of(full))):
        return no_estimate(note_of(full), m)
    if m == 1:
        return estimate_of(value, _unseen(m, n_samples, math.nan), m, confidence=confidence)
    names = list(sums)
    rest = np.array([whole[name] - sums[name] for name in names]).T.tolist()
    left_out = np.array(
        [
            number_of(formula(_totals(dict(zip(names, row, strict=True)), n_samples, m - 1, exact)))
            for row in rest
        ]
    )
    spread = (m - 1) / m * float(((left_out - left_out.mean()) ** 2).sum())
    return estimate_of(value, _unseen(m, n_samples, spread), m, confidence=confidence)


def estimate_of(
    value: float,
    variance: float,
    m: int,
    *,
    confidence: float = CONFIDENCE,
    freedom: float | None = None,
) -> Estimate:
    """An estimate with its interval, from its variance (nan where the anchors tell none)."""
    error = math.sqrt(variance)
    degrees = max(m - 1, 1) if freedom is None else freedom
    reach = float(students_t(np.array(degrees), confidence)) * error
    note = _NO_ERROR if math.isnan(error) else ""
    return Estimate(value, error, value - reach, value + reach, m, note)


def no_estimate(note: str, m: int) -> Estimate:
    """An undefined estimate, and the reason."""
    return Estimate(math.nan, math.nan, math.nan, math.nan, m, note)


def students_t(freedom: AnyArray, confidence: float) -> Float:
    """Student's t that is exceeded on either side by (1 − confidence)/2."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, 0.5 + confidence / 2))


def _totals(
    sums: Mapping[str, float], n_samples: int, m: int, exact: Mapping[str, float]
) -> PairTotals:
    factor = n_samples / (2 * m)
    values = {name: factor * value for name, value in sums.items()}
    if "collapsed" in values:
        # a part of a pair says that there is one
        values["collapsed"] = float(math.ceil(values["collapsed"]))
    return PairTotals(n_samples, {**values, **exact})


def _unseen(m: int, n_samples: int, spread: float) -> float:
    """A variance without what the anchors share with all samples: 0 where they are all."""
    return 0.0 if m == n_samples else (1 - m / n_samples) * spread


def _check_whole(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name} is a whole number of at least {least}, not {value!r}")

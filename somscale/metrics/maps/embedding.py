"""Map embedding accuracy: whether samples and code vectors have the same distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from somscale._types import Bool, Float
from somscale.errors import InputError
from somscale.metrics.checks import check_choice, check_flag
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.marginals import Marginals
from somscale.reductions.units import UnitStats

__all__ = [
    "feature_embedding_p_value",
    "feature_ks_distance",
    "feature_mean_difference",
    "feature_variance_ratio",
    "map_embedding_accuracy",
]

_HAMEL = (
    "Hamel 2016, SOM quality measures: an efficient statistical approach, "
    "doi:10.1007/978-3-319-28518-4_4"
)
_OTT = (
    "Hamel & Ott 2012, A population based convergence criterion for self-organizing maps, DMIN'12"
)
_TOO_FEW = "one sample or one unit has no variance to test"
_FEATURES_MISSING = "features that take no part"


def _check_accuracy(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "test", ("ks", "moments"))
    check_flag(parameters, "weighted")
    level = parameters["significance"]
    if isinstance(level, bool) or not isinstance(level, int | float | np.number):
        raise InputError(f"significance is a number between 0 and 1, not {level!r}")
    if not 0 < level < 1:
        raise InputError(f"significance lies between 0 and 1, not at {level!r}")


@map_index(
    needs=("units", "marginals"),
    long_name="map embedding accuracy",
    definition="share of the features whose samples and code values no test tells apart",
    direction="higher",
    upper=1,
    source=f"{_HAMEL}; {_OTT}",
    check=_check_accuracy,
    undefined="one sample or one unit, where moments are tested; samples without variance, where "
    "features are weighted by it",
)
def map_embedding_accuracy(
    units: UnitStats,
    marginals: Marginals,
    *,
    test: Literal["ks", "moments"] = "ks",
    weighted: bool = False,
    significance: float = 0.05,
) -> Value:
    """Share of the features in which code vectors are distributed as the samples are.

    A feature counts where no test rejects at the level `significance` that its samples
    and its K code values come from one distribution.

    Parameters
    ----------
    test : {"ks", "moments"}
        The two-sample Kolmogorov-Smirnov test; or Welch's t test of the means and the F
        test of the variances, both of which must not reject.
    weighted : bool
        Weigh every feature by its share of the samples' variance, as Hamel & Ott do;
        by default all features count alike.
    significance : float
        Level of the tests, between 0 and 1.

    Notes
    -----
    The Kolmogorov-Smirnov test is that of its limit for many samples; R's ``ks.test``, and
    popsom with it, is exact where N K < 10,000 and no values are equal.  popsom's values are
    those with ``weighted=True``.
    As N grows ever smaller differences are significant, and K code values never are quite
    the samples': :func:`feature_ks_distance`, :func:`feature_mean_difference` and
    :func:`feature_variance_ratio` say how large the differences are.  Feature weights
    change neither a test nor the share; sample weights have no meaning for tests.
    """
    part = _taking_part(units, marginals)
    if test == "ks":
        passed = _ks_p_values(marginals)[part] > significance
    elif min(marginals.n_samples, len(marginals.codes)) < 2:
        return undefined(_TOO_FEW)
    else:
        both = np.minimum(_mean_p_values(marginals), _variance_p_values(marginals))
        passed = both[part] > significance
    if not weighted:
        return float(passed.mean())
    variance = marginals.variance[part]
    if not variance.sum() > 0:
        return undefined("the samples have no variance, which features are weighted by")
    return float(np.clip(variance[passed].sum() / variance.sum(), 0, 1))


@map_index(
    needs=("units", "marginals"),
    long_name="Kolmogorov-Smirnov distance of each feature",
    definition="largest difference between the empirical distributions of samples and codes",
    direction="lower",
    upper=1,
    dims=("feature",),
    source=_HAMEL,
    undefined=_FEATURES_MISSING,
)
def feature_ks_distance(units: UnitStats, marginals: Marginals) -> Value:
    """Largest difference between the distribution functions of samples and code values.

    sup |F_N(t) − F_K(t)| in each feature, exactly: it is found at a code value.

    Notes
    -----
    The effect size beside the p-values of :func:`map_embedding_accuracy`: it does not
    shrink as N grows.  nan for features that take no part.
    """
    return np.where(_taking_part(units, marginals), _ks_distances(marginals), np.nan)


def _check_p_value(parameters: Mapping[str, Any]) -> None:
    check_choice(parameters, "test", ("ks", "mean", "variance"))


@map_index(
    needs=("units", "marginals"),
    long_name="p-value of each feature, samples against codes",
    definition="probability of so large a difference between samples and code values of one "
    "distribution",
    direction="higher",
    upper=1,
    dims=("feature",),
    source=_HAMEL,
    check=_check_p_value,
    undefined=f"{_FEATURES_MISSING}; one sample or one unit, where moments are tested",
)
def feature_embedding_p_value(
    units: UnitStats, marginals: Marginals, *, test: Literal["ks", "mean", "variance"] = "ks"
) -> Value:
    """How probable so large a difference is where samples and codes are of one distribution.

    Parameters
    ----------
    test : {"ks", "mean", "variance"}
        The two-sample Kolmogorov-Smirnov test, by its asymptotic distribution; Welch's t
        test; or the two-sided F test of the variances.

    Notes
    -----
    Of values that are all equal, on both sides, means and variances are equal (1) or not
    (0).  nan for features that take no part, and where a side has one value whose moments
    are tested.
    """
    tests = {"ks": _ks_p_values, "mean": _mean_p_values, "variance": _variance_p_values}
    return np.where(_taking_part(units, marginals), tests[test](marginals), np.nan)


@map_index(
    needs=("units", "marginals"),
    long_name="standardised difference of means of each feature",
    definition="(mean of the code values - mean of the samples) / deviation of the samples",
    direction="zero",
    lower=-np.inf,
    dims=("feature",),
    source="Cohen 1988, Statistical power analysis for the behavioral sciences; with the "
    "samples' deviation, Glass 1976, doi:10.3102/0013189X005010003",
    undefined=f"{_FEATURES_MISSING}, and those in which all samples are equal",
)
def feature_mean_difference(units: UnitStats, marginals: Marginals) -> Value:
    """How far the mean of the code values lies from that of the samples, in their deviations.

    Notes
    -----
    The effect size of the t test of :func:`map_embedding_accuracy`, by Glass's Δ.
    """
    spread = np.sqrt(marginals.variance)
    known = _taking_part(units, marginals) & (spread > 0)
    moved = _code_means(marginals) - marginals.mean
    return np.asarray(np.divide(moved, spread, out=np.full(len(spread), np.nan), where=known))


@map_index(
    needs=("units", "marginals"),
    long_name="ratio of variances of each feature",
    definition="variance of the code values / variance of the samples",
    direction="none",
    dims=("feature",),
    source=_HAMEL,
    undefined=f"{_FEATURES_MISSING}, those in which all samples are equal, and maps of one unit",
)
def feature_variance_ratio(units: UnitStats, marginals: Marginals) -> Value:
    """Share of the samples' variance in each feature that the code values have.

    Notes
    -----
    The effect size of the F test of :func:`map_embedding_accuracy`: 1 where both spread
    alike; code vectors are means, so that it is mostly smaller.
    """
    spread = marginals.variance
    known = _taking_part(units, marginals) & (spread > 0)
    out = np.full(len(spread), np.nan)
    return np.asarray(np.divide(_code_variances(marginals), spread, out=out, where=known))


def _taking_part(units: UnitStats, marginals: Marginals) -> Bool:
    """Features that take part, (D,)."""
    missing = units.missing_features
    return np.ones(marginals.codes.shape[1], bool) if missing is None else ~missing


def _ks_distances(marginals: Marginals) -> Float:
    """The distance, at or just below a code value: elsewhere one function only grows."""
    n = marginals.n_samples
    before = np.abs(marginals.below / n - _shares(marginals, "left"))
    after = np.abs(marginals.at_most / n - _shares(marginals, "right"))
    return np.asarray(np.maximum(before, after).max(axis=0))


def _shares(marginals: Marginals, side: Literal["left", "right"]) -> Float:
    """Share of the code values below, or not above, each of them, (K, D)."""
    codes = marginals.codes
    found = [np.searchsorted(column, column, side=side) for column in codes.T]
    return np.stack(found, axis=1) / len(codes)


def _ks_p_values(marginals: Marginals) -> Float:
    from scipy.special import kolmogorov

    n, k = marginals.n_samples, len(marginals.codes)
    return np.asarray(kolmogorov(_ks_distances(marginals) * math.sqrt(n * k / (n + k))))


def _code_means(marginals: Marginals) -> Float:
    return np.asarray(marginals.codes.mean(axis=0))


def _code_variances(marginals: Marginals) -> Float:
    """Variances of the code values with K − 1; nan for one unit."""
    if len(marginals.codes) < 2:
        return np.full(marginals.codes.shape[1], np.nan)
    return np.where(np.ptp(marginals.codes, axis=0) > 0, marginals.codes.var(axis=0, ddof=1), 0)


def _mean_p_values(marginals: Marginals) -> Float:
    """Welch's t test."""
    from scipy.special import stdtr

    n, k = marginals.n_samples, len(marginals.codes)
    if min(n, k) < 2:
        return np.full(marginals.codes.shape[1], np.nan)
    own, other = _code_variances(marginals) / k, marginals.variance / n
    moved = np.abs(_code_means(marginals) - marginals.mean)
    spread = own + other
    with np.errstate(divide="ignore", invalid="ignore"):
        # shares first: squares of large variances overflow
        share = own / spread
        degrees = 1 / (share**2 / (k - 1) + (1 - share) ** 2 / (n - 1))
        found = 2 * stdtr(degrees, -moved / np.sqrt(spread))
    return np.where(spread > 0, found, np.where(moved == 0, 1.0, 0.0))


def _variance_p_values(marginals: Marginals) -> Float:
    """The two-sided F test."""
    from scipy.special import fdtr, fdtrc

    n, k = marginals.n_samples, len(marginals.codes)
    if min(n, k) < 2:
        return np.full(marginals.codes.shape[1], np.nan)
    own, other = _code_variances(marginals), marginals.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = own / other
        smaller = np.minimum(fdtr(k - 1, n - 1, ratio), fdtrc(k - 1, n - 1, ratio))
    found = np.minimum(2 * smaller, 1)
    return np.where(other > 0, found, np.where(own == 0, 1.0, 0.0))

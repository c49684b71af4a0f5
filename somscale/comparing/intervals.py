"""Percentile intervals from resamples, and which candidates they cannot tell from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from somscale._types import Float
from somscale.comparing.means import Means
from somscale.comparing.ranking import losses_of

__all__ = ["LEVELS", "Key", "Replicates", "replicates_of", "same_as_best", "spread"]

LEVELS: Final = (0.025, 0.975)
"""Ends of a 95 % interval."""

Key: TypeAlias = tuple[str, str]
"""A candidate, and the label of an index."""

Replicates: TypeAlias = Mapping[Key, Float]
"""The index of every resample."""

_OTHER = "the value is not the mean that was resampled"


def replicates_of(
    means: Means, sums: Float, values: Mapping[Key, float]
) -> tuple[dict[Key, Float], dict[Key, str]]:
    """The index of every resample, (n_boot,), where it is a mean; and else why there is none."""
    found, reasons = {}, dict(means.reasons)
    for key, mean in means.found.items():
        value = values[key]
        if np.isnan(value):
            reasons[key] = "the value is undefined"
            continue
        every = mean.of(sums, value)
        # features that only the read found to be missing, or weights that an index ignores
        if not np.isclose(every[0], value, rtol=1e-9, atol=mean.rounding):
            reasons[key] = _OTHER
        elif np.isnan(every[1:]).all():
            reasons[key] = "no resample has a sample"
        else:
            found[key] = every[1:]
    return found, reasons


def spread(replicates: Float) -> tuple[float, float, float]:
    """Standard error and both ends of the interval; resamples without samples are left out."""
    known = replicates[~np.isnan(replicates)]
    low, high = np.quantile(known, LEVELS)
    return float(known.std(ddof=1)) if len(known) > 1 else np.nan, float(low), float(high)


def same_as_best(
    replicates: Replicates, label: str, candidates: Sequence[str], best: str, direction: str
) -> Float:
    """Whether the interval of the paired difference to the best one holds 0, (candidate,).

    nan where either has no resamples.
    """
    found = np.full(len(candidates), np.nan)
    if (best, label) not in replicates:
        return found
    least = losses_of(replicates[best, label], direction)
    for place, name in enumerate(candidates):
        if (name, label) in replicates:
            gaps = _gaps(losses_of(replicates[name, label], direction), least)
            if len(gaps):
                low, high = np.quantile(gaps, LEVELS)
                found[place] = low <= 0 <= high
    return found


def _gaps(losses: Float, least: Float) -> Float:
    """Differences of the resamples that both have; of two that are infinite, none."""
    alike = losses == least  # infinities too
    both = ~(np.isnan(losses) | np.isnan(least))
    gaps = np.subtract(losses, least, out=np.zeros(len(losses)), where=both & ~alike)
    return np.asarray(gaps[both])

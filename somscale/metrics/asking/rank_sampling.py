"""Indices of ranks from drawn rows, each ranked against all samples, with an error bar.

As in :mod:`somscale.metrics.asking.sampling`: what row i tells of its ranks among *all*
samples is exact, and rows are drawn without replacement, so that a mean over rows is
estimated without bias by that of the drawn ones, with the variance of these times
(1 − m/N)/m.  Rows that are put together at random in groups tell the same by the
variance between groups, from as many degrees of freedom as there are groups, less one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from somscale._types import Float
from somscale.metrics.asking.sampling import CONFIDENCE, Estimate, students_t
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import Value, note_of, number_of
from somscale.reductions.rank_stats import RankCurves, RankStats, RankSurface

__all__ = ["DrawnRanks", "estimate_ranks"]

_DRAWS: Final = 200
"""Choices of groups with replacement, for what is no mean over rows."""

_CHOSEN_BYTES: Final = 64 << 20
"""What the overlaps of choices that are judged together hold, at most."""

_EXTREMAL: Final = frozenset({"k_max", "q_local", "q_global"})
"""Indices that depend on where the overlap, beside that of chance, is largest."""

_NO_ERROR: Final = "so few anchors tell no error; draw more"


@dataclass(frozen=True)
class DrawnRanks:
    """What drawn rows told.

    Attributes
    ----------
    stats : RankStats
        With groups of rows, and moments of the surface.
    """

    stats: RankStats


def estimate_ranks(
    spec: MetricSpec,
    formula: Callable[[RankStats], Value],
    drawn: DrawnRanks,
    parameters: Mapping[str, Any],
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimate an index of ranks.

    Parameters
    ----------
    spec : MetricSpec
        The index with its parameters.
    formula : callable
        From ranks to its value.
    drawn : DrawnRanks
        Of the drawn rows.
    parameters : mapping
        Those of the index.
    seed : int
        Of the choices with replacement.
    confidence : float
        Of the interval.

    Notes
    -----
    Means over rows and what is linear in them have the error of a mean.  The share of
    pairs in a region is a ratio of two means, with the error of the delta method.  Where
    a curve is largest, and means up to there, have the spread that choices of the drawn
    rows with replacement show.
    """
    stats = drawn.stats
    value = formula(stats)
    point = np.asarray(number_of(value), np.float64)
    if "surface" in spec.tables:
        if stats.surface is None:
            raise ValueError("the walk kept no surface")
        variance, freedom = _of_surface(stats.surface, parameters)
        rows = stats.surface.n_rows
    else:
        if stats.groups is None or stats.curves is None:
            raise ValueError("the walk kept no groups of rows")
        rows = int(stats.curves.n_rows)
        spread = _of_choices if spec.name in _EXTREMAL else _of_groups
        variance, freedom = spread(formula, stats, seed)
    left = 1 - rows / stats.n_samples
    error = np.where(np.isnan(point), np.nan, np.sqrt(left * variance) if left else 0.0)
    reach = float(students_t(np.array(max(freedom, 1)), confidence)) * error
    note = note_of(value)
    if not note and np.isnan(error[np.isfinite(point)]).any():
        note = _NO_ERROR
    return Estimate(point, error, point - reach, point + reach, rows, note)


def _of_groups(
    formula: Callable[[RankStats], Value], stats: RankStats, seed: int
) -> tuple[Float, int]:
    """Variance of a mean over rows, from those of groups, without what is left of N."""
    groups = _groups_of(stats)
    sizes = _sizes(groups)
    values = np.asarray(number_of(formula(replace(stats, curves=groups))), np.float64)
    freedom = len(sizes) - 1
    if not freedom:
        return np.full(values.shape[1:], np.nan), 0
    weights = sizes / sizes.sum()
    middle = _mean_of(values, weights)
    return _mean_of((values - middle) ** 2, weights) / freedom, freedom


def _mean_of(values: Float, weights: Float) -> Float:
    """Weighted mean over groups, added up in their order.

    BLAS would take an order that depends on its threads and on how many K there are.
    """
    total = np.zeros(values.shape[1:])
    for weight, own in zip(weights.tolist(), values, strict=True):
        total += weight * own
    return total


def _of_choices(
    formula: Callable[[RankStats], Value], stats: RankStats, seed: int
) -> tuple[Float, int]:
    """Variance over choices of the groups with replacement, for what reads the overlap alone."""
    groups = _groups_of(stats)
    count, sizes = len(_sizes(groups)), _sizes(groups)
    if count < 2:
        return np.asarray(np.nan), 0
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, count, (_DRAWS, count))
    often = np.array([np.bincount(own, minlength=count) for own in chosen], np.float64)
    unread: dict[str, Any] = {name: np.full((1, 1), np.nan) for name, _ in _arrays(groups)}
    overlap = groups.overlap.astype(np.float64)
    step = max(1, _CHOSEN_BYTES // (8 * groups.k_max))
    found = []
    for start in range(0, _DRAWS, step):
        part = often[start : start + step]
        # whole numbers stay what they are, of which sums decide exactly where a curve is largest
        sums = (part @ overlap).astype(groups.overlap.dtype)
        n_rows = (part @ sizes).astype(np.int64)[:, None]
        curves = replace(groups, n_rows=n_rows, **{**unread, "overlap": sums})
        found.append(np.asarray(number_of(formula(replace(stats, curves=curves))), np.float64))
    # of so many groups, choices with replacement vary less than rows anew
    spread = np.var(np.concatenate(found), ddof=1)
    return np.asarray(spread * count / (count - 1)), count - 1


def _of_surface(surface: RankSurface, parameters: Mapping[str, Any]) -> tuple[Float, int]:
    """Variance of pairs that move little, a row or a pair in the region."""
    squares, products = surface.inside_squares, surface.products
    if squares is None or products is None or surface.region_squares is None:
        raise ValueError("the walk kept no moments of rows")
    rows, near = surface.n_rows, parameters["kappa_s"]
    if rows < 2:
        shape = len(near), len(parameters["kappa_t"])
        return np.full(shape, np.nan), 0
    at = np.ix_(near - 1, parameters["kappa_t"])
    inside, region = surface.inside[at], surface.region[near - 1][:, None]
    if parameters.get("norm") == "region":
        ratio = inside / region
        own = surface.region_squares[near - 1][:, None]
        away = squares[at] - 2 * ratio * products[at] + ratio**2 * own
        scale = region / rows
    else:
        away = squares[at] - inside * (inside / rows)
        scale = near[:, None]
    # rounding of what is nothing
    return np.maximum(away, 0.0) / ((rows - 1) * rows) / scale**2, rows - 1


def _groups_of(stats: RankStats) -> RankCurves:
    """The groups that have rows."""
    groups = stats.groups
    if groups is None:
        raise ValueError("the walk kept no groups of rows")
    n_rows = np.broadcast_to(groups.n_rows, (len(groups.overlap), 1))
    taken = n_rows[:, 0] > 0
    if taken.all():
        return replace(groups, n_rows=n_rows)
    chosen = {name: array[taken] for name, array in _arrays(groups)}
    return replace(groups, n_rows=n_rows[taken], **chosen)


def _sizes(groups: RankCurves) -> Float:
    return np.asarray(groups.n_rows[:, 0], np.float64)


def _arrays(groups: RankCurves) -> Iterator[tuple[str, Any]]:
    """The sums of groups by name."""
    for field in fields(groups):
        array = getattr(groups, field.name)
        if field.name not in ("n_samples", "n_rows") and array is not None:
            yield field.name, array

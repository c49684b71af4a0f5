"""Indices of how well code vectors stand for the samples: distances to the best unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from somscale._types import Float
from somscale.errors import InputError
from somscale.metrics.public import map_index
from somscale.metrics.values import Noted, Value, undefined
from somscale.reductions.base import TILE_ROWS
from somscale.reductions.units import UnitStats

__all__ = [
    "dead_units",
    "explained_variance",
    "hits",
    "quantization_error",
    "unit_quantization_error",
]

_KOHONEN = "Kohonen 2001, Self-Organizing Maps, doi:10.1007/978-3-642-56927-2"
_KINDS = ("mean", "squared", "rms")
_SQUARED = {("kind", "squared"): {"units": "data^2"}}


def _check_kind(parameters: Mapping[str, Any]) -> None:
    if parameters["kind"] not in _KINDS:
        raise InputError(f"kind is one of {_KINDS}, not {parameters['kind']!r}")


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="quantization error",
    definition="mean over samples of the distance to the best-matching unit's code vector",
    direction="lower",
    units="data",
    source=_KOHONEN,
    check=_check_kind,
    variants=_SQUARED,
)
def quantization_error(
    units: UnitStats, *, kind: Literal["mean", "squared", "rms"] = "mean"
) -> Value:
    """Mean Euclidean distance of the samples to their best-matching units.

    With ``missing="partial"`` it is the mean partial distance, see :func:`distance`.

    Parameters
    ----------
    kind : {"mean", "squared", "rms"}
        Mean of the distances, mean of their squares (in the samples' units squared,
        as aweSOM and SOMbrero have it), or its root.
    """
    if kind == "mean":
        error = float(units.distances.sum() / units.total)
    else:
        squared = float(units.squares.sum() / units.total)
        error = squared if kind == "squared" else float(np.sqrt(squared))
    return Noted(error, _FAR) if _is_far(units) else error


_FAR = (
    "the codes lie ten times as far from the samples as these from their mean: are they scaled "
    "differently?"
)


def _is_far(units: UnitStats) -> bool:
    """Whether the samples are ten times as far from their units as from their own mean."""
    total = total_scatter(units)
    return bool(0 < 100 * total < units.squares.sum() < np.inf)


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="explained variance",
    definition="1 - sum of squared distances to the best-matching units / total scatter",
    direction="higher",
    lower=-float("inf"),
    upper=1,
    source=_KOHONEN,
    undefined="samples that are equal, up to rounding",
)
def explained_variance(units: UnitStats) -> Value:
    """Share of the samples' total scatter that the map's code vectors account for.

    Notes
    -----
    One minus the summed squared quantization errors over the summed squared
    distances to the samples' mean; negative where the map is worse than that mean.
    Undefined when all samples are equal, or differ by no more than rounding at their
    distance from the map.  With ``missing="partial"`` all distances are partial ones, and
    the mean of a feature is that of the samples that have it.
    """
    total = total_scatter(units)
    if not np.isfinite(total):
        return undefined("the total scatter overflows float64; rescale the samples and the map")
    if total == 0:
        return undefined("all samples are equal, up to rounding: there is no variance to explain")
    return float(1 - units.squares.sum() / total)


def total_scatter(units: UnitStats) -> float:
    """Sum of squared distances of the samples to their mean, without another read.

    For the samples of unit u, about any point p:
    Σ‖x − p‖² = E_u + 2 (m_u − p)·R_u + n_u ‖m_u − p‖², feature by feature where samples
    have gaps.
    """
    center = units.codes.mean(axis=0)
    codes = units.codes - center
    if units.gaps is None:
        mean = (units.mass @ codes + units.residuals.sum(axis=0)) / units.total
    else:
        mass = units.gaps.masses.sum(axis=0)
        sums = (units.gaps.masses * codes + units.residuals).sum(axis=0)
        mean = np.divide(sums, mass, out=np.zeros(len(sums)), where=mass > 0)
    offsets = codes - mean
    lever = units.distance_mass * offsets
    moved = np.einsum("kd,kd->k", offsets, 2 * units.distance_residuals + lever)
    total = float((units.squares + moved).sum())
    # what is left of equal samples is rounding of the codes' distance to them: each sum has
    # added the features of a sample, or the samples of a tile, one after the other
    size = float((units.squares + np.einsum("kd,kd->k", offsets, lever)).sum())
    rounding = (TILE_ROWS + units.n_features) * np.finfo(float).eps * size
    return 0.0 if total <= rounding < np.inf else total


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="samples of each unit",
    definition="number of samples whose best-matching unit it is",
    direction="none",
    units="samples",
    dims=("unit",),
    dtype="int64",
    source=_KOHONEN,
)
def hits(units: UnitStats) -> Value:
    """Samples of each unit: those whose best-matching unit it is."""
    return units.hits


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="dead units",
    definition="number of units that are no sample's best-matching unit",
    direction="lower",
    units="units",
    source=_KOHONEN,
)
def dead_units(units: UnitStats) -> Value:
    """Units that are no sample's best-matching unit."""
    return float(np.count_nonzero(units.hits == 0))


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="quantization error of each unit",
    definition="mean distance of a unit's samples to its code vector",
    direction="lower",
    units="data",
    dims=("unit",),
    source=_KOHONEN,
    check=_check_kind,
    undefined="units without samples",
    variants=_SQUARED,
)
def unit_quantization_error(
    units: UnitStats, *, kind: Literal["mean", "squared", "rms"] = "mean"
) -> Value:
    """Mean distance of each unit's samples to its code vector.

    Parameters
    ----------
    kind : {"mean", "squared", "rms"}
        As in :func:`quantization_error`; the hit-weighted mean of "mean" and
        "squared" is the map's value.

    Notes
    -----
    nan for units without samples.
    """
    means = per_hit(units.distances if kind == "mean" else units.squares, units)
    return np.sqrt(means) if kind == "rms" else means


def per_hit(sums: Float, units: UnitStats) -> Float:
    """Sums of units as means over their samples, weighted if they are; nan for dead units."""
    out = np.full(sums.shape, np.nan)
    return np.asarray(np.divide(sums, units.mass, out=out, where=units.mass > 0))

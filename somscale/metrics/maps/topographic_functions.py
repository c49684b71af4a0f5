"""Topographic functions: how far apart on the map the units lie that share samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from somscale._types import Float, Int
from somscale.errors import InputError
from somscale.metrics.checks import check_flag
from somscale.metrics.maps.connectivity import connected_pairs, whole_deltas
from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = [
    "differential_topographic_function",
    "topographic_function",
    "weighted_differential_topographic_function",
]

_VILLMANN = "Villmann, Der, Herrmann & Martinetz 1997, doi:10.1109/72.557663"
_SURVEY = f"{_VILLMANN}; as in Forest et al. 2020, arXiv:2011.05847"
_ZHANG = "Zhang & Merényi 2006, Weighted differential topographic function, ESANN'06"
_NEGATIVE = "negative delta, where only villmann_function is defined"


def _deltas(grid: Grid, parameters: Mapping[str, Any]) -> Float:
    """Default deltas on a grid."""
    return whole_deltas(grid)


def _deltas_or_shares(grid: Grid, parameters: Mapping[str, Any]) -> Float:
    """Default deltas on a grid, as shares of the largest where they are normalised."""
    if not parameters["normalize"]:
        return whole_deltas(grid)
    largest, p = grid.max_distance, grid.dimension
    if _normalizer(grid) <= 0 or largest == 0:
        raise InputError(
            f"the topographic function of a {p}-dimensional map of {grid.size} units cannot be "
            f"normalised: K (K - 3^{p}) is {_normalizer(grid)} and the largest distance "
            f"{largest:g}, and both must exceed 0; take the counts, normalize=False"
        )
    deltas = whole_deltas(grid)
    return deltas[deltas <= largest] / largest


def _normalizer(grid: Grid) -> int:
    return int(grid.size * (grid.size - 3**grid.dimension))


def _check(parameters: Mapping[str, Any]) -> None:
    check_flag(parameters, "normalize")


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic function",
    definition="ordered pairs of units that share samples, further apart on the map than delta",
    direction="lower",
    units="pairs of units",
    dims=("delta",),
    source=_SURVEY,
    check=_check,
    values_on=_deltas_or_shares,
    undefined=_NEGATIVE,
    variants={("normalize", True): {"units": "1"}},
)
def topographic_function(
    units: UnitStats, grid: Grid, *, delta: Any = None, normalize: bool = False
) -> Value:
    """Pairs of units that share samples although they are far apart on the map.

    TF(k) = Σ_c #{c′ : c and c′ are connected, δ(c, c′) > k}.  Two units are connected if
    they are the best and the second-best unit of some sample, either way; each pair of
    them counts twice.

    Parameters
    ----------
    delta : float or sequence of float, optional
        k, in units of map distance.  By default 0, 1, 2, … to the largest distance on
        the map, or on any of several maps.
    normalize : bool
        Take `delta` as a share of the largest distance δ_max on the map (by default 0,
        1/δ_max, 2/δ_max, … up to 1) and divide by K (K − 3^p), p being the dimension of the
        map, 1 or 2.  Refused where K ≤ 3^p.

    Notes
    -----
    0 at k = 1 means that all samples' two best units adjoin, on grids whose δ counts
    hops.  nan at negative `delta`.
    """
    first, second = connected_pairs(units)
    apart = grid.distance(first, second)
    if normalize:
        apart = apart / grid.max_distance
    counts = 2.0 * _count_above(apart, delta)
    counts[delta < 0] = np.nan
    return counts / _normalizer(grid) if normalize else counts


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="differential topographic function",
    definition="ordered pairs of units that share samples, delta apart on the map",
    direction="none",
    units="pairs of units",
    dims=("delta",),
    source=_ZHANG,
    values_on=_deltas,
    undefined=_NEGATIVE,
)
def differential_topographic_function(units: UnitStats, grid: Grid, *, delta: Any = None) -> Value:
    """Pairs of units that share samples, at each distance on the map.

    TF(k − 1) − TF(k): the pairs with k − 1 < δ ≤ k, which is δ = k where δ is whole.

    Parameters
    ----------
    delta : float or sequence of float, optional
        k, as in :func:`topographic_function`.

    Notes
    -----
    nan at negative `delta`.
    """
    first, second = connected_pairs(units)
    return 2.0 * _sums_at(grid.distance(first, second), np.ones(len(first)), delta)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="weighted differential topographic function",
    definition="share of samples whose two best units are delta apart on the map",
    direction="none",
    upper=1,
    dims=("delta",),
    source=_ZHANG,
    values_on=_deltas,
    undefined=f"a map of one unit, and {_NEGATIVE}",
)
def weighted_differential_topographic_function(
    units: UnitStats, grid: Grid, *, delta: Any = None
) -> Value:
    """Share of the samples whose two best units lie at each distance on the map.

    WDTF(k) = (1/N) #{i : k − 1 < δ(b1, b2) ≤ k}, which is δ = k where δ is whole.

    Parameters
    ----------
    delta : float or sequence of float, optional
        k, as in :func:`topographic_function`.

    Notes
    -----
    Over the default `delta` it adds up to 1, and over k > 1 to the topographic error,
    on grids whose δ counts hops.  nan at negative `delta`, and on a map of one unit.
    """
    mass = units.pair_mass
    if not len(mass):
        return np.full(len(delta), np.nan)
    sums = _sums_at(grid.distance(units.first, units.second), mass, delta)
    return np.asarray(sums / mass.sum())


def _count_above(apart: Float, delta: Float) -> Int:
    """How many distances are larger than each delta."""
    return len(apart) - np.searchsorted(np.sort(apart), delta, side="right")


def _sums_at(apart: Float, weights: Float | Int, delta: Float) -> Float:
    """Weights of the distances with k − 1 < δ ≤ k, at each k; nan at negative ones."""
    order = np.argsort(apart, kind="stable")
    # k itself is in reach of k, also where it is so large that k − 1 rounds to it
    below = np.minimum(delta - 1, np.nextafter(delta, -np.inf))
    starts, stops = np.searchsorted(apart[order], np.stack([below, delta]), side="right")
    sums = [weights[order[start:stop]].sum() for start, stop in zip(starts, stops, strict=True)]
    return np.where(delta < 0, np.nan, np.asarray(sums, np.float64))

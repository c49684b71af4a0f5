"""The topographic product: whether near on the map is near among the codes, at every rank."""

from __future__ import annotations

from typing import Final

import numpy as np

from somscale._types import Float
from somscale.metrics.code_distances import distance_rows
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["topographic_product", "unit_topographic_product"]

ORDERED_UNITS: Final = 8_192
"""Units whose neighbours are put in order at most: 67 million distances, twice."""

_EQUAL: Final = 1e-12
"""Distances that differ by a smaller share are equal but for rounding."""

_BAUER = (
    "Bauer & Pawelzik 1992, Quantifying the neighborhood preservation of self-organizing "
    "feature maps, doi:10.1109/72.143371; Forest et al. 2020, arXiv:2011.05847, eq. 8"
)


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic product",
    definition="mean over units j and ranks k of ln P3(j, k), ties averaged",
    direction="zero",
    lower=-np.inf,
    source=_BAUER,
    undefined="code vectors that coincide, units at distance 0 on the map, and maps of one or "
    "of more than 8,192 units",
    of_map_alone=True,
)
def topographic_product(units: UnitStats, grid: Grid) -> Value:
    """How far the orders of neighbours on the map and of the code vectors agree.

    1/(K(K − 1)) Σ_j Σ_k ln P₃(j, k), P₃(j, k) = [Π_l≤k Q₁(j, l) Q₂(j, l)]^(1/2k), with Q₁
    the ratio of the code distances of unit j to its l-th neighbour on the map and to its
    l-th neighbour among the codes, and Q₂ the same ratio of map distances.

    Notes
    -----
    0 where both orders agree; below 0 where the map has too few dimensions for the
    codes, above 0 where it has too many.  Where several units are equally far from j, on
    the map or among the codes, logarithms are averaged over all orders of them, so that
    the value depends on no sorting; distances count as equal up to a share of 1e-12.
    A value of the map alone.  Undefined where code vectors coincide (they are named).
    """
    size = units.n_units
    if size < 2:
        return undefined("a map of one unit has no pair of units")
    if size > ORDERED_UNITS:
        return undefined(f"the map has {size} units; those of at most {ORDERED_UNITS} are ordered")
    sums, reason = _sums(units, grid)
    return undefined(reason) if reason else float(sums.sum() / (size * (size - 1)))


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic product of each unit",
    definition="mean over ranks k of ln P3(j, k) of unit j, ties averaged",
    direction="zero",
    lower=-np.inf,
    dims=("unit",),
    source=_BAUER,
    undefined="units whose code vector coincides with another's or that are at distance 0 of "
    "another on the map, and maps of one or of more than 8,192 units",
    of_map_alone=True,
)
def unit_topographic_product(units: UnitStats, grid: Grid) -> Value:
    """Mean over the ranks of ln P₃ of each unit, as in :func:`topographic_product`.

    Notes
    -----
    Its mean over the units is the topographic product: it tells where a map folds.
    """
    if not 2 <= units.n_units <= ORDERED_UNITS:
        return np.full(units.n_units, np.nan)
    return _sums(units, grid)[0] / (units.n_units - 1)


def _sums(units: UnitStats, grid: Grid) -> tuple[Float, str]:
    """Σ_k ln P₃(j, k) of every unit, (K,), and why some are nan.

    Σ_k 1/(2k) Σ_l≤k a_l = Σ_l w_l a_l with w_l = Σ_k≥l 1/(2k).  What a unit's logarithms
    are multiplied with is w at its place in the order by δ, less w at its place in that by
    d; averaging over orders of ties averages w over their places.
    """
    key = ("topographic product", grid)
    if key in units.derived:
        return units.derived[key], ""
    # by a power of two, so that squares of small and large codes are in range
    codes = np.ldexp(units.codes, -int(np.frexp(np.abs(units.codes).max())[1]))
    size, every, reason = units.n_units, np.arange(units.n_units), ""
    weights = np.cumsum(0.5 / np.arange(size - 1, 0, -1))[::-1]
    sums = np.empty(size)
    for rows, apart in distance_rows(codes):
        delta = grid.distance(every[rows, None], every)
        others = every != every[rows, None]
        shape = len(apart), size - 1
        d, e = apart[others].reshape(shape), delta[others].reshape(shape)
        for values, text in (
            (d, "the code vectors of units {} and {} coincide"),
            (e, "units {} and {} are at distance 0 on the map"),
        ):
            if not reason and not values.all():
                row, place = np.argwhere(values == 0)[0]
                unit = rows.start + row
                reason = text.format(unit, place + (place >= unit))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(d) + np.log(e)
            sums[rows] = ((_mean_weights(e, weights) - _mean_weights(d, weights)) * logs).sum(1)
        sums[rows][~((d > 0) & (e > 0)).all(axis=1)] = np.nan
    if not reason:
        units.derived[key] = sums
    return sums, reason


def _mean_weights(distances: Float, weights: Float) -> Float:
    """The weight of every place in the order of each row, the mean of those of its ties."""
    order = np.argsort(distances, axis=1)
    ordered = np.take_along_axis(distances, order, axis=1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = np.diff(ordered, axis=1) > _EQUAL * ordered[:, 1:]
    group = np.cumsum(first) - 1  # of all rows, one after the other
    sums = np.bincount(group, np.broadcast_to(weights, ordered.shape).ravel())
    means = (sums / np.bincount(group))[group].reshape(ordered.shape)
    found: Float = np.empty_like(means)
    np.put_along_axis(found, order, means, axis=1)
    return found

"""Villmann's topographic function: neighbourhoods broken on the map, and in the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.checks import check_flag
from somscale.metrics.maps.connectivity import connected_pairs, whole_deltas
from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats
from somscale.topology import Grid, path_lengths

__all__ = ["villmann_function"]

_LATTICES = ("rectangular", "hexagonal", "chain")


def _check(parameters: Mapping[str, Any]) -> None:
    check_flag(parameters, "normalize")


def _deltas(grid: Grid, parameters: Mapping[str, Any]) -> Float:
    """Default deltas on a grid: as far below 0 as above it."""
    deltas = whole_deltas(_with_max_norm(grid))
    return np.concatenate([-deltas[:0:-1], deltas])


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="topographic function of Villmann",
    definition="k > 0: pairs that share samples, over k apart on the map; "
    "k < 0: neighbours over |k| apart in the graph of such pairs; 0: sum at 1 and -1",
    direction="lower",
    units="pairs of units",
    dims=("delta",),
    source="Villmann, Der, Herrmann & Martinetz 1997, doi:10.1109/72.557663",
    check=_check,
    values_on=_deltas,
    variants={("normalize", True): {"units": "1"}},
)
def villmann_function(
    units: UnitStats, grid: Grid, *, delta: Any = None, normalize: bool = False
) -> Value:
    """Neighbourhoods that a map breaks: of the data, at k > 0, and of its grid, at k < 0.

    Two units are connected if they are the best and the second-best unit of some
    sample, either way, which is the graph of neighbours in the data.  At k > 0: ordered
    pairs of connected units further apart on the map than k, in the max-norm.  At
    k < 0: ordered pairs of units that share an edge of the grid and are further apart
    than |k| in the graph of connected units.  At 0: the sum of those at 1 and at −1.

    Parameters
    ----------
    delta : float or sequence of float, optional
        k.  By default all whole numbers from −m to m, m being the largest distance on
        the map in the max-norm, rounded up (on any of several maps).
    normalize : bool
        Divide by the number of units K, as in the article; by default the counts.

    Notes
    -----
    0 everywhere for a map that keeps all neighbourhoods both ways.  Units that no path
    of connected units joins are infinitely far apart.  On maps made from edges or
    distances their own δ takes the place of the max-norm.
    """
    forward, backward = _spans(units, grid, delta)
    sizes = np.maximum(np.abs(delta), delta == 0)  # 1 in place of 0
    folds = 2.0 * (len(forward) - np.searchsorted(forward, sizes, side="right"))
    gaps = 2.0 * (len(backward) - np.searchsorted(backward, sizes, side="right"))
    counts = np.where(delta >= 0, folds, 0) + np.where(delta <= 0, gaps, 0)
    return counts / grid.size if normalize else counts


def _spans(units: UnitStats, grid: Grid, delta: Float) -> tuple[Float, Float]:
    """Sorted distances of connected units on the map, and of neighbours among the connected."""
    first, second = connected_pairs(units)
    forward = np.sort(_with_max_norm(grid).distance(first, second))
    if (delta > 0).all():
        return forward, np.empty(0)
    pairs, neighbors = np.stack([first, second], axis=1), grid.edges("edge")
    near = np.isin(_keys(neighbors, grid.size), _keys(pairs, grid.size))
    steps = np.ones(len(neighbors))
    apart = neighbors[~near].T
    steps[~near] = path_lengths(grid.size, pairs, np.ones(len(pairs)), apart[0], apart[1])
    return forward, np.sort(np.where(np.isnan(steps), np.inf, steps))


def _keys(pairs: Int, size: int) -> Int:
    """One number for each pair of units."""
    return pairs[:, 0] * size + pairs[:, 1]


def _with_max_norm(grid: Grid) -> Grid:
    """The same map, its distances in the max-norm where it is a lattice."""
    if grid.topology not in _LATTICES:
        return grid
    return Grid.from_spec({**grid.to_spec(), "delta": "max"})

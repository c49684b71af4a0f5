"""What the topographic functions share: which units are connected, and at which distances."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["connected_pairs", "whole_deltas"]

SEARCHED_SIZE: Final = 2_048  # units of a graph that is searched for its largest distance


def connected_pairs(units: UnitStats) -> tuple[Int, Int]:
    """Units that are the two best of some sample, each pair once, (P,) and (P,), i < j."""
    shared = units.pair_mass > 0
    first, second = units.first[shared], units.second[shared]
    low, high = np.minimum(first, second), np.maximum(first, second)
    low, high = np.divmod(np.unique(low * units.n_units + high), units.n_units)
    return low, high


def whole_deltas(grid: Grid) -> Float:
    """Distances on the map at which functions of them are given: 0, 1, 2, … to the largest.

    On a map made from distances, only those numbers that round up one of them.  The
    largest distance on a large graph is not known without a search from every unit:
    there the numbers go on to twice the largest from unit 0, which no distance exceeds.
    """
    if grid.topology == "table":
        return np.union1d(0.0, np.ceil(grid.distances()))
    if grid.topology == "graph" and grid.size > SEARCHED_SIZE:
        largest = 2 * float(grid.distance(0, np.arange(grid.size)).max())
    else:
        largest = grid.max_distance
    return np.arange(math.ceil(largest) + 1.0)

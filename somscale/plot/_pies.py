"""Pies of shares, all of a map as polygons of one number of corners."""

from __future__ import annotations

from typing import Final

import numpy as np

from somscale._types import Float, Int
from somscale.plot._canvas import polygons_of
from somscale.topology import Grid

__all__ = ["pies"]

_ARC: Final = 24  # corners along the arc of a slice
_RADIUS: Final = 0.88  # in radii of the circle inside a cell


def pies(grid: Grid, counts: Float) -> tuple[Float, Int]:
    """Slices for what each unit has of each class, and the classes.

    Parameters
    ----------
    grid : Grid
        The map.
    counts : (K, C) float64
        At least 0; only their shares of a unit's sum matter.

    Returns
    -------
    (S, 25, 2) float64
        Corners of the slices: clockwise from the top, after the centre.
    (S,) int64
        The class of each.
    """
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    ends = np.cumsum(shares, axis=1)
    unit, which = np.nonzero(shares)
    stop, start = ends[unit, which], ends[unit, which] - shares[unit, which]
    turns = start[:, None] + (stop - start)[:, None] * np.linspace(0, 1, _ARC)
    angles = np.pi / 2 - 2 * np.pi * turns
    cells = polygons_of(grid)
    centers = cells.mean(axis=1)
    sides = (cells[0] + np.roll(cells[0], -1, axis=0)) / 2
    radius = _RADIUS * np.hypot(*(sides - centers[0]).T).min()
    arcs = centers[unit][:, None] + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.concatenate([centers[unit][:, None], arcs], axis=1), which

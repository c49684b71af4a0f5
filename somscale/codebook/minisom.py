"""Maps trained with MiniSom."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook.dataset import codebook
from somscale.errors import InputError
from somscale.topology import Grid, Offset

__all__ = ["from_minisom"]


def from_minisom(trained: Any) -> xr.Dataset:
    """Make a codebook of a trained MiniSom.

    Parameters
    ----------
    trained : minisom.MiniSom
        Its weights are (x, y, feature).

    Returns
    -------
    Dataset
        See :func:`somscale.codebook`.  On a rectangular map row is MiniSom's x and
        col its y.  On a hexagonal one row is y and col is x, since MiniSom shifts
        every other y; which ones depends on how many there are, and the grid's
        ``offset`` follows it.

    Raises
    ------
    InputError
        The object has no MiniSom weights, or its topology is unknown.

    Notes
    -----
    MiniSom's own topographic error counts the 8 surrounding units of a rectangular
    map as neighbours, ``neighborhood="vertex"`` here, and the six of a hexagonal one.
    """
    try:
        weights = np.asarray(trained.get_weights())
        x, _ = trained.get_euclidean_coordinates()
        topology = trained.topology
    except AttributeError as missing:
        raise InputError(f"this {type(trained).__name__} is no MiniSom: {missing}") from None
    if topology == "rectangular":
        return codebook(weights, Grid(*weights.shape[:2]))
    if topology != "hexagonal":
        raise InputError(f"MiniSom's topology {topology!r} is neither rectangular nor hexagonal")
    cols, rows = weights.shape[:2]
    # MiniSom moves every other row half a cell to the left, counted from the last
    offset: Offset = "odd" if rows == 1 or x[0, 0] < x[0, 1] else "even"
    grid = Grid(rows, cols, topology="hexagonal", offset=offset)
    return codebook(weights.transpose(1, 0, 2), grid)

"""The door for maps: whatever the user holds becomes a map that the engine can use."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from somscale.codebook.dataset import GRID_ARRAYS, TrainedMap, read_weights
from somscale.codebook.minisom import from_minisom
from somscale.engine.readers.alignment import coords_along
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["as_map"]


def as_map(som: Any) -> TrainedMap:
    """Read a map: a Dataset made by :func:`somscale.codebook`, or a trained MiniSom.

    Raises
    ------
    InputError
        It is something else, or its grid does not fit its codes.
    """
    if isinstance(som, TrainedMap):
        return som
    if type(som).__module__.split(".")[0] == "minisom":
        som = from_minisom(som)
    if not isinstance(som, xr.Dataset) or "codes" not in som or "grid" not in som.attrs:
        raise InputError(
            f"the map is a {type(som).__name__}, not a codebook; make one with "
            "ss.codebook(weights, grid), ss.train or ss.from_minisom"
        )
    codes = som["codes"]
    if codes.ndim != 2 or codes.dims[0] != "unit":
        raise InputError(f"the map's codes have dims {codes.dims}, not (unit, feature)")
    spec = json.loads(som.attrs["grid"])
    for name in GRID_ARRAYS:
        if f"grid_{name}" in som:
            spec[name] = som[f"grid_{name}"].values
    grid = Grid.from_spec(spec)
    feature_dim = str(codes.dims[1])
    values = read_weights(codes, grid)[0]
    return TrainedMap(values, grid, coords_along(codes, feature_dim), feature_dim)

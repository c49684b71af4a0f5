"""The door for maps: whatever the user holds becomes a map that the engine can use."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.codebook.dataset import TrainedMap, grid_of, read_weights
from somscale.codebook.formats import from_somoclu, read_codebook
from somscale.codebook.minisom import from_minisom
from somscale.codebook.weighting import trained_weights
from somscale.errors import InputError

__all__ = ["as_codebook", "as_map", "is_map"]

_TOOLS: Final[dict[str, Callable[[Any], xr.Dataset]]] = {
    "minisom": from_minisom,
    "somoclu": from_somoclu,
}
"""Packages whose trained objects are maps."""


def is_map(candidate: Any) -> bool:
    """Whether something is a Dataset, or a trained map of a package that is known."""
    return isinstance(candidate, xr.Dataset) or _package(candidate) in _TOOLS


def as_codebook(som: Any) -> Any:
    """A map as a Dataset: read from its path, or made of another tool's; or what it is else.

    Raises
    ------
    InputError
        The file or the object holds no map.
    """
    if isinstance(som, str | os.PathLike):
        return read_codebook(som)
    make = _TOOLS.get(_package(som))
    return som if make is None else make(som)


def _package(candidate: Any) -> str:
    return type(candidate).__module__.split(".")[0]


def as_map(som: Any) -> TrainedMap:
    """Read a map: a codebook, its path, or a trained MiniSom or Somoclu.

    Raises
    ------
    InputError
        It is something else, or its grid does not fit its codes.
    """
    if isinstance(som, TrainedMap):
        return som
    som = as_codebook(som)
    if not isinstance(som, xr.Dataset) or "codes" not in som or "grid" not in som.attrs:
        raise InputError(
            f"the map is a {type(som).__name__}, not a codebook; make one with "
            "ss.codebook(weights, grid), ss.train, ss.read_codebook or ss.from_minisom"
        )
    codes = som["codes"]
    if codes.ndim < 2 or "unit" not in codes.dims:
        raise InputError(f"the map's codes have dims {codes.dims}, not (unit, feature)")
    codes = _in_unit_order(codes)
    grid = grid_of(som)
    values, features, _ = read_weights(codes, grid)
    return TrainedMap(values, grid, features, weighting=trained_weights(som.attrs))


def _in_unit_order(codes: xr.DataArray) -> xr.DataArray:
    """Codes by ascending unit, whatever was sorted or selected since."""
    if "unit" not in codes.coords:
        return codes
    units = codes["unit"].values
    if sorted(units.tolist()) != list(range(len(units))):
        raise InputError(
            f"the map's units are {units.tolist()[:5]}…, not all of 0 to {len(units) - 1}; "
            "a part of a map is no map, make one with ss.codebook(weights, grid)"
        )
    return codes.isel(unit=np.argsort(units))

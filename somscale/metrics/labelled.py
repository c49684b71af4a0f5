"""Finished values as labelled DataArrays: dims, coordinates and attributes of every index."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook import TrainedMap
from somscale.metrics.compute import Answer, Problem, Request

__all__ = ["RESERVED_NAMES", "coordinates", "labelled"]

RESERVED_NAMES = frozenset(
    {"candidate", "metric", "value", "note", "n_units", "unit", "row", "col", "part", "pair"}
    | {"temperature", "direction", "lower", "upper", "long_name", "metric_units", "source"}
)
"""Names of a result's own dimensions, coordinates and variables."""

_PARTS = ["within", "bias", "neighborhood"]
_PAIRS = ["a", "b", "c", "d"]
_LONG_NAMES = {
    "temperature": "neighbourhood temperature T, in units of map distance",
    "part": "part of the distortion",
    "pair": "a: same class and cluster, b: same cluster only, c: same class only, d: neither",
}


def labelled(problem: Problem, candidate: str, request: Request, answer: Answer) -> xr.DataArray:
    """One index of one candidate as a DataArray."""
    spec = request.spec
    data_units = None if problem.samples is None else problem.samples.units
    dims = tuple(_dim(problem, dim) for dim in spec.dims)
    array = xr.DataArray(answer.value, dims=dims, name=request.label)
    array = array.assign_coords(coordinates(problem, candidate, request))
    array.attrs = spec.attributes(data_units)
    for name, value in request.parameters.items():
        if name != spec.parameter and value is not None:
            array.attrs[name] = value
    if isinstance(answer.note, str) and answer.note:
        array.attrs["note"] = answer.note
    return array


def _dim(problem: Problem, dim: str) -> str:
    """The user's own name of a dimension."""
    if dim == "sample" and problem.samples is not None:
        return problem.samples.sample_dim
    return dim


def coordinates(problem: Problem, candidate: str, request: Request) -> dict[str, Any]:
    """Coordinates of a value's dimensions."""
    chosen, dims = problem.candidates[candidate], request.spec.dims
    coords: dict[str, Any] = {}
    if "unit" in dims and isinstance(chosen, TrainedMap):
        grid = chosen.grid
        facts = {
            "unit": (np.arange(grid.size), "unit of the map"),
            "row": (grid.row, "row of the map"),
            "col": (grid.col, "column of the map"),
        }
        for name, (values, text) in facts.items():
            coords[name] = ("unit", values, {"long_name": text, "units": "1"})
    if "sample" in dims and problem.samples is not None:
        coords.update(problem.samples.sample_coords)
    fixed = {"part": _PARTS, "pair": _PAIRS}
    parameter = request.spec.parameter
    if parameter is not None:
        fixed[parameter] = request.parameters[parameter]
    for name, values in fixed.items():
        if name in dims:
            values = np.asarray(values, dtype=None if name == parameter else object)
            coords[name] = (name, values, {"long_name": _LONG_NAMES.get(name, name), "units": "1"})
    return coords

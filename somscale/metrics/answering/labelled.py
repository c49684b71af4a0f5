"""Finished values as labelled DataArrays: dims, coordinates and attributes of every index."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook.project import flag_attributes
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.columns import Column
from somscale.metrics.answering.estimates import ERRORS
from somscale.metrics.asking.diagram_bins import ends_facts
from somscale.metrics.asking.question import Answer, Problem, Request
from somscale.metrics.asking.unit_columns import grid_of, grid_text

__all__ = ["REGIONS", "coordinates", "errors_of_estimate", "labelled", "long_name_of", "plain"]

_PARTS = ["within", "bias", "neighborhood"]
_PAIRS = ["a", "b", "c", "d"]
REGIONS = ["mild_intrusion", "hard_intrusion", "mild_extrusion", "hard_extrusion"]
_LONG_NAMES = {
    "k": "neighbours K, the largest rank that counts as near",
    "kappa_s": "largest rank kappa_s that counts as near, in either space",
    "kappa_t": "largest difference of ranks kappa_t that is tolerated",
    "region": "how pairs move across and within the nearest K",
    "rank_in": "rank of a neighbour among the samples",
    "rank_out": "rank of a neighbour in the projection",
    "temperature": "neighbourhood temperature T, in units of map distance",
    "delta": "distance on the map",
    "class": "class of the samples",
    "cluster": "cluster of the samples",
    "other_cluster": "another cluster of the samples",
    "part": "part of the distortion",
    "pair": "a: same class and cluster, b: same cluster only, c: same class only, d: neither",
}


def labelled(problem: Problem, candidate: str, request: Request, answer: Answer) -> xr.DataArray:
    """One index of one candidate as a DataArray."""
    spec = request.spec
    data_units = None if problem.samples is None else problem.samples.units
    dims = tuple(name for dim in spec.dims for name in _dims(problem, dim))
    array = xr.DataArray(_shaped(problem, spec.dims, answer.value), dims=dims, name=request.label)
    array = array.assign_coords(coordinates(problem, candidate, request))
    if answer.coords:
        facts = ends_facts(request.parameters, data_units, problem.kind)
        ends = {name: (*own, facts[name]) for name, own in answer.coords.items()}
        array = array.assign_coords(ends)
    array.attrs = dict(spec.attributes(data_units))
    grid = grid_of(problem.candidates[candidate])
    if spec.sample_field in ("bmu", "second_bmu") and grid is not None:
        array.attrs.update(flag_attributes(grid.size))
    if "unit" in spec.dims and grid is not None:
        array.attrs["grid"] = grid_text(grid)
    for name, value in request.parameters.items():
        if name == "p" and request.parameters.get("distance") != "minkowski":
            continue
        if name not in spec.parameters_as_dims and value is not None:
            array.attrs[name] = plain(value)
    # of a lazy answer only what is said before it is found is known
    note = answer.note if isinstance(answer.note, str) else "; ".join(request.notes)
    if note:
        array.attrs["note"] = note
    if answer.errors and problem.sampling is not None:
        array.attrs["sample_anchors"], array.attrs["seed"] = problem.sampling
    return array


def errors_of_estimate(array: xr.DataArray, answer: Answer) -> dict[str, xr.DataArray]:
    """The standard error of an estimate and the ends of its interval, on its own dims."""
    found = {}
    for name, values in answer.errors.items():
        facts = {"long_name": f"{ERRORS[name]}: {array.name}", "units": array.attrs["units"]}
        found[name] = array.copy(data=values).rename(name)
        found[name].attrs = facts
    return found


def long_name_of(dim: str) -> str:
    """A dimension in words."""
    return _LONG_NAMES.get(dim, dim)


def plain(value: Any) -> Any:
    """A parameter as files can hold it."""
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, list | tuple | xr.DataArray):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUST":
        return value.tolist()
    # attributes of netCDF hold no booleans
    return int(value) if isinstance(value, bool | np.bool_) else value


def _dims(problem: Problem, dim: str) -> tuple[str, ...]:
    """The user's own names of a dimension."""
    axes = _axes(problem, dim)
    return (dim,) if axes is None else axes.dims


def _axes(problem: Problem, dim: str) -> Axes | None:
    if problem.samples is None:
        return None
    return {"sample": problem.samples.rows, "feature": problem.samples.features}.get(dim)


def _shaped(problem: Problem, dims: tuple[str, ...], value: Any) -> Any:
    """A value on the user's own dims."""
    shape: list[int] = []
    for dim, size in zip(dims, value.shape, strict=True):
        axes = _axes(problem, dim)
        shape += [size] if axes is None else axes.shape
    return value if tuple(shape) == value.shape else value.reshape(shape)


def coordinates(problem: Problem, candidate: str, request: Request) -> dict[str, Any]:
    """Coordinates of a value's dimensions."""
    grid, dims = grid_of(problem.candidates[candidate]), request.spec.dims
    coords: dict[str, Any] = {}
    if "unit" in dims and grid is not None:
        facts = {
            "unit": (np.arange(grid.size), "unit of the map"),
            "row": (grid.row, "row of the map"),
            "col": (grid.col, "column of the map"),
        }
        for name, (values, text) in facts.items():
            coords[name] = ("unit", values, {"long_name": text, "units": "1"})
    for dim in dims:
        axes = _axes(problem, dim)
        if axes is not None:
            coords.update(axes.coords)
    fixed: dict[str, Any] = {"part": _PARTS, "pair": _PAIRS, "region": REGIONS}
    if "class" in dims and problem.labels is not None:
        fixed["class"] = problem.labels.labels_of(np.arange(problem.labels.n_categories))
    clusters = problem.candidates[candidate]
    if isinstance(clusters, Column):
        names = clusters.labels_of(np.arange(clusters.n_categories))
        fixed.update(cluster=names, other_cluster=names)
    fixed.update({name: request.parameters[name] for name in request.spec.parameters_as_dims})
    if "k_max" in request.parameters:
        ranks = np.arange(1, request.parameters["k_max"] + 1)
        fixed.update(rank_in=ranks, rank_out=ranks)
    for name, values in fixed.items():
        if name in dims:
            values = np.asarray(values)
            values = values.astype(object) if values.dtype.kind == "U" else values
            remarks = {"long_name": long_name_of(name), "units": "1"}
            if values.dtype.kind in "mM":
                del remarks["units"]  # a file has those of its times there
            coords[name] = (name, values, remarks)
    return coords

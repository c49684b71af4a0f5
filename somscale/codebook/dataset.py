"""A trained map as an xarray Dataset that round-trips through Zarr and NetCDF."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale._version import __version__
from somscale.engine.readers.axes import Axes
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["CODEBOOK_NAMES", "GRID_ARRAYS", "TrainedMap", "codebook", "grid_of"]
__all__ += ["read_weights", "stored_grid"]

CODEBOOK_NAMES = frozenset({"codes", "unit", "row", "col", "edge", "end", "other_unit", "axis"})
"""Names of a codebook's own variables, dims and coordinates."""

GRID_ARRAYS = {
    "edges": ("edge", "end"),
    "distances": ("unit", "other_unit"),
    "positions": ("unit", "axis"),
}


def codebook(weights: Any, grid: Grid) -> xr.Dataset:
    """Make a map of code vectors and the grid they lie on.

    Parameters
    ----------
    weights : array_like or DataArray
        Code vectors: (unit, feature, …) or (row, col, feature, …), on the dims and in the
        order of the samples' features; of real numbers.  A DataArray keeps its dims,
        coordinates and units; its dims ``unit``, or ``row`` and ``col``, come first.  A
        feature that takes no part (a point of land among those of sea) is nan in all units.
    grid : Grid
        The arrangement of the units.

    Returns
    -------
    Dataset
        ``codes(unit, …)`` float64, with coordinates ``row(unit)`` and ``col(unit)``; the
        grid is in the attributes and, for grids made from edges or distances, in
        variables named ``grid_…``.

    Raises
    ------
    InputError
        The number of code vectors is not the grid's number of units, or a code is
        infinite, or nan in some units only.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> som = ss.codebook(np.zeros((2, 3, 4)), ss.Grid(2, 3))
    >>> dict(som.sizes)
    {'unit': 6, 'feature': 4}
    """
    if not isinstance(grid, Grid):
        raise InputError(f"the grid is a {type(grid).__name__}, not a Grid; make one with ss.Grid")
    values, features, attributes = read_weights(weights, grid)
    features.refuse_names(CODEBOOK_NAMES, "weights")
    codes = xr.DataArray(
        features.along(values, 1),
        dims=("unit", *features.dims),
        name="codes",
        attrs={"long_name": "code vectors", "units": "data units", **attributes},
        coords={
            "unit": ("unit", np.arange(grid.size), {"long_name": "unit of the map", "units": "1"}),
            **_places(grid),
            **features.coords,
        },
    )
    result = codes.to_dataset()
    spec = grid.to_spec()
    for name, dims in GRID_ARRAYS.items():
        if name in spec:
            facts = {"long_name": f"{name} of the map's grid", "units": "1"}
            result[f"grid_{name}"] = (dims, spec.pop(name), facts)
    result.attrs = {
        "title": "self-organizing map",
        "somscale_kind": "codebook",
        "somscale_version": __version__,
        "grid": json.dumps(spec, sort_keys=True),
    }
    return result


def _places(grid: Grid) -> dict[str, Any]:
    facts = {"row": "row of the map", "col": "column of the map"}
    places = {"row": grid.row, "col": grid.col}
    return {n: ("unit", places[n], {"long_name": facts[n], "units": "1"}) for n in places}


def stored_grid(text: Any, arrays: Mapping[str, Any]) -> Grid:
    """The grid that a codebook's attribute, and the arrays beside it, describe.

    Raises
    ------
    InputError
        They describe none.
    """
    try:
        spec = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise InputError(
            "the map's 'grid' is no JSON of one; give grid= where it is read, or make the map anew"
        )
    return Grid.from_spec({**spec, **arrays})


def grid_of(som: xr.Dataset) -> Grid:
    """The grid of a codebook.

    Raises
    ------
    InputError
        It has none that makes sense.
    """
    arrays = {n: som[f"grid_{n}"].values for n in GRID_ARRAYS if f"grid_{n}" in som}
    return stored_grid(som.attrs["grid"], arrays)


def read_weights(weights: Any, grid: Grid) -> tuple[NDArray[np.float64], Axes, dict[str, Any]]:
    """Checked code vectors (K, D), their features' dims and their attributes."""
    attributes: dict[str, Any] = {}
    axes = None
    if isinstance(weights, xr.DataArray):
        weights = _units_first(weights)
        lead = 2 if weights.dims[:2] == ("row", "col") else 1
        lead = 2 if weights.shape[:2] == grid.shape and len(weights) != grid.size else lead
        axes = Axes.of(weights, [str(dim) for dim in weights.dims[lead:]])
        attributes = {k: v for k, v in weights.attrs.items() if k in ("long_name", "units")}
        weights = weights.values
    values = np.asarray(weights)
    if values.dtype.kind not in "biuf":
        raise InputError(f"the weights are of type {values.dtype}, not real numbers")
    if values.ndim >= 3 and values.shape[:2] == grid.shape and len(values) != grid.size:
        values = values.reshape(grid.size, *values.shape[2:])
    if values.ndim < 2 or len(values) != grid.size:
        shape = f"({grid.rows}, {grid.cols}, feature)" if grid.rows > 1 else "(unit, feature)"
        raise InputError(
            f"the weights have shape {values.shape}; a grid of {grid.size} units needs "
            f"({grid.size}, feature) or {shape}"
        )
    if not values.size:
        raise InputError(f"the weights have shape {values.shape}: there is no code vector")
    if axes is None or axes.shape != values.shape[1:]:
        axes = Axes(("feature",), (int(np.prod(values.shape[1:])),))
    flat = values.reshape(grid.size, -1).astype(np.float64)
    _check_values(flat, axes)
    return flat, axes, attributes


def _units_first(weights: xr.DataArray) -> xr.DataArray:
    """Weights with the dims of the map, where they are named, before all others."""
    for lead in (("unit",), ("row", "col")):
        if set(lead) <= set(weights.dims):
            return weights.transpose(*lead, ...)
    return weights


def _check_values(values: NDArray[np.float64], features: Axes) -> None:
    finite = np.isfinite(values)
    if finite.all():
        return
    masked = np.isnan(values).all(axis=0)
    wrong = ~finite & ~masked
    if wrong.any():
        unit, feature = np.argwhere(wrong)[0]
        raise InputError(
            f"the weights hold {values[unit, feature]} at unit {unit}, "
            f"{features.names().describe(int(feature))}; every code must be finite, or nan in all "
            "units where the feature takes no part"
        )
    if masked.all():
        raise InputError("the weights are nan everywhere")


@dataclass(frozen=True)
class TrainedMap:
    """A map as the engine needs it.

    Attributes
    ----------
    codes : (K, D) float64
        Code vectors.
    grid : Grid
        Arrangement of the units.
    features : Axes
        Dims and coordinates of the features.
    known_as : str
        Fingerprint of the map whose features were put in another order.
    weighting : mapping or None
        What the map says of the feature weights it was trained with.
    """

    codes: NDArray[np.float64]
    grid: Grid
    features: Axes
    known_as: str = ""
    weighting: Mapping[str, Any] | None = None

    @property
    def fingerprint(self) -> str:
        """A short text that tells this map from every other, in any order of its features."""
        if self.known_as:
            return self.known_as
        digest = hashlib.sha256(self.codes.tobytes())
        for name, value in sorted(self.grid.to_spec().items()):
            data = value.tobytes() if isinstance(value, np.ndarray) else str(value).encode()
            digest.update(name.encode() + b"=" + data)
        return digest.hexdigest()[:16]

"""Composites or code vectors of units as small fields, on the user's own two feature dims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from somscale.codebook import TrainedMap
from somscale.reporting.blocks import number
from somscale.reporting.result import Result
from somscale.topology import Grid

__all__ = ["MOST_FEATURES", "MOST_FIELDS", "UnitFields", "codes_of", "thinned", "unit_fields_of"]

MOST_FIELDS: Final = 12
MOST_FEATURES: Final = 4
"""Maps whose fields are drawn."""
_MOST_CELLS: Final = 180
_ACROSS: Final = ("lon", "longitude", "x", "east", "easting")
_UP: Final = ("lat", "latitude", "y", "north", "northing")


@dataclass(frozen=True)
class UnitFields:
    """Fields of up to twelve units.

    Attributes
    ----------
    values : DataArray, (unit, up, across)
        In memory.
    names : list of str
        What stands above each field.
    words : str
        What they are, with units.
    which : str
        Which units they are of.
    """

    values: xr.DataArray
    names: list[str]
    words: str
    which: str

    @property
    def told(self) -> str:
        """From which value to which, for those who do not see them."""
        finite = self.values.values[np.isfinite(self.values.values)]
        if not finite.size:
            return "no values"
        return f"from {number(float(finite.min()))} to {number(float(finite.max()))}"

    def draw(self, figure: Figure) -> None:
        """Draw them with one colour bar."""
        count = self.values.sizes["unit"]
        columns = min(4, count)
        axes: Any = figure.subplots(
            -(-count // columns), columns, squeeze=False, sharex=True, sharey=True
        )
        norm, colours = _scale(self.values.values)
        _, up, across = self.values.dims
        x, y = _centres(self.values, str(across)), _centres(self.values, str(up))
        for place, ax in enumerate(axes.flat):
            if place >= count:
                ax.set_axis_off()
                continue
            mesh = self.values.values[place]
            ax.pcolormesh(x, y, mesh, shading="nearest", cmap=colours, norm=norm, rasterized=True)
            ax.set_title(self.names[place], fontsize="medium")
            ax.tick_params(labelsize="small")
        for ax in axes[-1]:
            ax.set_xlabel(str(across))
        for ax in axes[:, 0]:
            ax.set_ylabel(str(up))
        figure.colorbar(ScalarMappable(norm, colours), ax=axes, label=self.words)


def codes_of(som: TrainedMap) -> xr.DataArray:
    """Code vectors of a map on the dims of its features."""
    features = som.features
    values = som.codes.reshape(-1, *features.shape)
    dims = ("unit", *features.dims)
    facts = {"long_name": "code vectors"}
    if len(dims) != values.ndim:
        return xr.DataArray(som.codes, dims=("unit", "feature"), attrs=facts)
    return xr.DataArray(values, dims=dims, coords=features.coords, attrs=facts)


def thinned(array: xr.DataArray, most: int) -> xr.DataArray:
    """What is drawn of large fields, as lazy as they are: fewer cells, maps, and perhaps units.

    Parameters
    ----------
    array : DataArray, (candidate, unit, …)
        Composites or code vectors.
    most : int
        Bytes beyond which units are left out, all but twelve that are spread evenly.
    """
    dims = [dim for dim in array.dims if dim not in ("candidate", "unit")]
    array = array.isel({d: slice(None, None, -(-array.sizes[d] // _MOST_CELLS)) for d in dims})
    if "candidate" in array.dims:
        array = array.isel(candidate=slice(MOST_FEATURES))
    if array.nbytes <= most or array.sizes["unit"] <= MOST_FIELDS:
        return array
    spread = _spread(array.sizes["unit"])
    return array.isel(unit=spread).assign_coords(unit=spread)


def unit_fields_of(
    result: Result, array: xr.DataArray, candidate: int, grid: Grid | None
) -> UnitFields | None:
    """Fields of the units that stand for the most samples; None where features are no field."""
    dims = array.dims[1:]
    if len(dims) != 2 or array.dims[0] != "unit" or min(array.sizes[d] for d in dims) < 2:
        return None
    count = _units(result, array, candidate)
    if array.sizes["unit"] < result.q.sizes.get("unit", 0):
        chosen = array["unit"].values[array["unit"].values < count]
        which, places = f"{len(chosen)} of {count:,} units", np.arange(len(chosen))
    else:
        chosen, which = _chosen(result, candidate, count)
        places = chosen
    thin = {d: slice(None, None, -(-array.sizes[d] // _MOST_CELLS)) for d in dims}
    own = array.isel({"unit": places, **thin}).compute()
    if str(dims[0]).lower() in _ACROSS and str(dims[1]).lower() in _UP:
        dims = dims[::-1]
    own = own.transpose("unit", *dims)
    words = str(array.attrs.get("long_name", array.name))
    units = str(array.attrs.get("units", "1"))
    words = f"{words[:1].upper()}{words[1:]}"
    words = words if units in ("", "1") else f"{words} [{units}]"
    return UnitFields(own, [_name(grid, unit) for unit in chosen.tolist()], words, which)


def _units(result: Result, array: xr.DataArray, candidate: int) -> int:
    """How many units the map has; maps of other sizes are padded."""
    if "n_units" in result.q:
        return int(result.q["n_units"].values[candidate])
    return array.sizes["unit"]


def _name(grid: Grid | None, unit: int) -> str:
    if grid is None:
        return f"Unit {unit}"
    return f"Unit {unit} ({grid.row[unit]}, {grid.col[unit]})"


def _chosen(result: Result, candidate: int, units: int) -> tuple[NDArray[np.int64], str]:
    """Up to twelve units: those with the most samples, or spread evenly."""
    if units <= MOST_FIELDS:
        return np.arange(units), "all units"
    hits = next(iter(result.named("hits", "frequency")), None)
    if hits is None or result.own_dims(hits) != ("unit",):
        return _spread(units), f"{MOST_FIELDS} of {units:,} units"
    values = np.nan_to_num(result.of(result.q[hits], candidate).values[:units].astype(float))
    most = np.sort(np.argsort(-values, kind="stable")[:MOST_FIELDS])
    return most, f"the {MOST_FIELDS} of {units:,} units with the most samples"


def _spread(units: int) -> NDArray[np.int64]:
    """Twelve units, evenly from the first to the last."""
    return np.linspace(0, units - 1, MOST_FIELDS).round().astype(np.int64)


def _scale(values: NDArray[Any]) -> tuple[Normalize, Any]:
    """Colours from the least to the greatest value, or the same way about 0."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    signed = low < 0 < high
    if signed:
        high = max(-low, high)
        low = -high
    colours = mpl.colormaps["RdBu_r" if signed else "viridis"].with_extremes(bad="#d9d9d9")
    return Normalize(low, high), colours


def _centres(values: xr.DataArray, dim: str) -> NDArray[np.float64]:
    """Coordinates of the cells where they are numbers that rise or fall, else their places."""
    places = np.arange(values.sizes[dim], dtype=np.float64)
    if dim not in values.coords or values[dim].dtype.kind not in "iuf":
        return places
    found = values[dim].values.astype(np.float64)
    steps = np.diff(found)
    return found if (steps > 0).all() or (steps < 0).all() else places

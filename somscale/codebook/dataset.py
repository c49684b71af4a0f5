"""A trained map as an xarray Dataset that round-trips through Zarr and NetCDF."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale._version import __version__
from somscale.engine.readers.alignment import coords_along, order_to_match
from somscale.engine.readers.samples import Samples, refuse_names
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["CODEBOOK_NAMES", "GRID_ARRAYS", "TrainedMap", "codebook", "read_weights"]

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
        Code vectors, (unit, feature), or (row, col, feature) on a grid of rows and
        columns; of real, finite numbers.  A DataArray keeps its coordinates of the
        features and its units.
    grid : Grid
        The arrangement of the units.

    Returns
    -------
    Dataset
        ``codes(unit, feature)`` float64, with coordinates ``row(unit)`` and
        ``col(unit)``; the grid is in the attributes and, for grids made from edges
        or distances, in variables named ``grid_…``.

    Raises
    ------
    InputError
        The number of code vectors is not the grid's number of units, or a code is
        not finite.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> som = ss.codebook(np.zeros((2, 3, 4)), ss.Grid(2, 3))
    >>> dict(som.sizes)
    {'unit': 6, 'feature': 4}
    """
    if not isinstance(grid, Grid):
        raise InputError(f"the grid is a {type(grid).__name__}, not a Grid; make one with ss.Grid")
    values, feature_dim, coords, attributes = read_weights(weights, grid)
    refuse_names([feature_dim, *coords], CODEBOOK_NAMES, "weights")
    codes = xr.DataArray(
        values,
        dims=("unit", feature_dim),
        name="codes",
        attrs={"long_name": "code vectors", "units": "data units", **attributes},
        coords={
            "unit": ("unit", np.arange(grid.size), {"long_name": "unit of the map", "units": "1"}),
            **_places(grid),
            **coords,
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


def read_weights(
    weights: Any, grid: Grid
) -> tuple[NDArray[np.float64], str, dict[str, Any], dict[str, Any]]:
    """Checked code vectors (K, D), their feature dim, its coordinates and their attributes."""
    feature_dim, coords, attributes = "feature", {}, {}
    if isinstance(weights, xr.DataArray):
        feature_dim = str(weights.dims[-1])
        coords = {
            name: (feature_dim, labels.values, labels.attrs)
            for name, labels in coords_along(weights, feature_dim).items()
        }
        attributes = {k: v for k, v in weights.attrs.items() if k in ("long_name", "units")}
        weights = weights.values
    values = np.asarray(weights)
    if values.dtype.kind not in "biuf":
        raise InputError(f"the weights are of type {values.dtype}, not real numbers")
    if values.ndim == 3 and values.shape[:2] == grid.shape:
        values = values.reshape(grid.size, -1)
    if values.ndim != 2 or len(values) != grid.size:
        shape = f"({grid.rows}, {grid.cols}, feature)" if grid.rows > 1 else "(unit, feature)"
        raise InputError(
            f"the weights have shape {values.shape}; a grid of {grid.size} units needs "
            f"({grid.size}, feature) or {shape}"
        )
    if not values.size:
        raise InputError(f"the weights have shape {values.shape}: there is no code vector")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        unit, feature = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"the weights hold {values[unit, feature]} at unit {unit}, {feature_dim} {feature}; "
            "every code must be finite"
        )
    return values, feature_dim, coords, attributes


@dataclass(frozen=True)
class TrainedMap:
    """A map as the engine needs it.

    Attributes
    ----------
    codes : (K, D) float64
        Code vectors.
    grid : Grid
        Arrangement of the units.
    feature_coords : mapping
        Coordinates along the features.
    feature_dim : str
        Name of the features' dim.
    known_as : str
        Fingerprint of the map whose features were put in another order.
    """

    codes: NDArray[np.float64]
    grid: Grid
    feature_coords: dict[str, xr.Variable]
    feature_dim: str = "feature"
    known_as: str = ""

    @property
    def fingerprint(self) -> str:
        """A short text that tells this map from every other, in any order of its features."""
        if self.known_as:
            return self.known_as
        digest = hashlib.sha256(np.ascontiguousarray(self.codes).tobytes())
        for name, value in sorted(self.grid.to_spec().items()):
            data = value.tobytes() if isinstance(value, np.ndarray) else str(value).encode()
            digest.update(name.encode() + b"=" + data)
        return digest.hexdigest()[:16]

    def matched_to(self, samples: Samples) -> TrainedMap:
        """The same map with its features in the samples' order.

        Raises
        ------
        InputError
            Another number of features, or other labels.
        """
        n_features = samples.shape[1]
        if self.codes.shape[1] != n_features:
            hint = ""
            if self.codes.shape[1] == samples.shape[0]:
                hint = "; the samples look transposed: pass samples.T"
            elif len(self.codes) == n_features:
                hint = "; the weights look transposed: they are (unit, feature)"
            raise InputError(
                f"the map has {self.codes.shape[1]} features and the samples have {n_features} "
                f"(dim {samples.feature_dim!r}){hint}"
            )
        dim = samples.feature_dim
        ours = {
            dim if name == self.feature_dim else name: labels
            for name, labels in self.feature_coords.items()
        }
        order = order_to_match(ours, samples.feature_coords, dim, "the map and the samples")
        if order is None:
            return self
        return TrainedMap(
            self.codes[:, order], self.grid, {}, self.feature_dim, known_as=self.fingerprint
        )

"""Small archives of the kinds that users hold, and what is to be computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import somscale as ss


def field(
    n: int = 60, n_lat: int = 4, n_lon: int = 5, *, seed: int = 0, dtype: Any = np.float32
) -> xr.DataArray:
    """A field (time, lat, lon) with CF's marks."""
    rng = np.random.default_rng(seed)
    values = 280 + 10 * rng.standard_normal((n, n_lat, n_lon))
    days = np.datetime64("2001-01-01", "ns") + np.arange(n) * np.timedelta64(1, "D")
    coords = {
        "time": days,
        "lat": ("lat", np.linspace(-60, 60, n_lat), {"units": "degrees_north"}),
        "lon": ("lon", np.arange(n_lon) * 10.0, {"units": "degrees_east"}),
    }
    attributes = {"units": "K", "long_name": "air temperature"}
    return xr.DataArray(
        values.astype(dtype),
        dims=("time", "lat", "lon"),
        coords=coords,
        name="t2m",
        attrs=attributes,
    )


def trained(array: xr.DataArray, grid: ss.Grid | None = None, **reading: Any) -> xr.Dataset:
    """A map of a field's days."""
    return ss.train(
        array, grid or ss.Grid(2, 3), epochs=2, seed=0, **{"sample_dims": "time", **reading}
    )


def flat(array: xr.DataArray, dims: tuple[str, ...] = ("time",)) -> NDArray[np.float64]:
    """Samples × features, by the plainest means."""
    moved = array.transpose(*dims, ...)
    size = int(np.prod([array.sizes[dim] for dim in dims]))
    return moved.to_numpy().reshape(size, -1).astype(np.float64)


def flat_codes(som: xr.Dataset) -> NDArray[np.float64]:
    """Code vectors (K, D)."""
    return som["codes"].to_numpy().reshape(som.sizes["unit"], -1)


def squared(samples: NDArray[Any], codes: NDArray[Any], weights: Any = 1.0) -> NDArray[np.float64]:
    """Squared distances (N, K)."""
    differences = samples[:, None, :] - codes[None]
    return np.asarray((weights * differences**2).sum(axis=2))

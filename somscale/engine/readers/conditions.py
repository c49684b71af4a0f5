"""What a pass is told of the samples besides their values: masks and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale._types import AnyArray, Bool, Float
from somscale.engine.readers.alignment import align
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.columns import SampleValues
from somscale.engine.readers.ordering import in_order
from somscale.errors import InputError

__all__ = ["feature_weights", "masks", "sample_weights"]

_LATITUDES = ("lat", "latitude", "nav_lat", "xlat", "rlat")
_NORTH = {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
_POLE = 90.0 + 1e-6


def masks(mask: Any, rows: Axes, features: Axes) -> tuple[Bool | None, Bool | None]:
    """Samples and features that take part: True, as for ``DataArray.where``.

    Parameters
    ----------
    mask : boolean array or DataArray, or a tuple of two
        Over the samples' dims or the features', or one of each.

    Returns
    -------
    (boolean on the samples' dims or None, (D,) boolean or None)
    """
    found: list[Bool | None] = [None, None]
    for one in mask if isinstance(mask, tuple) else (mask,):
        if one is None:
            continue
        side, values = _side_of(one, rows, features)
        if values.dtype.kind != "b":
            raise InputError(
                f"mask holds values of type {values.dtype}, not booleans (True takes part); "
                "compare them first, for example mask = da.notnull()"
            )
        if found[side] is not None:
            raise InputError("mask holds two masks of the same dims; combine them with &")
        if not values.any():
            raise InputError("mask is False everywhere, so that nothing takes part")
        found[side] = values
    samples, chosen = found
    return samples, None if chosen is None else np.ascontiguousarray(chosen).ravel()


def _side_of(mask: Any, rows: Axes, features: Axes) -> tuple[int, AnyArray]:
    """Whether a mask is of samples (0) or of features (1), and its values on their dims."""
    if isinstance(mask, xr.DataArray):
        dims = set(mask.dims)
        for side, axes in enumerate((rows, features)):
            if dims and dims <= set(axes.dims):
                aligned = align(mask, axes.coords, "mask and samples")
                return side, axes.spread(aligned, "mask")
        raise InputError(
            f"mask has dims {mask.dims}; it lies on dims of the samples {rows.dims} or on dims of "
            f"the features {features.dims}, and a pair (one, other) gives both"
        )
    values = _array(in_order(mask, rows, "mask"), "mask")
    fits = [
        side for side, axes in enumerate((rows, features))
        if values.shape in (axes.shape, (axes.size,))
    ]  # fmt: skip
    if len(fits) == 1:
        axes = (rows, features)[fits[0]]
        return fits[0], values.reshape(axes.shape)
    problem = "fits both" if fits else "fits neither"
    raise InputError(
        f"mask has shape {values.shape}, which {problem} the samples {rows.shape} "
        f"{'and' if fits else 'nor'} the features {features.shape}; give a DataArray on their dims"
    )


def _array(values: Any, what: str) -> AnyArray:
    """Values without names as an array."""
    if isinstance(values, xr.Dataset):
        raise InputError(f"{what} is a Dataset; choose a variable of it")
    try:
        return np.asarray(values)
    except ValueError:
        hint = "; a mask of samples and one of features are a pair, (one, other)"
        raise InputError(
            f"{what} is a {type(values).__name__} that is no array{hint if what == 'mask' else ''}"
        ) from None


def feature_weights(weights: Any, features: Axes) -> Float | None:
    """Weights of the squared differences, (D,) float64; None where there are none."""
    if weights is None:
        return None
    values = _weights(weights, features, "feature_weights")
    return np.ascontiguousarray(values, dtype=np.float64).ravel()


def sample_weights(weights: Any, rows: Axes) -> SampleValues | None:
    """Weights of the samples, on their dims; None where there are none."""
    return None if weights is None else SampleValues(_weights(weights, rows, "sample_weights"))


def _weights(weights: Any, axes: Axes, what: str) -> AnyArray:
    if isinstance(weights, str):
        if weights != "coslat":
            raise InputError(f"{what} is 'coslat' or an array, not {weights!r}")
        return axes.spread(_cosine_of_latitude(axes, what), what)
    if isinstance(weights, xr.DataArray):
        values = axes.spread(align(weights, axes.coords, f"{what} and samples"), what)
    else:
        values = _array(in_order(weights, axes, what), what)
        if values.shape not in (axes.shape, (axes.size,)):
            raise InputError(
                f"{what} has shape {values.shape}, and there are {axes.shape} ({axes.text})"
            )
        values = values.reshape(axes.shape)
    if values.dtype.kind not in "biuf":
        raise InputError(f"{what} holds values of type {values.dtype}, not real numbers")
    values = values.astype(np.float64) if values.dtype.kind != "f" else values
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        where = int(np.argmax(wrong.ravel()))
        raise InputError(
            f"{what} holds {values.ravel()[where]} at {axes.names().describe(where)}; weights are "
            "finite and not negative"
        )
    if not values.any():
        raise InputError(f"{what} is 0 everywhere")
    return values


def _cosine_of_latitude(axes: Axes, what: str) -> xr.DataArray:
    """Give cos φ, and 0 where rounding makes it negative at a pole."""
    name = _latitude(axes)
    if name is None:
        raise InputError(
            f"{what}='coslat' finds no latitude among the coordinates {sorted(axes.coords)} of "
            f"the dims {axes.dims}; give one the attribute units='degrees_north', or give the "
            "weights themselves"
        )
    latitude = xr.DataArray(axes.coords[name]).astype(np.float64)
    units = str(latitude.attrs.get("units", "degrees")).lower()
    if units in ("radian", "radians", "rad"):
        latitude = latitude.copy(data=np.rad2deg(latitude.values))
    elif not units.startswith("deg"):
        raise InputError(
            f"the latitude {name!r} is in {units!r}, neither degrees nor radians; convert it, or "
            "give the weights themselves"
        )
    beyond = np.abs(latitude.values[np.isfinite(latitude.values)]).max(initial=0.0)
    if not beyond <= _POLE:
        raise InputError(f"the latitude {name!r} reaches {beyond} degrees; no latitude exceeds 90")
    if not np.isfinite(latitude.values).all():
        raise InputError(f"the latitude {name!r} holds nan; {what} needs one at every point")
    cosine = np.cos(np.deg2rad(latitude.values)).clip(min=0.0)
    return latitude.copy(data=cosine)


def _latitude(axes: Axes) -> str | None:
    """The latitude: as CF marks it, else by name."""
    coords = {name: c for name, c in axes.coords.items() if c.dims and c.dtype.kind in "iuf"}
    for name, coord in coords.items():
        facts = {
            fact: str(coord.attrs.get(fact, "")).lower() for fact in ("units", "standard_name")
        }
        if facts["units"] in _NORTH or facts["standard_name"] == "latitude":
            return name
    for name, coord in coords.items():
        if coord.attrs.get("axis") == "Y" and name.lower() in _LATITUDES[:2]:
            return name
    return next((name for name in coords if name.lower() in _LATITUDES[:4]), None)

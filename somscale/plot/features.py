"""Features of a map: found by label or position, named, and read from samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.engine.readers.axes import Axes
from somscale.errors import InputError

__all__ = ["column_of", "feature_label", "feature_name", "places_of"]


def places_of(axes: Axes, features: Sequence[Any]) -> list[int]:
    """Return the positions of features along the flat axis.

    Raises
    ------
    InputError
        There is no such feature.
    """
    labels = _labels(axes)
    found = []
    for feature in features:
        if labels is not None and feature in labels:
            found.append(labels.index(feature))
        elif isinstance(feature, int | np.integer) and 0 <= feature < axes.size:
            found.append(int(feature))
        else:
            known = f"0 to {axes.size - 1}" if labels is None else ", ".join(map(str, labels[:8]))
            raise InputError(f"the map has no feature {feature!r}; it has {known}")
    return found


def feature_name(axes: Axes, feature: int) -> str:
    """Return a feature in words: its label, or its place on each dim."""
    labels = _labels(axes)
    if labels is not None:
        return str(labels[feature])
    if len(axes.dims) == 1:
        return f"{axes.dims[0]} {feature}"
    at = np.unravel_index(feature, axes.shape)
    return ", ".join(
        f"{dim} {_number(axes.coords[dim].values[i]) if dim in axes.coords else i}"
        for dim, i in zip(axes.dims, at, strict=True)
    )


def feature_label(axes: Axes, feature: int, units: str) -> str:
    """Return a feature with its units, for an axis."""
    name = feature_name(axes, feature)
    return name if units in ("", "1") else f"{name} [{units}]"


def column_of(samples: Any, axes: Axes, feature: int) -> Float:
    """Return one feature of all samples, (N,).

    Raises
    ------
    InputError
        The samples have other features.
    """
    if isinstance(samples, xr.DataArray) and set(axes.dims) <= set(samples.dims):
        at = dict(zip(axes.dims, np.unravel_index(feature, axes.shape), strict=True))
        shared = {d for d in axes.dims if d in axes.coords and d in samples.indexes}
        try:
            by_label = {d: axes.coords[d].values[at[d]] for d in shared}
            column = samples.sel(by_label).isel({d: at[d] for d in axes.dims if d not in shared})
        except (KeyError, IndexError):
            raise InputError(
                f"the samples have no feature {feature_name(axes, feature)}, which the map has"
            ) from None
        return np.asarray(column.values, dtype=float).reshape(-1)
    shape = np.shape(samples)
    if len(shape) != 2 or shape[1] != axes.size:
        raise InputError(f"samples of shape {shape} do not have the map's {axes.size} features")
    table = samples if hasattr(samples, "shape") else np.asarray(samples)
    return np.asarray(table[:, feature], dtype=float)


def _labels(axes: Axes) -> list[Any] | None:
    """Labels of the features, where they have one dim with a coordinate."""
    if len(axes.dims) != 1 or axes.dims[0] not in axes.coords:
        return None
    return list(np.asarray(axes.coords[axes.dims[0]].values).tolist())


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)

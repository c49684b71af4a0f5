"""One value a sample, of whatever kind, put in the samples' order and flattened."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.alignment import align, coords_along, order_to_match
from somscale.engine.readers.axes import Axes, flat_labels
from somscale.errors import InputError

__all__ = ["in_order"]


def in_order(values: Any, like: Axes | None, what: str) -> Any:
    """Values of samples in the order of the labels that they share with the samples.

    Parameters
    ----------
    values : array_like, DataArray or Series
        On the samples' dims, or some of them; one-dimensional ones of other names and
        values without names go by position.
    like : Axes, optional
        The samples' dims and coordinates.
    what : str
        Words for errors.

    Returns
    -------
    The same kind of values, one-dimensional where their dims are the samples'.
    """
    if like is None:
        return values
    if isinstance(values, xr.DataArray):
        return _labelled(values, like, f"{what} and samples")
    if type(values).__module__.startswith("pandas") and hasattr(values, "iloc"):
        return _series(values, like, f"{what} and samples")
    if not hasattr(values, "__dask_graph__") and not hasattr(values, "categories"):
        shape = getattr(values, "shape", None)
        if shape == like.shape and len(like.shape) > 1:
            return values.reshape(-1)
    return values


def _labelled(values: xr.DataArray, like: Axes, words: str) -> Any:
    if values.ndim == 1 and len(like.dims) == 1:
        dim = str(values.dims[0])
        theirs = {name: coord for name, coord in like.coords.items() if coord.dims}
        if values.sizes[dim] != like.size:
            return values  # refused by its length
        order = order_to_match(coords_along(values, dim), theirs, dim, words)
        return values if order is None else values[order]
    what = words.split(" and ")[0]
    if values.ndim == 1 and values.size == like.size:
        return values if (order := _flat_order(values, like, words)) is None else values[order]
    if set(map(str, values.dims)) <= set(like.dims):
        return like.spread(align(values, like.coords, words), what).ravel()
    if values.ndim > 1:
        raise InputError(
            f"{what} have dims {values.dims}, and the samples' are {like.dims}: one value for "
            "each sample is needed"
        )
    return values


def _flat_order(values: xr.DataArray, like: Axes, words: str) -> list[int] | None:
    """The order of stacked values, by the labels of the dims that they were stacked from."""
    dim = str(values.dims[0])
    own = {n: c for n, c in coords_along(values, dim).items() if n in like.coords}
    if not own or dim in like.dims:
        return None
    known = {n: xr.Variable(dim, v) for n, v in flat_labels(like).items() if n in own}
    return order_to_match(own, known, dim, words)


def _series(values: Any, like: Axes, words: str) -> Any:
    """A pandas Series, by the labels of its index where the samples have such labels."""
    index = values.index
    if len(values) != like.size:
        return values
    if index.nlevels > 1:
        if not set(index.names) <= set(like.coords):
            return values
        levels = {str(n): np.asarray(index.get_level_values(n)) for n in index.names}
        array = xr.DataArray(
            np.arange(len(values)),
            dims="position",
            coords={n: ("position", v) for n, v in levels.items()},
        )
        order = _flat_order(array, like, words)
        return values if order is None else values.iloc[order]
    dim = like.dims[0]
    if len(like.dims) != 1 or dim not in like.coords:
        return values
    theirs = like.coords[dim]
    dates = index.dtype.kind == theirs.dtype.kind == "M"
    if index.name != dim and not dates:
        return values
    own = {dim: xr.Variable(dim, np.asarray(index))}
    order = order_to_match(own, {dim: theirs}, dim, words)
    return values if order is None else values.iloc[order]

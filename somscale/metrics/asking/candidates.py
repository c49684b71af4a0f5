"""The doors for candidates: maps, clusterings and labels, checked against the samples."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from somscale.codebook import TrainedMap, as_map, matched
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.columns import Column
from somscale.engine.readers.labels import factorize, set_apart
from somscale.engine.readers.ordering import in_order
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import InputError

__all__ = [
    "Coordinates",
    "check_lengths",
    "coordinates_of",
    "open_clusters",
    "open_judged",
    "open_labels",
    "open_map",
]

Coordinates: TypeAlias = Axes | None
"""The samples' own dims, where they are known."""


def open_judged(samples: Any, **reading: Any) -> Samples:
    """Samples that a projection is judged on; a map in their place is refused."""
    if isinstance(samples, xr.Dataset) and samples.attrs.get("somscale_kind") == "codebook":
        raise InputError(
            "the first argument is a map; the order is (samples, som), and the code vectors "
            "themselves are som['codes']"
        )
    return open_samples(samples, **reading)


def open_map(som: Any, samples: Samples) -> TrainedMap:
    """A map whose features are the samples', in their order."""
    if isinstance(som, np.ndarray | xr.DataArray):
        raise InputError(
            f"the map is an array of shape {som.shape}; give it a grid with "
            "ss.codebook(weights, grid), and mind the order (samples, som)"
        )
    return matched(as_map(som), samples)


def open_labels(labels: Any, like: Coordinates, *, missing: Any = "error") -> Column:
    """Classes of the samples, in the order of the coordinates they share with `like`."""
    return factorize(in_order(labels, like, "labels"), name="labels", missing=missing)


def open_clusters(
    clusters: Any, like: Coordinates, *, name: str = "clusters", **policies: Any
) -> Column:
    """A clustering of the samples, in the order of the coordinates they share with `like`."""
    column = factorize(in_order(clusters, like, name), name=name, **policies)
    meanings = str(getattr(clusters, "attrs", {}).get("flag_meanings", "")).split()
    if meanings[:1] == ["not_evaluated"]:
        # best units of samples that a projection has left out
        column = set_apart(column, "ignore", -1)
    return column


def coordinates_of(values: Any) -> Coordinates:
    """The dims of one value a sample, where it names them."""
    if isinstance(values, xr.DataArray) and values.ndim:
        return Axes.of(values, [str(dim) for dim in values.dims])
    return None


def check_lengths(labels: Column, clusters: Column | Samples) -> None:
    """Refuse labels of another number of samples."""
    if isinstance(clusters, Column):
        length, what = len(clusters), clusters.name
    else:
        length, what = clusters.shape[0], "samples"
    if len(labels) != length:
        raise InputError(
            f"there are {len(labels)} {labels.name} and {length} {what}; every sample needs one"
        )

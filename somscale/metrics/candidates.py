"""The doors for candidates: maps, clusterings and labels, checked against the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook import TrainedMap, as_map
from somscale.engine.readers.columns import Column
from somscale.engine.readers.labels import factorize
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import InputError

__all__ = ["check_lengths", "open_clusters", "open_judged", "open_labels", "open_map"]


def open_judged(samples: Any) -> Samples:
    """Samples that a projection is judged on; a map in their place is refused."""
    if isinstance(samples, xr.Dataset) and samples.attrs.get("somscale_kind") == "codebook":
        raise InputError(
            "the first argument is a map; the order is (samples, som), and the code vectors "
            "themselves are som['codes']"
        )
    return open_samples(samples)


def open_map(som: Any, samples: Samples) -> TrainedMap:
    """A map whose features are the samples', in their order."""
    if isinstance(som, np.ndarray | xr.DataArray):
        raise InputError(
            f"the map is an array of shape {som.shape}; give it a grid with "
            "ss.codebook(weights, grid), and mind the order (samples, som)"
        )
    return as_map(som).matched_to(samples)


def open_labels(labels: Any, *, missing: Any = "error") -> Column:
    """Classes of the samples."""
    return factorize(labels, name="labels", missing=missing)


def open_clusters(clusters: Any, *, name: str = "clusters", **policies: Any) -> Column:
    """A clustering of the samples."""
    return factorize(clusters, name=name, **policies)


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

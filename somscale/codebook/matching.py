"""A map and samples, feature by feature: by their labels, or by position where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from somscale.codebook.dataset import TrainedMap
from somscale.engine.readers.alignment import align, order_to_match
from somscale.engine.readers.axes import Axes, flat_labels
from somscale.engine.readers.samples import Samples
from somscale.errors import InputError

__all__ = ["matched"]

_WORDS = "the map and the samples"


def matched(som: TrainedMap, samples: Samples) -> TrainedMap:
    """The same map with its features in the samples' order, those that a mask leaves out gone.

    Raises
    ------
    InputError
        Another number of features, other dims, or other labels.
    """
    ours, theirs = som.features, samples.features
    if sorted(ours.dims) == sorted(theirs.dims):
        codes = _by_dims(som, theirs, samples)
    else:
        codes = _flat(som, samples)
    codes = _without_masked(codes, samples)
    if codes is som.codes:
        return som
    return replace(som, codes=codes, features=theirs, known_as=som.fingerprint)


def _by_dims(som: TrainedMap, theirs: Axes, samples: Samples) -> np.ndarray:
    """Codes of a map with dims of the samples' names."""
    ours = som.features
    for dim, size in zip(theirs.dims, theirs.shape, strict=True):
        if ours.shape[ours.dims.index(dim)] != size:
            raise _other_size(som, samples, dim)
    codes = xr.DataArray(
        ours.along(som.codes, 1),
        dims=("unit", *ours.dims),
        coords={name: coord for name, coord in ours.coords.items() if coord.dims},
    )
    ordered = align(codes, theirs.coords, _WORDS).transpose("unit", *theirs.dims)
    flat = np.ascontiguousarray(ordered.values).reshape(som.codes.shape)
    # what is still the map's own memory has kept its order
    return som.codes if np.shares_memory(flat, som.codes) else flat


def _flat(som: TrainedMap, samples: Samples) -> np.ndarray:
    """Codes of a map whose features lie on other dims: by all labels at once, or by position."""
    ours, theirs = som.features, samples.features
    if ours.size != theirs.size:
        raise _other_size(som, samples, theirs.text)
    dim = theirs.dims[0] if len(theirs.dims) == 1 else "feature"
    own = {n: xr.Variable(dim, values) for n, values in flat_labels(ours).items()}
    known = {n: xr.Variable(dim, values) for n, values in flat_labels(theirs).items()}
    if len(ours.dims) == 1 and ours.dims[0] in own:
        own[dim] = own.pop(ours.dims[0])
    if len(ours.dims) > 1 and not set(own) & set(known):
        raise InputError(
            f"the map's features have dims {ours.dims} and the samples' {theirs.dims}; rename "
            "them alike, or say with sample_dims= which dims of the samples are no features"
        )
    order = order_to_match(own, known, dim, _WORDS)
    return som.codes if order is None else som.codes[:, order]


def _without_masked(codes: np.ndarray, samples: Samples) -> np.ndarray:
    if samples.kept is None:
        return codes
    kept = codes[:, samples.kept]
    gone = np.isnan(kept[0])
    if gone.any():
        feature = int(np.argmax(gone))
        raise InputError(
            f"the map has nan at {samples.entry_names.describe_feature(feature)}, which mask= "
            "keeps; mask the same features as when the map was made"
        )
    return kept


def _other_size(som: TrainedMap, samples: Samples, dim: str) -> InputError:
    n_features = samples.features.size
    hint = ""
    if som.codes.shape[1] == samples.rows.size:
        named = samples.rows.dims != ("sample",)
        hint = "check sample_dims=" if named else "pass samples.T"
        hint = f"; the samples look transposed: {hint}"
    elif len(som.codes) == n_features:
        hint = "; the weights look transposed: they are (unit, feature)"
    return InputError(
        f"the map has {som.codes.shape[1]} features and the samples have {n_features} "
        f"(dim {dim!r}){hint}"
    )

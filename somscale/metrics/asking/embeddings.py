"""The doors for embeddings, and for matrices of distances in the place of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.readers.alignment import align
from somscale.engine.readers.axes import Axes
from somscale.engine.readers.columns import SampleVectors
from somscale.engine.readers.paths import is_path, open_bare_path
from somscale.errors import InputError, SampleValueError
from somscale.spaces.given import check_matrix

__all__ = ["is_embedding", "mask_of_rows", "matrix_of", "open_embedding", "refuse_no_matrix"]

_WORDS = "the embedding and the samples"


def is_embedding(candidate: Any, shape: Any, rows: Axes) -> bool:
    """Whether a candidate has some numbers for every sample."""
    if isinstance(candidate, xr.DataArray):
        own = [str(dim) for dim in candidate.dims]
        return (set(rows.dims) < set(own) and len(own) == len(rows.dims) + 1) or len(own) == 2
    if not isinstance(shape, tuple):
        return False
    return len(shape) == 2 or (len(shape) == len(rows.shape) + 1 and shape[:-1] == rows.shape)


def open_embedding(embedding: Any, rows: Axes, *, name: str) -> SampleVectors:
    """An embedding in memory, in the order of the coordinates it shares with the samples.

    Parameters
    ----------
    embedding : array_like, DataArray, DataFrame, Dask array or Zarr array
        (sample, component), or on the samples' own dims and one more.  It is loaded: it has
        a few numbers a sample.
    rows : Axes
        The samples' dims and coordinates.
    name : str
        What errors call it.

    Raises
    ------
    InputError
        Another number of samples, or no real numbers.
    SampleValueError
        A place that is not finite, the first one named.
    """
    values = _values(embedding, rows)
    if values.dtype.kind not in "biuf":
        raise InputError(f"{name} is of type {values.dtype}, not real numbers; convert it first")
    if values.ndim == len(rows.shape) + 1 and values.shape[:-1] == rows.shape:
        values = values.reshape(rows.size, -1)
    if values.ndim != 2 or len(values) != rows.size or not values.shape[1]:
        hint = (
            "it looks transposed"
            if values.shape[-1:] == (rows.size,)
            else "give code vectors a grid with ss.codebook(weights, grid), and mind the order "
            "(samples, projection)"
        )
        raise InputError(
            f"{name} has shape {values.shape}, and there are {rows.size} samples: it is (sample, "
            f"component), one row for each sample; {hint}"
        )
    finite = np.isfinite(values)
    if not finite.all():
        sample, component = (int(i) for i in np.argwhere(~finite)[0])
        raise SampleValueError(
            f"{name}: {rows.names().describe(sample)}, component {component} is "
            f"{values[sample, component]}; leave such samples out of it and of the samples"
        )
    return SampleVectors(np.ascontiguousarray(values))


def _values(embedding: Any, rows: Axes) -> np.ndarray[Any, Any]:
    if isinstance(embedding, xr.DataArray):
        own = [str(dim) for dim in embedding.dims]
        if set(rows.dims) < set(own):
            ordered = align(embedding, rows.coords, _WORDS)
            rest = [dim for dim in own if dim not in rows.dims]
            return np.asarray(ordered.transpose(*rows.dims, *rest).values)
        return np.asarray(embedding.values)
    if hasattr(embedding, "toarray"):
        raise InputError("the embedding is sparse; give a dense array, (sample, component)")
    if hasattr(embedding, "to_numpy"):
        return np.asarray(embedding.to_numpy())
    if isinstance(embedding, np.ma.MaskedArray) and embedding.dtype.kind in "biuf":
        # what is masked is refused as any other place that is missing
        return np.asarray(np.ma.filled(embedding.astype(np.float64), np.nan))
    return np.asarray(embedding)


def matrix_of(samples: Any) -> Any:
    """A matrix that a path leads to, not yet read; anything else as it is.

    Raises
    ------
    InputError
        There is no array of its own: the path leads to several, or to variables.
    """
    if not is_path(samples):
        return samples
    array = open_bare_path(samples)
    if array is None:
        raise InputError(
            "distance='precomputed' takes the path of one array, a .npy file or a Zarr array; "
            "open what holds variables with xarray, and give the one that is the matrix"
        )
    return array


def refuse_no_matrix(samples: Any, reading: Mapping[str, Any]) -> None:
    """Refuse what is no matrix of distances, before anything of it is read.

    Raises
    ------
    InputError
        It has no two equal dims, is sparse, or comes with options that are for vectors.
    """
    for name in ("feature_weights", "sample_weights", "variable", "sample_dims"):
        if reading.get(name) is not None:
            raise InputError(f"{name}= is for samples, and distance='precomputed' gives distances")
    if reading.get("missing", "raise") != "raise":
        raise InputError(
            "missing= is for samples; leave samples without distances out of the matrix"
        )
    shape = getattr(samples, "shape", None)
    if shape is None or not hasattr(samples, "dtype"):
        raise InputError(
            "distance='precomputed' takes a 2-D array of numpy, Zarr, Dask or xarray, not a "
            f"{type(samples).__name__}"
        )
    check_matrix(tuple(shape), samples.dtype, hasattr(samples, "toarray"))


def mask_of_rows(samples: Any, mask: Any) -> Any:
    """A mask of a matrix's samples, on the dim of its rows, since it fits its columns as well.

    Raises
    ------
    InputError
        It is of the columns, or of both.
    """
    named = isinstance(samples, xr.DataArray)
    rows, columns = (str(dim) for dim in samples.dims) if named else ("sample", "feature")
    own = mask.dims if isinstance(mask, xr.DataArray) else ()
    if isinstance(mask, tuple) or columns in own:
        raise InputError(
            f"mask= leaves samples of a matrix out, from its rows and its columns alike: it is one "
            f"boolean array, on {rows!r} if it has dims"
        )
    if mask is None or own or np.shape(mask) != tuple(samples.shape[:1]):
        return mask
    return xr.DataArray(np.asarray(mask), dims=[rows])

"""Arrays of any kind, opened for reading as samples × features on the user's own dims."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from somscale._types import AnyArray
from somscale.engine.readers.axes import Axes, time_like
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.sources import (
    ArraySource,
    MemmapSource,
    Source,
    SparseSource,
    XarraySource,
    ZarrSource,
)
from somscale.engine.readers.views import flatten
from somscale.errors import InputError

__all__ = ["Opened", "SampleDims", "open_bare", "open_labelled", "sample_dims_of"]

SampleDims: TypeAlias = str | Sequence[str] | None

_NAN_AS_TEXT = base64.standard_b64encode(np.array(np.nan, "<f8").tobytes()).decode()
_SPACE_NAMES = {"lat", "latitude", "lon", "longitude", "x", "y", "rlat", "rlon"}


@dataclass(frozen=True)
class Opened:
    """An array as samples × features.

    Attributes
    ----------
    rows, features : Axes
        The user's own dims.
    source, blocks : Source or Blocks
        Where the values are; one of the two.
    units : str or None
        Units of the values.
    left_out : tuple of str
        Variables beside them that are no features.
    long_name : str or None
        What the values are.
    scalars : mapping of str to Variable
        Coordinates without a dim.
    """

    rows: Axes
    features: Axes
    source: Source | None = None
    blocks: Blocks | None = None
    units: str | None = None
    left_out: tuple[str, ...] = ()
    long_name: str | None = None
    scalars: Mapping[str, xr.Variable] = field(default_factory=dict)


def open_labelled(
    array: xr.DataArray, sample_dims: SampleDims, *, source: Source | None = None
) -> Opened:
    """Open a DataArray; `source` is where its values are, in its own dims, if not in itself."""
    names = sample_dims_of(array, sample_dims)
    others = [str(dim) for dim in array.dims if dim not in names]
    check_decoded(array.attrs, "samples" if array.name is None else str(array.name))
    check_dtype(array.dtype)
    rows, features = Axes.of(array, names), Axes.of(array, others)
    order = [array.dims.index(dim) for dim in (*names, *others)]
    units = array.attrs.get("units")
    if array.chunks is not None:
        check_lengths_known(array.data)
        blocks = Blocks.of(array.data, order, len(names))
        return Opened(rows, features, None, blocks, units, (), *_about(array))
    if source is None:
        chunks = array.encoding.get("preferred_chunks", {})
        # by name: "chunks" would keep the order of the dims in the store
        sizes = tuple(int(chunks.get(dim, 1)) for dim in array.dims)
        source = XarraySource(array.drop_vars(list(array.coords)), sizes)
    flat = flatten(source, order, len(names))
    return Opened(rows, features, flat, None, units, (), *_about(array))


def _about(array: xr.DataArray) -> tuple[str | None, dict[str, xr.Variable]]:
    """What the values are, and the coordinates without a dim."""
    scalars = {str(name): coord.variable for name, coord in array.coords.items() if not coord.dims}
    name = array.attrs.get("long_name", array.name)
    return None if name is None else str(name), scalars


def sample_dims_of(array: xr.DataArray | xr.Dataset, sample_dims: SampleDims) -> tuple[str, ...]:
    """The dims of the samples, checked; without a wish only where there is no doubt."""
    dims = [str(dim) for dim in array.dims]
    if sample_dims is None:
        return (_only_sample_dim(array, dims),)
    if isinstance(sample_dims, set | frozenset):
        raise InputError("sample_dims has an order: give a list, not a set")
    names = (sample_dims,) if isinstance(sample_dims, str) else tuple(sample_dims)
    for name in names:
        if name not in dims:
            raise InputError(f"sample_dims names {name!r}, and the samples have the dims {dims}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"sample_dims names each dim of the samples once, not {names}")
    return names


def _only_sample_dim(array: xr.DataArray | xr.Dataset, dims: list[str]) -> str:
    likely = time_like(array)
    proposal = f"sample_dims={likely!r}" if likely else f"sample_dims={dims[:1] or ['sample']}"
    if len(dims) != 2:
        raise InputError(
            f"the samples have dims {tuple(dims)}, not (sample, feature); say which are the "
            f"samples' with sample_dims, for example {proposal}; all others are features"
        )
    if len(set(dims)) == 1:
        raise InputError(f"both dims of the samples are called {dims[0]!r}; rename one")
    if set(dims) == {"sample", "feature"}:
        return "sample"
    if likely == dims[1] or {dim.lower() for dim in dims} <= _SPACE_NAMES:
        raise InputError(
            f"the samples have dims {tuple(dims)}, and it is not clear which are the samples'; "
            f"say {proposal}"
        )
    return dims[0]


def open_bare(samples: Any, missing: str) -> Opened:
    """Open an array without names: (sample, feature)."""
    if hasattr(samples, "toarray"):
        return _unnamed(_sparse(samples))
    if _is_a(samples, "zarr", "Array"):
        check_decoded(samples.attrs, "samples")
        return _unnamed(ZarrSource(samples))
    if _is_a(samples, "dask.array", "Array"):
        check_shape(samples.shape)
        check_dtype(samples.dtype)
        check_lengths_known(samples)
        return Opened(*_axes(samples.shape), blocks=Blocks.of(samples))
    if isinstance(samples, np.memmap):
        mapped = MemmapSource.of(samples)
        if mapped is not None:
            return _unnamed(mapped)
    if isinstance(samples, np.ma.MaskedArray):
        return _unnamed(ArraySource(_unmasked(samples, missing)))
    try:
        values = np.asarray(samples)
    except ValueError as error:
        raise InputError(f"this {type(samples).__name__} is no array of numbers") from error
    return _unnamed(ArraySource(values))


def _unnamed(source: Source) -> Opened:
    check_shape(source.shape)
    check_dtype(source.dtype)
    return Opened(*_axes(source.shape), source)


def _axes(shape: tuple[int, ...]) -> tuple[Axes, Axes]:
    return Axes(("sample",), shape[:1]), Axes(("feature",), shape[1:])


def _sparse(samples: Any) -> Source:
    if getattr(samples, "format", "") != "csr":
        raise InputError(
            "sparse samples are read by blocks of rows, from the CSR format; give samples.tocsr()"
        )
    return SparseSource(samples)


def _unmasked(samples: np.ma.MaskedArray[Any, Any], missing: str) -> AnyArray:
    mask = np.ma.getmaskarray(samples)
    if not mask.any():
        return np.asarray(samples)
    if missing == "raise":
        where = tuple(int(i) for i in np.argwhere(mask)[0])
        raise InputError(
            f"the samples are masked, first at {where}; drop or fill masked entries, or say how "
            "to leave them out with missing="
        )
    return np.where(mask, np.nan, samples.filled(0))


def check_decoded(attributes: Mapping[str, Any], name: str) -> None:
    """Refuse packed numbers, and fill values that would be taken for data."""
    for fact in ("scale_factor", "add_offset", "_FillValue", "missing_value", "nodata"):
        value = attributes.get(fact)
        if value is not None and not _is_nan(value):
            raise InputError(
                f"the samples are not decoded ({fact}={value} is still in the attributes of "
                f"{name!r}); open them with mask_and_scale=True, or say "
                f"{name}.where({name} != {value}) and drop the attribute"
            )


def _is_nan(value: Any) -> bool:
    """Whether an attribute says nan, which xarray spells in base 64 in stores of Zarr 3."""
    if isinstance(value, str):
        return value in ("NaN", _NAN_AS_TEXT)
    return bool(np.all(value != value))


def check_lengths_known(blocks: Any) -> None:
    """Refuse a Dask array of unknown length: no tile could be cut from it."""
    if np.isnan(blocks.shape).any():
        raise InputError(
            "the Dask array has chunks of unknown length; call compute_chunk_sizes() on it first"
        )


def check_shape(shape: tuple[Any, ...]) -> None:
    """Refuse what has not two dims."""
    if len(shape) != 2:
        hint = "reshape one feature to (N, 1)" if len(shape) == 1 else "reshape them to two dims"
        if len(shape) > 2:
            hint += ", or name the dims in a DataArray and say sample_dims="
        raise InputError(f"the samples have shape {shape}, not (sample, feature); {hint}")


def check_dtype(dtype: Any) -> None:
    """Refuse what are no real numbers."""
    if np.dtype(dtype).kind not in "biuf":
        raise InputError(f"the samples are of type {dtype}, not real numbers; convert them first")


def _is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a type whose library is not imported just to ask."""
    import sys

    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))

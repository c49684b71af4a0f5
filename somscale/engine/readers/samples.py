"""The door for samples: whatever the user holds becomes something a pass can read."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from somscale.engine.readers.alignment import coords_along
from somscale.engine.readers.sources import (
    ArraySource,
    MemmapSource,
    Source,
    XarraySource,
    ZarrSource,
)
from somscale.errors import InputError
from somscale.reductions.faults import EntryNames

if TYPE_CHECKING:
    import dask.array as da
    import zarr

__all__ = ["Samples", "open_samples", "refuse_names"]

_NAN_AS_TEXT = base64.standard_b64encode(np.array(np.nan, "<f8").tobytes()).decode()


@dataclass(frozen=True)
class Samples:
    """Samples as the engine sees them, with the user's own names for the results.

    Attributes
    ----------
    shape : (int, int)
        Samples N and features D.
    source, blocks : Source or Dask array
        Where the values are; one of the two.
    sample_dim, feature_dim : str
        Names of the dimensions.
    sample_coords, feature_coords : mapping of str to Variable
        Coordinates along one dimension each.
    units : str or None
        Units of the values.
    """

    shape: tuple[int, int]
    source: Source | None = None
    blocks: da.Array | None = None
    sample_dim: str = "sample"
    feature_dim: str = "feature"
    sample_coords: Mapping[str, xr.Variable] = field(default_factory=dict)
    feature_coords: Mapping[str, xr.Variable] = field(default_factory=dict)
    units: str | None = None

    @property
    def lazy(self) -> bool:
        """Whether the samples are a Dask collection, so that results are too."""
        return self.blocks is not None

    @property
    def entry_names(self) -> EntryNames:
        """How errors name an entry."""
        labels = self.feature_coords.get(self.feature_dim)
        features = None if labels is None else np.asarray(labels.values).tolist()
        return EntryNames(self.sample_dim, self.feature_dim, features)

    def refuse_names(self, taken: Collection[str]) -> None:
        """Refuse a sample dim, or a coordinate along it, that the result has another use for."""
        refuse_names([self.sample_dim, *self.sample_coords], taken, "samples")


def refuse_names(names: Iterable[str], taken: Collection[str], what: str) -> None:
    """Refuse dims and coordinates whose names the result needs itself.

    Raises
    ------
    InputError
        One of the names is taken.
    """
    for name in names:
        if name in taken:
            raise InputError(
                f"the {what} have a dim or coordinate {name!r}, and the result has another of that "
                f"name; rename it, for example with {what}.rename({name}='my_{name}')"
            )


def open_samples(samples: Any, *, variable: str | None = None) -> Samples:
    """Open samples for reading.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path
        Two-dimensional, (sample, feature).  A DataArray's dims may have any
        names: the first is the samples', unless the dims are called "sample"
        and "feature".  A path leads to a Zarr store or a ``.npy`` file.
    variable : str, optional
        The variable of a Dataset or store with several.

    Raises
    ------
    InputError
        Not two-dimensional, empty, not of real numbers, or of unknown length.
    """
    opened = _open(samples, variable)
    n_rows, n_features = opened.shape
    if n_rows == 0 or n_features == 0:
        raise InputError(
            f"the samples have shape {opened.shape}: at least one {opened.sample_dim} and one "
            f"{opened.feature_dim} are needed"
        )
    return opened


def _open(samples: Any, variable: str | None) -> Samples:
    if isinstance(samples, str | os.PathLike):
        return _open_path(Path(samples), variable)
    if isinstance(samples, xr.Dataset):
        return _open_array(_only_variable(samples, variable))
    if isinstance(samples, xr.DataArray):
        return _open_array(samples)
    if hasattr(samples, "toarray"):
        raise InputError(
            "sparse samples are not read; give samples.toarray(), or write them to Zarr"
        )
    if type(samples).__module__.startswith("pandas") and hasattr(samples, "columns"):
        columns = [str(name) for name in samples.columns]
        return _open_array(
            xr.DataArray(
                samples.to_numpy(), dims=("sample", "feature"), coords={"feature": columns}
            )
        )
    if _is_zarr(samples):
        _check(samples.shape, samples.dtype)
        _check_decoded(samples.attrs)
        return Samples(tuple(samples.shape), ZarrSource(samples))
    if _is_dask(samples):
        return Samples(_check_dask(samples), blocks=samples)
    if isinstance(samples, np.memmap):
        _check(samples.shape, samples.dtype)
        mapped = MemmapSource.of(samples)
        if mapped is not None:
            return Samples(mapped.shape, mapped)
    values = (
        np.ma.asarray(samples) if isinstance(samples, np.ma.MaskedArray) else np.asarray(samples)
    )
    if np.ma.is_masked(values):
        where = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        raise InputError(f"the samples are masked, first at {where}; drop or fill masked entries")
    values = np.asarray(values)
    _check(values.shape, values.dtype)
    return Samples((values.shape[0], values.shape[1]), ArraySource(values))


def _open_path(path: Path, variable: str | None) -> Samples:
    if not path.exists():
        raise InputError(f"there is no file or store at {str(path)!r}")
    if path.suffix == ".npy":
        try:
            return _open(np.load(path, mmap_mode="r", allow_pickle=False), None)
        except ValueError:
            raise InputError(f"{str(path)!r} is no .npy file of numbers") from None
    if path.is_dir():
        return _open_zarr(path, variable)
    raise InputError(f"{str(path)!r} is neither a Zarr store (a folder) nor a .npy file")


def _open_zarr(path: Path, variable: str | None) -> Samples:
    import zarr

    try:
        node = zarr.open(str(path), mode="r")
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise InputError(f"{str(path)!r} is no Zarr store: {error}") from None
    if isinstance(node, zarr.Array):
        return _open(node, None)
    dataset = xr.open_zarr(str(path), chunks=None, consolidated=False)
    array = _only_variable(dataset, variable)
    opened = _open_array(array)
    stored = node[str(array.name)]
    in_order = array.dims[0] == opened.sample_dim
    if in_order and isinstance(stored, zarr.Array) and _is_raw(array, stored):
        return replace(opened, source=ZarrSource(stored))
    return opened


def _is_raw(array: xr.DataArray, stored: zarr.Array[Any]) -> bool:
    """Whether the stored numbers are the values, so that decoding them does nothing."""
    fill = array.encoding.get("_FillValue")
    plain = fill is None or fill != fill
    coded = {"scale_factor", "add_offset", "units", "missing_value"} & set(array.encoding)
    return plain and not coded and stored.dtype == array.dtype


def _only_variable(dataset: xr.Dataset, variable: str | None) -> xr.DataArray:
    if variable is not None:
        if variable not in dataset.data_vars:
            raise InputError(f"there is no variable {variable!r}, only {list(dataset.data_vars)}")
        return dataset[variable]
    fitting = [
        name for name, a in dataset.data_vars.items() if a.ndim == 2 and a.dtype.kind in "iuf"
    ]
    if len(fitting) == 1:
        return dataset[fitting[0]]
    dims = {str(name): array.dims for name, array in dataset.data_vars.items()}
    raise InputError(
        f"the Dataset holds {len(fitting)} variables of numbers with two dims, not one; "
        f"choose one, dataset['name'], from {dims}"
    )


def _open_array(array: xr.DataArray) -> Samples:
    if array.ndim != 2:
        raise InputError(
            f"the samples have dims {array.dims}, not (sample, feature); bring the others together "
            f"first, for example with da.stack(feature=[...])"
        )
    if set(array.dims) == {"sample", "feature"}:
        array = array.transpose("sample", "feature")
    sample_dim, feature_dim = (str(d) for d in array.dims)
    if sample_dim == feature_dim:
        raise InputError(f"both dims of the samples are called {sample_dim!r}; rename one")
    _check_decoded(array.attrs)
    facts: dict[str, Any] = {
        "sample_dim": sample_dim,
        "feature_dim": feature_dim,
        "sample_coords": coords_along(array, sample_dim),
        "feature_coords": coords_along(array, feature_dim),
        "units": array.attrs.get("units"),
    }
    if array.chunks is not None:
        return Samples(_check_dask(array.data), blocks=array.data, **facts)
    _check(array.shape, array.dtype)
    # by name: "chunks" would keep the order of the dims in the store, and these may be transposed
    chunks = array.encoding.get("preferred_chunks", {})
    bare = array.drop_vars(list(array.coords))
    source = XarraySource(bare, (chunks.get(sample_dim, 1), chunks.get(feature_dim, 1)))
    return Samples((array.shape[0], array.shape[1]), source, **facts)


def _check_decoded(attributes: Mapping[str, Any]) -> None:
    """Refuse packed numbers, and fill values that would be taken for data."""
    for name in ("scale_factor", "add_offset", "_FillValue", "missing_value", "nodata"):
        value = attributes.get(name)
        if value is not None and not _is_nan(value):
            raise InputError(
                f"the samples are not decoded ({name}={value} is still in their attributes); open "
                "them with mask_and_scale=True, or drop the attribute if it says nothing of them"
            )


def _is_nan(value: Any) -> bool:
    """Whether an attribute says nan, which xarray spells in base 64 in stores of Zarr 3."""
    if isinstance(value, str):
        return value in ("NaN", _NAN_AS_TEXT)
    return bool(value != value)


def _is_zarr(samples: Any) -> bool:
    import sys

    return "zarr" in sys.modules and isinstance(samples, sys.modules["zarr"].Array)


def _is_dask(samples: Any) -> bool:
    import sys

    return "dask.array" in sys.modules and isinstance(samples, sys.modules["dask.array"].Array)


def _check_dask(blocks: da.Array) -> tuple[int, int]:
    _check(blocks.shape, blocks.dtype)
    if np.isnan(blocks.shape).any():
        raise InputError(
            "the Dask array has chunks of unknown length; call compute_chunk_sizes() on it first"
        )
    return blocks.shape[0], blocks.shape[1]


def _check(shape: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 2:
        hint = "reshape one feature to (N, 1)" if len(shape) == 1 else "reshape them to two dims"
        raise InputError(f"the samples have shape {shape}, not (sample, feature); {hint}")
    if np.dtype(dtype).kind not in "biuf":
        raise InputError(f"the samples are of type {dtype}, not real numbers; convert them first")

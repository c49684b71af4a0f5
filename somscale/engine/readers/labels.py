"""The door for labels: whatever names the samples' classes or clusters becomes a column of codes.

All policies on labels live here: what noise means, what a missing label
means, which values may be labels.  Labels are factorised eagerly, so that
every shape downstream is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from somscale._types import AnyArray, Bool, Int
from somscale.engine.readers.categories import code_by_hash, code_categorical
from somscale.engine.readers.columns import Column, code_dtype
from somscale.errors import InputError

__all__ = ["Missing", "Noise", "factorize", "set_apart"]

Noise: TypeAlias = Literal["cluster", "ignore", "singletons"]
Missing: TypeAlias = Literal["error", "drop"]

_COMPACT = 1 << 16
"""Integers of so small a range are never factorised, nor are those below four times N."""
_BLOCK = 1 << 17
_BEYOND = np.float64(2.0**63)


def factorize(
    labels: Any,
    *,
    name: str = "labels",
    noise: Noise = "cluster",
    noise_label: Any = -1,
    missing: Missing = "error",
) -> Column:
    """Turn labels into a column of codes.

    Integers of a compact range stay as they are, uncopied; their categories are
    the whole range, which may include some that no sample has.  All others get
    int32 codes; categories are sorted, those of a pandas categorical in the
    order given.

    Parameters
    ----------
    labels : (N,) array_like
        Integers, booleans, integral floats, strings, dates or pandas categories, in a
        NumPy array (masked too), list, pandas Series or Index, xarray DataArray,
        Dask array or Series (computed here).
    name : str
        What errors call them.
    noise : {"cluster", "ignore", "singletons"}
        What `noise_label` means: a label like others, samples that take no part,
        or a label of its own for every such sample.
    noise_label : optional
        The label of noise.
    missing : {"error", "drop"}
        Whether missing labels (None, nan, NaT, NA, masked) are an error or samples that
        take no part.

    Returns
    -------
    Column
        Codes and categories; samples that take no part are counted.

    Raises
    ------
    InputError
        Labels that are not one-dimensional, empty, missing, or of a type or value that
        names no group; an unknown policy.
    """
    check_policies(noise=noise, noise_label=noise_label, missing=missing)
    if isinstance(labels, str):
        raise InputError(f"{name}: this is the text {labels!r}; give the values, one a sample")
    values, masked = _open(labels, name)
    column = _encode(values, masked, name)
    if column.n_excluded and missing == "error":
        first = int(np.argmax(column.values < 0))
        raise InputError(
            f"{name}: {column.n_excluded} of {len(column)} are missing, the first at position "
            f"{first}; fill them, or leave those samples out with missing='drop' "
            "(in evaluate missing_labels='drop')"
        )
    return column if noise == "cluster" else set_apart(column, noise, noise_label)


def check_policies(
    *, noise: str = "cluster", noise_label: Any = -1, missing: str = "error"
) -> None:
    """Refuse policies that do not exist."""
    _check_policy("noise", noise, get_args(Noise))
    _check_policy("missing", missing, get_args(Missing))
    if np.ndim(noise_label) != 0:
        raise InputError(f"noise_label is one label, not {noise_label!r}")


def _check_policy(what: str, policy: str, known: tuple[str, ...]) -> None:
    if policy not in known:
        raise InputError(f"{what} is one of {', '.join(map(repr, known))}, not {policy!r}")


def _open(labels: Any, name: str) -> tuple[Any, Bool | None]:
    """The labels as a NumPy or pandas array in memory, and which are masked."""
    import pandas as pd
    import xarray as xr

    # before anything is computed
    _check_shape(getattr(labels, "shape", None), name)
    in_xarray = isinstance(labels, xr.DataArray | xr.Variable)
    if hasattr(labels, "__dask_graph__") and not in_xarray:
        labels = labels.compute()
    if in_xarray or isinstance(labels, pd.Series | pd.Index):
        if not isinstance(labels.dtype, pd.api.extensions.ExtensionDtype):
            labels = labels.to_numpy()
        else:
            labels = labels.data if in_xarray else labels.array
    masked = None
    if isinstance(labels, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(labels)
        labels = labels.data
    if not isinstance(labels, np.ndarray | pd.api.extensions.ExtensionArray):
        labels = _from_sequence(labels, name)
    _check_shape(labels.shape, name)
    if not len(labels):
        raise InputError(f"{name}: there are none; every sample needs a label")
    return labels, masked


def _check_shape(shape: tuple[Any, ...] | None, name: str) -> None:
    """Refuse what is not one value a sample."""
    if shape is not None and len(shape) != 1:
        raise InputError(
            f"{name}: labels have one dimension, (sample,), and these have the shape {shape}"
        )


def _from_sequence(labels: Any, name: str) -> AnyArray:
    try:
        array = np.asarray(labels)
        if array.dtype.kind in "US" and isinstance(labels, list | tuple):
            # NumPy has made text of the numbers and gaps among texts
            array = np.asarray(labels, dtype=object)
    except (TypeError, ValueError) as error:
        kind = type(labels).__name__
        raise InputError(f"{name}: this {kind} does not hold one label a sample") from error
    return array


def _encode(values: Any, masked: Bool | None, name: str) -> Column:
    """Codes of the labels, -1 where they are missing."""
    if not isinstance(values, np.ndarray):
        coded = code_categorical if hasattr(values, "categories") else code_by_hash
        return coded(values, name)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind not in "biuf":
        if masked is not None and masked.any():
            values = values.astype(object)
            values[masked] = None
        return code_by_hash(values, name)
    if kind == "f":
        masked = np.isnan(values) if masked is None else masked | np.isnan(values)
        values = _integral(values, masked, name)
    if masked is not None and masked.any():
        return _scatter(values[~masked], ~masked, name)
    return _code_integers(values, name)


def _integral(values: AnyArray, masked: Bool, name: str) -> Int:
    """Floats as integers; refused where that would change one."""
    wrong = ~(masked | ((np.rint(values) == values) & (np.abs(values) < _BEYOND)))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            f"{name}: {values[first]} at position {first} is not an integer; "
            "numbers that are labels are integers (are these measurements?)"
        )
    return np.where(masked, 0, values).astype(np.int64)


def _scatter(present: AnyArray, where: Bool, name: str) -> Column:
    """The column of some samples' labels, the others taking no part."""
    n_missing = len(where) - len(present)
    if not len(present):
        return Column(np.full(len(where), -1), 0, np.zeros(0, present.dtype), name, n_missing)
    column = _code_integers(present, name)
    codes = np.full(len(where), -1, code_dtype(column.n_categories))
    codes[where] = column.read(0, len(present))
    return Column(codes, 0, column.categories, name, n_missing)


def _code_integers(values: AnyArray, name: str) -> Column:
    """Integers and booleans: as they are where their range is compact."""
    if values.dtype.kind == "b":
        return Column(values.view(np.uint8), 0, np.array([False, True]), name)
    low, high = _bounds(values)
    if high - low < max(4 * len(values), _COMPACT) and high < 1 << 63:
        return Column(values, low, range(low, high + 1), name)
    return code_by_hash(values, name)


def _bounds(values: Int) -> tuple[int, int]:
    """Least and greatest label, in blocks, so that the second look finds them in the cache."""
    blocks = [values[start : start + _BLOCK] for start in range(0, len(values), _BLOCK)]
    ends = [(int(block.min()), int(block.max())) for block in blocks]
    return min(low for low, _ in ends), max(high for _, high in ends)


def set_apart(column: Column, noise: Noise, noise_label: Any) -> Column:
    """Leave samples of the noise label out, or give each a category of its own."""
    code = column.code_of(noise_label)
    if code is None:
        return column
    if noise == "ignore":
        return _left_out(column, code)
    codes = column.read(0, len(column))
    where = np.flatnonzero(codes == code)
    last = column.n_categories + len(where)
    codes = codes.astype(code_dtype(last))
    codes[where] = np.arange(column.n_categories, last)
    own = np.repeat(column.labels_of(np.array([code])), len(where))
    categories = np.concatenate([np.asarray(column.categories), own])
    return replace(column, values=codes, base=0, categories=categories)


def _left_out(column: Column, code: int) -> Column:
    """The samples of one code take no part."""
    compact = isinstance(column.categories, range) and not column.n_excluded
    if compact and code == 0:
        # noise is the lowest label, as usual: a higher base leaves it out without a copy
        n_noise = int(np.count_nonzero(column.values == column.base))
        base, others = column.base + 1, column.categories[1:]
        return replace(column, base=base, categories=others, n_excluded=n_noise)
    codes = column.read(0, len(column)).astype(code_dtype(column.n_categories))
    is_noise = codes == code
    codes[is_noise] = -1
    excluded = column.n_excluded + int(np.count_nonzero(is_noise))
    return replace(column, values=codes, base=0, n_excluded=excluded)

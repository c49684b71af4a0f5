"""The door for contingency tables that were counted elsewhere: dense, sparse or labelled."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale._types import AnyArray, Int
from somscale.errors import InputError
from somscale.kernels.counts import sort_keyed

__all__ = ["cells_of"]

_TOO_MANY = 1 << 63
_PANDAS_MARGINS = "All"


def cells_of(table: Any) -> tuple[Int, Int, Int, tuple[int, int], int]:
    """Rows, columns and counts of the cells that are not empty, the shape, and the samples.

    Parameters
    ----------
    table : (rows, columns) array_like, DataArray, sparse array or matrix, DataFrame
        Counts.

    Raises
    ------
    InputError
        The table has no two dimensions, no entry, margins, or an entry that is no count.
    """
    rows, columns, entries, shape = _entries(table)
    _check_entries(rows, columns, entries)
    counts = entries.astype(np.int64)
    # in halves, which cannot overflow
    total = (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
    if total >= _TOO_MANY:
        raise InputError(f"the table counts {total} samples, which is more than 64 bits hold")
    # a sparse table may hold a cell in several parts, or a zero
    keys, counts = sort_keyed(np.stack([rows.astype(np.int64) * shape[1] + columns, counts]))
    filled = counts > 0
    keys, counts = keys[filled], counts[filled]
    return keys // shape[1], keys % shape[1], counts, shape, total


def _entries(table: Any) -> tuple[Int, Int, AnyArray, tuple[int, int]]:
    """Places and values of the entries that are held, and the shape."""
    from scipy import sparse

    if sparse.issparse(table):
        held: Any = table
        found = held.tocoo()
        shape = _checked_shape(found.shape)
        _check_type(found.dtype)
        rows, columns = found.coords
        return rows, columns, found.data, shape
    _refuse_margins(table)
    array = np.asarray(table)
    shape = _checked_shape(array.shape)
    _check_type(array.dtype)
    rows, columns = np.nonzero(array)
    return rows, columns, array[rows, columns], shape


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2 or 0 in shape:
        raise InputError(
            f"a contingency table has two dimensions (class, cluster) and at least one "
            f"entry; this one has the shape {shape}"
        )
    return int(shape[0]), int(shape[1])


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iuf":
        raise InputError(f"a contingency table holds counts, not values of type {dtype}")


def _check_entries(rows: Int, columns: Int, entries: AnyArray) -> None:
    """Refuse entries that are no counts, the first one named."""
    with np.errstate(invalid="ignore", over="ignore"):
        right = (entries >= 0) & (entries < _TOO_MANY) & (entries % 1 == 0)
    if not right.all():
        wrong = np.flatnonzero(~right)
        first = wrong[np.lexsort([columns[wrong], rows[wrong]])[0]]
        raise InputError(
            f"the contingency table holds {entries[first]} at row {rows[first]}, column "
            f"{columns[first]}; its entries are counts, integers from 0 up"
        )


def _refuse_margins(table: Any) -> None:
    """Refuse a pandas crosstab with its sums, which would count every sample again."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame) or min(table.shape) < 2:
        return
    if table.index[-1] == table.columns[-1] == _PANDAS_MARGINS:
        inner, sums = table.iloc[:-1, :-1].to_numpy(), table.iloc[-1, :-1].to_numpy()
        if np.array_equal(inner.sum(0), sums):
            raise InputError(
                f"the table has margins: its last row and column, {_PANDAS_MARGINS!r}, are the "
                "sums of the others; leave them out (in pandas margins=False)"
            )

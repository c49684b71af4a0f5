"""pandas DataFrames as samples: their columns are features, their index labels the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.errors import InputError

__all__ = ["frame_array", "is_frame"]

_MOST_NAMED = 5


def is_frame(samples: Any) -> bool:
    """Whether samples are a pandas DataFrame."""
    return type(samples).__module__.startswith("pandas") and hasattr(samples, "columns")


def frame_array(frame: Any) -> xr.DataArray:
    """A DataFrame as an array on the dim of its index and ``feature``.

    The dim has the name of the index, ``sample`` where it has none.  An index that only
    counts the rows, and has no name, is no label.

    Raises
    ------
    InputError
        A column holds no real numbers.
    """
    _refuse_text(frame)
    columns = [str(name) for name in frame.columns]
    index = frame.index
    if index.nlevels > 1:
        dim, labels = "sample", _levels(index)
    else:
        dim = "sample" if index.name in (None, "feature") else str(index.name)
        labels = {} if _counts_rows(index) else {dim: _labels(index)}
    return xr.DataArray(
        frame.to_numpy(),
        dims=(dim, "feature"),
        coords={"feature": columns, **{name: (dim, values) for name, values in labels.items()}},
    )


def _counts_rows(index: Any) -> bool:
    """Whether an index has no name and counts the rows from 0."""
    whole = index.name is None and getattr(index.dtype, "kind", "O") in "iu"
    return whole and np.array_equal(np.asarray(index), np.arange(len(index)))


def _refuse_text(frame: Any) -> None:
    # by position, for two columns may have the same name
    kinds = [getattr(dtype, "kind", "O") for dtype in frame.dtypes]
    wrong = [
        f"{name!r} ({dtype})"
        for name, dtype, kind in zip(frame.columns, frame.dtypes, kinds, strict=True)
        if kind not in "biuf"
    ]
    if not wrong:
        return
    more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    one = len(wrong) == 1
    raise InputError(
        f"the column{'' if one else 's'} {', '.join(wrong[:_MOST_NAMED])}{more} of the DataFrame "
        f"hold{'s' if one else ''} no numbers; give df.select_dtypes('number'), or drop or encode "
        f"{'it' if one else 'them'}"
    )


def _levels(index: Any) -> dict[str, Any]:
    """The levels of an index of several, by their names; those without one are left out."""
    return {
        str(name): _labels(index.get_level_values(level))
        for level, name in enumerate(index.names)
        if name is not None
    }


def _labels(index: Any) -> Any:
    """Labels of a kind that every format holds: numbers, dates, else text."""
    values = np.asarray(index)
    return values if values.dtype.kind in "biufMm" else np.asarray(index.astype(str), dtype=object)

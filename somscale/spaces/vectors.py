"""What spaces of vectors share: their values, and the search for the one that is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from somscale._types import AnyArray, Float, as_floats
from somscale.spaces.base import BadRow

__all__ = ["CLEAN", "as_columns", "as_rows", "contiguous", "refuse_not_finite"]

CLEAN = "clean the samples, or say how to leave them out with missing="


def as_rows(values: AnyArray) -> Float:
    """Samples as the loops want them: float32 or float64, C-contiguous, writable.

    The last two keep the number of compiled variants small.
    """
    rows = np.ascontiguousarray(as_floats(values))
    return rows if rows.flags.writeable else rows.copy()


def as_columns(rows: Float) -> Float:
    """Features one after the other in float64, (D, m), over which the loops run in vectors."""
    return np.array(rows.T, dtype=np.float64, order="C")


@contextmanager
def contiguous(out: Float) -> Iterator[Float]:
    """Lend a C-contiguous table for `out`: over any other the loops run one pair at a time."""
    if out.flags.c_contiguous:
        yield out
        return
    table = np.empty(out.shape)
    yield table
    out[...] = table


def refuse_not_finite(rows: Float, bad: int) -> None:
    """Raise BadRow for a value of row `bad` that is nan or infinite, if there is one."""
    wrong = np.flatnonzero(~np.isfinite(rows[bad]))
    if wrong.size:
        feature = int(wrong[0])
        kind = "nan" if np.isnan(rows[bad, feature]) else "inf"
        raise BadRow(bad, feature, f"is {kind}", CLEAN)

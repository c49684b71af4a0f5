"""What distances and ranks cannot be, looked for chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from somscale._types import AnyArray

__all__ = ["DistanceValues", "RankValues", "ValueCheck"]

_UNKNOWN = 255
Index = tuple[int, ...]


class ValueCheck(Protocol):
    """Judges the values of chunks of a matrix."""

    def rounds(self, units: Sequence[Index]) -> list[list[Index]]:
        """The chunks in the order in which they are judged."""

    def problem(self, values: AnyArray, rows: slice, columns: slice) -> str | None:
        """What cannot be about the values of a box."""


def _members(taken: AnyArray, part: slice) -> tuple[AnyArray, AnyArray]:
    """Which samples of a range take part, and which do not; those not known are in neither."""
    return np.flatnonzero(taken[part] == 1), np.flatnonzero(taken[part] == 0)


class DistanceValues:
    """Distances are at least 0, nan only where a sample takes no part, and 0 to the sample itself.

    Parameters
    ----------
    n : int
        Samples.  Which take part is seen on the diagonal, which is judged first.
    """

    def __init__(self, n: int) -> None:
        self.taken = np.full(n, _UNKNOWN, np.uint8)

    def rounds(self, units: Sequence[Index]) -> list[list[Index]]:
        """Those on the diagonal, then all others."""
        return [[u for u in units if u[0] == u[1]], [u for u in units if u[0] != u[1]]]

    def problem(self, values: AnyArray, rows: slice, columns: slice) -> str | None:
        """What cannot be about the values of a box."""
        if rows == columns:
            own = np.diagonal(values)
            self.taken[rows] = ~np.isnan(own)
            if bool((own[~np.isnan(own)] != 0).any()):
                return "has a distance of a sample to itself that is not 0"
        (in_rows, no_rows), (in_columns, no_columns) = (
            _members(self.taken, part) for part in (rows, columns)
        )
        if in_rows.size == len(values) and in_columns.size == values.shape[1]:
            inside = values
        else:
            inside = values[np.ix_(in_rows, in_columns)]
        if inside.size:
            least = inside.min()
            if np.isnan(least):
                return "has no distance (nan) of two samples that take part"
            if least < 0:
                return f"has a negative distance ({least:g})"
        outside = (values[no_rows], values[:, no_columns])
        if not all(bool(np.isnan(part).all()) for part in outside):
            return "has distances of samples that take no part"
        return None


class RankValues:
    """Ranks are below the number of samples that take part, and 0 on the diagonal alone.

    Parameters
    ----------
    n : int
        Samples.
    fill : int
        What stands where a sample takes no part.
    """

    def __init__(self, n: int, fill: int) -> None:
        self.taken = np.full(n, _UNKNOWN, np.uint8)
        self.fill = fill

    def rounds(self, units: Sequence[Index]) -> list[list[Index]]:
        """All at once: which samples take part is known before."""
        return [list(units)]

    def problem(self, values: AnyArray, rows: slice, columns: slice) -> str | None:
        """What cannot be about the values of a box."""
        (in_rows, no_rows), (in_columns, no_columns) = (
            _members(self.taken, part) for part in (rows, columns)
        )
        if in_rows.size == len(values) and in_columns.size == values.shape[1]:
            inside = values
        else:
            inside = values[np.ix_(in_rows, in_columns)]
        # samples of which it is not known may take part
        members = int(np.count_nonzero(self.taken))
        if inside.size and inside.max() >= members:
            return f"has a rank of {inside.max()} among {members} samples"
        outside = (values[no_rows], values[:, no_columns])
        if not all(bool((part == self.fill).all()) for part in outside):
            return "has ranks of samples that take no part"
        both = np.intersect1d(in_rows + rows.start, in_columns + columns.start)
        if values[both - rows.start, both - columns.start].any():
            return "has a rank of a sample around itself that is not 0"
        # the ranks of ties begin at 1, too
        if np.count_nonzero(inside == 0) > both.size:
            return "has a rank of 0 beside the diagonal"
        return None

"""What a task over pairs reads from: panels of samples, and boxes of a stored matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from somscale._types import AnyArray, Int
from somscale.engine.readers.sources import Source

__all__ = ["PanelReader", "Reader", "listed_ranges", "read_listed"]


class Reader(Protocol):
    """What a walk asks of a source."""

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows and features."""


@dataclass(frozen=True)
class PanelReader:
    """Boxes of samples, or of a matrix, that a task was given.

    Parameters
    ----------
    panels : sequence of (int, int, array)
        First row, first column and values of every box.
    """

    panels: Sequence[tuple[int, int, AnyArray]]

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows and columns of one box."""
        for top, left, values in self.panels:
            down, across = rows.start - top, features.start - left
            box = values[down : rows.stop - top, across : features.stop - left]
            wanted = (rows.stop - rows.start, features.stop - features.start)
            if min(down, across) >= 0 and box.shape == wanted:
                return box
        raise ValueError(f"rows {rows.start} to {rows.stop} did not arrive with the task")


def listed_ranges(numbers: Int, chunk: int) -> tuple[Int, Int]:
    """Starts and stops of the ranges in which ascending rows are read: one a chunk.

    Reading row after row would decode a chunk again for every row.
    """
    if not len(numbers):
        return numbers, numbers
    first = np.flatnonzero(np.diff(numbers // chunk, prepend=-1))
    return numbers[first], numbers[np.append(first[1:], len(numbers)) - 1] + 1


def read_listed(source: Source, numbers: Int, columns: slice) -> AnyArray:
    """Some rows of a source, by their ascending numbers."""
    starts, stops = listed_ranges(numbers, source.chunks[0])
    places = np.searchsorted(numbers, np.append(starts, source.shape[0]))
    found = np.empty((len(numbers), columns.stop - columns.start), source.dtype)
    for start, stop, low, high in zip(starts, stops, places[:-1], places[1:], strict=True):
        box = source.read(slice(int(start), int(stop)), columns)
        found[low:high] = box[numbers[low:high] - start]
    return found

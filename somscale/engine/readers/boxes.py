"""Ranges of a flattened array as boxes of the array itself.

Samples may lie on several dims, and so may features: sample 5 of (time, lat, lon) is the
fifth in the order of these dims.  Nothing is stacked; a range of samples is read as the
few boxes that it covers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Box", "Reading", "readings"]

Box: TypeAlias = tuple[slice, ...]


@dataclass(frozen=True)
class Reading:
    """A box to read, and which of its entries, flattened, are wanted."""

    box: Box
    wanted: slice

    @property
    def size(self) -> int:
        """Entries wanted."""
        return int(self.wanted.stop) - int(self.wanted.start)


def readings(start: int, stop: int, shape: Sequence[int]) -> list[Reading]:
    """The boxes that hold entries `start` to `stop` of a flattened array, in order.

    Where one box holds little else besides, it is read as a whole: parts of it would
    decode the same chunks over and over.
    """
    inner = math.prod(shape[1:])
    if stop - start == 0 or len(shape) == 1:
        return [Reading((slice(start, stop),), slice(0, stop - start))]
    first, last = start // inner, -(-stop // inner)
    if last - first == 1:
        base = first * inner
        parts = readings(start - base, stop - base, shape[1:])
        return [Reading((slice(first, last), *part.box), part.wanted) for part in parts]
    if 2 * (last - first) * inner <= 3 * (stop - start):
        whole = (slice(first, last), *(slice(0, size) for size in shape[1:]))
        return [Reading(whole, slice(start - first * inner, stop - first * inner))]
    edges = sorted({start, -(-start // inner) * inner, stop // inner * inner, stop})
    return [
        reading
        for left, right in itertools.pairwise(edges)
        for reading in readings(left, right, shape)
    ]

"""Points in a plane, binned to square cells: how many, their mean, or what most of them are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from somscale._types import Float

__all__ = ["Cells", "cells_of"]

_ALONG: Final = 128  # cells along the longer side: half a millimetre in print


@dataclass(frozen=True)
class Cells:
    """Square cells about points: edges across and up, and which cell each point is in."""

    across: Float
    up: Float
    index: npt.NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return len(self.up) - 1, len(self.across) - 1

    def counts(self, chosen: Any = slice(None)) -> Float:
        """Return how many points each cell holds, nan for none."""
        counts = np.bincount(self.index[chosen], minlength=self.shape[0] * self.shape[1])
        return np.where(counts > 0, counts, np.nan).reshape(self.shape)

    def means(self, values: Float) -> Float:
        """Return the mean of the values in each cell, nan left out; nan where there is none."""
        known = np.isfinite(values)
        size = self.shape[0] * self.shape[1]
        sums = np.bincount(self.index[known], weights=values[known], minlength=size)
        return sums.reshape(self.shape) / self.counts(known)

    def majorities(self, codes: Float, classes: int) -> Float:
        """Return the code that most points of a cell have, the lowest of equals; nan for none."""
        known = np.isfinite(codes)
        keys, counts = np.unique(
            self.index[known] * classes + codes[known].astype(np.int64), return_counts=True
        )
        best = np.full(self.shape[0] * self.shape[1], np.nan)
        order = np.lexsort((-keys, counts))  # the last one of a cell is its most frequent, lowest
        best[keys[order] // classes] = keys[order] % classes
        return best.reshape(self.shape)


def cells_of(x: Float, y: Float) -> Cells:
    """Return square cells over all points, 128 along the longer side."""
    spans = np.ptp(x), np.ptp(y)
    side = max(spans) / _ALONG or 1.0
    edges, places = [], []
    for values, span in zip((x, y), spans, strict=True):
        count = max(int(np.ceil(span / side * (1 - 1e-9))), 1)
        start = values.min() - (count * side - span) / 2
        edges.append(start + side * np.arange(count + 1))
        places.append(np.clip(((values - start) / side).astype(np.int64), 0, count - 1))
    return Cells(edges[0], edges[1], places[1] * (len(edges[0]) - 1) + places[0])

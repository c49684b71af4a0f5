"""Columns: one integer code a sample, read beside the samples (labels, clusters)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somscale.kernels.types import AnyArray

__all__ = ["Column"]


@dataclass(frozen=True)
class Column:
    """Codes of every sample, and the categories they stand for.

    Integers of a compact range stay as the user holds them; their codes are
    made block by block, so ten million labels cost no copy.

    Parameters
    ----------
    values : (N,) integer
        Codes plus `base`; below `base`: the sample takes no part.
    base : int
        Value of the first category.
    categories : (C,) array
        Label of every code.
    name : str
        What errors call it.
    n_excluded : int
        Samples that take no part.
    """

    values: NDArray[np.integer[Any]]
    base: int
    categories: AnyArray
    name: str = "labels"
    n_excluded: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_categories(self) -> int:
        """Categories C, those that no sample has included."""
        return len(self.categories)

    def read(self, start: int, stop: int) -> NDArray[np.integer[Any]]:
        """Codes 0 to C − 1 of some samples, −1 where a sample takes no part."""
        part = self.values[start:stop]
        if self.base == 0:
            return part
        return np.subtract(part, self.base, dtype=np.int64)

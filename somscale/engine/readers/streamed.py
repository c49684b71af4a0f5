"""Dask arrays as sources: the blocks of a box are computed when it is read.

For what goes over samples once, outside of any pass: copies of them, and fingerprints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from somscale._types import AnyArray
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import RegularChunks, Source
from somscale.engine.readers.views import JoinedFeatures, SelectedFeatures, flatten

if TYPE_CHECKING:
    import dask.array as da

__all__ = ["ComputedSource", "whole_source"]


@dataclass(frozen=True)
class ComputedSource(RegularChunks):
    """A Dask array that is computed box by box, every box anew."""

    array: da.Array
    resident: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every dim."""
        return tuple(int(size) for size in self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def chunks(self) -> tuple[int, ...]:
        """Sizes of the largest block."""
        return tuple(max(sizes) for sizes in self.array.chunks)

    def read(self, *box: slice) -> AnyArray:
        """Compute the blocks that hold a box."""
        return np.asarray(self.array[box].compute())


def whole_source(samples: Samples) -> Source:
    """The values (N, D) of samples as they are before masks leave features out."""
    if samples.blocks is not None:
        return _computed(samples.blocks)
    source = samples.source
    while isinstance(source, SelectedFeatures):
        source = source.source
    if source is None:
        raise ValueError("these samples have neither a source nor blocks")
    return source


def _computed(blocks: Blocks) -> Source:
    parts = tuple(
        flatten(ComputedSource(part.array), part.order, blocks.n_sample_dims)
        for part in blocks.parts
    )
    return parts[0] if len(parts) == 1 else JoinedFeatures(parts)

"""Views of sources as samples × features: several dims flattened, variables and files joined.

Views hold no values.  They only turn ranges of samples and features into boxes
of the sources behind them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale._types import AnyArray, Int
from somscale.engine.readers.boxes import Reading, readings
from somscale.engine.readers.sources import ArraySource, Ranges, Source

__all__ = ["FlatSource", "JoinedFeatures", "JoinedSource", "SelectedFeatures", "flatten"]


def flatten(source: Source, order: Sequence[int], n_sample_dims: int) -> Source:
    """A source as samples × features.

    Parameters
    ----------
    source : Source
        An array of any dims.
    order : sequence of int
        Its axes: those of the samples, then those of the features.
    n_sample_dims : int
        How many of them are the samples'.
    """
    natural = tuple(order) == tuple(range(len(source.shape)))
    if natural and len(source.shape) == 2 and n_sample_dims == 1:
        return source
    if isinstance(source, ArraySource) and type(source) is ArraySource:
        moved = source.values.transpose(order)
        if moved.flags.c_contiguous and moved.size:
            return ArraySource(moved.reshape(math.prod(moved.shape[:n_sample_dims]), -1))
    return FlatSource(source, tuple(order), n_sample_dims)


@dataclass(frozen=True)
class FlatSource:
    """An array of any dims, seen as samples × features."""

    source: Source
    order: tuple[int, ...]
    n_sample_dims: int

    @property
    def shape(self) -> tuple[int, ...]:
        return math.prod(self._sizes(0)), math.prod(self._sizes(1))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def resident(self) -> bool:
        return self.source.resident

    @property
    def chunks(self) -> tuple[int, ...]:
        return self._chunk(0), self._chunk(1)

    def read(self, *box: slice) -> AnyArray:
        rows, features = box
        down = readings(rows.start, rows.stop, self._sizes(0))
        across = readings(features.start, features.stop, self._sizes(1))
        if len(down) == len(across) == 1:
            return self._block(down[0], across[0])
        out = np.empty((rows.stop - rows.start, features.stop - features.start), self.dtype)
        top = 0
        for row in down:
            left = 0
            for column in across:
                part = out[top : top + row.size, left : left + column.size]
                part[...] = self._block(row, column)
                left += column.size
            top += row.size
        return out

    def decoded(self, axis: int, ranges: Ranges) -> int:
        sizes, axes = self._sizes(axis), self._axes(axis)
        if not axes:
            return len(ranges[0])
        if len(axes) == 1:
            return self.source.decoded(axes[0], ranges)
        total = 0
        for start, stop in zip(*(ends.tolist() for ends in ranges), strict=True):
            for reading in readings(start, stop, sizes):
                total += math.prod(
                    self.source.decoded(own, (np.array([part.start]), np.array([part.stop])))
                    for own, part in zip(axes, reading.box, strict=True)
                )
        return total

    def _block(self, row: Reading, column: Reading) -> AnyArray:
        """The values of a box of samples and a box of features."""
        box = [slice(0, 0)] * len(self.order)
        # the one feature of samples without a dim of features has no axis
        for axis, part in zip(self.order, (*row.box, *column.box), strict=False):
            box[axis] = part
        values = self.source.read(*box).transpose(self.order)
        size = math.prod(values.shape[: self.n_sample_dims])
        return values.reshape(size, -1)[row.wanted, column.wanted]

    def _axes(self, side: int) -> tuple[int, ...]:
        return self.order[: self.n_sample_dims] if side == 0 else self.order[self.n_sample_dims :]

    def _sizes(self, side: int) -> tuple[int, ...]:
        # a dim of one entry stands where a side has none: samples of one feature each
        return tuple(self.source.shape[axis] for axis in self._axes(side)) or (1,)

    def _chunk(self, side: int) -> int:
        """Neighbours on one side that are read together at least."""
        sizes = self._sizes(side)
        for number, axis in enumerate(self._axes(side)):
            if (chunk := self.source.chunks[axis]) > 1:
                return min(chunk, sizes[number]) * math.prod(sizes[number + 1 :])
        return 1


@dataclass(frozen=True)
class JoinedFeatures:
    """Several sources of the same samples, their features one after the other."""

    parts: tuple[Source, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape[0], sum(part.shape[1] for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def resident(self) -> bool:
        return all(part.resident for part in self.parts)

    @property
    def chunks(self) -> tuple[int, ...]:
        return tuple(max(part.chunks[axis] for part in self.parts) for axis in (0, 1))

    def read(self, *box: slice) -> AnyArray:
        rows, features = box
        found = [part.read(rows, own) for part, own in self._split(features)]
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1, dtype=self.dtype)

    def decoded(self, axis: int, ranges: Ranges) -> int:
        if axis == 0:
            return max(part.decoded(0, ranges) for part in self.parts)
        total = 0
        for start, stop in zip(*(ends.tolist() for ends in ranges), strict=True):
            for part, own in self._split(slice(start, stop)):
                total += part.decoded(1, (np.array([own.start]), np.array([own.stop])))
        return total

    def _split(self, features: slice) -> list[tuple[Source, slice]]:
        """The parts that hold some features, and which of their own these are."""
        found, left = [], 0
        for part in self.parts:
            right = left + part.shape[1]
            if left < features.stop and features.start < right:
                own = slice(max(features.start - left, 0), min(features.stop, right) - left)
                found.append((part, own))
            left = right
        return found


@dataclass(frozen=True)
class JoinedSource:
    """Arrays that continue each other along one dim, as the files of an archive do."""

    parts: tuple[Source, ...]
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        shape = list(self.parts[0].shape)
        shape[self.axis] = sum(part.shape[self.axis] for part in self.parts)
        return tuple(shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def resident(self) -> bool:
        return all(part.resident for part in self.parts)

    @property
    def chunks(self) -> tuple[int, ...]:
        n_dims = len(self.parts[0].shape)
        return tuple(max(part.chunks[axis] for part in self.parts) for axis in range(n_dims))

    def read(self, *box: slice) -> AnyArray:
        wanted = box[self.axis]
        found, left = [], 0
        for part in self.parts:
            right = left + part.shape[self.axis]
            if left < wanted.stop and wanted.start < right:
                own = list(box)
                own[self.axis] = slice(max(wanted.start - left, 0), min(wanted.stop, right) - left)
                found.append(part.read(*own))
            left = right
        if len(found) == 1:
            return found[0]
        return np.concatenate(found, axis=self.axis, dtype=self.dtype)

    def decoded(self, axis: int, ranges: Ranges) -> int:
        if axis != self.axis:
            return self.parts[0].decoded(axis, ranges)
        starts, stops = ranges
        total, left = 0, 0
        for part in self.parts:
            size = part.shape[axis]
            own = np.clip(starts - left, 0, size), np.clip(stops - left, 0, size)
            some = own[0] < own[1]
            total += part.decoded(axis, (own[0][some], own[1][some]))
            left += size
        return total


@dataclass(frozen=True)
class SelectedFeatures:
    """A source without the features that a mask leaves out."""

    source: Source
    kept: Int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape[0], len(self.kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def resident(self) -> bool:
        return self.source.resident

    @property
    def chunks(self) -> tuple[int, ...]:
        return self.source.chunks

    def read(self, *box: slice) -> AnyArray:
        rows, features = box
        chosen = self.kept[features]
        first, stop = int(chosen[0]), int(chosen[-1]) + 1
        values = self.source.read(rows, slice(first, stop))
        if stop - first == len(chosen):
            return values
        return values[:, chosen - first]

    def decoded(self, axis: int, ranges: Ranges) -> int:
        if axis == 0:
            return self.source.decoded(0, ranges)
        starts, stops = ranges
        return self.source.decoded(1, (self.kept[starts], self.kept[stops - 1] + 1))

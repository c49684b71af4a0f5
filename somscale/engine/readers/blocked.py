"""Dask arrays as samples: which blocks a task needs, and what it makes of them.

Blocks become dependencies of the tasks; the arrays themselves are never computed whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from somscale._types import AnyArray, Int
from somscale.engine.readers.boxes import readings
from somscale.engine.readers.sources import BlocksSource, Source
from somscale.engine.readers.views import JoinedFeatures, SelectedFeatures, flatten

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed

__all__ = ["Arrival", "Blocks"]


@dataclass(frozen=True)
class _Part:
    """One Dask array, and the order of its dims: the samples', then the features'."""

    array: da.Array
    order: tuple[int, ...]

    @cached_property
    def edges(self) -> list[Int]:
        """Where the blocks begin along every dim, and where the last one ends."""
        return [np.cumsum([0, *sizes]) for sizes in self.array.chunks]


@dataclass(frozen=True)
class _Layout:
    """How the blocks of one array that a task is given lie in it."""

    numbers: Sequence[tuple[int, ...]]
    edges: Sequence[Sequence[int]]
    shape: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Arrival:
    """Turns the blocks that a task was given into the samples it asked for."""

    layouts: Sequence[_Layout]
    n_sample_dims: int
    kept: Int | None = None

    @classmethod
    def of_rows(cls, start: int, stop: int, shape: Sequence[int]) -> Arrival:
        """Of one block: some rows of an array (sample, feature) in memory."""
        edges = [[start, stop], [0, shape[1]]]
        return cls([_Layout([(0, 0)], edges, tuple(shape), (0, 1))], 1)

    def source(self, blocks: Sequence[AnyArray]) -> Source:
        """The samples × features that the blocks hold, at their places in the whole."""
        parts, first = [], 0
        for layout in self.layouts:
            own = blocks[first : first + len(layout.numbers)]
            first += len(layout.numbers)
            held = dict(zip(layout.numbers, own, strict=True))
            source = BlocksSource(held, layout.edges, layout.shape)
            parts.append(flatten(source, layout.order, self.n_sample_dims))
        joined: Source = parts[0] if len(parts) == 1 else JoinedFeatures(tuple(parts))
        return joined if self.kept is None else SelectedFeatures(joined, self.kept)


@dataclass(frozen=True)
class Blocks:
    """Samples in one Dask array, or in several whose features stand side by side.

    Parameters
    ----------
    parts : sequence of _Part
        The arrays.
    n_sample_dims : int
        The first dims, in the order of each part, are the samples'.
    kept : (D',) integer, optional
        Features that take part.
    """

    parts: tuple[_Part, ...]
    n_sample_dims: int = 1
    kept: Int | None = None

    @classmethod
    def of(cls, array: da.Array, order: Sequence[int] = (0, 1), n_sample_dims: int = 1) -> Blocks:
        """Samples in one Dask array."""
        return cls((_Part(array, tuple(order)),), n_sample_dims)

    @classmethod
    def joined(cls, several: Sequence[Blocks]) -> Blocks:
        """Samples whose features are in several arrays, one after the other."""
        parts = tuple(part for blocks in several for part in blocks.parts)
        return cls(parts, several[0].n_sample_dims)

    def select(self, kept: Int) -> Blocks:
        """The same samples without some features."""
        return replace(self, kept=kept)

    def again(self, after: Delayed, seed: str) -> Blocks:
        """The same samples, computed anew once something else is there.

        A second pass over the same blocks would have all of them kept from the first on.
        Equal seeds must mean an equal `after`.
        """
        from dask.graph_manipulation import bind

        parts = [replace(part, array=bind(part.array, after, seed=seed)) for part in self.parts]
        return replace(self, parts=tuple(parts))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        sizes = [
            (math.prod(part.array.shape[axis] for axis in part.order[self.n_sample_dims :]))
            for part in self.parts
        ]
        width = sum(sizes) if self.kept is None else len(self.kept)
        return math.prod(self._sample_shape), width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.result_type(*(part.array.dtype for part in self.parts))

    @property
    def whole(self) -> da.Array:
        """The one array (sample, feature) that these are."""
        if len(self.parts) > 1 or self.kept is not None or self.parts[0].array.ndim != 2:
            raise ValueError("the samples are more than one array of two dims")
        array: da.Array = self.parts[0].array.transpose(self.parts[0].order)
        return array

    @property
    def name(self) -> str:
        """Equal names mean equal values."""
        names = [f"{part.array.name}{part.order}" for part in self.parts]
        kept = "" if self.kept is None else self.kept.tobytes().hex()
        return f"{names}{self.n_sample_dims}{kept}"

    @property
    def chunk_rows(self) -> int:
        """Samples that come together at most."""
        sizes = self._sample_shape
        most = 1
        for part in self.parts:
            for number, axis in enumerate(part.order[: self.n_sample_dims]):
                if (chunk := max(part.array.chunks[axis])) > 1:
                    most = max(most, chunk * math.prod(sizes[number + 1 :]))
                    break
        return most

    def inputs(self, start: int, stop: int) -> tuple[list[Delayed], Arrival]:
        """The blocks that hold some samples, and how to read them once they are there."""
        delayed: list[Delayed] = []
        layouts = []
        for part in self.parts:
            found, layout = self._blocks_of(part, start, stop)
            delayed += found
            layouts.append(layout)
        return delayed, Arrival(layouts, self.n_sample_dims, self.kept)

    @property
    def _sample_shape(self) -> tuple[int, ...]:
        first = self.parts[0]
        return tuple(first.array.shape[axis] for axis in first.order[: self.n_sample_dims])

    def _blocks_of(self, part: _Part, start: int, stop: int) -> tuple[list[Delayed], _Layout]:
        array, n_dims, edges = part.array, part.array.ndim, part.edges
        found: dict[tuple[int, ...], Delayed] = {}
        for reading in readings(start, stop, self._sample_shape):
            wanted = [slice(0, count) for count in array.numblocks]
            for axis, box in zip(part.order, reading.box, strict=False):
                first = int(np.searchsorted(edges[axis], box.start, side="right")) - 1
                wanted[axis] = slice(first, int(np.searchsorted(edges[axis], box.stop)))
            corner = [blocks.start for blocks in wanted]
            nodes = array.blocks[tuple(wanted)].to_delayed(optimize_graph=False)
            for place in np.ndindex(nodes.shape):
                number = tuple(int(a + b) for a, b in zip(corner, place, strict=True))
                found.setdefault(number, nodes[place])
        lowest = [min(number[axis] for number in found) for axis in range(n_dims)]
        highest = [max(number[axis] for number in found) for axis in range(n_dims)]
        own = [
            edges[axis][lowest[axis] : highest[axis] + 2].tolist()  # with the last one's end
            for axis in range(n_dims)
        ]
        numbers = [
            tuple(n - low for n, low in zip(number, lowest, strict=True)) for number in found
        ]
        return list(found.values()), _Layout(numbers, own, array.shape, part.order)

"""A job: reductions to run over the same samples in one pass, and how its work is cut."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.sources import Ranges, Source
from somscale.reductions.base import LinearReduction

__all__ = ["FREE_TILE_ROWS", "Cut", "LinearJob"]

FREE_TILE_ROWS = 1 << 18
"""Rows of a tile where every sum is of integers, so that any tile gives the same."""


@dataclass(frozen=True)
class LinearJob:
    """Reductions over one read of the samples, in the order in which they publish.

    Parameters
    ----------
    reductions : sequence of LinearReduction
        All see the same tiles.
    n_rows, n_features : int
        Samples N and features D; D is 0 where only columns are read.
    source : Source, optional
        Where the samples are read from.
    blocks : Blocks, optional
        The samples in Dask arrays, instead of `source`.
    columns : mapping of str to RowValues
        Codes, weights and masks read beside the samples.
    """

    reductions: Sequence[LinearReduction[Any]]
    n_rows: int
    n_features: int = 0
    source: Source | None = None
    blocks: Blocks | None = None
    columns: Mapping[str, RowValues] = field(default_factory=dict)

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: fixed by the reductions, never by chunks, workers or memory."""
        sizes = [r.tile_rows for r in self.reductions if r.tile_rows is not None]
        return min(sizes, default=FREE_TILE_ROWS)

    @property
    def n_tiles(self) -> int:
        """Tiles of the pass."""
        return math.ceil(self.n_rows / self.tile_rows)

    @property
    def sweeps(self) -> int:
        """The most walks over the features of some rows."""
        return max((r.sweeps for r in self.reductions), default=0)

    @property
    def operations(self) -> float:
        """Arithmetic operations of the whole pass."""
        return self.n_rows * sum(r.operations for r in self.reductions)

    def with_source(self, source: Source) -> LinearJob:
        """The same job on samples that have arrived."""
        return replace(self, source=source, blocks=None)


@dataclass(frozen=True)
class Cut:
    """How a job's work is cut; it decides speed and memory, never a digit of a result.

    Parameters
    ----------
    order : {"rows", "features"}
        "rows" reads a task's rows whole and walks them from memory; "features"
        keeps the rows' sums and reads the features slab by slab, once a sweep.
    run_tiles : int
        Tiles of a task, a power of two.
    slab : int
        Features at hand at a time.
    piece_rows : int
        Rows at hand at a time in "rows" order.
    fan_in : int
        Partials merged by one task, a power of two.
    read_rows : int
        Rows read at a time in "rows" order, from multiples of it on; 0: all of a task.
    """

    order: Literal["rows", "features"]
    run_tiles: int
    slab: int
    piece_rows: int
    fan_in: int = 16
    read_rows: int = 0

    def runs(self, job: LinearJob) -> int:
        """Tasks that read samples."""
        return math.ceil(job.n_tiles / self.run_tiles)

    def run_rows(self, job: LinearJob, run: int) -> tuple[int, int]:
        """First row of a run, and the row after its last."""
        size = self.run_tiles * job.tile_rows
        return run * size, min(job.n_rows, (run + 1) * size)

    def windows(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The rows that are read at a time, of a task's."""
        if not self.read_rows:
            return [(start, stop)]
        inner = range((start // self.read_rows + 1) * self.read_rows, stop, self.read_rows)
        return list(itertools.pairwise([start, *inner, stop]))

    def ranges(self, job: LinearJob) -> Ranges:
        """The rows that all tasks read at a time."""
        size = self.run_tiles * job.tile_rows
        edges = np.arange(0, job.n_rows, size)
        if self.order == "rows" and self.read_rows:
            edges = np.union1d(edges, np.arange(0, job.n_rows, self.read_rows))
        return edges, np.append(edges[1:], job.n_rows)

    def slabs(self, n_features: int) -> Iterator[slice]:
        """The slabs of features, in order."""
        for start in range(0, n_features, self.slab):
            yield slice(start, min(start + self.slab, n_features))

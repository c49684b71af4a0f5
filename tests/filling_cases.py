"""Matrices that are filled into files or memory, and what must be in them."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from somscale.engine.pairs.filling import Filling, fill_matrix
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.pair_builder import Builder, fill
from somscale.metrics.passes.pair_passes import late_of
from somscale.reductions.base import Side
from somscale.reductions.distance_blocks import DistanceBlocks
from somscale.reductions.neighbor_walk import RankRowsWalk

Array = NDArray[Any]
Kind = Literal["distances", "ranks"]
Box = tuple[int, int, int, int]
EUCLIDEAN = Measure("euclidean")


class MemoryTarget:
    """A matrix in memory; notes every block."""

    def __init__(self, n: int, dtype: Any, fill_value: Any) -> None:
        self.values = np.full((n, n), fill_value, dtype)
        self.fill_value = fill_value
        self.boxes: list[Box] = []
        self._lock = threading.Lock()

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def fresh(self, shape: tuple[int, int]) -> Array:
        return np.full(shape, self.fill_value, self.dtype)

    def write(self, row: int, column: int, values: Array) -> None:
        assert values.dtype == self.dtype
        height, width = values.shape
        self.values[row : row + height, column : column + width] = values
        with self._lock:
            self.boxes.append((row, column, height, width))


@dataclass(frozen=True)
class FolderTarget:
    """A matrix whose blocks are files, so that workers of any kind write to it."""

    folder: Path
    dtype: np.dtype[Any]
    fill_value: Any

    def fresh(self, shape: tuple[int, int]) -> Array:
        return np.full(shape, self.fill_value, self.dtype)

    def write(self, row: int, column: int, values: Array) -> None:
        name = f"{row}-{column}-{os.getpid()}-{uuid.uuid4().hex}.npy"
        np.save(self.folder / name, values)

    def read(self, n: int) -> tuple[Array, list[Box], set[int]]:
        """The matrix, its blocks, and the processes that wrote them."""
        whole, boxes, writers = np.full((n, n), self.fill_value, self.dtype), [], set()
        for path in self.folder.glob("*.npy"):
            row, column, writer = map(int, path.name.split("-")[:3])
            values = np.load(path)
            height, width = values.shape
            whole[row : row + height, column : column + width] = values
            boxes.append((row, column, height, width))
            writers.add(writer)
        return whole, boxes, writers


@dataclass(frozen=True)
class Cut:
    """Rows of a tile, and the power of two of tiles in a block."""

    tile_rows: int = 8
    power: int = 1
    pending: Callable[[int, int], bool] = field(default=lambda row, column: True)

    @property
    def unit_rows(self) -> int:
        return self.tile_rows << self.power


def job_of(
    samples: Samples,
    kind: Kind = "distances",
    measure: Measure = EUCLIDEAN,
    tile_rows: int = 8,
    operations: float | None = None,
) -> PairJob:
    """The walk that writes a matrix; many `operations` a pair keep it from running alone."""
    problem = Problem({}, samples)
    builder = Builder(problem, samples)
    space = builder.samples_space(measure)
    choice = replace(builder.choice(), sort_by=None)
    n, d = samples.shape
    walk: Any
    if kind == "ranks":
        walk = RankRowsWalk("ranks", builder.spaces, space, choice, n_samples=n, n_features=d)
        walk.tile_rows = tile_rows
    else:
        placed = builder.spaces[space]
        walk = DistanceBlocks(space, placed, choice, n_features=d, tile_rows=tile_rows)
    if operations is not None:
        walk.operations = operations
    return fill(builder.over_samples(walk), late_of(problem, samples, {}))


def dtype_of(kind: Kind, n: int, dtype: Any = np.float64) -> np.dtype[Any]:
    """Type of a matrix."""
    return np.min_scalar_type(n) if kind == "ranks" else np.dtype(dtype)


def nothing_of(kind: Kind, n: int) -> Any:
    """What no entry is."""
    return np.iinfo(np.min_scalar_type(n)).max if kind == "ranks" else np.nan


def filled(
    samples: Samples,
    kind: Kind = "distances",
    measure: Measure = EUCLIDEAN,
    cut: Cut | None = None,
    dtype: Any = np.float64,
    operations: float | None = None,
) -> Array:
    """A matrix in memory, every block of it written once and whole."""
    cut, n = Cut() if cut is None else cut, samples.shape[0]
    job = job_of(samples, kind, measure, cut.tile_rows, operations)
    target = MemoryTarget(n, dtype_of(kind, n, dtype), nothing_of(kind, n))
    fill_matrix(Filling(job, target, cut.unit_rows, cut.pending))
    assert_blocks(target.boxes, n, cut.unit_rows, job.side)
    return target.values


def blocks_of(n: int, unit_rows: int, side: Side) -> list[Box]:
    """All blocks of a matrix, sorted."""
    starts = range(0, n, unit_rows)
    if side is Side.SWEEPS:
        return [(top, 0, min(unit_rows, n - top), n) for top in starts]
    return [
        (top, left, min(unit_rows, n - top), min(unit_rows, n - left))
        for top in starts
        for left in starts
    ]


def assert_blocks(boxes: list[Box], n: int, unit_rows: int, side: Side) -> None:
    """Every block was written once, and whole."""
    assert sorted(boxes) == blocks_of(n, unit_rows, side)


def table_of(values: Array, measure: Measure = EUCLIDEAN) -> Array:
    """Distances of all pairs as scipy has them."""
    x = np.asarray(values, np.float64)
    if callable(measure.distance):
        return np.asarray(measure.distance(values, values))
    settings = {"p": measure.p} if measure.distance == "minkowski" else {}
    table: Array = cdist(x, x, measure.distance, **settings)
    return table


def on_all(part: Array, taken: Array, fill_value: Any) -> Array:
    """A matrix of the samples that take part, on all."""
    n = len(taken)
    whole = np.full((n, n), fill_value, part.dtype)
    whole[np.ix_(taken, taken)] = part
    return whole


def rank_table(table: Array) -> Array:
    """Ranks by a plain sort of every row's others: of equal distances the least, self 0."""
    n = len(table)
    found = np.zeros((n, n), np.int64)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        order = others[np.argsort(table[i, others], kind="stable")]
        rank = 0
        for place, j in enumerate(order, 1):
            if place == 1 or table[i, j] != table[i, order[place - 2]]:
                rank = place
            found[i, j] = rank
    return found

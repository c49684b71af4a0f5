"""Reductions over pairs, sources and a sink that the tests of the pair engine share."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import dask.array as da
import numpy as np
import zarr

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.sources import ArraySource, ZarrSource
from somscale.options import set_options
from somscale.reductions.base import (
    Block,
    Field,
    Given,
    PairWorkspace,
    Partial,
    Side,
    fresh_partial,
)

TILE = 8
N, D = 107, 3
# Work per pair decides the size of tasks: one of all tiles, several squares, one of a tile each.
WHOLE_WALK, SQUARES, TILES = 1.0, 1e7, 1e9


def distances(block_i: Block, block_j: Block) -> np.ndarray:
    left, right = block_i.values.astype(float), block_j.values.astype(float)
    return np.sqrt(((left[:, None] - right[None]) ** 2).sum(axis=-1))


class Counted:
    """A reduction that counts its tiles and fails where it is told to."""

    tile_rows = TILE
    calls: ClassVar[list[tuple[int, int]]] = []
    fail_at: ClassVar[int | None] = None
    workspace = PairWorkspace()

    def __init__(self, operations: float = WHOLE_WALK) -> None:
        self.operations = operations

    def count(self, block_i: Block, block_j: Block) -> None:
        Counted.calls.append((block_i.start, block_j.start))
        if len(Counted.calls) == Counted.fail_at:
            raise ArithmeticError("this tile fails")

    def start(self, block_i: Block) -> Partial:
        return {}

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        return gathered

    def finalize(self, total: Partial) -> Partial:
        return total


class PairSums(Counted):
    """Sums, extremes and rounded distances over unordered pairs."""

    name = "pair-sums"
    side = Side.BOTH
    fields: ClassVar[dict[str, Field]] = {
        "pairs": Field("sum", "int64"),
        "total": Field("sum"),
        "largest": Field("max"),
        "smallest": Field("min"),
        "rounded": Field("keyed", "int64"),
    }

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        self.count(block_i, block_j)
        values = distances(block_i, block_j)
        once = np.triu(np.ones(values.shape, bool), 1) if block_i is block_j else values > -1
        found = values[once]
        keys, counts = np.unique(np.rint(found).astype(np.int64), return_counts=True)
        assert not partial["pairs"]
        partial["pairs"] += found.size
        partial["total"] += found.sum()
        partial["largest"][...] = found.max(initial=-np.inf)
        partial["smallest"][...] = found.min(initial=np.inf)
        partial["rounded"] = np.stack([keys, counts])


class Marks(Counted):
    """Marks every pair in an N×N matrix."""

    name = "marks"

    def __init__(self, side: Side, tile_rows: int, operations: float) -> None:
        super().__init__(operations)
        self.side, self.tile_rows = side, tile_rows
        self.fields = {"seen": Field("sum", "int64", (N, N))}

    def start(self, block_i: Block) -> Partial:
        return fresh_partial(self.fields)

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        seen = np.zeros((N, N), np.int64)
        seen[block_i.start : block_i.stop, block_j.start : block_j.stop] = 1
        both = self.side is Side.BOTH
        partial["seen"] += np.triu(seen, 1) if both else seen * (1 - np.eye(N, dtype=int))


class RowSums(Counted):
    """Values of every sample, gathered over all others."""

    name = "row-sums"
    side = Side.ROWS
    fields: ClassVar[dict[str, Field]] = {
        "sums": Field("concat"),
        "farthest": Field("concat"),
        "total": Field("sum"),
        "heaviest_tile": Field("max"),
    }

    def start(self, block_i: Block) -> Partial:
        return fresh_partial(
            {"sums": Field("concat"), "farthest": Field("concat")}, n_rows=len(block_i)
        )

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        assert (block_i is block_j) == (block_i.start == block_j.start)
        self.count(block_i, block_j)
        values = distances(block_i, block_j)
        partial["sums"] += values.sum(axis=1)
        np.maximum(partial["farthest"], values.max(axis=1), out=partial["farthest"])

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        total = gathered["sums"].sum()
        return {**gathered, "total": np.asarray(total), "heaviest_tile": np.asarray(total)}


class CodePairs(Counted):
    """Counts pairs of codes that are read beside the samples."""

    name = "code-pairs"
    side = Side.BOTH
    fields: ClassVar[dict[str, Field]] = {"table": Field("sum", "int64", (3, 3))}

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        assert block_i.values.shape == (len(block_i), 0)
        i, j = np.triu_indices(len(block_i), 1)
        if block_i is not block_j:
            i, j = np.indices((len(block_i), len(block_j))).reshape(2, -1)
        pairs = block_i.columns["code"][i], block_j.columns["code"][j]
        np.add.at(partial["table"], pairs, 1)


class CountingSource(ArraySource):
    """Samples that are not in memory, as far as the engine can tell; counts the bytes it reads."""

    bytes_read: ClassVar[list[int]] = []
    last: ClassVar[weakref.ref[np.ndarray] | None] = None

    def __init__(self, values: np.ndarray, log: Path | None = None) -> None:
        super().__init__(values, chunks=(5, values.shape[1]), resident=False)
        object.__setattr__(self, "log", log)

    def read(self, rows: slice, features: slice) -> np.ndarray:
        first, last = rows.start // 5 * 5, min(-(-rows.stop // 5) * 5, len(self.values))
        CountingSource.bytes_read.append((last - first) * self.values.strides[0])
        values = np.array(self.values[rows, features])
        CountingSource.last = weakref.ref(values)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{os.getpid()} {len(values)}\n")
        return values


def whole_walk(reduction: type[Counted]) -> int:
    tiles = -(-N // TILE)
    return tiles * tiles if reduction is RowSums else tiles * (tiles + 1) // 2


def samples(n: int = N) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, D)).astype(np.float32)


def job_of(values: np.ndarray, *reductions: Any) -> PairJob:
    return PairJob(reductions, *values.shape, source=ArraySource(values))


def reference(values: np.ndarray, reduction: type[Counted]) -> Partial:
    with set_options(scheduler="serial"):
        return run_pairs(job_of(values, reduction()))[0]


def assert_same_bits(found: Partial, expected: Partial) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], strict=True)


KINDS: dict[str, Callable[[np.ndarray, Path], dict[str, Any]]] = {
    "numpy": lambda x, _: {"source": ArraySource(x)},
    "zarr": lambda x, p: {"source": ZarrSource(zarr.create_array(p, data=x, chunks=(13, 2)))},
    "dask": lambda x, _: {"blocks": Blocks.of(da.from_array(x, chunks=(11, 2)))},
}


def reset() -> None:
    """Forget what was counted."""
    Counted.calls, Counted.fail_at, CountingSource.bytes_read = [], None, []

"""Walks of one reduction over small tiles, cut in every way that engines may cut them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from somscale._types import AnyArray
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.walk import walk_pairs
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.sources import ArraySource
from somscale.reductions.base import Field, Partial, Side
from somscale.reductions.merge import Fold

__all__ = ["LinearWalk", "Node", "PairsWalk", "Walk", "fold_all", "walk_of"]

Node: TypeAlias = tuple[int, int, Partial]
"""Level, number and partial of a node of the tree."""


class Walk(ABC):
    """A reduction and what it walks over.

    Attributes
    ----------
    reduction : reduction
        The one that is looked at.
    """

    def __init__(self, reduction: Any) -> None:
        self.reduction = reduction

    @property
    @abstractmethod
    def n_tiles(self) -> int:
        """Tiles along one side."""

    @abstractmethod
    def with_reduction(self, reduction: Any) -> Walk:
        """The same walk of a copy of the reduction."""

    @abstractmethod
    def tasks(self, run_tiles: int) -> int:
        """Number of tasks of so many tiles along one side."""

    @abstractmethod
    def node(self, task: int, run_tiles: int) -> Node:
        """What one task finds."""

    @abstractmethod
    def cuts(self) -> Iterator[tuple[str, list[Node]]]:
        """The whole walk, cut in other ways, each in words."""


@dataclass(frozen=True)
class _SmallLinearJob(LinearJob):
    rows: int = 8

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: few."""
        return self.rows


@dataclass(frozen=True)
class _SmallPairJob(PairJob):
    rows: int = 8

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: few."""
        return self.rows


class LinearWalk(Walk):
    """A linear reduction, after those whose words it needs."""

    def __init__(self, reduction: Any, job: LinearJob) -> None:
        super().__init__(reduction)
        self.job = job

    @property
    def n_tiles(self) -> int:
        """Tiles of the pass."""
        return self.job.n_tiles

    def with_reduction(self, reduction: Any) -> Walk:
        """The same walk of a copy of the reduction."""
        reductions = [*self.job.reductions[:-1], reduction]
        return LinearWalk(reduction, replace(self.job, reductions=reductions))

    def tasks(self, run_tiles: int) -> int:
        """Number of tasks."""
        return self._plain(run_tiles).runs(self.job)

    def node(self, task: int, run_tiles: int) -> Node:
        """What one task finds."""
        return self._node(self._plain(run_tiles), task)

    def _plain(self, run_tiles: int) -> Cut:
        return Cut("rows", run_tiles, max(1, self.job.n_features), self.job.tile_rows)

    def _node(self, cut: Cut, task: int) -> Node:
        partials = walk_run(self.job, cut, task)
        return cut.run_tiles.bit_length() - 1, task, partials[-1]

    def cuts(self) -> Iterator[tuple[str, list[Node]]]:
        """Rows in pieces, features in slabs, features outside and rows inside."""
        whole, rows = max(1, self.job.n_features), self.job.tile_rows
        for words, cut in {
            "rows in pieces of 3": Cut("rows", 2, whole, 3),
            "rows read 5 at a time": Cut("rows", 4, whole, rows, read_rows=5),
            "features in slabs of one": Cut("rows", 1, 1, rows),
            "features outside and rows inside": Cut("features", 2, 2, rows),
        }.items():
            yield words, [self._node(cut, task) for task in range(cut.runs(self.job))]


class PairsWalk(Walk):
    """A reduction over pairs of samples, of any side."""

    def __init__(self, reduction: Any, job: PairJob) -> None:
        super().__init__(reduction)
        self.job = job

    @property
    def n_tiles(self) -> int:
        """Tiles along one side."""
        return self.job.n_tiles

    def with_reduction(self, reduction: Any) -> Walk:
        """The same walk of a copy of the reduction."""
        return PairsWalk(reduction, replace(self.job, reductions=[reduction]))

    def tasks(self, run_tiles: int) -> int:
        """Number of tasks."""
        return self._plain(run_tiles).n_tasks(self.job)

    def node(self, task: int, run_tiles: int) -> Node:
        """What one task finds."""
        return self._node(self._plain(run_tiles), task)

    def _plain(self, run_tiles: int) -> PairCut:
        if self.job.side is not Side.SWEEPS:
            return PairCut(run_tiles, 1, "memory")
        way = self.reduction.ways(self.job.n_rows)[0]
        return PairCut(run_tiles, _power_over(self.job.sample_tiles), "memory", way=way)

    def _node(self, cut: PairCut, task: int) -> Node:
        square = cut.tasks(self.job)[task]
        (partial,) = walk_pairs(self.job, cut, square, self.job.stored or self.job.source)
        return cut.level(self.job), square.number, partial

    def cuts(self) -> Iterator[tuple[str, list[Node]]]:
        """Panels of one tile and of several; sweeps in every way that the reduction offers."""
        for words, cut in self._cuts():
            yield words, [self._node(cut, task) for task in range(cut.n_tasks(self.job))]

    def _cuts(self) -> Iterator[tuple[str, PairCut]]:
        if self.job.side is not Side.SWEEPS:
            for tiles in (2, 4):
                yield f"panels of {tiles} tiles", PairCut(4, tiles, "memory")
            return
        every = _power_over(self.job.sample_tiles)
        for way in self.reduction.ways(self.job.n_rows):
            words = f"groups of {way.group_rows} rows in {way.sweeps} sweeps"
            yield words, PairCut(2, every, "memory", way=way)
            if way.panels or way.sweeps == 2:
                panels = PairCut(2, 1, "memory", way=way, together=True)
                yield f"{words}, all samples in panels of a tile", panels


def _power_over(tiles: int) -> int:
    return 1 << (tiles - 1).bit_length()


def fold_all(fields: Mapping[str, Field], nodes: Sequence[Node]) -> Partial:
    """Merge nodes of a tree."""
    fold = Fold(fields)
    for node in nodes:
        fold.add(*node)
    total = fold.result()
    if total is None:
        raise ValueError("a walk has at least one node")
    return total


def walk_of(
    reduction: Any,
    samples: AnyArray,
    columns: Mapping[str, RowValues],
    after: Sequence[Any],
    tile_rows: int,
    matrix: AnyArray | None,
) -> Walk:
    """The walk that a reduction asks for."""
    source, shape = ArraySource(samples), (len(samples), samples.shape[1])
    if hasattr(reduction, "side"):
        given = None if matrix is None else ArraySource(matrix)
        of_pairs = _SmallPairJob(
            [reduction], *shape, source=source, columns=columns, matrix=given, rows=tile_rows
        )
        return PairsWalk(reduction, of_pairs)
    job = _SmallLinearJob(
        [*after, reduction], *shape, source=source, columns=columns, rows=tile_rows
    )
    return LinearWalk(reduction, job)

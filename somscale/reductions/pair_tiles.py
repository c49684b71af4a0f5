"""What accumulators of a walk over pairs see: rows at hand, their groups, tiles of distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.reductions.base import Field, Partial

__all__ = ["Accumulator", "PairTile", "RowAccumulator", "RowsAtHand", "Runs"]


@dataclass(frozen=True)
class Runs:
    """Rows put in the order of their groups: run r is ``order[starts[r]:starts[r + 1]]``.

    Attributes
    ----------
    order : (n,) int64
        Positions of the rows that have a group, group by group.
    starts : (r + 1,) int64
        Where each run begins, and where the last one ends.
    groups : (r,) int64
        The group of each run, ascending.
    """

    order: Int
    starts: Int
    groups: Int

    @classmethod
    def of(cls, codes: Int) -> Runs:
        """Runs of the rows with these codes; rows of negative codes are in none."""
        order = np.argsort(codes, kind="stable").astype(np.int64)
        order = order[int(np.count_nonzero(codes < 0)) :]
        ordered = codes[order].astype(np.int64)
        new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        starts = np.concatenate([[0], new, [len(order)]]).astype(np.int64)
        starts = starts if len(order) else starts[:1]
        return cls(order, starts, ordered[starts[:-1]])


@dataclass(frozen=True)
class RowsAtHand:
    """Some rows of a block, those that take part.

    Attributes
    ----------
    numbers : (n,) int64
        Numbers of the samples.
    columns : mapping of str to (n,) array
        Codes of these rows; negative where a sample is in no group.
    """

    numbers: Int
    columns: Mapping[str, AnyArray]
    _runs: dict[str, Runs] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def runs(self, column: str) -> Runs:
        """These rows in the order of their groups."""
        if column not in self._runs:
            self._runs[column] = Runs.of(self.columns[column])
        return self._runs[column]

    def part(self, rows: slice) -> RowsAtHand:
        """Some of these rows."""
        columns = {name: codes[rows] for name, codes in self.columns.items()}
        return RowsAtHand(self.numbers[rows], columns)


@dataclass(frozen=True)
class PairTile:
    """Distances between some rows and some columns, few enough to stay in cache.

    Attributes
    ----------
    left, right : RowsAtHand
        The rows and the columns.
    distances : mapping of str to (n, m) float64
        By the names of the spaces.
    left_start, right_start : int
        Positions of the first row and the first column in the whole of their blocks.
    offset : int
        Row p forms pairs with the columns from ``p + offset + 1`` on: the others were met
        as rows before, or are the row itself.  Very negative where all columns count.
    """

    left: RowsAtHand
    right: RowsAtHand
    distances: Mapping[str, Float]
    left_start: int
    right_start: int
    offset: int


class Accumulator(Protocol):
    """What a walk that sees every unordered pair once adds up."""

    @property
    def name(self) -> str:
        """Prefix of its fields within the walk."""

    @property
    def needs(self) -> Sequence[str]:
        """Names of the spaces whose distances it reads."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial."""

    def tile_bytes(self, rows: int) -> int:
        """Bytes held while a tile of so many rows and columns is accumulated."""

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> Any:
        """Start a tile of two blocks, or of one and itself."""

    def add(self, state: Any, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""

    def end(self, state: Any) -> None:
        """Finish the tile."""

    def finalize(self, total: Partial) -> Any:
        """Turn the merged partial into finished statistics."""


class RowAccumulator(Protocol):
    """What a walk that keeps some rows adds up over all other rows."""

    @property
    def name(self) -> str:
        """Prefix of its fields within the walk."""

    @property
    def needs(self) -> Sequence[str]:
        """Names of the spaces whose distances it reads."""

    def gathered(self, n_rows: int) -> Mapping[str, Field]:
        """What so many kept rows gather, and how it merges over the other rows."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of the partial of kept rows that have met all others."""

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Take a tile whose *columns* are some of the kept rows and whose rows are others."""

    def meet(self, others: RowsAtHand, gathered: Partial) -> None:
        """Take note of other rows, once for all kept ones."""

    def finish(self, kept: RowsAtHand, gathered: Partial) -> Partial:
        """The partial of kept rows that have met all others."""

    def finalize(self, total: Partial) -> Any:
        """Turn the merged partial into finished statistics."""

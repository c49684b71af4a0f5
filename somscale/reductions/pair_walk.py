"""The walk over pairs: each tile's distances once, for all that add them up.

A walk hosts one or two *spaces* over the same samples, such as the samples' own and that
of a projection, and any number of *accumulators*.  A tile of pairs is cut into parts that
stay in cache; a space writes the distances of a part, and every accumulator reads them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from somscale._types import Bool, Float
from somscale.errors import SampleValueError
from somscale.reductions.base import (
    Block,
    Field,
    Given,
    PairWorkspace,
    Partial,
    Side,
    fresh_partial,
)
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows, RowChoice, told_spaces
from somscale.reductions.pair_tiles import Accumulator, PairTile, RowAccumulator
from somscale.spaces.base import BadPair
from somscale.spaces.given import StoredValues, check_matrix_tile

__all__ = ["PAIR_TILE_ROWS", "PairWalk", "RowWalk", "SpacesWalk", "tile_rows_of"]

PAIR_TILE_ROWS = 2048
"""Rows of a tile of pairs.  Part of every result's last digits: never change it."""

_FEWEST_ROWS = 128
_BLOCK_ELEMENTS = 1 << 22
"""Values of a block's samples, and values that its rows gather, at most (32 MiB)."""

_PART_ROWS, _PART_COLUMNS = 256, 512
"""A part of a tile: 1 MiB of distances, which the next loops find in cache."""


def tile_rows_of(*values_of_a_row: int) -> int:
    """Rows of a tile, from how many values a row has: by the data's shape, never by memory."""
    rows = PAIR_TILE_ROWS
    while rows > _FEWEST_ROWS and rows * max(values_of_a_row, default=0) > _BLOCK_ELEMENTS:
        rows //= 2
    return rows


class SpacesWalk:
    """What walks over pairs share: spaces, chosen rows, and parts of tiles."""

    side: Side

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        choice: RowChoice,
        *,
        n_features: int,
        tile_rows: int,
        matrix: str | None = None,
        stored: StoredValues | None = None,
    ) -> None:
        self.name = name
        self.spaces = dict(spaces)
        self.choice = choice
        self.tile_rows = tile_rows
        self.matrix = matrix
        self.stored = stored
        self.n_features = n_features
        self.operations = sum(
            placed.space.operations(n_features if placed.column is None else 2) + 4
            for placed in self.spaces.values()
        ) + (2.0 if matrix else 0.0)

    accumulators: Sequence[Any] = ()

    def told(
        self,
        *,
        center: Float | None,
        missing_features: Bool | None,
        largest: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """The same walk once it is known where the samples lie, and what they all lack.

        `largest` has the largest distances for tables of bins, by the accumulators' names.
        """
        found = copy.copy(self)
        found.accumulators = [
            a.reaching(largest[a.name]) if largest and a.name in largest else a
            for a in self.accumulators
        ]
        found.choice = replace(self.choice, missing_features=missing_features)
        found.spaces = told_spaces(self.spaces, center, missing_features)
        return found

    def prepared(self, block: Block) -> PreparedRows:
        """The rows of a block that take part, made ready once."""
        if self.name not in block.memo:
            block.memo[self.name] = PreparedRows.of(block, self.spaces, self.choice)
        found: PreparedRows = block.memo[self.name]
        return found

    def parts(
        self, left: PreparedRows, right: PreparedRows, *, same: bool, given: Given | None
    ) -> Iterator[tuple[PairTile, slice]]:
        """Parts of a tile with their distances, and the columns of each.

        With `same` only what lies above the diagonal.
        """
        size = min(_PART_ROWS, len(left)) * min(_PART_COLUMNS, len(right))
        names = [*self.spaces, *([self.matrix] if self.matrix else [])]
        buffers = {name: np.empty(size) for name in names}
        for top in range(0, len(left), _PART_ROWS):
            rows = slice(top, min(top + _PART_ROWS, len(left)))
            for first in range(0, len(right), _PART_COLUMNS):
                columns = slice(first, min(first + _PART_COLUMNS, len(right)))
                if same and columns.stop <= rows.start + 1:
                    continue
                shape = rows.stop - rows.start, columns.stop - columns.start
                # loops over what is contiguous run in vectors
                distances = {
                    name: buffer[: shape[0] * shape[1]].reshape(shape)
                    for name, buffer in buffers.items()
                }
                self._measure(left, right, rows, columns, distances, given)
                offset = top - first if same else -len(left) - 1
                tile = PairTile(left.part(rows), right.part(columns), distances, top, first, offset)
                yield tile, columns

    def _measure(
        self,
        left: PreparedRows,
        right: PreparedRows,
        rows: slice,
        columns: slice,
        distances: Mapping[str, Float],
        given: Given | None,
    ) -> None:
        for name, placed in self.spaces.items():
            a, b = left.prepared[name].part(rows), right.prepared[name].part(columns)
            try:
                placed.space.distances(
                    a, b, distances[name], same=left is right and rows == columns
                )
            except BadPair as bad:
                names = self.choice.names.samples
                one = names.describe(int(left.rows.numbers[rows][bad.left]))
                other = names.describe(int(right.rows.numbers[columns][bad.right]))
                raise SampleValueError(f"{one} and {other}: {bad.problem}; {bad.remedy}") from None
        if self.matrix is not None and given is not None:
            places = np.ix_(left.positions[rows], right.positions[columns])
            part = distances[self.matrix]
            part[...] = given.box[places]
            if self.stored is not None:
                numbers = left.rows.numbers[rows], right.rows.numbers[columns]
                self.stored.check(part, *numbers)

    def row_bytes(self) -> int:
        """Bytes of one row that is made ready: raw and centred values, in every space."""
        widths = [self.n_features if p.column is None else 8 for p in self.spaces.values()]
        return sum(16 * width + 32 for width in widths) + 64


class PairWalk(SpacesWalk):
    """Accumulate over all unordered pairs.

    Parameters
    ----------
    name : str
        Key of the reduction within its walk.
    spaces : mapping of str to PlacedSpace
        What distances are taken of.
    accumulators : sequence of Accumulator
        What adds them up.
    choice : RowChoice
        Which rows take part.
    n_features : int
        Features D of the samples.
    tile_rows : int
        Rows of a tile, from :func:`tile_rows_of`.
    matrix : str, optional
        Name of the space whose distances a stored matrix gives.
    stored : StoredValues, optional
        What that matrix is, where it comes from a store and not from the user.
    """

    side = Side.BOTH

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        accumulators: Sequence[Accumulator],
        choice: RowChoice,
        *,
        n_features: int,
        tile_rows: int,
        matrix: str | None = None,
        stored: StoredValues | None = None,
    ) -> None:
        super().__init__(
            name,
            spaces,
            choice,
            n_features=n_features,
            tile_rows=tile_rows,
            matrix=matrix,
            stored=stored,
        )
        self.accumulators: Sequence[Any] = list(accumulators)
        self.operations += 2.0 * len(self.accumulators)

    @property
    def workspace(self) -> PairWorkspace:
        """Parts of tiles, what accumulators hold of a tile, and rows made ready."""
        parts = 8 * _PART_ROWS * _PART_COLUMNS * (len(self.spaces) + bool(self.matrix))
        own = sum(a.tile_bytes(self.tile_rows) for a in self.accumulators)
        return PairWorkspace(parts + own, self.row_bytes())

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial: how many samples take part, and those of all accumulators."""
        own = {f"{a.name}.{n}": spec for a in self.accumulators for n, spec in a.fields.items()}
        return {"n_samples": Field("sum", "int64"), **own}

    def start(self, block_i: Block) -> Partial:
        """Nothing is kept."""
        raise ValueError("a walk over unordered pairs keeps no rows")

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        """Accumulate the pairs of two blocks."""
        same = block_i is block_j
        left, right = self.prepared(block_i), self.prepared(block_j)
        if given is not None and self.stored is None:
            check_matrix_tile(given.box, given.mirrored, block_i.start, block_j.start)
        if same:
            partial["n_samples"] += len(left)
        started = []
        for accumulator in self.accumulators:
            own = {name: partial[f"{accumulator.name}.{name}"] for name in accumulator.fields}
            state = accumulator.begin(left.rows, right.rows, own, same)
            started.append((accumulator, state, own))
        for tile, _ in self.parts(left, right, same=same, given=given):
            for accumulator, state, _ in started:
                accumulator.add(state, tile)
        for accumulator, state, own in started:
            accumulator.end(state)
            partial.update({f"{accumulator.name}.{name}": own[name] for name in own})

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        """Nothing is kept."""
        raise ValueError("a walk over unordered pairs keeps no rows")

    def finalize(self, total: Partial) -> dict[str, Any]:
        """Finished statistics of every accumulator, by its name."""
        found: dict[str, Any] = {"n_samples": int(total["n_samples"])}
        for accumulator in self.accumulators:
            own = {name: total[f"{accumulator.name}.{name}"] for name in accumulator.fields}
            found[accumulator.name] = accumulator.finalize(own)
        return found


class RowWalk(SpacesWalk):
    """Accumulate, for every sample, over all others.

    Parameters
    ----------
    name, spaces, choice, n_features, tile_rows, matrix, stored
        As for :class:`PairWalk`.
    accumulators : sequence of RowAccumulator
        What adds up.
    """

    side = Side.ROWS

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        accumulators: Sequence[RowAccumulator],
        choice: RowChoice,
        *,
        n_features: int,
        tile_rows: int,
        matrix: str | None = None,
        stored: StoredValues | None = None,
    ) -> None:
        super().__init__(
            name,
            spaces,
            choice,
            n_features=n_features,
            tile_rows=tile_rows,
            matrix=matrix,
            stored=stored,
        )
        self.accumulators: Sequence[Any] = list(accumulators)
        self.operations += 2.0 * len(self.accumulators)

    @property
    def workspace(self) -> PairWorkspace:
        """Parts of tiles, rows made ready, and what they gather."""
        parts = 8 * _PART_ROWS * _PART_COLUMNS * (len(self.spaces) + bool(self.matrix))
        one, two = (
            sum(spec.nbytes for a in self.accumulators for spec in a.gathered(n).values())
            for n in (1, 2)
        )
        one_row = two - one
        # means of all groups are made of a tile's sums as it finishes
        return PairWorkspace(parts + one_row * self.tile_rows, self.row_bytes(), one_row)

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial of kept rows that have met all others."""
        own = {f"{a.name}.{n}": spec for a in self.accumulators for n, spec in a.fields.items()}
        return {"n_samples": Field("sum", "int64"), **own}

    def start(self, block_i: Block) -> Partial:
        """What a kept block gathers, before it has met any other."""
        n_rows = len(self.prepared(block_i))
        return {
            f"{a.name}.{name}": array
            for a in self.accumulators
            for name, array in fresh_partial(a.gathered(n_rows)).items()
        }

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        """Let the kept block i meet block j; the sums of a kept row run over the rows of j."""
        kept, others = self.prepared(block_i), self.prepared(block_j)
        if given is not None and self.stored is None:
            check_matrix_tile(given.box, given.mirrored, block_i.start, block_j.start)
        if given is not None:
            given = Given(given.mirrored, given.box)
        owned = [
            (a, {name: partial[f"{a.name}.{name}"] for name in a.gathered(1)})
            for a in self.accumulators
        ]
        for accumulator, gathered in owned:
            accumulator.meet(others.rows, gathered)
        for tile, columns in self.parts(others, kept, same=False, given=given):
            for accumulator, gathered in owned:
                accumulator.add(tile, gathered, columns)

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        """The partial of a kept block that has met all others."""
        kept = self.prepared(block_i)
        partial: Partial = {"n_samples": np.asarray(len(kept))}
        for a in self.accumulators:
            own = {name: gathered[f"{a.name}.{name}"] for name in a.gathered(1)}
            for name, array in a.finish(kept.rows, own).items():
                partial[f"{a.name}.{name}"] = array
        return partial

    def finalize(self, total: Partial) -> dict[str, Any]:
        """Finished statistics of every accumulator, by its name."""
        found: dict[str, Any] = {"n_samples": int(total["n_samples"])}
        for a in self.accumulators:
            own = {name: total[f"{a.name}.{name}"] for name in a.fields}
            found[a.name] = a.finalize(own)
        return found

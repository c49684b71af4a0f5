"""Rows that a linear pass hands over in slabs of features and in parts of tiles, made whole.

Which rows come together depends on how a pass is cut, and the last digits of a matrix
product on where in it a row stands.  So rows go on in blocks that begin at multiples of
128 of the samples' own numbers, each row at its own place in a block of full size; where
no row is at hand, or one takes no part, another row stands in and is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Int
from somscale.reductions.base import Block, Partial, Rows
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows, RowChoice
from somscale.reductions.pair_tiles import RowsAtHand
from somscale.spaces.base import Prepared

__all__ = ["BLOCK_ROWS", "PlacedRows", "WholeRows"]

BLOCK_ROWS = 128
"""Rows of a block.  Part of every result's last digits: never change it."""


@dataclass
class WholeRows:
    """The rows at hand, kept until their last feature came.

    Attributes
    ----------
    rows : Rows
        Their numbers and columns.
    partial : dict of arrays
        Where their sums go.
    n_features : int
        Features D.
    values : (n, D) array or None
        Those that came so far, in the samples' own type.
    """

    rows: Rows
    partial: Partial
    n_features: int
    values: AnyArray | None = None

    def keep(self, first_feature: int, values: AnyArray) -> None:
        """Keep the next features."""
        if self.values is None:
            self.values = np.empty((len(self.rows), self.n_features), values.dtype)
        self.values[:, first_feature : first_feature + values.shape[1]] = values

    def blocks(self) -> Iterator[Block]:
        """These rows in blocks that end at multiples of `BLOCK_ROWS`."""
        start, stop = self.rows.start, self.rows.stop
        values = np.empty((stop - start, 0)) if self.values is None else self.values
        columns = {**self.rows.columns, **self.rows.published}
        for first in range(start - start % BLOCK_ROWS, stop, BLOCK_ROWS):
            top, bottom = max(first, start), min(first + BLOCK_ROWS, stop)
            part = slice(top - start, bottom - start)
            own = {name: column[part] for name, column in columns.items()}
            yield Block(top, bottom, values[part], own)


@dataclass(frozen=True)
class PlacedRows:
    """The rows of a block that take part, in blocks of full size as each space wants them.

    Attributes
    ----------
    rows : RowsAtHand
        Those that take part.
    first : int
        Number of the sample whose place is the first.
    places : slice or (n,) int64
        Where those rows stand; a slice where they stand side by side.
    prepared : mapping of str to Prepared
        `BLOCK_ROWS` rows each, by the names of the spaces.
    """

    rows: RowsAtHand
    first: int
    places: slice | Int
    prepared: Mapping[str, Prepared]

    @classmethod
    def of(
        cls, block: Block, spaces: Mapping[str, PlacedSpace], choice: RowChoice
    ) -> PlacedRows | None:
        """Choose rows and make them ready; None where none takes part.

        Raises
        ------
        SampleValueError
            From a row no distance can be taken.
        """
        chosen = PreparedRows.of(block, spaces, choice)
        if not len(chosen):
            return None
        first = block.start - block.start % BLOCK_ROWS
        places = chosen.positions + (block.start - first)
        prepared = dict(chosen.prepared)
        if len(chosen) < BLOCK_ROWS:
            # any row may stand in, as long as the space takes it
            source = np.zeros(BLOCK_ROWS, np.int64)
            source[places] = np.arange(len(places))
            for name, rows in chosen.prepared.items():
                prepared[name] = Prepared(tuple(array[source] for array in rows.arrays))
        side_by_side = int(places[-1] - places[0]) == len(places) - 1
        return cls(
            chosen.rows,
            first,
            slice(int(places[0]), int(places[-1]) + 1) if side_by_side else places,
            prepared,
        )

    def number_at(self, place: int) -> int:
        """Number of the sample that stands, or stands in, at a place."""
        known = np.asarray(self.rows.numbers)
        here = known == self.first + place
        return int(known[np.argmax(here)])

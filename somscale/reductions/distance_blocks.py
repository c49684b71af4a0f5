"""The distances of two blocks of samples as a table, for a matrix that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Float
from somscale.errors import SampleValueError
from somscale.reductions.base import Block, Field, Given, PairWorkspace, Partial, Side
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_walk import SpacesWalk

__all__ = ["DistanceBlocks"]

_PART_BYTES: Final = 8 << 20


class DistanceBlocks(SpacesWalk):
    """Write the distances of all unordered pairs, block by block; nothing is added up.

    Parameters
    ----------
    name : str
        Key of the reduction.
    space : PlacedSpace
        The samples' space.
    choice : RowChoice
        Which samples take part.
    n_features : int
        Features D of the samples.
    tile_rows : int
        Rows of a tile, from :func:`somscale.reductions.pair_walk.tile_rows_of`, and no more
        than those of a block of the matrix.
    """

    side = Side.BOTH

    def __init__(
        self, name: str, space: PlacedSpace, choice: RowChoice, *, n_features: int, tile_rows: int
    ) -> None:
        super().__init__(name, {name: space}, choice, n_features=n_features, tile_rows=tile_rows)

    @property
    def workspace(self) -> PairWorkspace:
        """A part of a tile, its values once more in the type of the matrix, and rows made ready."""
        return PairWorkspace(_PART_BYTES, self.row_bytes())

    @property
    def fields(self) -> Mapping[str, Field]:
        """Nothing is merged."""
        return {}

    def fill(self, left: Block, right: Block, out: AnyArray) -> None:
        """Write the distances of two blocks.

        Parameters
        ----------
        left, right : Block
            n and m samples; one block for its distances within.
        out : (n, m)
            Of any floating type; entries of samples that take no part are left as they are.
        """
        rows, columns = self.prepared(left), self.prepared(right)
        same = left is right
        for tile, across in self.parts(rows, columns, same=same, given=None):
            down = slice(tile.left_start, tile.left_start + len(tile.left))
            part = tile.distances[self.name]
            try:
                with np.errstate(over="raise"):
                    if len(rows) == len(left) and len(columns) == len(right):
                        out[down, across] = part
                    else:
                        out[np.ix_(rows.positions[down], columns.positions[across])] = part
            except FloatingPointError:
                numbers = tile.left.numbers, tile.right.numbers
                raise self._beyond(*numbers, part, out.dtype) from None
        if same:
            _mirror(out)
            out[rows.positions, rows.positions] = 0

    def _beyond(
        self, rows: AnyArray, columns: AnyArray, part: Float, dtype: np.dtype[Any]
    ) -> SampleValueError:
        """The error of a distance that the type of the matrix does not hold."""
        row, column = np.argwhere(part > np.finfo(dtype).max)[0]
        names = self.choice.names.samples
        one, other = names.describe(int(rows[row])), names.describe(int(columns[column]))
        return SampleValueError(
            f"the distance of {one} and {other} is {part[row, column]:g}, more than {dtype} holds; "
            "store distances as float64, or scale the samples down"
        )

    def start(self, block_i: Block) -> Partial:
        """Nothing is kept."""
        raise ValueError("a walk that writes distances keeps no rows")

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        """Nothing is added up."""
        raise ValueError("a walk that writes distances adds nothing up")

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        """Nothing is kept."""
        raise ValueError("a walk that writes distances keeps no rows")

    def finalize(self, total: Partial) -> None:
        """Nothing is left to tell."""


def _mirror(square: AnyArray) -> None:
    """Put what lies above the diagonal below it as well: both are of the same pair."""
    size = 256
    for top in range(0, len(square), size):
        rows = slice(top, top + size)
        square[top + size :, rows] = square[rows, top + size :].T
        corner = square[rows, rows]
        below = np.tril_indices(len(corner), -1)
        corner[below] = corner.T[below]

"""Keys of some kept rows to the samples of a block, in every space that is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.errors import SampleValueError
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import Block
from somscale.reductions.names import AxisNames
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows
from somscale.reductions.rank_keys import Keys, Room, in_single, keys_of
from somscale.reductions.rank_near import SpaceKeys
from somscale.spaces.base import BadPair
from somscale.spaces.given import StoredValues, check_matrix_rows

__all__ = ["KeySource"]

Shape: TypeAlias = tuple[int, int]

_DOUBTS: Final = 1 / 64
"""Share of keys in doubt from which double precision costs less than taking them again."""


@dataclass(frozen=True)
class KeySource:
    """Keys of some rows to the samples of a block, in several spaces.

    Attributes
    ----------
    spaces : mapping of str to PlacedSpace
        What distances are taken of.
    names : sequence of str
        The spaces that are ranked.
    matrix : str or None
        Name of the space whose distances are given.
    scratch : Scratch
        Holds the keys of a thread.
    exact : bool
        Whether keys must be exact.
    samples : AxisNames
        How errors name a sample.
    kept : PreparedRows
        All the rows.
    stored : StoredValues or None
        What is given, where that comes from a store.
    """

    spaces: Mapping[str, PlacedSpace]
    names: Sequence[str]
    matrix: str | None
    scratch: Scratch
    exact: bool
    samples: AxisNames
    kept: PreparedRows
    stored: StoredValues | None = None
    _keys: dict[str, Keys] = field(default_factory=dict)
    _chosen: dict[tuple[str, int], Keys] = field(default_factory=dict)

    def spans(self, block: Block, width: int) -> list[slice]:
        """The columns of a block, so many at a time."""
        n = len(block)
        return [slice(low, min(low + width, n)) for low in range(0, n, width)]

    def borrow(self, name: str, block: Block, others: PreparedRows, shape: Shape) -> Float:
        """Room for the keys of a block that is given back some day."""
        keys = self.keys_at(name, block, others)
        return self.scratch.borrow(name, shape, np.float64 if keys is None else keys.dtype)

    def room(self, name: str, block: Block, others: PreparedRows, shape: Shape) -> Float:
        """Room for keys of a few rows, until a thread asks again."""
        keys = self.keys_at(name, block, others)
        dtype = np.float64 if keys is None else keys.dtype
        return self.scratch.take(f"some {np.dtype(dtype).name}", shape, dtype)

    def give_back(self, name: str, own: SpaceKeys) -> None:
        """Take back the room of keys that are not looked at again."""
        self.scratch.give_back(name, own.keys)

    def keys_of(self, name: str, others: PreparedRows) -> Keys | None:
        """The keys of a space; None where they are given."""
        if name == self.matrix:
            return None
        if name not in self._keys:
            first = others.prepared[name].arrays[0]
            width = first.shape[1] if first.ndim == 2 else 1
            self._keys[name] = keys_of(self.spaces[name].space, width, exact=self.exact)
        return self._keys[name]

    def keys_at(self, name: str, block: Block, others: PreparedRows) -> Keys | None:
        """The keys of a space to a block, the same as long as these rows are walked.

        In single precision, unless too many were in doubt for the rows before.
        """
        keys, place = self.keys_of(name, others), (name, block.start)
        if keys is None:
            return None
        if place not in self._chosen:
            if not self.exact and f"doubted ranks: {name}" not in block.memo:
                keys = in_single(keys, self.kept.prepared[name], others.prepared[name])
            self._chosen[place] = keys
        return self._chosen[place]

    def doubted(self, name: str, block: Block, share: float) -> None:
        """Take note of the share of keys that were in doubt, for the rows that come."""
        if share > _DOUBTS:
            block.memo[f"doubted ranks: {name}"] = True

    def is_cheap(self, name: str, others: PreparedRows) -> bool:
        """Whether keys of a space are sooner computed again than kept."""
        keys = self.keys_of(name, others)
        return keys is not None and keys.cheap

    def open(
        self,
        name: str,
        kept: PreparedRows,
        block: Block,
        others: PreparedRows,
        columns: slice,
        room: Float,
    ) -> SpaceKeys:
        """Keys that are still to be filled in, and what decides where these are in doubt."""
        keys = self.keys_at(name, block, others)
        rows = None if keys is None else keys.rows(others.prepared[name])
        if keys is None or rows is None:
            nothing = np.empty((len(kept), 0)), np.empty((columns.stop - columns.start, 0))
            return SpaceKeys(room, np.zeros(len(kept)), *nothing, None)
        left, ready = kept.prepared[name], self._ready(name, keys, block, others)
        own, placed = keys.rows(left), self._placed(name, rows, block, others)[columns]
        if own is None:
            raise ValueError("rows and samples are of one space")
        return SpaceKeys(room, keys.margins(left, ready), own, placed, keys.weights)

    def fill(
        self,
        name: str,
        kept: PreparedRows,
        block: Block,
        others: PreparedRows,
        columns: slice,
        out: Float,
        low: int,
        given: AnyArray | None,
    ) -> None:
        """Write the keys to some columns of a block, to those of `out` from `low` on."""
        n_columns = columns.stop - columns.start
        if len(others) == len(block):
            self._measure(name, kept, block, others, columns, out, low, given)
        else:
            first, last = np.searchsorted(others.positions, (columns.start, columns.stop))
            taken = slice(int(first), int(last))
            part = np.empty((len(kept), taken.stop - taken.start), out.dtype)
            if len(part.T):
                self._measure(name, kept, block, others, taken, part, 0, given)
            out[:, low : low + n_columns] = np.inf
            out[:, others.positions[taken] - columns.start + low] = part
        numbers, start = kept.rows.numbers, block.start + columns.start
        if numbers[0] < start + n_columns and numbers[-1] >= start:
            places = numbers - start
            own = np.flatnonzero((places >= 0) & (places < n_columns))
            out[own, places[own] + low] = np.inf

    def _measure(
        self,
        name: str,
        kept: PreparedRows,
        block: Block,
        others: PreparedRows,
        taken: slice,
        out: Float,
        low: int,
        given: AnyArray | None,
    ) -> None:
        keys = self.keys_at(name, block, others)
        if keys is None:
            if given is None:
                raise ValueError("a stored matrix gives its distances with every block")
            part = _box_of(given, kept.positions, others.positions[taken])
            numbers = kept.rows.numbers, others.rows.numbers[taken]
            if self.stored is None:
                check_matrix_rows(part.astype(np.float64, copy=False), *numbers)
            else:
                self.stored.check(part, *numbers)
            out[:, low : low + part.shape[1]] = part
            return
        ready = self._ready(name, keys, block, others)
        shape = len(kept), taken.stop - taken.start
        room = Room(out, low, self.scratch.take("chunk", shape, keys.dtype))
        try:
            keys.fill(kept.prepared[name], ready, taken, room)
        except BadPair as bad:
            one = self.samples.describe(int(kept.rows.numbers[bad.left]))
            other = self.samples.describe(int(others.rows.numbers[taken][bad.right]))
            raise SampleValueError(f"{one} and {other}: {bad.problem}; {bad.remedy}") from None

    @staticmethod
    def _ready(name: str, keys: Keys, block: Block, others: PreparedRows) -> Any:
        """What keys make of a block, once for all rows."""
        memo = f"ready for ranks: {name} {np.dtype(keys.dtype)}"
        if memo not in block.memo:
            block.memo[memo] = keys.ready(others.prepared[name])
        return block.memo[memo]

    @staticmethod
    def _placed(name: str, rows: Float, block: Block, others: PreparedRows) -> Float:
        """Rows at their places in the block; what takes no part is never looked at."""
        if len(others) == len(block):
            return rows
        key = f"placed for ranks: {name}"
        if key not in block.memo:
            block.memo[key] = np.zeros((len(block), rows.shape[1]), rows.dtype)
            block.memo[key][others.positions] = rows
        placed: Float = block.memo[key]
        return placed


def _box_of(given: AnyArray, rows: Int, columns: Int) -> AnyArray:
    """Some rows and ascending columns of a matrix; no more of it is copied."""
    first, last = int(columns[0]), int(columns[-1]) + 1
    box = given[:, first:last][rows]
    return box if last - first == len(columns) else box[:, columns - first]

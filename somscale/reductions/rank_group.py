"""Some kept rows of a walk that ranks, and what they gather of all samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from somscale._types import AnyArray, Float
from somscale.reductions.base import Block, Partial
from somscale.reductions.pair_rows import PreparedRows
from somscale.reductions.rank_near import Met, NearRows, SpaceKeys
from somscale.reductions.rank_sheet import RankWant, Sheet
from somscale.reductions.rank_source import KeySource

__all__ = ["CHUNK_KEYS", "KeySource", "NearGroup", "RankGroup", "SortedGroup"]

CHUNK_KEYS: Final = 1 << 17
"""Keys that are computed at a time: 1 MiB of products, found in cache when they are finished."""
_CHUNK: Final = 1024
"""Columns of rows to be sorted that are filled in at a time."""
_SOME_KEYS: Final = 1 << 19
"""Keys that are computed again at a time: 2 MiB in single precision."""
_FEWEST: Final = 4
"""Rows of which they are computed again at a time, at least."""


class NearGroup:
    """Rows whose nearest samples are found, and ranks counted.

    Parameters
    ----------
    source : KeySource
        Gives keys.
    rows : PreparedRows
        The kept rows that take part.
    first : int
        Place of the first among all kept ones.
    near : NearRows
        What they gather.
    labels : sequence of str
        Columns of labels that will be asked for.
    width : int
        Columns of a block at a time; all of it where keys are kept.
    keep : bool
        Whether keys are kept until the pairs that matter are known, or computed again.
    """

    def __init__(
        self,
        source: KeySource,
        rows: PreparedRows,
        first: int,
        near: NearRows,
        labels: Sequence[str],
        *,
        width: int,
        keep: bool,
    ) -> None:
        self.source = source
        self.rows = rows
        self.first = first
        self.n_taken = 0
        self.near = near
        self._width = width
        self._keep = keep
        self._seen: list[tuple[_Seen, dict[str, SpaceKeys]]] = []
        self._doubts: dict[str, tuple[int, int]] = {}
        self._labels: dict[str, list[AnyArray]] = {name: [] for name in labels}

    def meet(self, block: Block, others: PreparedRows, sweep: int, given: AnyArray | None) -> None:
        """Meet the samples of a block."""
        if sweep == 0:
            self.n_taken += len(others)
            for name, parts in self._labels.items():
                parts.append(block.columns[name])
        if not (len(self.rows) and len(others)):
            return
        for columns in self.source.spans(block, self._width):
            seen = _Seen(block, others, columns, given)
            kept = self._fill(seen)
            if sweep == 0:
                self._look(seen, kept)
            if self._keep:
                self._seen.append((seen, kept))
            else:
                self._count_and_drop(seen, kept, counts=sweep == 1)
                self._tell(seen)

    def turn(self) -> None:
        """List the pairs whose ranks matter, and count them where keys were kept."""
        if not len(self.rows):
            return
        if not self.near.listed:
            self.near.turn()
        for seen, kept in self._seen:
            self._count_and_drop(seen, kept, counts=True)
            self._tell(seen)
        self._seen.clear()

    def add_to(self, sheet: Sheet, space: str, place: int) -> None:
        """Add the rows to the tally of their tile."""
        if not len(self.rows):
            return
        column = sheet.want.labels
        labels = None if column is None else np.concatenate(self._labels[column])
        places = slice(place, place + len(self.rows))
        rho, r, others, counts = self.near.pairs(space)
        tied, looked = self.near.ties(space)
        sheet.add_pairs(
            places, self.rows.rows.numbers, rho, r, others, counts, labels, tied=tied, looked=looked
        )

    def _fill(self, seen: _Seen) -> dict[str, SpaceKeys]:
        """The keys that are kept, by the names of their spaces."""
        source, width = self.source, seen.columns.stop - seen.columns.start
        kept = {
            name: self._open(name, self.rows, seen, self._room(name, seen))
            for name in source.names
            if not source.is_cheap(name, seen.others)
        }
        size = max(256, CHUNK_KEYS // len(self.rows))
        for low in range(0, width, size):
            high = min(low + size, width)
            columns = slice(seen.columns.start + low, seen.columns.start + high)
            for name, own in kept.items():
                source.fill(
                    name, self.rows, seen.block, seen.others, columns, own.keys, low, seen.given
                )
        return kept

    def _some(self, seen: _Seen, kept: Mapping[str, SpaceKeys]) -> Iterator[_Some]:
        """The keys of all spaces: kept ones of all rows, and others of a few rows at a time."""
        for name, own in kept.items():
            yield name, own, slice(0, len(self.rows))
        width = seen.columns.stop - seen.columns.start
        size = max(_FEWEST, min(len(self.rows), _SOME_KEYS // width))
        for name in self.source.names:
            if name in kept:
                continue
            for first in range(0, len(self.rows), size):
                rows = slice(first, min(first + size, len(self.rows)))
                some = self.rows.some(rows)
                room = self.source.room(name, seen.block, seen.others, (len(some), width))
                own = self._open(name, some, seen, room)
                self.source.fill(
                    name, some, seen.block, seen.others, seen.columns, room, 0, seen.given
                )
                yield name, own, rows

    def _room(self, name: str, seen: _Seen) -> Float:
        width = seen.columns.stop - seen.columns.start
        return self.source.borrow(name, seen.block, seen.others, (len(self.rows), width))

    def _open(self, name: str, rows: PreparedRows, seen: _Seen, room: Float) -> SpaceKeys:
        return self.source.open(name, rows, seen.block, seen.others, seen.columns, room)

    def _note(self, name: str, own: SpaceKeys, doubts: int) -> None:
        known, size = self._doubts.get(name, (0, 0))
        self._doubts[name] = known + doubts, size + own.keys.size

    def _tell(self, seen: _Seen) -> None:
        """Let the groups that come know how many keys were in doubt; this one is through."""
        for name, (doubts, size) in self._doubts.items():
            self.source.doubted(name, seen.block, doubts / size)

    def _look(self, seen: _Seen, kept: Mapping[str, SpaceKeys]) -> None:
        """Look for the nearest among some samples."""
        for name, own, rows in self._some(seen, kept):
            self._note(name, own, self.near.scan(name, own, seen.start, rows))
        nothing = np.empty((0, 0))
        cheap = {
            name: self._open(name, self.rows, seen, nothing)
            for name in self.source.names
            if name not in kept
        }
        self.near.settle(Met(seen.start, {**kept, **cheap}))

    def _count_and_drop(self, seen: _Seen, kept: Mapping[str, SpaceKeys], *, counts: bool) -> None:
        """Count some samples, and give the room of their keys back."""
        if counts:
            for name, own, rows in self._some(seen, kept):
                self._note(name, own, self.near.count(name, own, seen.start, rows))
        for name, own in kept.items():
            self.source.give_back(name, own)


_Some: TypeAlias = tuple[str, SpaceKeys, slice]
"""Name of a space, keys of some rows, and which rows these are."""


@dataclass(frozen=True)
class _Seen:
    """Some columns of a block that rows have met."""

    block: Block
    others: PreparedRows
    columns: slice
    given: AnyArray | None

    @property
    def start(self) -> int:
        """Number of the first sample."""
        return self.block.start + int(self.columns.start)


class SortedGroup:
    """Rows that are sorted in every space.

    Parameters
    ----------
    source, rows, first
        As for :class:`NearGroup`.
    input : str
        The samples' space.
    wants : mapping of str to (str, RankWant)
        The spaces, and what is tallied of them.
    n_samples : int
        Samples N.

    Attributes
    ----------
    tallies : dict of str to dict
        What the rows add to the whole, by the keys of the wants, once they are sorted.
    """

    def __init__(
        self,
        source: KeySource,
        rows: PreparedRows,
        first: int,
        input: str,
        wants: Mapping[str, tuple[str, RankWant]],
        n_samples: int,
    ) -> None:
        self.source = source
        self.rows = rows
        self.first = first
        self.n_taken = 0
        self._input = input
        self._wants = wants
        self._n_samples = n_samples
        self._keys: dict[str, Float] = {}
        self.tallies: dict[str, Partial] = {}
        columns = [want.labels for _, want in wants.values() if want.labels is not None]
        self._labels: dict[str, list[AnyArray]] = {name: [] for name in columns}

    def meet(self, block: Block, others: PreparedRows, sweep: int, given: AnyArray | None) -> None:
        """Keep the keys to the samples of a block."""
        self.n_taken += len(others)
        for name, parts in self._labels.items():
            parts.append(block.columns[name])
        if not len(self.rows):
            return
        for name in self.source.names:
            if name not in self._keys:
                shape = len(self.rows), self._n_samples
                self._keys[name] = self.source.borrow(name, block, others, shape)
            for low in range(0, len(block), _CHUNK):
                columns = slice(low, min(low + _CHUNK, len(block)))
                out, at = self._keys[name], block.start + low
                self.source.fill(name, self.rows, block, others, columns, out, at, given)

    def turn(self) -> None:
        """Sort and tally."""
        for key, (space, want) in self._wants.items():
            sheet = Sheet(want, self._n_samples, len(self.rows), self.first)
            if len(self.rows):
                column = want.labels
                labels = None if column is None else np.concatenate(self._labels[column])
                sheet.add_sorted(
                    slice(0, len(self.rows)),
                    self.rows.rows.numbers,
                    self._keys[self._input],
                    self._keys[space],
                    self.n_taken,
                    labels,
                )
            self.tallies[key] = sheet.partial()
        for name, keys in self._keys.items():
            self.source.scratch.give_back(name, keys)
        self._keys.clear()


RankGroup: TypeAlias = NearGroup | SortedGroup
"""Kept rows that meet all samples."""

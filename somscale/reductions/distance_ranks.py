"""What ranks of two distances need of all pairs: the distances themselves, or counts in bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int
from somscale.kernels.counts import sort_keyed
from somscale.kernels.rowwise import as_rows
from somscale.reductions.base import Field, Partial
from somscale.reductions.pair_tiles import PairTile, RowsAtHand
from somscale.reductions.rank_correlation import (
    BinCounts,
    CellCounts,
    RankedPairs,
    binned_correlation,
    exact_correlation,
    new_values,
)

__all__ = ["EXACT_ROWS", "BinnedPairs", "PairTable", "fine_keys", "rank_accumulator"]

EXACT_ROWS: Final = 2048
"""Samples up to which ranks are of all pairs (2²¹, whose sums of ranks are exact integers)."""

_COARSE_KEYS = 17
"""Binary digits of a coarse bin's key: 11 of the exponent, 6 of the mantissa."""

_PARTS_MISSED: Final = 2
"""Parts of a tile whose pairs, all outside the window, wait until they are counted."""


def rank_accumulator(
    name: str, spaces: tuple[str, str], n_rows: int, *, levels: Float | None = None
) -> PairTable | BinnedPairs:
    """What takes ranks of the distances of so many samples: exact for few of them.

    Parameters
    ----------
    name, spaces, levels
        As for :class:`BinnedPairs`.
    n_rows : int
        Samples N, with those that take no part: never the memory at hand decides.
    """
    if n_rows <= EXACT_ROWS:
        return PairTable(name, spaces, n_rows)
    return BinnedPairs(name, spaces, levels=levels)


@dataclass
class _Table:
    left: RowsAtHand
    partial: Partial
    distances: Float


class PairTable:
    """Keep both distances of all pairs, for the exact rank correlation.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    spaces : (str, str)
        The samples' space and the projection's.
    n_rows : int
        Samples N.
    """

    def __init__(self, name: str, spaces: tuple[str, str], n_rows: int) -> None:
        self.name = name
        self.needs = spaces
        self.n_rows = n_rows

    @property
    def fields(self) -> Mapping[str, Field]:
        """Of every sample its d and then its e to all; each pair is in one of its samples' row."""
        return {"distances": Field("rows", shape=(1 + 2 * self.n_rows,))}

    def tile_bytes(self, rows: int) -> int:
        """Rows of the left block, once as they are filled and twice as they are put in order."""
        return 3 * 16 * rows * self.n_rows

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _Table:
        """Start a tile."""
        return _Table(left, partial, np.zeros((2, len(left), self.n_rows)))

    def add(self, state: _Table, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        for number, name in enumerate(self.needs):
            part = tile.distances[name]
            rows = np.arange(part.shape[0])[:, None]
            counted = np.arange(part.shape[1]) > rows + tile.offset
            places = rows + tile.left_start, tile.right.numbers
            state.distances[number][places] = np.where(counted, part, 0.0)

    def end(self, state: _Table) -> None:
        """Put the rows beside the numbers of their samples."""
        order = np.argsort(state.left.numbers)
        rows = np.hstack(list(state.distances[:, order]))
        state.partial["distances"] = as_rows(state.left.numbers[order], rows)

    def finalize(self, total: Partial) -> RankedPairs:
        """The rank correlation of all pairs."""
        rows = total["distances"]
        numbers = rows[:, 0].astype(np.int64)
        above = np.triu_indices(len(rows), 1)
        d, e = (
            (table + table.T)[above]
            for table in (rows[:, 1 + numbers], rows[:, 1 + self.n_rows + numbers])
        )
        return exact_correlation(d, e)


@dataclass
class _Bins:
    partial: Partial
    slots: Int
    lowest: list[int]
    fine: list[Int]
    cells: Int
    missed: Int
    n_missed: int = 0
    outside: list[dict[str, Int]] = field(default_factory=list)


class BinnedPairs:
    """Count pairs in bins of both distances, for the rank correlation within a known error.

    Bins are the first 13 digits of the mantissa (fine ones: counts of d and of e) or 6
    (coarse ones: counts of both, with sums of their fine bins' places): a few 10⁴ each
    occur.  All are integers.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    spaces : (str, str)
        The samples' space and the projection's.
    levels : (l,) float64, optional
        All distances that the projection may have, where these are known: those of a map.
        Then ties are known too.
    """

    def __init__(self, name: str, spaces: tuple[str, str], *, levels: Float | None = None) -> None:
        self.name = name
        self.needs = spaces
        self.levels = levels

    @property
    def fields(self) -> Mapping[str, Field]:
        """Counts of fine bins, and of cells with 4 keys each: pairs, places of d, places of e."""
        return {name: Field("keyed", "int64") for name in ("fine_d", "fine_e", "cells")}

    def tile_bytes(self, rows: int) -> int:
        """Tables of a window, pairs that lie outside, and counts as they are joined."""
        side, slots = _table_sizes()
        occurring = 3 * min(side * side, rows * rows) + 2 * min(slots, rows * rows)
        return 16 * side * side + 8 * slots + (_PARTS_MISSED << 21) + 32 * occurring

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _Bins:
        """Start a tile."""
        side, slots = _table_sizes()
        return _Bins(
            partial,
            np.empty((2, len(right)), np.int32),
            [],
            [np.zeros(slots, np.int32) for _ in range(2)],
            np.zeros((side, side, 2), np.int64),
            np.empty((0, 2), np.int64),
        )

    def add(self, state: _Bins, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        from somscale.kernels import shepard_loops as loops

        d, e = (tile.distances[name].view(np.int64) for name in self.needs)
        if not state.lowest:
            # wherever the windows are, all that lies outside is counted too, only slower
            state.lowest = [_window(bits[::8]) for bits in (d, e)]
        if len(state.missed) < state.n_missed + d.size:
            _count_missed(state)
        if len(state.missed) < d.size:
            state.missed = np.empty((_PARTS_MISSED * d.size, 2), np.int64)
        (low_d, low_e), (fine_d, fine_e) = state.lowest, state.fine
        state.n_missed += loops.bin_pairs(
            d,
            e,
            tile.offset,
            low_d,
            low_e,
            state.slots,
            fine_d,
            fine_e,
            state.cells,
            state.missed[state.n_missed :],
        )

    def end(self, state: _Bins) -> None:
        """Hand the tile's counts over."""
        if not state.lowest:
            return
        _count_missed(state)
        found = [_occurring(state), *state.outside]
        for name in self.fields:
            joined = np.concatenate([counts[name] for counts in found], axis=1)
            state.partial[name] = sort_keyed(joined)

    def finalize(self, total: Partial) -> RankedPairs:
        """The rank correlation, and how far off it may be."""
        from somscale.kernels import shepard_loops as loops

        d, e, cells = (sort_keyed(total[name]) for name in self.fields)
        if not d.shape[1]:
            return RankedPairs(0, float("nan"))
        sides = [
            BinCounts(keys, counts, loops.FINE_BITS, _alike(keys, levels))
            for (keys, counts), levels in ((d, None), (e, self.levels))
        ]
        return binned_correlation(sides[0], sides[1], _cells_of(cells))


def _table_sizes() -> tuple[int, int]:
    """Sides of the table of cells, and slots of fine bins: see the loops."""
    from somscale.kernels import shepard_loops as loops

    coarse = loops.WINDOW << loops.COARSE_BITS
    return coarse + 2, (coarse << loops.FINE_BITS) + 2


def _window(bits: Int) -> int:
    """The exponent at which the window begins: most distances, and an octave above them."""
    from somscale.kernels import shepard_loops as loops

    octaves = bits[bits >= loops.SMALLEST] >> 52
    filled = loops.WINDOW - 1
    up_to = np.concatenate([np.zeros(filled), np.bincount(octaves, minlength=1).cumsum()])
    return int(np.argmax(up_to[filled:] - up_to[:-filled])) - filled + 1


def fine_keys(bits: Int) -> Int:
    """Fine bins of distances, given their bits."""
    from somscale.kernels import shepard_loops as loops

    return np.where(bits >= loops.SMALLEST, (bits + loops.SHIFT) >> loops.CUT, 0)


def _cell_keys(rows: Int, columns: Int) -> Int:
    return ((rows << _COARSE_KEYS) | columns) << 2


def _laid_out(keys: Int, sums: Sequence[Int]) -> Int:
    """Keyed counts and sums of places of some cells, in ascending order if the cells are."""
    each = keys[:, None] + np.arange(3)
    return np.stack([each.ravel(), np.stack(sums, axis=1).ravel()])


def _count_missed(state: _Bins) -> None:
    """Count the pairs that lie outside the window, one by one."""
    from somscale.kernels import shepard_loops as loops

    if not state.n_missed:
        return
    fine = fine_keys(state.missed[: state.n_missed])
    state.n_missed = 0
    rows, columns = (fine >> loops.FINE_BITS).T
    keys = _cell_keys(rows, columns)
    order = np.argsort(keys)
    keys, places = keys[order], fine[order] & ((1 << loops.FINE_BITS) - 1)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sums = np.add.reduceat(places, starts)
    counted = np.diff(np.append(starts, len(keys)))
    ones = np.ones(len(fine), np.int64)
    found = {
        "fine_d": sort_keyed(np.stack([fine[:, 0], ones])),
        "fine_e": sort_keyed(np.stack([fine[:, 1], ones])),
        "cells": _laid_out(keys[starts], [counted, sums[:, 0], sums[:, 1]]),
    }
    state.outside.append(found)


def _occurring(state: _Bins) -> dict[str, Int]:
    """What the tables of a tile hold."""
    from somscale.kernels import shepard_loops as loops

    found = {}
    for name, lowest, counts in zip(("fine_d", "fine_e"), state.lowest, state.fine, strict=True):
        slots = np.flatnonzero(counts[:-1])
        first = lowest << (loops.COARSE_BITS + loops.FINE_BITS)
        found[name] = np.stack([np.where(slots, first + slots - 1, 0), counts[slots]])
    table = state.cells[:-1, :-1]
    places = np.nonzero(table[:, :, 0])
    packed, column_places = table[places].T
    counted, row_places = packed & ((1 << 24) - 1), packed >> 24
    rows, columns = (
        np.where(own, (lowest << loops.COARSE_BITS) + own - 1, 0)
        for own, lowest in zip(places, state.lowest, strict=True)
    )
    # the bin of no distance has no places, but slots begin where the last place ends
    sums = [counted, np.where(places[0], row_places, 0), np.where(places[1], column_places, 0)]
    found["cells"] = _laid_out(_cell_keys(rows, columns), sums)
    return found


def _cells_of(counts: Int) -> CellCounts:
    cells, places = np.unique(counts[0] >> 2, return_inverse=True)
    sums = np.zeros((3, len(cells)), np.int64)
    sums[counts[0] & 3, places] = counts[1]
    return CellCounts(cells >> _COARSE_KEYS, cells & ((1 << _COARSE_KEYS) - 1), *sums)


def _alike(keys: Int, levels: Float | None) -> Bool:
    """Which fine bins hold one distance only: that of 0, and where all that occur are known."""
    if levels is None:
        return np.asarray(keys == 0)
    ordered: AnyArray = np.unique(levels)
    values = np.cumsum(new_values(ordered))
    held, hits = np.unique(fine_keys(ordered.view(np.int64)), return_counts=True)
    ends = np.cumsum(hits) - 1
    single = held[values[ends] == values[ends - hits + 1]]
    return np.asarray((keys == 0) | np.isin(keys, single))

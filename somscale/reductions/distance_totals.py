"""Sums over pairs of the samples' distances d and the projection's e."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.reductions.base import Field, Partial
from somscale.reductions.pair_tiles import PairTile, RowsAtHand

__all__ = ["DistanceTotals", "MapTotals"]

TOTALS = ("d", "d2", "e", "e2", "de", "stress", "d4", "d2e", "sammon", "collapsed")
_PRODUCTS = frozenset({"d4", "d2e"})
_RATIOS = frozenset({"sammon", "collapsed"})


@dataclass
class _State:
    partial: Partial
    row: Float


class DistanceTotals:
    """Totals of two distances, both of which are measured.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    spaces : (str, str)
        The samples' space and the projection's.
    totals : set of str
        Those asked for.
    """

    def __init__(self, name: str, spaces: tuple[str, str], totals: frozenset[str]) -> None:
        self.name = name
        self.needs = spaces
        self.totals = totals

    @property
    def fields(self) -> Mapping[str, Field]:
        """All sums in one array, and the largest of either distance."""
        return {
            "sums": Field("sum", shape=(len(TOTALS),)),
            "largest": Field("max", shape=(2,)),
        }

    def tile_bytes(self, rows: int) -> int:
        """A row of sums."""
        return 0

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _State:
        """Start a tile."""
        return _State(partial, np.zeros(len(TOTALS) + 2))

    def add(self, state: _State, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        from somscale.kernels import pair_loops

        d, e = (tile.distances[name] for name in self.needs)
        pair_loops.add_totals(
            d,
            e,
            tile.offset,
            bool(self.totals & _RATIOS),
            bool(self.totals & _PRODUCTS),
            state.row,
            state.partial["sums"],
            state.partial["largest"],
        )

    def end(self, state: _State) -> None:
        """All is in the partial."""

    def finalize(self, total: Partial) -> dict[str, float]:
        """Those totals that were asked for, and what came with them."""
        sums = dict(zip(TOTALS, total["sums"].tolist(), strict=True))
        known = {
            name: value
            for name, value in sums.items()
            if name not in _PRODUCTS | _RATIOS or self.totals & _group_of(name)
        }
        # where there is no pair nothing is largest
        largest = [max(0.0, float(value)) for value in total["largest"]]
        return {**known, "d_max": largest[0], "e_max": largest[1]}


def _group_of(name: str) -> frozenset[str]:
    return _PRODUCTS if name in _PRODUCTS else _RATIOS


DeltaOf = Callable[[Int, Int], Float]
"""From n and m units to their (n, m) distances on the map."""


@dataclass
class _MapState:
    totals: Float
    column_sums: Float
    left_units: AnyArray
    right_units: AnyArray
    delta: Float
    partial: Partial


class MapTotals:
    """Σd, Σd·δ and the largest d, where δ is the distance of the samples' units.

    δ is the same for all rows of a unit, so it multiplies their sum, column by column.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    column : str
        Name of the column of units.
    delta : (K, K) array or callable
        Distances on the map: a table, or what gives those of some units to others.
    space : str
        The samples' space.
    """

    def __init__(self, name: str, column: str, delta: Float | DeltaOf, *, space: str) -> None:
        self.name = name
        self.column = column
        self.delta = delta
        self.needs = (space,)

    @property
    def fields(self) -> Mapping[str, Field]:
        """The sums and the largest distance."""
        return {"sums": Field("sum", shape=(2,)), "d_max": Field("max", shape=())}

    def tile_bytes(self, rows: int) -> int:
        """Sums of columns and, where there is no table, the distances of all units at hand."""
        table = 0 if isinstance(self.delta, np.ndarray) else 3 * 8 * rows * rows
        return table + 24 * rows

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _MapState:
        """Look up the map distances that the tile needs."""
        own, others = left.columns[self.column], right.columns[self.column]
        if min(own.min(initial=0), others.min(initial=0)) < 0:
            raise ValueError("a sample that takes part has no unit")
        totals, sums = np.zeros(2), np.empty(len(right))
        if isinstance(self.delta, np.ndarray):
            return _MapState(totals, sums, own, others, self.delta, partial)
        left_units, own = np.unique(own, return_inverse=True)
        right_units, others = np.unique(others, return_inverse=True)
        delta = self.delta(left_units, right_units)
        return _MapState(totals, sums, own, others, delta, partial)

    def add(self, state: _MapState, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        from somscale.kernels import pair_loops

        d = tile.distances[self.needs[0]]
        runs = tile.left.runs(self.column)
        first = runs.order[runs.starts[:-1]] + tile.left_start
        columns = slice(tile.right_start, tile.right_start + d.shape[1])
        pair_loops.add_map_distances(
            d,
            runs.order,
            runs.starts,
            state.left_units[first],
            state.right_units[columns],
            state.delta,
            tile.offset,
            state.column_sums[: d.shape[1]],
            state.totals,
        )
        # below the diagonal are the same distances once more
        state.partial["d_max"] = np.maximum(state.partial["d_max"], d.max())

    def end(self, state: _MapState) -> None:
        """Hand the tile's sums over."""
        state.partial["sums"] += state.totals

    def finalize(self, total: Partial) -> dict[str, float]:
        """Totals by their names."""
        d, de = total["sums"].tolist()
        return {"d": d, "de": de, "d_max": max(0.0, float(total["d_max"]))}

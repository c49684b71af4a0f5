"""What anchors gather over all other samples: totals of two distances, sums by group.

Accumulators of :class:`somscale.reductions.anchor_walk.AnchorWalk` that add row after row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.kernels.rowwise import as_rows
from somscale.reductions.base import Field, Partial
from somscale.reductions.distance_totals import TOTALS
from somscale.reductions.pair_tiles import PairTile, RowsAtHand
from somscale.reductions.sample_pairs import RowSilhouettes

__all__ = ["AnchorGroups", "AnchorSilhouettes", "AnchorTotals", "RowGroups", "RowTotals"]

_RATIOS = frozenset({"sammon", "collapsed"})
_PRODUCTS = frozenset({"d4", "d2e"})


@dataclass(frozen=True)
class AnchorTotals:
    """Sums over all other samples j of an anchor's distances d and e.

    Attributes
    ----------
    numbers : (m,) int64
        Numbers of the anchors.
    sums : mapping of str to (m,) float64
        By the names of :class:`~somscale.reductions.pair_stats.PairTotals`, which sum over
        unordered pairs: half of the sum over all samples of these is that total.
    """

    numbers: Int
    sums: Mapping[str, Float]


@dataclass(frozen=True)
class AnchorGroups:
    """Sums of anchors' distances to the samples of their own groups.

    Attributes
    ----------
    numbers : (m,) int64
        Numbers of the anchors.
    codes : (m,) int64
        Their groups; negative: none.
    own : (m,) float64
        Σ d over the other samples of the group.
    hits : (K,) int64
        Samples of every group.
    """

    numbers: Int
    codes: Int
    own: Float
    hits: Int

    def mean_distances(self) -> Float:
        """Mean distance of every anchor to the others of its group; 0 where it is alone."""
        sizes = self.hits[np.maximum(self.codes, 0)]
        means: Float = self.own / np.maximum(sizes - 1, 1)
        means[self.codes < 0] = np.nan
        return means


class RowTotals:
    """Totals of two distances, for every anchor.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    spaces : (str, str)
        The samples' space and the projection's.
    totals : set of str
        Those asked for, as for :class:`somscale.reductions.distance_totals.DistanceTotals`.
    """

    def __init__(self, name: str, spaces: tuple[str, str], totals: frozenset[str]) -> None:
        self.name = name
        self.needs = spaces
        self.totals = totals

    def gathered(self, n_rows: int) -> Mapping[str, Field]:
        """Every sum of every anchor."""
        return {"sums": Field("sum", shape=(len(TOTALS), n_rows))}

    @property
    def fields(self) -> Mapping[str, Field]:
        """The same behind the anchors' numbers."""
        return {"totals": Field("rows", shape=(1 + len(TOTALS),))}

    def meet(self, others: RowsAtHand, gathered: Partial) -> None:
        """Nothing is kept of other rows alone."""

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Add the distances of the kept columns to the rows."""
        from somscale.kernels import anchor_loops

        d, e = (tile.distances[name] for name in self.needs)
        anchor_loops.add_total_rows(
            d,
            e,
            kept.start,
            bool(self.totals & _RATIOS),
            bool(self.totals & _PRODUCTS),
            gathered["sums"],
        )

    def finish(self, kept: RowsAtHand, gathered: Partial) -> Partial:
        """The sums behind the anchors' numbers."""
        return {"totals": as_rows(kept.numbers, gathered["sums"].T)}

    def finalize(self, total: Partial) -> AnchorTotals:
        """Those totals that were asked for, and what came with them."""
        rows = total["totals"]
        known = {
            name: rows[:, 1 + place]
            for place, name in enumerate(TOTALS)
            if all(self.totals & group for group in (_RATIOS, _PRODUCTS) if name in group)
        }
        return AnchorTotals(rows[:, 0].astype(np.int64), known)


class RowGroups:
    """Sums over the samples of its own group, for every anchor.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    column : str
        Name of the column of groups.
    n_groups : int
        Groups K.
    space : str
        Whose distances.
    """

    def __init__(self, name: str, column: str, n_groups: int, *, space: str) -> None:
        self.name = name
        self.column = column
        self.n_groups = n_groups
        self.needs = (space,)

    def gathered(self, n_rows: int) -> Mapping[str, Field]:
        """One sum of every anchor, and the groups' sizes."""
        return {
            "own": Field("sum", shape=(n_rows,)),
            "hits": Field("sum", "int64", (self.n_groups,)),
        }

    @property
    def fields(self) -> Mapping[str, Field]:
        """Group and sum of every anchor, and the groups' sizes."""
        return {
            "groups": Field("rows", shape=(3,)),
            "hits": Field("max", "int64", (self.n_groups,)),
        }

    def meet(self, others: RowsAtHand, gathered: Partial) -> None:
        """Count the samples of the groups."""
        codes = others.columns[self.column]
        gathered["hits"] += np.bincount(codes[codes >= 0], minlength=self.n_groups)

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Add the distances of the kept columns to the rows of the same group."""
        from somscale.kernels import anchor_loops

        anchor_loops.add_own_group_rows(
            tile.distances[self.needs[0]],
            _codes(tile.left, self.column),
            _codes(tile.right, self.column),
            kept.start,
            gathered["own"],
        )

    def finish(self, kept: RowsAtHand, gathered: Partial) -> Partial:
        """Groups and sums behind the anchors' numbers."""
        codes = _codes(kept, self.column)
        rows = as_rows(kept.numbers, np.column_stack([codes, gathered["own"]]))
        return {"groups": rows, "hits": gathered["hits"]}

    def finalize(self, total: Partial) -> AnchorGroups:
        """Sums of all anchors."""
        rows = total["groups"]
        numbers, codes = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        return AnchorGroups(numbers, codes, rows[:, 2], total["hits"])


class AnchorSilhouettes(RowSilhouettes):
    """Silhouettes of anchors; those of all other samples are nan."""

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Add the distances of the kept columns to the rows, one after the other."""
        from somscale.kernels import anchor_loops

        anchor_loops.add_group_rows(
            tile.distances[self.needs[0]],
            _codes(tile.left, self.column),
            kept.start,
            gathered["sums"],
        )


def _codes(rows: RowsAtHand, column: str) -> AnyArray:
    """Codes in one type, so that a loop is compiled once."""
    return np.ascontiguousarray(rows.columns[column], dtype=np.int64)

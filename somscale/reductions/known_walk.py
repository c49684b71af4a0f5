"""The walk that ranks in projections alone: the nearest among the samples are known already.

A pair beyond the lists has ρ larger than any K that is asked for, and that is all that
overlaps, continuity and errors of extrusions need of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from somscale._types import Float, Int
from somscale.reductions.base import Block, Way
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows, RowChoice
from somscale.reductions.rank_group import KeySource, NearGroup, RankGroup, SortedGroup
from somscale.reductions.rank_near import Met, NearRows
from somscale.reductions.rank_rows import sort_keys
from somscale.reductions.rank_sheet import Sheet
from somscale.reductions.rank_walk import RankWalk
from somscale.reductions.rank_want import RankWant

__all__ = ["KnownWalk"]


class KnownWalk(RankWalk):
    """Rank the listed samples around every kept row, in projections.

    Parameters
    ----------
    name : str
        Key of the reduction within its walk.
    spaces : mapping of str to PlacedSpace
        The projections' spaces.
    lists : str
        Name of the column of lists: numbers of the nearest samples, in order, −1 where
        there are no more.
    wants, choice, n_samples
        As for :class:`~somscale.reductions.rank_walk.RankWalk`.  Ties go by sample number,
        and K up to the length of the lists.

    Notes
    -----
    Of what is tallied, `excess_in` and `moved_in` lack the pairs beyond the lists.
    """

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        lists: str,
        wants: Mapping[str, tuple[str, RankWant]],
        choice: RowChoice,
        *,
        n_samples: int,
    ) -> None:
        super().__init__(name, spaces, lists, wants, choice, n_samples=n_samples, n_features=0)

    @property
    def names(self) -> list[str]:
        """The projections' spaces."""
        return self.outputs

    def start(self, kept: Block, way: Way, first: int) -> RankGroup:
        """A group's rows with their lists."""
        group = super().start(kept, way, first)
        if isinstance(group, NearGroup):
            return group
        lists = self._lists(kept, group.rows)
        return _SortedKnown(group.source, group.rows, first, lists, self.wants, self.n_samples)

    def near_rows(self, kept: Block, rows: PreparedRows) -> NearRows:
        """What the rows gather in projections."""
        return _NearKnown(self.k, self.outputs, self.n_samples, self._lists(kept, rows))

    def _lists(self, kept: Block, rows: PreparedRows) -> Int:
        return kept.columns[self.input][rows.positions, : self.k].astype(np.int64)


class _NearKnown(NearRows):
    """Rows whose nearest are looked for in projections, and known among the samples."""

    def __init__(self, k: int, outputs: Sequence[str], n_samples: int, lists: Int) -> None:
        super().__init__(len(lists), k, "", outputs, n_samples)
        del self._near[""]
        for near in self._near.values():
            near.carried = {}
        self._lists = lists
        self._counts = np.count_nonzero(lists >= 0, axis=1)
        self._carried: dict[str, Float] = {name: np.zeros(lists.shape) for name in outputs}

    def settle(self, met: Met) -> None:
        """End a block: find δ of the listed samples in it."""
        from somscale.kernels.rank_known import carry_listed

        super().settle(met)
        for name, carried in self._carried.items():
            own = met.spaces[name]
            carry_listed(
                self._lists,
                self._counts,
                own.keys,
                met.start,
                own.left,
                own.right,
                own.weights,
                carried,
            )

    def turn(self) -> None:
        """Once all samples were met: list the pairs whose ranks are to be counted."""
        for name, carried in self._carried.items():
            self._list_far(name, [(self._lists, carried, self._counts)])

    def pairs(self, output: str) -> tuple[Int, Int, Int, Int]:
        """The listed pairs: ρ, r, number, and how many."""
        r = self._ranked(self._lists[None], self._counts[None], output)[0]
        return _places(self._lists), r, self._lists, self._counts


class _SortedKnown(SortedGroup):
    """Rows that are sorted in projections, and whose nearest samples are known."""

    def __init__(
        self,
        source: KeySource,
        rows: PreparedRows,
        first: int,
        lists: Int,
        wants: Mapping[str, tuple[str, RankWant]],
        n_samples: int,
    ) -> None:
        super().__init__(source, rows, first, "", {}, n_samples)
        self._lists = lists
        self._asked = wants

    def turn(self) -> None:
        """Sort, and tally the listed pairs."""
        numbers, n = self.rows.rows.numbers, self.n_taken - 1
        rankings = {
            name: sort_keys(keys, numbers, n, spans=False) for name, keys in self._keys.items()
        }
        super().turn()
        counts = np.count_nonzero(self._lists >= 0, axis=1)
        for key, (space, want) in self._asked.items():
            sheet = Sheet(want, self._n_samples, len(self.rows), self.first)
            if len(self.rows):
                ranking = rankings[space]
                r = np.take_along_axis(ranking.rank, np.maximum(self._lists, 0), axis=1)
                sheet.add_pairs(
                    slice(0, len(self.rows)),
                    numbers,
                    _places(self._lists),
                    r.astype(np.int64),
                    self._lists,
                    counts,
                    tied=ranking.tied,
                    looked=n * len(self.rows),
                )
            self.tallies[key] = sheet.partial()


def _places(lists: Int) -> Int:
    """Ranks of listed samples among the samples."""
    return np.ascontiguousarray(np.broadcast_to(np.arange(1, lists.shape[1] + 1), lists.shape))

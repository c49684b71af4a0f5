"""What can be kept of the samples' own distances: nearest neighbours, or all ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np

from somscale._types import AnyArray, Bool, Int
from somscale.reductions.base import Block, Field, Partial, Way
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.rank_group import NearGroup, RankGroup, SortedGroup
from somscale.reductions.rank_rows import sort_keys
from somscale.reductions.rank_walk import RankWalk

__all__ = ["Kept", "NeighborWalk", "RankMatrixWalk", "RankRowsWalk"]

_NEAR_ROWS: Final = 256
_SORTED_ROWS: Final = 32


@dataclass(frozen=True)
class Kept:
    """What one walk over the samples leaves behind.

    Attributes
    ----------
    values : (N, k) or (N, N) integer
        Numbers of the nearest samples, in order, −1 where there are no more; or ranks: of
        equal distances the least one, 0 on the diagonal.
    taken : (N,) bool
        Samples that take part; rows of others hold nothing.
    """

    values: AnyArray
    taken: Bool


class _KeepingWalk(RankWalk):
    """Rows that meet all samples in their own space, of which something is kept."""

    width: int
    dtype: str

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        input: str,
        choice: RowChoice,
        *,
        n_samples: int,
        n_features: int,
        matrix: str | None = None,
    ) -> None:
        super().__init__(
            name,
            spaces,
            input,
            {},
            choice,
            n_samples=n_samples,
            n_features=n_features,
            matrix=matrix,
        )

    @property
    def fields(self) -> Mapping[str, Field]:
        """Numbers of the rows that take part, and what is kept of each."""
        own = {
            "numbers": Field("concat", "int64"),
            "kept": Field("concat", self.dtype, (self.width,)),
        }
        return {**super().fields, **own}

    def finish(self, groups: Sequence[RankGroup]) -> Partial:
        """What is kept of a tile."""
        partial = super().finish(groups)
        numbers = [group.rows.rows.numbers for group in groups]
        partial["numbers"] = np.concatenate(numbers).astype(np.int64)
        partial["kept"] = np.concatenate([self.kept_of(group) for group in groups])
        return partial

    def kept_of(self, group: Any) -> AnyArray:
        """What is kept of the rows of a group, once they have met all."""
        raise ValueError("a walk says itself what it keeps")

    def finalize(self, total: Partial) -> dict[str, Any]:
        """What is kept of all samples, under "kept"."""
        numbers, values = total["numbers"], total["kept"]
        taken = np.zeros(self.n_samples, bool)
        taken[numbers] = True
        if not taken.all():
            nothing = -1 if values.dtype.kind == "i" else 0
            whole = np.full((self.n_samples, self.width), nothing, values.dtype)
            whole[numbers] = values
            values = whole
        return {"n_samples": int(total["n_samples"]), "kept": Kept(values, taken)}


class NeighborWalk(_KeepingWalk):
    """Find the k nearest of every sample, ties by sample number.

    Parameters
    ----------
    name, spaces, input, choice, n_samples, n_features, matrix
        As for :class:`~somscale.reductions.rank_walk.RankWalk`.
    k : int
        Nearest samples that are kept; at most N − 1 are.
    """

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        input: str,
        choice: RowChoice,
        k: int,
        *,
        n_samples: int,
        n_features: int,
        matrix: str | None = None,
    ) -> None:
        super().__init__(
            name, spaces, input, choice, n_samples=n_samples, n_features=n_features, matrix=matrix
        )
        self.k = self.width = max(1, min(k, n_samples - 1))
        self.dtype = "int32" if n_samples < 1 << 31 else "int64"
        self.sorted = False
        self.tile_rows = _NEAR_ROWS
        self.operations = self._operations()

    def ways(self, n_rows: int) -> Sequence[Way]:
        """Samples are met once, and their keys are not kept."""
        *_, last = super().ways(n_rows)
        return [replace(last, sweeps=1, panels=True)]

    def start(self, kept: Block, way: Way, first: int) -> RankGroup:
        """A group's rows; those of two sweeps keep no keys after the first."""
        return super().start(kept, replace(way, sweeps=2), first)

    def turn(self, group: RankGroup, sweep: int) -> None:
        """Nothing is counted: the nearest are known once all samples were met."""

    def kept_of(self, group: NearGroup) -> AnyArray:
        """Numbers of the nearest, in order."""
        others, counts = group.near.nearest(self.input)
        there = np.arange(self.k) < counts[:, None]
        return np.where(there, others, -1).astype(self.dtype)


class RankMatrixWalk(_KeepingWalk):
    """Rank all samples around every one; equal distances share the least of their ranks.

    Parameters
    ----------
    name, spaces, input, choice, n_samples, n_features, matrix
        As for :class:`~somscale.reductions.rank_walk.RankWalk`.
    """

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        input: str,
        choice: RowChoice,
        *,
        n_samples: int,
        n_features: int,
        matrix: str | None = None,
    ) -> None:
        super().__init__(
            name, spaces, input, choice, n_samples=n_samples, n_features=n_features, matrix=matrix
        )
        self.width, self.dtype = n_samples, str(np.min_scalar_type(n_samples))
        self.sorted = True
        self.tile_rows = _SORTED_ROWS
        self.operations = self._operations()

    def start(self, kept: Block, way: Way, first: int) -> RankGroup:
        """A group's rows, made ready."""
        group = cast("SortedGroup", super().start(kept, way, first))
        return _RankedGroup(group.source, group.rows, first, self.input, {}, self.n_samples)

    def kept_of(self, group: _RankedGroup) -> AnyArray:
        """Ranks around the rows, by the samples' numbers."""
        return group.ranks.astype(self.dtype)


class _RankedGroup(SortedGroup):
    """Rows that are sorted in one space, and whose ranks are kept."""

    ranks: Int

    def turn(self) -> None:
        """Sort."""
        self.ranks = np.zeros((len(self.rows), self._n_samples), np.int32)
        if len(self.rows):
            keys, numbers = self._keys[self._input], self.rows.rows.numbers
            self.ranks = sort_keys(keys, numbers, self.n_taken - 1, spans=True).rank
        super().turn()


class RankRowsWalk(RankMatrixWalk):
    """The same ranks, handed out tile by tile: none is kept, and nothing is merged."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """Counts of rows alone."""
        kept = super().fields
        return {name: spec for name, spec in kept.items() if name not in ("numbers", "kept")}

    def kept_of(self, group: _RankedGroup) -> AnyArray:
        """Ranks around the rows; of samples that take no part the largest integer, no rank."""
        ranks = super().kept_of(group)
        if group.n_taken < self.n_samples:
            nothing = ranks == 0
            nothing[np.arange(len(ranks)), group.rows.rows.numbers] = False
            ranks[nothing] = np.iinfo(ranks.dtype).max
        return ranks

"""The walk that ranks: some rows meet all samples, in the samples' space and in projections.

Two ways, by what is wanted.  *Near*: ties go by sample number and few ranks matter, so the
nearest are found and their ranks counted.  *Sorted*: all ranks matter, or ties are shared, so
each row is sorted in every space.  Neither ever holds more than some rows.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from somscale._types import AnyArray, Bool, Float
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import Block, Field, PairWorkspace, Partial, Side, Way
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows, RowChoice, told_spaces
from somscale.reductions.rank_finish import finish_ranks
from somscale.reductions.rank_group import CHUNK_KEYS, NearGroup, RankGroup, SortedGroup
from somscale.reductions.rank_keys import keys_of
from somscale.reductions.rank_near import NearRows, near_row_bytes
from somscale.reductions.rank_sheet import RankWant, Sheet
from somscale.reductions.rank_source import KeySource
from somscale.spaces.given import StoredValues

__all__ = ["RankWalk"]

_TILE_ROWS: Final = 256
_SORTED_ROWS: Final = 32
_SORTED_KEYS: Final = 1 << 23
"""Keys of a tile that is sorted, at most: 64 MiB in each space."""
_KEPT_KEYS: Final = 3 << 20
"""Keys that are kept of the rows at hand, as a wish: 12 MiB in single precision."""
_WIDTH: Final = 2048
"""Samples that rows meet at a time where the keys are not kept."""
_FEW: Final = 8
"""How much smaller than N ranks must be for counting to be quicker than sorting."""


class RankWalk:
    """Rank all samples around every kept row, in the samples' space and in projections.

    Parameters
    ----------
    name : str
        Key of the reduction within its walk.
    spaces : mapping of str to PlacedSpace
        What distances are taken of.
    input : str
        Name of the samples' space, or of the matrix.
    wants : mapping of str to (str, RankWant)
        By any key: the name of a projection's space, and what is tallied of it.
    choice : RowChoice
        Which samples take part.
    n_samples, n_features : int
        Samples N and features D.
    matrix : str, optional
        Name of the space whose distances a stored matrix gives.
    stored : StoredValues, optional
        What that matrix is, where it comes from a store and not from the user.
    """

    side = Side.SWEEPS

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        input: str,
        wants: Mapping[str, tuple[str, RankWant]],
        choice: RowChoice,
        *,
        n_samples: int,
        n_features: int,
        matrix: str | None = None,
        stored: StoredValues | None = None,
    ) -> None:
        self.name = name
        self.spaces = dict(spaces)
        self.input = input
        self.wants = dict(wants)
        self.choice = choice
        self.n_samples = n_samples
        self.n_features = n_features
        self.matrix = matrix
        self.stored = stored
        reach = max((want.reach for _, want in wants.values()), default=1)
        by_number = all(want.ties == "index" for _, want in wants.values())
        self.k = max(1, min(reach, n_samples - 1))
        self.sorted = not by_number or _FEW * self.k > n_samples
        self.tile_rows = _TILE_ROWS
        if self.sorted:
            self.tile_rows = _SORTED_ROWS
            while self.tile_rows > 1 and self.tile_rows * n_samples > _SORTED_KEYS:
                self.tile_rows //= 2
        self.operations = self._operations()
        # chunks of keys, and of some rows buckets, lists and keys that are computed again
        scratch = 24 * CHUNK_KEYS + 48 * n_samples + (2 << 20)
        self.workspace = PairWorkspace(tile_bytes=scratch)
        self._scratch = Scratch()

    @property
    def outputs(self) -> list[str]:
        """Names of the projections' spaces, each once."""
        return list(dict.fromkeys(space for space, _ in self.wants.values()))

    @property
    def names(self) -> list[str]:
        """All spaces, the samples' first."""
        return list(dict.fromkeys([self.input, *self.outputs]))

    def told(
        self, *, center: Float | None, missing_features: Bool | None, largest: Any = None
    ) -> RankWalk:
        """The same walk once it is known where the samples lie, and what they all lack."""
        found = copy.copy(self)
        found.choice = replace(self.choice, missing_features=missing_features)
        found.spaces = told_spaces(self.spaces, center, missing_features)
        return found

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial: how many rows were ranked, and the tallies of all wants."""
        own = {
            f"{key}.{name}": spec
            for key, (_, want) in self.wants.items()
            for name, spec in want.fields(self.n_samples).items()
        }
        counts = {"n_rows": Field("sum", "int64"), "n_samples": Field("max", "int64")}
        return {**counts, **own}

    def ways(self, n_rows: int) -> Sequence[Way]:
        """Keys of all samples kept for some rows; or, where these are near, met twice."""
        n_spaces, others = len(self.names), self._others_bytes()
        if self.sorted:
            held = 8 * n_rows * (n_spaces + 4)
            return [Way(self.tile_rows, 1, self.tile_rows * held, others, panels=True)]
        lists = near_row_bytes(self.k, n_spaces)
        n_kept = sum(self._is_kept(name) for name in self.names)
        ways = []
        rows = _TILE_ROWS
        while rows >= 8:
            if rows * n_rows * n_kept <= _KEPT_KEYS or rows <= 32:
                ways.append(Way(rows, 1, rows * (8 * n_rows * n_kept + lists), others))
            rows //= 2
        held = _TILE_ROWS * (8 * _WIDTH * n_kept + lists)
        return [*ways, Way(_TILE_ROWS, 2, held, others)]

    def start(self, kept: Block, way: Way, first: int) -> RankGroup:
        """A group's rows, made ready."""
        rows = PreparedRows.of(kept, self.spaces, self.choice)
        source = KeySource(
            self.spaces,
            self.names,
            self.matrix,
            self._scratch,
            self.sorted,
            self.choice.names.samples,
            rows,
            self.stored,
        )
        if self.sorted:
            return SortedGroup(source, rows, first, self.input, self.wants, self.n_samples)
        labels = [want.labels for _, want in self.wants.values() if want.labels is not None]
        # columns that are met at a time: all of them where keys are kept
        width = self.n_samples if way.sweeps == 1 else _WIDTH
        near = self.near_rows(kept, rows)
        return NearGroup(source, rows, first, near, labels, width=width, keep=way.sweeps == 1)

    def near_rows(self, kept: Block, rows: PreparedRows) -> NearRows:
        """What the kept rows that take part gather."""
        return NearRows(len(rows), self.k, self.input, self.outputs, self.n_samples)

    def meet(
        self, group: RankGroup, others: Block, sweep: int, given: AnyArray | None = None
    ) -> None:
        """Let a group meet some samples."""
        if self.name not in others.memo:
            others.memo[self.name] = PreparedRows.of(others, self.spaces, self.choice)
        group.meet(others, others.memo[self.name], sweep, given)

    def turn(self, group: RankGroup, sweep: int) -> None:
        """End a sweep."""
        group.turn()

    def finish(self, groups: Sequence[RankGroup]) -> Partial:
        """The tallies of a tile."""
        n_rows = sum(len(group.rows) for group in groups)
        partial: Partial = {
            "n_rows": np.asarray(n_rows),
            "n_samples": np.asarray(max(group.n_taken for group in groups)),
        }
        for key in self.wants:
            for name, array in self._tallied(key, groups, n_rows).items():
                partial[f"{key}.{name}"] = array
        return partial

    def finalize(self, total: Partial) -> dict[str, Any]:
        """Finished statistics by the keys of the wants, and how many samples took part."""
        n_samples, n_rows = int(total["n_samples"]), int(total["n_rows"])
        found: dict[str, Any] = {"n_samples": n_samples}
        for key, (_, want) in self.wants.items():
            own = {name: total[f"{key}.{name}"] for name in want.fields(self.n_samples)}
            found[key] = finish_ranks(want, own, n_samples, n_rows)
        return found

    def _tallied(self, key: str, groups: Sequence[RankGroup], n_rows: int) -> Partial:
        space, want = self.wants[key]
        if isinstance(groups[0], SortedGroup):
            # floats are added row after row, so a tile is one group
            return groups[0].tallies[key]
        sheet = Sheet(want, self.n_samples, n_rows, groups[0].first)
        place = 0
        for group in groups:
            if isinstance(group, NearGroup):
                group.add_to(sheet, space, place)
            place += len(group.rows)
        return sheet.partial()

    def _operations(self) -> float:
        """Distances in every space, and what a rank takes in operations of a product."""
        each = 400.0 if self.sorted else 60.0 + 0.4 * self.k
        spaces = [placed for name, placed in self.spaces.items() if name in self.names]
        distances = sum(
            placed.space.operations(self.n_features if placed.column is None else 2)
            for placed in spaces
        )
        return distances + each * len(self.names)

    def _is_kept(self, name: str) -> bool:
        """Whether the keys of a space are kept, and not computed again."""
        if name == self.matrix:
            return True
        placed = self.spaces[name]
        width = self.n_features if placed.column is None else placed.width
        return not keys_of(placed.space, width, exact=False).cheap

    def _others_bytes(self) -> int:
        """Bytes a row of the samples that are made ready, in all spaces, and its columns."""
        widths = [self.n_features if p.column is None else p.width for p in self.spaces.values()]
        return sum(24 * width + 48 for width in widths) + 64

"""Every sample compared with a few fixed ones, the anchors, in linear reads.

Sums of an anchor's distances over *all* samples are exact.  An index that is a mean over
samples or pairs is a mean of such sums over all anchors there could be, so a random
choice of them estimates it without bias (:mod:`somscale.metrics.asking.sampling`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int
from somscale.errors import InputError, SampleValueError
from somscale.kernels.rowwise import as_rows
from somscale.kernels.scratch import Scratch
from somscale.reductions.base import TILE_ROWS, Block, Field, Partial, Rows, Workspace
from somscale.reductions.pair_rows import PlacedSpace, PreparedRows, RowChoice, told_spaces
from somscale.reductions.pair_tiles import PairTile, RowAccumulator, RowsAtHand
from somscale.reductions.whole_rows import BLOCK_ROWS, PlacedRows, WholeRows
from somscale.spaces.base import BadPair

__all__ = ["AnchorRows", "AnchorWalk", "Anchors"]

_PART_COLUMNS = 1024
"""Anchors at a time: 1 MiB of distances to a block of rows, which stay in cache."""

_THREADS = 8
"""Threads of a process that have such parts, for the plan."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Samples that all others are compared with.

    Attributes
    ----------
    numbers : (m,) int64
        Their numbers, ascending.
    values : (m, D)
        Their features.
    columns : mapping of str to (m,) or (m, C) array
        Their codes, and their places in an embedding.
    known : bool
        Whether they have been read.

    Raises
    ------
    InputError
        The numbers do not ascend, or values or columns do not fit them.
    """

    numbers: Int
    values: AnyArray
    columns: Mapping[str, AnyArray] = field(default_factory=dict)
    known: bool = True

    def __post_init__(self) -> None:
        if (np.diff(self.numbers) <= 0).any():
            raise InputError("anchors come in the order of their numbers, each once; sort them")
        for name, array in {"values": self.values, **self.columns}.items():
            if len(array) != len(self.numbers):
                raise InputError(
                    f"{len(self.numbers)} anchors have {len(array)} rows of {name!r}; give one each"
                )

    @classmethod
    def planned(cls, numbers: Int, n_features: int) -> Anchors:
        """Anchors that are still to be read, from which work can be planned."""
        return cls(numbers, np.broadcast_to(np.float64(0), (len(numbers), n_features)), {}, False)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass
class _Found:
    rows: Rows
    numbers: Int
    values: Float
    partial: Partial


class AnchorRows:
    """Read the features of some samples, from wherever a pass reads.

    Parameters
    ----------
    numbers : (m,) int64
        Numbers of the samples, ascending.
    n_features : int
        Features D.
    name : str
        Key of the reduction within its pass.

    Notes
    -----
    Values become float64.
    """

    tile_rows: int | None = None
    sweeps = 1
    operations = 1.0
    workspace = Workspace(row_feature_bytes=8)

    def __init__(self, numbers: Int, n_features: int, *, name: str = "anchor rows") -> None:
        self.numbers = np.asarray(numbers, np.int64)
        self.n_features = n_features
        self.name = name
        self.fields = {"rows": Field("rows", shape=(1 + n_features,))}

    def begin(self, rows: Rows, partial: Partial) -> _Found:
        """Look for those among the rows at hand."""
        low, high = np.searchsorted(self.numbers, (rows.start, rows.stop))
        numbers = self.numbers[low:high]
        return _Found(rows, numbers, np.empty((len(numbers), self.n_features)), partial)

    def wants(self, sweep: int, state: _Found) -> bool:
        """Whether there are any."""
        return len(state.numbers) > 0

    def sweep(self, sweep: int, state: _Found, first_feature: int, values: AnyArray) -> None:
        """Keep their next features."""
        features = slice(first_feature, first_feature + values.shape[1])
        state.values[:, features] = values[state.numbers - state.rows.start]

    def end(self, state: _Found) -> None:
        """Hand them over."""
        if len(state.numbers):
            known = state.partial["rows"]
            state.partial["rows"] = np.concatenate([known, as_rows(state.numbers, state.values)])

    def finalize(self, total: Partial) -> Anchors:
        """The anchors, without columns."""
        return Anchors(total["rows"][:, 0].astype(np.int64), total["rows"][:, 1:].copy())


class AnchorWalk:
    """Accumulate, for every anchor, over all other samples.

    Parameters
    ----------
    name : str
        Key of the reduction within its pass.
    spaces : mapping of str to PlacedSpace
        What distances are taken of.
    accumulators : sequence of RowAccumulator
        What adds up; the anchors are the columns of its tiles.  Those of
        :mod:`somscale.reductions.anchored` add row after row, so that their sums are the
        same for every cut; others are so up to rounding.
    choice : RowChoice
        Which samples take part; anchors that do not are left out.
    anchors : Anchors
        What the samples are compared with.

    Notes
    -----
    An anchor's distance to itself is 0, whatever the space says.
    """

    tile_rows: int | None = TILE_ROWS
    sweeps = 1

    def __init__(
        self,
        name: str,
        spaces: Mapping[str, PlacedSpace],
        accumulators: Sequence[RowAccumulator],
        choice: RowChoice,
        anchors: Anchors,
    ) -> None:
        self.name = name
        self.spaces = dict(spaces)
        self.accumulators = list(accumulators)
        # sums go in the order of the samples
        self.choice = replace(choice, sort_by=None)
        self.anchors = anchors
        self.operations = self._operations()
        self.workspace = self._workspace()
        self._scratch = Scratch()

    def meeting(self, anchors: Anchors) -> AnchorWalk:
        """The same walk with other anchors, which have been read meanwhile."""
        again = copy.copy(self)
        again.anchors = anchors
        return again

    def told(self, *, center: Float | None, missing_features: Bool | None) -> AnchorWalk:
        """The same walk once it is known where the samples lie, and what they all lack."""
        again = copy.copy(self)
        again.choice = replace(self.choice, missing_features=missing_features)
        again.spaces = told_spaces(self.spaces, center, missing_features)
        return again

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made of the anchors."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    @cached_property
    def _kept(self) -> PreparedRows:
        """The anchors that take part, made ready once."""
        anchors, samples = self.anchors, self.choice.names.samples
        places = (
            anchors.numbers if samples.positions is None else samples.positions[anchors.numbers]
        )
        names = replace(self.choice.names, samples=replace(samples, positions=places))
        block = Block(0, len(anchors), anchors.values, anchors.columns)
        found = PreparedRows.of(block, self.spaces, replace(self.choice, names=names))
        numbers = anchors.numbers[found.positions]
        return replace(found, rows=RowsAtHand(numbers, found.rows.columns))

    @property
    def numbers(self) -> Int:
        """Numbers of the anchors that take part; of all, where they are still to be read."""
        return self._kept.rows.numbers if self.anchors.known else self.anchors.numbers

    @property
    def fields(self) -> Mapping[str, Field]:
        """What the anchors gather, and how many samples take part."""
        m = len(self.numbers)
        own = {f"{a.name}.{n}": s for a in self.accumulators for n, s in a.gathered(m).items()}
        return {"n_samples": Field("sum", "int64"), **own}

    def begin(self, rows: Rows, partial: Partial) -> WholeRows:
        """Start some rows of a tile."""
        return WholeRows(rows, partial, self.anchors.values.shape[1])

    def wants(self, sweep: int, state: WholeRows) -> bool:
        """Whether samples that take part are at hand."""
        if self.choice.excluded is None:
            return True
        return not state.rows.column(self.choice.excluded).all()

    def sweep(self, sweep: int, state: WholeRows, first_feature: int, values: AnyArray) -> None:
        """Keep the rows' next features."""
        state.keep(first_feature, values)

    def end(self, state: WholeRows) -> None:
        """Let the rows, which are whole now, meet all anchors."""
        if state.values is None:
            return
        partial = state.partial
        owned = [
            (a, {name: partial[f"{a.name}.{name}"] for name in a.gathered(1)})
            for a in self.accumulators
        ]
        for block in state.blocks():
            rows = PlacedRows.of(block, self.spaces, self.choice)
            if rows is None:
                continue
            partial["n_samples"] += len(rows.rows)
            for accumulator, gathered in owned:
                accumulator.meet(rows.rows, gathered)
            for tile, columns in self._tiles(rows):
                for accumulator, gathered in owned:
                    accumulator.add(tile, gathered, columns)

    def finalize(self, total: Partial) -> dict[str, Any]:
        """Finished statistics of every accumulator, by its name."""
        found: dict[str, Any] = {"n_samples": int(total["n_samples"])}
        for a in self.accumulators:
            own = {name: total[f"{a.name}.{name}"] for name in a.gathered(1)}
            found[a.name] = a.finalize(a.finish(self._kept.rows, own))
        return found

    def _operations(self) -> float:
        """Distances of a sample to all anchors in every space, and what is done with each."""
        width = self.anchors.values.shape[1]
        each = sum(
            placed.space.operations(width if placed.column is None else 2) + 4
            for placed in self.spaces.values()
        )
        return len(self.anchors) * (each + 2.0 * len(self.accumulators))

    def _workspace(self) -> Workspace:
        """Whole rows; anchors made ready, and in every thread a block of rows and distances."""
        width, m = self.anchors.values.shape[1], len(self.anchors)
        row = 24 * width + 64
        part = BLOCK_ROWS * (8 * min(_PART_COLUMNS, m) + row)
        held = len(self.spaces) * (m * row + _THREADS * 2 * part)
        return Workspace(row_bytes=8 * width + 64, process_bytes=held)

    def _tiles(self, rows: PlacedRows) -> Iterator[tuple[PairTile, slice]]:
        """Distances of the rows to some anchors at a time, and which these are."""
        kept = self._kept
        for first in range(0, len(kept), _PART_COLUMNS):
            columns = slice(first, min(first + _PART_COLUMNS, len(kept)))
            distances = {name: self._measure(name, rows, columns) for name in self.spaces}
            start = rows.places.start if isinstance(rows.places, slice) else int(rows.places[0])
            yield (
                PairTile(rows.rows, kept.part(columns), distances, start, first, -BLOCK_ROWS - 1),
                columns,
            )

    def _measure(self, name: str, rows: PlacedRows, columns: slice) -> Float:
        space, kept = self.spaces[name].space, self._kept
        shape = BLOCK_ROWS, columns.stop - columns.start
        table: Float = self._scratch.take(name, shape, np.float64)
        try:
            space.distances(rows.prepared[name], kept.prepared[name].part(columns), table)
        except BadPair as bad:
            names = self.choice.names.samples
            one = names.describe(rows.number_at(bad.left))
            other = names.describe(int(kept.rows.numbers[columns][bad.right]))
            raise SampleValueError(f"{one} and {other}: {bad.problem}; {bad.remedy}") from None
        numbers = kept.rows.numbers[columns]
        low, high = np.searchsorted(numbers, (rows.first, rows.first + BLOCK_ROWS))
        table[numbers[low:high] - rows.first, np.arange(low, high)] = 0.0
        return np.asarray(table[rows.places])

"""The rows of a block that take part in a walk over pairs, made ready once for all it meets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int
from somscale.errors import SampleValueError
from somscale.reductions.base import Block
from somscale.reductions.census import Missing, tolerated
from somscale.reductions.names import EntryNames
from somscale.reductions.pair_tiles import RowsAtHand
from somscale.spaces import EuclideanSpace
from somscale.spaces.base import BadRow, Prepared, Space

__all__ = ["PlacedSpace", "PreparedRows", "RowChoice", "told_spaces"]


@dataclass(frozen=True)
class PlacedSpace:
    """A space, and where the values are that it measures.

    Attributes
    ----------
    space : Space
        Gives distances.
    column : str or None
        Name of the column of values; None: the samples themselves.
    what : str
        What errors call a row of that column.
    width : int
        Values of a row of that column.
    """

    space: Space
    column: str | None = None
    what: str = "samples"
    width: int = 1


def told_spaces(
    spaces: Mapping[str, PlacedSpace], center: Float | None, missing_features: Bool | None
) -> dict[str, PlacedSpace]:
    """The same spaces about a point near the samples, without features that these all lack."""
    kept = None if missing_features is None else ~missing_features
    told = {}
    for name, placed in spaces.items():
        space = placed.space
        if placed.column is None and isinstance(space, EuclideanSpace):
            weights = space.feature_weights
            if kept is not None:
                weights = None if weights is None else weights[kept]
            middle = center if center is None or kept is None else center[kept]
            placed = replace(placed, space=replace(space, center=middle, feature_weights=weights))
        told[name] = placed
    return told


@dataclass(frozen=True)
class RowChoice:
    """Which rows of a block take part, and in which order they are walked.

    Parameters
    ----------
    excluded : str or None
        Name of a column that is true where a sample is left out.
    missing : {"raise", "drop", "drop_any_sample"}
        What nan means, as for :class:`somscale.reductions.units.UnitsReduction`.
    missing_features : (D,) bool, optional
        Features that every sample lacks, under "drop".
    sort_by : str or None
        Name of a column of codes whose rows are put together.
    groups : tuple of str
        Names of columns of codes; a sample that is negative in all of them takes no part, and
        may hold anything.  Where there are none, all take part.
    names : EntryNames
        How errors name an entry of the samples.
    """

    excluded: str | None = None
    missing: Missing = "raise"
    missing_features: Bool | None = None
    sort_by: str | None = None
    groups: tuple[str, ...] = ()
    names: EntryNames = field(default_factory=EntryNames)

    def values_of(self, block: Block) -> AnyArray:
        """The block's values without the features that every sample lacks."""
        if self.missing_features is None or not block.values.shape[1]:
            return block.values
        return block.values[:, ~self.missing_features]

    def rows_of(self, block: Block, values: AnyArray) -> Int:
        """Positions of the rows that take part, in the order of the walk."""
        taken = np.ones(len(block), bool)
        if self.excluded is not None:
            taken &= ~block.columns[self.excluded].astype(bool)
        if self.groups:
            taken &= np.any([block.columns[name] >= 0 for name in self.groups], axis=0)
        if self.missing != "raise" and values.dtype.kind == "f" and values.shape[1]:
            gaps = np.count_nonzero(np.isnan(values), axis=1)
            most = tolerated(self.missing, values.shape[1])
            if most is not None:
                taken &= gaps <= most
        rows = np.flatnonzero(taken)
        if self.sort_by is None:
            return rows
        return rows[np.argsort(block.columns[self.sort_by][rows], kind="stable")]


@dataclass(frozen=True)
class PreparedRows:
    """Rows of a block that take part, as every space of the walk wants them.

    Attributes
    ----------
    rows : RowsAtHand
        Their numbers and codes.
    prepared : mapping of str to Prepared
        By the names of the spaces.
    positions : (n,) int64
        Their places in the block.
    """

    rows: RowsAtHand
    prepared: Mapping[str, Prepared]
    positions: Int
    _parts: dict[tuple[int, int], RowsAtHand] = field(default_factory=dict)

    @classmethod
    def of(cls, block: Block, spaces: Mapping[str, PlacedSpace], choice: RowChoice) -> PreparedRows:
        """Choose rows, and make them ready.

        Raises
        ------
        SampleValueError
            From a row no distance can be taken.
        """
        values = choice.values_of(block)
        positions = choice.rows_of(block, values)
        numbers = block.sample_numbers[positions]
        codes = {
            name: column[positions] for name, column in block.columns.items() if column.ndim == 1
        }
        whole = len(positions) == len(block) and bool((np.diff(positions) == 1).all())
        prepared = {}
        for name, placed in spaces.items():
            source = values if placed.column is None else block.columns[placed.column]
            try:
                prepared[name] = placed.space.prepare(source if whole else source[positions])
            except BadRow as bad:
                raise _named(bad, numbers, placed, choice) from None
        return cls(RowsAtHand(numbers, codes), prepared, positions)

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, rows: slice) -> PreparedRows:
        """Some of these rows, made ready."""
        prepared = {name: own.part(rows) for name, own in self.prepared.items()}
        return PreparedRows(self.rows.part(rows), prepared, self.positions[rows])

    def part(self, rows: slice) -> RowsAtHand:
        """Some of these rows; the same ones are looked at again and again."""
        key = rows.start, rows.stop
        if key not in self._parts:
            self._parts[key] = self.rows.part(rows)
        return self._parts[key]


def _named(bad: BadRow, numbers: Int, placed: PlacedSpace, choice: RowChoice) -> SampleValueError:
    number = int(numbers[bad.row])
    if placed.column is not None:
        component = "" if bad.feature is None else f", component {bad.feature}"
        where = choice.names.samples.describe(number) + component
        return SampleValueError(f"{placed.what}: {where} {bad.problem}; {bad.remedy}")
    if bad.feature is None:
        where = choice.names.samples.describe(number)
    else:
        feature = bad.feature
        if choice.missing_features is not None:
            feature = int(np.flatnonzero(~choice.missing_features)[feature])
        where = choice.names.describe(number, feature)
    return SampleValueError(f"{where} {bad.problem}; {bad.remedy}")

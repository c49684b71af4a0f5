"""The protocol of reductions: fields, tiles, and what engines may rely on.

A reduction names its *fields*; a *partial* is a plain dict of arrays, one a
field.  It says how one tile is accumulated and how the merged whole is
finished.  It never says how partials are merged (:mod:`somscale.reductions.merge`
does, from the fields), nor where the samples come from.

Linear reductions see tiles of rows.  Wide samples arrive in slabs of features:
a *sweep* is one walk over all features of the rows at hand, and a reduction
may ask for several.  The rows at hand are a tile or a part of one, in order.

Pair reductions see two blocks of samples at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from somscale._types import AnyArray, Int

__all__ = [
    "TILE_ROWS",
    "Block",
    "Field",
    "Given",
    "HasFields",
    "LinearReduction",
    "PairReduction",
    "PairWorkspace",
    "Partial",
    "Rows",
    "RunResult",
    "Side",
    "SweepReduction",
    "Way",
    "Workspace",
    "fresh_partial",
]

TILE_ROWS = 2048
"""Rows of a tile of floating-point sums.  Part of every result's last digits: never change it."""

Partial: TypeAlias = dict[str, NDArray[Any]]
RunResult: TypeAlias = list[Partial]
"""The partials of one task, one a reduction."""
Merge: TypeAlias = Literal["sum", "max", "min", "concat", "keyed", "rows", "listed"]
State = TypeVar("State")


@dataclass(frozen=True)
class Field:
    """One array of a partial, and how two of it become one.

    Parameters
    ----------
    merge : {"sum", "max", "min", "concat", "keyed", "rows", "listed"}
        "concat" joins values of samples in sample order; "keyed" adds sparse
        counts or weights of integer keys, (2, m) int64 or float64; "rows" adds values of
        some samples, (m, 1 + c) float64 with the samples' ascending numbers in front;
        "listed" joins values of those samples that a column lists, in sample order.
    dtype : str
        NumPy type of the array.
    shape : tuple of int
        Shape; for "concat" the shape of one sample's value, for "rows" ``(1 + c,)``, for "listed"
        the shape of one listed sample's value.
    """

    merge: Merge
    dtype: str = "float64"
    shape: tuple[int, ...] = ()

    @property
    def samplewise(self) -> bool:
        """Whether it grows with the samples that were seen."""
        return self.merge in ("concat", "rows")

    @property
    def nbytes(self) -> int:
        """Bytes of one array; for "concat" and "rows" of one sample, for "keyed" nothing."""
        if self.merge in ("keyed", "listed"):
            return 0
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


def fresh_partial(fields: Mapping[str, Field], n_rows: int = 0) -> Partial:
    """A partial that has seen nothing: the identity of every field's merge."""
    return {name: _identity(spec, n_rows) for name, spec in fields.items()}


def _identity(spec: Field, n_rows: int) -> NDArray[Any]:
    dtype = np.dtype(spec.dtype)
    if spec.merge == "sum":
        return np.zeros(spec.shape, dtype)
    if spec.merge == "concat":
        return np.zeros((n_rows, *spec.shape), dtype)
    if spec.merge in ("rows", "listed"):
        return np.zeros((0, *spec.shape), dtype)
    if spec.merge == "keyed":
        return np.zeros((2, 0), dtype)
    low, high = _extremes(dtype)
    return np.full(spec.shape, low if spec.merge == "max" else high, dtype)


def _extremes(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return info.min, info.max


@dataclass
class Rows:
    """Rows at hand: a tile of samples or a part of one.

    Parameters
    ----------
    start, stop : int
        Global row numbers.
    offset : int
        Position of `start` inside its tile, where "concat" fields are written.
    columns : mapping of str to (n,) arrays
        Label codes of these rows, -1 where a sample takes no part; sample weights.
    published : dict of str to (n,) arrays
        What earlier reductions of the same pass say of these rows.
    rereads : bool
        Whether every sweep reads the features anew, so that few sweeps count for
        more than little arithmetic.
    """

    start: int
    stop: int
    offset: int = 0
    columns: Mapping[str, AnyArray] = field(default_factory=dict)
    published: dict[str, AnyArray] = field(default_factory=dict)
    rereads: bool = False

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def within(self) -> slice:
        """These rows inside their tile's "concat" fields."""
        return slice(self.offset, self.offset + len(self))

    def column(self, name: str) -> AnyArray:
        """A column of codes or weights, published by a reduction or read with the samples."""
        return self.published[name] if name in self.published else self.columns[name]


@dataclass(frozen=True)
class Workspace:
    """Memory a linear reduction holds besides its partials, for the plan.

    Parameters
    ----------
    row_bytes : int
        Bytes per row that live across features (comparisons with every unit).
    row_feature_bytes : int
        Bytes per row and feature of the slab at hand (copies, differences).
    process_bytes : int
        Bytes held once in every process that computes, whatever rows are at hand.
    """

    row_bytes: int = 0
    row_feature_bytes: int = 0
    process_bytes: int = 0


class HasFields(Protocol):
    """What joining partials asks of a reduction of any kind."""

    @property
    def name(self) -> str:
        """Key of the reduction within its pass."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial."""


class LinearReduction(Protocol, Generic[State]):
    """A reduction over tiles of rows, each sample seen once."""

    name: str
    tile_rows: int | None
    """Rows of a tile; None when every sum is of integers, so any tile gives the same."""
    sweeps: int
    """The most walks over the features; 0 when only columns are read."""
    operations: float
    """Arithmetic operations a sample, for the plan's tasks and cost."""
    workspace: Workspace

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial."""

    def begin(self, rows: Rows, partial: Partial) -> State:
        """Start some rows of a tile, whose sums go to `partial`."""

    def wants(self, sweep: int, state: State) -> bool:
        """Whether these rows need the sweep."""

    def sweep(self, sweep: int, state: State, first_feature: int, values: AnyArray) -> None:
        """Take the rows' next features, (n, f), in feature order."""

    def end(self, state: State) -> None:
        """Finish these rows."""

    def finalize(self, total: Partial) -> Any:
        """Turn the merged partial into finished statistics."""


class Side(Enum):
    """Which samples a pair tile's values belong to."""

    BOTH = "both"
    """PAIRS: blocks i ≤ j; every unordered pair of samples is seen once."""
    ROWS = "rows"
    """ROWS: block i is kept, block j is any block; every ordered pair is seen once."""
    SWEEPS = "sweeps"
    """SWEEPS: some kept rows at a time meet all samples, once or twice."""


@dataclass(frozen=True)
class Block:
    """Samples of a pair walk: rows [start, stop), all features, and their columns.

    `memo` is for what a reduction makes of the block once, for all blocks it meets.
    `numbers` are those of rows that were drawn; `start` is then the place of the first
    among all that were.
    """

    start: int
    stop: int
    values: AnyArray
    columns: Mapping[str, AnyArray] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)
    numbers: Int | None = None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def sample_numbers(self) -> Int:
        """Numbers of the block's samples, (n,)."""
        return np.arange(self.start, self.stop) if self.numbers is None else self.numbers


@dataclass(frozen=True)
class Given:
    """Distances of two blocks that a stored matrix has.

    Parameters
    ----------
    box : (n_i, n_j)
        From the rows of block i.
    mirrored : (n_j, n_i)
        From the rows of block j.
    """

    box: AnyArray
    mirrored: AnyArray


@dataclass(frozen=True)
class PairWorkspace:
    """Memory a pair reduction holds besides its partials, for the plan.

    Parameters
    ----------
    tile_bytes : int
        Bytes held while one tile is accumulated.
    row_bytes : int
        Bytes a row of a block that is held, for what its memo keeps.
    kept_row_bytes : int
        ROWS walks: bytes a kept row for what it gathers over all others.
    """

    tile_bytes: int = 0
    row_bytes: int = 0
    kept_row_bytes: int = 0


class PairReduction(Protocol):
    """A reduction over pairs of samples."""

    name: str
    tile_rows: int
    side: Side
    operations: float
    """Arithmetic operations a pair."""
    workspace: PairWorkspace

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial."""

    def start(self, block_i: Block) -> Partial:
        """ROWS: what a kept block gathers, before it has met any other."""

    def tile(
        self, block_i: Block, block_j: Block, partial: Partial, given: Given | None = None
    ) -> None:
        """Accumulate the pairs of two blocks, each once and no sample with itself.

        PAIRS: into a fresh partial; ROWS: into what `start` gave for block i, which meets
        all blocks in order.  The diagonal is known by the two being one.  `given` holds the
        distances of the two blocks where a stored matrix has them.
        """

    def finish(self, block_i: Block, gathered: Partial) -> Partial:
        """ROWS: the partial of a kept block that has met all others."""

    def finalize(self, total: Partial) -> Any:
        """Turn the merged partial into finished statistics."""


@dataclass(frozen=True)
class Way:
    """One way to walk SWEEPS: how many kept rows at a time, and what that holds.

    Parameters
    ----------
    group_rows : int
        Kept rows of a group; a tile is cut into groups from its first row on.
    sweeps : int
        How often a group meets all samples: 1 or 2.  In one sweep they come as a single
        block that stays, but for those of a stored matrix; in two they may come in panels.
    group_bytes : int
        Bytes a group holds until its last `turn`; afterwards only what its tile's partial takes.
    others_row_bytes : int
        Bytes a row of the samples at hand, for what is made of them.
    panels : bool
        Whether samples may come in panels in one sweep as well.
    """

    group_rows: int
    sweeps: int
    group_bytes: int
    others_row_bytes: int
    panels: bool = False


class SweepReduction(Protocol):
    """A reduction over kept rows that meet all samples, group after group of them."""

    name: str
    tile_rows: int
    side: Side
    operations: float
    """Arithmetic operations a pair of a kept row and a sample, in one sweep."""
    workspace: PairWorkspace
    """Its `tile_bytes` are held while a group meets others, and no more is looked at."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial, which merge along the tree over tiles of kept rows."""

    def ways(self, n_rows: int) -> Sequence[Way]:
        """Ways to meet so many samples, best first; none changes a digit of a partial."""

    def start(self, kept: Block, way: Way, first: int) -> Any:
        """A group's state; `first` is the place of its first row among all kept ones."""

    def meet(self, group: Any, others: Block, sweep: int, given: AnyArray | None = None) -> None:
        """Let a group meet the next samples, its own rows among them.

        `given` holds the distances that a stored matrix has, (rows of the group, others).
        """

    def turn(self, group: Any, sweep: int) -> None:
        """End a sweep of a group, which has met all samples."""

    def finish(self, groups: Sequence[Any]) -> Partial:
        """The partial of a tile, from all its groups in order."""

    def finalize(self, total: Partial) -> Any:
        """Turn the merged partial into finished statistics."""

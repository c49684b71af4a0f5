"""A job over pairs of samples, and how its work is cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from somscale.engine.pairs.zorder import WHOLE, Square, upper_squares
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.sources import Source
from somscale.errors import InputError
from somscale.reductions.base import PairReduction, Side

__all__ = ["PairCut", "PairJob", "Reading"]

Reading: TypeAlias = Literal["memory", "loaded", "panels", "sent"]
"""How a task comes by its samples:

"memory": they are in memory already; "loaded": read whole, once a process;
"panels": every task reads the rows it needs; "sent": they arrive with the task.
A stored matrix of distances is never loaded whole.
"""


@dataclass(frozen=True)
class PairJob:
    """Reductions over one walk of the pairs of samples.

    Parameters
    ----------
    reductions : sequence of PairReduction
        All of one side; all see the same tiles.
    n_rows, n_features : int
        Samples N and features D; D is 0 where only columns are read.
    source : Source, optional
        Where the samples are read from.
    blocks : Blocks, optional
        The samples in Dask arrays, instead of `source`.
    columns : mapping of str to RowValues
        Codes, and samples of a projection, read beside the samples.
    matrix : Source or Dask array, optional
        The distances (N, N) of the samples, instead of these.
    given : bool
        Whether there is such a matrix.

    Raises
    ------
    InputError
        The reductions do not fit one walk, or a field cannot be merged in it.
    """

    reductions: Sequence[PairReduction]
    n_rows: int
    n_features: int = 0
    source: Source | None = None
    blocks: Blocks | None = None
    columns: Mapping[str, RowValues] = field(default_factory=dict)
    matrix: Any = None
    given: bool = False

    def __post_init__(self) -> None:
        # known also to a task that the matrix itself does not travel with
        object.__setattr__(self, "given", self.given or self.matrix is not None)
        sides = {reduction.side for reduction in self.reductions}
        if len(sides) != 1:
            raise InputError(
                f"one walk over pairs serves reductions of one side, not of {len(sides)}; "
                "run a walk for each"
            )
        for reduction in self.reductions:
            for name, spec in reduction.fields.items():
                if spec.merge == "concat" and self.side is Side.BOTH:
                    raise InputError(
                        f"field {name!r} of {reduction.name!r} joins values of samples, which a "
                        "walk over pairs sees in several tasks; give it Side.ROWS or merge 'rows'"
                    )

    @property
    def side(self) -> Side:
        """PAIRS or ROWS."""
        return self.reductions[0].side

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: fixed by the reductions, never by chunks, workers or memory."""
        return min(reduction.tile_rows for reduction in self.reductions)

    @property
    def n_tiles(self) -> int:
        """Tiles along one side."""
        return math.ceil(self.n_rows / self.tile_rows)

    @property
    def n_pairs(self) -> float:
        """Pairs the walk sees, self pairs aside."""
        ordered = float(self.n_rows) * (self.n_rows - 1)
        return ordered if self.side is Side.ROWS else ordered / 2

    @property
    def operations(self) -> float:
        """Arithmetic operations of the whole walk."""
        return self.n_pairs * sum(reduction.operations for reduction in self.reductions)

    def without_samples(self) -> PairJob:
        """The same job, its samples left behind."""
        return replace(self, source=None, blocks=None, matrix=None)

    @property
    def stored(self) -> Source | None:
        """A matrix of distances that tasks read for themselves."""
        return None if self.matrix is None or self.matrix_blocks is not None else self.matrix

    @property
    def matrix_blocks(self) -> Any:
        """A matrix of distances in a Dask array."""
        return self.matrix if hasattr(self.matrix, "dask") else None


@dataclass(frozen=True)
class PairCut:
    """How a walk is cut; it decides speed and memory, never a digit of a result.

    Parameters
    ----------
    run_tiles : int
        Tiles along one side of a task, a power of two.  PAIRS: a task is an aligned
        square of tiles.  ROWS: it keeps this many tiles, beside all others.
    panel_tiles : int
        Tiles of a panel, the rows that are read at a time; a power of two.
    reading : {"memory", "loaded", "panels", "sent"}
        How a task comes by its samples.
    fan_in : int
        Partials merged by one task, a power of two.
    """

    run_tiles: int
    panel_tiles: int
    reading: Reading
    fan_in: int = 16

    def runs(self, job: PairJob) -> int:
        """Runs of tiles along one side."""
        return math.ceil(job.n_tiles / self.run_tiles)

    def tasks(self, job: PairJob) -> list[Square]:
        """The tasks, in the order of their tree; in ROWS the column is always 0."""
        runs = self.runs(job)
        if job.side is Side.ROWS:
            return [Square(run, run, 0) for run in range(runs)]
        return list(upper_squares(WHOLE, (runs - 1).bit_length(), runs))

    def n_tasks(self, job: PairJob) -> int:
        """Number of tasks."""
        runs = self.runs(job)
        return runs if job.side is Side.ROWS else runs * (runs + 1) // 2

    def level(self, job: PairJob) -> int:
        """Level of a task's node in the tree over tiles."""
        height = self.run_tiles.bit_length() - 1
        return height if job.side is Side.ROWS else 2 * height

    def run_rows(self, job: PairJob, run: int) -> tuple[int, int]:
        """First row of a run, and the row after its last."""
        return rows_of(job, run * self.run_tiles, self.run_tiles)


def rows_of(job: PairJob, first_tile: int, tiles: int) -> tuple[int, int]:
    """First row of neighbouring tiles, and the row after their last."""
    start = first_tile * job.tile_rows
    return start, min(job.n_rows, start + tiles * job.tile_rows)

"""A job over pairs of samples, and how its work is cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from somscale.engine.pairs.zorder import WHOLE, Square, upper_squares
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.sources import Source
from somscale.errors import InputError
from somscale.reductions.base import PairReduction, Side, SweepReduction, Way

if TYPE_CHECKING:
    from somscale.reductions.anchor_walk import Anchors

__all__ = ["PairCut", "PairJob", "Reading", "rows_of"]

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
    reductions : sequence of PairReduction, or one SweepReduction
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
    symmetric : bool
        Whether it is known to equal its transpose, so that one side of it is read.
    kept : Anchors, optional
        SWEEPS: the rows that meet all samples, where these are not all of them.  Columns
        that they lack are read beside the samples.

    Raises
    ------
    InputError
        The reductions do not fit one walk, a field cannot be merged in it, or kept rows
        are none of the samples.
    """

    reductions: Sequence[PairReduction | SweepReduction]
    n_rows: int
    n_features: int = 0
    source: Source | None = None
    blocks: Blocks | None = None
    columns: Mapping[str, RowValues] = field(default_factory=dict)
    matrix: Any = None
    given: bool = False
    symmetric: bool = False
    kept: Anchors | None = None

    def __post_init__(self) -> None:
        # known also to a task that the matrix itself does not travel with
        object.__setattr__(self, "given", self.given or self.matrix is not None)
        sides = {reduction.side for reduction in self.reductions}
        if len(sides) != 1:
            raise InputError(
                f"one walk over pairs serves reductions of one side, not of {len(sides)}; "
                "run a walk for each"
            )
        if self.side is Side.SWEEPS and len(self.reductions) > 1:
            raise InputError(
                f"one walk in sweeps serves one reduction, not {len(self.reductions)}; "
                "run a walk for each"
            )
        self._check_kept()
        for reduction in self.reductions:
            for name, spec in reduction.fields.items():
                if spec.merge == "concat" and self.side is Side.BOTH:
                    raise InputError(
                        f"field {name!r} of {reduction.name!r} joins values of samples, which a "
                        "walk over pairs sees in several tasks; give it Side.ROWS or merge 'rows'"
                    )

    def _check_kept(self) -> None:
        if self.kept is None:
            return
        if self.side is not Side.SWEEPS:
            raise InputError("rows are kept by their numbers in Side.SWEEPS alone")
        numbers = self.kept.numbers
        if not len(numbers):
            raise InputError("no row is kept; keep one at least")
        if numbers[0] < 0 or numbers[-1] >= self.n_rows:
            raise InputError(
                f"rows {numbers[0]} to {numbers[-1]} are to be kept of {self.n_rows} samples; "
                f"number them from 0 to {self.n_rows - 1}"
            )

    @property
    def side(self) -> Side:
        """PAIRS, ROWS or SWEEPS."""
        return self.reductions[0].side

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: fixed by the reductions, never by chunks, workers or memory."""
        return min(reduction.tile_rows for reduction in self.reductions)

    @property
    def n_kept(self) -> int:
        """Rows that meet all others: all samples, but where some are given."""
        return self.n_rows if self.kept is None else len(self.kept)

    @property
    def n_tiles(self) -> int:
        """Tiles along one side; of the kept rows."""
        return math.ceil(self.n_kept / self.tile_rows)

    @property
    def sample_tiles(self) -> int:
        """Tiles that all samples would make."""
        return math.ceil(self.n_rows / self.tile_rows)

    @property
    def n_pairs(self) -> float:
        """Pairs the walk sees, self pairs aside."""
        ordered = float(self.n_kept) * (self.n_rows - 1)
        return ordered / 2 if self.side is Side.BOTH else ordered

    @property
    def operations(self) -> float:
        """Arithmetic operations of the whole walk."""
        return self.n_pairs * sum(reduction.operations for reduction in self.reductions)

    def without_samples(self) -> PairJob:
        """The same job, its samples left behind."""
        return replace(self, source=None, blocks=None, matrix=None)

    def carried(self) -> PairJob:
        """The same job for tasks that are told of it later: without what arrives in blocks."""
        return replace(self, source=None, blocks=None, matrix=self.stored)

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
        square of tiles.  ROWS, SWEEPS: it keeps this many tiles, beside all others.
    panel_tiles : int
        Tiles of a panel, the rows that are read at a time; a power of two.  SWEEPS: where
        all samples are one panel, a task holds them to its end.
    reading : {"memory", "loaded", "panels", "sent"}
        How a task comes by its samples.
    fan_in : int
        Partials merged by one task, a power of two.
    way : Way, optional
        SWEEPS: how many kept rows go at a time, and how often.
    together : bool
        SWEEPS: whether all groups of a task meet others at a time; else one after another.
    """

    run_tiles: int
    panel_tiles: int
    reading: Reading
    fan_in: int = 16
    way: Way | None = None
    together: bool = False

    def runs(self, job: PairJob) -> int:
        """Runs of tiles along one side."""
        return math.ceil(job.n_tiles / self.run_tiles)

    def tasks(self, job: PairJob) -> list[Square]:
        """The tasks, in the order of their tree; the column is always 0 but in PAIRS."""
        runs = self.runs(job)
        if job.side is not Side.BOTH:
            return [Square(run, run, 0) for run in range(runs)]
        return list(upper_squares(WHOLE, (runs - 1).bit_length(), runs))

    def n_tasks(self, job: PairJob) -> int:
        """Number of tasks."""
        runs = self.runs(job)
        return runs * (runs + 1) // 2 if job.side is Side.BOTH else runs

    def level(self, job: PairJob) -> int:
        """Level of a task's node in the tree over tiles."""
        height = self.run_tiles.bit_length() - 1
        return 2 * height if job.side is Side.BOTH else height

    def run_rows(self, job: PairJob, run: int) -> tuple[int, int]:
        """First row of a run, and the row after its last; places among the kept rows."""
        start = run * self.run_tiles * job.tile_rows
        return start, min(job.n_kept, start + self.run_tiles * job.tile_rows)


def rows_of(job: PairJob, first_tile: int, tiles: int) -> tuple[int, int]:
    """First row of neighbouring tiles of samples, and the row after their last."""
    start = first_tile * job.tile_rows
    return start, min(job.n_rows, start + tiles * job.tile_rows)

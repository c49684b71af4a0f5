"""How the engine sees a store: a place for checkpoints and for blocks of a matrix."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from somscale._types import AnyArray
from somscale.reductions.base import Partial

__all__ = ["BlockTarget", "Checkpoints", "Sink"]


class Sink(Protocol):
    """Keeps the merged partials of finished tasks of one pass.

    A sink that serves process or cluster workers must pickle.
    """

    def get(self, number: int) -> list[Partial] | None:
        """The partials of a task, one a reduction; None where there are none that are whole."""

    def put(self, number: int, partials: list[Partial], seconds: float) -> None:
        """Keep the partials of a task that took so long; a sink may let go of quick ones."""


class Checkpoints(Protocol):
    """Keeps what the passes of one run have finished, so that it goes on where it stopped.

    A pass is known by a text: the same in a run that is repeated, another for every pass.
    """

    def run_tiles(self, token: str) -> int | None:
        """Tiles of a task, as the pass was cut before; None where it was not."""

    def sink(self, token: str, run_tiles: int) -> Sink:
        """Where a pass keeps its tasks; those of another cut are of no use and may go."""


class BlockTarget(Protocol):
    """Takes the blocks of an N × N matrix, each once and whole; it must pickle for workers."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    def fresh(self, shape: tuple[int, int]) -> AnyArray:
        """A block that holds nothing yet."""

    def write(self, row: int, column: int, values: AnyArray) -> None:
        """Write the block whose first entry is (row, column)."""

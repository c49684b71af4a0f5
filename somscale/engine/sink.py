"""How the engine sees a store: a place for checkpoints, and nothing more."""

from __future__ import annotations

from typing import Protocol

from somscale.reductions.base import Partial

__all__ = ["Sink"]


class Sink(Protocol):
    """Keeps the merged partials of finished runs, so that a pass goes on where it stopped.

    A sink that serves process or cluster workers must pickle.
    """

    def get(self, key: str) -> list[Partial] | None:
        """The partials stored under a key, one a reduction; None when there are none yet."""

    def put(self, key: str, partials: list[Partial]) -> None:
        """Store the partials of one run; called once a key, by the task that made them."""

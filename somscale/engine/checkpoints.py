"""Which store keeps what passes finish, while a run is under way that may be stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from somscale.engine.naming import label_of
from somscale.engine.sink import Checkpoints, Sink
from somscale.reductions.base import HasFields

__all__ = ["KeptPass", "checkpointing", "kept_pass"]


@dataclass
class _Run:
    checkpoints: Checkpoints
    passes: int = 0


_run: ContextVar[_Run | None] = ContextVar("somscale_run", default=None)


@contextmanager
def checkpointing(checkpoints: Checkpoints) -> Iterator[None]:
    """Keep what the passes finish that are run inside, and take up what they finished before.

    Passes are told apart by their order, so a run is repeated with the same questions.
    """
    token = _run.set(_Run(checkpoints))
    try:
        yield
    finally:
        _run.reset(token)


@dataclass(frozen=True)
class KeptPass:
    """A pass whose finished tasks are kept.

    Attributes
    ----------
    checkpoints : Checkpoints
        Where.
    token : str
        What the pass is known by.
    """

    checkpoints: Checkpoints
    token: str

    @property
    def run_tiles(self) -> int | None:
        """Tiles of a task when the pass was begun; None where it was not."""
        return self.checkpoints.run_tiles(self.token)

    def sink(self, run_tiles: int) -> Sink:
        """Where tasks of so many tiles are kept."""
        return self.checkpoints.sink(self.token, run_tiles)


def kept_pass(reductions: Sequence[HasFields], *sizes: int) -> KeptPass | None:
    """The next pass of the run that is under way; None where nothing is kept.

    Parameters
    ----------
    reductions : sequence
        What the pass accumulates.
    sizes : int
        Samples, features, rows of a tile: passes that differ in these are not the same.
    """
    run = _run.get()
    if run is None:
        return None
    digest = hashlib.blake2b(repr(sizes).encode(), digest_size=8)
    for reduction in reductions:
        digest.update(reduction.name.encode())
        for name, spec in sorted(reduction.fields.items()):
            digest.update(repr((name, spec.merge, spec.dtype, spec.shape)).encode())
    token = f"{run.passes:02d}-{label_of(reductions)}-{digest.hexdigest()}"
    run.passes += 1
    return KeptPass(run.checkpoints, token)

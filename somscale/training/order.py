"""The order in which the stochastic algorithm takes samples, by their row numbers alone.

The rows are cut into runs of 2,048, which every epoch deals into pools at random; a pool
holds some 64 MiB, is read at once, and its rows are taken in random order.  Samples that fit
one pool are so taken in any order; of larger ones every chunk is read a few times an epoch,
instead of once a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from somscale._types import Int

__all__ = ["RUN_ROWS", "pools"]

RUN_ROWS: Final = 2048
_POOL_BYTES: Final = 64 << 20


def pools(n_rows: int, n_features: int, seed: int, epoch: int) -> Iterator[tuple[Int, Int, Int]]:
    """Every pool of an epoch: first rows and ends of its runs, ascending, and its order.

    The order is of positions among the pool's rows as they are read.
    """
    rng = np.random.default_rng((seed, epoch + 1))
    n_runs = -(-n_rows // RUN_ROWS)
    dealt = rng.permutation(n_runs)
    together = max(1, _POOL_BYTES // (8 * RUN_ROWS * n_features))
    for first in range(0, n_runs, together):
        starts = np.sort(dealt[first : first + together]) * RUN_ROWS
        stops = np.minimum(starts + RUN_ROWS, n_rows)
        yield starts, stops, rng.permutation(int((stops - starts).sum()))

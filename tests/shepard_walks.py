"""Walks over pairs, for the tests of the Shepard diagram and of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import reference_pairs as plain
from numpy.typing import NDArray

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.columns import Column, SampleVectors
from somscale.engine.readers.sources import ArraySource
from somscale.reductions.distance_ranks import BinnedPairs
from somscale.reductions.pair_rows import PlacedSpace, RowChoice
from somscale.reductions.pair_walk import PairWalk
from somscale.reductions.rank_correlation import RankedPairs
from somscale.spaces.euclidean import EuclideanSpace
from somscale.spaces.mapped import MapSpace
from somscale.topology import Grid

Floats = NDArray[np.float64]
SPACES = ("samples", "projection")


def walk_of(
    samples: Floats,
    projection: Any,
    *accumulators: Any,
    grid: Grid | None = None,
    tile_rows: int = 2048,
    choice: RowChoice | None = None,
    columns: dict[str, Any] | None = None,
    operations: float | None = None,
) -> PairJob:
    """A walk over an embedding or, with a grid, over units."""
    placed = {"samples": PlacedSpace(EuclideanSpace(center=samples.mean(axis=0)))}
    if grid is None:
        placed["projection"] = PlacedSpace(EuclideanSpace(), "places")
        column: Any = SampleVectors(np.asarray(projection, np.float64))
    else:
        placed["projection"] = PlacedSpace(MapSpace(grid), "places")
        column = Column(np.asarray(projection), 0, range(grid.size))
    n, d = samples.shape
    walk = PairWalk(
        "w", placed, accumulators, choice or RowChoice(), n_features=d, tile_rows=tile_rows
    )
    if operations is not None:
        walk.operations = operations
    every = {"places": column, **(columns or {})}
    return PairJob([walk], n, d, source=ArraySource(samples), columns=every)


def walked(samples: Floats, projection: Any, accumulator: Any, **how: Any) -> Any:
    return run_pairs(walk_of(samples, projection, accumulator, **how))[0][accumulator.name]


def some(n: int, seed: int = 0, features: int = 12) -> tuple[Floats, Floats]:
    """Samples, a quarter of which occur twice, and an embedding of them."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n, features)) + 5
    samples[: n // 4] = samples[n - n // 4 :]
    return samples, samples[:, :2] + 0.3 * rng.standard_normal((n, 2))


def table_of(samples: Floats, projection: Any, grid: Grid | None = None) -> tuple[Floats, Floats]:
    d = plain.distances(samples)
    if grid is None:
        return d, plain.distances(projection)
    units = np.asarray(projection)
    return d, np.asarray(grid.distance(units[:, None], units[None, :]), np.float64)


def within(found: RankedPairs, exact: float) -> bool:
    return abs(found.correlation - exact) <= found.error + 1e-12


BINNED = BinnedPairs("r", SPACES)

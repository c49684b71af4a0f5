"""A small run of a workspace, in many tasks and chunks, for tests that stop it midway."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import somscale as ss
from somscale.engine.linear import cutting as linear_cutting
from somscale.engine.pairs import cutting as pair_cutting
from somscale.reductions import neighbor_walk, pair_walk, rank_walk
from somscale.store import checkpoints, points
from somscale.store.layouts import MatrixLayout
from somscale.workspace import matrices

N_SAMPLES = 40
ROWS = 16


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Cut everything so small that few samples make many tasks, and keep every task."""
    for module in (linear_cutting, pair_cutting):
        patch.setattr(module, "LEAST_OPERATIONS", 1.0)
    patch.setattr(pair_walk, "PAIR_TILE_ROWS", ROWS)
    for module in (rank_walk, neighbor_walk):
        patch.setattr(module, "_SORTED_ROWS", ROWS)
    patch.setattr(rank_walk, "_TILE_ROWS", ROWS)
    patch.setattr(neighbor_walk, "_NEAR_ROWS", ROWS)
    patch.setattr(checkpoints, "QUICKEST", 0.0)
    patch.setattr(checkpoints, "SHARE", math.inf)

    def distance_layout(n: int, dtype: Any, *, sharded: bool) -> MatrixLayout:
        side = 2 * ROWS
        return MatrixLayout(np.dtype(dtype), (side, side), (side, side) if sharded else None)

    def rank_layout(n: int, *, sharded: bool) -> MatrixLayout:
        columns = 2 * ROWS * -(-n // (2 * ROWS)) if sharded else 2 * ROWS
        shard = (ROWS, columns) if sharded else None
        return MatrixLayout(np.min_scalar_type(n), (ROWS, 2 * ROWS), shard)

    patch.setattr(matrices, "distance_layout", distance_layout)
    patch.setattr(matrices, "rank_layout", rank_layout)


def samples() -> xr.DataArray:
    """Samples (time, feature) with labels, so that coordinates are stored too."""
    values = np.random.default_rng(7).normal(size=(N_SAMPLES, 3))
    return xr.DataArray(
        values, dims=("time", "feature"), coords={"time": np.arange(N_SAMPLES) * 2}, name="x"
    )


def som() -> xr.Dataset:
    """A map of the samples."""
    return ss.codebook(np.random.default_rng(8).normal(size=(6, 3)), ss.Grid(3, 2))


def _samples(workspace: ss.Workspace) -> None:
    workspace.write_samples(samples())


def _map(workspace: ss.Workspace) -> None:
    workspace.write_map("small", som())


def _streamed(workspace: ss.Workspace) -> None:
    flat = samples().to_numpy()[:, :2]
    asked = ["trustworthiness", "kruskal_shepard_error"]
    ss.evaluate(workspace, flat, metrics=asked, k=[3, 5], run="streamed")


def _distances(workspace: ss.Workspace) -> None:
    workspace.write_distances()


def _ranks(workspace: ss.Workspace) -> None:
    workspace.write_ranks()


def _stored(workspace: ss.Workspace) -> None:
    asked = ["trustworthiness", "c_measure", "quantization_error"]
    ss.evaluate(workspace, som(), metrics=asked, k=4, run="stored")


STAGES: dict[str, Callable[[ss.Workspace], None]] = {
    "samples": _samples,
    "map": _map,
    "streamed": _streamed,
    "distances": _distances,
    "ranks": _ranks,
    "stored": _stored,
}
"""Everything that a workspace may be asked to keep, in an order that uses what is there."""


def work(place: Any, stages: Iterable[str] = tuple(STAGES)) -> None:
    """Some stages of the run, or all; an empty list still makes the workspace."""
    workspace = ss.Workspace(place)
    for stage in stages:
        STAGES[stage](workspace)


@contextmanager
def small(scheduler: str = "serial") -> Iterator[None]:
    """Small pieces, whatever is done inside."""
    with (
        pytest.MonkeyPatch.context() as patch,
        ss.set_options(scheduler=scheduler, memory_budget="8GiB"),
    ):
        make_small(patch)
        yield


def small_work(
    place: Any, stages: Iterable[str] = tuple(STAGES), scheduler: str = "serial"
) -> None:
    """`work` in small pieces."""
    with small(scheduler):
        work(place, stages)


def counted_work(place: Any, counts: Path) -> None:
    """`small_work`, and how often it came by each commit point."""
    seen: Counter[str] = Counter()
    seen.update(dict.fromkeys(points.POINTS, 0))
    small_work(place)
    seen.update(points._reached)
    counts.write_text("".join(f"{name} {count}\n" for name, count in seen.items()), "utf-8")

"""The distance between two maps of Kaski and Lagus: by the ways over them between samples."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import xarray as xr

from somscale._types import Float, Int
from somscale.engine.memory import refuse_more_than_budget, worker_count
from somscale.errors import InputError
from somscale.metrics.asking.sampling import Estimate, draw_anchors, estimate_mean
from somscale.metrics.checks import check_neighborhood
from somscale.metrics.code_distances import code_distances
from somscale.metrics.comparison.units_of_maps import units_on_maps
from somscale.reductions.units import UnitStats
from somscale.topology import Grid, path_lengths

__all__ = ["map_distance"]

MOST_UNITS: Final = 8_192
"""Units with samples whose paths to each other are kept: 512 MiB."""

_BLOCK: Final = 1 << 17
"""Pairs of units between which paths are sought at a time, 1 MiB."""

_TASK: Final = 1 << 24
"""Pairs of samples that a thread compares at a time, some hundredths of a second."""


def map_distance(
    samples: Any,
    som: Any,
    other: Any,
    *,
    neighborhood: Literal["edge", "vertex"] | None = None,
    sample_anchors: int | None = None,
    seed: int = 0,
    **reading: Any,
) -> xr.DataArray:
    """How differently two maps lay out the same samples.

    The mean over pairs of samples of |d_L − d_M| / (d_L + d_M), where d_L(x_i, x_j) is the
    length of the way from x_i to the code of its best-matching unit, over codes of
    neighbours on the map L to the unit of x_j, and on to x_j; and d_M on the other map.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
        As in :func:`somscale.evaluate`; read once.
    som, other : Dataset or MiniSom
        The maps L and M of the same features, on grids of any kind and size.
    neighborhood : {"edge", "vertex"}, optional
        Where paths may lead, as in :func:`topographic_error`; by default along each grid's
        own neighbours.
    sample_anchors : int, optional
        Estimate it: so many samples are drawn and compared with all others.  The value then
        has the coordinates ``standard_error``, ``interval_low`` and ``interval_high`` (95 %).
    seed : int
        Which samples are drawn.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``: how to read
        the samples.

    Returns
    -------
    DataArray
        In [0, 1], no units; lower is more alike, 0 for a map and itself or its mirror
        image.  Computed at once, also of Dask samples.

    Raises
    ------
    InputError
        What is no map, samples or features that do not fit, a grid on which no path joins
        two units that have samples, or sample weights.
    MemoryBudgetError
        The pass, or what is kept of samples and units after it, does not fit the budget.

    Notes
    -----
    Time grows with the square of the number of samples: some 3 s for 50,000 on a core; with
    `sample_anchors` linearly.  A unit and a distance of every sample are kept for each map.
    Pairs at distance 0 on both maps count as 0.  nan for a single sample.

    References
    ----------
    Kaski & Lagus 1996, Comparing self-organizing maps, doi:10.1007/3-540-61510-5_136
    """
    check_neighborhood({"neighborhood": neighborhood})
    both = {"som": som, "other": other}
    # a unit and a distance more of each sample, and copies while they are made
    found = units_on_maps(samples, both, reading, "map_distance", row_bytes=24)
    ways = [_Ways.over(grid, stats, neighborhood) for grid, stats in found]
    del found
    n = len(ways[0].unit)
    attributes = {
        "long_name": "distance between two maps",
        "units": "1",
        "direction": "lower",
        "range": "[0, 1]",
        "source": "Kaski & Lagus 1996, doi:10.1007/3-540-61510-5_136",
    }
    array = xr.DataArray(math.nan, name="map_distance", attrs=attributes)
    if sample_anchors is not None:
        return _estimated(array, ways, sample_anchors, seed)
    if n < 2:
        array.attrs["note"] = "one sample has no pairs"
        return array
    total = math.fsum(_sums(ways, np.arange(n), later=True).tolist())
    return array.copy(data=min(total / (n * (n - 1) / 2), 1.0))


@dataclass(frozen=True)
class _Ways:
    """Ways over a map: from samples to their units, (N,), and between units with samples."""

    unit: Int
    reach: Float
    paths: Float

    @classmethod
    def over(cls, grid: Grid, stats: UnitStats, neighborhood: Any) -> _Ways:
        if stats.bmu is None or stats.distance is None:
            raise ValueError("the pass kept no units of samples")
        taken = stats.bmu >= 0
        own = stats.bmu[taken]
        alive = np.flatnonzero(np.bincount(own, minlength=grid.size))
        if len(alive) > MOST_UNITS:
            raise InputError(
                f"{len(alive)} units have samples; paths are kept between {MOST_UNITS} at most"
            )
        refuse_more_than_budget(
            8 * len(alive) ** 2, f"paths between {len(alive)} units", "give a smaller map"
        )
        place = np.zeros(grid.size, np.int32)
        place[alive] = np.arange(len(alive))
        return cls(
            place[own], stats.distance[taken], _paths(grid, stats.codes, alive, neighborhood)
        )


def _paths(grid: Grid, codes: Float, alive: Int, neighborhood: Any) -> Float:
    """Lengths of the shortest paths between some units, (A, A)."""
    edges = grid.edges(neighborhood)
    lengths = code_distances(codes, *edges.T)
    found = np.empty((len(alive), len(alive)))
    step = max(1, _BLOCK // len(alive))
    for start in range(0, len(alive), step):
        rows = alive[start : start + step]
        ends = np.repeat(rows, len(alive)), np.tile(alive, len(rows))
        block = path_lengths(grid.size, edges, lengths, *ends)
        found[start : start + step] = block.reshape(len(rows), -1)
    if np.isnan(found).any():
        one, two = alive[np.argwhere(np.isnan(found))[0]]
        raise InputError(
            f"no path over the map joins units {one} and {two}, which have samples; give a grid "
            "that is connected"
        )
    return found


def _sums(ways: list[_Ways], rows: Int, *, later: bool) -> Float:
    """Σ |d_L − d_M| / (d_L + d_M) of some samples with those after them, or all others."""
    from somscale.kernels.way_loops import add_differences

    one, two = ways
    units, reaches = np.stack([one.unit, two.unit]), np.stack([one.reach, two.reach])
    sums = np.empty(len(rows))

    def add(part: slice) -> None:
        add_differences(rows[part], later, units, reaches, one.paths, two.paths, sums[part])

    # with `later` the first rows are the longest
    step = max(1, _TASK // len(one.unit))
    parts = [slice(start, start + step) for start in range(0, len(rows), step)]
    with ThreadPoolExecutor(min(worker_count(), len(parts))) as pool:
        list(pool.map(add, parts))
    return sums


def _estimated(array: xr.DataArray, ways: list[_Ways], m: int, seed: int) -> xr.DataArray:
    """The mean over pairs from those of the anchors with all other samples."""
    n = len(ways[0].unit)
    anchors = draw_anchors(n, m, seed)
    means = _sums(ways, anchors, later=False) / max(n - 1, 1)
    found: Estimate = estimate_mean(means, n)
    attributes = {**array.attrs, "sample_anchors": m, "seed": seed}
    if found.note:
        attributes["note"] = found.note
    values = {
        "standard_error": found.standard_error,
        "interval_low": found.low,
        "interval_high": found.high,
    }
    coords = {name: ((), value, {"units": "1"}) for name, value in values.items()}
    return xr.DataArray(found.value, name=array.name, coords=coords, attrs=attributes)

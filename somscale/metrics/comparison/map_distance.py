"""The distance between two maps of Kaski and Lagus: by the ways over them between samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import xarray as xr

from somscale._types import Float, Int
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
"""Pairs of samples at hand at a time: 1 MiB, which stays in cache."""


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
        The pass does not fit the memory budget.

    Notes
    -----
    Time grows with the square of the number of samples: about a minute for 50,000 on a
    core; with `sample_anchors` linearly.  Pairs at distance 0 on both maps count as 0.
    nan for a single sample.

    References
    ----------
    Kaski & Lagus 1996, Comparing self-organizing maps, doi:10.1007/3-540-61510-5_136
    """
    check_neighborhood({"neighborhood": neighborhood})
    found = units_on_maps(samples, {"som": som, "other": other}, reading, "map_distance")
    ways = [_Ways.over(grid, stats, neighborhood) for grid, stats in found]
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
    total = math.fsum(float(part.sum()) for part in _upper_parts(ways))
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
        alive, unit = np.unique(stats.bmu[taken], return_inverse=True)
        if len(alive) > MOST_UNITS:
            raise InputError(
                f"{len(alive)} units have samples; paths are kept between {MOST_UNITS} at most"
            )
        return cls(unit, stats.distance[taken], _paths(grid, stats.codes, alive, neighborhood))

    def between(self, rows: Int, columns: slice) -> Float:
        """Distances of some samples to others, (r, c)."""
        inner = self.paths[self.unit[rows]].take(self.unit[columns], axis=1)
        inner += self.reach[rows][:, None]
        inner += self.reach[columns]
        return inner


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


def _differences(ways: list[_Ways], rows: Int, columns: slice) -> Float:
    """|d_L − d_M| / (d_L + d_M) of some samples and others, 0 where both are 0."""
    one, two = (own.between(rows, columns) for own in ways)
    whole = one + two
    one -= two
    np.abs(one, out=one)
    return np.divide(one, whole, out=one, where=whole > 0)


def _upper_parts(ways: list[_Ways]) -> Iterator[Float]:
    """Differences of all pairs i < j, some rows at a time, and 0 for the others."""
    n = len(ways[0].unit)
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        part = _differences(ways, rows, slice(start, n))
        square = part[:, : len(rows)]
        square[np.tril_indices(len(rows))] = 0
        yield part


def _estimated(array: xr.DataArray, ways: list[_Ways], m: int, seed: int) -> xr.DataArray:
    """The mean over pairs from those of the anchors with all other samples."""
    n = len(ways[0].unit)
    anchors = draw_anchors(n, m, seed)
    means, step = np.empty(len(anchors)), max(1, _BLOCK // n)
    for start in range(0, len(anchors), step):
        rows = anchors[start : start + step]
        part = _differences(ways, rows, slice(0, n))
        part[np.arange(len(rows)), rows] = 0
        means[start : start + step] = part.sum(axis=1) / max(n - 1, 1)
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

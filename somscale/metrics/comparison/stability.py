"""Neighbourhood stability: which samples are neighbours on map after map, and not by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale._types import Float, Int
from somscale.engine.memory import refuse_more_than_budget
from somscale.errors import InputError
from somscale.metrics.comparison.units_of_maps import units_on_maps
from somscale.topology import Grid

__all__ = ["neighborhood_stability"]

_BLOCK: Final = 1 << 18
"""Pairs of samples at hand at a time, which stay in cache."""

_SOURCE: Final = (
    "de Bodt, Cottrell & Verleysen 2002, Statistical tools to assess the reliability of "
    "self-organizing maps, doi:10.1016/S0893-6080(02)00071-0"
)


def neighborhood_stability(
    samples: Any,
    maps: Mapping[str, Any] | Sequence[Any],
    *,
    radius: float = 1,
    pairs: Any = None,
    significance: float = 0.05,
    **reading: Any,
) -> xr.Dataset:
    """How often samples are neighbours on several maps, against what chance would do.

    Two samples are neighbours on a map if their best-matching units are at most `radius`
    apart.  Over B maps, of bootstrap samples or other starts, pairs that are neighbours on
    significantly more maps than chance puts together, or on fewer, are reliable.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
        As in :func:`somscale.evaluate`; read once for all maps.
    maps : dict or sequence of Datasets or MiniSoms
        Two or more maps on the same grid.
    radius : float
        Largest distance on the map of neighbours; 0: the same unit.
    pairs : array_like of int, (pair, 2), optional
        Pairs of samples, by their positions, whose own values are wanted.
    significance : float
        Level of the two-sided binomial test of a pair, between 0 and 1.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``: how to read
        the samples.

    Returns
    -------
    Dataset
        ``pairs_of_samples(n_maps)``: how many of all pairs i < j are neighbours on 0, 1, … B
        maps; ``together_share`` and ``apart_share``, the shares of all pairs that are
        neighbours significantly more, and less, often than by chance;
        ``significant_share``, their sum; ``chance``, the share of pairs of units that are
        neighbours.  With `pairs` also ``stability(pair)``, the share of the maps on which
        the two are neighbours, and ``p_value(pair)``, in the order given.

    Raises
    ------
    InputError
        Fewer than two maps, maps on different grids, pairs that name no samples or samples
        that take no part, a radius below 0, or sample weights.
    MemoryBudgetError
        The pass, or what is kept of samples and units after it, does not fit the budget.

    Notes
    -----
    Every pair is counted, in time that grows with N² B; samples that share all their units
    are counted as one.  Under chance the number of maps is binomial with probability
    v/K, v being the mean number of units within `radius` of one, itself among them: the
    article takes v far from the borders of the map.  The test is exact where the article
    takes the normal distribution.  Shares are nan for a single sample.

    References
    ----------
    de Bodt, Cottrell & Verleysen 2002, Statistical tools to assess the reliability of
    self-organizing maps, doi:10.1016/S0893-6080(02)00071-0
    """
    named = _named(maps)
    _check(radius, significance)
    # units of all maps side by side, and copies while samples that share them are found
    found = units_on_maps(samples, named, reading, "neighborhood_stability", row_bytes=24)
    grid = found[0][0]
    for name, (own, _) in zip(named, found, strict=True):
        if own != grid:
            raise InputError(
                f"the maps' grids differ: {grid!r} of {next(iter(named))!r} and {own!r} of "
                f"{name!r}; neighbours by chance are counted on one grid"
            )
    units = np.stack([stats.bmu for _, stats in found if stats.bmu is not None], axis=1)
    n_maps = len(found)
    del found
    near = _neighbors(grid, radius)
    chance = float(near.mean())
    counts = _counts(units[units[:, 0] >= 0], near)
    low, high = _tails(n_maps, chance)
    result = _summary(counts, low, high, chance, significance)
    if pairs is not None:
        result = result.assign(_of_pairs(units, _checked_pairs(pairs, units), near, low, high))
    result.attrs = {"radius": radius, "significance": significance, "source": _SOURCE}
    return result


def _neighbors(grid: Grid, radius: float) -> NDArray[np.bool_]:
    """Which units are within the radius of each, (K, K)."""
    size = grid.size
    refuse_more_than_budget(
        size * size, f"a table of the neighbours of {size} units", "give smaller maps"
    )
    near, every = np.empty((size, size), bool), np.arange(size)
    step = max(1, _BLOCK // size)
    for start in range(0, size, step):
        rows = every[start : start + step, None]
        near[start : start + step] = grid.distance(rows, every) <= radius * (1 + 1e-12)
    return near


def _named(maps: Any) -> dict[str, Any]:
    if isinstance(maps, Mapping) and not isinstance(maps, xr.Dataset):
        named = dict(maps)
    elif isinstance(maps, Sequence) and not isinstance(maps, str):
        named = {f"map {number}": som for number, som in enumerate(maps)}
    else:
        raise InputError(f"maps is a dict or a list of maps, not a {type(maps).__name__}")
    if len(named) < 2:
        raise InputError(f"stability is that of two or more maps, and there are {len(named)}")
    return named


def _check(radius: Any, significance: Any) -> None:
    for name, value in (("radius", radius), ("significance", significance)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(f"{name} is a number, not {value!r}")
    if not radius >= 0:
        raise InputError(f"radius is 0 or more, not {radius!r}")
    if not 0 < significance < 1:
        raise InputError(f"significance lies between 0 and 1, not at {significance!r}")


def _checked_pairs(pairs: Any, units: Int) -> Int:
    values = np.asarray(pairs)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        raise InputError(
            "pairs are two positions of samples each, integers (pair, 2), not an array of "
            f"{values.dtype} with shape {values.shape}"
        )
    wrong = (values < 0) | (values >= len(units))
    if wrong.any():
        pair, end = np.argwhere(wrong)[0]
        raise InputError(
            f"pair {pair} names sample {values[pair, end]}; there are samples 0 to {len(units) - 1}"
        )
    left_out = units[values, 0] < 0
    if left_out.any():
        pair, end = np.argwhere(left_out)[0]
        raise InputError(f"pair {pair} names sample {values[pair, end]}, which takes no part")
    return values.astype(np.int64)


def _counts(units: Int, near: NDArray[np.bool_]) -> Int:
    """Pairs i < j by the number of maps on which they are neighbours, (B + 1,)."""
    alike, sizes = np.unique(units, axis=0, return_counts=True)
    n_maps, n = units.shape[1], len(alike)
    counts = np.zeros(n_maps + 1, np.int64)
    # samples that share all units are neighbours on every map
    counts[-1] = (sizes * (sizes - 1) // 2).sum()
    table, step = near.view(np.uint8), max(1, _BLOCK // max(n, 1))
    columns = np.ascontiguousarray(alike.T)
    for start in range(0, n, step):
        stop = min(start + step, n)
        shared = np.zeros((stop - start, n - start), np.uint16)
        for own in columns:
            shared += table[own[start:stop]].take(own[start:], axis=1)
        later = np.arange(n - start) > np.arange(stop - start)[:, None]
        weights = np.multiply.outer(sizes[start:stop], sizes[start:])[later]
        counts += _weighted(shared[later], weights, n_maps + 1)
    return counts


def _weighted(values: NDArray[np.uint16], weights: Int, size: int) -> Int:
    """Whole weights summed by value, exactly."""
    if (weights == 1).all():
        return np.bincount(values, minlength=size)
    order = np.argsort(values, kind="stable")
    ends = np.searchsorted(values[order], np.arange(size + 1))
    running = np.concatenate([[0], np.cumsum(weights[order])])
    return np.asarray(np.diff(running[ends]))


def _tails(n_maps: int, chance: float) -> tuple[Float, Float]:
    """Probabilities of so few maps or fewer, and of so many or more, (B + 1,) each."""
    from scipy.special import bdtr, bdtrc

    numbers = np.arange(n_maps + 1)
    low = np.asarray(bdtr(numbers, n_maps, chance))
    high = np.concatenate([[1.0], np.asarray(bdtrc(numbers[:-1], n_maps, chance))])
    return low, high


def _summary(
    counts: Int, low: Float, high: Float, chance: float, significance: float
) -> xr.Dataset:
    total = counts.sum()
    shares = counts / total if total else np.full(len(counts), np.nan)
    together = float(shares[high <= significance / 2].sum()) if total else np.nan
    apart = float(shares[low <= significance / 2].sum()) if total else np.nan
    texts = {
        "together_share": (together, "share of pairs that are neighbours more than by chance"),
        "apart_share": (apart, "share of pairs that are neighbours less than by chance"),
        "significant_share": (together + apart, "share of pairs that chance does not explain"),
        "chance": (chance, "probability of being neighbours on a map by chance"),
    }
    result = xr.Dataset(
        {n: ((), value, {"long_name": text, "units": "1"}) for n, (value, text) in texts.items()}
    )
    facts = {"long_name": "pairs of samples by the maps on which they are neighbours"}
    result["pairs_of_samples"] = ("n_maps", counts, {**facts, "units": "pairs of samples"})
    facts = {"long_name": "maps on which a pair are neighbours", "units": "maps"}
    return result.assign_coords(n_maps=("n_maps", np.arange(len(counts)), facts))


def _of_pairs(
    units: Int, pairs: Int, near: NDArray[np.bool_], low: Float, high: Float
) -> dict[str, Any]:
    shared = near[units[pairs[:, 0]], units[pairs[:, 1]]].sum(axis=1)
    p_values = np.minimum(2 * np.minimum(low, high), 1)[shared]
    of_maps = {"long_name": "share of the maps on which the two are neighbours", "units": "1"}
    of_chance = {"long_name": "two-sided p-value of their stability", "units": "1"}
    return {
        "stability": ("pair", shared / units.shape[1], of_maps),
        "p_value": ("pair", p_values, of_chance),
    }

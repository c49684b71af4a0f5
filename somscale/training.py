"""Train a map by the batch rule: the units reduction, smoothed by the neighbourhood."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.codebook import CODEBOOK_NAMES, codebook
from somscale.codebook.passes import job_over, units_reduction, without_gapped_features
from somscale.engine.blas import single_threaded_blas
from somscale.engine.linear.run import run_job
from somscale.engine.readers.peek import read_some_rows
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import InputError
from somscale.reductions.units import UnitStats
from somscale.topology import Grid, neighborhood_kernel

__all__ = ["train"]

_HISTORY_NAMES = {"epoch", "quantization_error", "temperature"}
_ROW_BLOCK = 1024
_JITTER = 0.01
"""Share of the plane's extent by which first codes are moved, so that none coincide."""


def train(
    samples: Any,
    grid: Grid,
    *,
    epochs: int = 20,
    seed: int = 0,
    init: Literal["plane", "samples"] = "plane",
    kernel: str = "gaussian",
    temperature: tuple[float, float] | None = None,
    **reading: Any,
) -> xr.Dataset:
    """Train a self-organizing map by the batch rule, one read of the samples an epoch.

    Every epoch sets each code to the neighbourhood-weighted mean of all samples,
    m_k = Σ_u h(δ(k, u)) Σ_{x∈u} x / Σ_u h(δ(k, u)) n_u, while the temperature falls
    from `temperature[0]` to `temperature[1]` geometrically.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
        The samples, as in :func:`somscale.evaluate`; they are read in every epoch, and
        may exceed the memory.
    grid : Grid
        Arrangement of the units.
    epochs : int
        Reads of the samples, at least 1.
    seed : int
        Seed of the first codes.  The same seed gives the same map bit for bit,
        whatever the chunking, scheduler and number of workers.
    init : {"plane", "samples"}
        First codes: spread over the plane of the first two principal components
        of some samples, or samples drawn at random.
    kernel : str
        Neighbourhood kernel, as in :func:`somscale.metrics.maps.distortion`.
    temperature : (float, float), optional
        First and last temperature; by default half the largest map distance
        (at least 1) and 1.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``,
        ``sample_weights``: how to read the samples, as in :func:`somscale.evaluate`.
        Features that take no part are nan in the map.

    Returns
    -------
    Dataset
        A codebook, as :func:`somscale.codebook` makes it, with
        ``quantization_error(epoch)`` of the codes each epoch began with and
        ``temperature(epoch)``.  Computed, also for Dask samples.

    Raises
    ------
    InputError
        Bad arguments.
    SampleValueError
        A sample is not finite.
    MemoryBudgetError
        A pass does not fit the memory budget.

    References
    ----------
    Kohonen 2013, Essentials of the self-organizing map, doi:10.1016/j.neunet.2012.09.018

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.random.default_rng(0).random((500, 2))
    >>> som = ss.train(samples, ss.Grid(4, 4), epochs=5)
    >>> dict(som["codes"].sizes)
    {'unit': 16, 'feature': 2}
    """
    opened = open_samples(samples, **reading)
    if not isinstance(grid, Grid):
        raise InputError(f"the grid is a {type(grid).__name__}, not a Grid; make one with ss.Grid")
    _check_integer("epochs", epochs, 1)
    _check_integer("seed", seed, 0)
    opened.features.refuse_names(CODEBOOK_NAMES | _HISTORY_NAMES, "samples")
    temperatures = _schedule(grid, epochs, temperature)
    neighborhood_kernel(kernel)(0.0, temperatures)
    opened = without_gapped_features(opened)
    missing = None
    with single_threaded_blas():
        codes = _first_codes(opened, grid, init, seed)
        errors = []
        for number in range(epochs):
            reduction = units_reduction(codes, opened)
            stats: UnitStats = run_job(job_over(opened, [reduction]))[0]
            errors.append(stats.distances.sum() / stats.total)
            missing = stats.missing_features
            codes = batch_update(stats, grid, kernel, float(temperatures[number]))
    settings = {"epochs": int(epochs), "seed": int(seed), "init": init, "kernel": kernel}
    if missing is not None:
        codes[:, missing] = np.nan
    return _result(opened, codes, grid, errors, temperatures, settings)


def batch_update(stats: UnitStats, grid: Grid, kernel: str, temperature: float) -> Float:
    """Codes after one batch step, (K, D); a unit that no sample reaches keeps its code.

    Written about the codes' mean, so that large offsets of the data cost no digits.
    """
    weigh = neighborhood_kernel(kernel)
    # features that every sample lacks keep whatever stands for them
    moved = np.nan_to_num(stats.raw_residuals)
    codes = np.nan_to_num(stats.raw_codes)
    center = codes.mean(axis=0)
    sums = stats.mass[:, None] * (codes - center) + moved
    counts = stats.mass.astype(np.float64)
    every = np.arange(stats.n_units)
    for start in range(0, stats.n_units, _ROW_BLOCK):
        rows = every[start : start + _ROW_BLOCK]
        weights = weigh(grid.distance(rows[:, None], every), temperature)
        total = weights @ counts
        reached = total > 0
        codes[rows[reached]] = center + (weights @ sums)[reached] / total[reached, None]
    return codes


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is an integer of at least {least}, not {value!r}")


def _schedule(grid: Grid, epochs: int, temperature: tuple[float, float] | None) -> Float:
    if temperature is None:
        temperature = (max(1.0, grid.max_distance / 2), 1.0)
    try:
        first, last = (float(t) for t in temperature)
    except (TypeError, ValueError):
        raise InputError(f"temperature is a pair (first, last), not {temperature!r}") from None
    if not 0 < last <= first < np.inf:
        raise InputError(
            f"temperature is positive and falls from its first value to its last, not {temperature}"
        )
    return np.geomspace(first, last, epochs)


def _first_codes(samples: Samples, grid: Grid, init: str, seed: int) -> Float:
    if init not in ("plane", "samples"):
        raise InputError(f"init is 'plane' or 'samples', not {init!r}")
    rng = np.random.default_rng(seed)
    rows = read_some_rows(samples, min(samples.shape[0], 2 * grid.size), rng)
    if init == "samples":
        return rows[rng.choice(len(rows), size=grid.size, replace=len(rows) < grid.size)]
    return _plane(rows, grid, rng)


def _plane(rows: Float, grid: Grid, rng: np.random.Generator) -> Float:
    """Codes on the plane of the first two principal components, the grid's longer side first."""
    mean = rows.mean(axis=0)
    _, spread, axes = np.linalg.svd(rows - mean, full_matrices=False)
    # an axis has no sign of its own: make its largest entry positive
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    spread = spread / np.sqrt(len(rows))
    places = grid.positions - grid.positions.mean(axis=0)
    extent = np.abs(places).max(axis=0)
    places = places / np.where(extent > 0, extent, 1)
    places = places[:, np.argsort(-extent, kind="stable")]
    codes = np.tile(mean, (grid.size, 1))
    for axis in range(min(2, len(spread))):
        codes += 2 * spread[axis] * places[:, [axis]] * axes[axis]
    width = spread[0] if len(spread) else 0.0
    noise = rng.standard_normal(codes.shape) / np.sqrt(codes.shape[1])
    return np.asarray(codes + _JITTER * width * noise)


def _result(
    samples: Samples,
    codes: Float,
    grid: Grid,
    errors: list[float],
    temperatures: Float,
    settings: dict[str, Any],
) -> xr.Dataset:
    units = samples.units or "data units"
    weights = xr.DataArray(
        samples.features.along(samples.whole(codes), 1),
        dims=("unit", *samples.features.dims),
        coords=dict(samples.features.coords),
        attrs={"units": units},
    )
    som = codebook(weights, grid)
    history = {
        "quantization_error": (errors, "quantization error at the start of the epoch", units),
        "temperature": (temperatures, "neighbourhood temperature", "1"),
    }
    som = som.assign_coords(
        epoch=("epoch", np.arange(len(errors)), {"long_name": "epoch of training", "units": "1"})
    )
    for name, (values, text, unit) in history.items():
        som[name] = ("epoch", np.asarray(values), {"long_name": text, "units": unit})
    som.attrs["training"] = json.dumps(settings, sort_keys=True)
    return som

"""The door to training."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.codebook import CODEBOOK_NAMES, codebook
from somscale.codebook.passes import without_gapped_features
from somscale.codebook.weighting import told_of_weights
from somscale.engine.blas import single_threaded_blas
from somscale.engine.readers.samples import Samples, open_samples
from somscale.topology import Grid
from somscale.training.batch import train_batch
from somscale.training.first_codes import check_init, first_codes
from somscale.training.history import HISTORY_NAMES, History
from somscale.training.notes import note_on
from somscale.training.passes import Material
from somscale.training.planning import refuse_too_many_units
from somscale.training.settings import Algorithm, Schedule, checked_settings
from somscale.training.stochastic import train_stochastic

__all__ = ["train"]


def train(
    samples: Any,
    grid: Grid,
    *,
    algorithm: Algorithm = "batch",
    epochs: int = 20,
    seed: int = 0,
    init: Literal["plane", "samples"] | Any = "plane",
    kernel: str = "gaussian",
    temperature: tuple[float, float] | None = None,
    schedule: Schedule = "geometric",
    learning_rate: tuple[float, float] | None = None,
    tolerance: float | None = None,
    **reading: Any,
) -> xr.Dataset:
    """Train a self-organizing map on samples that may exceed the memory.

    The batch rule reads the samples once an epoch and sets each code to the
    neighbourhood-weighted mean of all samples, m_k = Σ_i h(δ(b_i, k)) x_i / Σ_i h(δ(b_i, k)).
    The stochastic rule takes one sample at a time, m_k ← m_k + α h(δ(b_i, k)) (x_i − m_k).
    The temperature of h falls, and with it the radius of the neighbourhood.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, path(s) or Workspace
        The samples, as in :func:`somscale.evaluate`; they are read in every epoch.
    grid : Grid
        Arrangement of the units; they may be more than the samples.
    algorithm : {"batch", "stochastic"}
        The rule.  Stochastic training is sequential, and takes up to 8,192 units; its order
        is drawn anew every epoch, over row numbers alone: runs of 2,048 rows are dealt at
        random into pools of some 64 MiB, and the rows of a pool are taken in random order.
    epochs : int
        Reads of the samples, at least 1.
    seed : int
        Seed of all that is drawn.  The same seed gives the same map bit for bit,
        whatever the chunking, scheduler and number of workers.
    init : {"plane", "samples"}, array or map
        First codes: spread over the plane of the first two principal components, the
        grid's longer side along the first; different samples, drawn from anywhere among those
        that take part (again where the units are more); or given, as code
        vectors for :func:`somscale.codebook` or a map as in :func:`somscale.evaluate`.  The
        components are those of all samples where D ≤ N or N ≤ 2,048 and D, or else N, is at
        most 2,048 and the products fit the memory budget; else of some samples
        (the attribute says so).
    kernel : {"gaussian", "gaussian_half", "window", "triangular"}
        Neighbourhood kernel h, as in :func:`somscale.metrics.distortion`.
    temperature : (float, float), optional
        First and last temperature, in units of map distance; by default half the largest
        map distance (at least 1) and 1.
    schedule : {"geometric", "linear"}
        How temperature and learning rate fall: from epoch to epoch in batches, from the first
        temperature on; with stochastic training at step n of all to the share n / steps.
    learning_rate : (float, float), optional
        First and last α ≤ 1 of stochastic training, (0.5, 0.01) by default.
    tolerance : float, optional
        Stop after an epoch that moves the codes on average, or changes the quantization
        error, by at most this share of that error; never by default.  The temperature
        may then not have reached its last value.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``,
        ``sample_weights``: how to read the samples, as in :func:`somscale.evaluate`.
        ``missing="partial"`` compares each sample by the features it has, d² scaled by D
        over their number (by weights, where features have them), and moves
        these alone; first codes take means for what is missing; :func:`somscale.evaluate` and
        :func:`somscale.project` judge the map by the same distance.  In stochastic training a
        sample of weight w moves codes as w / w̄ steps in a row would.  Features that
        take no part are nan in the map.

    Returns
    -------
    Dataset
        A codebook, as :func:`somscale.codebook` makes it, computed, also for Dask samples,
        with the history of the epochs that ran:

        - ``quantization_error(epoch)`` and ``distortion(epoch)`` ≥ 0, lower is better, the
          latter at the epoch's temperature and kernel.  In batches they are of the
          codes that the epoch began with (those of the final codes would cost one more
          read); in stochastic training of the codes as each sample met them;
        - ``temperature(epoch)``, with stochastic training at the epoch's end;
        - ``code_change(epoch)``: mean distance that the codes moved.

        The attribute ``training`` holds the settings in JSON with ``epochs_run``, how features
        were weighted and what ``init`` was made of; ``note`` is there where the map says little.

    Raises
    ------
    InputError
        Bad arguments, or first codes that do not fit.
    SampleValueError
        A sample is not finite, or none takes part.
    MemoryBudgetError
        A pass, or the map itself, does not fit the memory budget.

    References
    ----------
    Kohonen 2013, Essentials of the self-organizing map, doi:10.1016/j.neunet.2012.09.018;
    Forest, Lebbah, Azzag & Lacaille 2020, arXiv:2011.05847 (Algorithm 1).

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.random.default_rng(0).random((500, 2))
    >>> som = ss.train(samples, ss.Grid(4, 4), epochs=5)
    >>> dict(som["codes"].sizes)
    {'unit': 16, 'feature': 2}
    """
    opened = open_samples(samples, **reading)
    if isinstance(grid, Grid):
        refuse_too_many_units(grid, opened.shape[1])
    settings = checked_settings(
        grid,
        algorithm=algorithm,
        epochs=epochs,
        seed=seed,
        kernel=kernel,
        temperature=temperature,
        schedule=schedule,
        learning_rate=learning_rate,
        tolerance=tolerance,
    )
    check_init(init)
    opened.features.refuse_names(CODEBOOK_NAMES | HISTORY_NAMES, "samples")
    material = Material(without_gapped_features(opened))
    history = History(material.samples.feature_weights)
    run = train_batch if algorithm == "batch" else train_stochastic
    with single_threaded_blas():
        first = first_codes(material, grid, init, settings.seed)
        codes = run(material, first.codes, settings, history)
    told = {
        **settings.as_attributes(),
        "init": init if isinstance(init, str) else "given",
        "init_from": first.source,
        "missing": opened.missing,
        **told_of_weights(reading.get("feature_weights"), opened.feature_weights),
        "epochs_run": len(history.rows["temperature"]),
    }
    note = note_on(grid, codes, history)
    if history.missing is not None:
        codes[:, history.missing] = np.nan
    som = _as_codebook(material.samples, codes, grid)
    som = history.put_into(som, opened.units or "data units")
    som.attrs["training"] = json.dumps(told, sort_keys=True)
    if note:
        som.attrs["note"] = note
    return som


def _as_codebook(samples: Samples, codes: Float, grid: Grid) -> xr.Dataset:
    """The codes on the samples' own features."""
    # where all dims are those of samples, the one feature has none
    whole, dims = samples.whole(codes), samples.features.dims or ("feature",)
    weights = xr.DataArray(
        samples.features.along(whole, 1) if samples.features.dims else whole,
        dims=("unit", *dims),
        coords=dict(samples.features.coords),
        attrs={"units": samples.units or "data units"},
    )
    return codebook(weights, grid)

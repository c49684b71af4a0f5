"""Project samples onto a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook.dataset import TrainedMap
from somscale.codebook.opening import as_map
from somscale.engine.arrays import sample_array
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import lazy_pass, run_job
from somscale.engine.readers.samples import open_samples
from somscale.engine.tokens import job_token
from somscale.reductions.units import UnitsReduction

__all__ = ["PROJECTION_FIELDS", "project"]

PROJECTION_FIELDS = {
    "bmu": "best-matching unit",
    "second_bmu": "second-best unit",
    "distance": "distance to the best-matching unit",
}


def project(samples: Any, som: Any) -> xr.Dataset:
    """Find the best-matching units of samples.

    Parameters
    ----------
    samples : array, DataArray, Dask array, zarr.Array or path
        (sample, feature), as in :func:`somscale.evaluate`.
    som : Dataset or MiniSom
        The map.

    Returns
    -------
    Dataset
        ``bmu`` and ``second_bmu`` int32 (−1: a one-unit map has no second) and
        ``distance`` ≥ 0 in the samples' units, on the samples' own dim and
        coordinates.  Ties go to the lowest unit.  Lazy for Dask samples.

    Raises
    ------
    InputError
        Shapes or features that do not match.
    SampleValueError
        A sample is not finite.
    MemoryBudgetError
        The pass does not fit the memory budget.
    """
    opened = open_samples(samples)
    opened.refuse_names(PROJECTION_FIELDS)
    trained: TrainedMap = as_map(som).matched_to(opened)
    reduction = UnitsReduction(trained.codes, samplewise=True, names=opened.entry_names)
    job = LinearJob([reduction], *opened.shape, source=opened.source, blocks=opened.blocks)
    if opened.lazy:
        pending = lazy_pass(job, job_token(job))
        values = {
            name: sample_array(pending.pieces[0, name], reduction.fields[name].dtype)
            for name in PROJECTION_FIELDS
        }
    else:
        stats = run_job(job)[0]
        values = {name: getattr(stats, name) for name in PROJECTION_FIELDS}
    units = {"bmu": "1", "second_bmu": "1", "distance": opened.units or "data units"}
    result = xr.Dataset(
        {
            name: (opened.sample_dim, values[name], {"long_name": text, "units": units[name]})
            for name, text in PROJECTION_FIELDS.items()
        },
        coords=dict(opened.sample_coords),
    )
    for name in ("bmu", "second_bmu"):
        result[name].attrs["valid_min"] = np.int32(-1)
    result.attrs["map_fingerprint"] = trained.fingerprint
    return result

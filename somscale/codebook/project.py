"""Project samples onto a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook.dataset import TrainedMap
from somscale.codebook.matching import matched
from somscale.codebook.opening import as_map
from somscale.codebook.passes import job_over, units_reduction, without_gapped_features
from somscale.codebook.weighting import warn_of_other_weights
from somscale.engine.arrays import sample_array
from somscale.engine.linear.run import lazy_pass, run_job
from somscale.engine.readers.samples import open_samples
from somscale.engine.tokens import job_token

__all__ = ["PROJECTION_FIELDS", "flag_attributes", "project"]

PROJECTION_FIELDS = {
    "bmu": "best-matching unit",
    "second_bmu": "second-best unit",
    "distance": "distance to the best-matching unit",
}
_MOST_FLAGS = 1_000
"""Units up to which the attributes list them all."""


def project(samples: Any, som: Any, **reading: Any) -> xr.Dataset:
    """Find the best-matching units of samples.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array, path or Workspace
        As in :func:`somscale.evaluate`.
    som : Dataset, path, MiniSom or Somoclu
        The map; a path leads to any file that :func:`somscale.read_codebook` reads.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``: how to read
        the samples, as in :func:`somscale.evaluate`.

    Returns
    -------
    Dataset
        ``bmu`` and ``second_bmu`` int32 (−1: not evaluated; a one-unit map has no second)
        and ``distance`` ≥ 0 in the samples' units, on the samples' own dims and
        coordinates.  Ties go to the lowest unit.  With ``missing="partial"`` units and
        distances are by the features that a sample has, whatever others have.  Lazy for Dask
        samples.

    Warns
    -----
    UserWarning
        The map says that it was trained with feature weights, and is judged without or with others.

    Raises
    ------
    InputError
        Shapes or features that do not match.
    SampleValueError
        A sample is not finite.
    MemoryBudgetError
        The pass does not fit the memory budget.
    """
    opened = open_samples(samples, **reading)
    opened.rows.refuse_names(PROJECTION_FIELDS, "samples")
    trained: TrainedMap = as_map(som)
    warn_of_other_weights(trained.weighting, opened.feature_weights)
    opened = without_gapped_features(opened)
    trained = matched(trained, opened)
    reduction = units_reduction(trained.codes, opened, samplewise=True)
    job = job_over(opened, [reduction])
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
    flags = flag_attributes(len(trained.codes))
    result = xr.Dataset(
        {
            name: (
                opened.rows.dims,
                opened.rows.along(values[name]),
                {"long_name": text, "units": units[name], **(flags if name != "distance" else {})},
            )
            for name, text in PROJECTION_FIELDS.items()
        },
        coords=dict(opened.rows.coords),
    )
    result.attrs["map_fingerprint"] = trained.fingerprint
    return result


def flag_attributes(n_units: int) -> dict[str, Any]:
    """What the values of a best-matching unit mean, by CF's conventions for flags."""
    facts: dict[str, Any] = {"valid_min": np.int32(-1), "valid_max": np.int32(n_units - 1)}
    if n_units <= _MOST_FLAGS:
        facts["flag_values"] = np.arange(-1, n_units, dtype=np.int32)
        names = ["not_evaluated", *(f"unit_{unit}" for unit in range(n_units))]
        facts["flag_meanings"] = " ".join(names)
    return facts

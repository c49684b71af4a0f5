"""How the samples of a matrix were read, kept with it so that it can be mended by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.engine.readers.columns import SampleValues
from somscale.engine.readers.samples import Samples
from somscale.store.arrays import open_array
from somscale.store.location import Location

__all__ = ["CONDITIONS", "READING_ARRAYS", "read_as_kept", "reading_variables"]

CONDITIONS: Final = ("missing", "mask", "feature_weights", "sample_weights")
"""What a pass is told of samples besides where they are."""

READING_ARRAYS: Final = ("reading_excluded", "reading_feature_weights", "reading_kept")
"""Names of the arrays: samples that a mask leaves out, weights of features, features that
take part.  Each is there only where it says something.
"""


def reading_variables(samples: Samples, dim: str) -> dict[str, xr.Variable]:
    """What is kept of how samples are read, besides what missing values mean.

    Parameters
    ----------
    samples : Samples
        Once features with gaps are left out.
    dim : str
        Name of the samples' dim.
    """
    found: dict[str, xr.Variable] = {}
    if samples.excluded is not None:
        left_out = samples.excluded.read(0, samples.shape[0]).astype(np.uint8)
        about = {"long_name": "whether a mask leaves the sample out", "units": "1"}
        found["reading_excluded"] = xr.Variable((dim,), left_out, about)
    if samples.feature_weights is not None:
        about = {"long_name": "weight of the squared difference in a feature", "units": "1"}
        weights = np.asarray(samples.feature_weights, np.float64)
        found["reading_feature_weights"] = xr.Variable(("reading_feature",), weights, about)
    if samples.kept is not None and len(samples.kept) < samples.features.size:
        about = {"long_name": "number of a feature that takes part", "units": "1"}
        kept = np.asarray(samples.kept, np.int64)
        found["reading_kept"] = xr.Variable(("reading_feature",), kept, about)
    return found


def read_as_kept(samples: Samples, location: Location, path: str) -> Samples:
    """Samples without conditions, with those of a matrix.

    Parameters
    ----------
    samples : Samples
        All of them, as they are.
    location, path
        Workspace, and path of the matrix's group.

    Raises
    ------
    ChunkError
        What is kept of the reading is damaged.
    """
    group = location.group(path, mode="r")
    kept: dict[str, Any] = {
        name: open_array(location, f"{path}/{name}").read()
        for name in READING_ARRAYS
        if name in group
    }
    if "reading_kept" in kept:
        samples = samples.select(kept["reading_kept"])
    excluded = kept.get("reading_excluded")
    return replace(
        samples,
        feature_weights=kept.get("reading_feature_weights"),
        excluded=None if excluded is None else SampleValues(excluded.astype(bool)),
    )

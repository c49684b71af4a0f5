"""Indices that read nothing of the samples: from a map alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from somscale.codebook import TrainedMap, as_map
from somscale.errors import InputError
from somscale.metrics.answering.answers import apply
from somscale.metrics.answering.labelled import labelled
from somscale.metrics.asking.problem import READING
from somscale.metrics.asking.question import Answer, Problem
from somscale.metrics.asking.requests import make_request
from somscale.metrics.asking.sampling import Estimate
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import note_of, number_of
from somscale.reductions.names import EntryNames
from somscale.reductions.unit_inputs import without_mask
from somscale.reductions.units import UnitStats

__all__ = ["bare_units", "compute_map_alone"]


def compute_map_alone(spec: MetricSpec, som: Any, given: Mapping[str, Any]) -> xr.DataArray:
    """Compute an index of a map without samples.

    Raises
    ------
    InputError
        It is no map, or a parameter says how samples are read.
    """
    reading = [name for name in given if name in READING]
    if reading:
        raise InputError(
            f"{spec.name} of a map alone reads no samples, which {reading[0]}= is for; give "
            "(samples, som)"
        )
    trained = as_map(som)
    request = make_request(spec.name, spec, given, [trained.grid])
    known = {"units": bare_units(trained), "grid": trained.grid}
    value = apply(request, *(known[need] for need in spec.needs))
    if isinstance(value, Estimate):
        raise ValueError("a map without samples has no anchors")
    answer = Answer(number_of(value), note_of(value))
    return labelled(Problem({"som": trained}), "som", request, answer)


def bare_units(som: TrainedMap) -> UnitStats:
    """The statistics of a map that no sample has met; masked features are 0 in all codes."""
    codes, masked = without_mask(som.codes, "drop", EntryNames())
    n_units = len(codes)
    nothing, none = np.zeros(n_units), np.zeros(0, np.int64)
    return UnitStats(
        codes=codes,
        n_samples=0,
        hits=np.zeros(n_units, np.int64),
        residuals=np.zeros_like(codes),
        squares=nothing,
        distances=nothing,
        first=none,
        second=none,
        counts=none,
        missing_features=masked,
    )

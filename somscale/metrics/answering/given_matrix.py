"""One index of ranks from a co-ranking matrix, in place of samples and their projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.engine.readers.columns import Column
from somscale.errors import InputError
from somscale.metrics.answering.labelled import labelled
from somscale.metrics.asking.question import Answer, Problem
from somscale.metrics.asking.rank_values import RankScope
from somscale.metrics.asking.requests import make_request
from somscale.metrics.ranks.given_matrix import stats_of_matrix
from somscale.metrics.spec import MetricSpec
from somscale.metrics.values import note_of, number_of

__all__ = ["compute_matrix_index"]

_OF_RANKS: Final = ("ties", "space", "distance", "p")
"""Parameters that say how ranks are found, which are given here."""


def compute_matrix_index(spec: MetricSpec, matrix: Any, given: Mapping[str, Any]) -> xr.DataArray:
    """Compute an index of ranks that are counted already."""
    for name in given:
        if name in _OF_RANKS:
            raise InputError(
                f"{spec.name}: {name} says how ranks are found, and those of a matrix are found "
                "already"
            )
    stats = stats_of_matrix(matrix)
    request = make_request(spec.name, spec, given, scope=RankScope(stats.n_samples, False))
    kept = {name: own for name, own in request.parameters.items() if name not in _OF_RANKS}
    value = number_of(found := spec.formula(stats, **kept))
    # a value of all samples has no dim of them, so none are needed
    nothing = Problem({"matrix": Column(np.zeros(0, np.int64), 0, range(0), "matrix")})
    answer = Answer(value, "; ".join(filter(None, (*request.notes, note_of(found)))))
    array = labelled(nothing, "matrix", replace(request, parameters=kept), answer)
    for name in request.spec.parameters_as_dims:
        chosen = given.get(name)
        if chosen is not None and np.ndim(chosen) == 0 and not isinstance(chosen, str | slice):
            array = array.squeeze(name)
    return array

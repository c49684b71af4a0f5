"""Ranks and intervals of a comparison as variables of its Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import xarray as xr

from somscale.comparing.intervals import Key, Replicates, same_as_best, spread
from somscale.comparing.ranking import front_of, mean_ranks, ranks_of
from somscale.metrics.answering.estimates import ERRORS
from somscale.metrics.asking.question import Problem, Request

__all__ = ["with_intervals", "with_ranks"]

_ALIKE: Final = "all resamples have one value: a rare event is not ruled out by an interval of 0"


def with_ranks(result: xr.Dataset, problem: Problem, requests: Sequence[Request]) -> xr.Dataset:
    """The result with ranks of the candidates by every index, and over all."""
    names = np.array(list(problem.candidates), dtype=object)
    directions = [r.spec.direction for r in requests]
    values = result["value"].values
    ranks = ranks_of(values, directions)
    known = ~np.isnan(ranks).all(axis=1)
    first = np.argmin(np.where(np.isnan(ranks), np.inf, ranks), axis=1)
    best = np.where(known, names[first], "")
    facts = {"units": "1"}
    result = result.assign(
        rank=(
            ("metric", "candidate"),
            ranks,
            {"long_name": "rank by the index's direction, 1 the best", **facts},
        ),
        mean_rank=(
            "candidate",
            mean_ranks(ranks),
            {"long_name": "mean rank over the indices that rank every candidate", **facts},
        ),
        best=("metric", best, {"long_name": "candidate of the lowest rank", **facts}),
    )
    places = {r.spec.name: place for place, r in reversed(list(enumerate(requests)))}
    if {"quantization_error", "topographic_error"} <= set(places):
        losses = values[[places["quantization_error"], places["topographic_error"]]]
        text = "no other map is as low in quantization and topographic error and lower in one"
        result["on_front"] = ("candidate", front_of(losses), {"long_name": text, **facts})
    return result


def with_intervals(
    result: xr.Dataset,
    problem: Problem,
    requests: Sequence[Request],
    replicates: Replicates,
    reasons: Mapping[Key, str],
) -> xr.Dataset:
    """The result with errors and intervals, and who cannot be told from the best.

    Parameters
    ----------
    replicates : mapping
        From candidate and label to the index of every resample.
    reasons : mapping
        Why there are none.
    """
    names, shape = list(problem.candidates), result["value"].shape
    dims = ("metric", "candidate")
    found = {
        name: result[name].values.copy() if name in result else np.full(shape, np.nan)
        for name in ERRORS
    }
    same, notes = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for row, request in enumerate(requests):
        for column, name in enumerate(names):
            key = name, request.label
            if key in replicates:
                for error, value in zip(ERRORS, spread(replicates[key]), strict=True):
                    found[error][row, column] = value
                if found["interval_low"][row, column] == found["interval_high"][row, column]:
                    notes[row, column] = _ALIKE
            elif np.isnan(found["interval_low"][row, column]):
                notes[row, column] = reasons.get(key, "not estimated from anchors")
        best = str(result["best"].values[row])
        direction = request.spec.direction
        same[row] = same_as_best(replicates, request.label, names, best, direction)
    for name, text in ERRORS.items():
        facts = {"long_name": f"{text}; nan where there is none", "units": "see metric_units"}
        result[name] = (dims, found[name], facts)
    facts = {"long_name": "why there is no interval, or a doubtful one", "units": "1"}
    result["interval_note"] = (dims, notes, facts)
    text = "1: the interval of the difference to the best holds 0; 0: it does not; nan: unknown"
    result["indistinguishable"] = (dims, same, {"long_name": text, "units": "1"})
    return result

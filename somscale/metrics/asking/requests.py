"""Turn what a user asks for into requests with complete, checked parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from somscale.errors import InputError
from somscale.metrics.asking.pair_wishes import named_distance
from somscale.metrics.asking.question import Request
from somscale.metrics.spec import MetricSpec
from somscale.topology import Grid

__all__ = ["make_request", "share_values"]


def make_request(
    label: str, spec: MetricSpec, given: Mapping[str, Any], grids: Sequence[Grid] = ()
) -> Request:
    """Complete and check the parameters of an index, before anything is read.

    Values that depend on the grid, where none are given, are those of all `grids`.

    Raises
    ------
    InputError
        An unknown parameter, or a value that the index does not take.
    """
    parameters = spec.parameters(given)
    if "distance" in parameters:
        parameters["distance"] = named_distance(parameters["distance"])
    if spec.parameter is not None:
        parameters[spec.parameter] = _values(spec, _given(spec, parameters, grids))
    _check(spec, parameters)
    return Request(label, spec.with_parameters(parameters), parameters)


def share_values(requests: Iterable[Request]) -> list[Request]:
    """The same requests, those with the same parameter all at every value that one asks for.

    They lie along one dimension, where a value that was not computed would be nan.  Values
    of several functions of the grid are put in order, as the defaults of one are.
    """
    wanted = list(requests)
    union: dict[str, dict[float, None]] = {}
    for request in wanted:
        if (name := request.spec.parameter) is not None:
            union.setdefault(name, {}).update(dict.fromkeys(request.parameters[name].tolist()))
    functions = {
        r.spec.parameter
        for r in wanted
        if r.spec.parameter is not None
        and r.spec.values_on is not None
        and len(r.parameters[r.spec.parameter]) < len(union[r.spec.parameter])
    }
    values = {
        name: np.array(sorted(found) if name in functions else list(found))
        for name, found in union.items()
    }
    return [
        replace(r, parameters={**r.parameters, r.spec.parameter: values[r.spec.parameter]})
        if r.spec.parameter is not None
        else r
        for r in wanted
    ]


def _given(spec: MetricSpec, parameters: Mapping[str, Any], grids: Sequence[Grid]) -> Any:
    """The values of the parameter that is a dimension, or else those of the grids."""
    value = parameters[str(spec.parameter)]
    if spec.values_on is None:
        return value
    _check(spec, parameters)
    known = [spec.values_on(grid, parameters) for grid in grids]
    return np.unique(np.concatenate(known)) if value is None else value


def _check(spec: MetricSpec, parameters: Mapping[str, Any]) -> None:
    """Refuse bad parameters, with the index: several have one of the same name."""
    if spec.check is None:
        return
    try:
        spec.check(parameters)
    except InputError as refusal:
        raise InputError(f"{spec.name}: {refusal}") from None


def _values(spec: MetricSpec, value: Any) -> np.ndarray[Any, Any]:
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{spec.parameter} of {spec.name} is no number: {value!r}") from None
    if values.ndim != 1 or not len(values):
        raise InputError(f"{spec.parameter} of {spec.name} is a number or a list, not {value!r}")
    if len(np.unique(values)) < len(values):
        raise InputError(f"{spec.parameter} of {spec.name} holds a value twice: {value!r}")
    return values

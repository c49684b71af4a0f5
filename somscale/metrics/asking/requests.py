"""Turn what a user asks for into requests with complete, checked parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from somscale.errors import InputError
from somscale.metrics.asking.pair_wishes import named_distance
from somscale.metrics.asking.question import Request
from somscale.metrics.asking.rank_values import RankScope, rank_parameters
from somscale.metrics.spec import MetricSpec
from somscale.topology import Grid

__all__ = ["make_request", "share_values"]


def make_request(
    label: str,
    spec: MetricSpec,
    given: Mapping[str, Any],
    grids: Sequence[Grid] = (),
    scope: RankScope | None = None,
) -> Request:
    """Complete and check the parameters of an index, before anything is read.

    Values that depend on the grid, where none are given, are those of all `grids`; those
    of indices of ranks depend on `scope`.

    Raises
    ------
    InputError
        An unknown parameter, or a value that the index does not take.
    """
    parameters = spec.parameters(given)
    if "distance" in parameters:
        parameters["distance"] = named_distance(parameters["distance"])
    notes: list[str] = []
    dims = spec.dims
    if "ranks" in spec.needs and scope is not None:
        spec, parameters, notes = rank_parameters(spec, parameters, scope)
    else:
        for name in spec.parameters_as_dims:
            parameters[name] = _values(spec, name, _given(spec, name, parameters, grids))
    _check(spec, parameters)
    return Request(label, spec.with_parameters(parameters), parameters, tuple(notes), dims)


def share_values(requests: Iterable[Request]) -> list[Request]:
    """The same requests, those with the same parameter all at every value that one asks for.

    They lie along one dimension, where a value that was not computed would be nan.  Values
    of several functions of the grid are put in order, as the defaults of one are, and so
    are ranks.

    Raises
    ------
    InputError
        Values of samples or units are asked for at other ranks than those of all samples.
    """
    wanted = list(requests)
    union: dict[str, dict[float, None]] = {}
    for request in wanted:
        for name in request.spec.parameters_as_dims:
            union.setdefault(name, {}).update(dict.fromkeys(request.parameters[name].tolist()))
    in_order = {
        name
        for r in wanted
        for name in r.spec.parameters_as_dims
        if (r.spec.values_on is not None or "ranks" in r.spec.needs)
        and len(r.parameters[name]) < len(union[name])
    }
    values = {
        name: np.array(sorted(found) if name in in_order else list(found))
        for name, found in union.items()
    }
    return [_at(request, values) for request in wanted]


def _at(request: Request, values: Mapping[str, np.ndarray[Any, Any]]) -> Request:
    """The same request at the values that all have."""
    names = request.spec.parameters_as_dims
    if "samples" in request.spec.tables:
        for name in names:
            if len(values[name]) > len(request.parameters[name]):
                raise InputError(
                    f"{request.label} is asked for at other {name} than indices that are no values "
                    f"of samples or units; give one {name} for it, or ask for it in a call of its "
                    "own"
                )
    return replace(request, parameters={**request.parameters, **{n: values[n] for n in names}})


def _given(
    spec: MetricSpec, name: str, parameters: Mapping[str, Any], grids: Sequence[Grid]
) -> Any:
    """The values of a parameter that is a dimension, or else those of the grids."""
    value = parameters[name]
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


def _values(spec: MetricSpec, name: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} of {spec.name} is no number: {value!r}") from None
    if values.ndim != 1 or not len(values):
        raise InputError(f"{name} of {spec.name} is a number or a list, not {value!r}")
    if len(np.unique(values)) < len(values):
        raise InputError(f"{name} of {spec.name} holds a value twice: {value!r}")
    return values

"""Turn what a user asks for into requests with complete, checked parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from somscale.errors import InputError
from somscale.metrics.compute import Request
from somscale.metrics.spec import MetricSpec

__all__ = ["make_request"]


def make_request(label: str, spec: MetricSpec, given: Mapping[str, Any]) -> Request:
    """Complete and check the parameters of an index, before anything is read.

    Raises
    ------
    InputError
        An unknown parameter, or a value that the index does not take.
    """
    parameters = spec.parameters(given)
    if spec.parameter is not None:
        parameters[spec.parameter] = _values(spec, parameters[spec.parameter])
    if spec.check is not None:
        spec.check(parameters)
    return Request(label, spec, parameters)


def _values(spec: MetricSpec, value: Any) -> np.ndarray[Any, Any]:
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{spec.parameter} of {spec.name} is no number: {value!r}") from None
    if values.ndim != 1 or not len(values):
        raise InputError(f"{spec.parameter} of {spec.name} is a number or a list, not {value!r}")
    return values

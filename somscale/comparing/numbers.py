"""Indices that are one number each, as one table, whether or not they lie along a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from somscale.metrics.answering.estimates import ERRORS
from somscale.metrics.asking.question import Request

__all__ = ["as_table", "is_number"]

_DIMS = ("metric", "candidate")
_FACTS = ("direction", "lower", "upper", "long_name", "metric_units", "source")


def is_number(request: Request) -> bool:
    """Whether an index is one number: by itself, or at one value of its parameters."""
    spec = request.spec
    along = spec.parameters_as_dims
    return len(along) == len(spec.dims) and all(len(request.parameters[n]) == 1 for n in along)


def as_table(result: xr.Dataset, requests: Sequence[Request]) -> xr.Dataset:
    """The result with all its indices along ``metric``, on metric and candidate, in their order."""
    others = [request for request in requests if not request.spec.scalar]
    parts = []
    if "metric" in result.dims:
        table = [name for name, own in result.data_vars.items() if "metric" in own.dims]
        parts.append(result[table].transpose(*_DIMS))
    parts += [_row(result, request, bool(parts)) for request in others]
    whole = xr.concat(
        parts, dim="metric", join="outer", data_vars="all", coords="different", compat="equals",
        combine_attrs="override",
    )  # fmt: skip
    whole = whole.sel(metric=[request.label for request in requests])
    rest = [name for name, own in result.data_vars.items() if own.dims == ("candidate",)]
    return whole.assign({name: result[name] for name in rest}).assign_attrs(result.attrs)


def _row(result: xr.Dataset, request: Request, below: bool) -> xr.Dataset:
    """One index at one value of its parameters, as a row of the table."""
    label, spec = request.label, request.spec
    array = result[label]
    facts = [spec.direction, spec.lower, spec.upper, spec.long_name, array.attrs["units"]]
    names = [*facts, spec.source]
    described = {} if below else {"long_name": "value of each index", "units": "see metric_units"}
    note = np.full(result.sizes["candidate"], array.attrs.get("note", ""), dtype=object)
    values: dict[str, Any] = {
        "value": (_DIMS, _flat(array), described),
        "note": (_DIMS, note[None], {"long_name": "why a value is undefined, or doubtful"}),
    }
    for name in ERRORS:
        if f"{label}_{name}" in result:
            values[name] = (_DIMS, _flat(result[f"{label}_{name}"]))
    coords = {"metric": np.array([label], dtype=object), "candidate": result["candidate"]}
    own = {
        name: ("metric", np.array([fact], dtype=float if name in ("lower", "upper") else object))
        for name, fact in zip(_FACTS, names, strict=True)
    }
    return xr.Dataset(values, coords={**coords, **own})


def _flat(array: xr.DataArray) -> Any:
    """One number a candidate, (1, candidate)."""
    return np.asarray(array.transpose("candidate", ...).values, np.float64).reshape(1, -1)

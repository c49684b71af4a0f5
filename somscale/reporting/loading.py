"""What a page draws of a lazy result, computed at once: each index is walked for only once."""

from __future__ import annotations

from typing import Final

import xarray as xr

from somscale.reporting.indices import in_table
from somscale.reporting.result import PARAMETERS, Result

__all__ = ["MOST_BYTES", "load", "loaded"]

MOST_BYTES: Final = 2**28
"""Larger variables are left lazy: of them a page draws a small part."""

_WHOLE: Final = ("shepard_diagram", "codes", "composite")
_POINTS: Final = ("pointwise_rank_quality", "sample_silhouette")
_ENDS: Final = ("_standard_error", "_interval_low", "_interval_high")


def load(result: Result, *, points: bool) -> None:
    """Compute the lazy variables of a result that a page draws, in one go.

    Parameters
    ----------
    result : Result
        Its Dataset is replaced by one that has these variables in memory.
    points : bool
        Whether samples are drawn, as they are where a projection is known.
    """
    q = result.q
    arrays = set(result.arrays)
    names = []
    for name in map(str, q.data_vars):
        stem = next((n for end in _ENDS if (n := name.removesuffix(end)) != name), name)
        known = stem if stem in arrays else name
        drawn = known not in arrays or _is_drawn(result, known, points=points)
        if drawn and q[name].chunks is not None and q[name].nbytes <= MOST_BYTES:
            names.append(name)
    if names:
        found = q[names].compute()
        result.q = q.assign({name: found[name].variable for name in names})


def loaded(array: xr.DataArray | None) -> xr.DataArray | None:
    """A lazy array in memory, unless it is large."""
    if array is None or array.chunks is None or array.nbytes > MOST_BYTES:
        return array
    return array.compute()


def _is_drawn(result: Result, name: str, *, points: bool) -> bool:
    dims = result.own_dims(name)
    spec = result.spec_of(name)
    index = name if spec is None else spec.name
    if samples := result.sample_dims(name):
        return points and (samples == dims or index in _POINTS)
    if dims[:1] == ("unit",) and set(dims[1:]) <= {*PARAMETERS, "class"}:
        return True
    if set(dims) <= set(PARAMETERS) or in_table(result, name):
        return True
    return dims == ("cluster",) or index in _WHOLE

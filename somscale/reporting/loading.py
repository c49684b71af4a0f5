"""What a page draws of a lazy result, computed at once: each index is walked for only once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.engine.arrays import compute_together
from somscale.reporting.drawn import draw_of
from somscale.reporting.feature_fields import thinned
from somscale.reporting.indices import PLACES, in_table, nearest
from somscale.reporting.result import PARAMETERS, Result
from somscale.reporting.shades import Shades, shades_of

__all__ = ["MOST_BYTES", "load"]

MOST_BYTES: Final = 2**28
"""Of larger variables only what is drawn is taken, before they are computed."""

_WHOLE: Final = ("shepard_diagram", "codes", "composite")
_SHADES: Final = "pointwise_rank_quality"
_ENDS: Final = ("_standard_error", "_interval_low", "_interval_high")
_FIELDS: Final = ("codes", "composite")
_MOST_CELLS: Final = 128


def load(result: Result, pointwise: xr.DataArray | None, *, points: bool) -> list[Shades]:
    """Compute what a page draws of a result, and what points are coloured by, in one go.

    Whatever the size of a result, its passes run but once: of values of samples those of the
    drawn ones are taken, and of other large variables the part that is drawn.

    Parameters
    ----------
    result : Result
        Its Dataset is replaced by one that has variables in memory, and gets `parts`.
    pointwise : DataArray, optional
        Point-wise rank quality besides that of the result.
    points : bool
        Whether samples are drawn, as they are where a projection is known.

    Returns
    -------
    list of Shades
        What points are coloured by; of lazy ones, at the drawn samples.
    """
    q = result.q
    shades = shades_of(result, pointwise)
    points = points and result.n_samples is not None
    parts = {n: _part(result, n, shades) for n in _lazy_names(result, points=points)}
    kept = {name: part for name, part in parts.items() if part is not None}
    put_off = [s for s in shades if points and s.values.chunks is not None]
    for one in put_off:
        one.values = draw_of(result).pick(one.values, _dims_of_samples(one.values))
    wanted = [*kept.values(), *(one.values for one in put_off)]
    found = iter(compute_together(wanted) if wanted else ())
    loaded = {name: next(found) for name in kept}
    for one in put_off:
        one.values = next(found)
    result.parts = {n: a for n, a in loaded.items() if a.sizes != q[n].sizes}
    whole = {n: a.variable for n, a in loaded.items() if n not in result.parts}
    result.q = q.assign(whole) if whole else q
    return shades


def _lazy_names(result: Result, *, points: bool) -> list[str]:
    """Lazy variables that are drawn, shades aside."""
    arrays = set(result.arrays)
    names = []
    for name in map(str, result.q.data_vars):
        known = _stem(result, name)
        drawn = known not in arrays or _is_drawn(result, known, points=points)
        if drawn and result.q[name].chunks is not None:
            names.append(name)
    return names


def _stem(result: Result, name: str) -> str:
    """The index that a variable is, or is the error of."""
    stem = next((n for end in _ENDS if (n := name.removesuffix(end)) != name), name)
    return stem if stem in set(result.arrays) else name


def _is_drawn(result: Result, name: str, *, points: bool) -> bool:
    dims = result.own_dims(name)
    spec = result.spec_of(name)
    index = name if spec is None else spec.name
    if samples := result.sample_dims(name):
        return points and index != _SHADES and samples == dims
    if dims[:1] == ("unit",) and set(dims[1:]) <= {*PARAMETERS, "class"}:
        return True
    if set(dims) <= set(PARAMETERS) or in_table(result, name):
        return True
    return dims == ("cluster",) or index in _WHOLE


def _part(result: Result, name: str, shades: Sequence[Shades]) -> xr.DataArray | None:
    """What is computed of a lazy variable: values of drawn samples, and of large ones a part."""
    array, known = result.q[name], _stem(result, name)
    if known in result.arrays and (samples := result.sample_dims(known)):
        return draw_of(result).pick(array, samples) if name == known else None
    if array.nbytes <= MOST_BYTES:
        return array
    dims = [str(dim) for dim in array.dims if dim != "candidate"]
    if dims[:1] == ["unit"] and len(dims) > 1 and set(dims[1:]) <= set(PARAMETERS):
        return array.isel({dim: slice(1) for dim in dims[1:]})
    if {"kappa_s", "kappa_t"} <= set(dims):
        pairs = {"kappa_s": [s.kappa_s for s in shades], "kappa_t": [s.kappa_t for s in shades]}
        return array.isel({dim: _few(array, dim, own) for dim, own in pairs.items()})
    spec = result.spec_of(known) if known in result.arrays else None
    if spec is not None and spec.name in _FIELDS and dims[:1] == ["unit"]:
        return thinned(array, MOST_BYTES) if len(dims) == 3 else None
    return array


def _few(array: xr.DataArray, dim: str, colours: Sequence[int]) -> Any:
    """Places along κ of a heat map's cells, of points' colours and of the value in the table."""
    size, values = array.sizes[dim], array[dim].values
    few = np.linspace(0, size - 1, min(size, _MOST_CELLS)).round().astype(np.int64)
    colored = np.flatnonzero(np.isin(values, colours))
    return np.unique([*few, *colored, nearest(values, PLACES[dim])])


def _dims_of_samples(values: xr.DataArray) -> tuple[Hashable, ...]:
    return tuple(dim for dim in values.dims if dim != "candidate")

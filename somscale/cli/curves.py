"""Values along ranks in a terminal: a few K of a curve, a few cells of a surface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.cli.tables import table_text

__all__ = ["RANK_DIMS", "curve_tables", "has_curves", "is_curve", "own_dims", "with_error"]

RANK_DIMS: Final = ("k", "kappa_s", "kappa_t", "region")
_ALONG: Final = ("k", "kappa_t")
_MOST_COLUMNS, _MOST_ROWS = 6, 5
_ROUND: Final = ((1, 2, 5), (1, 5), (1,))
"""Leading digits of the ranks that are shown, as many as there is room for."""

_BEST: Final = {"higher": "high", "lower": "low", "zero": "0"}


def own_dims(array: xr.DataArray) -> list[str]:
    """The dims of an index besides its candidates."""
    return [str(dim) for dim in array.dims if dim != "candidate"]


def is_curve(array: xr.DataArray) -> bool:
    """Whether an index stands along ranks, with more than one value along them."""
    own = own_dims(array)
    if not own or not set(own) <= set(RANK_DIMS):
        return False
    return any(array.sizes[dim] > 1 for dim in own if dim != "region")


def has_curves(result: xr.Dataset) -> bool:
    """Whether any index stands along ranks."""
    return any(is_curve(array) for array in result.data_vars.values())


def with_error(result: xr.Dataset, name: str) -> xr.DataArray:
    """The values of an index, with their standard errors as a coordinate if they have any."""
    array = result[name]
    error = f"{name}_standard_error"
    return array.assign_coords(error=result[error].variable) if error in result else array


def curve_tables(result: xr.Dataset, names: Sequence[str]) -> list[str]:
    """A table of all curves and one of all surfaces, and what they leave out."""
    texts: list[str] = []
    for along in _ALONG:
        arrays = [a for a in (with_error(result, n) for n in names) if own_dims(a)[-1] == along]
        if not arrays:
            continue
        whole = arrays[0][along].values
        shown = _few(whole, _MOST_COLUMNS)
        rows = [row for array in arrays for row in _rows(array, along, shown)]
        several = "candidate" in result.dims
        heads = [f"{along}={value}" for value in whole[shown]]
        heads = ["index", *(["candidate"] if several else []), *heads, "best"]
        texts.append("\n" + table_text(heads, rows))
    texts += _left_out(result, names)
    return texts


def _rows(array: xr.DataArray, along: str, shown: list[int]) -> Iterator[list[str]]:
    few = array.isel({along: shown})
    across = [dim for dim in own_dims(array) if dim != along]
    for dim in across:
        if dim != "region":
            few = few.isel({dim: _few(few[dim].values, _MOST_ROWS)})
    best = _BEST.get(array.attrs.get("direction", ""), "")
    for place in np.ndindex(*(few.sizes[dim] for dim in across)):
        one = few.isel(dict(zip(across, place, strict=True)))
        named = ("" if dim == "region" else f"{dim}=" for dim in across)
        where = ", ".join(f"{n}{one[dim].item()}" for n, dim in zip(named, across, strict=True))
        label = f"{array.name}[{where}]" if where else str(array.name)
        if "candidate" not in one.dims:
            yield [label, *map(_cell, one), best]
            continue
        for own in one.transpose("candidate", along):
            yield [label, str(own["candidate"].item()), *map(_cell, own), best]


def _cell(value: xr.DataArray) -> str:
    number = value.item()
    text = f"{number:.4g}" if abs(number) < 1e4 else f"{number:.0f}"
    text = text if number == number else "nan"
    error = float(value.coords["error"]) if "error" in value.coords else np.nan
    return text if np.isnan(error) else f"{text} ± {error:.2g}"


def _few(values: Any, most: int) -> list[int]:
    """Places of at most so many values: the ends, and round ones between."""
    if len(values) <= most:
        return list(range(len(values)))
    ends = {0, len(values) - 1}
    for digits in _ROUND:
        round_ones = [base * 10**power for power in range(9) for base in digits]
        places = sorted(ends | set(np.flatnonzero(np.isin(values, round_ones)).tolist()))
        if 3 < len(places) <= most:
            return places
    return [int(place) for place in np.linspace(0, len(values) - 1, most)]


def _left_out(result: xr.Dataset, names: Sequence[str]) -> list[str]:
    dims = {dim for name in names for dim in own_dims(result[name])}
    cut: list[str] = []
    for dim, most in (("k", _MOST_COLUMNS), ("kappa_t", _MOST_COLUMNS), ("kappa_s", _MOST_ROWS)):
        if dim in dims and result.sizes[dim] > most:
            cut.append(f"{len(_few(result[dim].values, most))} of {result.sizes[dim]} {dim}")
    if not cut:
        return []
    return [
        f"\n{', '.join(cut)} are shown; the result itself has them all (-o RESULT.zarr, or --json)."
    ]

"""What a picture is drawn from: a variable of a result, its candidates, intervals and hints."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.errors import InputError
from somscale.plot._figures import label_of

__all__ = [
    "LABEL_WIDTH",
    "finite_range",
    "hint_of",
    "hinted",
    "labelled",
    "of_candidate",
    "only_dims",
    "variable_of",
    "wrapped",
]

LABEL_WIDTH: Final = 30
"""Characters in a line of an upright label, which a picture 65 mm high has room for."""

_HINTS: Final = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "0 is best",
}
_ENDS: Final = ("interval_low", "interval_high")


def variable_of(data: Any, name: str, *others: str) -> tuple[xr.DataArray, list[xr.DataArray]]:
    """Return a variable of a result, computed, and the ends of its intervals, if it has any.

    Parameters
    ----------
    data : Dataset or DataArray
        A result, or the variable itself.
    name, *others : str
        The variable; the first one of these that the result has.
    """
    if isinstance(data, xr.DataArray):
        values = data.compute()
        return values, [values[end] for end in _ENDS if end in values.coords]
    if not isinstance(data, xr.Dataset):
        raise InputError(
            f"a result of ss.evaluate or one of its variables is drawn, not {type(data).__name__}"
        )
    found = next((each for each in (name, *others) if each in data.data_vars), None)
    if found is None:
        held = ", ".join(map(str, data.data_vars)) or "no variable"
        raise InputError(
            f"the result has no {name} (it has {held}): ask ss.evaluate for metrics=[{name!r}]"
        )
    ends = [f"{found}_{end}" for end in _ENDS if f"{found}_{end}" in data.data_vars]
    computed = data[[found, *ends]].compute()
    return computed[found], [computed[end] for end in ends]


def of_candidate(values: xr.DataArray, candidate: Any) -> xr.DataArray:
    """Return the values of one candidate, or of all where it is None."""
    if candidate is None:
        alone = values.sizes.get("candidate") == 1
        return values.isel(candidate=0) if alone else values
    if "candidate" not in values.dims:
        raise InputError(f"candidate={candidate!r} is asked for, but there is only one here")
    names = values["candidate"].values.tolist()
    if candidate not in names:
        raise InputError(f"there is no candidate {candidate!r}, only {', '.join(map(str, names))}")
    return values.isel(candidate=names.index(candidate))


def only_dims(values: xr.DataArray, dims: Sequence[str], *, also: int = 0) -> list[str]:
    """Return what other dims the values have, or refuse: too many, or one of `dims` missing."""
    name = "the array" if values.name is None else values.name
    missing = [dim for dim in dims if dim not in values.dims]
    if missing:
        at = f", for there is one {missing[0]}" if missing[0] in values.coords else ""
        raise InputError(
            f"{name} has no dim {missing[0]!r}{at}: ask for a range of {missing[0]}, and pass "
            "the variable with its dims"
        )
    rest = [str(dim) for dim in values.dims if dim not in dims]
    if len(rest) > also:
        chosen = ", ".join(f"{dim}=…" for dim in rest[also:])
        raise InputError(f"{name} has too many dims to draw ({', '.join(rest)}): .sel({chosen})")
    return rest


def hint_of(values: xr.DataArray) -> str:
    """Return which direction is better, or ""."""
    return _HINTS.get(str(values.attrs.get("direction", "")), "")


def hinted(values: xr.DataArray, default: str = "", *, width: int = LABEL_WIDTH) -> str:
    """Return long name, units and which direction is better, in lines of `width`."""
    return labelled(values, default, note=hint_of(values), width=width)


def labelled(
    values: xr.DataArray, default: str = "", *, note: str = "", width: int = LABEL_WIDTH
) -> str:
    """Return long name, [units] and (note), in lines of `width`; brackets are not broken."""
    label = label_of(values, default, width=1000)
    return wrapped(f"{label} ({note})" if note else label, width)


def wrapped(text: str, width: int = LABEL_WIDTH) -> str:
    """Return the text in lines of `width` that break no word and no short bracket.

    The spaces of these do not break, for the sake of who wraps it again.
    """
    joined = re.sub(r"[\[(][^\[\]()]{,22}[\])]", lambda part: part[0].replace(" ", "\xa0"), text)
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def finite_range(values: Any) -> tuple[float, float]:
    """Return least and largest of the finite values; 0 and 1 where there are none."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)

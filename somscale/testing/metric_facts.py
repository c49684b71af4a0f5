"""Laws on what an index says of itself: its facts, its range, what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from somscale.errors import InputError
from somscale.metrics.answering.answers import UNREASONED
from somscale.metrics.spec import MetricSpec
from somscale.testing.cases import Case
from somscale.testing.comparing import broken, shown, where_of
from somscale.testing.judged import Index, Judged

__all__ = ["check_facts", "check_range", "check_refusals"]


def check_facts(judged: Judged) -> None:
    """Texts are there, and values have the dims, type and attributes that were declared."""
    for index in judged.indices:
        _check_texts(index.spec, judged.plain[0][0])
    for case, own, values in judged.plain:
        for index in own:
            _check_value(index, values[index.name], case)


def _check_texts(spec: MetricSpec, case: Case) -> None:
    for fact in ("long_name", "definition", "units", "source"):
        text = getattr(spec, fact)
        if not text or text != text.strip():
            broken(spec.name, "facts", f"its {fact} is {text!r}, which says nothing", case)
    if spec.lower >= spec.upper:
        broken(spec.name, "facts", f"its range {spec.range} is empty", case)
    if spec.direction not in ("higher", "lower", "zero", "none"):
        broken(spec.name, "facts", f"its direction is {spec.direction!r}", case)


def _check_value(index: Index, value: xr.DataArray, case: Case) -> None:
    spec = index.spec_of(value)
    found = {
        "dims": tuple(map(str, value.dims)),
        "dtype": str(value.dtype),
        **{name: value.attrs.get(name) for name in ("long_name", "units", "range")},
    }
    declared = {
        "dims": _expected_dims(index, value),
        "dtype": spec.dtype,
        "long_name": spec.long_name,
        "units": spec.units_of(None),
        "range": spec.range,
    }
    for fact, wanted in declared.items():
        if found[fact] != wanted:
            what = f"its {fact} is declared as {wanted!r}, but the value has {found[fact]!r}"
            broken(spec.name, "facts", what, case)


def _expected_dims(index: Index, value: xr.DataArray) -> tuple[str, ...]:
    """Declared dims, without those of a parameter that has one value."""
    spec, parameters = index.spec, index.spec.parameters(index.given)

    def is_single(name: str) -> bool:
        chosen = parameters[name]
        if chosen is None:
            return name not in value.dims  # its default may be one value
        return not isinstance(chosen, str | slice) and np.ndim(chosen) == 0

    single = {name for name in spec.parameters_as_dims if is_single(name)}
    return tuple(dim for dim in spec.dims if dim not in single)


def check_range(judged: Judged) -> None:
    """Values lie in the declared range, or are nan for a reason that is given with them.

    Awkward data may be refused with an `InputError`.
    """
    for case, own, values in judged.plain:
        for index in own:
            _check_bounds(index, values[index.name], case)
    for case in judged.awkward:
        for index, value in _answers(judged, case):
            _check_bounds(index, value, case)


def _answers(judged: Judged, case: Case) -> Iterator[tuple[Index, xr.DataArray]]:
    """What indices answer on awkward data, together if they can, without those that refuse."""
    try:
        together = judged.together(case, judged.indices)
    except InputError:
        for index in judged.indices:
            try:
                yield index, index(case)
            except InputError:
                continue
        return
    for index in judged.indices:
        yield index, together[index.name].value


def _check_bounds(index: Index, value: xr.DataArray, case: Case) -> None:
    spec, numbers = index.spec, value.values
    for wrong, problem in (
        (numbers < spec.lower, f"below its least value {spec.lower:g}"),
        (numbers > spec.upper, f"above its greatest value {spec.upper:g}"),
    ):
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            place = where_of(value, at)
            broken(spec.name, "range", f"{shown(numbers[at])}{place} is {problem}", case)
    undefined = np.isnan(numbers)
    note = value.attrs.get("note", "")
    reasoned = spec.undefined or (note and not note.startswith(UNREASONED))
    if undefined.any() and not reasoned:
        place = where_of(value, tuple(int(i) for i in np.argwhere(undefined)[0]))
        what = f"nan{place}, and neither a note nor undefined= says why"
        broken(spec.name, "range", what, case)


def check_refusals(judged: Judged) -> None:
    """A parameter that the index does not have is refused, by its name."""
    case, own, _ = judged.plain[0]
    for index in own:
        try:
            index(case, no_such_parameter=1)
        except InputError as refusal:
            if "no_such_parameter" in str(refusal):
                continue
            what = f"it refuses no_such_parameter=1 without naming it: {refusal}"
            broken(index.name, "refusals", what, case)
        broken(index.name, "refusals", "it takes no_such_parameter=1 as if it knew it", case)

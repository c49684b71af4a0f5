"""The table of the indices: values, which direction is better, and what each one says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.metrics.spec import MetricSpec, range_text
from somscale.reporting.blocks import Cell, Table, number
from somscale.reporting.result import Result
from somscale.reporting.sentences import SENTENCES

__all__ = ["DIRECTIONS", "PLACES", "best_of", "in_table", "index_table", "nearest"]

_BETTER: Final = {"higher": "higher", "lower": "lower", "zero": "0"}
DIRECTIONS: Final = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "0 is best",
    "none": "",
}
PLACES: Final = {"k": 10, "kappa_s": 20, "kappa_t": 10}
"""Where an index along ranks is shown as one number, or at what is nearest."""

_SHORT: Final = ("temperature", "part", "pair")
_SYMBOLS: Final = {"k": "K", "kappa_s": "κs", "kappa_t": "κt", "temperature": "T"}
_MOST_LINES: Final = 8


def index_table(result: Result) -> Table:
    """A row for each index: a value a candidate, direction, range, units and note."""
    rows = [*_numbers(result), *_arrays(result)]
    heads = ["Index", *(_shown(result)), "Better", "Range", "Units", "Note"]
    noted = any(row[-1].text for row in rows)
    if not noted:
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Table("Indices", heads, rows, wide=True)


def _shown(result: Result) -> list[str]:
    return result.candidates or ["Value"]


def best_of(values: np.ndarray[Any, Any], direction: str) -> np.ndarray[Any, Any]:
    """Which of some values are the best of two or more; none without a direction."""
    key = {"higher": -values, "lower": values, "zero": np.abs(values)}.get(direction)
    if key is None or len(values) < 2 or np.isnan(key).all():
        return np.zeros(len(values), bool)
    return np.asarray(key == np.nanmin(key))


def _numbers(result: Result) -> Iterator[list[Cell]]:
    """Rows of indices that are one number."""
    if not result.metrics:
        return
    kept = [n for n in ("value", "note", *_ENDS) if n in result.q]
    table = result.q[kept].compute()
    for place, label in enumerate(result.metrics):
        one = table.isel(metric=place)
        words = str(one["long_name"].item())
        facts = {
            "direction": result.direction(label, one),
            "range": range_text(one["lower"].item(), one["upper"].item()),
            "units": str(one["metric_units"].item()),
            "note": _joined(one["note"], result) if "note" in one else "",
        }
        ends = {name: _listed(one[name]) for name in _ENDS if name in one}
        yield _row(label, words, result.spec(label, words), _listed(one["value"]), ends, facts)


_ENDS: Final = ("standard_error", "interval_low", "interval_high")


def _arrays(result: Result) -> Iterator[list[Cell]]:
    """Rows of indices along ranks and other parameters: one each, at a place or with a few."""
    for name in filter(lambda name: in_table(result, name), result.arrays):
        dims = [str(dim) for dim in result.own_dims(name)]
        array = result.array(name)
        array = array.isel({d: nearest(array[d].values, PLACES[d]) for d in dims if d in PLACES})
        rest = [d for d in dims if d not in PLACES]
        parted = [d for d in rest if d != "temperature" and array.sizes[d] > 1]
        alone = {d: 0 for d in rest if array.sizes[d] == 1 or (d == "temperature" and parted)}
        array = array.isel(alone).compute()
        rest = [d for d in rest if d not in alone]
        row = _array_row(result, name, array.isel(dict.fromkeys(rest, 0)), set(dims) - set(rest))
        yield _folded(row, array.transpose("candidate", ..., missing_dims="ignore"), rest)


def _folded(row: list[Cell], array: xr.DataArray, rest: list[str]) -> list[Cell]:
    """A row whose cells hold the values along the rest of the dims, each in a line."""
    if not rest:
        return row
    several = "candidate" in array.dims
    for place in range(array.sizes["candidate"] if several else 1):
        own = array.isel(candidate=place) if several else array
        lines = [
            f"{', '.join(_told(own, d, p) for d, p in zip(rest, at, strict=True))}: "
            f"{number(float(own.values[at]))}"
            for at in np.ndindex(*own.shape)
        ]
        more = ["…"] if len(lines) > _MOST_LINES else []
        row[1 + place] = Cell("", row[1 + place].order, lines=lines[:_MOST_LINES] + more)
    return row


def _told(array: xr.DataArray, dim: str, place: int) -> str:
    value = _plain(array[dim][place].item()) if dim in array.coords else str(place)
    return f"{_SYMBOLS[dim]} = {value}" if dim in _SYMBOLS else value


def in_table(result: Result, name: str) -> bool:
    """Whether a variable stands in the table, at one place or a few."""
    return set(result.own_dims(name)) <= {*PLACES, *_SHORT}


def nearest(values: Any, wanted: float) -> int:
    """The place of the value that is nearest to a wanted one."""
    return int(np.abs(np.asarray(values, dtype=float) - wanted).argmin())


def _array_row(result: Result, name: str, one: xr.DataArray, at: set[str]) -> list[Cell]:
    dims = [d for d in map(str, result.own_dims(name)) if d in at]
    told = {_SYMBOLS.get(d, d): _plain(one[d].item()) for d in dims if d in one.coords}
    where = ", ".join(f"{symbol} = {value}" for symbol, value in told.items())
    label = f"{name}({where})" if where else name
    facts = {n: str(one.attrs.get(n, "")) for n in ("direction", "range", "units", "note")}
    facts["direction"] = result.direction(name)
    place = {d: one[d].item() for d in map(str, result.own_dims(name)) if d in one.coords}
    ends = {
        end: _listed(result.array(f"{name}_{end}").sel(place))
        for end in _ENDS
        if f"{name}_{end}" in result.q
    }
    words = str(one.attrs.get("long_name", ""))
    return _row(label, words, result.spec_of(name), _listed(one), ends, facts)


def _plain(value: Any) -> str:
    return number(float(value)) if isinstance(value, int | float) else str(value)


def _listed(values: xr.DataArray) -> np.ndarray[Any, Any]:
    return np.atleast_1d(np.asarray(values.values, dtype=float))


def _joined(notes: xr.DataArray, result: Result) -> str:
    """What is said of a value, once if of all candidates, else each time with whose it is."""
    found = [str(note) for note in np.atleast_1d(notes.values)]
    if len(set(found)) == 1:
        return found[0]
    pairs = zip(result.heads, found, strict=True)
    return "; ".join(f"{head}: {note}" for head, note in pairs if note)


def _row(
    label: str,
    words: str,
    spec: MetricSpec | None,
    values: np.ndarray[Any, Any],
    ends: Mapping[str, np.ndarray[Any, Any]],
    facts: Mapping[str, str],
) -> list[Cell]:
    sentence = SENTENCES.get(spec.name, "") if spec is not None else ""
    about = f"{words[:1].upper()}{words[1:]}. {sentence}" if sentence else words
    best = best_of(values, facts["direction"])
    cells = [
        Cell.of(value, _error(ends, place), best=bool(best[place]))
        for place, value in enumerate(values.tolist())
    ]
    return [
        Cell(label, detail=about, code=spec.definition if spec is not None else ""),
        *cells,
        Cell(_BETTER.get(facts["direction"], "")),
        Cell(facts["range"].replace("inf", "∞").replace("-", "−").replace("unknown", "?")),
        Cell("" if facts["units"] == "1" else facts["units"]),
        Cell(facts["note"]),
    ]


def _error(ends: Mapping[str, np.ndarray[Any, Any]], place: int) -> str:
    """Standard error and interval of a value, where it has them."""
    own = {name: float(values[place]) for name, values in ends.items()}
    parts = []
    if not np.isnan(own.get("standard_error", np.nan)):
        parts.append(f"± {number(own['standard_error'], 2)}")
    if not np.isnan(own.get("interval_low", np.nan)):
        parts.append(f"[{number(own['interval_low'])}, {number(own['interval_high'])}]")
    return "\n".join(parts)

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
_MOST_ROWS: Final = 6


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
            "direction": str(one["direction"].item()),
            "range": range_text(one["lower"].item(), one["upper"].item()),
            "units": str(one["metric_units"].item()),
            "note": _joined(one["note"], result) if "note" in one else "",
        }
        ends = {name: _listed(one[name]) for name in _ENDS if name in one}
        yield _row(label, words, result.spec(label, words), _listed(one["value"]), ends, facts)


_ENDS: Final = ("standard_error", "interval_low", "interval_high")


def _arrays(result: Result) -> Iterator[list[Cell]]:
    """Rows of indices along ranks and other parameters, at one place or a few."""
    for name in filter(lambda name: in_table(result, name), result.arrays):
        dims = [str(dim) for dim in result.own_dims(name)]
        array = result.q[name]
        array = array.isel({d: nearest(array[d].values, PLACES[d]) for d in dims if d in PLACES})
        rest = [d for d in dims if d not in PLACES]
        places = list(np.ndindex(*(array.sizes[d] for d in rest)))[:_MOST_ROWS]
        for place in places:
            yield _array_row(result, name, array.isel(dict(zip(rest, place, strict=True))), dims)


def in_table(result: Result, name: str) -> bool:
    """Whether a variable stands in the table, at one place or a few."""
    return set(result.own_dims(name)) <= {*PLACES, *_SHORT}


def nearest(values: Any, wanted: float) -> int:
    """The place of the value that is nearest to a wanted one."""
    return int(np.abs(np.asarray(values, dtype=float) - wanted).argmin())


def _array_row(result: Result, name: str, one: xr.DataArray, dims: list[str]) -> list[Cell]:
    told = {_SYMBOLS.get(d, d): _plain(one[d].item()) for d in dims if d in one.coords}
    where = ", ".join(f"{symbol} = {value}" for symbol, value in told.items())
    label = f"{name}({where})" if where else name
    facts = {n: str(one.attrs.get(n, "")) for n in ("direction", "range", "units", "note")}
    place = {d: one[d].item() for d in dims if d in one.coords}
    ends = {
        end: _listed(result.q[f"{name}_{end}"].sel(place))
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
        Cell(facts["range"].replace("inf", "∞").replace("-", "−")),
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
    return " ".join(parts)

"""Show and keep a result."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import xarray as xr

from somscale import store
from somscale.cli.curves import RANK_DIMS, curve_tables, is_curve, own_dims, with_error
from somscale.cli.tables import table_text
from somscale.cli.wording import in_options
from somscale.engine.planview import Plan
from somscale.engine.readers.urls import Url
from somscale.errors import InputError
from somscale.metrics.spec import all_specs, range_text

__all__ = ["as_text", "check_place", "check_target", "show", "show_plan"]

_ARROWS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "0 is best",
    "none": "",
}
_SHORT_DIMS = {"temperature", "part", "pair", *RANK_DIMS}
_ERRORS = ("_standard_error", "_interval_low", "_interval_high")


def check_target(path: Path, inputs: Sequence[Path | Url], *, overwrite: bool) -> None:
    """Refuse a target that cannot be written, or is read, before anything is computed."""
    store.check_target(path)
    check_place(path, inputs, overwrite=overwrite)


def check_place(
    path: Path, inputs: Sequence[Path | Url], *, overwrite: bool, option: str = "--output"
) -> None:
    """Refuse a place that is read, is taken, or cannot be written to; `option` names it."""
    target = path.resolve()
    for source in (source.resolve() for source in inputs):
        if target == source or target in source.parents or source in target.parents:
            raise InputError(f"{str(path)!r} is read by this command; name another {option}")
    if path.exists() and not overwrite:
        raise InputError(f"{str(path)!r} exists; name another {option}, or add --overwrite")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {str(folder)!r} cannot be written to; name another {option}")


def show(result: xr.Dataset, *, as_json: bool) -> None:
    """Print a result."""
    click.echo(json.dumps(_plain(result), indent=2) if as_json else as_text(result))


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print a plan."""
    if not as_json:
        click.echo(repr(plan))
        return
    facts = {
        "indices": list(plan.indices),
        "candidates": list(plan.candidates),
        "tasks": plan.tasks,
        "bytes_read": plan.bytes_read,
        "peak_memory": plan.peak_memory,
    }
    click.echo(json.dumps(facts, indent=2))


def as_text(result: xr.Dataset) -> str:
    """A table of all numbers and short parameter series, and some values of curves."""
    candidates = result["candidate"].values.tolist() if "candidate" in result.dims else [None]
    heads = ["value"] if candidates == [None] else [str(c) for c in candidates]
    rows: list[list[str]] = []
    notes: list[str] = []
    for label, row in _lines(result):
        cells = [_cell(row, c) for c in candidates]
        facts = row.attrs
        direction = _ARROWS.get(facts.get("direction", ""), "")
        rows.append([label, *cells, direction, facts.get("range", ""), facts.get("units", "")])
        notes += [f"{label}: {note}" for note in facts.get("notes", []) if note]
    heads = ["index", *heads, "direction", "range", "units"]
    lines = [table_text(heads, rows)] if rows else []
    curves = [name for name in _shown(result) if is_curve(result[name])]
    notes += _array_notes(result)
    lines += [*curve_tables(result, curves), *notes, *_unshown(result), *_left_out(result)]
    lines += _stored(result)
    return "\n".join(lines).removeprefix("\n")


def _shown(result: xr.Dataset) -> list[str]:
    """Variables that are indices, without their errors and what lies along "metric"."""
    names = [str(name) for name, array in result.data_vars.items() if "metric" not in array.dims]
    stems = [(name, name.removesuffix(end)) for name in names for end in _ERRORS]
    errors = {name for name, stem in stems if stem != name and stem in result}
    return [name for name in names if name not in errors and name != "n_units"]


def _array_notes(result: xr.Dataset) -> list[str]:
    """What there is to say of arrays, each remark once."""
    found: dict[str, list[str]] = {}
    for name in _shown(result):
        if note := result[name].attrs.get("note"):
            found.setdefault(in_options(str(note)), []).append(name)
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in found.items()
    ]


def _unshown(result: xr.Dataset) -> list[str]:
    """A line on what is too long for a table."""
    long = [name for name in _shown(result) if set(own_dims(result[name])) - _SHORT_DIMS]
    if not long:
        return []
    return [f"\nToo long for a table, but in the result itself: {', '.join(long)}"]


def _left_out(result: xr.Dataset) -> list[str]:
    """Indices that were not computed, by the reason."""
    omitted = json.loads(result.attrs.get("indices_left_out", "{}"))
    return [f"\nLeft out ({in_options(why)}): {', '.join(names)}" for why, names in omitted.items()]


def _stored(result: xr.Dataset) -> list[str]:
    """Which matrices of a workspace were read, and why others were not."""
    told = json.loads(result.attrs.get("stored_matrices", "{}"))
    read = [f"\nRead from the workspace: {', '.join(told['read'])}"] if told.get("read") else []
    others = told.get("passed_over", {}).items()
    return [*read, *(f"\nNot read: {name} ({in_options(why)})" for name, why in others)]


def _notes(notes: xr.DataArray) -> list[str]:
    """What there is to say of an index: once if of all candidates, else with whose it is."""
    texts = [in_options(str(note)) for note in notes.values.ravel().tolist()]
    if len(set(texts)) == 1:
        return texts[:1]
    names = notes["candidate"].values.astype(str).tolist()
    whose: dict[str, list[str]] = {}
    for name, text in zip(names, texts, strict=True):
        whose.setdefault(text, []).append(name)
    return [f"{text} ({', '.join(own)})" for text, own in whose.items() if text]


def _lines(result: xr.Dataset) -> list[tuple[str, xr.DataArray]]:
    lines = []
    for label in result["metric"].values.tolist() if "metric" in result.dims else []:
        one = result.sel(metric=label)
        value = one["value"].copy()
        value.attrs = {
            "direction": one["direction"].item(),
            "range": range_text(one["lower"].item(), one["upper"].item()),
            "units": one["metric_units"].item(),
            "notes": _notes(one["note"]),
        }
        if "standard_error" in one:
            value = value.assign_coords(error=one["standard_error"].variable)
        lines.append((label, value))
    for name in _shown(result):
        array = with_error(result, name)
        own = own_dims(array)
        if is_curve(array) or not set(own) <= _SHORT_DIMS:
            continue
        for place in np.ndindex(*(array.sizes[d] for d in own)):
            row = array.isel(dict(zip(own, place, strict=True)))
            where = ", ".join(f"{d}={row[d].item()}" for d in own)
            lines.append((f"{name}[{where}]", row))
    return lines


def _cell(row: xr.DataArray, candidate: Any) -> str:
    """A value of one candidate, with its standard error where it is an estimate."""
    value = row if candidate is None else row.sel(candidate=candidate)
    error = float(value.coords["error"]) if "error" in value.coords else np.nan
    return _number(value) if np.isnan(error) else f"{_number(value)} ± {error:.2g}"


def _number(value: xr.DataArray) -> str:
    number = value.item()
    return str(number) if isinstance(number, int) else f"{number:.6g}"


def _plain(result: xr.Dataset) -> dict[str, Any]:
    """A result without values of samples and features, as JSON: nan becomes null."""
    # dims of samples and of features are too long for a screen, and other programs read Zarr
    long: set[Any] = set()
    for spec in all_specs():
        if spec.name in result and not {"sample", "feature"}.isdisjoint(spec.dims):
            known = {"candidate", *spec.dims} - {"sample", "feature"}
            long |= set(result[spec.name].dims) - known
    kept = [n for n, a in result.data_vars.items() if not long & set(a.dims)]
    return {
        "attributes": dict(result.attrs),
        "coordinates": {str(n): _jsonable(c.values) for n, c in result[kept].coords.items()},
        "variables": {
            str(n): {
                "dims": list(result[n].dims),
                "values": _jsonable(result[n].values),
                **{k: str(v) for k, v in result[n].attrs.items()},
            }
            for n in kept
        },
    }


def _jsonable(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return _jsonable(values.tolist())
    if isinstance(values, list):
        return [_jsonable(v) for v in values]
    if isinstance(values, float) and not np.isfinite(values):
        return None if np.isnan(values) else str(values)
    return values

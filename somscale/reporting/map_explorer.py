"""A map whose cells show one index at a time, and the values of the unit that is pointed at."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.reporting.blocks import Explorer
from somscale.reporting.cells import unit_cells
from somscale.reporting.result import PARAMETERS, Result
from somscale.topology import Grid

__all__ = ["MOST_UNITS", "map_explorer", "packed", "unit_fields"]

MOST_UNITS: Final = 4_096
_SEAM: Final = "Where the map goes on at the other side, its border is dashed."
_MOST_FIELDS: Final = 24
_MOST_VALUES: Final = 400_000


def packed(values: Any, kind: str = "<f4") -> str:
    """Numbers as text for the page's script: little-endian, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def unit_fields(result: Result) -> Iterator[tuple[str, xr.DataArray]]:
    """Indices of units, at one place along each parameter."""
    for name in result.arrays:
        dims = result.own_dims(name)
        if dims[:1] != ("unit",) or not set(dims[1:]) <= set(PARAMETERS):
            continue
        yield name, result.array(name).isel({dim: 0 for dim in dims[1:]})


def map_explorer(result: Result, grids: Sequence[Grid | None]) -> Explorer | None:
    """The explorer of all maps of up to 4,096 units each; None where there is none to show."""
    fields = dict(list(unit_fields(result))[:_MOST_FIELDS])
    if not fields:
        return None
    loaded = xr.Dataset({n: a.reset_coords(drop=True) for n, a in fields.items()}).compute()
    classes = _classes(result)
    maps: list[dict[str, Any]] = []
    left = _MOST_VALUES
    for place, grid in enumerate(grids):
        if grid is None or grid.size > MOST_UNITS or left < grid.size * len(fields):
            continue
        left -= grid.size * len(fields)
        own = [result.of(loaded[name], place).values[: grid.size] for name in fields]
        known = {"classes": _majority(result, place, grid.size)} if classes else {}
        maps.append(
            {
                "name": result.heads[place],
                "rows": grid.row.tolist(),
                "cols": grid.col.tolist(),
                "fields": [packed(values) for values in own],
                **known,
            }
        )
    return _explorer(result, fields, grids, maps, classes) if maps else None


def _explorer(
    result: Result,
    fields: dict[str, xr.DataArray],
    grids: Sequence[Grid | None],
    maps: list[dict[str, Any]],
    classes: list[str],
) -> Explorer:
    from somscale.reporting.bokeh_figures import units_figure

    shown = {m["name"] for m in maps}
    cells = [
        unit_cells(grid)
        for name, grid in zip(result.heads, grids, strict=True)
        if name in shown and grid is not None
    ]
    figures = [units_figure(own) for own in cells]
    data = {
        "fields": [_facts(result, n, a) for n, a in fields.items()],
        "maps": maps,
        "classes": classes,
    }
    left_out = len(result.heads) - len(maps)
    beyond = (
        f" {left_out} of the maps have no grid that is known, or too many units."
        if left_out
        else ""
    )
    seam = f" {_SEAM}" if any(own.seams for own in cells) else ""
    intro = (
        "Point at a unit, or tap it, to read its values; choose what colours the cells."
        f"{seam}{beyond}"
    )
    return Explorer("map", figures, data, intro)


def _facts(result: Result, name: str, array: xr.DataArray) -> dict[str, Any]:
    attributes = {n: str(array.attrs.get(n, "")) for n in ("long_name", "units")}
    return {"name": name, **attributes, "direction": result.direction(name)}


def _classes(result: Result) -> list[str]:
    if not any(result.along("unit", "class")) or "class" not in result.q.coords:
        return []
    return [str(name) for name in result.q["class"].values.tolist()]


def _majority(result: Result, place: int, units: int) -> list[int]:
    """The most frequent class of each unit; −1 where there are no samples."""
    name = next(result.along("unit", "class"))
    shares = result.of(result.q[name], place).transpose("unit", "class").values[:units]
    empty = ~np.isfinite(shares).any(axis=1)
    found: list[int] = np.where(empty, -1, np.nan_to_num(shares).argmax(axis=1)).tolist()
    return found

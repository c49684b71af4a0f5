"""The heat map Q′(κs, κt) beside the embedding that is coloured at its cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale.reporting.blocks import Explorer
from somscale.reporting.drawn import MOST_CANDIDATES, Draw, draw_of, points_of
from somscale.reporting.indices import PLACES, nearest
from somscale.reporting.map_explorer import packed
from somscale.reporting.result import Result
from somscale.reporting.shades import Shades
from somscale.reporting.wording import distinct

__all__ = ["rank_explorer"]

_MOST_CELLS: Final = 128
_MOST_CLASSES: Final = 10


def rank_explorer(
    result: Result, projection: Mapping[str, Any], labels: Any, shades: Sequence[Shades]
) -> Explorer | None:
    """Heat maps and points of what the result has; None where it has neither."""
    from somscale.reporting.bokeh_figures import heat_figure, points_figure

    names = result.heads[:MOST_CANDIDATES]
    points = _points(result, projection, labels, shades, len(names))
    heat = _heat(result, len(names), [] if points is None else points[0]["pairs"])
    if heat is None and points is None:
        return None
    figures: list[dict[str, Any]] = []
    data: dict[str, Any] = {"names": names, "heat": None, "points": None}
    words: list[str] = []
    if heat is not None:
        figures.append(heat_figure(heat["kappa_s"], heat["kappa_t"]))
        data["heat"] = heat
        words.append(
            "The heat map is the quality of ranks Q′(κs, κt): of the pairs that are near in either "
            "space (rank up to κs), how many change by no more than κt ranks. Click on it, or move "
            "the sliders, to choose κs and κt."
        )
    if points is not None:
        found, drawn, places = points
        figures.append(points_figure(places))
        data["points"] = found
        words.append(_told(found, drawn, heat is not None))
    if len(result.heads) > len(names):
        words.append(f"The first {len(names)} of {len(result.heads)} candidates are shown.")
    return Explorer("ranks", figures, data, " ".join(words))


def _told(found: dict[str, Any], drawn: Draw, heat: bool) -> str:
    pairs = len(found["pairs"])
    shades = (
        f" Points are coloured at the nearest of {pairs} pairs (κs, κt) at which the quality of "
        "each sample is known, by colours of 255 steps."
        if pairs > 1 and heat
        else ""
    )
    count = found["components"]
    first = f" The first two of the embedding's {count:,} components are shown." * (count > 2)
    return f"{drawn.words}{first}{shades}"


def _heat(result: Result, count: int, pairs: Sequence[Sequence[int]]) -> dict[str, Any] | None:
    """Values of Q′ at up to 128 of κs and of κt, and at the `pairs` of points, by candidate."""
    name = next((n for n in result.named("rank_quality") if len(result.own_dims(n)) == 2), None)
    if name is None:
        return None
    array = result.array(name).transpose(..., "kappa_t", "kappa_s")
    most = array.size if name in result.parts else _MOST_CELLS
    own = {"kappa_s": [s for s, _ in pairs], "kappa_t": [t for _, t in pairs]}
    few = {
        d: np.union1d(_few(array.sizes[d], most), np.flatnonzero(np.isin(array[d], own[d])))
        for d in ("kappa_s", "kappa_t")
    }
    array = array.isel(few).compute()
    kappas = {d: array[d].values.astype(int).tolist() for d in few}
    at = _start(kappas, pairs)
    shown = [result.of(array, c).values for c in range(count)]
    low, high = _ends(shown)
    return {
        **kappas,
        "at": at,
        "values": [packed(values) for values in shown],
        "low": low,
        "high": high,
    }


def _start(kappas: Mapping[str, list[int]], pairs: Sequence[Sequence[int]]) -> list[int]:
    """Where the cursor begins: at a pair at which points are coloured, if there is one."""
    near, change = kappas["kappa_s"], kappas["kappa_t"]
    wanted = np.log1p([PLACES["kappa_s"], PLACES["kappa_t"]])
    shared = [(s, t) for s, t in pairs if s in near and t in change]
    if shared:
        s, t = min(shared, key=lambda pair: float(np.hypot(*(np.log1p(pair) - wanted))))
        return [near.index(s), change.index(t)]
    return [nearest(near, PLACES["kappa_s"]), nearest(change, PLACES["kappa_t"])]


def _few(size: int, most: int) -> NDArray[np.int64]:
    """At most so many places, evenly from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))


def _ends(values: Sequence[Any]) -> tuple[float, float]:
    finite = np.concatenate([v[np.isfinite(v)].ravel() for v in map(np.asarray, values)])
    if not finite.size:
        return 0.0, 1.0
    low, high = min(0.0, float(finite.min())), float(finite.max())
    return low, high if high > low else low + 1.0


def _points(
    result: Result,
    projection: Mapping[str, Any],
    labels: Any,
    shades: Sequence[Shades],
    count: int,
) -> tuple[dict[str, Any], Draw, NDArray[np.float64]] | None:
    """Places and colours of the drawn points; None without an embedding."""
    if result.kind != "embedding" or not projection or result.n_samples is None:
        return None
    held = [projection.get(name) for name in result.heads[:count]]
    drawn = draw_of(result)
    like = next((n for n in result.arrays if result.sample_dims(n)), None)
    dims = result.sample_dims(like) if like else ()
    known = None if like is None else result.q[like]
    rows = [None if e is None else points_of(e, drawn, dims, known, _NAME) for e in held]
    places = [None if r is None else _plane(r) for r in rows]
    first = next((p for p in places if p is not None), None)
    if first is None:
        return None
    shaded = [_shaded_pair(s.values, drawn, result, count) for s in shades]
    found: dict[str, Any] = {
        "x": [None if p is None else packed(p[:, 0]) for p in places],
        "y": [None if p is None else packed(p[:, 1]) for p in places],
        "pairs": [[s.kappa_s, s.kappa_t] for s in shades],
        "shades": shaded,
        "fields": _fields(result, drawn, count),
        "classes": _classes(labels, drawn, dims, known),
        "components": max(r[0].size for r in rows if r is not None),
    }
    return found, drawn, first


_NAME: Final = "the embedding"


def _plane(rows: NDArray[Any]) -> NDArray[np.float64]:
    """The first two components; one alone is drawn along a line."""
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    return flat[:, :2] if flat.shape[1] > 1 else np.column_stack([flat[:, 0], np.zeros(len(flat))])


def _of(values: xr.DataArray, drawn: Draw, result: Result, candidate: int) -> NDArray[np.float64]:
    """Values of the drawn samples for one candidate."""
    own = result.of(values, candidate)
    return np.asarray(drawn.of(own, own.dims).values, dtype=np.float64)


def _shaded_pair(array: xr.DataArray, drawn: Draw, result: Result, count: int) -> dict[str, Any]:
    """Values of all candidates in the steps of one scale."""
    values = [_of(array, drawn, result, c) for c in range(count)]
    low, high = _ends(values)
    return {"low": low, "high": high, "values": [_shaded(v, low, high) for v in values]}


def _shaded(values: NDArray[np.float64], low: float, high: float) -> str:
    """Values in 255 steps from `low` to `high`; 255 stands for nan."""
    steps = np.rint(254 * (np.nan_to_num(values, nan=low) - low) / (high - low))
    return packed(np.where(np.isnan(values), 255, steps.clip(0, 254)), "u1")


def _fields(result: Result, drawn: Draw, count: int) -> list[dict[str, Any]]:
    """Other indices of samples that points can be coloured by."""
    found = []
    for name in result.arrays:
        dims = result.sample_dims(name)
        array = result.array(name)
        spec = result.spec_of(name)
        if not dims or dims != result.own_dims(name) or array.dtype.kind != "f":
            continue
        if spec is not None and spec.name == "pointwise_rank_quality":
            continue
        words = str(array.attrs.get("long_name", name))
        facts = {"name": f"{words[:1].upper()}{words[1:]}", "units": array.attrs.get("units", "1")}
        found.append({**facts, **_shaded_pair(array, drawn, result, count)})
    return found


def _classes(labels: Any, drawn: Draw, dims: Any, known: Any) -> dict[str, Any] | None:
    """Classes of the drawn points: the ten most frequent by name, the rest together."""
    if labels is None:
        return None
    own = np.asarray(points_of(labels, drawn, dims, known, "labels")).astype(str)
    names, places, counts = np.unique(own, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
    order = np.sort(order)
    new = np.full(len(names), _MOST_CLASSES)
    new[order] = np.arange(len(order))
    kept = distinct(str(names[place]) for place in order)
    rest = ["all others"] if len(names) > len(order) else []
    return {"names": kept, "others": rest, "values": packed(new[places], "u1")}

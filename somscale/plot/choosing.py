"""Which of many candidates to keep: two indices against each other, and the front of both."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.transforms import Bbox

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._figures import CATEGORIES, INK, OTHER, axes_or_current
from somscale.plot._placing import (
    center_of,
    figure_of,
    free_place,
    label_width,
    size_of,
    slanted,
    to_fractions,
    to_pixels,
)
from somscale.plot._reading import labelled

__all__ = ["trade_off"]

_ALL: Final = 12  # candidates that are all named
_FEW: Final = 6  # names that are not written smaller
_REACH: Final = 0.05  # inches about a point that its name keeps off
_LEADER: Final = {"arrowstyle": "-", "color": OTHER, "linewidth": 0.6}
_SIGNS: Final = {"lower": 1.0, "higher": -1.0}
_HINTS: Final = {"lower": "lower is better", "higher": "higher is better"}


def trade_off(
    compared: xr.Dataset,
    x: str = "quantization_error",
    y: str = "topographic_error",
    *,
    ax: Axes | None = None,
    names: bool | None = None,
    intervals: bool = True,
    **keywords: Any,
) -> PathCollection:
    """Draw candidates by two indices, and the front of those that no other one beats in both.

    Parameters
    ----------
    compared : Dataset
        A result of :func:`somscale.compare`, or of :func:`somscale.evaluate` for several
        candidates.
    x, y : str
        Two indices that are one number each, on its dim ``metric``.
    ax : Axes, optional
        By default the current ones.
    names : bool, optional
        True: name all candidates; False: none.  By default all of up to 12, and beyond that
        those on the front, which the title says.
    intervals : bool
        Draw the 95 % intervals, where there are some.
    **keywords
        For :meth:`matplotlib.axes.Axes.scatter`.

    Returns
    -------
    PathCollection
        One point for each candidate, in their order.  Those on the front are filled, and joined
        by a line that parts what they leave possible from what they beat.

    Raises
    ------
    InputError
        Not several candidates, or an index that there is not.

    Notes
    -----
    A candidate is on the front if no other one is at least as good in both indices and better
    in one; of :func:`somscale.compare` this is ``on_front``.  Those that lack either index are
    left out.
    """
    table, signs = _table(compared, (x, y))
    places = table["value"].values.T
    front = _front(places * signs)
    axes = axes_or_current(ax)
    axes.margins(0.1)
    lines = _intervals(table) if intervals else []
    for ends in lines:
        axes.plot(*ends.T, color=INK, linewidth=0.7, zorder=2.7)  # over the front
    colors = np.where(front, CATEGORIES[0], "white")
    edges = np.where(front, CATEGORIES[0], OTHER)
    style = {"s": 28, "linewidths": 1.2, "color": colors, "edgecolors": edges, **keywords}
    artist = axes.scatter(*places.T, **{"zorder": 3, **style})
    axes.set_xlabel(_label(table.isel(metric=0), label_width(axes, "x")))
    axes.set_ylabel(_label(table.isel(metric=1), label_width(axes, "y")))
    lines += _draw_front(axes, places[front], signs)
    words = [str(name) for name in table["candidate"].values]
    all_named = len(words) <= _ALL if names is None else names
    named = np.isfinite(places).all(axis=1) & (front | all_named) & (names is not False)
    if names is None and not all_named:
        axes.set_title(f"{len(words)} candidates, named on the front", fontsize="medium")
    unnamed = _write_names(axes, places, words, named, lines)
    if unnamed:
        axes.set_title(f"no room for {unnamed} of {named.sum()} names", fontsize="medium")
    return artist


def _table(compared: Any, names: tuple[str, str]) -> tuple[xr.Dataset, Float]:
    """Both indices of all candidates, and 1 where lower is better, −1 where higher is."""
    if not isinstance(compared, xr.Dataset) or "candidate" not in compared.dims:
        raise InputError("a result for several candidates is drawn, as of ss.compare")
    held = compared["metric"].values.tolist() if "metric" in compared.coords else []
    for name in names:
        if name not in held:
            raise InputError(f"the result has no index {name!r} that is one number: ask for it")
    wanted = ["value", "interval_low", "interval_high"]
    table = compared[[name for name in wanted if name in compared.data_vars]]
    table = table.sel(metric=list(names)).transpose("metric", "candidate").compute()
    directions = [str(direction) for direction in table["direction"].values]
    for name, direction in zip(names, directions, strict=True):
        if direction not in _SIGNS:
            raise InputError(f"{name} is better neither lower nor higher: choose another index")
    return table, np.array([_SIGNS[direction] for direction in directions])


def _front(costs: Float) -> npt.NDArray[np.bool_]:
    """Which rows no other row equals or beats in both columns, and beats in one."""
    known = np.isfinite(costs).all(axis=1)
    beaten = [
        bool(((costs[known] <= own).all(axis=1) & (costs[known] < own).any(axis=1)).any())
        for own in costs
    ]
    return known & ~np.array(beaten, dtype=bool)


def _label(index: xr.Dataset, width: int) -> str:
    """What the axis of an index says."""
    name, units = (str(index[about].item()) for about in ("long_name", "metric_units"))
    hint = _HINTS[str(index["direction"].item())]
    return labelled(xr.DataArray(attrs={"long_name": name, "units": units}), note=hint, width=width)


def _intervals(table: xr.Dataset) -> list[Float]:
    """Both ends (end, xy) of each interval."""
    if "interval_low" not in table:
        return []
    values, low, high = (
        table[name].values.T for name in ("value", "interval_low", "interval_high")
    )
    found = []
    for axis in (0, 1):
        ends = np.stack([values, values], axis=1)
        ends[:, 0, axis], ends[:, 1, axis] = low[:, axis], high[:, axis]
        found += [one for one in ends if np.isfinite(one).all()]
    return found


def _draw_front(ax: Axes, places: Float, signs: Float) -> list[Float]:
    """Draw the border of what the front beats, up to the ends of the axes; return its pieces."""
    if not len(places):
        return []
    limits = np.array([ax.get_xlim(), ax.get_ylim()])
    worst = np.where(signs > 0, limits[:, 1], limits[:, 0])
    ordered = places[np.argsort(places[:, 0] * signs[0], kind="stable")]
    corners = np.stack([ordered[1:, 0], ordered[:-1, 1]], axis=1)
    border = np.empty((2 * len(ordered) - 1, 2))
    border[::2], border[1::2] = ordered, corners
    border = np.concatenate([[[border[0, 0], worst[1]]], border, [[worst[0], border[-1, 1]]]])
    ax.plot(*border.T, color=CATEGORIES[0], linewidth=1.2, zorder=2.5)
    ax.set(xlim=limits[0], ylim=limits[1])
    return list(np.stack([border[:-1], border[1:]], axis=1))


def _write_names(
    ax: Axes,
    places: Float,
    words: list[str],
    named: npt.NDArray[np.bool_],
    lines: list[Float],
) -> int:
    """Write names near their points, over nothing that is drawn; return how many have no room."""
    figure_of(ax).draw_without_rendering()  # where the points will be
    pixels = np.array([to_pixels(ax, place) for place in places])
    reach = _REACH * figure_of(ax).dpi
    taken = [
        Bbox.from_extents(a - reach, b - reach, a + reach, b + reach)
        for a, b in pixels[np.isfinite(pixels).all(axis=1)]
    ]
    for ends in lines:
        taken += slanted(to_pixels(ax, ends[0]), to_pixels(ax, ends[1]))
    style: dict[str, Any] = {
        "fontsize": "small" if named.sum() <= _FEW else "x-small",
        "color": INK,
    }
    unnamed = 0
    for number in np.flatnonzero(named):
        size = size_of(ax, words[number], pad=1, **style)
        around = _beside(size, reach)
        found = free_place(
            size, to_pixels(ax, places[number]), around, taken, ax.get_window_extent()
        )
        if found is None:
            unnamed += 1
            continue
        taken.append(found)
        gap = np.maximum(np.maximum(found.min - pixels[number], pixels[number] - found.max), 0)
        far = float(np.hypot(*gap)) > 2.5 * reach
        ax.annotate(
            words[number],
            places[number],
            xytext=to_fractions(ax, center_of(found)),
            textcoords="axes fraction",
            ha="center",
            va="center",
            zorder=4,
            arrowprops=_LEADER if far else None,
            **style,
        )
    return unnamed


def _beside(size: tuple[float, float], reach: float) -> list[tuple[float, float]]:
    """Offsets of the centre of a name of this size from its point, the nearest name first."""
    found = []
    for gap in reach * np.array([1, 1.5, 2, 3, 4, 6, 8, 11, 14]):
        for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
            across, up = np.round(np.cos(angle), 9), np.sin(angle)
            beside = across * gap + np.sign(across) * size[0] / 2
            found.append((float(beside), float(up * (gap + size[1] / 2))))
    return found

"""Curves along one dim: a line for each candidate, a band for its intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from somscale.plot._figures import CATEGORIES, OTHER, folded, title_of
from somscale.plot._placing import add_legend, label_width
from somscale.plot._reading import hinted, labelled, only_dims, variable_of

__all__ = ["Curves", "curves_of", "draw_curves"]

_TOO_PALE: Final = "#F0E442"  # for a line on white
_COLORS: Final = tuple(color for color in CATEGORIES if color != _TOO_PALE)
_DASHES: Final = ("-", "--", ":", "-.")
_INTERVAL: Final = "95 % interval"


@dataclass(frozen=True)
class Curves:
    """Values (line, along), with the ends of their intervals, if any."""

    values: xr.DataArray
    ends: list[xr.DataArray]
    along: str

    @property
    def names(self) -> list[str]:
        """What each line is called; a single one by its candidate, if it is of one."""
        by = self.values.dims[0]
        if by == "_one":
            return [title_of(self.values)]
        return [str(name) for name in self.values[by].values]

    def select(self, choose: Callable[[xr.DataArray], xr.DataArray]) -> Curves:
        """Return what `choose` leaves of values and intervals."""
        return Curves(choose(self.values), [choose(end) for end in self.ends], self.along)


def curves_of(data: Any, along: str, name: str, *others: str) -> Curves:
    """Return the curves of an index along a dim, one for each value of at most one other dim."""
    values, ends = variable_of(data, name, *others)
    rest = only_dims(values, (along,), also=1)

    def table(array: xr.DataArray) -> xr.DataArray:
        wide = array if rest else array.expand_dims("_one")
        return wide.transpose(..., along)

    return Curves(table(values), [table(end) for end in ends] if len(ends) == 2 else [], along)


def draw_curves(
    ax: Axes, curves: Curves, *, legend: bool, keywords: dict[str, Any]
) -> list[Line2D]:
    """Draw lines and bands, label the axes, and return the lines."""
    x = curves.values[curves.along].values.astype(float)
    lines = []
    for number, row in enumerate(curves.values.values):
        style = {
            "color": _COLORS[number % len(_COLORS)],
            "linestyle": _DASHES[number // len(_COLORS) % len(_DASHES)],
            **({"marker": "o", "markersize": 4} if _has_lone_points(row) else {}),
            **keywords,
        }
        if curves.names[number]:
            style.setdefault("label", curves.names[number])
        lines += ax.plot(x, row, **style)
        if curves.ends:
            low, high = (end.values[number] for end in curves.ends)
            _draw_band(ax, x, low, high, lines[-1])
    _mark_zero(ax, curves.values)
    if not np.isfinite(curves.values.values).any():
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", va="center")
    ax.set_xlabel(labelled(curves.values[curves.along], curves.along, width=label_width(ax, "x")))
    ax.set_ylabel(hinted(curves.values, width=label_width(ax, "y")))
    if ax.get_xscale() == "linear" and np.array_equal(x, np.round(x)):
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if legend:
        _explain(ax, lines, bands=bool(curves.ends))
    return lines


def _has_lone_points(row: Any) -> bool:
    """Whether a line through the values would leave some of them out."""
    known = np.concatenate([[False], np.isfinite(row), [False]])
    return bool((known[1:-1] & ~known[:-2] & ~known[2:]).any())


def _draw_band(ax: Axes, x: Any, low: Any, high: Any, line: Line2D) -> None:
    color = line.get_color()
    if len(x) == 1:
        ax.vlines(x, low, high, color=color, alpha=0.5)
    else:
        ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def _mark_zero(ax: Axes, values: xr.DataArray) -> None:
    """Draw the line that an index whose sign means something is read against."""
    if str(values.attrs.get("range", "")).startswith("[-"):
        ax.axhline(0, color=OTHER, linewidth=0.8, zorder=0)


def _explain(ax: Axes, lines: list[Line2D], *, bands: bool) -> None:
    """Name the lines: several, and bands, in a legend; a single one in the title."""
    named = [line for line in lines if not str(line.get_label()).startswith("_child")]
    handles: list[Any] = list(named)
    labels = [str(line.get_label()) for line in named]
    if bands:
        handles.append(Patch(color=OTHER, alpha=0.3, linewidth=0))
        labels.append(_INTERVAL)
    if len(handles) > 1 or bands:
        add_legend(ax, handles, labels)
    elif labels:
        ax.set_title(folded(labels[0], 40), fontsize="medium")

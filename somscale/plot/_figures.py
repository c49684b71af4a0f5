"""What all pictures share: axes by default, labels from attributes, colours, colour bars."""

from __future__ import annotations

import textwrap
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap
from matplotlib.text import Text
from matplotlib.transforms import Bbox

__all__ = [
    "CATEGORIES",
    "DIVERGING",
    "INK",
    "MISSING",
    "OTHER",
    "SEQUENTIAL",
    "axes_or_current",
    "color_bar",
    "color_map",
    "label_of",
    "ticks_of_one",
    "title_of",
]

SEQUENTIAL: Final = "viridis"
DIVERGING: Final = "RdBu_r"
CATEGORIES: Final = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"),
    *("#882255", "#332288", "#999933"),
)
"""Colours of up to ten classes: those of Okabe and Ito, black aside, and three of Tol."""
OTHER: Final = "#8c8c8c"
"""What all further classes share."""
MISSING: Final = "#e3e3e3"
"""Where there is no value."""
INK: Final = "#262626"
"""Lines and marks over the data."""

_BAR_WIDTH, _BAR_GAP = 0.13, 0.07  # inches
_CHARACTER = 0.52  # mean width of a character, in font sizes
_LABEL_WIDTH = 34  # characters of a line that fits a picture 100 mm wide


def axes_or_current(ax: Axes | None) -> Axes:
    """Return `ax`, or pyplot's current axes."""
    if ax is not None:
        return ax
    from matplotlib import pyplot  # not before it is needed: it chooses a window system

    return pyplot.gca()


def label_of(values: Any, default: str = "", *, width: int = _LABEL_WIDTH) -> str:
    """Return what an axis or a colour bar says: long name and units, in lines of `width`."""
    attributes = values.attrs if isinstance(values, xr.DataArray) else {}
    name = attributes.get("long_name") or default or getattr(values, "name", None) or ""
    units = str(attributes.get("units", "1")).replace(" ", "\u00a0")  # is not broken there
    text = str(name) if units in ("1", "") else f"{name} [{units}]"
    return textwrap.fill(text, width, break_long_words=False)


def title_of(values: Any) -> str:
    """Return what a picture is of among others: coordinates without a dim, as the candidate."""
    if not isinstance(values, xr.DataArray):
        return ""
    single = {name: values[name].values[()] for name in values.coords if not values[name].ndim}
    if "candidate" in single:
        return str(single["candidate"])
    return ", ".join(f"{name} = {value}" for name, value in single.items())


def color_map(cmap: str | Colormap | None, values: Any, *, signed: bool = False) -> Colormap:
    """Return a colour map that shows nan as such; by default one that suits the `values`."""
    if cmap is None:
        finite = np.asarray(values, dtype=float)
        both = signed or bool((finite < 0).any() and (finite > 0).any())
        cmap = DIVERGING if both else SEQUENTIAL
    found = mpl.colormaps[cmap] if isinstance(cmap, str) else cmap
    return found.with_extremes(bad=MISSING)


def color_bar(
    artist: ScalarMappable,
    ax: Axes,
    label: str = "",
    *,
    location: Literal["right", "bottom"] = "right",
    **keywords: Any,
) -> Colorbar:
    """Add a colour bar beside or below `ax`, as long as what is drawn there.

    The room for it is taken as matplotlib does, under any layout; the bar itself keeps to the
    axes' box, which an equal aspect makes smaller than its room.  Its label is broken into
    lines that are not longer than the bar.
    """
    # at least the gap at which the bar is put, so that layouts leave the room it needs
    wide = max(ax.get_window_extent().width / ax.figure.dpi, 0.1)
    pad = max(0.03, 1.2 * _BAR_GAP / wide) if location == "right" else 0.12
    keywords = {"fraction": 0.08, "pad": pad, **keywords}
    bar = ax.figure.colorbar(artist, ax=ax, location=location, **ticks_of_one(artist), **keywords)
    bar.set_label(label)
    bar.ax.set_axes_locator(_Beside(ax, location, bar.ax.get_axes_locator()))
    return bar


def ticks_of_one(artist: ScalarMappable) -> dict[str, Any]:
    """Return the tick of a colour bar whose values are all one; above 0 if that is 0.

    Else matplotlib widens the bar to both sides, and a count would go down to −0.1.
    """
    low, high = artist.norm.vmin, artist.norm.vmax
    if low is None or low != high:
        return {}
    if low == 0:
        artist.set_clim(0.0, 1.0)
    return {"ticks": [low]}


class _Beside:
    """Where a colour bar is: along its axes' box, at the distance of its ticks' labels."""

    def __init__(self, ax: Axes, location: str, inner: Any) -> None:
        self.ax, self.location, self.inner = ax, location, inner

    def __call__(self, bar_axes: Any, renderer: Any) -> Bbox:
        if self.inner is not None:
            self.inner(bar_axes, renderer)
        ax, figure = self.ax, self.ax.figure
        ax.apply_aspect()
        box = ax.get_position()
        extent = figure.get_window_extent()
        wide, high = extent.width / figure.dpi, extent.height / figure.dpi
        if self.location == "right":
            _break_lines(bar_axes.yaxis.label, box.height * high)
            gap, thick = _BAR_GAP / wide, _BAR_WIDTH / wide
            return Bbox.from_bounds(box.x1 + gap, box.y0, thick, box.height)
        _break_lines(bar_axes.xaxis.label, box.width * wide)
        below = ax.xaxis.get_tightbbox(renderer) if ax.axison else None
        gap = 0.0 if below is None else max(0.0, ax.get_window_extent().y0 - below.y0)
        low = box.y0 - gap / extent.height - (_BAR_GAP + _BAR_WIDTH) / high
        return Bbox.from_bounds(box.x0, low, box.width, _BAR_WIDTH / high)

    def get_subplotspec(self) -> Any:
        """Return whose room the bar shares, which tight layouts ask for."""
        return self.ax.get_subplotspec()


def _break_lines(label: Text, length: float) -> None:
    """Break a label into lines that are not longer than `length`, in inches."""
    characters = int(length / (_CHARACTER * float(label.get_fontsize()) / 72))
    joined = label.get_text().replace("\n", " ")
    text = textwrap.fill(joined, max(characters, 12), break_long_words=False)
    if text != label.get_text():
        label.set_text(text)

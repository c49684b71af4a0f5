"""What all pictures share: axes by default, labels from attributes, colours, colour bars."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LogNorm
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
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
    "columns_of",
    "folded",
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
_BAR_SHARE = 0.08  # of the axes' width, for the bar
_PAD_BELOW = 0.12
_TICK_CHARACTERS = 5.0  # of the numbers beside a bar
_LINES_BELOW = 4.5  # font sizes that numbers and label of the axes, and the bar's numbers, take
_CHARACTER = 0.52  # mean width of a character, in font sizes
_TITLE_WIDTH = 40  # columns
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


def folded(text: str, columns: int, most: int = 3) -> str:
    """Return a text in at most so many lines of so many columns, its long words broken as well.

    Characters of Chinese, Japanese and Korean are two columns wide, and their words have no
    spaces between them.
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and columns_of(f"{lines[-1]} {word}") <= columns:
            lines[-1] += f" {word}"
            continue
        lines += [""] if lines[-1] else []
        for character in word:
            lines += [""] if columns_of(lines[-1] + character) > columns else []
            lines[-1] += character
    return "\n".join([*lines[:most], *(["…"] if len(lines) > most else [])])


def columns_of(text: str) -> int:
    """Return how many columns a line takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def title_of(values: Any) -> str:
    """Return what a picture is of among others: coordinates without a dim, as the candidate.

    In lines that a picture 100 mm wide has room for.
    """
    if not isinstance(values, xr.DataArray):
        return ""
    single = {name: values[name].values[()] for name in values.coords if not values[name].ndim}
    if "candidate" in single:
        return folded(str(single["candidate"]), _TITLE_WIDTH)
    return folded(", ".join(f"{name} = {value}" for name, value in single.items()), _TITLE_WIDTH)


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
    pad = max(0.03, 1.2 * _BAR_GAP / wide) if location == "right" else _PAD_BELOW
    keywords = {"fraction": _share_of_bar(ax, label, location) - pad, "pad": pad, **keywords}
    bar = ax.figure.colorbar(artist, ax=ax, location=location, **ticks_of_one(artist), **keywords)
    bar.set_label(label)
    if isinstance(bar.locator, FixedLocator):
        bar.minorticks_off()
    bar.ax.set_axes_locator(_Beside(ax, location, bar.ax.get_axes_locator()))
    return bar


def _share_of_bar(ax: Axes, label: str, location: str) -> float:
    """Return which share of the axes goes to a bar and, without a layout, to its words.

    Layouts measure the words themselves.  Without one they would be cut off at the figure's
    edge where the margin is narrower than they are.
    """
    box, dpi, size = ax.get_window_extent(), ax.figure.dpi, mpl.rcParams["font.size"] / 72
    right = location == "right"
    along, across = (box.height, box.width) if right else (box.width, box.height)
    wide = max(across / dpi, 0.1)
    least = _BAR_SHARE + (max(0.03, 1.2 * _BAR_GAP / wide) if right else _PAD_BELOW)
    spec = ax.get_subplotspec()
    if ax.figure.get_layout_engine() is not None or spec is None:
        return least
    if not (spec.is_last_col() if right else spec.is_last_row()):
        return least
    characters = max(int(along / dpi / (_CHARACTER * size)), 12)
    lines = len(textwrap.wrap(label, characters, break_long_words=False))
    ticks = _TICK_CHARACTERS * _CHARACTER if right else _LINES_BELOW
    needed = _BAR_GAP + _BAR_WIDTH + size * (ticks + 1 + 1.35 * lines)
    margin = ax.figure.get_window_extent().x1 - box.x1 if right else box.y0
    return float(min(max((needed - margin / dpi) / wide, least), 0.5))


def ticks_of_one(artist: ScalarMappable) -> dict[str, Any]:
    """Return the tick of a colour bar whose values are all one; above 0 if that is 0.

    Else matplotlib widens the bar to both sides, and a count would go down to −0.1.
    """
    norm: Any = artist.norm
    low, high = norm.vmin, norm.vmax
    if low is not None and high is not None and isinstance(norm, LogNorm):
        # the ends of a logarithmic scale differ a little where its values are all one
        one = 0 < low <= high < 1.001 * low
        return {"ticks": FixedLocator([low]), "format": f"{low:g}"} if one else {}
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

"""Cells put on axes: one collection of polygons, marked borders, rows and columns named."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import CenteredNorm
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

from somscale._types import Float
from somscale.plot._figures import DIVERGING, INK, MISSING, color_bar, color_map
from somscale.plot._room import keep_room
from somscale.plot.cells import Cells, cells_of, discs_of, is_lattice
from somscale.topology import Grid

__all__ = [
    "bar_side",
    "draw_colored",
    "draw_edges",
    "draw_frame",
    "draw_polygons",
    "name_axes",
    "polygons_of",
]

HATCH: Final = "//////"
_HATCH_COLOR: Final = "#b0b0b0"
_SEAM: Final = 0.3  # points of a cell's own colour round it, so that no white shows between cells
_WIDE: Final = 1.6  # times as wide as high: the colour bar is below


def polygons_of(grid: Grid, sizes: Float | float = 1.0) -> Float:
    """Return the cell of each unit, (K, V, 2), of a share of its width."""
    if is_lattice(grid):
        return cells_of(grid).polygons(sizes)
    discs, places = discs_of(grid), grid.positions[:, None]
    shares = np.broadcast_to(np.asarray(sizes, dtype=float), grid.size)
    return np.asarray(places + (discs - places) * shares[:, None, None])


def draw_polygons(ax: Axes, polygons: Float, **keywords: Any) -> PolyCollection:
    """Add polygons as one collection, at equal scales of x and y."""
    # one array takes matplotlib's quick way, of which its annotations do not know
    artist = PolyCollection(polygons, **keywords)  # type: ignore[arg-type]
    ax.add_collection(artist, autolim=False)
    if polygons.size:  # found here, since matplotlib looks at every polygon by itself
        ax.update_datalim([polygons.min(axis=(0, 1)), polygons.max(axis=(0, 1))])
    ax.set_aspect("equal")
    keep_room(ax)
    ax.margins(0.02)
    ax.autoscale_view()
    return artist


def draw_colored(
    ax: Axes, polygons: Float, values: Float, label: str, *, colorbar: bool, **keywords: Any
) -> PolyCollection:
    """Add polygons coloured by values, hatched where these are nan, and a colour bar."""
    keywords = {"edgecolors": "face", "linewidths": _SEAM, **_plural(keywords)}
    low, high = keywords.pop("vmin", None), keywords.pop("vmax", None)
    cmap = color_map(keywords.pop("cmap", None), values)
    if cmap.name == DIVERGING and "norm" not in keywords and low is None and high is None:
        keywords["norm"] = CenteredNorm()  # 0 is in the middle
    shown = np.ma.masked_invalid(values)
    artist = draw_polygons(ax, polygons, array=shown, cmap=cmap, **keywords)
    if low is not None or high is not None:
        artist.set_clim(low, high)
    artist.autoscale_None()
    _draw_missing(ax, polygons[np.ma.getmaskarray(shown)], artist)
    if colorbar and shown.count():
        color_bar(artist, ax, label, location=bar_side(ax))
    return artist


def _plural(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords under the one name that collections hold them by."""
    names = {"edgecolor": "edgecolors", "linewidth": "linewidths", "lw": "linewidths"}
    names |= {"ec": "edgecolors", "facecolor": "facecolors", "linestyle": "linestyles"}
    return {names.get(name, name): value for name, value in keywords.items()}


def _draw_missing(ax: Axes, polygons: Float, like: PolyCollection) -> None:
    """Hatch cells without a value: their grey alone may be near a colour of the map."""
    if len(polygons):
        draw_polygons(
            ax,
            polygons,
            facecolors=MISSING,
            edgecolors=_HATCH_COLOR,
            linewidths=0.0,
            hatch=HATCH,
            zorder=like.get_zorder(),
        )


def bar_side(ax: Axes) -> Literal["right", "bottom"]:
    """Return where a colour bar has room beside the cells."""
    box = ax.dataLim
    return "bottom" if box.width > _WIDE * box.height else "right"


def draw_frame(ax: Axes, grid: Grid, cells: Cells | None = None) -> None:
    """Mark where the map goes on at the other side, by dashes, and name rows and columns."""
    if not is_lattice(grid):
        draw_edges(ax, grid)
        name_axes(ax, None)
        return
    lines = (cells or cells_of(grid)).glued()
    if lines:
        ax.add_collection(
            LineCollection(lines, colors=INK, linewidths=1.4, linestyles="dashed", zorder=3)
        )
        ax.autoscale_view()
    name_axes(ax, grid)


def draw_edges(ax: Axes, grid: Grid, **keywords: Any) -> LineCollection:
    """Draw the edges of an irregular map below its units."""
    lines = grid.positions[grid.edges()]
    keywords = {"colors": "#9a9a9a", "linewidths": 1.0, "zorder": 0.5, **keywords}
    artist = LineCollection(list(lines), **keywords)
    ax.add_collection(artist)
    return artist


def name_axes(ax: Axes, grid: Grid | None) -> None:
    """Number rows and columns along the axes; those of an irregular map are bare."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    high = 1.0
    if grid is not None and grid.rows > 1:
        high = float(grid.positions[grid.cols, 1] - grid.positions[0, 1])
    counts = (0, 0) if grid is None else (grid.cols, grid.rows if grid.rows > 1 else 0)
    for axis, count, scale in zip((ax.xaxis, ax.yaxis), counts, (1.0, high), strict=True):
        ends = MaxNLocator(nbins=6, integer=True, min_n_ticks=1).tick_values(0, max(count - 1, 0))
        numbers = [int(n) for n in ends if 0 <= n < count and n == int(n)]
        axis.set_major_locator(FixedLocator([scale * n for n in numbers]))
        axis.set_major_formatter(FixedFormatter([str(n) for n in numbers]))
    if grid is not None:
        ax.set_xlabel("unit" if grid.topology == "chain" else "column")
        ax.set_ylabel("row" if grid.rows > 1 else "")

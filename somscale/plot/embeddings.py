"""Embeddings, coloured by an index of each sample, by classes, or by how many points there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.lines import Line2D

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._cells import Cells, cells_of
from somscale.plot._coloring import Coloring, coloring_of
from somscale.plot._figures import (
    CATEGORIES,
    MISSING,
    OTHER,
    axes_or_current,
    color_bar,
    color_map,
)
from somscale.plot._heat import scale_of
from somscale.plot._panels import Panels, panels, refuse_axes
from somscale.plot._placing import legend_beside
from somscale.plot._reading import finite_range, wrapped

__all__ = ["embedding"]

_LIMIT: Final = 20_000
_RASTER: Final = 2_000  # points; more of them are stored as pixels, also in PDF and SVG


def embedding(
    points: Any,
    values: Any = None,
    *,
    ax: Axes | None = None,
    limit: int = _LIMIT,
    components: tuple[int, int] = (0, 1),
    categorical: bool | None = None,
    cmap: str | Colormap | None = None,
    colorbar: bool = True,
    **keywords: Any,
) -> PathCollection | QuadMesh | Panels:
    """Draw an embedding in two of its components.

    Parameters
    ----------
    points : array_like or DataArray, (sample, component), or a dict of them
        The embedding; several ones are drawn in a panel each, on one scale of colours.
    values : array_like or DataArray, (sample,), or Dataset, optional
        What colours the points: an index of each sample, as ``pointwise_rank_quality`` (which
        a result of :func:`somscale.evaluate` stands for), or classes.  On the dim
        ``candidate``, too, for several embeddings.
    ax : Axes, optional
        By default the current ones.
    limit : int
        Of more points than these, cells are drawn: the mean of the values in each, the class
        of most of its points, or their number.  The colour bar, or legend, says so.
    components : (int, int)
        Which components are drawn.
    categorical : bool, optional
        Whether values are classes.  By default text, truth values and whole numbers of no
        more than 20 different values are.
    cmap : str or Colormap, optional
        Of numbers.  By default viridis, or a diverging one about 0 for values of both signs.
    colorbar : bool
        Whether there is a colour bar, or a legend of classes.
    **keywords
        For :meth:`matplotlib.axes.Axes.scatter`, or, beyond the limit,
        :meth:`matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    PathCollection, QuadMesh, or array of Axes
        Points; cells; the panels of several embeddings.

    Raises
    ------
    InputError
        Fewer than two components, or not a value for each point.

    Notes
    -----
    Points whose place is not finite are left out; those without a value are grey.
    """
    several = isinstance(points, Mapping)
    each: dict[Any, Any] = dict(points) if several else {"": points}
    if several:
        refuse_axes(ax, len(each))
    planes = [_plane(one, components) for one in each.values()]
    counts = [len(plane.places) for plane in planes]
    coloring = coloring_of(values, each, counts, categorical)
    layers = [_layer(plane, coloring, number, limit) for number, plane in enumerate(planes)]
    scale = _scale(layers, coloring, cmap, keywords)

    def draw(number: int, axes: Axes) -> PathCollection | QuadMesh:
        axes.set(xlabel=planes[number].across, ylabel=planes[number].up)
        axes.set_aspect("equal", adjustable="datalim")
        return _draw(axes, layers[number], {**scale, **keywords})

    return _with_key(draw, each, layers, coloring, axes=ax, several=several, colorbar=colorbar)


@dataclass(frozen=True)
class _Plane:
    """Points (sample, 2), and what their components are called."""

    places: Float
    across: str
    up: str


@dataclass(frozen=True)
class _Layer:
    """What is drawn of an embedding: points (2, sample), or cells; and the values of them."""

    points: Float
    cells: Cells | None
    values: Float | None


def _plane(points: Any, components: tuple[int, int]) -> _Plane:
    table = np.asarray(points, dtype=float)
    if table.ndim < 2 or table.shape[-1] <= max(components):
        raise InputError(
            f"points are (sample, component), with the components {components} counted from 0, "
            f"and not of the shape {table.shape}"
        )
    names = [f"component {number + 1}" for number in components]
    if isinstance(points, xr.DataArray) and points.dims[-1] in points.coords:
        held = points[points.dims[-1]].values
        if held.dtype.kind in "OUT":
            names = [str(held[number]) for number in components]
    return _Plane(table.reshape(-1, table.shape[-1])[:, list(components)], *names)


def _layer(plane: _Plane, coloring: Coloring, number: int, limit: int) -> _Layer:
    """Points with a place; cells of them, if they are too many."""
    placed = np.isfinite(plane.places).all(axis=1)
    points = plane.places[placed].T
    values = None if coloring.values is None else coloring.values[number][placed]
    if points.shape[1] <= limit:
        shown = coloring.shown(values) if coloring.classes and values is not None else values
        return _Layer(points, None, shown)
    cells = cells_of(*points)
    if values is None:
        return _Layer(points, cells, cells.counts())
    if coloring.classes:
        most = cells.majorities(values, len(coloring.colors))
        return _Layer(points, cells, coloring.shown(most))
    return _Layer(points, cells, cells.means(values))


def _scale(
    layers: list[_Layer], coloring: Coloring, cmap: str | Colormap | None, keywords: dict[str, Any]
) -> dict[str, Any]:
    """The colours of all layers; takes what the keywords say of them."""
    drawn = [layer.values for layer in layers if layer.values is not None]
    if not drawn:
        return {}
    values = np.concatenate([one.ravel() for one in drawn])
    if coloring.classes:
        colors = ListedColormap([*_colors(coloring)]).with_extremes(bad=MISSING)
        return {"cmap": colors, "norm": Normalize(-0.5, len(coloring.classes) - 0.5)}
    found = color_map(cmap, values)
    if coloring.values is None:
        found = found.with_extremes(bad=(0, 0, 0, 0))
        return {"cmap": found, "norm": scale_of(values, keywords, log=True)}
    low, high = finite_range(values)
    if cmap is None and low < 0 < high:  # a diverging map, about 0
        keywords.setdefault("vmin", -max(-low, high))
        keywords.setdefault("vmax", max(-low, high))
    return {"cmap": found, "norm": scale_of(values, keywords)}


def _draw(ax: Axes, layer: _Layer, keywords: dict[str, Any]) -> PathCollection | QuadMesh:
    if layer.cells is not None:
        return _draw_cells(ax, layer, layer.cells, keywords)
    x, y = layer.points
    size = float(np.clip(4000 / max(len(x), 1), 1.5, 20))
    style = {"s": size, "linewidths": 0, "rasterized": len(x) > _RASTER, **keywords}
    if layer.values is None:
        return ax.scatter(x, y, **{"color": CATEGORIES[0], **style})
    order = np.argsort(np.isfinite(layer.values), kind="stable")  # those without one beneath
    return ax.scatter(x[order], y[order], c=layer.values[order], plotnonfinite=True, **style)


def _draw_cells(ax: Axes, layer: _Layer, cells: Cells, keywords: dict[str, Any]) -> QuadMesh:
    """Draw cells with a value; those of points without one are grey, all others bare."""
    style = {"rasterized": True, **keywords}
    held, values = np.isfinite(cells.counts()), np.asarray(layer.values)
    grey = np.where(held & ~np.isfinite(values), 0.0, np.nan)
    if np.isfinite(grey).any():
        plain = ListedColormap([MISSING])
        ax.pcolormesh(cells.across, cells.up, grey, cmap=plain, rasterized=True)
    style["cmap"] = style["cmap"].with_extremes(bad=(0, 0, 0, 0))
    return ax.pcolormesh(cells.across, cells.up, values, **style)


def _with_key(
    draw: Callable[[int, Axes], PathCollection | QuadMesh],
    each: dict[Any, Any],
    layers: list[_Layer],
    coloring: Coloring,
    *,
    axes: Axes | None,
    several: bool,
    colorbar: bool,
) -> PathCollection | QuadMesh | Panels:
    """Draw one embedding, or all in panels, and say what the colours mean."""
    label, scaled = _label(layers, coloring), layers[0].values is not None
    bar = colorbar and scaled and not coloring.classes
    if several:
        drawn: Any = panels(list(map(str, each)), draw, label=label, colorbar=bar)
        last = drawn[min(len(drawn), 3) - 1]
    else:
        last = axes_or_current(axes)
        drawn = draw(0, last)
        if bar:
            color_bar(drawn, last, label)
    if colorbar and coloring.classes:
        handles = [
            Line2D([], [], marker="o", linestyle="none", markersize=5, color=color)
            for color in _colors(coloring)
        ]
        legend_beside(last, handles, coloring.classes, wrapped(label, 18))
    result: PathCollection | QuadMesh | Panels = drawn
    return result


def _label(layers: list[_Layer], coloring: Coloring) -> str:
    """What the colours are, and of how many points, where not each is drawn."""
    if layers[0].cells is None:
        return coloring.label
    counts = [layer.points.shape[1] for layer in layers]
    points = f"{max(counts):,} points" if len(set(counts)) == 1 else "all points"
    if coloring.values is None:
        return wrapped(f"points per cell ({points})", 1000)
    what = "most of each cell" if coloring.classes else "mean of each cell"
    return wrapped(f"{coloring.label}, {what} ({points})".removeprefix(", "), 1000)


def _colors(coloring: Coloring) -> list[str]:
    """Colours of the classes; all beyond the palette share one."""
    return [*CATEGORIES, OTHER][: len(coloring.classes)]

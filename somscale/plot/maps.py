"""Any value of a map's units, drawn on the map, and how many samples each of them has."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap
from numpy.typing import ArrayLike

from somscale.errors import InputError
from somscale.plot._canvas import draw_colored, draw_frame, draw_polygons, polygons_of
from somscale.plot._figures import INK, axes_or_current, label_of, title_of
from somscale.plot._texts import annotate_cells
from somscale.plot._units import grid_for, numbers_by_unit, variable_by_unit

__all__ = ["hits", "units"]

_FULL: Final = 0.92  # width of the largest mark, in widths of a cell
_BACKGROUND: Final = "#f4f4f4"


def units(
    values: xr.DataArray | ArrayLike,
    grid: Any = None,
    *,
    ax: Axes | None = None,
    cmap: str | Colormap | None = None,
    annotate: bool = False,
    colorbar: bool = True,
    **keywords: Any,
) -> PolyCollection:
    """Draw one value of each unit on the map.

    Cells are true hexagons or squares; row 0 is at the bottom, as y grows with the row.
    Units without a value are hatched in grey.  Where the map goes on at the other side, its
    border is dashed.  Units of an irregular map are discs, joined by its edges.

    Parameters
    ----------
    values : DataArray (unit,), or array_like (K,) or (rows, cols)
        Real numbers, such as ``q["unit_quantization_error"]``.  A DataArray's units are found by
        its coordinate ``unit``; those it does not have are without a value.
    grid : Grid, Dataset, path, MiniSom or Somoclu, optional
        The grid, or a map or a result that knows it; variables of results of one map, or of maps
        of one grid, know it themselves.
    ax : Axes, optional
        By default the current axes.
    cmap : str or Colormap, optional
        By default viridis, and a diverging one with 0 in its middle where the values have
        both signs.
    annotate : bool
        Write the value into each cell.
    colorbar : bool
        Add a colour bar, with the values' long name and units.
    **keywords
        Of the PolyCollection; `vmin` and `vmax` are the ends of the colours.

    Returns
    -------
    PolyCollection
        One polygon a unit, in the order of the units; ``get_array()`` holds the values.

    Raises
    ------
    InputError
        No grid is known, or values are not one number a unit.

    Examples
    --------
    >>> import numpy as np, somscale as ss, somscale.plot
    >>> grid = ss.Grid(3, 4, topology="hexagonal")
    >>> cells = ss.plot.units(np.arange(12.0), grid, colorbar=False)
    >>> len(cells.get_paths())
    12
    """
    lattice = grid_for(values, grid)
    numbers = numbers_by_unit(values, lattice)
    ax = axes_or_current(ax)
    polygons = polygons_of(lattice)
    artist = draw_colored(
        ax, polygons, numbers, label_of(values), colorbar=colorbar, cmap=cmap, **keywords
    )
    draw_frame(ax, lattice)
    ax.set_title(title_of(values))
    if annotate:
        annotate_cells(ax, artist, polygons, numbers)
    return artist


def hits(
    q: xr.Dataset | xr.DataArray | ArrayLike,
    grid: Any = None,
    *,
    ax: Axes | None = None,
    style: Literal["size", "color"] = "size",
    cmap: str | Colormap | None = None,
    annotate: bool = False,
    colorbar: bool = True,
    **keywords: Any,
) -> PolyCollection:
    """Draw how many samples have each unit as their best-matching one.

    Parameters
    ----------
    q : Dataset, DataArray (unit,) or array_like (K,)
        A result with ``hits``, or the hits themselves.
    grid : Grid, Dataset, path, MiniSom or Somoclu, optional
        As in :func:`units`.
    ax : Axes, optional
        By default the current axes.
    style : {"size", "color"}
        "size": a mark in each cell whose area grows with the hits (and its colour too, unless
        `color` is given); the largest fills its cell.  "color": the whole cell is coloured.
    cmap, annotate, colorbar, **keywords
        As in :func:`units`.  With ``color="white"`` marks can lie on another picture, such as
        the U-matrix, which they leave as it is.

    Returns
    -------
    PolyCollection
        One polygon a unit, of no size where there are no hits.

    Raises
    ------
    InputError
        As in :func:`units`; or the result has no ``hits``, or some are negative.
    """
    if style not in ("size", "color"):
        raise InputError(f"style is 'size' or 'color', not {style!r}")
    values = variable_by_unit(q, "hits")
    lattice = grid_for(values if grid is None and "grid" in values.attrs else q, grid)
    numbers = numbers_by_unit(values, lattice)
    if (numbers < 0).any():
        unit = int(np.flatnonzero(numbers < 0)[0])
        raise InputError(f"unit {unit} has {numbers[unit]:g} hits; they are counts, at least 0")
    if style == "color":
        keywords |= {"ax": ax, "cmap": cmap, "annotate": annotate, "colorbar": colorbar}
        return units(values, lattice, **keywords)
    ax = axes_or_current(ax)
    largest = np.nanmax(numbers, initial=0) or 1.0
    marks = polygons_of(lattice, _FULL * np.sqrt(np.nan_to_num(numbers) / largest))
    if "color" in keywords:
        facts = {"facecolors": keywords.pop("color"), "edgecolors": INK, "zorder": 2.5}
        return draw_polygons(ax, marks, **{**facts, "linewidths": 0.4 * (numbers > 0), **keywords})
    draw_polygons(
        ax, polygons_of(lattice), facecolors=_BACKGROUND, edgecolors="white", linewidths=0.5
    )
    keywords = {"vmin": 0.0, "cmap": cmap, **keywords}
    artist = draw_colored(ax, marks, numbers, label_of(values), colorbar=colorbar, **keywords)
    draw_frame(ax, lattice)
    ax.set_title(title_of(values))
    if annotate:
        annotate_cells(ax, artist, polygons_of(lattice), numbers)
    return artist

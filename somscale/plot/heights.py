"""The U-matrix, with cells between the units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap

from somscale._types import Float, Int
from somscale.codebook import as_map
from somscale.codebook.opening import as_codebook
from somscale.metrics.code_distances import code_distances
from somscale.plot._canvas import draw_colored, draw_edges, draw_frame
from somscale.plot._figures import axes_or_current, label_of, title_of
from somscale.plot._units import grid_for, variable_by_unit
from somscale.plot.cells import cells_between, is_lattice
from somscale.plot.maps import units
from somscale.topology import Grid

__all__ = ["u_matrix"]


def u_matrix(
    som: Any,
    *,
    ax: Axes | None = None,
    between: bool = True,
    cmap: str | Colormap | None = None,
    colorbar: bool = True,
    **keywords: Any,
) -> PolyCollection:
    """Draw the U-matrix: how far the code vectors of neighbours are apart.

    Ridges of it part the map into clusters.

    Parameters
    ----------
    som : Dataset, path, MiniSom, Somoclu or DataArray (unit,)
        A map; or the result of :func:`somscale.evaluate`, or its ``u_matrix``.
    ax : Axes, optional
        By default the current axes.
    between : bool
        Of a map, draw a cell between each two neighbours too, of the distance of the two (or,
        on an irregular map, colour the line that joins them).  The cell amid four
        units of a rectangular grid has the mean distance along its two diagonals, over √2.
        Results hold no code vectors: of them only the units are drawn.
    cmap, colorbar, **keywords
        As in :func:`units`.

    Returns
    -------
    PolyCollection
        The cells of the units first, each of the mean distance to the unit's neighbours, then
        those between them.

    Raises
    ------
    InputError
        It is no map, and no result of one map with ``u_matrix``.

    References
    ----------
    Ultsch & Siemon 1990, Kohonen's self organizing feature maps for exploratory data analysis,
    INNC'90.
    """
    som = som if isinstance(som, xr.DataArray) else as_codebook(som)
    if isinstance(som, xr.DataArray) or (isinstance(som, xr.Dataset) and "grid" not in som.attrs):
        heights = variable_by_unit(som, "u_matrix")
        grid = grid_for(heights, None if "grid" in heights.attrs else som)
        return units(heights, grid, ax=ax, cmap=cmap, colorbar=colorbar, **keywords)
    trained = as_map(som)
    grid, codes = trained.grid, trained.codes[:, np.isfinite(trained.codes).all(axis=0)]
    pairs = grid.edges()
    lengths = code_distances(codes, *pairs.T)
    label = {
        "long_name": "distance between code vectors",
        "units": som["codes"].attrs.get("units", "1"),
    }
    heights = xr.DataArray(_means(pairs, lengths, grid.size), dims="unit", attrs=label)
    keywords |= {"cmap": cmap, "colorbar": colorbar}
    if not between or not len(pairs):
        return units(heights, grid, ax=ax, **keywords)
    ax = axes_or_current(ax)
    ax.set_title(title_of(som["codes"]))
    if is_lattice(grid):
        return _draw_cells_between(ax, codes, grid, heights, **keywords)
    return _draw_lines_between(ax, grid, heights, lengths, **keywords)


def _means(pairs: Int, lengths: Float, size: int) -> Float:
    """Mean length of each unit's edges, (K,); nan without any."""
    ends, twice = pairs.T.reshape(-1), np.tile(lengths, 2)
    counts = np.bincount(ends, minlength=size)
    sums = np.bincount(ends, twice, minlength=size)
    return np.asarray(np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0))


def _draw_cells_between(
    ax: Axes, codes: Float, grid: Grid, heights: xr.DataArray, *, colorbar: bool, **keywords: Any
) -> PolyCollection:
    pairs = grid.edges("edge")
    lengths = code_distances(codes, *pairs.T)
    if grid.topology == "rectangular" and grid.dimension == 2:
        all_pairs = grid.edges("vertex")
        crossing = all_pairs[~np.isin(all_pairs @ [grid.size, 1], pairs @ [grid.size, 1])]
        diagonals = code_distances(codes, *crossing.T) / math.sqrt(2)
        pairs, lengths = np.concatenate([pairs, crossing]), np.append(lengths, diagonals)
    cells, middles = cells_between(grid, pairs, lengths)
    values = np.append(heights.values, middles)
    artist = draw_colored(
        ax, cells.polygons(), values, label_of(heights), colorbar=colorbar, **keywords
    )
    draw_frame(ax, grid, cells)
    return artist


def _draw_lines_between(
    ax: Axes, grid: Grid, heights: xr.DataArray, lengths: Float, **keywords: Any
) -> PolyCollection:
    """Units of an irregular map, and their edges in the same colours."""
    ends = {"vmin": min(lengths.min(), heights.min()), "vmax": max(lengths.max(), heights.max())}
    artist = units(heights, grid, ax=ax, **{**ends, **keywords})
    lines: LineCollection = draw_edges(
        ax, grid, colors=None, array=lengths, cmap=artist.cmap, norm=artist.norm, linewidths=3.5,
        zorder=0.8,
    )  # fmt: skip
    lines.set_capstyle("butt")
    return artist

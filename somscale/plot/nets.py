"""Lines between a map's units: which share samples, and how the map lies in the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from scipy.sparse import coo_array, issparse

from somscale._types import Float, Int
from somscale.codebook import as_map
from somscale.codebook.opening import as_codebook
from somscale.errors import InputError
from somscale.plot._canvas import draw_frame, draw_polygons, polygons_of
from somscale.plot._figures import CATEGORIES, INK, axes_or_current, color_bar, title_of
from somscale.plot._placing import legend_beside
from somscale.plot._units import grid_for, variable_by_unit
from somscale.plot.cells import cells_of, is_lattice, steps_along
from somscale.plot.features import column_of, feature_label, places_of
from somscale.topology import Grid

__all__ = ["connectivity", "map_in_data"]

_NEIGHBOURS, _OTHERS = CATEGORIES[0], CATEGORIES[5]
_WIDEST, _THINNEST = 5.0, 0.4  # points
_CELL: Final = "#f1f1f1"
_SAMPLE: Final = "#a8a8a8"


def connectivity(
    conn: Any,
    grid: Any = None,
    *,
    ax: Axes | None = None,
    legend: bool = True,
    **keywords: Any,
) -> LineCollection:
    """Draw which units share samples, as lines over the map whose width is how many.

    Two units share the samples whose two best-matching units they are (the matrix CONN).  Lines
    between units that do not adjoin on the grid show where the map is folded or torn.

    Parameters
    ----------
    conn : Dataset, array_like (K, K) or sparse array (K, K)
        A result or projection with ``bmu`` and ``second_bmu``, or CONN itself, symmetric.
    grid : Grid, Dataset, path, MiniSom or Somoclu, optional
        As in :func:`units`.
    ax : Axes, optional
        By default the current axes.
    legend : bool
        Say beside the map what colours and widths mean.
    **keywords
        Of the LineCollection.

    Returns
    -------
    LineCollection
        By ascending strength; a line that leaves a map that wraps is in two parts.

    Raises
    ------
    InputError
        A matrix of another shape, negative or not symmetric; no grid is known.

    References
    ----------
    Taşdemir & Merényi 2009, Exploiting data topology in visualization and clustering of
    self-organizing maps, IEEE Transactions on Neural Networks 20.
    """
    lattice = grid_for(conn, grid)
    pairs, strengths = _pairs(conn, lattice)
    order = np.argsort(strengths, kind="stable")
    pairs, strengths = pairs[order], strengths[order]
    ax = axes_or_current(ax)
    polygons = polygons_of(lattice)
    draw_polygons(ax, polygons, facecolors=_CELL, edgecolors="white", linewidths=0.6)
    draw_frame(ax, lattice)
    ax.set_title(title_of(conn["bmu"]) if isinstance(conn, xr.Dataset) else title_of(conn))
    adjoin = lattice.adjacent(*pairs.T) if len(pairs) else np.zeros(0, dtype=bool)
    widths = _widths(strengths, strengths)
    lines, whose = _segments(lattice, pairs)
    colors = np.where(adjoin, _NEIGHBOURS, _OTHERS)
    facts = {"colors": list(colors[whose]), "linewidths": widths[whose], "zorder": 2.0}
    artist = LineCollection(list(lines), **{**facts, **keywords})
    artist.set_capstyle("round")
    ax.add_collection(artist, autolim=False)
    low, high = polygons.min(axis=(0, 1)), polygons.max(axis=(0, 1))
    artist.set_clip_path(Rectangle((low[0], low[1]), *(high - low), transform=ax.transData))
    if legend and len(pairs):
        _explain(ax, adjoin, strengths)
    return artist


def _pairs(conn: Any, grid: Grid) -> tuple[Int, Float]:
    """Units that share samples, (P, 2), and how many, (P,)."""
    if isinstance(conn, xr.Dataset):
        best = variable_by_unit(conn, "bmu").values.reshape(-1)
        second = variable_by_unit(conn, "second_bmu").values.reshape(-1)
        known = (best >= 0) & (second >= 0)
        low, high = np.minimum(best, second)[known], np.maximum(best, second)[known]
        keys, counts = np.unique(low.astype(np.int64) * grid.size + high, return_counts=True)
        return np.column_stack(np.divmod(keys, grid.size)), counts.astype(float)
    given: Any = conn if issparse(conn) else np.asarray(conn, dtype=float)
    if given.shape != (grid.size, grid.size):
        raise InputError(f"conn has shape {given.shape}; the grid has {grid.size} units")
    matrix = coo_array(given)
    if abs(matrix - matrix.T).max() > 0 or matrix.data.min(initial=0) < 0:
        raise InputError(
            "conn is not symmetric and at least 0, as CONN is; CADJ becomes so as conn + conn.T"
        )
    rows, columns = matrix.coords
    upper = (rows < columns) & (matrix.data > 0)
    return np.column_stack([rows[upper], columns[upper]]).astype(np.int64), matrix.data[upper]


def _segments(grid: Grid, pairs: Int) -> tuple[Float, Int]:
    """Lines (S, 2, 2) and which pair each is of: two where it leaves the map."""
    places = grid.positions
    start, end = places[pairs[:, 0]], places[pairs[:, 1]]
    each = np.arange(len(pairs))
    if not is_lattice(grid):
        return np.stack([start, end], axis=1), each
    apart = steps_along(grid, pairs) * cells_of(grid).step
    leaves = np.abs(end - start - apart).max(axis=1, initial=0) > 1e-9
    there = np.stack([start, start + apart], axis=1)
    back = np.stack([end, end - apart], axis=1)[leaves]
    whose = np.concatenate([each, each[leaves]])
    order = np.argsort(whose, kind="stable")
    return np.concatenate([there, back])[order], whose[order]


def _widths(values: Float, strengths: Float) -> Float:
    """Width of a line in points, in proportion to its strength."""
    return np.asarray(_WIDEST * values / max(strengths.max(initial=0), 1e-300)).clip(_THINNEST)


def _explain(ax: Axes, adjoin: Any, strengths: Float) -> None:
    """Say what colours and widths mean."""
    kinds = (adjoin, _NEIGHBOURS, "neighbours"), (~adjoin, _OTHERS, "not neighbours")
    seen = [(color, name) for held, color, name in kinds if held.any()]
    marks = [Line2D([], [], color=color, linewidth=2.5) for color, _ in seen]
    names = [name for _, name in seen]
    largest = strengths.max()
    shares = np.array([0.1, 0.4, 1.0]) * largest
    levels = np.unique(np.round(shares) if largest >= 10 else [largest])
    for level, width in zip(levels, _widths(levels, strengths), strict=True):
        marks.append(Line2D([], [], color=INK, linewidth=float(width)))
        names.append(f"{level:g} {'sample' if level == 1 else 'samples'}")
    legend_beside(ax, marks, names)


def map_in_data(
    samples: Any,
    som: Any,
    *,
    features: Sequence[Any] = (0, 1),
    ax: Axes | None = None,
    limit: int = 20_000,
    **keywords: Any,
) -> LineCollection:
    """Draw the map as a net in the plane of two features, over the samples.

    Parameters
    ----------
    samples : DataArray, array_like or Dask array, (sample, feature), or None
        The samples, of which two features are read; None: the net alone.
    som : Dataset, path, MiniSom or Somoclu
        A map.
    features : two of them
        Labels of the feature's coordinate, or positions.
    ax : Axes, optional
        By default the current axes.
    limit : int
        Samples that are drawn one by one; more of them are counted in hexagonal bins.
    **keywords
        Of the LineCollection.

    Returns
    -------
    LineCollection
        One line for each edge of the grid, in the order of ``Grid.edges()``; those that wrap
        round the map are dashed.

    Raises
    ------
    InputError
        It is no map, or a feature that it lacks, or samples of other features.
    """
    som = as_codebook(som)
    trained = as_map(som)
    if len(features) != 2:
        raise InputError(f"features names {len(features)} features; a plane has two")
    which = places_of(trained.features, features)
    ax = axes_or_current(ax)
    if samples is not None:
        x, y = (column_of(samples, trained.features, feature) for feature in which)
        _draw_samples(ax, x, y, limit)
    places = trained.codes[:, which]
    pairs = trained.grid.edges()
    styles = np.full(len(pairs), "solid", dtype=object)
    if is_lattice(trained.grid):
        moves = cells_of(trained.grid).centers[pairs]
        wraps = (steps_along(trained.grid, pairs) != moves[:, 1] - moves[:, 0]).any(axis=1)
        styles[wraps] = "dashed"
    facts = {"colors": CATEGORIES[0], "linewidths": 0.9, "linestyles": list(styles), "zorder": 2.2}
    net = LineCollection(list(places[pairs]), **{**facts, **keywords})
    ax.add_collection(net)
    ax.scatter(places[:, 0], places[:, 1], s=9, color=CATEGORIES[5], linewidths=0, zorder=2.4)
    units = som["codes"].attrs.get("units", "1")
    ax.set_xlabel(feature_label(trained.features, which[0], units))
    ax.set_ylabel(feature_label(trained.features, which[1], units))
    ax.autoscale_view()
    return net


def _draw_samples(ax: Axes, x: Float, y: Float, limit: int) -> None:
    if len(x) <= limit:
        ax.scatter(x, y, s=4, color=_SAMPLE, linewidths=0, alpha=0.7, zorder=1)
        return
    known = np.isfinite(x) & np.isfinite(y)
    bins = ax.hexbin(
        x[known], y[known], gridsize=60, bins="log", cmap="Greys", mincnt=1, linewidths=0.1
    )
    color_bar(bins, ax, "samples")

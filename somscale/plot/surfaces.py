"""The quality of ranks over both of its parameters."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from somscale.errors import InputError
from somscale.plot._figures import title_of
from somscale.plot._heat import cell_edges, draw_mesh, each_candidate, scale_of
from somscale.plot._panels import Panels, axes_of
from somscale.plot._placing import (
    center_of,
    figure_of,
    free_place,
    offsets,
    size_of,
    slanted,
    to_pixels,
)
from somscale.plot._reading import labelled, of_candidate, only_dims, variable_of

__all__ = ["rank_quality"]

_DIMS: Final = ("kappa_s", "kappa_t")
_BACKGROUND: Final = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}


def rank_quality(
    q: xr.Dataset | xr.DataArray,
    *,
    ax: Axes | None = None,
    at: tuple[int, int] | None = None,
    candidate: Any = None,
    cmap: str | Colormap | None = None,
    colorbar: bool = True,
    **keywords: Any,
) -> QuadMesh | Panels:
    """Draw the quality Q′(κs, κt) of ranks as a heat map.

    A dashed line parts the tolerances κt above κs from those below.

    Parameters
    ----------
    q : Dataset or DataArray
        A result of :func:`somscale.evaluate` with ``rank_quality``, or this itself, on the
        dims ``kappa_s`` and ``kappa_t``.
    ax : Axes, optional
        By default the current ones.
    at : (int, int), optional
        κs and κt to mark with cursor lines; the value there is told in the title.
    candidate : optional
        Which candidate is drawn.  By default all, in a panel each of a new figure.
    cmap : str or Colormap, optional
        By default viridis.
    colorbar : bool
        Whether there is a colour bar.
    **keywords
        For :meth:`matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    QuadMesh, or array of Axes
        The latter for several candidates.

    Raises
    ------
    InputError
        No such index, or for one pair (κs, κt) alone; `at` is no pair that was evaluated.
    """
    values = of_candidate(variable_of(q, "rank_quality")[0], candidate)
    only_dims(values, _DIMS, also=1)
    if at is not None:
        _check_pair(values, at)
    keywords["norm"] = scale_of(values, keywords)

    def draw(single: xr.DataArray, axes: Axes) -> QuadMesh:
        table = single.transpose("kappa_t", "kappa_s")
        across, up = (cell_edges(table[dim].values.astype(float)) for dim in _DIMS)
        mesh = draw_mesh(axes, (across, up), table.values, cmap, keywords)
        axes.set(xlim=across[[0, -1]], ylim=up[[0, -1]])
        axes.set(xlabel="κs, rank that counts as near", ylabel="κt, tolerated change of rank")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator("auto", integer=True))
        _draw_diagonal(axes)
        title = [title_of(single)]
        if at is not None:
            title.append(_draw_cursor(axes, table, at))
        axes.set_title("\n".join(filter(None, title)), fontsize="medium")
        return mesh

    label = labelled(values)  # no hint: higher is worse where κt is large
    drawn = each_candidate(values, _DIMS, draw, ax=ax, label=label, colorbar=colorbar)
    for axes in axes_of(drawn):
        _name_sides(axes, at)
    return drawn


def _check_pair(values: xr.DataArray, at: tuple[int, int]) -> None:
    for dim, wanted in zip(_DIMS, at, strict=True):
        held = values[dim].values
        if wanted not in held:
            nearest = held[np.argmin(abs(held - wanted))]
            raise InputError(
                f"at={at} has {dim}={wanted}, which was not evaluated: the nearest is {nearest}"
            )


def _draw_diagonal(ax: Axes) -> None:
    """Draw κt = κs as far as the axes reach."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    start, end = max(left, low), min(right, high)
    if start < end:
        ax.plot([start, end], [start, end], "--", color="white", linewidth=1.2, zorder=2)


def _name_sides(ax: Axes, at: tuple[int, int] | None) -> None:
    """Name both sides of κt = κs, where they have room beside that line and the cursor."""
    figure_of(ax).draw_without_rendering()  # where the axes will be, and how large
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    whole = ax.get_window_extent()
    start, end = max(left, low), min(right, high)
    taken = slanted(to_pixels(ax, (start, start)), to_pixels(ax, (end, end))) if start < end else []
    if at is not None:
        (x, y), wide = to_pixels(ax, at), 5
        taken.append(Bbox.from_extents(x - wide, whole.y0, x + wide, whole.y1))
        taken.append(Bbox.from_extents(whole.x0, y - wide, whole.x1, y + wide))
    style: dict[str, Any] = {
        "fontsize": "small",
        "bbox": _BACKGROUND,
        "ha": "center",
        "va": "center",
    }
    for name, corner in (("κt > κs", (0, 1)), ("κt < κs", (1, 0))):
        size = size_of(ax, name, **style)
        nearest = offsets(size[1] / 4, whole.height / 2 + size[0])
        found = free_place(size, tuple(ax.transAxes.transform(corner)), nearest, taken, whole)
        if found is None:
            continue
        near, tolerated = ax.transData.inverted().transform(center_of(found))
        if (tolerated > near) == (corner == (0, 1)):
            ax.text(near, tolerated, name, zorder=2, **style)


def _draw_cursor(ax: Axes, table: xr.DataArray, at: tuple[int, int]) -> str:
    """Mark the pair, and say what the quality is there."""
    near, tolerated = at
    for line, place in ((ax.axvline, near), (ax.axhline, tolerated)):
        line(place, color="white", linewidth=2.2, zorder=3)
        line(place, color="black", linewidth=1, zorder=3)
    style: dict[str, Any] = {
        "markeredgecolor": "black",
        "markerfacecolor": "white",
        "linestyle": "none",
    }
    ax.plot([near], [tolerated], marker="o", markersize=6, zorder=4, clip_on=False, **style)
    value = float(table.sel(kappa_s=near, kappa_t=tolerated))
    return f"Q′({near}, {tolerated}) = {value:.3g}"

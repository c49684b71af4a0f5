"""What heat maps share: cells, scales of colours, and a panel for each candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, LogNorm, Normalize

from somscale._types import Float
from somscale.plot._figures import axes_or_current, color_bar, color_map, title_of
from somscale.plot._panels import Panels, panels, refuse_axes
from somscale.plot._reading import finite_range, only_dims

__all__ = ["block_means", "cell_edges", "draw_mesh", "each_candidate", "scale_of"]

_DECADES: Final = 1e6  # what a logarithmic scale spans at most
_RASTER: Final = 10_000  # cells; more of them are stored as pixels, also in PDF and SVG


def cell_edges(centers: Float) -> Float:
    """Return edges of cells about increasing centres; half a unit about a single one."""
    if len(centers) == 1:
        return np.array([centers[0] - 0.5, centers[0] + 0.5])
    middle = (centers[1:] + centers[:-1]) / 2
    return np.array([2 * centers[0] - middle[0], *middle, 2 * centers[-1] - middle[-1]])


def block_means(table: Any, size: int) -> Float:
    """Return means of the last two dims over blocks of `size` × `size`, smaller at the ends."""
    means: Float = np.asarray(table, dtype=float)
    for axis in (-2, -1):
        starts = np.arange(0, means.shape[axis], size)
        lengths = np.diff(np.append(starts, means.shape[axis]))
        shape = (-1, 1) if axis == -2 else (-1,)
        means = np.add.reduceat(means, starts, axis=axis) / lengths.reshape(shape)
    return means


def scale_of(values: Any, keywords: dict[str, Any], *, log: bool = False) -> Normalize:
    """Return the scale of colours of the values, as the keywords want it, which it takes out."""
    low, high = finite_range(np.where(np.asarray(values) > 0, values, np.nan) if log else values)
    if log:  # tiny expected counts must not take all the colours
        low, high = max(low, high / _DECADES), max(high, low * 1.0001)
    own = {"vmin": keywords.pop("vmin", low), "vmax": keywords.pop("vmax", high)}
    kind = LogNorm if log else Normalize
    norm: Normalize = keywords.pop("norm", None) or kind(**own, clip=log)
    return norm


def draw_mesh(
    ax: Axes,
    edges: tuple[Float, Float],
    table: Any,
    cmap: str | Colormap | None,
    keywords: dict[str, Any],
) -> QuadMesh:
    """Draw cells (up, across) between edges (across, up); zeros of counts are to be nan."""
    keywords = {"rasterized": np.size(table) > _RASTER, **keywords}
    return ax.pcolormesh(*edges, table, cmap=color_map(cmap or "viridis", table), **keywords)


def each_candidate(
    values: xr.DataArray,
    dims: tuple[str, str],
    draw: Callable[[xr.DataArray, Axes], QuadMesh],
    *,
    ax: Axes | None,
    label: str,
    colorbar: bool,
) -> QuadMesh | Panels:
    """Draw what has the two dims alone on the axes; else a panel for each candidate."""
    rest = only_dims(values, dims, also=1)
    if not rest:
        axes = axes_or_current(ax)
        mesh = draw(values, axes)
        if colorbar:
            color_bar(mesh, axes, label)
        return mesh
    refuse_axes(ax, values.sizes[rest[0]])
    each = [values.isel({rest[0]: number}) for number in range(values.sizes[rest[0]])]
    return panels(
        [title_of(single) for single in each],
        lambda number, axes: draw(each[number], axes),
        label=label,
        colorbar=colorbar,
    )

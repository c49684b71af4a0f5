"""Component planes: each feature of a map's code vectors, side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from somscale._types import AnyArray, Float
from somscale.codebook import as_map
from somscale.codebook.opening import as_codebook
from somscale.engine.readers.axes import Axes as FeatureAxes
from somscale.errors import InputError
from somscale.plot._canvas import bar_side, draw_colored, draw_frame, polygons_of
from somscale.plot._figures import SEQUENTIAL, color_bar, label_of
from somscale.plot.features import feature_name, places_of

__all__ = ["component_planes"]

_MOST_PLANES: Final = 24
_FIGURE_WIDTH: Final = 3.9  # inches, 100 mm
_TITLE_WIDTH: Final = 18  # characters


def component_planes(
    som: Any,
    *,
    features: Sequence[Any] | None = None,
    axes: Any = None,
    ncols: int | None = None,
    shared: bool = False,
    colorbar: bool = True,
    **keywords: Any,
) -> NDArray[np.object_]:
    """Draw the component planes: the value that each unit's code vector has in a feature.

    Features whose planes look alike vary together; a plane like no other is a feature of its
    own.

    Parameters
    ----------
    som : Dataset, path, MiniSom or Somoclu
        A map.
    features : sequence, optional
        Which ones: labels of the feature's coordinate, or positions where there is none (and
        where features have several dims); by default all, which must be 24 at most.
    axes : Axes or array of Axes, optional
        As many as features; by default a new figure is made, 100 mm wide with up to three panels
        side by side.
    ncols : int, optional
        Panels side by side in a new figure; by default 3 at most.
    shared : bool
        One scale of colours and one colour bar for all, of features in the same units.
    colorbar : bool
        Add colour bars.
    **keywords
        As in :func:`units`, for every plane.

    Returns
    -------
    ndarray of Axes, (features,)
        The panels, each with a PolyCollection of all units.

    Raises
    ------
    InputError
        It is no map, a feature that it lacks, too many features, or another number of axes.
    """
    som = as_codebook(som)
    trained = as_map(som)
    chosen = _chosen(trained.features, features)
    codes = trained.codes[:, chosen]
    panels = _panels(axes, len(chosen), ncols, trained.grid.positions)
    if shared:
        finite = codes[np.isfinite(codes)]
        keywords = {"vmin": finite.min(), "vmax": finite.max(), **keywords}
    label = label_of(som["codes"]) if "codes" in som else ""
    polygons = polygons_of(trained.grid)
    artist = None
    for ax, feature, plane in zip(panels, chosen, codes.T, strict=True):
        name = feature_name(trained.features, feature)
        own = {"cmap": SEQUENTIAL, **keywords}
        artist = draw_colored(ax, polygons, plane, "", colorbar=False, **own)
        draw_frame(ax, trained.grid)
        ax.set_axis_off()
        ax.set_title(textwrap.fill(name, _TITLE_WIDTH), fontsize="small")
        if colorbar and not shared:
            bar = color_bar(artist, ax, location=bar_side(ax), fraction=0.15)
            if np.nanmin(plane) < np.nanmax(plane):
                bar.locator = MaxNLocator(nbins=3)
                bar.update_ticks()
            bar.ax.tick_params(labelsize="x-small", length=2)
    figure = panels[0].figure
    if colorbar and shared and artist is not None:
        bar = figure.colorbar(
            artist, ax=list(panels), location="bottom", shrink=0.7, aspect=30, pad=0.03
        )
        bar.set_label(label, fontsize="small")
        bar.ax.tick_params(labelsize="small")
    elif axes is None and label:
        figure.supxlabel(label, fontsize="small")
    return panels


def _chosen(axes: FeatureAxes, features: Sequence[Any] | None) -> list[int]:
    """Positions of the features that are asked for."""
    if features is not None:
        found = places_of(axes, features)
        if not found:
            raise InputError("features= names no feature; give at least one")
        return found
    if axes.size > _MOST_PLANES:
        raise InputError(
            f"the map has {axes.size} features, more than the {_MOST_PLANES} planes that "
            "can be seen at a time; choose some, as features=[0, 1, 2], or draw fields of a unit "
            'each, as q["codes"].plot(col="unit") of ss.evaluate(…, metrics=["codes"])'
        )
    return list(range(axes.size))


def _panels(axes: Any, count: int, ncols: int | None, positions: Float) -> NDArray[np.object_]:
    """The axes that are given, or those of a new figure, one for each plane."""
    if axes is not None:
        given: AnyArray = np.atleast_1d(np.asarray(axes, dtype=object)).reshape(-1)
        if len(given) != count:
            raise InputError(f"{len(given)} axes for {count} features; give one for each")
        return given
    from matplotlib import pyplot

    side = (2 if count in (2, 4) else min(count, 3)) if ncols is None else ncols
    if side < 1:
        raise InputError(f"ncols is {ncols}; it must be at least 1")
    rows = math.ceil(count / side)
    width = _FIGURE_WIDTH / min(side, 3)
    wide, high = np.ptp(positions, axis=0) + 1
    height = 0.75 * width * min(max(high / wide, 0.3), 2.0) + 0.35 + 0.2 * (high / wide < 0.6)
    size = (max(side, 2) * width, rows * height + 0.35)
    _, grid = pyplot.subplots(rows, side, figsize=size, squeeze=False, layout="constrained")
    for ax in grid.flat[count:]:
        ax.remove()
    return np.asarray(grid.flat[:count], dtype=object)

"""The regions of a co-ranking matrix: their borders, and their names where these have room."""

from __future__ import annotations

from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from somscale.plot._figures import INK
from somscale.plot._placing import (
    center_of,
    figure_of,
    free_place,
    offsets,
    size_of,
    slanted,
    to_fractions,
    to_pixels,
)

__all__ = ["name_regions"]

_BOX: Final = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5}
_HALO: Final = [withStroke(linewidth=2.6, foreground="white")]
_ARROW: Final = {"arrowstyle": "-", "color": INK, "linewidth": 1, "path_effects": _HALO}
_ROOMY: Final = 1.6  # inches of axes that have room for four names


def name_regions(ax: Axes, k: int) -> None:
    """Draw the borders that K makes, and name mild and hard intrusions and extrusions.

    A name that its region has no room for stands nearby, with a line to the region.  Axes of
    less than 1.6 inches, as small panels, have the borders alone.
    """
    figure_of(ax).draw_without_rendering()  # where the axes will be, and how large
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    border = k + 0.5
    start = max(left, top)
    for x, y in (
        ([left, right], [border, border]),
        ([border, border], [bottom, top]),
        ([start, border], [start, border]),
    ):
        ax.plot(x, y, color="white", linewidth=2, zorder=2)
        ax.plot(x, y, color=INK, linewidth=1, zorder=3)
    inner, beyond_x, beyond_y = border - start, (border + right) / 2, (border + bottom) / 2
    places = {
        "mild\nextrusions": (start + 0.68 * inner, start + 0.32 * inner),
        "mild\nintrusions": (start + 0.32 * inner, start + 0.68 * inner),
        "hard\nextrusions": (beyond_x, (top + border) / 2),
        "hard\nintrusions": ((left + border) / 2, beyond_y),
    }
    if ax.get_window_extent().width < _ROOMY * figure_of(ax).dpi:
        return
    corner = to_pixels(ax, (border, border))
    taken: list[Bbox] = []
    for name, place in places.items():
        taken.append(_place_name(ax, name, place, corner, taken))


def _place_name(
    ax: Axes, name: str, place: tuple[float, float], corner: tuple[float, float], taken: list[Bbox]
) -> Bbox:
    """Write a name at its place in the data, or nearby where it hides no border and no name."""
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": "x-small",
        "linespacing": 0.95,
    }
    width, height = size_of(ax, name, **style)
    whole = ax.get_window_extent()
    anchor = to_pixels(ax, place)
    borders = [
        Bbox.from_extents(whole.x0, corner[1] - 1, whole.x1, corner[1] + 1),
        Bbox.from_extents(corner[0] - 1, whole.y0, corner[0] + 1, whole.y1),
        *slanted((whole.x0, whole.y1), corner),
    ]
    # Wholly on its side of the diagonal, so that no line to a region crosses another name.
    side = 1 if name.endswith("intrusions") else -1
    nearest = [
        (across, up)
        for across, up in offsets(height / 4, whole.width)
        if side * (whole.y1 - anchor[1] - up - (anchor[0] + across - whole.x0))
        > (width + height) / 2
    ]
    found = free_place((width, height), anchor, nearest, [*taken, *borders], whole)
    if found is None:  # nothing is free: the region itself is the best place
        found = Bbox.from_bounds(anchor[0] - width / 2, anchor[1] - height / 2, width, height)
    ax.annotate(
        name,
        place,
        xytext=to_fractions(ax, center_of(found)),
        textcoords="axes fraction",
        arrowprops=None if found.contains(*anchor) else _ARROW,
        bbox=_BOX,
        zorder=5,
        **style,
    )
    return found

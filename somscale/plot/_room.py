"""The room that a map's words need, told to layouts whatever shape its cell has."""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

__all__ = ["keep_room"]


def keep_room(ax: Axes) -> None:
    """Have layouts leave the words about `ax` their room.

    An equal aspect makes axes smaller than their cell.  Layouts measure words from the cell,
    so that they find those too short which lie in the rest of it, and cut them off where the
    cell gets the axes' shape in the end.
    """
    if not any(isinstance(child, _Words) for child in ax.get_children()):
        words = ax.add_artist(_Words())
        words.set_clip_on(False)  # layouts pass over what is clipped to the axes


class _Words(Artist):
    """Draws nothing, and measures as the cell with the axes' words around it."""

    def draw(self, renderer: Any) -> None:
        """Draw nothing."""

    def get_tightbbox(self, renderer: Any = None) -> Bbox | None:
        """Return the cell and words about it, in pixels; None where no layout asks."""
        ax = self.axes
        figure = None if ax is None else ax.get_figure(root=True)
        if ax is None or figure is None or figure.get_layout_engine() is None:
            return None
        near = ax.get_window_extent()
        parts: list[Any] = [ax.title, ax.get_legend(), *((ax.xaxis, ax.yaxis) * ax.axison)]
        found = [part.get_tightbbox(renderer) for part in parts if part is not None]
        far = Bbox.union([near, *(box for box in found if box is not None and box.width > 0)])
        cell = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
        return Bbox.from_extents(
            cell.x0 - (near.x0 - far.x0),
            cell.y0 - (near.y0 - far.y0),
            cell.x1 + (far.x1 - near.x1),
            cell.y1 + (far.y1 - near.y1),
        )

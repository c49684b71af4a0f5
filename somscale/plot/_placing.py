"""Room for words: legends that hide no line, and names that hide neither each other nor a mark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from somscale.plot._figures import columns_of, folded

__all__ = [
    "add_legend",
    "center_of",
    "figure_of",
    "free_place",
    "label_width",
    "legend_beside",
    "offsets",
    "size_of",
    "slanted",
    "to_fractions",
    "to_pixels",
]

_FEW: Final = 8  # lines of a legend that may find room among curves, or above them
_SIZES: Final = {"small": 12, "x-small": 18, "xx-small": math.inf}  # and how many lines of it
_GAP: Final = 0.04  # inches
_COLUMNS: Final = 20  # of a line of a legend
_MOST_COLUMNS: Final = 28  # of names that are left in one line
_LABEL: Final = 0.2  # inches, by which a neighbour's upright label may reach into a cell


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds `ax`, also where that is a part of one."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes were removed from their figure")
    return figure


def add_legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> Legend:
    """Add a legend where it hides no line: in the axes, else above them, or beside many lines."""
    labels = _folded(labels)
    if len(handles) > _FEW:
        return legend_beside(ax, handles, labels)
    layout = figure_of(ax).get_layout_engine()
    if layout is not None:
        layout.execute(figure_of(ax))  # how large the axes will be
    legend = ax.legend(handles, labels, loc="best", fontsize="small")
    box, inside = legend.get_window_extent(), ax.get_window_extent()
    if (
        box.width < 0.6 * inside.width
        and box.height < 0.6 * inside.height
        and not any(_crosses(line, box) for line in ax.get_lines())
    ):
        return legend
    return _legend_above(ax, handles, labels)


def _legend_above(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> Legend:
    """Add a legend above the axes, in as many columns as their width has room for."""
    legend = ax.legend()
    for columns in range(min(len(handles), 4), 0, -1):
        legend = ax.legend(
            handles,
            labels,
            ncols=columns,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            frameon=False,
            handlelength=1.4,
            columnspacing=1.2,
            fontsize="small",
        )
        if legend.get_window_extent().x1 <= ax.get_window_extent().x1:
            break
    _give_room(ax, legend)
    return legend


def legend_beside(
    ax: Axes, handles: Sequence[Any], labels: Sequence[str], title: str | None = None
) -> Legend:
    """Add a legend at the right of the axes, which give room to it.

    Where no layout engine parts the axes from others at their right, the legend is put into
    them, if it hides no point there.
    """
    handles, labels = _as_many_as_fit(ax, handles, _folded(labels))
    style: dict[str, Any] = {
        "title": title,
        "handlelength": 1.4,
        "labelspacing": 0.3 if len(handles) <= 12 else 0.1,
        "fontsize": _size_for(len(handles)),
        "title_fontsize": "small",
        "alignment": "left",
    }
    if figure_of(ax).get_layout_engine() is None and _has_neighbour(ax):
        inside = ax.legend(handles, labels, loc="best", **style)
        if _hides_nothing(ax, inside):
            return inside
    style |= {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
    legend = ax.legend(handles, labels, **style)
    _give_room(ax, legend)
    return legend


def _size_for(count: int) -> str:
    return next(size for size, most in _SIZES.items() if count <= most)


def _as_many_as_fit(
    ax: Axes, handles: Sequence[Any], labels: list[str]
) -> tuple[list[Any], list[str]]:
    """The names that a legend as high as the figure has room for, and how many more there are."""
    size = FontProperties(size=_size_for(len(handles))).get_size_in_points()
    high = figure_of(ax).get_figheight() * 72
    most = max(3, int(0.92 * high / (1.2 * size)) - sum(label.count("\n") for label in labels))
    if len(labels) <= most:
        return list(handles), labels
    rest = Line2D([], [], linestyle="none")
    return [*handles[: most - 1], rest], [
        *labels[: most - 1],
        f"and {len(labels) - most + 1} more",
    ]


def _folded(labels: Sequence[str]) -> list[str]:
    """Names in lines that leave half of a picture 100 mm wide to the axes."""
    wide = any(columns_of(label) > _MOST_COLUMNS for label in labels)
    return [folded(label, _COLUMNS) if wide else label for label in labels]


def _has_neighbour(ax: Axes) -> bool:
    """Whether there are axes at the right of these."""
    place = ax.get_position(original=True)
    others = (other.get_position(original=True) for other in figure_of(ax).axes if other is not ax)
    return any(o.x0 >= place.x1 and o.y0 < place.y1 and o.y1 > place.y0 for o in others)


def _hides_nothing(ax: Axes, legend: Legend) -> bool:
    """Whether a legend lies in the axes, on no point, and on nothing but points."""
    figure_of(ax).draw_without_rendering()
    box, inside = legend.get_window_extent(), ax.get_window_extent()
    if not all(isinstance(drawn, PathCollection) for drawn in ax.collections):
        return False
    points = [np.ma.getdata(drawn.get_offsets()) for drawn in ax.collections]
    places = [ax.transData.transform(own) for own in points]
    near = box.padded(2)
    hidden = any(
        bool(((place > near.min) & (place < near.max)).all(axis=1).any()) for place in places
    )
    return not hidden and box.width < inside.width and box.height < inside.height


def _give_room(ax: Axes, legend: Legend) -> None:
    """Shrink the axes by what the legend lacks in the figure, unless a layout engine does."""
    figure = figure_of(ax)
    if figure.get_layout_engine() is not None:
        return
    whole, box, place = figure.bbox, legend.get_window_extent(), ax.get_position(original=True)
    gap = _GAP * figure.dpi
    cell_end = place.x1 * whole.width - _LABEL * figure.dpi
    end = cell_end if _has_neighbour(ax) else whole.x1 - gap
    across = max(box.x1 - end, 0) / whole.width
    up = max(box.y1 + gap - whole.y1, 0) / whole.height
    least = min(0.2, 0.4 * place.width), min(0.2, place.height)
    width, height = max(place.width - across, least[0]), max(place.height - up, least[1])
    ax.set_position(Bbox.from_bounds(place.x0, place.y0, width, height))


def _crosses(line: Line2D, box: Bbox) -> bool:
    path = line.get_path().transformed(line.get_transform())
    return bool(path.intersects_bbox(box, filled=False))


def label_width(ax: Axes, which: str) -> int:
    """Return how many characters a line of the label of an axis has room for."""
    figure, box = figure_of(ax), ax.get_window_extent()
    label = getattr(ax, f"{which}axis").label
    # Before the layout: the axes get narrower, and an upright label may be longer than they.
    length = (0.9 * box.width if which == "x" else 1.15 * box.height) / figure.dpi
    return int(np.clip(length / (0.6 * label.get_fontsize() / 72), 24, 60))


def size_of(ax: Axes, words: str, *, pad: float = 3, **style: Any) -> tuple[float, float]:
    """Return width and height of a text, and of a `pad` about it, in pixels."""
    text = ax.text(0.5, 0.5, words, transform=ax.transAxes, **style)
    box = text.get_window_extent().padded(pad)
    text.remove()
    return box.width, box.height


def to_pixels(ax: Axes, place: Any) -> tuple[float, float]:
    """Return where a place of the data is, in pixels."""
    x, y = ax.transData.transform(place)
    return float(x), float(y)


def to_fractions(ax: Axes, pixel: tuple[float, float]) -> tuple[float, float]:
    """Return where a pixel is, in fractions of the axes, which outlast a change of their size."""
    x, y = ax.transAxes.inverted().transform(pixel)
    return float(x), float(y)


def center_of(box: Bbox) -> tuple[float, float]:
    """Return the centre of a box."""
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def free_place(
    size: tuple[float, float],
    anchor: tuple[float, float],
    centers: Iterable[tuple[float, float]],
    taken: Sequence[Bbox],
    within: Bbox,
) -> Bbox | None:
    """Return the box of `size` about the first of the `centers` that is free, all in pixels.

    Free is what lies `within` a box and overlaps nothing that is `taken`.  The centres are
    offsets from the `anchor`.  None where there is no room.
    """
    width, height = size
    held = np.array([box.extents for box in taken]).reshape(-1, 4)
    for across, up in centers:
        left, low = anchor[0] + across - width / 2, anchor[1] + up - height / 2
        right, high = left + width, low + height
        if left < within.x0 or low < within.y0 or right > within.x1 or high > within.y1:
            continue
        beside = (held[:, 0] >= right) | (held[:, 2] <= left)
        above_or_below = (held[:, 1] >= high) | (held[:, 3] <= low)
        if (beside | above_or_below).all():
            return Bbox.from_extents(left, low, right, high)
    return None


def slanted(start: tuple[float, float], end: tuple[float, float]) -> list[Bbox]:
    """Return small boxes along a line, in pixels, for :func:`free_place` to keep off."""
    count = max(int(np.hypot(end[0] - start[0], end[1] - start[1]) // 3), 2)
    x, y = (np.linspace(first, last, count) for first, last in zip(start, end, strict=True))
    return [Bbox.from_extents(a - 2, b - 2, a + 2, b + 2) for a, b in zip(x, y, strict=True)]


def offsets(step: float, reach: float) -> Iterator[tuple[float, float]]:
    """Yield offsets about an anchor, the nearest first, up to `reach`."""
    yield 0.0, 0.0
    for radius in np.arange(step, reach, step):
        for angle in np.linspace(0, 2 * np.pi, 32, endpoint=False):
            yield float(radius * np.cos(angle)), float(radius * np.sin(angle))

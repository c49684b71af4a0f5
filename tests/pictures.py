"""Pictures as they are printed: 100 mm wide, their words whole and apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations

from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

WIDE, HIGH = 3.9, 2.9


@contextmanager
def printed(wide: float = WIDE, high: float = HIGH) -> Iterator[Axes]:
    """Axes of a figure 100 mm wide; its words are looked at in the end."""
    before = dict(rcParams)
    with rc_context({"backend": "agg"}):
        figure = Figure(figsize=(wide, high), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure.subplots()
        wrong = wrong_words(figure)
        assert wrong == [], wrong
    # matplotlib settles the backend by itself, whenever it is first looked for
    changed = {key for key, value in rcParams.items() if value != before[key]} - {"backend"}
    assert not changed, changed


def words_of(figure: Figure) -> list[tuple[str, Bbox]]:
    """All words that are seen, with their boxes."""
    figure.draw_without_rendering()
    hidden = {
        label
        for axis in figure.findobj(Axis)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        if not _in_view(tick.get_loc(), axis)
        for label in (tick.label1, tick.label2)
    }
    return [
        (text.get_text(), Text.get_window_extent(text))
        for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]


def _in_view(place: float, axis: Axis) -> bool:
    low, high = sorted(axis.get_view_interval())
    return bool(low <= place <= high)


def wrong_words(figure: Figure) -> list[str]:
    """Words that are cut off, or lie on others."""
    seen, page = words_of(figure), figure.bbox
    wrong = [
        f"{name!r} is cut off"
        for name, box in seen
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1
    ]
    for (one, first), (other, second) in combinations(seen, 2):
        width = min(first.x1, second.x1) - max(first.x0, second.x0)
        height = min(first.y1, second.y1) - max(first.y0, second.y0)
        if width > 1 and height > 1:
            wrong.append(f"{one!r} lies on {other!r}")
    return wrong

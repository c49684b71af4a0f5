"""Figures of Bokeh that the page's own script fills: no text of the data is in them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from bokeh.embed import json_item
from bokeh.events import MouseMove, Tap
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    LinearColorMapper,
    PlainText,
)
from bokeh.models.annotations import ColorBar
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

__all__ = ["heat_figure", "points_figure", "units_figure"]

_INK: Final = "#262626"
_QUIET: Final = "#6b6b6b"
_CURSOR: Final = "#d55e00"
_MISSING: Final = "#d9d9d9"
_BAR_ROOM: Final = 92  # px: the bar, and labels such as 1.000e−5
_TOOLS: Final = "pan,wheel_zoom,box_zoom,reset,save"


def heat_figure(kappa_s: Any, kappa_t: Any) -> dict[str, Any]:
    """A heat map in places of κs and κt, with a cursor; the script lays the values on it."""
    shape = len(kappa_t), len(kappa_s)
    ranges = {"x_range": (-0.5, shape[1] - 0.5), "y_range": (-0.5, shape[0] - 0.5)}
    plot = _figure("κs: ranks that count as near", "κt: ranks that may change", tools="", **ranges)
    mapper = _mapper("heat_colors")
    source = ColumnDataSource({"image": [np.zeros(shape, np.float32)]}, name="heat")
    plot.image(
        image="image", x=-0.5, y=-0.5, dw=shape[1], dh=shape[0], source=source, color_mapper=mapper
    )
    places: dict[str, Any] = {"x": [0], "y": [0]}
    cursor = ColumnDataSource(places, name="heat_cursor")
    for colour, width in (("white", 3.5), (_CURSOR, 1.5)):
        plot.vspan(x="x", source=cursor, line_color=colour, line_width=width, line_alpha=0.9)
        plot.hspan(y="y", source=cursor, line_color=colour, line_width=width, line_alpha=0.9)
    plot.scatter("x", "y", source=cursor, size=12, fill_color=_CURSOR, line_color="white")
    for axis, values in ((plot.xaxis[0], kappa_s), (plot.yaxis[0], kappa_t)):
        ticks = _ticks(values)
        axis.ticker = FixedTicker(ticks=ticks)
        axis.major_label_overrides = {tick: PlainText(text=str(values[tick])) for tick in ticks}
    _color_bar(plot, mapper)
    plot.js_on_event(Tap, _tell("heat"))
    return _item(plot)


def _ticks(values: Any) -> list[int]:
    """Places of a few values that are as round as there are."""
    if len(values) <= 8:
        return list(range(len(values)))
    for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000):
        round_ones = [place for place, value in enumerate(values) if int(value) % step == 0]
        if len(round_ones) <= 7:
            return sorted({0, *round_ones} if 0 not in round_ones[:2] else round_ones)
    return [0, len(values) - 1]


def points_figure(places: Any) -> dict[str, Any]:
    """Points, (n, 2), that the script colours."""
    plot = _figure("first component", "second component", tools=_TOOLS, match_aspect=True)
    mapper = _mapper("point_colors")
    x, y = np.asarray(places, dtype=np.float32).T
    values = {"x": x, "y": y, "value": np.full(len(x), np.nan, np.float32)}
    source = ColumnDataSource(values, name="points")
    plot.scatter(
        "x",
        "y",
        source=source,
        size=6 if len(x) <= 1500 else 4.5,
        line_color=None,
        fill_alpha=0.8,
        fill_color={"field": "value", "transform": mapper},
    )
    _color_bar(plot, mapper, "point_bar")
    return _item(plot)


def units_figure(cells: Any) -> dict[str, Any]:
    """Cells of a map that the script colours; `cells` as of :func:`.unit_cells`."""
    plot = _figure("", "", tools="", match_aspect=True)  # which holds only without own ranges
    plot.x_range.range_padding = plot.y_range.range_padding = 0.05
    plot.axis.visible = False
    mapper = _mapper("unit_colors")
    values = {"x": cells.x, "y": cells.y, "value": np.full(len(cells.x), np.nan, np.float32)}
    colour = {"field": "value", "transform": mapper}
    style = {"fill_color": colour, "line_color": "white", "line_width": 1}
    if cells.corners is None:
        source = ColumnDataSource(values, name="units")
        plot.rect("x", "y", width=1, height=1, source=source, **style)
    else:
        corners = {
            "xs": np.round(cells.x[:, None] + cells.corners[:, 0], 3).tolist(),
            "ys": np.round(cells.y[:, None] + cells.corners[:, 1], 3).tolist(),
        }
        source = ColumnDataSource(values | corners, name="units")
        plot.patches("xs", "ys", source=source, **style)
    if cells.seams:
        # lines are nan-parted: a dash pattern then goes on along each
        x, y = (
            np.concatenate([[*line[:, axis], np.nan] for line in cells.seams]) for axis in (0, 1)
        )
        seams = ColumnDataSource({"x": np.round(x, 3), "y": np.round(y, 3)}, name="seams")
        plot.line("x", "y", source=seams, line_color=_INK, line_width=2, line_dash=[7, 4])
    cursor = ColumnDataSource({"x": [np.nan], "y": [np.nan]}, name="unit_cursor")
    ring = {"line_color": _CURSOR, "line_width": 3, "fill_color": None}
    plot.scatter("x", "y", source=cursor, size=14, **ring)
    _color_bar(plot, mapper)
    plot.js_on_event(MouseMove, _tell("unit"))
    plot.js_on_event(Tap, _tell("unit"))
    return _item(plot)


def _figure(x_label: str, y_label: str, **keywords: Any) -> Any:
    plot = figure(
        sizing_mode="stretch_width",
        height=360,
        toolbar_location="above" if keywords.get("tools") else None,
        background_fill_color="white",
        border_fill_color="white",
        outline_line_color=None,
        **keywords,
    )
    plot.toolbar.active_drag = None  # a finger that scrolls the page moves no figure
    if plot.toolbar.tools:
        plot.toolbar.logo = None
    plot.grid.grid_line_color = None
    for axis, label in ((plot.xaxis[0], x_label), (plot.yaxis[0], y_label)):
        axis.axis_label = PlainText(text=label) if label else None
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_color = axis.major_label_text_color = _INK
        axis.axis_line_color = axis.major_tick_line_color = _QUIET
        axis.minor_tick_line_color = None
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font_size = "12px"
    return plot


def _mapper(name: str) -> LinearColorMapper:
    return LinearColorMapper(palette=Viridis256, low=0, high=1, nan_color=_MISSING, name=name)


def _color_bar(plot: Any, mapper: LinearColorMapper, name: str = "") -> None:
    bar = ColorBar(
        color_mapper=mapper,
        width=12,
        ticker=BasicTicker(desired_num_ticks=5),
        major_label_text_font_size="12px",
        major_label_text_color=_INK,
        bar_line_color=None,
        padding=6,
        name=name or None,
    )
    plot.add_layout(bar, "right")
    # the script changes the scale, and with it how long the labels are, after room was taken
    plot.min_border_right = _BAR_ROOM


def _tell(what: str) -> CustomJS:
    """Pass a place that was pointed at on to the page's script."""
    return CustomJS(
        code=f"window.dispatchEvent(new CustomEvent('somscale', "
        f"{{detail: {{what: '{what}', x: cb_obj.x, y: cb_obj.y}}}}))"
    )


def _item(plot: Any) -> dict[str, Any]:
    return dict(json_item(plot))

"""Room for words in figures 100 mm wide: with a tight bounding box, and without any layout."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.axes import Axes

import somscale as ss
import somscale.plot

WIDE = ss.Grid(4, 9)
HIGH = ss.Grid(9, 5, topology="hexagonal")
RNG = np.random.default_rng(0)


@pytest.fixture
def ax() -> Iterator[Axes]:
    mpl.use("Agg")
    figure, own = pyplot.subplots(figsize=(3.9, 3.0))
    yield own
    pyplot.close(figure)


def named(size: int) -> xr.DataArray:
    facts = {"long_name": "quantization error of each unit and of more words", "units": "m s^-1"}
    return xr.DataArray(RNG.random(size), dims="unit", attrs=facts)


def of_points() -> xr.DataArray:
    facts = {"long_name": "quality of ranks of a sample in words", "units": "1"}
    return xr.DataArray(RNG.random(60), dims="sample", attrs=facts)


def surface() -> xr.DataArray:
    x = RNG.normal(size=(40, 3))
    return ss.metrics.rank_quality(x, x[:, :2])


DRAWN: dict[str, Callable[[Axes], Any]] = {
    "below": lambda ax: somscale.plot.units(named(36), WIDE, ax=ax),
    "beside": lambda ax: somscale.plot.units(named(45), HIGH, ax=ax),
    "points": lambda ax: somscale.plot.embedding(RNG.normal(size=(60, 2)), of_points(), ax=ax),
    "surface": lambda ax: somscale.plot.rank_quality(surface(), ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_words_of_a_colour_bar_keep_inside_a_figure_without_a_layout(name: str, ax: Axes) -> None:
    DRAWN[name](ax)
    figure = ax.figure
    figure.canvas.draw()
    (bar,) = [own for own in figure.axes if own is not ax]
    box, room = bar.get_tightbbox(), figure.bbox
    assert box is not None
    assert bar.get_xlabel() + bar.get_ylabel()
    assert (box.x0 >= 0, box.y0 >= 0, box.x1 <= room.x1, box.y1 <= room.y1) == (True,) * 4


def test_a_bar_amid_others_takes_no_more_room_than_before() -> None:
    figure, axes = pyplot.subplots(ncols=2, figsize=(4.4, 3.0))
    for own in axes:
        somscale.plot.units(named(45), HIGH, ax=own)
    left, right = (own.get_position(original=True).width for own in axes)
    assert left > right + 0.02
    pyplot.close(figure)


def test_a_tight_bounding_box_holds_all_labels(ax: Axes) -> None:
    DRAWN["points"](ax)
    for name in ("tight", None):
        file = io.BytesIO()
        ax.figure.savefig(file, bbox_inches=name, pad_inches=0.1)
        file.seek(0)
        edges = mpl.image.imread(file)[:, :, :3]
        whole = all((edge == 1).all() for edge in (edges[0], edges[-1], edges[:, 0], edges[:, -1]))
        assert whole is (name == "tight")

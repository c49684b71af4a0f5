"""Several candidates: a panel each, on one scale of colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from somscale.errors import InputError
from somscale.plot._figures import ticks_of_one
from somscale.plot._reading import wrapped

__all__ = ["Panels", "axes_of", "panels", "refuse_axes"]

Panels = npt.NDArray[Any]
"""Axes, one for each candidate."""

_PANEL: Final = (1.9, 2.1)  # inches, of each panel
_BAR: Final = 0.9


def axes_of(drawn: Any) -> list[Axes]:
    """Return the axes of an artist, or those of panels."""
    found: list[Any] = [drawn.axes] if isinstance(drawn, Artist) else list(drawn)
    return found


def refuse_axes(ax: Axes | None, count: int) -> None:
    """Refuse one axes for several candidates."""
    if ax is not None:
        raise InputError(
            f"{count} candidates take a panel each and do not fit the one ax: choose one by "
            "candidate=, or leave ax out"
        )


def panels(
    names: Sequence[str],
    draw: Callable[[int, Axes], ScalarMappable | None],
    *,
    label: str,
    colorbar: bool,
    ncols: int | None = None,
) -> Panels:
    """Draw a panel for each name in a new figure, and one colour bar for all.

    `draw` gets the number of the panel and its axes, and returns what the bar is of.  Labels
    of the axes stand once, at the margins.
    """
    from matplotlib import pyplot

    count = len(names)
    columns = min(count, ncols or 3)
    rows = -(-count // columns)
    size = (columns * _PANEL[0] + _BAR * colorbar, rows * _PANEL[1])
    figure: Figure = pyplot.figure(figsize=size, layout="constrained")
    axes: Panels = figure.subplots(rows, columns, squeeze=False)
    drawn = None
    for number, (name, ax) in enumerate(zip(names, axes.flat, strict=False)):
        drawn = draw(number, ax)
        ax.set_title(wrapped(name, 22), fontsize="medium")
        across, up = ax.get_xlabel(), ax.get_ylabel()
        ax.set(xlabel="", ylabel="")
    figure.supxlabel(across.replace("\n", " "), fontsize="medium")
    figure.supylabel(wrapped(up, 20 * rows), fontsize="medium", multialignment="center")
    for ax in axes.flat[count:]:
        ax.remove()
    used: Panels = axes.ravel()[:count]
    if drawn is not None and colorbar:
        one = ticks_of_one(drawn)
        bar = figure.colorbar(drawn, ax=used.tolist(), aspect=20 * rows, pad=0.02, **one)
        bar.set_label(wrapped(label, 20 * rows))
    return used

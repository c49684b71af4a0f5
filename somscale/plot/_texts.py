"""Values written into cells, in a size that fits and a colour that can be read."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._figures import INK

__all__ = ["annotate_cells", "ink_on"]

MOST_TEXTS: Final = 1_000
_LARGEST, _SMALLEST = 8.0, 5.0  # points
_CHARACTER = 0.62  # width of a figure, in font sizes


def annotate_cells(ax: Axes, artist: ScalarMappable, polygons: Float, values: Float) -> None:
    """Write values into their cells.

    Raises
    ------
    InputError
        More than 1,000 units: no text would be legible.
    """
    if len(values) > MOST_TEXTS:
        raise InputError(
            f"{len(values)} values in one picture cannot be read (at most {MOST_TEXTS}); leave "
            "annotate=True out"
        )
    ax.apply_aspect()
    wide = float(np.ptp(ax.transData.transform(polygons[0])[:, 0])) * 72 / ax.figure.dpi
    texts, size = [""], 0.0
    for digits in (3, 2):
        if size < _SMALLEST:
            texts = [f"{value:.{digits}g}" if np.isfinite(value) else "" for value in values]
            size = min(_LARGEST, 0.9 * wide / (_CHARACTER * max(1, *map(len, texts))))
    colors = ink_on(artist.to_rgba(np.nan_to_num(values)))
    for (x, y), text, color in zip(polygons.mean(axis=1), texts, colors, strict=True):
        if text:
            ax.text(x, y, text, ha="center", va="center", fontsize=size, color=color, zorder=4)


def ink_on(colors: Float) -> list[str]:
    """Dark or white, whichever is read better on each colour, (n, 3 or 4)."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    luminance = linear[:, :3] @ [0.2126, 0.7152, 0.0722]
    return [INK if light > 0.3 else "white" for light in luminance]

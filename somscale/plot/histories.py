"""How the training of a map went."""

from __future__ import annotations

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from somscale.codebook.opening import as_codebook
from somscale.errors import InputError
from somscale.plot._figures import CATEGORIES, axes_or_current, label_of

__all__ = ["training"]

_SHOWN = ("quantization_error", "distortion")


def training(som: Any, *, ax: Axes | None = None, **keywords: Any) -> list[Line2D]:
    """Draw quantization error and distortion over the epochs of training.

    The distortion is that of each epoch's own temperature, so that it falls as the
    neighbourhood shrinks, even where the codes have come to rest.

    Parameters
    ----------
    som : Dataset or path
        A map of :func:`somscale.train`, with its history.
    ax : Axes, optional
        By default the current axes; the distortion has an axis at its right.
    **keywords
        Of both lines.

    Returns
    -------
    list of Line2D
        The quantization error, and the distortion.

    Raises
    ------
    InputError
        The map has no history.
    """
    som = as_codebook(som)
    if not isinstance(som, xr.Dataset) or not all(
        name in som and som[name].dims == ("epoch",) for name in _SHOWN
    ):
        raise InputError("the map has no history of epochs; maps of ss.train have one")
    ax = axes_or_current(ax)
    both = ax, ax.twinx()
    lines = []
    for axes, name, color, style in zip(
        both, _SHOWN, (CATEGORIES[0], CATEGORIES[5]), ("-", "--"), strict=True
    ):
        facts = {"color": color, "linestyle": style, "marker": "o", "markersize": 3, **keywords}
        values = som[name]
        lines += axes.plot(som["epoch"].values, values.values, **facts)
        said = values.assign_attrs(long_name=str(values.attrs.get("long_name", name)).split(",")[0])
        axes.set_ylabel(label_of(said, name, width=28), color=color)
        axes.tick_params(axis="y", colors=color)
        axes.set_ylim(0, 1.06 * float(values.max()) or 1.0)
        lines[-1].set_label(name.replace("_", " "))
    ax.set_xlabel(label_of(som["epoch"], "epoch"))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    return lines

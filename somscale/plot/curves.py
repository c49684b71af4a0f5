"""Indices along one parameter: ranks over K, distortion over temperature, topographic functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from somscale.errors import InputError
from somscale.plot._figures import OTHER, axes_or_current
from somscale.plot._lines import Curves, curves_of, draw_curves

__all__ = ["distortion", "rank_curves", "topographic_function"]

_MARKS: Final = {"marker": "o", "markersize": 4}
_TOPOGRAPHIC: Final = (
    "villmann_function",
    "differential_topographic_function",
    "weighted_differential_topographic_function",
)


def rank_curves(
    q: xr.Dataset | xr.DataArray,
    name: str = "q_nx",
    *,
    ax: Axes | None = None,
    k: int | slice | Sequence[int] | None = None,
    log: bool = False,
    legend: bool = True,
    **keywords: Any,
) -> list[Line2D]:
    """Draw an index of ranks over the number of neighbours K.

    Parameters
    ----------
    q : Dataset or DataArray
        A result of :func:`somscale.evaluate`, or the index itself, on the dim ``k`` and at
        most one other, as ``candidate``.
    name : str
        The index: "q_nx", "r_nx", "lcmc", "b_nx", "trustworthiness", "continuity" or any
        other variable along ``k``.
    ax : Axes, optional
        By default the current ones.
    k : int, slice or sequence of int, optional
        Which K are drawn: up to this one, those of ``slice(low, high)``, ends included, or
        those of a list.  By default all.
    log : bool
        A logarithmic axis of K, on which the area below R_NX is its AUC.
    legend : bool
        Name the lines, where there are several, and the bands.
    **keywords
        For :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    list of Line2D
        One for each candidate.  Results with `sample_anchors` have their intervals drawn as
        bands behind them.

    Raises
    ------
    InputError
        The result lacks the index, or has it for one K alone.
    """
    curves = _at(curves_of(q, "k", name), k)
    axes = axes_or_current(ax)
    if log:
        axes.set_xscale("log")
        ranks = curves.values["k"].values
        if ranks[-1] <= 100 * ranks[0]:
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    return draw_curves(axes, curves, legend=legend, keywords=keywords)


def distortion(
    q: xr.Dataset | xr.DataArray,
    name: str = "distortion",
    *,
    ax: Axes | None = None,
    log: bool = False,
    legend: bool = True,
    **keywords: Any,
) -> list[Line2D]:
    """Draw the distortion, or its parts, over the temperature of the neighbourhood.

    Parameters
    ----------
    q : Dataset or DataArray
        A result of :func:`somscale.evaluate` for several temperatures, or the index itself.
    name : str
        "distortion", "distortion_parts" or any other variable along ``temperature``.
    ax : Axes, optional
        By default the current ones.
    log : bool
        A logarithmic axis of the distortion.
    legend : bool
        Name the lines, where there are several.
    **keywords
        For :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    list of Line2D
        One for each candidate, or part.

    Raises
    ------
    InputError
        The result lacks the index, or has it at one temperature alone.
    """
    curves = curves_of(q, "temperature", name)
    axes = axes_or_current(ax)
    if log:
        axes.set_yscale("log")
    few = curves.values.sizes["temperature"] <= 20
    marks = _MARKS if few else {}
    return draw_curves(axes, curves, legend=legend, keywords=marks | keywords)


def topographic_function(
    q: xr.Dataset | xr.DataArray,
    name: str = "topographic_function",
    *,
    ax: Axes | None = None,
    legend: bool = True,
    **keywords: Any,
) -> list[Line2D]:
    """Draw a topographic function over the distance on the map.

    Parameters
    ----------
    q : Dataset or DataArray
        A result of :func:`somscale.evaluate` for a map, or the function itself.
    name : str
        "topographic_function", "villmann_function", "differential_topographic_function" or
        "weighted_differential_topographic_function"; where the result lacks the first, the
        next one that it has.
    ax : Axes, optional
        By default the current ones.
    legend : bool
        Name the lines, where there are several.
    **keywords
        For :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    list of Line2D
        One for each candidate.  Beside 0, Villmann's function counts two different things: a
        thin upright line parts them.

    Raises
    ------
    InputError
        The result has no topographic function.
    """
    others = _TOPOGRAPHIC if name == "topographic_function" else ()
    curves = curves_of(q, "delta", name, *others)
    axes = axes_or_current(ax)
    lines = draw_curves(axes, curves, legend=legend, keywords=_MARKS | keywords)
    known = curves.values.notnull().values.any(axis=0)
    if (known & (curves.values["delta"].values < 0)).any():
        axes.axvline(0, color=OTHER, linewidth=0.8, zorder=0)
    return lines


def _at(curves: Curves, k: int | slice | Sequence[int] | None) -> Curves:
    """The curves at the K that are asked for."""
    if k is None:
        return curves
    held = curves.values["k"].values
    if isinstance(k, slice):
        kept = np.isin(held, curves.values["k"].sel(k=k))
    elif isinstance(k, int | np.integer):
        kept = held <= k
    else:
        kept = np.isin(held, np.asarray(k))
    if not kept.any():
        raise InputError(
            f"k={k!r} leaves nothing to draw: the index is known for K from {held.min()} to "
            f"{held.max()}"
        )
    return curves.select(lambda values: values.isel(k=kept))

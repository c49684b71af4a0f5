"""Silhouettes of samples, cluster by cluster."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._figures import CATEGORIES, INK, axes_or_current, folded, title_of
from somscale.plot._placing import figure_of, label_width, size_of
from somscale.plot._reading import hinted, of_candidate, variable_of

__all__ = ["silhouettes"]

_ROWS: Final = 800  # of a picture: more samples than these are drawn by quantiles
_LEAST: Final = 3  # rows of the smallest cluster
_GAP: Final = 0.006  # of the height, between clusters
_FEW: Final = 10  # clusters that are named in full size


def silhouettes(
    values: Any,
    labels: Any = None,
    *,
    ax: Axes | None = None,
    candidate: Any = None,
    **keywords: Any,
) -> list[PolyCollection]:
    """Draw the silhouette of each sample as a bar, sorted in each cluster.

    Parameters
    ----------
    values : Dataset, DataArray or array_like, (sample,)
        A result of :func:`somscale.evaluate` with ``sample_silhouette``, or the silhouettes
        themselves, or any other value of each sample.
    labels : array_like, (sample,)
        The cluster of each sample, which results do not hold.
    ax : Axes, optional
        By default the current ones.
    candidate : optional
        Which of several clusterings the labels are.
    **keywords
        For :meth:`matplotlib.axes.Axes.fill_betweenx`.

    Returns
    -------
    list of PolyCollection
        A profile for each cluster, in their order, the first one on top.  A cluster is as high
        as it has samples, but at least just visible.  The dashed line is the mean of all.

    Raises
    ------
    InputError
        Not a label for each value, or none of both; or the result lacks silhouettes.

    Notes
    -----
    Samples without a silhouette, or without a label, are left out.  Of more than 800 samples
    quantiles are drawn, as many as a picture has rows.  Names of clusters that have no room
    for them are left out, and the label of the axis says so.

    References
    ----------
    Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7
    """
    held = _held(values, candidate)
    if labels is None:
        raise InputError(
            "silhouettes are drawn cluster by cluster: give labels=, the clusters that "
            "ss.evaluate judged, one for each sample"
        )
    own = np.asarray(held, dtype=float).ravel()
    codes, names = pd.factorize(np.asarray(labels).ravel(), sort=True)
    if len(codes) != len(own):
        raise InputError(f"there are {len(codes)} labels for {len(own)} values: give one for each")
    kept = np.isfinite(own) & (codes >= 0)
    if not kept.any():
        raise InputError("no sample has both a value and a label")
    held_in = {str(names[code]): own[kept & (codes == code)] for code in np.unique(codes[kept])}
    axes = axes_or_current(ax)
    edges = _edges([len(profile) for profile in held_in.values()])
    gap, drawn = min(_GAP, 0.1 / len(held_in)), []
    for number, profile in enumerate(held_in.values()):
        style = {"color": CATEGORIES[number % len(CATEGORIES)], "linewidth": 0, **keywords}
        span = edges[number : number + 2] + np.array([0.5, -0.5]) * gap * edges[-1]
        drawn.append(_draw_profile(axes, profile, span, edges[-1], style))
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.axvline(own[kept].mean(), color=INK, linewidth=1, linestyle="--")
    mean = f"mean {own[kept].mean():.3g} (dashed)"
    axes.set_title(", ".join(filter(None, [title_of(held), mean])), fontsize="medium")
    named = held if isinstance(held, xr.DataArray) else xr.DataArray(own)
    axes.set_xlabel(hinted(named, "silhouette", width=label_width(axes, "x")))
    axes.set_ylim(edges[-1], 0)
    sizes = {name: len(profile) for name, profile in held_in.items()}
    _name_clusters(axes, edges, sizes, left_out=int(len(own) - kept.sum()))
    return drawn


def _held(values: Any, candidate: Any) -> Any:
    """The values of one clustering."""
    if isinstance(values, xr.Dataset):
        values = variable_of(values, "sample_silhouette", "sample_simplified_silhouette")[0]
    if not isinstance(values, xr.DataArray):
        return values
    values = of_candidate(values, candidate)
    if "candidate" in values.dims:
        names = ", ".join(map(str, values["candidate"].values))
        raise InputError(f"there are silhouettes of {names}: choose one by candidate=")
    return values


def _edges(sizes: list[int]) -> Float:
    """Where clusters begin and end: in samples, but the smallest ones are still seen."""
    heights = np.maximum(sizes, (_GAP + _LEAST / _ROWS) * sum(sizes))
    return np.concatenate([[0.0], np.cumsum(heights)])


def _draw_profile(
    ax: Axes, values: Float, span: Float, total: float, style: dict[str, Any]
) -> PolyCollection:
    """Draw sorted bars over a span of the upright axis; quantiles, where there are too many."""
    rows = min(len(values), max(_LEAST, round((span[1] - span[0]) / total * _ROWS)))
    places = ((np.arange(rows) + 0.5) / rows * len(values)).astype(int)
    bars = np.sort(values)[::-1][places]
    edges = np.linspace(span[0], span[1], rows + 1)
    return ax.fill_betweenx(edges, np.append(bars, bars[-1]), step="post", **style)


def _name_clusters(ax: Axes, edges: Float, sizes: dict[str, int], *, left_out: int) -> None:
    """Write the names of clusters beside them, of the largest first, as far as there is room."""
    figure_of(ax).draw_without_rendering()
    size = "medium" if len(sizes) <= _FEW else "x-small"
    line = size_of(ax, "0", fontsize=size, pad=1)[1] * edges[-1] / ax.get_window_extent().height
    centers = (edges[1:] + edges[:-1]) / 2
    chosen: list[int] = []
    for number in sorted(range(len(sizes)), key=lambda each: -list(sizes.values())[each]):
        if all(abs(centers[number] - centers[other]) >= line for other in chosen):
            chosen.append(number)
    words = [f"{folded(name, 20, 2)} ({size:,})" for name, size in sizes.items()]
    ax.set_yticks(centers[chosen], [words[number] for number in chosen], fontsize=size)
    ax.tick_params(axis="y", length=0)
    notes = [f"{len(chosen)} of {len(sizes)} named"] if len(chosen) < len(sizes) else []
    notes += [f"{left_out:,} samples left out"] if left_out else []
    ax.set_ylabel("\n".join(["cluster (samples)", *notes]))

"""Pairs of samples, counted by their ranks or distances in both spaces."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.ticker import MaxNLocator

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._figures import label_of, title_of
from somscale.plot._heat import block_means, draw_mesh, each_candidate, scale_of
from somscale.plot._panels import Panels, axes_of
from somscale.plot._reading import labelled, of_candidate, only_dims, variable_of, wrapped
from somscale.plot._regions import name_regions

__all__ = ["coranking_matrix", "shepard_diagram"]

_CELLS: Final = 400  # along a side: what a picture 100 mm wide can show
_RANKS: Final = ("rank_in", "rank_out")
_DISTANCES: Final = ("input_distance", "output_distance")


def coranking_matrix(
    matrix: Any,
    *,
    k: int | None = None,
    ax: Axes | None = None,
    candidate: Any = None,
    cmap: str | Colormap | None = None,
    colorbar: bool = True,
    **keywords: Any,
) -> QuadMesh | Panels:
    """Draw the co-ranking matrix, in logarithmic colours.

    Ranks in the input space run downwards, those in the projection to the right, so that
    intrusions lie below the diagonal.  Entries of 0 are grey.  A matrix of more than 400 ranks
    is binned to means of square blocks, whose size the colour bar tells; its corner is seen
    by slicing, ``matrix[:100, :100]``.

    Parameters
    ----------
    matrix : Dataset, DataArray or array_like, (rank_in, rank_out)
        A result of :func:`somscale.evaluate` with ``coranking_matrix``, or this itself.
    k : int, optional
        The K that parts mild and hard intrusions and extrusions, which are named.
    ax : Axes, optional
        By default the current ones.
    candidate : optional
        Which candidate is drawn.  By default all, in a panel each of a new figure.
    cmap : str or Colormap, optional
        By default viridis.
    colorbar : bool
        Whether there is a colour bar.
    **keywords
        For :meth:`matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    QuadMesh, or array of Axes
        The latter for several candidates.

    Raises
    ------
    InputError
        No matrix of ranks, or `k` is none of them.

    References
    ----------
    Lee & Verleysen 2009, Quality assessment of dimensionality reduction: Rank-based criteria,
    Neurocomputing 72
    """
    values = of_candidate(_ranked(matrix), candidate)
    rest = only_dims(values, _RANKS, also=1)
    values = values.transpose(*rest, *_RANKS)
    if k is not None and not all(k in values[dim].values for dim in _RANKS):
        last = min(int(values[dim].max()) for dim in _RANKS)
        raise InputError(f"k={k} is no rank of the matrix, whose last one is {last}")
    step = -(-max(values.shape[-2:]) // _CELLS)
    down, across = (_rank_edges(values[dim].values, step) for dim in _RANKS)
    binned = values.isel({dim: slice(None, None, step) for dim in _RANKS}).copy(
        data=block_means(values.values, step)
    )
    keywords["norm"] = scale_of(binned, keywords, log=True)

    def draw(single: xr.DataArray, axes: Axes) -> QuadMesh:
        mesh = draw_mesh(axes, (across, down), _without_zeros(single), cmap, keywords)
        axes.set(xlim=across[[0, -1]], ylim=down[[-1, 0]], aspect="equal")
        axes.set_xlabel(label_of(single["rank_out"], "rank in the projection"))
        axes.set_ylabel(label_of(single["rank_in"], "rank among the samples"))
        axes.set_title(title_of(single), fontsize="medium")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator("auto", integer=True))
        return mesh

    per = "" if step == 1 else f", mean of {step} × {step} ranks"
    label = wrapped(f"{_counted(values)}{per} (grey: none)")
    drawn = each_candidate(binned, _RANKS, draw, ax=ax, label=label, colorbar=colorbar)
    if k is not None:  # now that the colour bar has taken its room
        for axes in axes_of(drawn):
            name_regions(axes, k)
    return drawn


def shepard_diagram(
    q: xr.Dataset | xr.DataArray,
    *,
    ax: Axes | None = None,
    candidate: Any = None,
    cmap: str | Colormap | None = None,
    colorbar: bool = True,
    **keywords: Any,
) -> QuadMesh | Panels:
    """Draw how many pairs of samples have which distances, before and after projection.

    Parameters
    ----------
    q : Dataset or DataArray
        A result of :func:`somscale.evaluate` with ``shepard_diagram``, or this itself, on the
        dims ``input_distance`` and ``output_distance``.
    ax : Axes, optional
        By default the current ones.
    candidate : optional
        Which candidate is drawn.  By default all, in a panel each of a new figure.
    cmap : str or Colormap, optional
        By default viridis, on a logarithmic scale.  Bins without pairs are grey.
    colorbar : bool
        Whether there is a colour bar.
    **keywords
        For :meth:`matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    QuadMesh, or array of Axes
        The latter for several candidates.

    Raises
    ------
    InputError
        The result has no such diagram.

    References
    ----------
    Shepard 1962, doi:10.1007/BF02289630
    """
    values = of_candidate(variable_of(q, "shepard_diagram")[0], candidate)
    only_dims(values, _DISTANCES, also=1)
    keywords["norm"] = scale_of(values, keywords, log=True)

    def draw(single: xr.DataArray, axes: Axes) -> QuadMesh:
        (across, x_label), (up, y_label) = (_distance_edges(single, dim) for dim in _DISTANCES)
        table = _without_zeros(single.transpose(*reversed(_DISTANCES)))
        mesh = draw_mesh(axes, (across, up), table, cmap, keywords)
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set_title(title_of(single), fontsize="medium")
        return mesh

    label = wrapped(f"{_counted(values)} of samples (grey: none)")
    return each_candidate(values, _DISTANCES, draw, ax=ax, label=label, colorbar=colorbar)


def _ranked(matrix: Any) -> xr.DataArray:
    """A matrix with its ranks, which begin at 1 where it does not say otherwise."""
    if not isinstance(matrix, xr.Dataset | xr.DataArray):
        matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise InputError(
                f"a co-ranking matrix has two dims, rank_in and rank_out, not {matrix.ndim}"
            )
        matrix = xr.DataArray(matrix, dims=_RANKS, attrs={"units": "pairs"})
    values = variable_of(matrix, "coranking_matrix")[0]
    missing = [dim for dim in _RANKS if dim in values.dims and dim not in values.coords]
    return values.assign_coords({dim: np.arange(1, values.sizes[dim] + 1) for dim in missing})


def _rank_edges(ranks: Any, step: int) -> Float:
    return np.append(ranks[::step] - 0.5, ranks[-1] + 0.5)


def _distance_edges(values: xr.DataArray, dim: str) -> tuple[Float, str]:
    """Edges of the bins of a distance, and what it is."""
    low, high = values[f"{dim}_low"], values[f"{dim}_high"]
    name = str(low.attrs.get("long_name", dim.replace("_", " "))).partition(",")[0]
    label = labelled(low.copy().assign_attrs(long_name=name))
    return np.append(low.values, high.values[-1]), label


def _without_zeros(values: xr.DataArray) -> Float:
    counts: Float = values.where(values > 0).values.astype(float)
    return counts


def _counted(values: xr.DataArray) -> str:
    return str(values.attrs.get("units", "pairs"))

"""Classes of the samples on a map: each unit's majority, or all its classes as a pie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from somscale._types import Float, Int
from somscale.codebook import is_map
from somscale.engine.readers.labels import factorize
from somscale.errors import InputError
from somscale.plot._canvas import draw_frame, draw_polygons, polygons_of
from somscale.plot._figures import CATEGORIES, OTHER, axes_or_current, title_of
from somscale.plot._pies import pies
from somscale.plot._placing import legend_beside
from somscale.plot._units import (
    grid_for,
    numbers_by_unit,
    values_by_unit,
    variable_by_unit,
)
from somscale.topology import Grid

__all__ = ["label_map"]

_EMPTY: Final = "#f7f7f7"
_NOISE: Final = "#4d4d4d"
_UNKNOWN: Final = "#cfcfcf"


@dataclass(frozen=True)
class Table:
    """How much of each unit is of each class.

    Attributes
    ----------
    counts : (K, C + 1) float64
        Samples, or shares of them; the last column is without a label.
    names : list of str
        The classes.
    """

    counts: Float
    names: list[str]


def label_map(
    labels: Any,
    units: Any = None,
    grid: Any = None,
    *,
    style: Literal["majority", "pie"] = "majority",
    noise_label: Any = None,
    ax: Axes | None = None,
    colors: dict[Any, Any] | None = None,
    legend: bool = True,
    **keywords: Any,
) -> PolyCollection:
    """Draw which classes the samples of each unit are of.

    Ten classes at most have a colour of their own, those of most samples; the rest is "other".
    Samples without a label are a class too, in grey, as is noise.

    Parameters
    ----------
    labels : array_like (sample,), Dataset, DataArray (unit, class) or array_like (unit,)
        One label a sample, with `units`; or, without, a result with ``label_distribution``, or
        these shares of classes, or one label a unit, as of :func:`somscale.cluster_units`.
    units : array_like (sample,) or Dataset, optional
        Best-matching unit of each sample, −1 where it has none, as ``q["bmu"]``; or the result.
    grid : Grid, Dataset, path, MiniSom or Somoclu, optional
        As in :func:`somscale.plot.units`.
    style : {"majority", "pie"}
        "majority": each cell in the colour of its most frequent class (the first one of a tie).
        "pie": in each cell a pie of all its classes, clockwise from the top.
    noise_label : optional
        The label that means noise.
    ax : Axes, optional
        By default the current axes.
    colors : dict, optional
        Colours of some classes, by their labels.
    legend : bool
        Say beside the map which colour is which class.
    **keywords
        Of the PolyCollection.

    Returns
    -------
    PolyCollection
        One polygon a unit, or one a slice of a pie, by unit and class.

    Raises
    ------
    InputError
        No grid is known, a number of labels other than that of units, a unit that the grid
        lacks, or a result without the variable.
    """
    if style not in ("majority", "pie"):
        raise InputError(f"style is 'majority' or 'pie', not {style!r}")
    result = isinstance(units, xr.Dataset) and "bmu" in units
    if grid is None and not result and (isinstance(units, Grid) or is_map(units)):
        units, grid = None, units
    labels, units, grid = _of_results(labels, units, grid)
    lattice = grid_for(labels if units is None else units, grid)
    found = _table(labels, units, lattice)
    shades, names, merged = _shades(found, noise_label, colors or {})
    ax = axes_or_current(ax)
    polygons = polygons_of(lattice)
    held = merged.sum(axis=1) > 0
    if style == "majority":
        faces = np.where(held, np.asarray(shades, dtype=object)[merged.argmax(axis=1)], _EMPTY)
        facts = {"edgecolors": "white", "linewidths": 0.4, **keywords}
        artist = draw_polygons(ax, polygons, facecolors=list(faces), **facts)
    else:
        draw_polygons(ax, polygons, facecolors=_EMPTY, edgecolors="#dddddd", linewidths=0.4)
        slices, which = pies(lattice, merged)
        facts = {"edgecolors": "face", "linewidths": 0.2, **keywords}
        artist = draw_polygons(ax, slices, facecolors=[shades[c] for c in which], **facts)
    draw_frame(ax, lattice)
    ax.set_title(title_of(labels))
    if legend:
        seen = [c for c in range(len(names)) if merged[:, c].any()]
        marks = [Patch(facecolor=shades[c]) for c in seen]
        legend_beside(ax, marks, [names[c] for c in seen])
    return artist


def _of_results(labels: Any, units: Any, grid: Any) -> tuple[Any, Any, Any]:
    """Labels, units and grid, where results are given for their variables."""
    if isinstance(labels, xr.Dataset):
        if units is not None:
            raise InputError(
                "labels are one for each sample, not a Dataset; give them, or the result alone"
            )
        if "label_distribution" not in labels:
            held = ", ".join(map(str, labels.data_vars)) or "no variable"
            raise InputError(
                f"the Dataset has no label_distribution (it has {held}); ask ss.evaluate for "
                'metrics=["label_distribution"] with labels=, or give one label a sample and '
                'q["bmu"]'
            )
        grid = labels if grid is None else grid
        labels = labels["label_distribution"]
    if isinstance(units, xr.Dataset):
        grid = units if grid is None else grid
        units = variable_by_unit(units, "bmu")
    return labels, units, grid


def _table(labels: Any, units: Any, grid: Grid) -> Table:
    if units is not None:
        return _of_samples(labels, units, grid)
    if isinstance(labels, xr.DataArray) and "class" in labels.dims:
        each = (labels.isel({"class": c}) for c in range(labels.sizes["class"]))
        parts = [numbers_by_unit(shares, grid) for shares in each]
        shares = np.nan_to_num(np.stack(parts, axis=1))
        names = labels["class"].values if "class" in labels.coords else range(shares.shape[1])
        return Table(np.column_stack([shares, np.zeros(grid.size)]), [str(n) for n in names])
    return _of_samples(values_by_unit(labels, grid), np.arange(grid.size), grid)


def _of_samples(labels: Any, units: Any, grid: Grid) -> Table:
    """Samples counted by unit and class."""
    if isinstance(labels, xr.DataArray) and isinstance(units, xr.DataArray):
        if set(labels.dims) == set(units.dims):
            labels = labels.transpose(*units.dims)
        labels = labels.values.reshape(-1)
    numbers = np.asarray(units).reshape(-1)
    column = factorize(labels, missing="drop")
    if len(column) != len(numbers):
        raise InputError(f"{len(column)} labels for {len(numbers)} samples; give one for each")
    if numbers.dtype.kind not in "iu" or numbers.max(initial=-1) >= grid.size:
        raise InputError(
            f"units are whole numbers from 0 to {grid.size - 1}, or −1; not "
            f"{numbers.max(initial=-1)} of type {numbers.dtype}"
        )
    codes = np.asarray(column.read(0, len(column)), dtype=np.int64)
    known = np.unique(codes[codes >= 0])
    places = np.where(codes < 0, len(known), np.searchsorted(known, codes))
    taking_part = numbers >= 0
    cells = numbers[taking_part].astype(np.int64) * (len(known) + 1) + places[taking_part]
    counts = np.bincount(cells, minlength=grid.size * (len(known) + 1))
    names = [str(name) for name in column.labels_of(known)]
    return Table(counts.reshape(grid.size, -1).astype(float), names)


def _shades(
    found: Table, noise_label: Any, given: dict[Any, Any]
) -> tuple[list[Any], list[str], Float]:
    """Colours and names of what is drawn, and how much of it each unit has."""
    given = {str(label): color for label, color in given.items()}
    alike = np.array([name == str(noise_label) for name in found.names], dtype=bool)
    noise = np.flatnonzero(alike & (noise_label is not None))
    own = np.setdiff1d(np.arange(len(found.names)), noise)
    totals = found.counts[:, own].sum(axis=0)
    free = [color for color in CATEGORIES if color not in given.values()]
    first = np.sort(np.argsort(-totals, kind="stable")[: len(CATEGORIES)])
    kept, rest = own[first], np.delete(own, first)
    names = [found.names[c] for c in kept]
    shades = [given.get(name) or (free.pop(0) if free else OTHER) for name in names]
    columns = [found.counts[:, kept]]
    groups: list[tuple[str, str, Int | list[int]]] = [
        (f"other ({len(rest)})", OTHER, rest),
        ("noise", _NOISE, noise),
        ("no label", _UNKNOWN, [found.counts.shape[1] - 1]),
    ]
    for name, shade, of in groups:
        columns.append(found.counts[:, of].sum(axis=1, keepdims=True))
        names.append(name)
        shades.append(shade)
    return shades, names, np.concatenate(columns, axis=1)

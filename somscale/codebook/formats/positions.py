"""A lattice recognised by where its units lie."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from somscale.codebook.formats.table import Layout
from somscale.codebook.formats.text import TextFile, shown
from somscale.errors import InputError
from somscale.topology import Offset, Topology

__all__ = ["arrange"]

_NEAR: Final = 0.02
"""Of a column's width: how far a place may be off, for text of few digits."""
_SAME: Final = 1e-6
"""Of the map's extent: what y may differ by within a row."""

_LARGEST: Final = 1e150
"""Beyond it differences of places overflow."""

_NAMES: Final[dict[str, Topology]] = {
    "rectangular": "rectangular",
    "rect": "rectangular",
    "hexagonal": "hexagonal",
    "hexa": "hexagonal",
}

Places = NDArray[np.float64]


def arrange(
    x: Places, y: Places, topology: str, periodic: bool | None, file: TextFile
) -> tuple[Layout, list[int]]:
    """The arrangement of units at some places, and the order that puts them row by row.

    Parameters
    ----------
    x, y : (K,) float64
        Places of the units; a row is of one y.
    topology : str
        What the file calls the lattice, or "".
    periodic : bool, optional
        Whether both axes wrap, where the file says it.
    file : TextFile
        For errors.

    Raises
    ------
    InputError
        The places are those of no rectangular or hexagonal grid, or of another than
        `topology` says.
    """
    if topology and topology not in _NAMES:
        raise InputError(
            f"{file.name} names the topology {shown(topology)}, not rectangular or hexagonal"
        )
    if not np.isfinite([x, y]).all():
        raise InputError(f"{file.name} lacks places of some units in 'x' or 'y'")
    largest = float(np.abs([x, y]).max())
    if largest > _LARGEST:
        raise InputError(f"{file.name} has a unit at {largest:g} in 'x' or 'y', which is no grid's")
    span = max(float(np.ptp(x)), float(np.ptp(y)))
    by_y = np.argsort(y, kind="stable")
    breaks = np.flatnonzero(np.diff(y[by_y]) > _SAME * span) + 1
    rows = [row[np.argsort(x[row], kind="stable")] for row in np.split(by_y, breaks)]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise InputError(
            f"{file.name} has rows of {min(lengths)} and of {max(lengths)} units by 'y', which is "
            "no grid; give grid= and leave out 'topology'"
        )
    places = np.array([x[row] for row in rows])
    shape = len(rows), places.shape[1]
    found = _lattice(places, np.array([y[row[0]] for row in rows]))
    if found is None:
        raise InputError(
            f"{file.name} has units at places of no rectangular or hexagonal grid; give grid= and "
            "leave out 'topology'"
        )
    kind, offset = found
    said = _NAMES.get(topology, kind)
    if said != kind and len(rows) > 1:
        raise InputError(f"{file.name} calls the map {said}, and its places 'x' and 'y' are {kind}")
    flat = [int(unit) for row in rows for unit in row]
    return Layout(*shape, said, offset, periodic), flat


def _lattice(x: Places, y: Places) -> tuple[Topology, Offset] | None:
    """The lattice of units at x (row, col) and y (row,), if there is one."""
    width = x[0, 1] - x[0, 0] if x.shape[1] > 1 else 1.0
    near = _NEAR * width
    uneven = np.abs(np.diff(x, axis=1) - width).max(initial=0)
    heights = np.diff(y)
    if heights.size:
        uneven = max(uneven, np.ptp(heights))
    if not uneven < near:
        return None
    shift = x[:, 0] - x[:, 0].min()
    if shift.max() < near:
        return "rectangular", "odd"
    offsets: tuple[Offset, ...] = ("odd", "even")
    for first, offset in enumerate(offsets):
        wanted = np.where(np.arange(len(y)) % 2 == 1 - first, width / 2, 0.0)
        if np.abs(shift - wanted).max() < near:
            return "hexagonal", offset
    return None

"""Somoclu: its trained objects, and the ``.wts`` of its command line and of the ESOM tools.

The format is that of somoclu's own writer (Wittek, Gao, Lim & Zhao, 2017, Journal of Statistical
Software 78(9), doi:10.18637/jss.v078.i09), which is that of the Databionic ESOM Tools: lines
``%rows columns`` and ``%dimension``, then one code vector a line, row by row.  Comments begin
with ``#``.  The R package DataIO of the same group writes 0 or 1 for a toroid after the columns,
and a third line of names, or of ones.

In hexagonal maps somoclu draws rows 0, 2, … shifted right by half a cell, so that ``offset`` is
"even" here.  The distances that it trains with are those of no hexagonal lattice: half columns
are lost in an unsigned integer, so that a unit of an even row has one neighbour in the next row
and one of an odd row has three (version 1.7.6).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from somscale.codebook.dataset import codebook
from somscale.codebook.formats.rows import CodeRows
from somscale.codebook.formats.table import CodeTable, Layout, check_names
from somscale.codebook.formats.text import TextFile, shown
from somscale.errors import InputError
from somscale.topology import Grid

__all__ = ["from_somoclu", "read_wts"]

ORIENTATION: Final = (
    "rows and columns are somoclu's; even rows of a hexagonal map are shifted right"
)

_WRAPS: Final = {"0": False, "1": True, "planar": False, "toroid": True}
_HEADER: Final = "a .wts begins with '%rows columns' and '%dimension'"


def from_somoclu(trained: Any) -> xr.Dataset:
    """Make a codebook of a trained Somoclu.

    Parameters
    ----------
    trained : somoclu.Somoclu
        Its codebook is (row, col, feature).

    Returns
    -------
    Dataset
        See :func:`somscale.codebook`.  Rows and columns are somoclu's own; a toroid has
        ``periodic=True``; of a hexagonal map the even rows are shifted right, as somoclu draws
        them.

    Raises
    ------
    InputError
        The object has no somoclu codebook, or its grid or map type is unknown; or it is a
        hexagonal toroid with an odd number of rows, which is no lattice.

    Notes
    -----
    Somoclu's U-matrix takes the 8 surrounding units of a rectangular map as neighbours,
    ``neighborhood="vertex"`` here.  On hexagonal maps its own distances are of no lattice: half
    columns are rounded away, so that a unit has one neighbour in the next row or three
    (version 1.7.6); the indices here judge the six that the drawn map shows.

    References
    ----------
    Wittek, Gao, Lim & Zhao (2017), Journal of Statistical Software 78(9),
    doi:10.18637/jss.v078.i09.
    """
    try:
        weights, rows, cols = trained.codebook, trained._n_rows, trained._n_columns
        wrapping, lattice = trained._map_type, trained._grid_type
    except AttributeError as missing:
        raise InputError(f"this {type(trained).__name__} is no Somoclu: {missing}") from None
    if weights is None:
        raise InputError("this Somoclu has no codebook yet; train it, or load one")
    if lattice not in ("rectangular", "hexagonal"):
        raise InputError(f"Somoclu's grid type {lattice!r} is neither rectangular nor hexagonal")
    if wrapping not in ("planar", "toroid"):
        raise InputError(f"Somoclu's map type {wrapping!r} is neither planar nor toroid")
    values = np.asarray(weights)
    if not values.size or values.size % (rows * cols):
        raise InputError(
            f"Somoclu's codebook has shape {values.shape}, and its map {rows} rows and {cols} "
            "columns"
        )
    if lattice == "hexagonal" and wrapping == "toroid" and rows % 2:
        raise InputError(
            f"Somoclu's hexagonal toroid of {rows} rows is no lattice, since its first and last "
            "row are shifted alike; choose a grid for ss.codebook(trained.codebook, grid), such as "
            f"ss.Grid({rows}, {cols}, topology='hexagonal', offset='even', periodic='cols')"
        )
    # before training the codebook is flat
    values = values.reshape(rows * cols, -1)
    grid = Grid(rows, cols, topology=lattice, offset="even", periodic=wrapping == "toroid")
    som = codebook(values, grid)
    som.attrs |= {"source_format": "somoclu object", "orientation": ORIENTATION}
    return som


def read_wts(file: TextFile) -> CodeTable:
    """Read weights of somoclu or the ESOM tools.

    Raises
    ------
    InputError
        A line is not as the header says, or there are too few of them or too many.
    """
    header: list[tuple[int, list[str]]] = []
    rows: CodeRows | None = None
    for number, line in file.lines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("%"):
            rows = rows or _begun(file, header)
            rows.add(number, line.split())
        elif rows is None:
            header.append((number, line[1:].split()))
        else:
            raise file.error(number, "begins with % amid the code vectors")
    rows = rows or _begun(file, header)
    return rows.table("somoclu .wts", ORIENTATION, _names(file, header[2:], rows.size))


def _begun(file: TextFile, header: list[tuple[int, list[str]]]) -> CodeRows:
    """What the header promises."""
    if len(header) < 2:
        raise InputError(f"{file.name} has {len(header)} lines with %, and {_HEADER}")
    number, entries = header[0]
    if len(entries) not in (2, 3):
        raise file.error(number, f"gives {len(entries)} numbers, and {_HEADER}")
    rows, cols = file.counts(number, entries[:2], "a side of the map")
    wrapping = entries[2].lower() if len(entries) == 3 else None
    if wrapping is not None and wrapping not in _WRAPS:
        raise file.error(
            number, f"has {shown(entries[2])} after rows and columns, not 0 (planar) or 1 (toroid)"
        )
    number, entries = header[1]
    if len(entries) != 1:
        raise file.error(number, f"gives {len(entries)} numbers, and {_HEADER}")
    (size,) = file.counts(number, entries, "the dimension")
    layout = Layout(rows, cols, periodic=_WRAPS.get(wrapping or ""), assumed=wrapping is None)
    return CodeRows(file, layout, size)


def _names(file: TextFile, header: list[tuple[int, list[str]]], size: int) -> list[str]:
    """Names of the features; none where there is no such line, or one of ones."""
    if not header:
        return []
    number, names = header[0]
    if len(header) > 1:
        raise file.error(header[1][0], f"is a fourth line with %, and {_HEADER}")
    if len(names) != size:
        raise file.error(number, f"names {len(names)} features and the header promises {size}")
    if set(names) == {"1"}:
        return []
    check_names(names, f"line {number} of {file.name}")
    return names

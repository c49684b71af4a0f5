"""Code tables as CSV, as R writes those of kohonen and aweSOM.

``write.csv(getCodes(map), "codes.csv")`` of the R package kohonen (Wehrens & Kruisselbrink, 2018,
Journal of Statistical Software 87(7), doi:10.18637/jss.v087.i07) makes a header of features, and
one line a unit with the name V1, V2, … before its code vector; ``write.csv2`` does so with
semicolons and decimal commas.  Of the grid it says nothing.  Bound to it,
``write.csv(data.frame(map$grid$pts, topology = map$grid$topo, toroidal = map$grid$toroidal,
getCodes(map), check.names = FALSE), "codes.csv", row.names = FALSE)``, columns x, y, topology and
toroidal do.

Units are numbered with x running fastest and y from 1 up, which R draws from the bottom.  Row 0
here is y = 1.  In a hexagonal map kohonen shifts y = 1, 3, … right by half a cell, so that
``offset`` is "even".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from somscale.codebook.formats.positions import arrange
from somscale.codebook.formats.table import CodeTable, check_names
from somscale.codebook.formats.text import MISSING, TextFile, shown
from somscale.errors import InputError

__all__ = ["read_csv"]

ORIENTATION: Final = "row counts up with y, col with x (kohonen's y = 1 is row 0)"

_DELIMITERS: Final = ",;\t"
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d*,\d*([eE][+-]?\d+)?")
_PLACE: Final = ("x", "y")
_ABOUT: Final = ("topology", "toroidal")
_TRUE_FALSE: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_ROW_NAMES: Final = ("", "unit")
"""Headers of a first column that numbers the units."""


@dataclass(frozen=True)
class _Cells:
    """The text of a table, with its header apart."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    named: bool = True

    def column(self, name: str) -> list[str]:
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def without(self, names: set[str]) -> _Cells:
        kept = [at for at, name in enumerate(self.header) if name not in names]
        rows = [[row[at] for at in kept] for row in self.rows]
        return replace(self, header=[self.header[at] for at in kept], rows=rows)

    def ordered(self, order: list[int]) -> _Cells:
        return replace(
            self, rows=[self.rows[n] for n in order], lines=[self.lines[n] for n in order]
        )


def read_csv(file: TextFile, *, placed: bool) -> CodeTable:
    """Read a table of code vectors.

    Parameters
    ----------
    file : TextFile
        The table.
    placed : bool
        Whether columns x and y are the units' places; else they are only if the table has a
        column ``topology`` too.

    Raises
    ------
    InputError
        A line has another number of entries, or one that is no number; the places are those
        of no grid; or units are missing.
    """
    cells = _numbered(file, _cells(file))
    layout = None
    names = set(cells.header)
    if set(_PLACE) <= names and (placed or "topology" in names):
        x, y = (_numbers(file, cells, [name])[:, 0] for name in _PLACE)
        topology, toroidal = (_said(file, cells, name) for name in _ABOUT)
        if toroidal and toroidal.lower() not in _TRUE_FALSE:
            raise InputError(f"{file.name} has {shown(toroidal)} in 'toroidal', not TRUE or FALSE")
        wraps = _TRUE_FALSE[toroidal.lower()] if toroidal else None
        layout, order = arrange(x, y, topology, wraps, file)
        cells = cells.ordered(order).without({*_PLACE, *_ABOUT})
    if not cells.header:
        raise InputError(f"{file.name} has no column of codes")
    codes = _numbers(file, cells, cells.header)
    features = cells.header if cells.named else ()
    return CodeTable(
        file.path, codes, "CSV table of codes", ORIENTATION, layout, features, (), cells.lines
    )


def _cells(file: TextFile) -> _Cells:
    """Split lines, all of one length; a table of numbers alone has no header."""
    parts = _split(file)
    number, header = next(parts, (0, list[str]()))
    if not header:
        raise InputError(f"{file.name} holds no table")
    rows, lines = [], []
    named = not all(map(_is_number, header))
    if not named:
        rows, lines = [header], [number]
        header = [str(n) for n in range(len(header))]
    else:
        header = [name.strip() for name in header]
    for number, row in parts:
        if not rows and len(row) == len(header) + 1:
            header = ["", *header]  # as R's write.table does, which has no name for row names
        if len(row) != len(header):
            raise file.error(number, f"has {len(row)} entries and the header {len(header)}")
        rows.append(row)
        lines.append(number)
    if not rows:
        raise InputError(f"{file.name} has a header and no code vector")
    check_names(header, f"the header of {file.name}")
    return _Cells(header, rows, lines, named)


def _split(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    lines = (line for _, line in file.lines())
    begun = []
    for line in lines:
        begun.append(line)
        if line:
            break
    try:
        widths = {d: len(next(csv.reader(begun[-1:], delimiter=d), [])) for d in _DELIMITERS}
    except csv.Error as error:
        raise file.error(len(begun), f"is no CSV: {error}") from None
    delimiter = max(widths, key=widths.__getitem__)
    reader = csv.reader(chain(begun, lines), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(row):
                entries = [entry.strip() for entry in row]
                # semicolons stand where commas are decimal
                yield reader.line_num, list(map(_pointed, entries)) if delimiter == ";" else entries
    except csv.Error as error:
        raise file.error(reader.line_num, f"is no CSV: {error}") from None


def _pointed(entry: str) -> str:
    return entry.replace(",", ".") if _DECIMAL_COMMA.fullmatch(entry) else entry


def _numbered(file: TextFile, cells: _Cells) -> _Cells:
    """Rows in the order of the units that their names number, and without these names."""
    if cells.header[0] not in _ROW_NAMES:
        return cells
    found = [re.fullmatch(r"V?([0-9]{1,15})", row[0]) for row in cells.rows]
    bare = cells.without({cells.header[0]})
    if not all(found):
        return bare
    units = [int(match[1]) for match in found if match]
    start = min(units)
    wanted = range(start, start + len(units))
    if start > 1 or sorted(units) != list(wanted):
        lacking = min(set(range(min(start, 1), len(units) + 1)) - set(units), default=start)
        seen: set[int] = set()
        for nth, unit in enumerate(units):
            if unit in seen:
                raise file.error(cells.lines[nth], f"is another of unit {cells.rows[nth][0]}")
            seen.add(unit)
        raise InputError(f"{file.name} lacks unit {lacking}; a part of a map is no map")
    # as text V10 comes before V2
    return bare.ordered(sorted(range(len(units)), key=units.__getitem__))


def _numbers(file: TextFile, cells: _Cells, names: list[str]) -> NDArray[np.float64]:
    """Columns as numbers, (K, columns)."""
    at = [cells.header.index(name) for name in names]
    values = []
    for line, row in zip(cells.lines, cells.rows, strict=True):
        entries = [row[n] for n in at]
        for name, entry in zip(names, entries, strict=True):
            if not _is_number(entry):
                raise file.error(line, f"has {shown(entry)} in {name!r}, which is no number")
        values.append(file.numbers(line, entries))
    return np.array(values)


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return entry in MISSING
    return "_" not in entry


def _said(file: TextFile, cells: _Cells, name: str) -> str:
    """What a column says, that says the same of every unit; nothing if it is not there."""
    if name not in cells.header:
        return ""
    said = cells.column(name)
    for line, text in zip(cells.lines, said, strict=True):
        if text != said[0]:
            raise file.error(line, f"has {shown(text)} in {name!r}, after {shown(said[0])}")
    return said[0]

"""SOM_PAK's ``.cod``, which SOM Toolbox for MATLAB and many other tools write too.

The format is that of SOM_PAK 3.1 (Kohonen, Hynninen, Kangas & Laaksonen, 1996: SOM_PAK, the
Self-Organizing Map program package, Helsinki University of Technology, report A31), with the
names of components on a line ``#n`` as SOM Toolbox writes them.

The header is ``dimension hexa|rect xdim ydim bubble|gaussian``; then each line is one code
vector, and its unit's labels.  x runs fastest.  In a hexagonal map every odd row (y = 1, 3, …)
lies half a cell to the right: SOM_PAK's distance of (0, 0) and (0, 1) is that of (1, 0) and
(0, 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import xarray as xr

from somscale.codebook.formats.rows import CodeRows
from somscale.codebook.formats.table import CodeTable, Layout, check_names
from somscale.codebook.formats.text import MISSING, TextFile, shown
from somscale.errors import InputError
from somscale.topology import Grid, Topology

__all__ = ["read_cod", "write_cod"]

ORIENTATION: Final = "row is y, col is x; odd rows of a hexagonal map are shifted right"

_LATTICES: Final[dict[str, Topology]] = {"hexa": "hexagonal", "rect": "rectangular"}
_CALLED: Final = {str(ours): theirs for theirs, ours in _LATTICES.items()}
_NEIGHBORHOODS: Final = ("bubble", "gaussian")
_MASKED: Final = MISSING | {"x"}
_TERMS: Final = ("weight=", "fixed=")
"""Terms after a vector that SOM_PAK reads as no label."""
_FRACTION: Final = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][+-]?\d+)")
_HEADER: Final = "a .cod begins with 'dimension hexa|rect xdim ydim bubble|gaussian'"


def read_cod(file: TextFile) -> CodeTable:
    """Read a SOM_PAK codebook.

    Raises
    ------
    InputError
        A line is not as the header says, or there are too few of them or too many.
    """
    lines = ((n, line) for n, line in file.lines() if line.strip())
    names: list[str] = []
    rows, before = _header(file, lines)
    for number, line in chain(before, lines):
        if line.startswith("#"):
            names = _names(file, number, line, rows.size) or names
            continue
        entries = line.split()
        label = _label(file, number, entries[rows.size :], rows.size)
        rows.add(number, entries[: rows.size], label, _MASKED)
    return rows.table("SOM_PAK .cod", ORIENTATION, names)


def _header(
    file: TextFile, lines: Iterator[tuple[int, str]]
) -> tuple[CodeRows, list[tuple[int, str]]]:
    """What the header promises, and the comments that stand before it."""
    comments = []
    for number, line in lines:
        if line.startswith("#"):
            comments.append((number, line))
            continue
        entries = line.split()
        if len(entries) != 5:
            raise file.error(number, f"is {shown(line)}, and {_HEADER}")
        size, cols, rows = file.counts(
            number, (entries[0], *entries[2:4]), "a dimension or a side of the map"
        )
        lattice, neighborhood = entries[1].lower(), entries[4].lower()
        if lattice not in _LATTICES:
            raise file.error(number, f"names the topology {shown(entries[1])}, not hexa or rect")
        if neighborhood not in _NEIGHBORHOODS:
            raise file.error(
                number, f"names the neighbourhood {shown(entries[4])}, not bubble or gaussian"
            )
        return CodeRows(file, Layout(rows, cols, _LATTICES[lattice]), size), comments
    raise InputError(f"{file.name} holds comments only, and {_HEADER}")


def _names(file: TextFile, number: int, line: str, size: int) -> list[str]:
    """Names of the components, if this comment gives them."""
    first, *names = line.split()
    if first != "#n":
        return []
    if len(names) != size:
        raise file.error(number, f"names {len(names)} components and the header promises {size}")
    check_names(names, f"line {number} of {file.name}")
    return names


def _label(file: TextFile, number: int, entries: list[str], size: int) -> str:
    labels = [entry for entry in entries if not entry.startswith(_TERMS)]
    for label in labels:
        # classes are often numbered, but a fraction is a value too many
        if _FRACTION.fullmatch(label):
            raise file.error(
                number, f"has the number {label} after the {size} values that the header promises"
            )
    return " ".join(labels)


def write_cod(som: xr.Dataset, grid: Grid, path: Path) -> None:
    """Write a codebook as SOM_PAK does, each number with all its digits.

    Raises
    ------
    InputError
        The format has no such grid, or no such names.
    """
    lattice = _CALLED.get(grid.topology)
    if lattice is None or Grid(*grid.shape, topology=_LATTICES[lattice]) != grid:
        raise InputError(
            f"a .cod cannot say {grid}, only planar maps, with 4 or 6 neighbours, distances in "
            "hops and odd rows shifted; write .npz or .zarr"
        )
    codes = som["codes"]
    if codes.ndim != 2:
        raise InputError(f"a .cod has features on one dim, not {codes.dims[1:]}; write .npz")
    lines = [f"{codes.shape[1]} {lattice} {grid.cols} {grid.rows} gaussian"]
    if (dim := codes.dims[1]) in codes.coords:
        # as SOM Toolbox does, since white space ends a name
        names = ["_".join(str(name).split()) for name in codes[dim].values]
        check_names(names, "a .cod, in which white space is an underscore,")
        if "" in names:
            raise InputError("a .cod has no room for a feature without a name; write .npz or .zarr")
        lines.append(f"#n {' '.join(names)}")
    labels = som["label"].values if "label" in som.coords else [""] * grid.size
    for unit, (values, label) in enumerate(zip(codes.values.tolist(), labels, strict=True)):
        entries = ["x" if value != value else repr(value) for value in values]
        words = str(label).split()
        for word in words:
            if word.startswith(_TERMS) or _FRACTION.fullmatch(word):
                raise InputError(
                    f"a .cod cannot hold the label {shown(str(label))} of unit {unit}, since "
                    f"{word!r} would be read as no label; write .npz or .zarr"
                )
        lines.append(" ".join([*entries, *words]))
    text = "\n".join(lines) + "\n"
    if "\0" in text or not _encodable(text):
        raise InputError(
            "a .cod is UTF-8 text, and a name or label has a character that is none; write .zarr"
        )
    path.write_text(text, "utf-8")


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

"""The Java SOMToolbox's ``.wgt``, plain or gzipped, as of SOMLib's formats.

The format is that of the SOMLib data files, version 1.7 (Vienna University of Technology, 2010,
http://ifs.tuwien.ac.at/dm/somtoolbox/somlibFileFormat.html), and of the toolbox's own reader:
lines ``$KEY value``, then one code vector a line and the unit's name,
``SOM_MAP_name_(x/y/z)``.  x runs fastest; y counts from the top.  In a hexagonal map every odd
row (y = 1, 3, …) lies half a cell to the right.
"""

from __future__ import annotations

import re
from typing import Final

from somscale.codebook.formats.rows import CodeRows
from somscale.codebook.formats.table import CodeTable, Layout
from somscale.codebook.formats.text import TextFile, shown
from somscale.errors import InputError
from somscale.topology import Topology

__all__ = ["read_wgt"]

ORIENTATION: Final = "row is y, col is x; odd rows of a hexagonal map are shifted right"

_LAYOUTS: Final[dict[str, Topology]] = {"rectangular": "rectangular", "hexagonal": "hexagonal"}
_OTHER_LAYOUTS: Final = ("triangular",)
_TOPOLOGIES: Final = {"planar": False, "toroid": True}
_OTHER_TOPOLOGIES: Final = ("cylindrical", "spherical")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(\s|$)")
_PLACE: Final = re.compile(r"\(([0-9]{1,15})/([0-9]{1,15})(?:/([0-9]+))?\)$")

Header = dict[str, tuple[int, str]]
"""Line and value of each key."""


def read_wgt(file: TextFile) -> CodeTable:
    """Read weight vectors of the Java SOMToolbox.

    Raises
    ------
    InputError
        A line is not as the header says, or there are too few of them or too many.
    """
    header: Header = {}
    rows: CodeRows | None = None
    for number, line in file.lines():
        entries = line.split()
        if not entries or entries[0].startswith("#"):
            continue
        if entries[0].startswith("$"):
            if rows is not None:
                raise file.error(number, f"has {shown(entries[0])} amid the code vectors")
            header[entries[0].upper()] = number, entries[1] if len(entries) > 1 else ""
            continue
        rows = rows or _begun(file, header)
        label = _label(file, number, entries, rows)
        rows.add(number, entries[: rows.size], label)
    return (rows or _begun(file, header)).table("SOMToolbox .wgt", ORIENTATION)


def _begun(file: TextFile, header: Header) -> CodeRows:
    """What the header promises."""
    header = {"$VEC_DIM" if key == "$VECDIM" else key: value for key, value in header.items()}
    for key in ("$XDIM", "$YDIM", "$VEC_DIM"):
        if key not in header:
            raise InputError(
                f"{file.name} has no line {key}; the header of a .wgt has $XDIM, $YDIM and $VEC_DIM"
            )
    line, kind = header.get("$TYPE", (0, "som"))
    if kind.lower().startswith("vec"):
        raise file.error(line, f"says $TYPE {kind}: these are input vectors, and no map")
    cols, rows, size = (
        file.counts(line, [value], key)[0]
        for key, (line, value) in ((k, header[k]) for k in ("$XDIM", "$YDIM", "$VEC_DIM"))
    )
    line, depth = header.get("$ZDIM", (0, "1"))
    if file.counts(line, [depth], "$ZDIM") != [1]:
        raise file.error(line, f"says $ZDIM {depth}; maps of more than one storey have no Grid")
    # files of before 2010 have the lattice in $TYPE, where those since then have "som"
    older = "hexagonal" if kind.lower() in ("hex", "hexa", "hexagonal") else "rectangular"
    line, lattice = header.get("$GRID_LAYOUT", (0, older))
    unusual = lattice if lattice in _OTHER_LAYOUTS else ""
    if lattice not in (*_LAYOUTS, *_OTHER_LAYOUTS):
        raise file.error(line, f"names the layout {shown(lattice)}, not {' or '.join(_LAYOUTS)}")
    line, wrapping = header.get("$GRID_TOPOLOGY", (0, ""))
    unusual = wrapping if wrapping in _OTHER_TOPOLOGIES else unusual
    if line and wrapping not in (*_TOPOLOGIES, *_OTHER_TOPOLOGIES):
        raise file.error(
            line, f"names the topology {shown(wrapping)}, not {' or '.join(_TOPOLOGIES)}"
        )
    topology = _LAYOUTS.get(lattice, "rectangular")
    periodic = _TOPOLOGIES.get(wrapping)
    layout = Layout(rows, cols, topology, periodic=periodic, unusual=unusual)
    return CodeRows(file, layout, size)


def _label(file: TextFile, number: int, entries: list[str], rows: CodeRows) -> str:
    """What stands after the values; nothing if it only names the unit's place."""
    row, col = rows.place(number)
    if entries[0] == "null":
        raise file.error(
            number, f"is null: the map has no unit at ({col}/{row}), and a Grid has no holes"
        )
    label = " ".join(entries[rows.size :])
    if _NUMBER.match(label):
        raise file.error(number, f"has more than the {rows.size} values that $VEC_DIM promises")
    named = _PLACE.search(label)
    if named is None:
        return label
    if (int(named[1]), int(named[2])) != (col, row):
        raise file.error(
            number, f"is of unit ({named[1]}/{named[2]}), where ({col}/{row}) should stand"
        )
    return ""

"""The door for maps in files, whichever tool wrote them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import xarray as xr

from somscale.codebook.dataset import codebook, grid_of
from somscale.codebook.formats.arrays import read_array
from somscale.codebook.formats.som_pak import read_cod
from somscale.codebook.formats.somoclu import read_wts
from somscale.codebook.formats.somtoolbox import read_wgt
from somscale.codebook.formats.spreadsheet import read_csv
from somscale.codebook.formats.text import TextFile
from somscale.errors import InputError
from somscale.store import open_dataset
from somscale.topology import Grid

__all__ = ["FORMATS", "read_codebook"]

FORMATS: Final = ("cod", "wts", "wgt", "csv", "npy", "npz", "zarr", "nc")
"""Names of the formats, which are how files of them end."""

_PICKLES: Final = (".p", ".pkl", ".pickle", ".joblib")
_EXPORTS: Final = {
    ".rds": "write.csv(getCodes(map), 'codes.csv') in R",
    ".rda": "write.csv(getCodes(map), 'codes.csv') in R",
    ".rdata": "write.csv(getCodes(map), 'codes.csv') in R",
    ".mat": "som_write_cod(sMap, 'map.cod') in MATLAB",
}
"""How to make a file that can be read of one that cannot."""


def read_codebook(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    grid: Grid | None = None,
    encoding: str = "utf-8",
) -> xr.Dataset:
    """Read a trained map from a file, of this or of another tool.

    Parameters
    ----------
    path : str or path
        The file, or Zarr store.  Text may be gzipped.
    format : {"cod", "wts", "wgt", "csv", "npy", "npz", "zarr", "nc"}, optional
        What the file is; by default what its name ends in.
    grid : Grid, optional
        How the units lie.  Needed where the file does not say it; elsewhere it must have the
        file's shape and lattice, and may differ in what the file cannot say: which rows are
        shifted, wrapping, neighbours, the distance on the map.
    encoding : str
        Of text: any that extends ASCII.

    Returns
    -------
    Dataset
        See :func:`somscale.codebook`.  Names of features are the coordinate ``feature``,
        labels of units the coordinate ``label``; the attributes ``source_format`` and
        ``orientation`` say where the codes come from and which of the tool's axes is a row.

    Raises
    ------
    InputError
        There is no such file, it is of none of these formats or of a format that runs code
        when it is opened, it breaks the rules of its own, or the grid does not fit.  Errors
        in text name the line.

    Warns
    -----
    UserWarning
        A ``.wts`` or an array (row, col, feature) does not say its lattice and none is given:
        it is taken as a planar rectangle.

    Notes
    -----
    ======== =================================== ===================== =========================
    name     written by                          says of the grid      shifted right, if
                                                                       hexagonal (``offset``)
    ======== =================================== ===================== =========================
    .cod     SOM_PAK, SOM Toolbox (MATLAB)       all; always planar    y = 1, 3, … ("odd")
    .wts     somoclu, ESOM Tools, DataIO         rows, cols; DataIO    rows 0, 2, … as drawn
                                                 also the toroid       ("even"; by `grid`)
    .wgt     Java SOMToolbox (Vienna)            all                   y = 1, 3, … ("odd")
    .csv     R kohonen, aweSOM (`write.csv`)     all, or nothing       y = 1, 3, … from 1
                                                                       ("even")
    .npz     :func:`somscale.write_codebook`     all                   as stored
    .npy     NumPy                               rows, cols if 3-D     by `grid`
    .zarr    somscale, xarray                    all, or nothing       as stored
    .nc      somscale, xarray                    all, or nothing       as stored
    ======== =================================== ===================== =========================

    A table in CSV says all if it has columns x and y (places of the units, one y a row) and
    maybe topology and toroidal.  With `grid` given, x and y are features, unless there is a
    column topology.  Without them its hexagonal grid is
    ``ss.Grid(ydim, xdim, topology="hexagonal", offset="even")``.  kohonen trains rectangular
    maps with the 8 surrounding units as neighbours, ``neighborhood="vertex"`` here.

    A value that is missing ("x" of SOM_PAK, NA, nan) must be missing in all units.  MiniSom's
    own files are pickles: load one yourself, and give the object wherever a map is wanted.

    References
    ----------
    SOM_PAK: Kohonen, Hynninen, Kangas & Laaksonen (1996), Helsinki University of Technology,
    report A31.  somoclu: Wittek et al. (2017), doi:10.18637/jss.v078.i09.  SOMLib data files,
    version 1.7 (2010), Vienna University of Technology.  kohonen: Wehrens & Kruisselbrink
    (2018), doi:10.18637/jss.v087.i07.

    Examples
    --------
    >>> import somscale as ss
    >>> grid = ss.Grid(20, 30, topology="hexagonal", offset="even", periodic=True)
    >>> som = ss.read_codebook("colours.wts", grid=grid)  # doctest: +SKIP
    """
    source = _path(path)
    if grid is not None and not isinstance(grid, Grid):
        raise InputError(f"the grid is a {type(grid).__name__}, not a Grid; make one with ss.Grid")
    file = TextFile(source, encoding)
    match _format_of(source, format):
        case "cod":
            return read_cod(file).dataset(grid)
        case "wts":
            return read_wts(file).dataset(grid)
        case "wgt":
            return read_wgt(file).dataset(grid)
        case "csv":
            return read_csv(file, placed=grid is None).dataset(grid)
        case "npy" | "npz":
            return read_array(source, grid)
        case _:
            return _read_dataset(source, grid)


def _path(path: Any) -> Path:
    """The path, refused where no file can have it."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise InputError(f"the path is a {type(path).__name__}, not a text or a path")
    found = Path(path)
    if "\0" in str(found):
        raise InputError(f"the path {str(found)!r} holds a zero byte, which no file's has")
    try:
        found.is_dir()
    except OSError as error:
        raise InputError(f"{found.name[:40]!r} cannot be read: {error.strerror}") from None
    return found


def _format_of(path: Path, named: str | None) -> str:
    """Name of the format, "nc" for what only xarray may know."""
    if named is not None:
        if named not in FORMATS:
            raise InputError(f"format={named!r} is none of {', '.join(FORMATS)}")
        return named
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in _PICKLES:
        raise InputError(
            f"{path.name!r} is a pickle, which runs code when it is opened: load it yourself "
            "(with open(path, 'rb') as file: som = pickle.load(file)) and give the map itself"
        )
    if suffix in _EXPORTS:
        raise InputError(
            f"{path.name!r} is of no format that is read here; write it anew with "
            f"{_EXPORTS[suffix]}"
        )
    found = suffix.removeprefix(".")
    return found if found in FORMATS and not path.is_dir() else "nc"


def _read_dataset(path: Path, grid: Grid | None) -> xr.Dataset:
    """A codebook of somscale's as it is, or codes of another Dataset on a given grid."""
    with open_dataset(path) as opened:
        som = opened.load()
    if grid is None:
        if "codes" not in som or "grid" not in som.attrs:
            raise InputError(
                f"{str(path)!r} is not a codebook of somscale's; give grid= for its codes"
            )
        try:
            grid_of(som)
        except InputError as error:
            raise InputError(f"{str(path)!r}: {error}") from None
        return som
    numbers = [str(n) for n, variable in som.data_vars.items() if variable.dtype.kind in "fiu"]
    names = [n for n in ("codes", "codebook", "weights") if n in numbers] or numbers
    if len(names) != 1:
        raise InputError(
            f"{str(path)!r} holds the variables {sorted(map(str, som.data_vars))}; one of them "
            "must be called 'codes'"
        )
    return codebook(som[names[0]], grid)

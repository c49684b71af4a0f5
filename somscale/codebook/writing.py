"""Write a codebook for other tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import xarray as xr

from somscale.codebook.formats.arrays import write_npz
from somscale.codebook.formats.som_pak import write_cod
from somscale.codebook.opening import as_codebook, as_map
from somscale.errors import InputError
from somscale.store import write_dataset

__all__ = ["write_codebook"]


def write_codebook(som: Any, path: str | os.PathLike[str]) -> None:
    """Write a map to a file that :func:`somscale.read_codebook` reads, and other tools.

    Parameters
    ----------
    som : Dataset, MiniSom or Somoclu
        The map.
    path : str or path
        Where to: ``.cod`` (SOM_PAK; planar maps whose odd rows are shifted, every number with
        the digits that give it back), ``.npz`` (any map), ``.zarr`` or ``.nc`` (all there is
        in the Dataset).  A file that is there is replaced.

    Raises
    ------
    InputError
        The name ends otherwise, the format cannot hold this map, or nothing can be written
        there.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path is a {type(path).__name__}, not a text or a path")
    dataset: xr.Dataset = as_codebook(som)
    target = Path(path)
    try:
        _write(dataset, target)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"{str(target)!r} cannot be written: {error.strerror}") from None


def _write(dataset: xr.Dataset, target: Path) -> None:
    grid = as_map(dataset).grid
    match target.suffix.lower():
        case ".cod":
            write_cod(dataset, grid, target)
        case ".npz":
            write_npz(dataset, target)
        case ".zarr" | ".nc":
            write_dataset(dataset, target)
        case _:
            raise InputError(
                f"a codebook is written as .cod, .npz, .zarr or .nc, not {target.name!r}"
            )

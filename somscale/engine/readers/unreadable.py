"""Why a file cannot be opened, and what to do about it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

__all__ = ["has_netcdf4", "why_unreadable"]

_HDF5: Final = b"\x89HDF\r\n\x1a\n"
_SIGNATURES: Final = (_HDF5, b"CDF")
# h5netcdf 1.8 comes without h5py, and reads nothing until there is one
_READERS: Final = (("netCDF4",), ("h5netcdf", "h5py"))


def has_netcdf4() -> bool:
    """Whether a library that reads and writes NetCDF 4 is installed, with all that it needs."""
    return any(all(map(find_spec, packages)) for packages in _READERS)


def why_unreadable(path: Path, error: Exception) -> str:
    """What to say of a file that xarray refused, in a sentence's second half.

    Parameters
    ----------
    path : Path
        The file.
    error : Exception
        What xarray said, which speaks of its own arguments and goes over several lines.
    """
    start = _start(path)
    if start.startswith(_HDF5) and not has_netcdf4():
        return (
            "it looks like NetCDF 4, which needs netCDF4 or h5netcdf: "
            "pip install 'somscale[netcdf]'"
        )
    if start and not start.startswith(_SIGNATURES):
        return (
            "somscale reads Zarr, NetCDF and .npy; read it with pandas and give the DataFrame, or "
            "save it as .npy"
        )
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _start(path: Path) -> bytes:
    """The first bytes of a file; none where it is no file, or may not be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HDF5))
    except OSError:
        return b""

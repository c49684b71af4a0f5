"""Versions and machine, for a report of a problem."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal, overload

from somscale._version import __version__

__all__ = ["EXTRAS", "RUNTIME", "show_versions", "versions_text"]

RUNTIME: Final = (
    "click",
    "dask",
    "distributed",
    "filelock",
    "fsspec",
    "numba",
    "numpy",
    "psutil",
    "rich",
    "scikit-learn",
    "scipy",
    "threadpoolctl",
    "tqdm",
    "xarray",
    "zarr",
)
"""What somscale needs, as pyproject.toml lists it; a test compares them."""

EXTRAS: Final = {
    "netcdf": ("h5netcdf", "h5py", "netCDF4"),
    "plot": ("matplotlib",),
    "report": ("bokeh", "jinja2"),
    "s3": ("s3fs",),
}
"""What each optional extra adds."""

_MISSING: Final = "not installed"


@overload
def show_versions(*, as_dict: Literal[False] = False) -> None: ...
@overload
def show_versions(*, as_dict: Literal[True]) -> dict[str, Any]: ...


def show_versions(*, as_dict: bool = False) -> dict[str, Any] | None:
    """Print the versions and the machine that a report of a problem should name.

    Cheap: no package is imported to ask for its version.  No path is shown.

    Parameters
    ----------
    as_dict : bool
        Return it, and print nothing.

    Returns
    -------
    dict or None
        With `as_dict`: ``somscale``, ``python`` and ``platform``, text; ``cores``, those that
        this process may use; ``memory`` and ``memory_available``, in bytes; ``blas``, a list
        of the libraries of linear algebra that are loaded, each with ``name``, ``version``,
        ``architecture`` and ``threads``; ``packages`` and ``extras``, version by name, "not
        installed" where there is none.

    Examples
    --------
    >>> import somscale as ss
    >>> ss.show_versions(as_dict=True)["somscale"] == ss.__version__
    True
    """
    found = _found()
    if as_dict:
        return found
    print(versions_text(found))
    return None


def versions_text(found: dict[str, Any]) -> str:
    """What :func:`show_versions` found, a line each."""
    blas = [
        f"{one['name']} {one['version']} ({one['architecture']}), {_counted(one['threads'])}"
        for one in found["blas"]
    ]
    size, free = (f"{found[name] / 2**30:.1f} GiB" for name in ("memory", "memory_available"))
    machine = {
        "somscale": found["somscale"],
        "Python": found["python"],
        "platform": found["platform"],
        "cores": found["cores"],
        "memory": f"{size}, of which {free} are available",
        "BLAS": "; ".join(blas) or "unknown",
    }
    extras = {
        f"{name} [{extra}]": found["extras"][name]
        for extra, names in EXTRAS.items()
        for name in names
    }
    rows = {**machine, **found["packages"], **extras}
    width = max(map(len, rows)) + 2
    return "\n".join(f"{name:{width}}{value}" for name, value in rows.items())


def _found() -> dict[str, Any]:
    import psutil

    memory = psutil.virtual_memory()
    return {
        "somscale": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "cores": _cores(),
        "memory": memory.total,
        "memory_available": memory.available,
        "blas": _blas(),
        "packages": {name: _version_of(name) for name in RUNTIME},
        "extras": {name: _version_of(name) for names in EXTRAS.values() for name in names},
    }


def _blas() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    return [
        {
            "name": one["internal_api"],
            "version": one.get("version") or "of unknown version",
            "architecture": one.get("architecture") or "unknown architecture",
            "threads": one["num_threads"],
        }
        for one in threadpool_info()
        if one["user_api"] == "blas"
    ]


def _cores() -> int:
    """Cores that this process may use, which a scheduler or a container may have cut."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return _MISSING


def _counted(threads: int) -> str:
    return f"{threads} thread" if threads == 1 else f"{threads} threads"

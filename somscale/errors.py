"""The errors somscale raises, under one base class.

Every message is one sentence that says what was wrong, where (dimension,
index, value) and what to do about it.  The classes also derive from the
built-in error a caller would expect, and pickle, so that an error raised in a
Dask worker arrives unchanged.
"""

from __future__ import annotations

__all__ = [
    "ChunkError",
    "ClusterError",
    "InputError",
    "MemoryBudgetError",
    "SampleValueError",
    "SomscaleError",
    "UnknownMetricError",
    "WorkspaceBusyError",
    "WorkspaceError",
]


class SomscaleError(Exception):
    """Base class of every error that somscale raises on purpose."""


class InputError(SomscaleError, ValueError):
    """An argument has the wrong shape, type or value."""


class SampleValueError(InputError):
    """The samples hold a value no index can be computed from (nan, infinity, overflow)."""


class UnknownMetricError(InputError):
    """No index has the name that was asked for."""


class MemoryBudgetError(SomscaleError, MemoryError):
    """The projected peak memory of a plan exceeds the budget; nothing was computed.

    Attributes
    ----------
    needed : int
        The smallest budget that works, in bytes; 0 where it is not known.
    """

    needed: int = 0


class ClusterError(SomscaleError, RuntimeError):
    """The Dask cluster that computes was lost before the work was done."""


class WorkspaceError(SomscaleError, OSError):
    """A workspace cannot be opened, read or written as it is."""


class WorkspaceBusyError(WorkspaceError):
    """Another process, or another thread of this one, is writing to the workspace."""


class ChunkError(WorkspaceError):
    """A chunk of a stored array is missing, or its bytes are not those that were written.

    Attributes
    ----------
    array : str
        Path of the array in its workspace.
    chunk : tuple of int
        Which chunk, counted along every dim.
    """

    array: str = ""
    chunk: tuple[int, ...] = ()

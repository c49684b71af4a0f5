"""One writer at a time.

A local workspace is locked by a file beside it, which the operating system frees when the
process ends, however it ends.  A workspace in memory has a lock of this process.  Anywhere
else the writer keeps a lease in the workspace itself.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from somscale.errors import WorkspaceBusyError, WorkspaceError
from somscale.store.location import Location

__all__ = ["writing"]

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def writing(location: Location, *, wait: float = 0.0) -> Iterator[None]:
    """Be the only one who writes to a workspace.

    Parameters
    ----------
    location : Location
        Workspace, which need not exist yet.
    wait : float
        Seconds to wait for another writer to end.

    Raises
    ------
    WorkspaceBusyError
        Another process, or another thread of this one, is writing, and has not ended in
        time.  At the end: the lease was lost meanwhile, as this process had stood still.
    WorkspaceError
        The location is read-only, or no lock can be made there.
    """
    location.check_writable()
    with _lock_of(location, wait):
        yield


def _lock_of(location: Location, wait: float) -> AbstractContextManager[None]:
    if location.path is not None:
        return _local(location, wait)
    from zarr.storage import WrapperStore

    # a wrapper is an instrument of this process, whatever it wraps
    if location.in_memory or isinstance(location.store, WrapperStore):
        return _in_process(location, wait)
    from somscale.store.lease import leasing

    return leasing(location, wait)


@contextmanager
def _local(location: Location, wait: float) -> Iterator[None]:
    from filelock import FileLock, Timeout

    assert location.path is not None
    file = location.path.with_name(f".{location.path.name}.lock")
    # one thread may take it, and another give it back
    lock = FileLock(file, thread_local=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=max(wait, 0.0), poll_interval=0.05)
    except Timeout:
        raise _busy(location, wait) from None
    except (OSError, NotImplementedError) as error:
        raise WorkspaceError(
            f"the lock {file} cannot be made, and without it nothing is written to "
            f"{location.name}: {error}"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _in_process(location: Location, wait: float) -> Iterator[None]:
    lock = _locks[location.name]
    if not lock.acquire(timeout=max(wait, 0.0)):
        raise _busy(location, wait)
    try:
        yield
    finally:
        lock.release()


def _busy(location: Location, wait: float) -> WorkspaceBusyError:
    waited = f" after {wait:g} s of waiting" if wait > 0 else ""
    return WorkspaceBusyError(
        f"another process or thread is writing to {location.name}{waited}; "
        "wait until it has ended, and give the command again"
    )

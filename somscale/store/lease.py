"""A lease: the lock of a workspace in an object store, which knows no locks.

It is a Zarr group ``lock`` in the workspace, so that readers find nothing that is foreign
to Zarr, with who holds it in the attributes.  The holder renews it; one that was not
renewed for long is free, and so is one of a process of this machine that has died.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import psutil

from somscale.errors import WorkspaceBusyError, WorkspaceError
from somscale.store.keys import delete_prefix, read_key, write_key
from somscale.store.location import Location

__all__ = ["Lease", "leasing", "read_lease"]

PATH = "lock"
"""The group in the workspace."""

RENEWED = 20.0  # seconds between renewals
ABANDONED = 90.0  # seconds after which a lease that was not renewed is free
SETTLING = 0.5  # seconds for another who saw no lease either to write his
_POLL = 0.5  # seconds between looks at a lease that is held
_READS = 4  # tries to read a lease where it may be torn


@dataclass(frozen=True)
class Lease:
    """Who writes to a workspace.

    Attributes
    ----------
    token : str
        Random, another for every lease.
    host, process
        Where the writer runs.
    begun, renewed : float
        Seconds since 1970, by the writer's clock.
    """

    token: str
    host: str
    process: int
    begun: float
    renewed: float

    def is_free(self) -> bool:
        """Whether its holder has died, or has not renewed it for long."""
        if time.time() - self.renewed > ABANDONED:
            return True
        return self.host == socket.gethostname() and not _is_alive(self.process, self.begun)

    def text(self) -> bytes:
        """The metadata of the group."""
        group = {"zarr_format": 3, "node_type": "group", "attributes": asdict(self)}
        return json.dumps(group).encode()


@contextmanager
def leasing(location: Location, wait: float) -> Iterator[None]:
    """Hold the lease of a workspace, as :func:`somscale.store.locking.writing` says."""
    try:
        lease = _acquire(location, wait)
    except WorkspaceError:
        raise
    except OSError as error:
        raise WorkspaceError(f"the lock of {location.name} cannot be written: {error}") from error
    renewal = _Renewal(location, lease)
    renewal.start()
    try:
        yield
    finally:
        renewal.end()
    if renewal.lost:
        raise WorkspaceBusyError(
            f"another process has taken over the writing to {location.name} while this one "
            "stood still; give the command again"
        )


def read_lease(location: Location) -> Lease | None:
    """The lease of a workspace, None where there is none that can be read."""
    for _ in range(_READS):
        text = read_key(location, f"{PATH}/zarr.json")
        if text is None:
            return None
        try:
            return Lease(**json.loads(text)["attributes"])
        except (ValueError, KeyError, TypeError):
            time.sleep(_POLL / _READS)  # it is being written, or was when a process died
    return None


def _acquire(location: Location, wait: float) -> Lease:
    until = time.monotonic() + wait
    while True:
        known = read_lease(location)
        if known is None or known.is_free():
            lease = _new_lease()
            _write(location, lease)
            time.sleep(SETTLING)
            known = read_lease(location)
            if known is not None and known.token == lease.token:
                return lease
        if time.monotonic() >= until:
            raise _busy(location, known)
        time.sleep(_POLL)


def _new_lease() -> Lease:
    now = time.time()
    return Lease(uuid.uuid4().hex, socket.gethostname(), os.getpid(), now, now)


def _write(location: Location, lease: Lease) -> None:
    write_key(location, f"{PATH}/zarr.json", lease.text())


def _busy(location: Location, holder: Lease | None) -> WorkspaceBusyError:
    who = "another process"
    if holder is not None:
        who = f"process {holder.process} on {holder.host}"
    return WorkspaceBusyError(
        f"{who} is writing to {location.name}; wait until it has ended, and give the command "
        f"again (if it has died there, its lock is free after {ABANDONED:g} s)"
    )


def _is_alive(process: int, begun: float) -> bool:
    """Whether the process that took a lease lives, and not another under its number."""
    try:
        known = psutil.Process(process)
        # a zombie has died, and its parent has not heard of it
        return known.create_time() <= begun + 1 and known.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


class _Renewal(threading.Thread):
    """Renews a lease until it ends, unless another has taken it."""

    def __init__(self, location: Location, lease: Lease) -> None:
        super().__init__(name="somscale-lease", daemon=True)
        self.location = location
        self.lease = lease
        self.lost = False
        self._ended = threading.Event()

    def run(self) -> None:
        """Renew the lease from time to time."""
        while not self._ended.wait(RENEWED) and not self.lost:
            try:
                if self._is_ours():
                    self.lease = replace(self.lease, renewed=time.time())
                    _write(self.location, self.lease)
                else:
                    self.lost = True
            except OSError:
                continue  # the store may answer the next time; if not, the lease runs out

    def end(self) -> None:
        """Stop, and give the lease back if it is still ours."""
        self._ended.set()
        self.join()
        try:
            if self._is_ours():
                delete_prefix(self.location, PATH)
            else:
                self.lost = True
        except OSError:
            pass  # then it runs out, and this process is known to be gone before

    def _is_ours(self) -> bool:
        known = read_lease(self.location)
        return known is not None and known.token == self.lease.token

"""Samples that a process reads whole, once, and holds as long as a pass runs.

Dask hands a :class:`Resident` from task to task, empty where it has to travel,
and lets go of it when the pass ends or fails; the values go with it.
"""

from __future__ import annotations

import threading
import weakref

from somscale._types import AnyArray
from somscale.engine.readers.sources import Source

__all__ = ["Resident", "release", "resident"]

_lock = threading.Lock()
_alive: weakref.WeakValueDictionary[str, Resident] = weakref.WeakValueDictionary()
_pinned: dict[str, Resident] = {}


class Resident:
    """A source that is read whole on first use; one for every token in a process.

    Parameters
    ----------
    source : Source
        Where the samples are.
    token : str
        What the pass is known by in every process.
    pin : bool
        Hold on until the next pinned pass.  Pool processes need it: Dask sends them
        every task anew, and nothing else lives from one task to the next.
    """

    def __init__(self, source: Source, token: str, pin: bool) -> None:
        self._source = source
        self._token = token
        self._pin = pin
        self._lock = threading.Lock()
        self._values: AnyArray | None = None
        self._released = False

    def __reduce__(self) -> tuple[object, ...]:
        return resident, (self._source, self._token, self._pin)

    def read(self, rows: slice, features: slice) -> AnyArray:
        """The values of some rows and features."""
        with self._lock:
            if self._values is None and not self._released:
                n_rows, n_features = self._source.shape
                self._values = self._source.read(slice(0, n_rows), slice(0, n_features))
            values = self._values
        if values is None:
            # the pass has ended while this task was under way
            return self._source.read(rows, features)
        return values[rows, features]

    def release(self) -> None:
        """Let go of the values, now and for good."""
        with self._lock:
            self._released = True
            self._values = None


def resident(source: Source, token: str, pin: bool = False) -> Resident:
    """The process's one :class:`Resident` of a token."""
    with _lock:
        found = _alive.get(token)
        if found is None:
            found = Resident(source, token, pin)
            _alive[token] = found
            if pin:
                _pinned.clear()
                _pinned[token] = found
        return found


def release(token: str) -> None:
    """Let go of what this process holds under a token."""
    with _lock:
        found = _alive.pop(token, None)
        _pinned.pop(token, None)
    if found is not None:
        found.release()

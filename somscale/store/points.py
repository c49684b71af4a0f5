"""Named commit points: where a test may have the process die.

The environment variable ``SOMSCALE_ABORT_AT="name:count"`` kills the process by SIGKILL
the count-th time (counted from 1, in each process anew) that it reaches the point.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

from somscale.errors import InputError

__all__ = ["POINTS", "reach"]

POINTS: frozenset[str] = frozenset(
    {
        "root:created",
        "samples:created",
        "samples:complete",
        "map:created",
        "map:complete",
        "matrix:created",
        "matrix:complete",
        "chunk:before",
        "chunk:after",
        "checkpoint:before",
        "checkpoint:after",
        "result:created",
        "result:complete",
        "run:cleaned",
    }
)
"""Names of all points."""

_VARIABLE = "SOMSCALE_ABORT_AT"
_reached: Counter[str] = Counter()
_lock = threading.Lock()


def reach(point: str) -> None:
    """Pass a commit point, or die there.

    Parameters
    ----------
    point : str
        One of :data:`POINTS`.

    Raises
    ------
    InputError
        ``SOMSCALE_ABORT_AT`` is set, and it or `point` names no point.
    """
    wanted = os.environ.get(_VARIABLE)
    if wanted is None:
        return
    name, count = _parse(wanted)
    if point not in POINTS:
        raise InputError(f"{point!r} is no commit point; there are {', '.join(sorted(POINTS))}")
    with _lock:
        _reached[point] += 1
        if point == name and _reached[point] == count:
            # Windows has no SIGKILL, and ends a process at once by any other signal
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _parse(wanted: str) -> tuple[str, int]:
    name, _, count = wanted.rpartition(":")
    if name not in POINTS or not count.isdecimal() or int(count) < 1:
        raise InputError(
            f"{_VARIABLE}={wanted!r} is not a commit point and a count from 1, "
            f"such as 'chunk:after:3'; the points are {', '.join(sorted(POINTS))}"
        )
    return name, int(count)

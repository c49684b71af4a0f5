"""One BLAS thread a task, for every scheduler and every moment of computing.

Threaded tasks times threaded BLAS is many times slower than either.  The
limit belongs to the process, so the first task in sets it and the last one
out restores what was there.  threadpoolctl lets only one living thread control
OpenBLAS, and ignores all others: the limit is set by short-lived threads, which
take control from whoever has it and leave it to whoever wants it next.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded_blas"]

_lock = threading.Lock()
_holders = 0
_limiter: Any = None
_controller: ThreadpoolController | None = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS at one thread inside the block; nests, and counts over threads."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _holders, _limiter
    with _lock:
        if _holders == 0:
            _limiter = _in_own_thread(_limit)
        _holders += 1


def _leave() -> None:
    global _holders, _limiter
    with _lock:
        _holders -= 1
        if _holders == 0:
            limiter, _limiter = _limiter, None
            _in_own_thread(lambda: _restore(limiter))


def _limit() -> Any:
    global _controller
    if _controller is None:
        importlib.import_module("numpy")  # its BLAS must be loaded before the controller looks
        from threadpoolctl import ThreadpoolController

        _controller = ThreadpoolController()
    _take_control(_controller)
    return _controller.limit(limits=1, user_api="blas")


def _restore(limiter: Any) -> None:
    if _controller is not None:
        _take_control(_controller)
    limiter.restore_original_limits()


def _take_control(controller: ThreadpoolController) -> None:
    for library in controller.select(user_api="blas").lib_controllers:
        # threadpoolctl before 3.6 lets every thread set the limit
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


def _in_own_thread(call: Any) -> Any:
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(call()), name="somscale-blas")
    thread.start()
    thread.join()
    return result[0]

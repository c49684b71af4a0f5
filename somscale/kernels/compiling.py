"""How loops are compiled; imported only by the modules that hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled"]

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Compile a loop that holds no lock, kept on disk where a folder is writable."""
    try:
        machine: Any = numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:
        machine = numba.njit(nogil=True)(loop)
    return cast(Loop, machine)

"""How loops are compiled; imported only by the modules that hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["REASSOCIATED", "compiled", "compiled_with"]

Loop = TypeVar("Loop", bound=Callable[..., Any])

REASSOCIATED = frozenset({"nsz", "arcp", "contract", "reassoc"})
"""Sums in any order, so that they run in vectors; nan and inf stay what they are."""


def compiled(loop: Loop) -> Loop:
    """Compile a loop that holds no lock, kept on disk where a folder is writable."""
    return compiled_with()(loop)


def compiled_with(fastmath: frozenset[str] = frozenset()) -> Callable[[Loop], Loop]:
    """Compile as `compiled` does, with some of LLVM's fast-math flags."""

    def compile_loop(loop: Loop) -> Loop:
        flags: Any = set(fastmath) or False
        try:
            machine: Any = numba.njit(nogil=True, cache=True, fastmath=flags)(loop)
        except RuntimeError:
            machine = numba.njit(nogil=True, fastmath=flags)(loop)
        return cast(Loop, machine)

    return compile_loop

"""What makes two functions the same: their code, and the plain globals that it reads."""

from __future__ import annotations

import dis
import enum
import types
from collections.abc import Iterator

import numpy as np

__all__ = ["code_parts", "global_parts"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes, enum.Enum, np.ndarray, np.generic)
_HOLDERS = (tuple, list, set, frozenset)


def code_parts(code: types.CodeType) -> tuple[object, ...]:
    """Instructions, names and constants, without file, line numbers or its own name."""
    return (
        code.co_code,
        code.co_exceptiontable,
        code.co_consts,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
    )


def global_parts(function: types.FunctionType) -> dict[str, object]:
    """The globals that a function reads: plain values as they are, others by their names.

    Functions of the same module are plain, too: a distance that calls a helper is another
    one as soon as the helper is.
    """
    found: dict[str, object] = {}
    for name in sorted(set(_global_names(function.__code__))):
        if name in function.__globals__:
            found[name] = _told(function.__globals__[name], function)
    return found


def _told(value: object, reader: types.FunctionType) -> object:
    if isinstance(value, types.FunctionType):
        own = value.__module__ == reader.__module__
        return value if own else ("function", value.__module__, value.__qualname__)
    if isinstance(value, types.ModuleType | type) or _is_plain(value) or hasattr(value, "py_func"):
        return value
    return ("other", type(value).__module__, type(value).__qualname__)


def _is_plain(value: object) -> bool:
    if type(value) in _HOLDERS and isinstance(value, _HOLDERS):
        return all(_is_plain(entry) for entry in value)
    if type(value) is dict and isinstance(value, dict):
        return all(_is_plain(entry) for pair in value.items() for entry in pair)
    return isinstance(value, _PLAIN)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Names that a piece of code, or one inside it, looks up among the globals."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)

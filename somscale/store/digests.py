"""Digests of arguments: equal in every process where the arguments are.

Checkpoints and results of one run are found again by these, so nothing in them may
depend on hash seeds, on the order of sets, on memory layout or on addresses.
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import hashlib
import struct
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from somscale._types import AnyArray
from somscale.errors import InputError
from somscale.store.digested_code import code_parts, global_parts

__all__ = ["digest_of"]

_SIZE = 16
_PIECE = 1 << 20


def digest_of(*parts: object) -> str:
    """Digest of any number of values, equal across processes and hash seeds.

    Parameters
    ----------
    *parts : object
        None, booleans, numbers, text, bytes, enumerations, slices, ranges, lists, tuples,
        dicts, sets, NumPy arrays, scalars and types, xarray and pandas objects in memory,
        dataclasses (their fields but those that take no part in comparisons), functions
        (their code, constants, defaults, closure and the plain globals that they read), and
        objects that pickle (class and state; cached properties are left out).

    Returns
    -------
    str
        32 hexadecimal digits.  Equal values of different types, as 1 and 1.0, differ.

    Raises
    ------
    InputError
        An object that cannot be told from others of its type.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    writer = _Writer([])
    for part in parts:
        writer.add(part)
    return writer.digest().hex()


class _Writer:
    """Feeds values to one hash, each with its kind and its length."""

    def __init__(self, inside: list[int]) -> None:
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._inside = inside  # identities of what is being written, against endless loops

    def digest(self) -> bytes:
        return self._hash.digest()

    def put(self, kind: str, data: bytes | str = b"") -> None:
        content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        self._hash.update(f"{kind}:{len(content)}:".encode())
        self._hash.update(content)

    def add(self, value: object) -> None:
        if id(value) in self._inside:
            self.put("cycle", str(len(self._inside) - self._inside.index(id(value))))
        elif not _put_simple(self, value):
            self._inside.append(id(value))
            _put_compound(self, value)
            self._inside.pop()

    def add_all(self, kind: str, values: Iterable[object], n_values: int) -> None:
        self.put(kind, str(n_values))
        for value in values:
            self.add(value)

    def add_unordered(self, kind: str, values: Iterable[tuple[object, ...]]) -> None:
        """Entries sorted by their own digests, which no hash seed changes."""
        digests = []
        for entry in values:
            own = _Writer(self._inside)
            for part in entry:
                own.add(part)
            digests.append(own.digest())
        self.put(kind, b"".join(sorted(digests)))

    def put_bytes_of(self, values: AnyArray) -> None:
        """The values in row-major order, a piece at a time."""
        rows = values.reshape(1) if values.ndim == 0 else values
        if not rows.nbytes:
            return
        step = max(1, _PIECE * len(rows) // rows.nbytes)
        for start in range(0, len(rows), step):
            piece = np.ascontiguousarray(rows[start : start + step])
            self._hash.update(piece.view(np.uint8).data)


def _put_simple(writer: _Writer, value: object) -> bool:
    """Write a value that holds no others; False where it is none."""
    match value:
        case None | bool():
            writer.put("constant", str(value))
        case types.EllipsisType() | types.NotImplementedType():
            writer.put("constant", str(value))
        case enum.Enum():
            writer.put("enum", f"{_name(type(value))}.{value.name}")
        case np.generic():  # before float and str, which some of them are, too
            writer.put("scalar")
            _put_array(writer, np.asarray(value))
        case int() if type(value) is int:
            writer.put("int", str(hex(value)))
        case float() if type(value) is float:
            writer.put("float", struct.pack("<d", value))
        case complex() if type(value) is complex:
            writer.put("complex", struct.pack("<2d", value.real, value.imag))
        case str() if type(value) is str:
            writer.put("str", value)
        case bytes() | bytearray():
            writer.put(type(value).__name__, bytes(value))
        case np.dtype():
            writer.put("dtype", _dtype_text(value))
        case type():
            writer.put("class", _name(value))
        case types.ModuleType():
            writer.put("module", value.__name__)
        case _:
            return False
    return True


def _put_compound(writer: _Writer, value: Any) -> None:
    """Write a value that may hold others."""
    kind = type(value)
    if kind in (list, tuple):
        writer.add_all(kind.__name__, value, len(value))
    elif isinstance(value, set | frozenset):
        writer.add_unordered(_name(kind), ((entry,) for entry in value))
    elif isinstance(value, dict):
        writer.add_unordered(_name(kind), value.items())
    elif isinstance(value, types.MappingProxyType):
        writer.add_unordered("mapping", value.items())
    elif isinstance(value, slice | range):
        writer.add_all(kind.__name__, (value.start, value.stop, value.step), 3)
    elif isinstance(value, np.ma.MaskedArray):
        writer.put("masked")
        mask = np.ma.getmaskarray(value)
        _put_array(writer, mask)
        _put_array(writer, np.where(mask, np.zeros((), value.dtype), value.data))
    elif isinstance(value, np.ndarray):
        _put_array(writer, np.asarray(value))
    elif kind.__module__.partition(".")[0] in ("xarray", "pandas", "dask"):
        _put_labelled(writer, value)
    elif not _put_callable(writer, value):
        _put_object(writer, value)


def _put_array(writer: _Writer, values: AnyArray) -> None:
    if values.dtype.names is not None:
        writer.add_all("fields", values.dtype.names, len(values.dtype.names))
        for name in values.dtype.names:  # one by one: the bytes between them are of no meaning
            _put_array(writer, values[name])
        return
    writer.put("array", f"{_dtype_text(values.dtype)};{values.shape}")
    if values.dtype.kind in "OT":
        for entry in values.ravel().tolist():
            writer.add(entry)
    elif values.dtype.char in "gG":  # of long doubles some bytes are of no meaning
        for number in values.ravel():
            writer.put("number", repr(number))
    else:
        writer.put_bytes_of(values.astype(values.dtype.newbyteorder("<"), copy=False))


def _dtype_text(dtype: np.dtype[Any]) -> str:
    if dtype.names is not None:
        return str(dtype.newbyteorder("<").descr)
    return str(dtype) if dtype.kind == "T" else dtype.newbyteorder("<").str


def _put_labelled(writer: _Writer, value: Any) -> None:
    """Write arrays with names: dims, values and attributes, but not how they are stored."""
    kind = type(value).__name__
    if getattr(value, "chunks", None) or type(value).__module__.startswith("dask"):
        raise InputError(
            f"a {kind} of Dask is not known before it is computed, and so has no digest; compute "
            "it first"
        )
    if kind == "Dataset":
        writer.add_unordered(kind, value.variables.items())
        writer.add(sorted(map(str, value.coords)))
        writer.add(value.attrs)
    elif kind == "DataArray":
        writer.add_all(kind, (value.name, value.variable), 2)
        writer.add_unordered("coords", ((n, c.variable) for n, c in value.coords.items()))
    elif kind in ("Variable", "IndexVariable"):
        writer.add_all("Variable", (value.dims, value.to_numpy(), value.attrs), 3)
    elif kind == "DataFrame":
        writer.add_all(kind, (value.index, *(c for _, c in value.items())), 1 + value.shape[1])
    elif kind == "Series":
        writer.add_all(kind, (value.name, value.index, value.array), 3)
    elif hasattr(value, "to_numpy") and hasattr(value, "dtype"):
        names, ordered = getattr(value, "names", ()), getattr(value.dtype, "categories", None)
        writer.add_all(kind, (list(names), str(value.dtype), np.asarray(value), ordered), 4)
    else:
        _put_object(writer, value)


def _put_callable(writer: _Writer, value: Any) -> bool:
    """Write a function of any kind; False where the value is none."""
    if isinstance(value, functools.partial):
        writer.add_all("partial", (value.func, value.args, value.keywords), 3)
    elif isinstance(value, types.MethodType):
        writer.add_all("method", (value.__func__, value.__self__), 2)
    elif isinstance(value, types.FunctionType):
        writer.put("function")
        for part in (value.__code__, value.__defaults__, value.__kwdefaults__):
            writer.add(part)
        for cell in value.__closure__ or ():
            writer.add(_content(cell))
        writer.add(global_parts(value))
    elif isinstance(value, types.CodeType):
        parts = code_parts(value)
        writer.add_all("code", parts, len(parts))
    elif isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
        owner = None if isinstance(value.__self__, types.ModuleType) else value.__self__
        name = f"{getattr(value, '__module__', '')}.{value.__qualname__}"
        writer.add_all("builtin", (name, owner), 2)
    elif isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
        writer.put("descriptor", f"{_name(value.__objclass__)}.{value.__name__}")
    elif isinstance(value, np.ufunc) and value.__name__ in vars(np):
        writer.put("ufunc", value.__name__)
    elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):  # compiled by numba
        writer.add_all("compiled", (value.py_func, value.targetoptions), 2)
    else:
        return False
    return True


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _content


def _put_object(writer: _Writer, value: Any) -> None:
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        writer.put("dataclass", _name(kind))
        for field in dataclasses.fields(kind):
            if field.compare:  # what takes no part in comparisons is derived from the others
                writer.add_all("field", (field.name, getattr(value, field.name)), 2)
        return
    reduced = _reduced(value)
    if isinstance(reduced, str):
        writer.put("global", f"{kind.__module__}.{reduced}")
        return
    maker, arguments, state, entries, items = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        state = {n: part for n, part in state.items() if not _is_cached(kind, n)}
    writer.put("object", _name(kind))
    for part in (maker, arguments, state):
        writer.add(part)
    writer.add(None if entries is None else list(entries))
    writer.add(None if items is None else list(items))


def _reduced(value: Any) -> Any:
    """What pickle would make of an object."""
    kind = type(value)
    reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
    try:
        if kind is object:
            raise TypeError("nothing tells one object() from another")
        return value.__reduce_ex__(2) if reduce is None else reduce(value)
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"a {_name(kind)} cannot be told from others of its type ({error}), so that a run "
            "with it cannot be found again; give plain values, arrays or functions"
        ) from None


def _is_cached(kind: type, name: object) -> bool:
    return isinstance(name, str) and isinstance(
        getattr(kind, name, None), functools.cached_property
    )


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"

"""Checks of the arguments that every kind of map shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from somscale.errors import InputError

__all__ = [
    "as_count",
    "as_pairs",
    "as_positions",
    "as_table",
    "as_units",
    "listed",
    "one_of",
]


def listed(values: Sequence[object]) -> str:
    """Spell out the allowed values: ``'a', 'b' or 'c'``."""
    *most, last = map(repr, values)
    return f"{', '.join(most)} or {last}" if most else last


def one_of(value: object, name: str, allowed: Sequence[str]) -> str:
    """Return `value` as a plain string if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} must be {listed(allowed)}, not {value!r}.")
    return str(value)


def as_count(value: object, name: str) -> int:
    """Return `value` as an int of at least one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of at least 1, not {value!r}.")
    return int(value)


def as_units(units: ArrayLike, size: int, name: str) -> NDArray[np.int64]:
    """Return unit numbers as int64, refusing what is not a unit of a map of `size` units."""
    array = np.asarray(units)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold unit numbers, which are integers, not {array.dtype}.")
    if array.min() < 0 or array.max() >= size:
        at = tuple(map(int, np.argwhere((array < 0) | (array >= size))[0]))
        where = f"{name}[{', '.join(map(str, at))}]" if at else name
        raise InputError(
            f"{where} is {array[at]}, which is no unit of this map: "
            f"its {size} units are numbered from 0 to {size - 1}."
        )
    return array.astype(np.int64, copy=False)


def as_pairs(edges: Iterable[Any], size: int) -> NDArray[np.int64]:
    """Return undirected edges as an (E, 2) table with i < j, sorted and each edge once."""
    try:
        array = np.asarray(edges if hasattr(edges, "__array__") else list(edges))
    except (TypeError, ValueError) as error:
        raise InputError(f"edges must be pairs of unit numbers, shape (E, 2): {error}.") from error
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"edges must be pairs of unit numbers, shape (E, 2), not {array.shape}.")
    pairs = np.sort(as_units(array, size, "edges"), axis=1)
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        raise InputError(
            f"edges[{loops[0]}] joins unit {pairs[loops[0], 0]} to itself; leave such edges out."
        )
    return np.unique(pairs, axis=0)


def as_positions(positions: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """Return the places of the units, (K, 2), by default their numbers on a line."""
    if positions is None:
        return np.column_stack([np.arange(size), np.zeros(size)])
    places = _as_floats(positions, "positions")
    if places.shape != (size, 2):
        raise InputError(
            f"positions must hold x and y of each of the {size} units, shape ({size}, 2), "
            f"not {places.shape}."
        )
    _refuse_where(~np.isfinite(places), places, "positions", "every coordinate must be finite")
    return places


def as_table(delta: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a table of distances, (K, K): finite, not negative, symmetric, zero diagonal."""
    table = _as_floats(delta, name)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
        raise InputError(
            f"{name} must be square, with a row and a column for each unit, not {table.shape}."
        )
    _refuse_where(~np.isfinite(table), table, name, "every distance must be finite")
    _refuse_where(table < 0, table, name, "no distance may be negative")
    off_zero = np.diag(np.diag(table) != 0)
    _refuse_where(off_zero, table, name, "a unit must be at distance 0 from itself")
    _refuse_where(
        table != table.T,
        table,
        name,
        f"it must equal its mirror image across the diagonal; ({name} + {name}.T) / 2 does",
    )
    return table


def _as_floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a float64 copy, refusing what holds no real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be an array of numbers: {error}.") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold real numbers, not {array.dtype}.")
    return array.astype(np.float64)


def _refuse_where(
    wrong: NDArray[np.bool_], table: NDArray[np.float64], name: str, rule: str
) -> None:
    """Raise `InputError` naming the first entry of a 2-D table that breaks a rule."""
    if wrong.any():
        i, j = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise InputError(f"{name}[{i}, {j}] is {float(table[i, j])}, but {rule}.")

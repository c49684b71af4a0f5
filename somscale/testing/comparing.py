"""Two values of one index that must agree, and the sentence that says where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
import xarray as xr

from somscale._types import AnyArray, Bool

__all__ = ["ROUNDING", "Found", "broken", "require_close", "require_same", "shown", "where_of"]

ROUNDING: Final = 1e-9
"""Share by which floats may differ where their sums are in another order."""


@dataclass(frozen=True)
class Found:
    """A value, and in words where it comes from."""

    value: xr.DataArray
    origin: str


def broken(of: str, law: str, what: str, case: object) -> NoReturn:
    """Say that a law is broken."""
    raise AssertionError(f"{of} breaks the law {law!r}: {what} ({case})")


def require_same(of: str, law: str, case: object, first: Found, second: Found) -> None:
    """Refuse values that differ in their type, dims or any bit; all nan are one."""
    _require_likeness(of, law, case, first, second)
    left, right = first.value.values, second.value.values
    if left.dtype != right.dtype:
        what = f"{left.dtype} from {first.origin}, but {right.dtype} from {second.origin}"
        broken(of, law, what, case)
    _require(_same_bits(left, right), of, law, case, first, second)


def require_close(
    of: str, law: str, case: object, first: Found, second: Found, tolerance: float
) -> None:
    """Refuse integers that differ, and floats that differ by more than a share of 1 + them."""
    _require_likeness(of, law, case, first, second)
    left, right = first.value.values, second.value.values
    if {left.dtype.kind, right.dtype.kind} & set("fc"):
        agree = np.isclose(right, left, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        agree = left == right
    _require(np.asarray(agree), of, law, case, first, second)


def _same_bits(left: AnyArray, right: AnyArray) -> Bool:
    agree = left == right
    if left.dtype.kind == "f":
        agree &= np.signbit(left) == np.signbit(right)
        agree |= np.isnan(left) & np.isnan(right)
    return np.asarray(agree)


def _require_likeness(of: str, law: str, case: object, first: Found, second: Found) -> None:
    left, right = dict(first.value.sizes), dict(second.value.sizes)
    if list(left.items()) != list(right.items()):
        what = f"dims {left} from {first.origin}, but {right} from {second.origin}"
        broken(of, law, what, case)


def _require(agree: Bool, of: str, law: str, case: object, first: Found, second: Found) -> None:
    if agree.all():
        return
    at = tuple(int(i) for i in np.argwhere(~agree)[0])
    place = where_of(first.value, at)
    left, right = shown(first.value.values[at]), shown(second.value.values[at])
    broken(of, law, f"{left} from {first.origin}, but {right} from {second.origin}{place}", case)


def where_of(value: xr.DataArray, at: tuple[int, ...]) -> str:
    """A place in an array in words; nothing for a single number."""
    names = [
        f"{dim} {value.coords[dim].values[i] if dim in value.coords else i}"
        for dim, i in zip(value.dims, at, strict=True)
    ]
    return f" at {', '.join(names)}" if names else ""


def shown(value: Any) -> str:
    """A number with all its digits, or anything else as it prints."""
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)

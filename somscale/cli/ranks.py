"""K, κs and κt as a command line writes them: 10, or 5,10,20, or 1:100, or all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from somscale.errors import InputError

__all__ = ["rank_settings"]

_NAMES: Final = {"k": "-k", "kappa_s": "--kappa-s", "kappa_t": "--kappa-t"}
_RANGE: Final = re.compile(r"(\d*):(\d*)(?::(\d+))?")


def rank_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters ``k``, ``kappa_s`` and ``kappa_t`` that are given.

    Raises
    ------
    InputError
        What is given is no number, range or list of them.
    """
    return {name: _values(flag, options[name]) for name, flag in _NAMES.items() if options[name]}


def _values(flag: str, given: Sequence[str]) -> int | list[int] | slice | str:
    """Ranks that are asked for; both ends of a range count, unlike in Python."""
    parts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if parts == ["all"]:
        return "all"
    if "all" in parts:
        raise InputError(f"{flag} all stands alone: it has all other ranks in it")
    if len(parts) <= 1:
        return _part(flag, *parts or [","])
    ranks: set[int] = set()
    for part in parts:
        match _part(flag, part):
            case int(one):
                ranks.add(one)
            case slice(start=int(first), stop=int(end), step=step):
                ranks.update(range(first, end, step or 1))
            case _:
                raise InputError(f"{flag} {part} is open at an end, so it stands alone")
    return sorted(ranks)


def _part(flag: str, part: str) -> int | slice:
    if part.isdecimal():
        return int(part)
    found = _RANGE.fullmatch(part)
    if found is None:
        raise InputError(
            f"{flag} takes numbers and ranges, as 10 or 5,10,20 or 1:100 or 10:100:10, or all, "
            f"not {part!r}"
        )
    first, last, step = (int(end) if end else None for end in found.groups())
    if step == 0 or (first is not None and last is not None and first > last):
        raise InputError(f"{flag} {part} is empty; a range is FIRST:LAST or FIRST:LAST:STEP")
    return slice(first, None if last is None else last + 1, step)

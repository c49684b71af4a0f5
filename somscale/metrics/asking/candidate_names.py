"""Names of candidates: texts, or integers, as the user's dict has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from somscale.errors import InputError

__all__ = ["checked_names", "name_coordinate"]

_LARGEST = np.iinfo(np.int64)


def checked_names(candidates: Mapping[Any, Any]) -> bool:
    """Whether all candidates are named by integers, and not by texts.

    Raises
    ------
    InputError
        There is no candidate, or names are of another kind, of both, or empty.
    """
    if not candidates:
        raise InputError("the dict of candidates is empty; give at least one map or clustering")
    if all(_is_integer(name) for name in candidates):
        beyond = [name for name in candidates if not _LARGEST.min <= name <= _LARGEST.max]
        if beyond:
            raise InputError(
                f"candidate {beyond[0]} is no integer of 64 bits; name it by a text: "
                "{str(name): own for name, own in candidates.items()}"
            )
        return True
    if not all(candidates) or {type(name) for name in candidates} != {str}:
        raise InputError(
            "candidates need names that are texts, or integers all of them, not "
            f"{list(candidates)}; write {{str(name): own for name, own in candidates.items()}}"
        )
    return False


def _is_integer(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def name_coordinate(names: Sequence[str], *, numbered: bool) -> xr.DataArray:
    """The coordinate ``candidate``: of texts, or of the int64 that the texts stand for."""
    values = np.array(list(map(int, names)), np.int64) if numbered else np.array(names, object)
    return xr.DataArray(
        values, dims="candidate", name="candidate", attrs={"long_name": "candidate"}
    )

"""What a formula gives: a number, an array, or an undefined value with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Noted", "Value", "note_of", "number_of", "undefined"]


@dataclass(frozen=True)
class Noted:
    """A value that needs a word of explanation.

    Attributes
    ----------
    value : float or array
        The value; nan where the index is undefined.
    note : str
        Why.
    """

    value: float | NDArray[Any]
    note: str


Value: TypeAlias = float | NDArray[Any] | Noted


def undefined(reason: str) -> Noted:
    """An undefined index: nan, and the reason, never 0 or 1 or a large number."""
    return Noted(float("nan"), reason)


def number_of(value: Value) -> NDArray[Any]:
    """The bare value as an array."""
    return np.asarray(value.value if isinstance(value, Noted) else value)


def note_of(value: Value) -> str:
    """The note, empty where there is none."""
    return value.note if isinstance(value, Noted) else ""

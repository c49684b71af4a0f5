"""The weighted harmonic mean of two scores, and the check of its weight."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from somscale.errors import InputError

__all__ = ["check_beta", "weights_of"]


def check_beta(parameters: Mapping[str, Any]) -> None:
    """Refuse a weight that is no number from 0 up."""
    beta = parameters["beta"]
    is_number = isinstance(beta, numbers.Real) and not isinstance(beta, bool)
    if not is_number or not 0 <= float(beta) < float("inf"):
        raise InputError(f"beta is a finite number from 0 up, not {beta!r}")


def weights_of(ratio: float) -> tuple[float, float]:
    """Weights of precision and recall in a harmonic mean, 1 to `ratio` and 1 in all."""
    first = 1 / (1 + ratio)
    return first, 1 - first

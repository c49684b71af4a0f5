"""Names for the array types that kernels and reductions exchange."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "Bool", "Float", "Int", "as_floats"]

AnyArray: TypeAlias = NDArray[Any]
Float: TypeAlias = NDArray[np.floating[Any]]
Int: TypeAlias = NDArray[np.integer[Any]]
Bool: TypeAlias = NDArray[np.bool_]


def as_floats(values: AnyArray) -> Float:
    """Values in a type the compiled loops know: float32 and float64 as they are, else float64."""
    known = values.dtype in (np.float64, np.float32)
    return values if known else values.astype(np.float64)

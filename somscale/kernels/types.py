"""Names for the array types that kernels and reductions exchange."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "Bool", "Float", "Int"]

AnyArray: TypeAlias = NDArray[Any]
Float: TypeAlias = NDArray[np.floating[Any]]
Int: TypeAlias = NDArray[np.integer[Any]]
Bool: TypeAlias = NDArray[np.bool_]

"""Arrays kept from one tile to the next, so that no tile pays for fresh pages."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Scratch"]


class Scratch(threading.local):
    """Named buffers, one set a thread; a pickled copy starts empty."""

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[Any]] = {}

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        return Scratch, ()

    def take(self, name: str, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """An uninitialised C-ordered array that is valid until the name is taken again."""
        size = shape[0] * shape[1]
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            self._buffers[name] = buffer = np.empty(size, dtype)
        return buffer[:size].reshape(shape)

    def borrow(self, name: str, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """As :meth:`take`, but valid until it is given back, however often the name is taken."""
        array = self.take(name, shape, dtype)
        del self._buffers[name]
        return array

    def give_back(self, name: str, array: NDArray[Any]) -> None:
        """Keep a borrowed array for the next time its name is taken."""
        self._buffers[name] = array.reshape(-1)

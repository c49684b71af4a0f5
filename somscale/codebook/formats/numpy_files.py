"""NumPy's ``.npy`` and ``.npz``: headers held against the file before values are read.

A header may promise more values than any memory holds, and what it promises would be
allocated before the file is found to end.  Nothing is unpickled.
"""

from __future__ import annotations

import lzma
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from somscale.errors import InputError

__all__ = ["load_arrays"]

Arrays = dict[str, NDArray[Any]]

_NPY: Final = b"\x93NUMPY"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_DENSEST: Final = 1_100
"""Times that deflate packs zeros, somewhat more than its 1,032."""

_DAMAGED: Final = (
    *(OSError, EOFError, ValueError, TypeError, SyntaxError, RuntimeError, MemoryError),
    *(ArithmeticError, LookupError, tokenize.TokenError, struct.error),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What NumPy, zipfile and the decoders raise on bytes that no tool writes."""


class _Objects(ValueError):
    """An array whose values would have to be unpickled."""


def load_arrays(path: Path, wanted: Callable[[str], bool]) -> NDArray[Any] | Arrays:
    """Read the array of a ``.npy``, or those of a ``.npz`` that are wanted, or its only one.

    Raises
    ------
    InputError
        There is no such file, it is neither, cut short, damaged, or holds objects.
    """
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # of headers that Python 2 wrote, which are read all the same
            warnings.simplefilter("ignore", UserWarning)
            start = file.read(len(_NPY))
            file.seek(0)
            if start == _NPY:
                return _array(file, os.fstat(file.fileno()).st_size)
            if start.startswith(_ZIP):
                return _members(file, wanted)
            if start:
                raise _Objects
            reason = "it is empty"
    except FileNotFoundError:
        raise InputError(f"there is no file at {str(path)!r}") from None
    except _Objects:
        raise InputError(
            f"{path.name!r} holds pickled objects, or is no NumPy file; what is pickled runs code "
            "when it is opened, so load it yourself and give the array or the map"
        ) from None
    except _DAMAGED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
    raise InputError(f"{path.name!r} is no whole NumPy file: {reason}")


def _members(file: IO[bytes], wanted: Callable[[str], bool]) -> Arrays:
    found: Arrays = {}
    with zipfile.ZipFile(file) as archive:
        infos = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
        names = list(infos) if len(infos) == 1 else [n for n in infos if wanted(n)]
        for name in names:
            info = infos[name]
            if info.file_size > _DENSEST * info.compress_size:
                raise ValueError(f"{name!r} claims {info.file_size} bytes, more than it can hold")
            with archive.open(info) as stream:
                if stream.read(len(_NPY)) == _NPY:
                    stream.seek(0)
                    found[name] = _array(stream, info.file_size)
        # named in errors only
        found |= {n: np.empty(0) for n in infos if n not in found and n not in names}
    return found


def _array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """The array at the start of a stream of so many bytes."""
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f"its version {version} is one for named fields, and codes have none")
    if dtype.hasobject:
        raise _Objects
    if min(shape, default=1) < 0 or not dtype.itemsize:
        raise ValueError(f"its header promises values {dtype} of shape {shape}")
    promised, left = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if promised > left:
        raise ValueError(f"its header promises {promised} bytes of values, and {left} follow")
    if not promised:
        return np.empty(shape, dtype)
    data = stream.read(promised)
    if len(data) < promised:
        raise EOFError(f"its header promises {promised} bytes of values, and {len(data)} follow")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")

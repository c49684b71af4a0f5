"""How the N × N matrices are cut into chunks, and the codecs of every stored array.

The sizes are set so that a matrix of 40,000 samples has fewer than 2,000 files.  On a local
disk a chunk is a file of its own.  Where every object costs a request, chunks lie together
in shards, and a shard is what one task writes at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from somscale.errors import InputError

if TYPE_CHECKING:
    from zarr.abc.codec import BytesBytesCodec

__all__ = ["Codec", "MatrixLayout", "codecs", "distance_layout", "rank_layout"]

Codec: TypeAlias = Literal["distance", "rank", "plain"]

_MANY = 45_000  # samples; larger matrices have larger chunks, to stay few
_SQUARE, _SQUARE_OF_MANY, _SHARD = 1024, 2048, 4096
_RANK_ROWS, _RANK_COLUMNS, _RANK_COLUMNS_OF_MANY = 256, 4096, 8192
_RANK_SHARD_BYTES = 2**27


@dataclass(frozen=True)
class MatrixLayout:
    """Type and cut of an N × N matrix.

    Parameters
    ----------
    dtype : dtype
        Of the entries.
    chunk : (int, int)
        Rows and columns of what is decoded at once.
    shard : (int, int) or None
        Rows and columns of what is written at once, a multiple of `chunk`; None where that
        is the chunk.
    """

    dtype: np.dtype[Any]
    chunk: tuple[int, int]
    shard: tuple[int, int] | None

    @property
    def unit(self) -> tuple[int, int]:
        """Rows and columns of what is written at once."""
        return self.shard or self.chunk


def distance_layout(n: int, dtype: DTypeLike, *, sharded: bool) -> MatrixLayout:
    """Square chunks: blocks of pairs are squares, and panels read them with little waste.

    Parameters
    ----------
    n : int
        Number of samples, at least 1.
    dtype : dtype
        float32 or float64.
    sharded : bool
        Whether chunks lie in shards, see :attr:`somscale.store.location.Location.sharded`.

    Raises
    ------
    InputError
        Another dtype, or no samples.
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"distances are stored as float32 or float64, not {kind}")
    side = min(_SQUARE_OF_MANY if _checked(n) > _MANY else _SQUARE, n)
    shard = min(_SHARD, _up_to_multiple(n, side)) if sharded else None
    if shard is not None:
        shard -= shard % side
    return MatrixLayout(kind, (side, side), None if shard is None else (shard, shard))


def rank_layout(n: int, *, sharded: bool) -> MatrixLayout:
    """Flat chunks: ranks are made row by row, all columns of a row at once.

    The type is the narrowest unsigned integer that holds `n`, so that its largest value is
    never a rank.

    Parameters
    ----------
    n, sharded
        As for :func:`distance_layout`.

    Raises
    ------
    InputError
        No samples.
    """
    columns = min(_RANK_COLUMNS_OF_MANY if _checked(n) > _MANY else _RANK_COLUMNS, n)
    rows = min(_RANK_ROWS, n)
    dtype = np.min_scalar_type(n)
    shard = None
    if sharded:
        most = _RANK_SHARD_BYTES // (rows * dtype.itemsize)
        shard = (rows, min(_up_to_multiple(n, columns), most - most % columns))
    return MatrixLayout(dtype, (rows, columns), shard)


def codecs(codec: Codec, dtype: np.dtype[Any]) -> Iterable[BytesBytesCodec]:
    """Compressor and checksum; a stored byte that changes is found when it is read.

    LZ4 writes several times faster than what Zarr takes by itself and is hardly larger.
    Distances gain by bytes that lie together, ranks, whose upper bits are mostly 0, by bits.
    """
    from zarr.codecs import BloscCodec, Crc32cCodec

    compressor = BloscCodec(
        cname="lz4",
        clevel=5,
        shuffle="bitshuffle" if codec == "rank" else "shuffle",
        typesize=dtype.itemsize,
    )
    return compressor, Crc32cCodec()


def _checked(n: int) -> int:
    if n < 1:
        raise InputError(f"a matrix of {n} samples cannot be stored; there must be at least one")
    return n


def _up_to_multiple(n: int, step: int) -> int:
    return -(-n // step) * step

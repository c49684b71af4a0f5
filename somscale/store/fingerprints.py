"""Fingerprints of samples: whether two sources hold the same values, and where they do not.

Values are digested in blocks of whole samples whose size depends on the number of
features alone, each feature tile of a block by itself.  So the digests are the same for
any chunking, and an archive that is chunked along features is read once like any other.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somscale._types import AnyArray
from somscale.engine.readers.paths import expand, is_path
from somscale.engine.readers.sources import Source
from somscale.engine.readers.urls import Url, open_url

__all__ = [
    "Digester",
    "Fingerprint",
    "block_rows",
    "fingerprint",
    "first_difference",
    "stamps_of",
    "value_type",
]

_BLOCK_BYTES = 8 << 20
_TILE = 1024  # features
_SLAB_BYTES = 128 << 20
_SIZE = 16
_METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


@dataclass(frozen=True)
class Fingerprint:
    """What tells samples from others.

    Attributes
    ----------
    shape : (int, int)
        Samples N and features D.
    dtype : str
        Name of the type of the values.
    rows : int
        Samples of a block; the last may have fewer.
    digests : (n_blocks, 16) uint8
        One digest a block.
    """

    shape: tuple[int, int]
    dtype: str
    rows: int
    digests: NDArray[np.uint8]

    def text(self) -> str:
        """32 hexadecimal digits over everything."""
        digest = hashlib.blake2b(
            f"{self.shape};{self.dtype};{self.rows};".encode(), digest_size=_SIZE
        )
        digest.update(np.ascontiguousarray(self.digests).tobytes())
        return digest.hexdigest()


def block_rows(n_features: int) -> int:
    """Samples of a block: the largest power of two within 8 MiB of float64, at least 1."""
    fitting = _BLOCK_BYTES // (8 * n_features)
    return 1 << (fitting.bit_length() - 1) if fitting else 1


def value_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in the byte order that is digested and stored."""
    return dtype.newbyteorder("<")


class Digester:
    """Digests of the blocks of samples that come in order, any number at a time.

    Parameters
    ----------
    n_features : int
        Features of the samples, or those of some whole tiles of them.
    rows : int
        Samples of a block.
    """

    def __init__(self, n_features: int, rows: int) -> None:
        self._edges = [*range(0, n_features, _TILE), n_features]
        self._rows = rows
        self._open: list[Any] = []
        self._filled = 0
        self.tiles: list[bytes] = []  # the tiles' digests of each finished block

    def feed(self, values: AnyArray) -> None:
        """Take the next samples."""
        values = values.astype(value_type(values.dtype), copy=False)
        start = 0
        if self._filled:
            start = min(self._rows - self._filled, len(values))
            self._begin_or_go_on(values[:start])
        whole = (len(values) - start) // self._rows
        blocks = [values[start + n * self._rows :][: self._rows] for n in range(whole)]
        if len(blocks) > 1:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
                self.tiles += threads.map(self._digest, blocks)
        else:
            self.tiles += map(self._digest, blocks)
        if start + whole * self._rows < len(values):
            self._begin_or_go_on(values[start + whole * self._rows :])

    def finish(self) -> list[bytes]:
        """The tiles' digests of each block, the last included, which may have fewer samples."""
        if self._filled:
            self._close()
        return self.tiles

    def _digest(self, block: AnyArray) -> bytes:
        hashes = self._fresh()
        self._update(hashes, block)
        return b"".join(own.digest() for own in hashes)

    def _begin_or_go_on(self, values: AnyArray) -> None:
        if not self._filled:
            self._open = self._fresh()
        self._update(self._open, values)
        self._filled += len(values)
        if self._filled == self._rows:
            self._close()

    def _close(self) -> None:
        self.tiles.append(b"".join(own.digest() for own in self._open))
        self._filled = 0

    def _fresh(self) -> list[Any]:
        return [hashlib.blake2b(digest_size=_SIZE) for _ in self._edges[1:]]

    def _update(self, hashes: list[Any], values: AnyArray) -> None:
        for tile, left, right in zip(hashes, self._edges, self._edges[1:], strict=False):
            tile.update(np.ascontiguousarray(values[:, left:right]).view(np.uint8).data)


def block_digests(tiles: list[bytes]) -> NDArray[np.uint8]:
    """One digest a block from those of its tiles, (n_blocks, 16)."""
    digests = [hashlib.blake2b(block, digest_size=_SIZE).digest() for block in tiles]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _SIZE)


def fingerprint(source: Source) -> Fingerprint:
    """The fingerprint of samples (N, D), in one read of at most about 128 MiB at a time.

    Parameters
    ----------
    source : Source
        Samples × features, before any mask.
    """
    tiles = [block for run in _runs(source) for block in run]
    return fingerprint_of(source, tiles)


def fingerprint_of(source: Source, tiles: list[bytes]) -> Fingerprint:
    """The fingerprint of samples whose tiles have been digested."""
    shape = source.shape[0], source.shape[1]
    return Fingerprint(shape, source.dtype.name, block_rows(shape[1]), block_digests(tiles))


def first_difference(known: Fingerprint, source: Source) -> str | None:
    """Where samples differ from known ones: a part of a sentence, or None where they do not.

    Reading ends at the first block that differs.
    """
    shape = source.shape[0], source.shape[1]
    if shape != known.shape:
        return f"shape {shape}, not {known.shape}"
    if source.dtype.name != known.dtype:
        return f"type {source.dtype.name}, not {known.dtype}"
    done = 0
    for run in _runs(source):
        found = block_digests(run)
        differs = (found != known.digests[done : done + len(found)]).any(axis=1)
        if differs.any():
            return rows_text(done + int(np.argmax(differs)), known)
        done += len(found)
    return None


def rows_text(block: int, known: Fingerprint) -> str:
    """The samples of a block that differ."""
    first = block * known.rows
    last = min(first + known.rows, known.shape[0]) - 1
    return f"sample {first} differs" if first == last else f"samples {first} to {last} differ"


def _runs(source: Source) -> Iterator[list[bytes]]:
    """The digests of the tiles, some blocks at a time; read along whole chunks, each once.

    Where the chunks are so tall that a slab of whole samples would decode them over and
    over, some features of all samples are read after others.
    """
    n_samples, n_features = source.shape
    rows, chunk = block_rows(n_features), max(1, source.chunks[0])
    row_bytes = n_features * source.dtype.itemsize
    if min(chunk, n_samples) * row_bytes <= 2 * _SLAB_BYTES:
        step = max(1, _SLAB_BYTES // (row_bytes * chunk)) * chunk
    elif n_features > _TILE:
        yield _panel_by_panel(source, rows)
        return
    else:
        step = max(1, _SLAB_BYTES // row_bytes)
    digester = Digester(n_features, rows)
    for start in range(0, n_samples, step):
        stop = min(start + step, n_samples)
        digester.feed(source.read(slice(start, stop), slice(0, n_features)))
        yield digester.tiles
        digester.tiles = []
    yield digester.finish()


def _panel_by_panel(source: Source, rows: int) -> list[bytes]:
    n_samples, n_features = source.shape
    chunk = min(max(1, source.chunks[0]), n_samples)
    width = max(_TILE, _SLAB_BYTES // (chunk * source.dtype.itemsize) // _TILE * _TILE)
    step = max(rows, 2 * _SLAB_BYTES // (width * source.dtype.itemsize))
    step -= step % chunk if step > chunk else 0
    tiles = [b""] * -(-n_samples // rows)
    for left in range(0, n_features, width):
        right = min(left + width, n_features)
        digester = Digester(right - left, rows)
        for start in range(0, n_samples, step):
            stop = min(start + step, n_samples)
            digester.feed(source.read(slice(start, stop), slice(left, right)))
        tiles = [known + new for known, new in zip(tiles, digester.finish(), strict=True)]
    return tiles


def stamps_of(samples: Any) -> str | None:
    """A quick fingerprint of what one or several paths lead to.

    Parameters
    ----------
    samples : object
        As a user gives samples.

    Returns
    -------
    str or None
        Digest of the metadata, and of the name, size and time of every file, at a URL of the
        name, size and tag of every object; None where the samples are named by no path, or
        a store knows no tags.
    """
    if not is_path(samples):
        return None
    digest = hashlib.blake2b(digest_size=_SIZE)
    for path in expand(samples):
        digest.update(f"{path.name};".encode())
        if isinstance(path, Url):
            objects = _objects_of(path)
            if objects is None:
                return None
            digest.update(objects.encode())
            continue
        for name, file in sorted(_files_of(path)):
            facts = file.stat()
            digest.update(f"{name};{facts.st_size};{facts.st_mtime_ns};".encode())
            if file.name in _METADATA:
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _objects_of(url: Url) -> str | None:
    from somscale.store.keys_fsspec import FsspecKeys

    try:
        found = FsspecKeys.of(open_url(str(url), read_only=True)).list("")
    except OSError:
        # what may be read need not be listed
        return None
    if not all(stamp.time for stamp in found.values()):
        return None
    return "".join(f"{key};{stamp.size};{stamp.time};" for key, stamp in sorted(found.items()))


def _files_of(path: Path) -> Iterator[tuple[str, Path]]:
    if not path.is_dir():
        yield "", path
        return
    for folder, _, files in os.walk(path):
        for name in files:
            file = Path(folder, name)
            yield file.relative_to(path).as_posix(), file

"""Fingerprints of samples: the same for any chunking, another wherever a value is another."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from somscale._types import AnyArray
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.sources import ArraySource, MemmapSource, RegularChunks
from somscale.engine.readers.streamed import whole_source
from somscale.store import fingerprints
from somscale.store.fingerprints import (
    block_rows,
    fingerprint,
    first_difference,
    stamps_of,
)


@dataclass
class Counted(RegularChunks):
    """A source in chunks that counts what it decodes."""

    values: AnyArray
    chunks: tuple[int, ...]
    resident: bool = False
    chunks_read: list[tuple[int, ...]] = field(default_factory=list)
    largest: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def read(self, *box: slice) -> AnyArray:
        found = self.values[box]
        self.largest = max(self.largest, found.nbytes)
        counts = [
            range(part.start // chunk, -(-part.stop // chunk))
            for part, chunk in zip(box, self.chunks, strict=True)
        ]
        self.chunks_read += [(i, j) for i in counts[0] for j in counts[1]]
        return found


def samples(n: int, d: int, dtype: Any = np.float64) -> AnyArray:
    return np.random.default_rng(0).integers(-100, 100, (n, d)).astype(dtype)


@pytest.mark.parametrize(
    ("n_features", "rows"),
    [(1, 1 << 20), (50, 16384), (64, 16384), (65, 8192), (1 << 20, 1), (1 << 21, 1)],
)
def test_rows_of_a_block(n_features: int, rows: int) -> None:
    assert block_rows(n_features) == rows


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "?", "f2"])
def test_a_block_is_a_digest_of_its_bytes(dtype: str) -> None:
    import hashlib

    values = samples(3000, 1000, dtype)
    found = fingerprint(ArraySource(values))
    assert (found.shape, found.dtype, found.rows) == ((3000, 1000), np.dtype(dtype).name, 1024)
    assert found.digests.shape == (3, 16)
    tile = hashlib.blake2b(values[1024:2048].tobytes(), digest_size=16).digest()
    assert found.digests[1].tobytes() == hashlib.blake2b(tile, digest_size=16).digest()


@given(
    st.integers(1, 3000),
    st.sampled_from([1, 3, 700]),
    st.integers(1, 3100),
    st.integers(1, 700),
    st.sampled_from([1 << 10, 1 << 16, 1 << 22]),
)
def test_chunks_do_not_matter(n: int, d: int, rows: int, width: int, slab: int) -> None:
    values = samples(n, d, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprints, "_BLOCK_BYTES", 1 << 16)
        patch.setattr(fingerprints, "_TILE", 128)
        expected = fingerprint(ArraySource(values))
        patch.setattr(fingerprints, "_SLAB_BYTES", slab)
        source = Counted(values, (rows, min(width, d)))
        assert fingerprint(source).text() == expected.text()
        assert first_difference(expected, source) is None


def test_every_chunk_is_read_once_and_never_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "_BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(fingerprints, "_TILE", 128)
    monkeypatch.setattr(fingerprints, "_SLAB_BYTES", 1 << 19)
    values = samples(4000, 640, np.float32)  # 10 MB
    for chunks in [(100, 640), (300, 640), (7, 64), (512, 128), (2000, 16), (1500, 32)]:
        source = Counted(values, chunks)
        fingerprint(source)
        assert len(source.chunks_read) == len(set(source.chunks_read)), chunks
        assert source.largest <= 2.1 * max(1 << 19, 4000 * 128 * 4 / 2)


@given(st.data())
def test_any_change_is_named(data: Any) -> None:
    n, d = data.draw(st.integers(1, 500)), data.draw(st.sampled_from([1, 5, 300]))
    values = samples(n, d)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprints, "_BLOCK_BYTES", 1 << 13)
        patch.setattr(fingerprints, "_TILE", 128)
        known = fingerprint(ArraySource(values))
        row, column = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, d - 1))
        changed = values.copy()
        changed[row, column] += 1
        chunks = data.draw(st.sampled_from([(n, 1), (1, d), (64, d)]))
        found = first_difference(known, Counted(changed, chunks))
    start = row // known.rows * known.rows
    stop = min(start + known.rows, n) - 1
    words = f"sample {start} differs" if start == stop else f"samples {start} to {stop} differ"
    assert found == words
    assert fingerprint(ArraySource(changed)).text() != known.text()


def test_shape_and_type_are_named_unread() -> None:
    known = fingerprint(ArraySource(samples(6, 3)))
    unread = Counted(samples(5, 3), (1, 1))
    assert first_difference(known, unread) == "shape (5, 3), not (6, 3)"
    unread = Counted(samples(6, 3, "f4"), (1, 1))
    assert first_difference(known, unread) == "type float32, not float64"
    assert not unread.chunks_read


def test_reading_ends_at_the_first_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(fingerprints, "_SLAB_BYTES", 1 << 12)
    values = samples(1000, 4)
    known = fingerprint(ArraySource(values))
    values[0, 0] += 1
    source = Counted(values, (1, 4))
    assert first_difference(known, source) == "samples 0 to 127 differ"
    assert len(source.chunks_read) <= 128


def test_byte_order_and_layout_do_not_matter() -> None:
    values = samples(3000, 700)
    expected = fingerprint(ArraySource(values)).text()
    for same in (values.astype(">f8"), np.asfortranarray(values), np.repeat(values, 2, 0)[::2]):
        assert fingerprint(ArraySource(same)).text() == expected
    assert fingerprint(ArraySource(values.astype("f4"))).text() != expected
    assert fingerprint(ArraySource(values.T)).text() != expected


def test_what_users_hold(tmp_path: Path) -> None:
    values = samples(600, 12, np.float32)
    expected = fingerprint(ArraySource(values)).text()
    np.save(tmp_path / "x.npy", values)
    cube = xr.DataArray(values.reshape(600, 3, 4), dims=("t", "y", "x"))
    cube.to_dataset(name="v").to_zarr(
        tmp_path / "x.zarr", encoding={"v": {"chunks": (600, 1, 2)}}, consolidated=False
    )
    for given_, dims in [
        (da.from_array(values, chunks=(100, 5)), None),
        (cube.chunk(t=7, y=1), "t"),
        (cube.transpose("x", "t", "y"), "t"),
        (tmp_path / "x.npy", None),
        (tmp_path / "x.zarr", "t"),
    ]:
        opened = open_samples(given_, sample_dims=dims)
        if dims == "t" and isinstance(given_, xr.DataArray) and given_.dims[0] == "x":
            assert opened.features.dims == ("x", "y")
            continue
        assert fingerprint(whole_source(opened)).text() == expected
    masked = open_samples(values, mask=np.arange(12) % 3 == 0)
    assert masked.shape == (600, 4)
    assert fingerprint(whole_source(masked)).text() == expected
    fortran = np.lib.format.open_memmap(
        tmp_path / "f.npy", "w+", np.float32, (600, 12), fortran_order=True
    )
    fortran[...] = values
    mapped = MemmapSource.of(fortran)
    assert mapped is not None
    assert fingerprint(mapped).text() == expected


def test_stamps_of_paths(tmp_path: Path) -> None:
    store, file = tmp_path / "x.zarr", tmp_path / "x.npy"
    data = xr.Dataset({"v": (("t", "f"), samples(20, 3))})
    data.to_zarr(store, consolidated=False)
    np.save(file, samples(20, 3))
    known = {path: stamps_of(path) for path in (store, file)}
    assert None not in known.values()
    assert stamps_of(str(store)) == known[store]
    both = stamps_of([store, file])
    assert both not in known.values()
    assert both != stamps_of([file, store])
    (chunk,) = (path for path in (store / "v" / "c").rglob("*") if path.is_file())
    facts = chunk.stat()
    os.utime(chunk, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert stamps_of(store) != known[store]
    os.utime(chunk, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert stamps_of(store) == known[store]
    (store / "more").write_text("")
    assert stamps_of(store) != known[store]
    np.save(file, samples(21, 3))
    assert stamps_of(file) != known[file]


@pytest.mark.parametrize("held", [np.zeros((2, 2)), [[1.0], [2.0]], xr.DataArray([[1.0]]), None])
def test_what_is_held_in_memory_has_no_stamps(held: Any) -> None:
    assert stamps_of(held) is None

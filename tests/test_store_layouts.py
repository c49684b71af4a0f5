"""How matrices are cut: few files, whole shards, and the codecs that were chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from somscale.errors import InputError
from somscale.store.layouts import MatrixLayout, codecs, distance_layout, rank_layout

SIZES = st.integers(1, 200_000)


def layouts(n: int, sharded: bool) -> list[MatrixLayout]:
    return [
        distance_layout(n, "f4", sharded=sharded),
        distance_layout(n, np.float64, sharded=sharded),
        rank_layout(n, sharded=sharded),
    ]


def files(n: int, layout: MatrixLayout) -> int:
    return math.prod(-(-n // side) for side in layout.unit)


@given(SIZES, st.booleans())
def test_chunks_are_no_larger_than_the_matrix_and_shards_are_whole_chunks(
    n: int, sharded: bool
) -> None:
    for layout in layouts(n, sharded):
        assert all(1 <= side <= n for side in layout.chunk)
        assert (layout.shard is not None) == sharded
        assert layout.unit == (layout.shard or layout.chunk)
        if layout.shard is not None:
            for shard, chunk in zip(layout.shard, layout.chunk, strict=True):
                # a shard has no chunk that lies outside of the matrix altogether
                assert shard % chunk == 0
                assert chunk <= shard < n + chunk
            assert math.prod(layout.shard) * layout.dtype.itemsize <= 2**27


@given(SIZES)
def test_the_largest_value_of_the_type_is_never_a_rank(n: int) -> None:
    dtype = rank_layout(n, sharded=False).dtype
    assert dtype.kind == "u"
    assert np.iinfo(dtype).max >= n  # ranks end at n - 1
    smaller = {"uint8": 0, "uint16": 2**8, "uint32": 2**16}[dtype.name]
    assert n >= smaller


@pytest.mark.parametrize("n", [40_000, 45_000])
def test_a_matrix_of_forty_thousand_has_fewer_than_two_thousand_files(n: int) -> None:
    for sharded in (False, True):
        assert all(files(n, layout) < 2000 for layout in layouts(n, sharded))


def test_what_was_decided() -> None:
    assert distance_layout(40_000, "f4", sharded=False).chunk == (1024, 1024)
    assert distance_layout(45_001, "f4", sharded=False).chunk == (2048, 2048)
    assert files(100_000, distance_layout(100_000, "f4", sharded=False)) == 2401
    assert distance_layout(40_000, "f8", sharded=True).shard == (4096, 4096)
    assert distance_layout(5000, "f4", sharded=True).shard == (4096, 4096)
    assert distance_layout(1500, "f4", sharded=True).shard == (2048, 2048)
    assert rank_layout(40_000, sharded=False) == MatrixLayout(np.dtype("u2"), (256, 4096), None)
    assert rank_layout(100_000, sharded=False).chunk == (256, 8192)
    assert rank_layout(40_000, sharded=True).shard == (256, 40_960)
    assert rank_layout(10, sharded=True) == MatrixLayout(np.dtype("u1"), (10, 10), (10, 10))


@pytest.mark.parametrize("dtype", ["f2", "i4", "c16"])
def test_distances_of_another_type_are_refused(dtype: str) -> None:
    with pytest.raises(InputError, match="float32 or float64"):
        distance_layout(10, dtype, sharded=False)


def test_a_matrix_without_samples_is_refused() -> None:
    with pytest.raises(InputError, match="0 samples"):
        distance_layout(0, "f4", sharded=False)
    with pytest.raises(InputError, match="0 samples"):
        rank_layout(0, sharded=True)


@pytest.mark.parametrize(
    ("name", "shuffle"), [("distance", "shuffle"), ("rank", "bitshuffle"), ("plain", "shuffle")]
)
def test_every_array_is_compressed_and_checksummed(name: Any, shuffle: str) -> None:
    compressor, checksum = (codec.to_dict() for codec in codecs(name, np.dtype("f4")))
    assert compressor["name"] == "blosc"
    assert compressor["configuration"]["cname"] == "lz4"
    assert compressor["configuration"]["shuffle"] == shuffle
    assert compressor["configuration"]["typesize"] == 4
    assert checksum["name"] == "crc32c"

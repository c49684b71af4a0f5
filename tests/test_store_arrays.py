"""Stored arrays: round trips, what was asked for alone, and never a silent fill value."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import KINDS, CountingStore, local, place, stored
from zarr.storage import LocalStore, MemoryStore, WrapperStore

from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.arrays import StoredArray, create_array, open_array
from somscale.store.keys import delete_key, list_keys, read_key, stamp_of, write_key
from somscale.store.layouts import distance_layout, rank_layout
from somscale.store.location import Location, locate

PATH = "distances/euclidean/distance"
DTYPES = ["f4", "f8", "u1", "u2", "u4", "i4", "i8", "?", "c16", ">f8"]


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place(request.param, tmp_path))


@st.composite
def cut_arrays(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], tuple[int, ...], int]:
    """Values, a chunk, and chunks a shard along every dim."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    chunk = tuple(draw(st.integers(1, size + 1)) for size in shape)
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    values = rng.integers(0, 3, shape).astype(dtype)
    if dtype.kind in "fc":
        values[rng.random(shape) < 0.5] = np.nan
    return values, chunk, draw(st.integers(1, 3))


@given(cut_arrays(), st.sampled_from(["memory store", "memory URL"]))
def test_every_array_comes_back_and_so_does_every_box(
    case: tuple[np.ndarray[Any, Any], tuple[int, ...], int], kind: str
) -> None:
    values, chunk, per_shard = case
    location = locate(place(kind, Path()))
    array = stored(location, values, chunk, per_shard=per_shard)
    again = open_array(location, PATH)
    assert again == array
    assert again.missing() == []
    assert again.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(again.read(), values)
    box = tuple(slice(size // 3, size - size // 4) for size in values.shape)
    np.testing.assert_array_equal(again.read(*box), values[box])
    # every unit was written, though many hold the fill value alone
    assert len(list_keys(location, f"{PATH}/c")) == np.prod(again.units())


@pytest.mark.parametrize("codec", ["distance", "rank", "plain"])
def test_arrays_come_back_from_every_kind_of_place(location: Location, codec: str) -> None:
    values = np.random.default_rng(0).random((11, 7)).astype("f4")
    array = stored(location, values, (3, 2), codec=codec, attributes={"unit": "m"})
    assert array.chunks == (3, 2)
    assert array.unit == ((6, 4) if location.sharded else (3, 2))
    assert array.resident is False
    assert array.missing() == []
    copy = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copy.read(), values)
    np.testing.assert_array_equal(copy.read(slice(10, 11), slice(0, 7)), values[10:])
    assert copy.read(slice(4, 4), slice(0, 7)).shape == (0, 7)
    assert copy.decoded(0, (np.array([1]), np.array([4]))) == 6
    group = location.group("distances/euclidean", mode="r")
    assert dict(group["distance"].attrs) == {"unit": "m"}
    assert group["distance"].metadata.dimension_names == ("dim_0", "dim_1")


def test_an_array_without_dims_or_without_entries_comes_back(location: Location) -> None:
    scalar = stored(location, np.array(3.5), ())
    assert scalar.missing() == []
    assert scalar.read() == 3.5
    delete_key(location, scalar.key(()))
    assert scalar.missing() == [()]
    with pytest.raises(ChunkError, match=r"chunk \(\) .* missing"):
        scalar.read()
    empty = stored(location, np.empty((0, 3)), (1, 3), path="empty")
    assert empty.missing() == []
    assert empty.read().shape == (0, 3)


def test_an_array_takes_the_place_of_another(location: Location) -> None:
    stored(location, np.ones((8, 8)), (2, 2))
    layout = {"shape": (6,), "dtype": "u1", "chunk": (2,), "shard": None, "fill": 255}
    fresh = create_array(location, PATH, **layout, dims=("x",), codec="rank")
    assert fresh.missing() == [(0,), (1,), (2,)]
    assert set(list_keys(location, PATH)) == {"zarr.json"}


def test_blocks_of_the_fill_value_are_written_and_stay(location: Location) -> None:
    values = np.full((8, 8), np.nan)
    stored(location, values, (2, 2))
    array = open_array(location, PATH)
    for index in itertools.product(*map(range, array.units())):
        # over what is there already, by an array that was opened
        array.write(index, values[array.box(index)])
    assert array.missing() == []
    assert np.isnan(array.read()).all()


def damage(location: Location, key: str, how: str) -> None:
    data = read_key(location, key)
    assert data is not None
    match how:
        case "deleted":
            delete_key(location, key)
        case "zero-length":
            write_key(location, key, b"")
        case "truncated":
            write_key(location, key, data[: len(data) // 2])
        case "cut by a byte":
            write_key(location, key, data[:-1])
        case "longer":
            write_key(location, key, data + b"\0")
        case "zeros":
            write_key(location, key, bytes(len(data)))
        case "flipped":
            middle = len(data) // 2
            flipped = bytes([data[middle] ^ 16])
            write_key(location, key, data[:middle] + flipped + data[middle + 1 :])


DAMAGES = ["deleted", "zero-length", "truncated", "cut by a byte", "longer", "zeros", "flipped"]


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("filled", [False, True])
def test_a_damaged_chunk_is_an_error_that_names_it(
    location: Location, how: str, filled: bool
) -> None:
    values = np.random.default_rng(0).random((10, 9))
    if filled:
        values[:] = np.nan
    array = stored(location, values, (2, 3))
    np.testing.assert_array_equal(array.read(), values)  # opened before the damage
    last = tuple(count - 1 for count in array.units())
    for index in [last, (0,) * 2]:
        damage(location, array.key(index), how)
        for reader in [array, open_array(location, PATH), pickle.loads(pickle.dumps(array))]:
            with pytest.raises(ChunkError, match=rf"chunk \({index[0]}, {index[1]}\)") as caught:
                reader.read()
            assert (caught.value.array, caught.value.chunk) == (PATH, index)
            copy = pickle.loads(pickle.dumps(caught.value))
            assert (copy.array, copy.chunk, str(copy)) == (PATH, index, str(caught.value))
        # what lies beside it is read as before
        other = tuple(
            0 if number else count - 1 for number, count in zip(index, array.units(), strict=True)
        )
        np.testing.assert_array_equal(array.read(*array.box(other)), values[array.box(other)])
        array.write(index, values[array.box(index)])
        np.testing.assert_array_equal(array.read(), values)


@pytest.mark.parametrize("kind", ["local", "memory URL"])
def test_any_flipped_bit_and_any_length_is_found(tmp_path: Path, kind: str) -> None:
    location = locate(place(kind, tmp_path))
    values = np.random.default_rng(1).integers(0, 4, 13).astype("u2")
    # with a fill value that occurs, and checksums as long as in the index of a shard
    array = stored(location, values, (8,), fill=2, codec="rank")
    index = (array.units()[0] - 1,)
    data = read_key(location, array.key(index))
    assert data is not None
    flipped = [
        data[:byte] + bytes([data[byte] ^ 1 << byte % 8]) + data[byte + 1 :]
        for byte in range(len(data))
    ]
    for bad in [*flipped, *(data[:length] for length in range(len(data)))]:
        write_key(location, array.key(index), bad)
        with pytest.raises(ChunkError) as caught:
            array.read()
        assert caught.value.chunk == index


def test_a_chunk_that_its_shard_does_not_have_is_missing(tmp_path: Path) -> None:
    location = locate(place("file URL", tmp_path))
    array = stored(location, np.ones((4, 4)), (2, 2))
    # by another program, which leaves out chunks of the fill value
    other = zarr.open_array(location.store, path=PATH, mode="r+")
    other = other.with_config({"write_empty_chunks": False})
    other[:2, :2] = np.nan
    np.testing.assert_array_equal(array.read(slice(2, 4), slice(0, 4)), np.ones((2, 4)))
    with pytest.raises(ChunkError, match="missing in its shard") as caught:
        array.read()
    assert caught.value.chunk == (0, 0)
    assert array.missing() == [(0, 0)]  # the place is not atomic: units are read


def test_missing_names_exactly_what_is_not_there(location: Location) -> None:
    values = np.random.default_rng(0).random((11, 13))
    array = stored(location, values, (2, 2), per_shard=1)
    gone = {(0, 0), (2, 3), (5, 6)}
    for index in gone:
        delete_key(location, array.key(index))
    write_key(location, array.key((1, 1)), b"")
    assert set(array.missing()) == gone | {(1, 1)}
    assert array.missing() == sorted(array.missing())


@pytest.mark.parametrize("kind", KINDS)
def test_torn_units_are_missing_where_writes_may_tear(tmp_path: Path, kind: str) -> None:
    location = locate(place(kind, tmp_path))
    array = stored(location, np.random.default_rng(0).random((9, 9)), (2, 2))
    damage(location, array.key((1, 1)), "truncated")
    assert array.missing() == ([] if location.atomic else [(1, 1)])


def test_ten_thousand_chunks_are_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = local(tmp_path)
    location.group(mode="a")
    array = create_array(
        location, "m", shape=(100, 100), dtype="u1", chunk=(1, 1), shard=None, fill=255,
        dims=("x", "y"), codec="plain",
    )  # fmt: skip
    for row in range(100):
        folder = Path(str(location.path), "m", "c", str(row))
        folder.mkdir(parents=True)
        for column in range(100 - (row == 7)):
            (folder / str(column)).write_bytes(b"x")
    opened: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: opened.append(str(path)) or scandir(path))
    assert array.missing() == [(7, 99)]
    assert len(opened) == 101


def counting() -> tuple[CountingStore, Location]:
    store = CountingStore(MemoryStore())
    return store, locate(store)


@settings(max_examples=15)
@given(
    st.tuples(*[st.integers(0, 12)] * 4),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
)
def test_a_box_touches_only_the_chunks_that_it_overlaps(
    edges: tuple[int, int, int, int], chunk: tuple[int, int]
) -> None:
    store, location = counting()
    values = np.arange(144.0).reshape(12, 12)
    array = stored(location, values, chunk)
    store.counts.clear()
    rows, columns = (slice(min(pair), max(pair)) for pair in (edges[:2], edges[2:]))
    np.testing.assert_array_equal(array.read(rows, columns), values[rows, columns])
    overlapped = {
        array.key((row, column))
        for row, column in itertools.product(*map(range, array.units()))
        if values[array.box((row, column))][
            np.isin(values[array.box((row, column))], values[rows, columns])
        ].size
    }
    assert store.counts == dict.fromkeys(overlapped, 1)


def test_row_panels_and_squares_of_both_matrices_read_little(tmp_path: Path) -> None:
    n = 5000
    distances, ranks = distance_layout(n, "f4", sharded=False), rank_layout(n, sharded=False)
    for layout, panel, square in [(distances, 5, 1), (ranks, 2, 4)]:
        store, location = counting()
        location.group(mode="a")
        array = create_array(
            location, "m", shape=(n, n), dtype=layout.dtype, chunk=layout.chunk,
            shard=layout.shard, fill=0, dims=("sample", "sample_other"), codec="plain",
        )  # fmt: skip
        for box, touched in [((256, n), panel), ((1024, 1024), square)]:
            store.counts.clear()
            with pytest.raises(ChunkError):
                array.read(slice(0, box[0]), slice(0, box[1]))
            # the first chunk is asked for its size too, as it is not there
            assert len(store.counts) == touched


class FailingStore(WrapperStore[Any]):
    """Fails at every write, or every read, of a chunk, when told to."""

    error: OSError | None = None
    reading = False

    async def set(self, key: str, value: Any) -> None:
        if "/c/" in key and self.error is not None and not self.reading:
            raise self.error
        await super().set(key, value)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if "/c/" in key and self.error is not None and self.reading:
            raise self.error
        return await super().get(key, prototype, byte_range)


@pytest.mark.parametrize("in_shards", [False, True])
def test_a_full_disk_is_said_with_what_to_do(in_shards: bool) -> None:
    store = FailingStore(MemoryStore())
    array = stored(locate(store), np.ones((8, 8)), (2, 2), in_shards=in_shards)
    store.error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(WorkspaceError, match=r"chunk \(1, 0\) of .*distances/euclidean/distance.*"
                       r"No space left on device.*the same command goes on"):  # fmt: skip
        array.write((1, 0), np.zeros(array.unit))
    store.error = None
    np.testing.assert_array_equal(array.read(), np.ones((8, 8)))
    array.write((1, 0), np.zeros(array.unit))
    assert array.read()[array.unit[0], 0] == 0


@pytest.mark.parametrize("in_shards", [False, True])
def test_a_store_that_cannot_be_read_names_the_chunk(in_shards: bool) -> None:
    store = FailingStore(MemoryStore())
    array = stored(locate(store), np.ones((8, 8)), (2, 2), in_shards=in_shards)
    store.error, store.reading = OSError(errno.EIO, "Input/output error"), True
    with pytest.raises(ChunkError, match=r"chunk \(1, 1\) .*Input/output error") as caught:
        array.read(*array.box((1, 1)))
    assert caught.value.chunk == (1, 1)
    store.error = None
    np.testing.assert_array_equal(array.read(), np.ones((8, 8)))


@pytest.mark.skipif(sys.platform != "linux", reason="file size limits are POSIX")
def test_a_limit_on_file_size_leaves_no_part_of_a_chunk(tmp_path: Path) -> None:
    location = local(tmp_path)
    stored(location, np.ones((4, 4096)), (2, 4096))
    script = """
import resource, signal, sys
import numpy as np
from somscale.errors import WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.location import locate
array = open_array(locate(sys.argv[1]), "distances/euclidean/distance")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    array.write((1, 0), np.random.default_rng(0).random((2, 4096)))
except WorkspaceError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, str(location.path)], capture_output=True, text=True
    )
    assert "chunk (1, 0)" in ran.stdout, ran.stderr
    assert "File too large" in ran.stdout
    np.testing.assert_array_equal(open_array(location, PATH).read(), np.ones((4, 4096)))
    assert not list(Path(str(location.path)).rglob("*.partial"))


def test_values_of_another_shape_and_units_that_are_not_there_are_refused() -> None:
    array = stored(locate(MemoryStore()), np.ones((5, 5)), (2, 2))
    with pytest.raises(InputError, match=r"chunk \(2, 0\) .* shape \(1, 2\), not \(2, 2\)"):
        array.write((2, 0), np.ones((2, 2)))
    with pytest.raises(InputError, match=r"\(3, 3\) chunks along its dims, and no \(0, 3\)"):
        array.write((0, 3), np.ones((2, 2)))


def test_nothing_is_written_where_only_reading_is_allowed(tmp_path: Path) -> None:
    stored(local(tmp_path), np.ones((4, 4)), (2, 2))
    location = locate(local(tmp_path).name, read_only=True)
    array = open_array(location, PATH)
    np.testing.assert_array_equal(array.read(), np.ones((4, 4)))
    assert array.missing() == []
    with pytest.raises(WorkspaceError, match="reading only"):
        array.write((0, 0), np.ones((2, 2)))
    with pytest.raises(WorkspaceError, match="reading only"):
        create_array(
            location, PATH, shape=(1,), dtype="f4", chunk=(1,), shard=None, fill=0, dims=("x",)
        )
    assert stamp_of(location, array.key((0, 0))) is not None


@pytest.mark.parametrize("what", ["gone", "a group", "torn", "format 2"])
def test_what_is_no_array_is_refused(location: Location, what: str) -> None:
    stored(location, np.ones(3), (2,), path="a/b")
    reason = "cannot be opened"
    match what:
        case "gone":
            shutil.rmtree(location.path) if location.path else delete_key(location, "a/b/zarr.json")
            reason = "there is no array 'a/b'"
        case "a group":
            write_key(location, "a/b/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
            reason = "'a/b'"
        case "torn":
            write_key(location, "a/b/zarr.json", b'{"zarr_format": 3, "no')
        case "format 2":
            delete_key(location, "a/b/zarr.json")
            write_key(location, "a/b/.zarray", b"{}")
            reason = "'a/b'"
    with pytest.raises(WorkspaceError, match=reason):
        open_array(location, "a/b")
    if what == "gone" and location.path is not None:
        assert not location.path.exists()


def test_arrays_are_read_by_plain_zarr(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((9, 9)).astype("f4")
    array: StoredArray = stored(local(tmp_path), values, (4, 4), codec="distance")
    plain = zarr.open_array(LocalStore(Path(array.location.name)), path=PATH, mode="r")
    np.testing.assert_array_equal(plain[:], values)
    assert plain.fill_value is not None
    assert np.isnan(plain.fill_value)
    names = [type(codec).__name__ for codec in plain.compressors]
    assert names == ["BloscCodec", "Crc32cCodec"]

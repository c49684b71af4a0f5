"""Samples of a workspace: copied as they are, resumed, read with checks, compared."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from archives import field, trained
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import KINDS
from stores import place as place_of

import somscale as ss
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.streamed import whole_source
from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.arrays import StoredArray, open_array
from somscale.store.location import Location, locate
from somscale.workspace import copying
from somscale.workspace.copying import chunk_of
from somscale.workspace.samples import (
    check_unchanged,
    compare,
    fingerprint_text,
    open_stored,
    stored_samples,
    write_samples,
)


@pytest.fixture(params=[kind for kind in KINDS if kind != "wrapper"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place_of(request.param, tmp_path))


@pytest.fixture
def local(tmp_path: Path) -> Location:
    return locate(tmp_path / "work.zarr")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 1 KiB and slabs of 4."""
    monkeypatch.setattr(copying, "_CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(copying, "_SLAB_BYTES", 1 << 12)


def rich() -> xr.DataArray:
    """A field with coordinates of every kind."""
    days = field(50)
    return days.assign_coords(
        season=("time", np.array(["DJF", "long name"] * 25)),
        place=(("lat", "lon"), np.arange(20.0).reshape(4, 5)),
        expver=np.int64(5),
        run=("time", np.arange(50, dtype=np.int16)),
    )


def root_of(location: Location) -> Path:
    assert location.path is not None
    return location.path


def chunk_files(location: Location) -> list[Path]:
    folder = root_of(location) / "samples" / "samples" / "c"
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_plain_xarray_reads_them(place: Location) -> None:
    days = rich()
    write_samples(place, days, sample_dims="time")
    with xr.open_zarr(place.store, group="samples", consolidated=False, chunks=None) as group:
        found = group["samples"].load()
    xr.testing.assert_equal(found, days.rename("samples"))
    assert found.attrs == {"units": "K", "long_name": "air temperature"}
    assert found["lat"].attrs == days["lat"].attrs
    assert found["run"].dtype == np.int16
    assert found.dtype == np.float32


def test_the_tree_opens_without_a_warning(local: Location) -> None:
    write_samples(local, rich(), sample_dims="time")
    with xr.open_datatree(str(root_of(local)), engine="zarr", consolidated=False) as tree:
        assert tree["samples"].attrs["fingerprint"] == fingerprint_text(local)
        assert tree["samples"].attrs["complete"] is True


def test_they_are_opened_as_given(place: Location) -> None:
    days = rich()
    write_samples(place, days, sample_dims="time")
    array = open_stored(place)
    xr.testing.assert_equal(array.load(), days.rename("samples"))
    weights = {"feature_weights": "coslat", "mask": days["lat"] > -50}
    stored = stored_samples(place, **weights)
    given_ = open_samples(days, sample_dims="time", **weights)
    assert stored.shape == given_.shape
    assert stored.units == given_.units == "K"
    assert stored.rows.dims == ("time",)
    assert stored.source is not None
    assert given_.source is not None
    everything = slice(0, 50), slice(0, given_.shape[1])
    np.testing.assert_array_equal(stored.source.read(*everything), given_.source.read(*everything))
    np.testing.assert_array_equal(stored.feature_weights, given_.feature_weights)
    som = trained(days)
    metrics = ["quantization_error", "hits"]
    xr.testing.assert_identical(
        ss.evaluate(array, som, sample_dims="time", metrics=metrics, feature_weights="coslat"),
        ss.evaluate(
            days.drop_vars("expver"), som, sample_dims="time", metrics=metrics,
            feature_weights="coslat",
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i8", "u1", "u8", "?", "f2", "f4", "f8", ">f4", ">i2"]
)
def test_types_stay(dtype: str, local: Location) -> None:
    values = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(dtype)
    values[3] = np.iinfo(dtype).min if np.dtype(dtype).kind in "iu" else 0
    write_samples(local, values)
    found = open_stored(local)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(found, values)
    assert found.dims == ("sample", "feature")
    write_samples(local, values)
    check_unchanged(local)


def test_gaps_and_fill_values_are_values(local: Location) -> None:
    values = np.full((30, 4), np.nan)
    write_samples(local, values)
    np.testing.assert_array_equal(open_stored(local), values)
    assert stored_samples(local, missing="drop").missing == "drop"


@given(st.data())
@settings(max_examples=25)
def test_round_trips(data: Any) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    n_sample_dims = data.draw(st.integers(1, len(sizes)))
    dims = [f"d{n}" for n in range(len(sizes))]
    values = np.random.default_rng(0).standard_normal(sizes)
    order = data.draw(st.permutations(dims))
    array = xr.DataArray(values, dims=dims).transpose(*order)
    if data.draw(st.booleans()):
        array = array.chunk({dim: data.draw(st.integers(1, 9)) for dim in dims})
    sample_dims = data.draw(st.permutations(dims))[:n_sample_dims]
    place = locate(zarr.storage.MemoryStore())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "_CHUNK_BYTES", data.draw(st.sampled_from([8, 64, 400, 1 << 20])))
        patch.setattr(copying, "_SLAB_BYTES", data.draw(st.sampled_from([8, 800, 1 << 20])))
        write_samples(place, array, sample_dims=sample_dims)
    found = open_stored(place)
    rest = [dim for dim in order if dim not in sample_dims]
    assert found.dims == (*sample_dims, *rest)
    np.testing.assert_array_equal(found, array.transpose(*found.dims))
    np.testing.assert_array_equal(found[..., ::-2], array.transpose(*found.dims)[..., ::-2])
    stored, given_ = stored_samples(place), open_samples(array, sample_dims=sample_dims)
    assert (stored.rows.shape, stored.features.shape) == (given_.rows.shape, given_.features.shape)
    compare(place, given_, array)


@given(st.lists(st.integers(1, 40), max_size=4), st.integers(1, 2000))
def test_chunks_hold_neighbours(sizes: list[int], most: int) -> None:
    chunk = chunk_of(sizes, most)
    assert np.prod(chunk, dtype=int) <= most
    cut = [axis for axis, (c, size) in enumerate(zip(chunk, sizes, strict=True)) if c < size]
    for axis in cut[1:]:  # below a dim that is cut all are whole, unless it has one entry a chunk
        assert all(chunk[before] == 1 for before in range(axis))


@pytest.mark.parametrize(
    ("shape", "n_sample_dims", "expected"),
    [
        ((10**6, 50), 1, (1 << 16, 50)),
        ((20000, 180, 360), 1, (64, 180, 360)),
        ((100, 1000, 1000, 10), 1, (1, 256, 1000, 10)),
        ((5000, 300, 300, 10), 3, (4, 300, 300, 10)),
        ((10, 3), 1, (10, 3)),
    ],
)
def test_chunks_are_whole_samples_of_some_mebibytes(
    shape: tuple[int, ...], n_sample_dims: int, expected: tuple[int, ...], local: Location
) -> None:
    lazy = da.zeros(shape, dtype=np.float64, chunks=-1)
    dims = [f"d{n}" for n in range(len(shape))]
    opened = open_samples(xr.DataArray(lazy, dims=dims), sample_dims=dims[:n_sample_dims])
    stored = copying.create_samples(local, opened, whole_source(opened))
    assert stored.chunks == stored.unit == expected


@pytest.mark.usefixtures("small_chunks")
def test_dask_blocks_are_computed_once(local: Location) -> None:
    computed: list[Any] = []

    def noted(block: Any, block_info: Any = None) -> Any:
        computed.append(block_info[0]["chunk-location"])
        return block

    values = np.random.default_rng(0).random((900, 6))
    lazy = da.from_array(values, chunks=(100, 6)).map_blocks(noted, dtype=float, meta=values[:0])
    write_samples(local, lazy)
    assert sorted(computed) == [(n, 0) for n in range(9)]
    np.testing.assert_array_equal(open_stored(local), values)
    assert len(chunk_files(local)) == 57


@pytest.mark.usefixtures("small_chunks")
def test_memory_stays_bounded(local: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    monkeypatch.setattr(copying, "_CHUNK_BYTES", 1 << 20)
    monkeypatch.setattr(copying, "_SLAB_BYTES", 1 << 22)
    lazy = da.random.default_rng(0).random((1 << 16, 64), chunks=(1 << 12, 64))  # 32 MiB
    write_samples(local, lazy[:1])  # imports
    other = locate(root_of(local).with_name("other.zarr"))
    tracemalloc.start()
    write_samples(other, lazy)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


class Stopped(Exception):
    pass


@pytest.mark.usefixtures("small_chunks")
def test_a_copy_goes_on_where_it_was_stopped(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).random((700, 5))
    written: list[Any] = []
    write = StoredArray.write

    def limited(self: StoredArray, index: Any, part: Any) -> None:
        if self.path == "samples/samples":
            if len(written) == 10:
                raise Stopped
            written.append(index)
        write(self, index, part)

    monkeypatch.setattr(StoredArray, "write", limited)
    with pytest.raises(Stopped):
        write_samples(place, values)
    assert fingerprint_text(place) == ""
    for call in (open_stored, stored_samples, check_unchanged):
        with pytest.raises(WorkspaceError, match="not complete"):
            call(place)
    # other samples are refused
    other = values.copy()
    other[30, 2] += 1
    for wrong, message in [
        (other, "samples 16 to 31 differ from those whose copy was begun"),
        (values[:600], r"shape \(600, 5\), not \(700, 5\)"),
        (values.astype("f4"), "type float32, not float64"),
    ]:
        with pytest.raises(WorkspaceError, match=message):
            write_samples(place, wrong)
    before = list(written)
    monkeypatch.setattr(StoredArray, "write", write)
    rest: list[Any] = []

    def noted(self: StoredArray, index: Any, part: Any) -> None:
        if self.path == "samples/samples":
            rest.append(index)
        write(self, index, part)

    monkeypatch.setattr(StoredArray, "write", noted)
    write_samples(place, values)
    assert not set(rest) & set(before)
    assert len(rest) + len(before) == 44
    np.testing.assert_array_equal(open_stored(place), values)
    assert fingerprint_text(place) != ""


@pytest.mark.usefixtures("small_chunks")
def test_a_damaged_chunk_of_a_begun_copy_is_written_anew(
    local: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).random((700, 5))
    monkeypatch.setattr("somscale.workspace.samples.complete", stop)
    with pytest.raises(Stopped):
        write_samples(local, values)
    flip(chunk_files(local)[3])
    chunk_files(local)[5].unlink()
    monkeypatch.undo()
    write_samples(local, values)
    np.testing.assert_array_equal(open_stored(local), values)


def stop(*_: Any) -> None:
    raise Stopped


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


CHILD = """
import sys
import numpy as np
from somscale.store.location import locate
from somscale.workspace import copying
from somscale.workspace.samples import write_samples
copying._CHUNK_BYTES = 1 << 10
write_samples(locate(sys.argv[1]), np.random.default_rng(0).random((700, 5)))
"""


@pytest.mark.parametrize(
    "point", ["samples:created:1", "chunk:before:4", "chunk:after:4", "samples:complete:1"]
)
def test_killed_at_a_commit_point(point: str, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "SOMSCALE_ABORT_AT": point, "PYTHONPATH": root}
    command = [sys.executable, "-c", CHILD, str(tmp_path / "work")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    place, values = locate(tmp_path / "work"), np.random.default_rng(0).random((700, 5))
    assert (fingerprint_text(place) != "") == point.startswith("samples:complete")
    write_samples(place, values)
    np.testing.assert_array_equal(open_stored(place), values)
    check_unchanged(place)


@pytest.mark.usefixtures("small_chunks")
def test_equal_samples_are_not_written_again(
    local: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = rich()
    write_samples(local, days, sample_dims="time")
    before = {path: path.stat().st_mtime_ns for path in root_of(local).rglob("*")}
    for same in (days, days.chunk(time=7), days.drop_vars(["season", "expver"])):
        write_samples(local, same, sample_dims="time")
    assert before == {path: path.stat().st_mtime_ns for path in root_of(local).rglob("*")}


def different() -> list[tuple[Any, str]]:
    days = rich()
    changed = days.copy(deep=True)
    changed[40, 1, 1] += 1
    later = days.assign_coords(time=days["time"] + np.timedelta64(1, "D"))
    return [
        (changed, "samples 0 to 49 differ"),
        (days[:40], r"shape \(40, 20\), not \(50, 20\)"),
        (days.astype("f8"), "type float64, not float32"),
        (days.rename(lat="y"), r"dims \(time: 50\) × \(y: 4, lon: 5\), not \(time: 50\) × \(lat"),
        (days.transpose("time", "lon", "lat"), r"dims \(time: 50\) × \(lon: 5, lat: 4\)"),
        (later, "the coordinate 'time' has other labels"),
        (days.assign_coords(season=days["season"].str.lower()), "'season' has other labels"),
    ]


@pytest.mark.parametrize(("other", "message"), different())
@pytest.mark.parametrize("copy", [True, False])
def test_other_samples_are_refused(
    other: xr.DataArray, message: str, copy: bool, local: Location
) -> None:
    write_samples(local, rich(), sample_dims="time", copy=copy)
    before = fingerprint_text(local)
    opened = open_samples(other, sample_dims="time")
    calls = [
        lambda: compare(local, opened, other),
        lambda: write_samples(local, other, sample_dims="time"),
    ]
    for call in calls:
        with pytest.raises(WorkspaceError, match=rf"work\.zarr: .*{message}.*another workspace"):
            call()
    assert fingerprint_text(local) == before
    compare(local, open_samples(rich(), sample_dims="time"), None)


def test_masks_and_weights_do_not_matter(local: Location) -> None:
    days = rich()
    write_samples(local, days, sample_dims="time")
    masked = open_samples(
        days, sample_dims="time", mask=days["lat"] > 0, feature_weights="coslat", missing="drop"
    )
    compare(local, masked, days)


def test_paths_are_known_by_their_stamps(
    local: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive.zarr"
    data = rich().drop_vars("season").to_dataset(name="t2m")
    data["u10"] = data["t2m"] + 1
    data.to_zarr(archive, consolidated=False)
    write_samples(local, archive, sample_dims="time", variable="t2m")
    opened = open_samples(archive, sample_dims="time", variable="t2m")
    with monkeypatch.context() as patch:
        patch.setattr("somscale.workspace.samples.first_difference", stop)  # not read
        compare(local, opened, archive)
        compare(local, opened, str(archive))
        with pytest.raises(Stopped):
            compare(local, opened, None)
    # another variable of the same archive is another thing
    with pytest.raises(WorkspaceError, match="samples 0 to 49 differ"):
        write_samples(local, archive, sample_dims="time", variable="u10")
    # touched files are read
    (chunk,) = (path for path in (archive / "t2m" / "c").rglob("*") if path.is_file())
    os.utime(chunk)
    compare(local, opened, archive)
    flipped = data.copy(deep=True)
    flipped["t2m"][0, 0, 0] = 0
    shutil.rmtree(archive)
    flipped.to_zarr(archive, consolidated=False)
    reopened = open_samples(archive, sample_dims="time", variable="t2m")
    with pytest.raises(WorkspaceError, match="samples 0 to 49 differ"):
        compare(local, reopened, archive)


def test_several_variables(local: Location) -> None:
    data = xr.Dataset({"a": field(20), "b": field(20, seed=1)})
    write_samples(local, data, sample_dims="time")
    found = open_stored(local)
    assert found.dims == ("time", "variable", "lat", "lon")
    assert found["variable"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.sel(variable="b"), data["b"])
    other_order = open_samples(data, sample_dims="time", variable=["b", "a"])
    with pytest.raises(WorkspaceError, match="'variable' has other labels"):
        compare(local, other_order, data)


def test_samples_that_are_not_copied(local: Location) -> None:
    days = rich()
    write_samples(local, days, sample_dims="time", copy=False)
    assert not chunk_files(local)
    check_unchanged(local)
    for call in (open_stored, stored_samples):
        with pytest.raises(WorkspaceError, match="has only the fingerprint of its samples; give"):
            call(local)
    before = fingerprint_text(local)
    write_samples(local, days, sample_dims="time", copy=False)
    # and the values may follow
    write_samples(local, days, sample_dims="time")
    xr.testing.assert_equal(open_stored(local).load(), days.rename("samples"))
    assert fingerprint_text(local) == before


def test_no_samples_at_all(place: Location) -> None:
    assert fingerprint_text(place) == ""
    for call in (open_stored, stored_samples, check_unchanged):
        with pytest.raises(WorkspaceError, match="has no samples; write them"):
            call(place)


@pytest.mark.usefixtures("small_chunks")
def test_a_missing_or_damaged_chunk_is_named(local: Location) -> None:
    values = np.random.default_rng(0).random((700, 5))
    write_samples(local, values)
    kept = chunk_files(local)[3].read_bytes()
    chunk = chunk_files(local)[3]
    index = int(chunk.parent.name), int(chunk.name)
    som = ss.codebook(values[:4], ss.Grid(2, 2))
    for spoil in (Path.unlink, flip):
        spoil(chunk)
        for call in (
            lambda: open_stored(local).load(),
            lambda: open_stored(local)[16 * index[0]].load(),
            lambda: ss.evaluate(open_stored(local), som, metrics="quantization_error"),
            lambda: check_unchanged(local),
        ):
            with pytest.raises(ChunkError) as caught:
                call()
            assert (caught.value.array, caught.value.chunk) == ("samples/samples", index)
        chunk.write_bytes(kept)
    check_unchanged(local)


@pytest.mark.usefixtures("small_chunks")
def test_a_changed_workspace_is_refused(local: Location) -> None:
    values = np.random.default_rng(0).random((700, 5))
    write_samples(local, values)
    stored = open_array(local, "samples/samples")
    stored.write((0, 0), values[16:32])
    with pytest.raises(WorkspaceError, match="was changed since it was written: samples 0 to 699"):
        check_unchanged(local)


def test_a_copied_workspace_is_checked_once(
    local: Location, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_samples(local, rich(), sample_dims="time")
    shutil.copytree(root_of(local), tmp_path / "copy", copy_function=shutil.copyfile)
    check_unchanged(locate(tmp_path / "copy", read_only=True))
    check_unchanged(locate(tmp_path / "copy"))
    monkeypatch.setattr("somscale.workspace.samples.first_difference", stop)
    check_unchanged(locate(tmp_path / "copy"))
    check_unchanged(local)


@pytest.mark.parametrize("name", ["samples", "digests", "byte"])
def test_taken_names_are_refused(name: str, local: Location) -> None:
    with pytest.raises(InputError, match=f"a dim or coordinate {name!r}.*rename"):
        write_samples(local, xr.DataArray(np.zeros((3, 2)), dims=(name, "f")), sample_dims=name)


def test_a_read_only_place(local: Location) -> None:
    write_samples(local, rich(), sample_dims="time")
    place = locate(root_of(local), read_only=True)
    xr.testing.assert_equal(open_stored(place).load(), rich().rename("samples"))
    write_samples(place, rich(), sample_dims="time")  # nothing is left to write
    with pytest.raises(WorkspaceError, match="reading only"):
        write_samples(locate(root_of(local).with_name("new"), read_only=True), np.zeros((3, 2)))

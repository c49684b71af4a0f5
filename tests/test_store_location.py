"""Places of workspaces, their raw keys, and the named commit points."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import KINDS, CountingStore, place
from zarr.storage import FsspecStore, LocalStore, MemoryStore

import somscale.store.location as location_module
from somscale.errors import InputError, WorkspaceError
from somscale.store import points
from somscale.store.keys import (
    Stamp,
    delete_key,
    delete_prefix,
    list_children,
    list_keys,
    read_key,
    read_tail,
    stamp_of,
    sweep_partial,
    write_key,
)
from somscale.store.location import Location, locate
from somscale.store.points import POINTS, reach


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place(request.param, tmp_path))


def test_what_is_known_of_every_kind_of_place(tmp_path: Path) -> None:
    known = {}
    for kind in KINDS:
        found = locate(place(kind, tmp_path))
        known[kind] = found.sharded, found.atomic, found.shared, found.path is not None
        assert not found.read_only
    assert known == {
        "local": (False, True, True, True),
        "memory URL": (True, True, False, False),
        "file URL": (True, False, True, False),
        "memory store": (False, True, False, False),
        "wrapper": (False, False, False, False),
    }
    s3 = locate("s3://bucket/work.zarr/", storage_options={"endpoint_url": "http://x"})
    assert (s3.name, s3.sharded, s3.atomic) == ("s3://bucket/work.zarr", True, True)


def test_a_local_path_is_the_same_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "ä b.zarr")
    places = ["ä b.zarr", Path("ä b.zarr"), tmp_path / "ä b.zarr", "link", LocalStore("ä b.zarr")]
    found = {locate(where) for where in places}
    assert [each.path for each in found] == [tmp_path / "ä b.zarr"]
    assert not os.path.exists("ä b.zarr")


def test_a_store_is_opened_once_and_pickles(location: Location) -> None:
    location.group("a", mode="a")
    assert location.store is location.store
    copy = pickle.loads(pickle.dumps(location))
    assert copy == location
    assert hash(copy) == hash(location)
    assert copy.store is location.store
    assert (copy.path, copy.sharded, copy.atomic) == (
        location.path, location.sharded, location.atomic,
    )  # fmt: skip
    write_key(copy, "a/x", b"1")
    assert read_key(location, "a/x") == b"1"


def test_a_store_of_fsspec_that_is_handed_over_pickles(tmp_path: Path) -> None:
    url = f"file://{tmp_path / 'x'}"
    store = FsspecStore.from_url(url, storage_options={"auto_mkdir": True})
    location = locate(store)
    assert (location.sharded, location.atomic, location.shared) == (True, False, True)
    copy = pickle.loads(pickle.dumps(location))
    write_key(copy, "a/b", b"1")
    assert (tmp_path / "x/a/b").read_bytes() == b"1"
    assert not locate(FsspecStore.from_url("memory://x")).shared


def test_places_that_other_processes_cannot_reach_are_refused(location: Location) -> None:
    if location.shared:
        location.check_shared()
    else:
        with pytest.raises(InputError, match="other processes cannot reach"):
            location.check_shared()


def test_a_memory_store_does_not_arrive_in_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pickled = pickle.dumps(locate(MemoryStore()))
    # another process knows of no store that was handed over here
    monkeypatch.setattr(location_module, "_handed", {})
    with pytest.raises(InputError, match="in the memory of another process"):
        pickle.loads(pickled)


def test_groups_are_made_level_by_level(location: Location) -> None:
    location.group("maps/first", mode="a").attrs["x"] = 1
    assert location.group("maps/first", mode="a").attrs["x"] == 1
    assert location.group("maps/first", mode="r").attrs["x"] == 1
    assert set(list_keys(location, "")) == {
        "zarr.json", "maps/zarr.json", "maps/first/zarr.json",
    }  # fmt: skip
    with pytest.raises(WorkspaceError, match="there is no group 'maps/second'"):
        location.group("maps/second", mode="r")
    write_key(location, "maps/first/zarr.json", b'{"zarr')
    with pytest.raises(WorkspaceError, match=r"group 'maps/first' .*cannot be opened"):
        location.group("maps/first", mode="r")


def test_reading_makes_no_folder(tmp_path: Path) -> None:
    location = locate(tmp_path / "none")
    with pytest.raises(WorkspaceError, match="there is no group"):
        location.group(mode="r")
    assert list_keys(location, "") == {}
    assert read_key(location, "zarr.json") is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_only_place_is_read_and_not_written(tmp_path: Path, kind: str) -> None:
    where = place(kind, tmp_path)
    locate(where).group("a", mode="a")
    location = locate(where, read_only=True)
    assert location.read_only
    assert location.store.read_only
    assert location.group("a", mode="r").path == "a"
    assert pickle.loads(pickle.dumps(location)).store.read_only
    for forbidden in [
        lambda: location.group("b", mode="a"),
        lambda: write_key(location, "x", b""),
        lambda: delete_key(location, "zarr.json"),
        lambda: delete_prefix(location, ""),
        lambda: sweep_partial(location),
    ]:
        with pytest.raises(WorkspaceError, match="reading only"):
            forbidden()
    assert set(list_keys(location, "")) == {"zarr.json", "a/zarr.json"}


@pytest.mark.parametrize("wrong", [3, None, b"bytes", "", zarr])
def test_what_is_no_place_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="a workspace needs a path, a URL or a Zarr store"):
        locate(wrong)  # type: ignore[arg-type]


def test_options_go_with_a_url_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="storage_options go with a URL"):
        locate(tmp_path, storage_options={"anon": True})


KEYS = st.dictionaries(
    st.lists(st.sampled_from(["a", "ü x", "c", "0"]), min_size=2, max_size=3).map("/".join),
    st.binary(max_size=5),
    max_size=6,
)


@settings(max_examples=25)
@given(KEYS, st.sampled_from(["a", "ü x", "c/0", ""]), st.sampled_from(KINDS))
def test_keys_are_those_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory, keys: dict[str, bytes], prefix: str, kind: str
) -> None:
    # no key may be a folder of another
    keys = {
        key: data
        for key, data in keys.items()
        if key != prefix and not any(other.startswith(f"{key}/") for other in keys)
    }
    location = locate(place(kind, tmp_path_factory.getbasetemp()))
    for key, data in keys.items():
        write_key(location, key, b"before")
        write_key(location, key, data)
    start = f"{prefix}/" if prefix else ""
    below = {
        key.removeprefix(start): len(data) for key, data in keys.items() if key.startswith(start)
    }
    assert {key: stamp.size for key, stamp in list_keys(location, prefix).items()} == below
    assert list_children(location, prefix) == sorted({key.split("/")[0] for key in below})
    for key, data in keys.items():
        stamp = stamp_of(location, key)
        assert stamp is not None
        assert stamp.size == len(data)
        assert read_key(location, key) == data
        assert data == b"" or read_tail(location, key, 2) == data[-2:]
    delete_prefix(location, prefix)
    left = {key for key in keys if not key.startswith(start)}
    assert set(list_keys(location, "")) == left
    for key in left:
        delete_key(location, key)
    assert list_keys(location, "") == {}


def test_keys_that_are_not_there(location: Location) -> None:
    location.group(mode="a")
    assert read_key(location, "none/there") is None
    assert stamp_of(location, "none/there") is None
    assert list_keys(location, "none") == {}
    assert list_children(location, "none") == []
    with pytest.raises(FileNotFoundError):
        read_tail(location, "none/there", 2)
    delete_key(location, "none/there")
    delete_prefix(location, "none")
    assert set(list_keys(location, "")) == {"zarr.json"}


def test_a_stamp_changes_with_what_is_written(tmp_path: Path) -> None:
    location = locate(tmp_path / "x")
    write_key(location, "a/b", b"1")
    first = stamp_of(location, "a/b")
    assert list_keys(location, "a") == {"b": first}
    os.utime(tmp_path / "x/a/b", ns=(1, 1))
    assert stamp_of(location, "a/b") == Stamp(1, "1") != first


def test_keys_are_at_hand_inside_a_running_loop(location: Location) -> None:
    async def inside() -> bytes | None:
        write_key(location, "a/b", b"1")
        return read_key(location, "a/b")

    assert asyncio.run(inside()) == b"1"


def test_temporary_files_are_no_keys_and_are_swept(tmp_path: Path) -> None:
    location = locate(tmp_path / "wörk x")
    location.group("a", mode="a")
    write_key(location, "a/c/0/0", b"1")
    names = ["zarr." + "a" * 32, "a/c/0/" + "0" * 32, "a/1." + "7" * 32]
    stray = [tmp_path / "wörk x" / f"{name}.partial" for name in names]
    for file in stray:
        file.write_bytes(b"torn")
    other = tmp_path / "wörk x/a/mine.partial"
    other.write_bytes(b"of somebody else")
    known = {"zarr.json", "a/zarr.json", "a/c/0/0", "a/mine.partial"}
    # one has no name before the random part, and is no file of a store
    assert set(list_keys(location, "")) == known | {f"a/c/0/{'0' * 32}.partial"}
    assert sweep_partial(location) == 2
    assert sweep_partial(location) == 0
    assert other.exists()


def test_nothing_is_swept_where_nothing_is_left(location: Location) -> None:
    location.group(mode="a")
    assert sweep_partial(location) == 0


def test_an_interrupted_write_of_zarr_is_swept(tmp_path: Path) -> None:
    script = """
import os, pathlib, sys
import numpy as np
from somscale.store.arrays import create_array
from somscale.store.location import locate
array = create_array(locate(sys.argv[1]), "m", shape=(4,), dtype="f4", chunk=(2,), shard=None,
                     fill=np.nan, dims=("x",))
pathlib.Path.replace = lambda *_: os.kill(os.getpid(), 9)
array.write((0,), np.ones(2))
"""
    folder = tmp_path / "w"
    ran = subprocess.run([sys.executable, "-c", script, str(folder)])
    assert ran.returncode == -signal.SIGKILL
    assert len(list(folder.rglob("*.partial"))) == 1
    location = locate(folder)
    assert set(list_keys(location, "m")) == {"zarr.json"}
    assert sweep_partial(location) == 1
    assert not list(folder.rglob("*.partial"))


def test_a_counting_store_counts() -> None:
    store = CountingStore(MemoryStore())
    location = locate(store)
    assert read_key(location, "a/c/0") is None
    assert store.counts == {"a/c/0": 1}


def test_a_process_dies_at_once_at_a_point() -> None:
    script = "from somscale.store.points import reach; reach('chunk:after'); print(1)"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "SOMSCALE_ABORT_AT": "chunk:after:1"},
        capture_output=True,
    )
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout == b""


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_point_and_the_count_are_those_that_were_set(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    died: list[int] = []
    monkeypatch.setattr(os, "kill", lambda process, by: died.append(passed) or (process, by))
    monkeypatch.setattr(points, "_reached", Counter())
    monkeypatch.setenv("SOMSCALE_ABORT_AT", f"chunk:after:{count}")
    for passed in range(6):
        reach("chunk:after" if passed % 2 else "chunk:before")
    assert died == [2 * count - 1]


@pytest.mark.parametrize("setting", ["chunk:after", "chunk:after:0", "chunk:after:x", "none:1", ""])
def test_a_setting_that_names_no_point_is_refused(
    monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("SOMSCALE_ABORT_AT", setting)
    with pytest.raises(InputError, match="is not a commit point and a count"):
        reach("chunk:after")


def test_points_are_passed_and_a_point_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for point in POINTS:
        reach(point)
    monkeypatch.setenv("SOMSCALE_ABORT_AT", "chunk:after:1000")
    with pytest.raises(InputError, match="'chunk:mid' is no commit point"):
        reach("chunk:mid")

"""The root of a workspace: made, opened, and told in one sentence from anything else."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from stores import KINDS, place, stored
from zarr.storage import LocalStore

from somscale import __version__
from somscale.errors import InputError, WorkspaceError
from somscale.store.keys import list_keys, read_key, write_key
from somscale.store.location import Location, locate
from somscale.store.locking import writing
from somscale.store.root import FORMAT, check_name, open_root


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place(request.param, tmp_path))


def test_a_root_is_made_once_and_opened_again(location: Location) -> None:
    with pytest.raises(WorkspaceError, match="there is no workspace at"):
        open_root(location, create=False)
    assert list_keys(location, "") == {}
    made = open_root(location, create=True)
    assert dict(made.attrs) == {"somscale_workspace": FORMAT, "somscale_version": __version__}
    made.attrs["more"] = 1
    for create in (True, False):
        assert open_root(location, create=create).attrs["more"] == 1
    assert set(list_keys(location, "")) == {"zarr.json"}


def test_a_root_is_made_while_the_lock_is_held(location: Location) -> None:
    with writing(location):
        open_root(location, create=True)
        open_root(location, create=False)
    assert set(list_keys(location, "")) == {"zarr.json"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_root_is_read_where_nothing_may_be_written(tmp_path: Path, kind: str) -> None:
    where = place(kind, tmp_path)
    with pytest.raises(WorkspaceError, match="there is no workspace"):
        open_root(locate(where, read_only=True), create=False)
    with pytest.raises(WorkspaceError, match="none can be made where nothing may be written"):
        open_root(locate(where, read_only=True), create=True)
    open_root(locate(where), create=True)
    root = open_root(locate(where, read_only=True), create=True)
    assert root.read_only
    assert root.attrs["somscale_workspace"] == FORMAT


def test_stray_temporary_files_are_not_things_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / f"zarr.{'a' * 32}.partial").write_bytes(b"{")
    assert open_root(locate(folder), create=True).attrs["somscale_workspace"] == FORMAT


def a_file(folder: Path) -> None:
    folder.write_text("text")


def other_files(folder: Path) -> None:
    folder.mkdir()
    (folder / "letters.txt").write_text("text")


def foreign_group(folder: Path) -> None:
    zarr.create_group(LocalStore(folder), attributes={"title": "mine"})


def foreign_array(folder: Path) -> None:
    zarr.create_array(LocalStore(folder), shape=(2,), dtype="f4")


def dataset(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xr.Dataset({"a": ("x", [1.0])}).to_zarr(folder, zarr_format=3)


def format_2_group(folder: Path) -> None:
    zarr.create_group(LocalStore(folder), zarr_format=2)


def format_2_array(folder: Path) -> None:
    zarr.create_array(LocalStore(folder), shape=(2,), dtype="f4", zarr_format=2)


def workspace_of(number: object) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        attributes = {"somscale_workspace": number, "somscale_version": "9.9"}
        zarr.create_group(LocalStore(folder), attributes=attributes)

    return make


def torn(folder: Path) -> None:
    folder.mkdir()
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node')


def no_object(folder: Path) -> None:
    folder.mkdir()
    (folder / "zarr.json").write_text("[]")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_file, "is a file, and a workspace is a Zarr group"),
        (other_files, "folder of other things .'letters.txt'"),
        (foreign_group, "is a Zarr group, but no workspace of somscale"),
        (dataset, "is a Zarr group, but no workspace of somscale"),
        (foreign_array, "is a Zarr array or something else, and no workspace"),
        (format_2_group, "is in Zarr format 2, and a workspace is in format 3"),
        (format_2_array, "is in Zarr format 2, and a workspace is in format 3"),
        (workspace_of(2), r"workspace of format 2, made by somscale 9.9,.* update somscale"),
        (workspace_of(0), r"workspace of format 0, made by somscale 9.9,.* make the workspace"),
        (workspace_of("x"), r"workspace of format x"),
        (torn, r"the zarr.json of .* cannot be read"),
        (no_object, "something else"),
    ],
)
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("by_url", [False, True])
def test_anything_else_is_refused_in_one_sentence_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str, create: bool, by_url: bool
) -> None:
    folder = tmp_path / "wörk space"
    make(folder)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    if by_url and make in (a_file, torn):
        pytest.skip("fsspec sees no folder in a file; what was torn there is made anew")
    location = locate(f"file://{folder}" if by_url else folder)
    with pytest.raises(WorkspaceError, match=said) as caught:
        open_root(location, create=create)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_root_that_was_torn_is_made_anew_where_writes_may_tear(tmp_path: Path) -> None:
    location = locate(f"file://{tmp_path / 'x'}")
    write_key(location, "zarr.json", b'{"zarr')
    with pytest.raises(WorkspaceError, match="there is no workspace"):
        open_root(location, create=False)
    assert open_root(location, create=True).attrs["somscale_workspace"] == FORMAT
    write_key(location, "samples/zarr.json", b"{}")
    write_key(location, "zarr.json", b'{"zarr')
    assert open_root(location, create=True).attrs["somscale_workspace"] == FORMAT
    write_key(location, "others/zarr.json", b"{}")
    write_key(location, "zarr.json", b'{"zarr')
    with pytest.raises(WorkspaceError, match="cannot be read"):
        open_root(location, create=True)
    assert read_key(location, "zarr.json") == b'{"zarr'


def test_a_place_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    location = locate(tmp_path / "file" / "work.zarr")
    with pytest.raises(WorkspaceError, match=r"work.zarr cannot be opened: .*[Nn]ot a directory"):
        open_root(location, create=True)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_folder_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "wörk.zarr"
    open_root(locate(folder), create=True)
    stored(locate(folder), np.arange(4.0), (2,))
    for path in [*folder.rglob("*"), folder, tmp_path]:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write anywhere")
        for read_only in (False, True):
            location = locate(folder, read_only=read_only)
            open_root(location, create=False)
            array = stored_again(location)
            np.testing.assert_array_equal(array, np.arange(4.0))
        with pytest.raises(WorkspaceError, match="cannot be written"):
            write_one(locate(folder))
        with pytest.raises(WorkspaceError, match="lock"), writing(locate(folder)):
            pass
        with pytest.raises(WorkspaceError, match=r"other.zarr cannot be opened"):
            open_root(locate(tmp_path / "other.zarr"), create=True)
    finally:
        for path in [tmp_path, folder, *folder.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)


def stored_again(location: Location) -> object:
    from somscale.store.arrays import open_array

    return open_array(location, "distances/euclidean/distance").read()


def write_one(location: Location) -> None:
    from somscale.store.arrays import open_array

    open_array(location, "distances/euclidean/distance").write((0,), np.zeros(2))


def test_plain_xarray_opens_the_tree_without_a_warning(location: Location) -> None:
    open_root(location, create=True)
    values = np.random.default_rng(0).random((6, 6)).astype("f4")
    ranks = np.arange(36, dtype="u1").reshape(6, 6)
    stored(location, values, (2, 2), codec="distance")
    rank = stored(location, ranks, (2, 6), path="ranks/euclidean/rank", fill=255, codec="rank")
    stored(location, np.arange(9, dtype="u1"), (9,), path="partials/x/0")
    with writing(location), warnings.catch_warnings():
        # in the middle of a run, too
        warnings.simplefilter("error")
        target = location.path or location.store
        with xr.open_datatree(target, engine="zarr", consolidated=False) as tree:
            assert set(tree.groups) - {"/lock"} == {
                "/", "/distances", "/distances/euclidean", "/ranks", "/ranks/euclidean",
                "/partials", "/partials/x",
            }  # fmt: skip
            np.testing.assert_array_equal(tree["distances/euclidean/distance"], values)
            opened = tree["ranks/euclidean/rank"]
            assert opened.dtype == rank.dtype
            np.testing.assert_array_equal(opened, ranks)


def test_plain_xarray_opens_a_url(tmp_path: Path) -> None:
    location = locate("memory://tests/tree of xarray")
    open_root(location, create=True)
    stored(location, np.ones((3, 3)), (2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_datatree(location.name, engine="zarr", consolidated=False) as tree:
            assert float(tree["distances/euclidean/distance"].sum()) == 9.0


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "_x", "euclidean", "-"])
def test_names_of_children(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", ".a", "a/b", "a b", "ü", "a\n", "..", "κ"])
def test_names_that_cannot_stand_in_a_workspace(name: str) -> None:
    with pytest.raises(InputError, match=r"run .* cannot stand in a workspace"):
        check_name(name, "run")

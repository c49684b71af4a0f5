"""Results of a workspace: just as they were written, whole or not at all, the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from archives import field, trained
from stores import KINDS
from stores import place as place_of

import somscale as ss
from somscale.errors import ChunkError, InputError, WorkspaceError
from somscale.store.location import Location, locate
from somscale.workspace.results import (
    names,
    read_map,
    read_result,
    result_provenance,
    write_map,
    write_result,
)


@pytest.fixture(params=[kind for kind in KINDS if kind != "wrapper"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    return locate(place_of(request.param, tmp_path))


@pytest.fixture
def local(tmp_path: Path) -> Location:
    return locate(tmp_path / "work.zarr")


def kinds() -> dict[str, xr.Dataset]:
    rng = np.random.default_rng(0)
    samples = rng.random((40, 3))
    days = field(30)
    return {
        "map": ss.evaluate(
            samples, ss.codebook(rng.random((6, 3)), ss.Grid(2, 3)), labels=rng.integers(0, 3, 40)
        ),
        "field": ss.evaluate(days, trained(days), sample_dims="time", feature_weights="coslat"),
        "curves": ss.evaluate(samples, samples[:, :2], k=[1, 2, 5], kappa_s=[2, 5]),
        "clusters": ss.evaluate(
            samples, np.array(list("abcd"))[rng.integers(0, 4, 40)], labels=rng.integers(0, 3, 40)
        ),
        "sampled": ss.evaluate(samples, samples[:, :2], sample_anchors=20),
        "candidates": ss.evaluate(
            samples, {"α/β": samples[:, :2], "b": samples[:, 1:]}, metrics="trustworthiness", k=3
        ),
        "nan": ss.evaluate(samples, ss.codebook(samples[:1], ss.Grid(1, 1)), cost="linear"),
    }


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    return kinds()


def odd() -> xr.Dataset:
    """What results may hold, in every type."""
    return xr.Dataset(
        {
            "flags": ("time", np.array([-1, 0, 1], np.int32), {"flag_values": [-1, 0, 1]}),
            "wide": ("time", np.array([2**63, 1, 0], np.uint64)),
            "least": ("time", np.array([-(2**63), 1, 0])),
            "taken": ("time", [True, False, True]),
            "half": (("time", "unit"), np.full((3, 2), np.nan, np.float16)),
            "zeros": (("time", "unit"), np.zeros((3, 2))),
            "infinite": ("unit", [np.inf, -np.inf]),
            "text": ("unit", np.array(["κ", ""], dtype=object)),
            "variable_text": ("unit", np.array(["κ", "long " * 9], np.dtypes.StringDType())),
            "fixed_text": ("unit", np.array(["a", "bc"])),
            "lag": ("unit", np.array([1, "NaT"], "m8[s]")),
            "number": ((), 3.5),
            "word": ((), np.array("x", dtype=object)),
            "none": ("empty", np.zeros(0)),
            "ab": ("unit", [1, 2], {"units": "K", "range": [0.0, 1.5]}),
        },
        coords={
            "time": np.array(["2001-01-01", "NaT", "2000-01-01"], "M8[ns]"),
            "second": ("time", np.array(["2001-01-01", "NaT", "2000-01-01"], "M8[s]")),
            "unit": ["b", "a"],
            "expver": 5,
        },
        attrs={"title": "odd", "count": 3, "share": 0.5, "list": [1, 2]},
    )


def assert_same(found: xr.Dataset | None, expected: xr.Dataset) -> None:
    assert found is not None
    xr.testing.assert_identical(found, expected)
    assert list(found.data_vars) == list(expected.data_vars)
    assert list(found.coords) == list(expected.coords)
    for name, variable in expected.variables.items():
        assert str(found[name].dtype) == str(variable.dtype), name
    assert not found.chunks


def test_every_kind_comes_back(local: Location, results: dict[str, xr.Dataset]) -> None:
    for name, result in results.items():
        write_result(local, name, result, {"kind": name})
    for name, result in results.items():
        assert_same(read_result(local, name), result)
        assert result_provenance(local, name) == {"kind": name}
    assert names(local, "results") == sorted(results)
    # plain xarray reads it without a warning, which would be an error here
    assert local.path is not None
    with xr.open_datatree(str(local.path), engine="zarr", consolidated=False) as tree:
        assert set(tree["results"].children) == set(results)
        found = tree["results/sampled"]["standard_error"].to_numpy()
        np.testing.assert_array_equal(found, results["sampled"]["standard_error"])


def test_every_type_comes_back_everywhere(place: Location) -> None:
    write_result(place, "odd", odd(), {})
    assert_same(read_result(place, "odd"), odd())


def test_what_was_read_can_go_to_netcdf(local: Location, results: dict[str, xr.Dataset]) -> None:
    write_result(local, "r", results["map"], {"a": {"b": None}})
    found = read_result(local, "r")
    assert found is not None
    assert local.path is not None
    found.to_netcdf(local.path.with_name("r.nc"))


def test_large_variables_are_chunked(local: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("somscale.store.groups._CHUNK_BYTES", 1 << 10)
    wide = xr.Dataset(
        {"x": (("a", "b"), np.arange(1000.0).reshape(100, 10)), "y": ("a", range(100))}
    )
    write_result(local, "r", wide, {})
    assert local.group("results/r", mode="r")["x"].chunks == (12, 10)
    assert_same(read_result(local, "r"), wide)


def test_dask_arrays_are_computed(local: Location) -> None:
    lazy = xr.Dataset({"x": ("a", da.arange(10, chunks=3))})
    write_result(local, "r", lazy, {})
    assert_same(read_result(local, "r"), lazy.compute())


def test_a_map_serves_again(place: Location) -> None:
    days = field()
    som = trained(days)
    write_map(place, "first", som)
    found = read_map(place, "first")
    assert_same(found, som)
    assert names(place, "maps") == ["first"]
    xr.testing.assert_identical(
        ss.evaluate(days, found, sample_dims="time", metrics="quantization_error"),
        ss.evaluate(days, som, sample_dims="time", metrics="quantization_error"),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_equal_results_give_equal_bytes(tmp_path: Path, results: dict[str, xr.Dataset]) -> None:
    for folder in ("one", "two"):
        place = locate(tmp_path / folder)
        write_result(place, "map", results["map"], {"samples": "0f", "versions": {"somscale": "1"}})
        write_result(place, "odd", odd(), {})
    assert files(tmp_path / "one") == files(tmp_path / "two")
    # in place of another, too
    place = locate(tmp_path / "one")
    write_result(place, "odd", results["clusters"], {"other": 1})
    write_result(place, "odd", odd(), {})
    assert files(tmp_path / "one") == files(tmp_path / "two")


CHILD = """
import sys
from test_workspace_results import locate, odd, write_result
write_result(locate(sys.argv[1]), "r", odd(), {"a": 1})
"""


@pytest.mark.parametrize("point", ["result:created", "result:complete"])
def test_killed_at_a_commit_point(point: str, tmp_path: Path) -> None:
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "SOMSCALE_ABORT_AT": f"{point}:1",
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]),
    }
    command = [sys.executable, "-c", CHILD, str(tmp_path / "killed")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    place = locate(tmp_path / "killed")
    if point == "result:created":
        assert read_result(place, "r") is None
        assert result_provenance(place, "r") is None
        assert names(place, "results") == []
        write_result(place, "r", odd(), {"a": 1})
    assert_same(read_result(place, "r"), odd())
    write_result(locate(tmp_path / "other"), "r", odd(), {"a": 1})
    assert files(tmp_path / "killed") == files(tmp_path / "other")


def test_nothing_there(place: Location) -> None:
    assert read_result(place, "r") is None
    assert result_provenance(place, "r") is None
    assert names(place, "results") == []


def test_a_missing_chunk_is_named(local: Location) -> None:
    write_result(local, "r", odd(), {})
    assert local.path is not None
    (local.path / "results/r/zeros/c/0/0").unlink()
    with pytest.raises(ChunkError, match=r"chunk \(0, 0\) .*results/r/zeros is missing") as caught:
        read_result(local, "r")
    assert (caught.value.array, caught.value.chunk) == ("results/r/zeros", (0, 0))


@pytest.mark.parametrize("name", ["zeros", "text", "time", "number", "taken", "wide"])
def test_any_flipped_byte_is_found(name: str, local: Location) -> None:
    write_result(local, "r", odd(), {})
    assert local.path is not None
    (chunk,) = (p for p in (local.path / "results/r" / name / "c").parent.rglob("*")
                if p.is_file() and p.name != "zarr.json")  # fmt: skip
    whole = chunk.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 5)):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        chunk.write_bytes(flipped)
        with pytest.raises(ChunkError, match=f"results/r/{name}"):
            read_result(local, "r")
    chunk.write_bytes(whole)
    assert_same(read_result(local, "r"), odd())


def test_a_missing_variable_is_named(local: Location) -> None:
    write_result(local, "r", odd(), {})
    assert local.path is not None
    (local.path / "results/r/zeros/zarr.json").unlink()
    with pytest.raises(WorkspaceError, match="lacks its variable 'zeros'"):
        read_result(local, "r")


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "..", "ü"])
def test_other_names_are_refused(name: str, local: Location) -> None:
    for call in (read_result, read_map, result_provenance):
        with pytest.raises(InputError, match="letters, digits"):
            call(local, name)
    with pytest.raises(InputError, match="letters, digits"):
        write_result(local, name, odd(), {})
    assert local.path is not None
    assert not local.path.exists()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (odd().rename(number="a/b"), "'a/b' cannot be stored"),
        (odd().assign_attrs(complete=1), "attribute 'complete'"),
    ],
)
def test_what_cannot_be_stored_is_refused(bad: Any, message: str, local: Location) -> None:
    write_result(local, "r", odd(), {})
    with pytest.raises(InputError, match=message):
        write_result(local, "r", bad, {})
    assert_same(read_result(local, "r"), odd())


def test_a_read_only_place(local: Location) -> None:
    write_result(local, "r", odd(), {})
    assert local.path is not None
    place = locate(local.path, read_only=True)
    assert_same(read_result(place, "r"), odd())
    with pytest.raises(WorkspaceError, match="reading only"):
        write_result(place, "r", odd(), {})
    assert_same(read_result(local, "r"), odd())

"""Workspaces on the command line: filled, judged from, checked, mended and described."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from click.testing import CliRunner, Result

import somscale as ss
from somscale.cli import main
from somscale.store import write_dataset
from somscale.workspace.runs import Run

VALUES = np.random.default_rng(5).normal(size=(90, 4))
WORK = "größe und form.zarr"
ASKED = ("--embedding", "E.npy", "-m", "metric_stress", "-m", "q_nx", "-k", "5")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """The one sentence of a command that fails."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) == 1
    return result.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Samples, an embedding and a map in the working directory, whose name has a space."""
    folder = tmp_path / "my wörk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    np.save("X.npy", VALUES)
    np.save("E.npy", VALUES[:, :2])
    write_dataset(ss.codebook(VALUES[:6], ss.Grid(2, 3)), "som.zarr")
    return folder


def flip(key: str) -> None:
    path = Path(WORK, key)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_workspace_is_filled_step_by_step() -> None:
    first = succeed("store", "X.npy", "-o", WORK)
    assert "(sample: 90) × (feature: 4) float64" in first
    everything = succeed(
        "store", "X.npy", "-o", WORK, "--distances", "--ranks", "--map", "som.zarr"
    )
    for path in ("distances/euclidean", "ranks/euclidean", "maps/som"):
        assert path in everything
    assert succeed("store", "X.npy", "-o", WORK, "--distances", "--map", "som.zarr") == everything
    own = succeed("store", WORK, "--ranks", "--distance", "minkowski", "-p", 3, "--name", "cubes")
    assert "ranks/cubes" in own
    ws = ss.Workspace(WORK, mode="r")
    assert ws.open("ranks/cubes").dtype == np.uint8
    direct = ss.Workspace("other.zarr")
    direct.write_samples(VALUES)
    direct.write_ranks("minkowski", p=3)
    np.testing.assert_array_equal(ws.open("ranks/cubes"), direct.open("ranks/minkowski_p3"))


def test_stored_matrices_are_read_and_told(folder: Path) -> None:
    plain = json.loads(succeed("evaluate", "X.npy", *ASKED, "--json"))
    succeed("store", "X.npy", "-o", WORK, "--distances", "--ranks")
    printed = succeed("evaluate", "X.npy", *ASKED, "--store", WORK)
    assert "Read from the workspace: distances/euclidean, ranks/euclidean" in printed
    for data in (("X.npy", "--store", WORK), (WORK,)):
        found = json.loads(succeed("evaluate", *data, *ASKED, "--json"))
        assert found["variables"]["q_nx"]["values"] == plain["variables"]["q_nx"]["values"]
        np.testing.assert_allclose(
            found["variables"]["value"]["values"], plain["variables"]["value"]["values"], rtol=1e-12
        )
    assert len(ss.Workspace(WORK, mode="r").info().results) == 1


def test_the_plan_counts_what_is_stored_and_writes_nothing(folder: Path) -> None:
    without = succeed("plan", "X.npy", *ASKED, "--store", WORK)
    assert without == succeed("plan", "X.npy", *ASKED)
    assert not Path(WORK).exists()
    succeed("store", "X.npy", "-o", WORK, "--distances", "--ranks")
    before = {path: path.stat().st_mtime_ns for path in Path(WORK).rglob("*")}
    for data in (("X.npy", "--store", WORK), (WORK,)):
        for command in (("plan",), ("evaluate", "--dry-run")):
            planned = succeed(*command, *data, *ASKED)
            assert planned.count("a matrix of distances") == 2
    assert {path: path.stat().st_mtime_ns for path in Path(WORK).rglob("*")} == before
    facts = json.loads(succeed("plan", WORK, *ASKED, "--json"))
    assert facts["bytes_read"] == 90 * 90 * (8 + 1)


def test_fresh_computes_again_and_resume_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = Run.compute

    def watched(self: Run, work: Any) -> xr.Dataset:
        computed.append(self.name)
        return compute(self, work)

    monkeypatch.setattr(Run, "compute", watched)
    question = ("evaluate", "X.npy", *ASKED, "--store", WORK, "--run", "mine")
    first = succeed(*question)
    assert succeed(*question, "--resume") == first
    assert computed == ["mine"]
    assert succeed(*question, "--fresh") == first
    assert computed == ["mine", "mine"]
    other = refused("evaluate", "X.npy", "--store", WORK, "--run", "mine", "--fresh", *ASKED[:4])
    assert "another question" in other
    assert ss.Workspace(WORK, mode="r").open("results/mine") is not None


def test_ctrl_c_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Run, "compute", stopped)
        result = run("evaluate", "X.npy", *ASKED, "--store", WORK)
    assert result.exit_code == 130
    assert len(result.stderr.strip().splitlines()) == 1
    assert WORK in result.stderr
    assert "the same command goes on from there" in result.stderr
    with monkeypatch.context() as patched:
        patched.setattr("somscale.workspace.matrices.MatrixWriter.fill_in", stopped)
        result = run("store", "X.npy", "-o", WORK, "--ranks")
    assert result.exit_code == 130
    succeed("store", "X.npy", "-o", WORK, "--ranks")
    group = ss.Workspace(WORK).location.group("ranks/euclidean", mode="a")
    group.attrs["complete"] = False
    Path(WORK, "ranks/euclidean/rank/c/0/0").unlink()
    with monkeypatch.context() as patched:
        patched.setattr("somscale.workspace.matrices.MatrixWriter.fill_in", stopped)
        result = run("store", "X.npy", "-o", WORK, "--ranks")
    assert "0 of 1 chunks of ranks/euclidean are kept in" in result.stderr
    plain = run("evaluate", "X.npy", *ASKED)
    assert plain.exit_code == 0


def test_verify_finds_and_repairs() -> None:
    succeed("store", "X.npy", "-o", WORK, "--distances", "--ranks")
    assert "nothing is damaged" in succeed("verify", WORK)
    flip("ranks/euclidean/rank/c/0/0")
    bad = run("verify", WORK)
    assert bad.exit_code == 1
    assert "ranks/euclidean/rank, chunk (0, 0): has other bytes" in bad.stdout
    facts = json.loads(run("verify", WORK, "--json").stdout)
    assert facts["ok"] is False
    assert facts["damaged"][0]["chunk"] == [0, 0]
    assert "chunk (0, 0) of" in refused("evaluate", WORK, *ASKED)
    assert "all repaired" in succeed("verify", WORK, "--repair", "--workers", 1)
    assert json.loads(succeed("verify", WORK, "--json"))["ok"] is True
    flip("samples/samples/c/0/0")
    alone = run("verify", WORK, "--repair")
    assert alone.exit_code == 1
    assert "give --samples" in alone.stdout
    assert "add --repair" in refused("verify", WORK, "--samples", "X.npy")
    succeed("verify", WORK, "--repair", "--samples", "X.npy")
    assert "nothing is damaged" in succeed("verify", WORK)


def test_archives_with_names_are_stored_judged_and_mended() -> None:
    days = xr.Dataset(
        {"t2m": (("time", "lat", "lon"), np.random.default_rng(0).normal(size=(40, 3, 4)))},
        coords={"time": np.arange(40), "lat": [10.0, 20.0, 30.0], "lon": [0.0, 1.0, 2.0, 3.0]},
    )
    days = days.assign_coords(season=("time", np.arange(40) // 10))
    days["lat"].attrs["units"] = "degrees_north"
    days.to_zarr("days.zarr", consolidated=False)
    np.save("D.npy", np.random.default_rng(1).normal(size=(40, 2)))
    reading = ("--sample-dims", "time", "--variable", "t2m")
    for copy in ((), ("--no-copy",)):
        work = f"w{len(copy)}.zarr"
        asked = ("store", "days.zarr", "-o", work, *reading, *copy, "--coslat", "--ranks")
        printed = succeed(*asked)
        assert "(time: 40) × (lat: 3, lon: 4)" in printed
        target = Path(work, "ranks/euclidean/rank/c/0/0")
        whole = target.read_bytes()
        target.write_bytes(whole[:-9])
        settings = () if not copy else ("--samples", "days.zarr", "--variable", "t2m")
        succeed("verify", work, "--repair", *settings)
        assert "nothing is damaged" in succeed("verify", work)
    question = ("--embedding", "D.npy", "-m", "q_nx", "-m", "neighborhood_hit", "-k", "5")
    question = (*question, "--labels", "season", "--coslat")
    one = succeed("evaluate", "w0.zarr", *question)
    assert "Read from the workspace: ranks/euclidean" in one
    assert "no coordinate 'month'" in refused(
        "evaluate", "w0.zarr", *question[:-2], "month", "--coslat"
    )
    assert "leave --variable and --sample-dims out" in refused(
        "evaluate", "w0.zarr", *question, *reading
    )


def test_maps_of_a_workspace_are_named() -> None:
    succeed("store", "X.npy", "-o", WORK, "--map", "som.zarr")
    by_file = succeed("evaluate", WORK, "--map", "som.zarr", "-m", "topographic_error")
    by_name = succeed("evaluate", WORK, "--map", "som", "-m", "topographic_error")
    assert by_name == by_file
    write_dataset(ss.codebook(VALUES[6:12], ss.Grid(2, 3)), "som.zarr")
    assert "add --overwrite" in refused("store", WORK, "--map", "som.zarr")
    succeed("store", WORK, "--map", "som.zarr", "--overwrite")


def test_info_is_for_people_and_programs() -> None:
    succeed("store", "X.npy", "-o", WORK, "--ranks")
    assert "ranks/euclidean" in succeed("info", WORK)
    facts = json.loads(succeed("info", WORK, "--json"))
    assert facts["matrices"][0]["shape"] == [90, 90]
    assert facts["complete"] is True


def test_bad_words_are_refused_in_a_sentence() -> None:
    succeed("store", "X.npy", "-o", WORK, "--ranks")
    assert "--output" in refused("store", "X.npy")
    assert "--dtype" in refused("store", "X.npy", "-o", WORK, "--dtype", "float32")
    assert "add --distances or --ranks" in refused("store", "X.npy", "-o", WORK, "--name", "x")
    assert "leave --output out" in refused("store", WORK, "-o", "other.zarr")
    assert "is read by this command" in refused("store", "som.zarr", "-o", "som.zarr")
    assert "add --store" in refused("evaluate", "X.npy", *ASKED, "--run", "x")
    assert "add --store" in refused("evaluate", "X.npy", *ASKED, "--fresh")
    assert "not both" in refused("evaluate", "X.npy", WORK, *ASKED)
    np.save("Y.npy", VALUES + 1)
    assert "samples 0 to 89 differ" in refused("store", "Y.npy", "-o", WORK)
    assert "differ" in refused("evaluate", "Y.npy", *ASKED, "--store", WORK)
    assert "there is no workspace" in refused("info", "none.zarr")
    assert "there is no workspace" in refused("verify", "none.zarr", "--repair")
    assert not Path("none.zarr").exists()


def test_foreign_and_old_stores_are_refused() -> None:
    zarr.create_group("foreign.zarr")
    zarr.create_group("old.zarr", zarr_format=2)
    zarr.create_group("later.zarr", attributes={"somscale_workspace": 99})
    for command in (("verify",), ("info",), ("store", "X.npy", "-o")):
        assert "no workspace" in refused(*command, "foreign.zarr")
        assert "format 2" in refused(*command, "old.zarr")
        assert "update somscale" in refused(*command, "later.zarr")
        assert "is a file" in refused(*command, "X.npy") or command[0] == "store"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_takes_nothing_is_read() -> None:
    succeed("store", "X.npy", "-o", WORK, "--ranks")
    Path(WORK).chmod(0o555)
    try:
        assert "Read from the workspace" in succeed("evaluate", WORK, *ASKED)
    finally:
        Path(WORK).chmod(0o755)


def test_what_is_only_read_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    succeed("store", "X.npy", "-o", WORK, "--ranks")
    flip("ranks/euclidean/taken/c/0")
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    assert "ranks/euclidean/taken" in run("verify", WORK).stdout
    Path(WORK, "ranks/euclidean/zarr.json").unlink()
    succeed("evaluate", WORK, *ASKED)
    assert ss.Workspace(WORK, mode="r").info().results == ()

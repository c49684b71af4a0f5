"""Maps from the command line: those of the function bit for bit, judged and drawn on as files."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from archives import field
from click.testing import CliRunner, Result

import somscale as ss
from somscale.cli import main
from somscale.engine.linear.run import run_job
from somscale.errors import MemoryBudgetError
from somscale.store import open_dataset, write_dataset
from somscale.training import passes
from somscale.training.planning import plan_training

N, D = 300, 3
VALUES = np.random.default_rng(0).normal([0, 10, 20], 1, (N, D))
WEIGHTS = np.arange(N) % 5 + 0.5


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables and an archive of days, with a space and an umlaut in the path."""
    folder = tmp_path_factory.mktemp("größe und form")
    np.save(folder / "x.npy", VALUES)
    np.save(folder / "w.npy", WEIGHTS)
    np.save(folder / "one.npy", VALUES[:5, :1])
    with_gap = VALUES.copy()
    with_gap[7, 1] = np.nan
    np.save(folder / "gap.npy", with_gap)
    days = field(n=40)
    fog = ("time", np.arange(40) % 3 + 1.0)
    write_dataset(days.to_dataset().assign(fog=fog), folder / "days.zarr")
    write_dataset(ss.train(VALUES, ss.Grid(2, 2), epochs=1), folder / "first.zarr")
    return folder


SAME: dict[str, tuple[str, ss.Grid, dict[str, Any]]] = {
    "defaults": ("--grid 3x4", ss.Grid(3, 4), {}),
    "a torus": (
        "--grid 4×3 --topology hexagonal --offset even --periodic both --delta euclidean "
        "--epochs 3 -T 2 0.5 --schedule linear --kernel window --init samples --seed 7 "
        "--tolerance 0.5",
        ss.Grid(4, 3, topology="hexagonal", offset="even", periodic=True, delta="euclidean"),
        {
            **{"epochs": 3, "temperature": (2.0, 0.5), "schedule": "linear", "kernel": "window"},
            **{"init": "samples", "seed": 7, "tolerance": 0.5},
        },
    ),
    "a cylinder": (
        "--grid 2x3 --periodic cols --neighbors 8 --epochs 2",
        ss.Grid(2, 3, periodic="cols", neighbors=8),
        {"epochs": 2},
    ),
    "a ring": (
        "--grid 6 --periodic both --algorithm stochastic --learning-rate 0.4 0.02 "
        "--epochs 2 --sample-weights w.npy",
        ss.Grid.chain(6, periodic=True),
        {
            **{"algorithm": "stochastic", "learning_rate": (0.4, 0.02), "epochs": 2},
            "sample_weights": WEIGHTS,
        },
    ),
    "goes on": (
        "--grid 2x2 --init first.zarr --epochs 2",
        ss.Grid(2, 2),
        {"epochs": 2, "init": ss.train(VALUES, ss.Grid(2, 2), epochs=1)},
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_the_map_is_that_of_the_function(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(folder)
    arguments, grid, settings = SAME[case]
    target = tmp_path / "größe.zarr"
    succeed("train", "x.npy", *arguments.split(), "-o", target, "--scheduler", "serial")
    expected = ss.train(VALUES, grid, **settings)
    xr.testing.assert_identical(open_dataset(target).load(), expected)


def test_gaps_and_netcdf(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "map.nc"
    common = ("--grid", "2x2", "--epochs", 2, "--missing", "partial", "-o", target)
    succeed("train", folder / "gap.npy", *common)
    values = np.load(folder / "gap.npy")
    expected = ss.train(values, ss.Grid(2, 2), epochs=2, missing="partial")
    with open_dataset(target) as som:
        assert np.array_equal(som["codes"], expected["codes"])
        assert som.attrs["training"] == expected.attrs["training"]


def test_a_map_of_days_is_judged_and_projected(folder: Path, tmp_path: Path) -> None:
    data, som = folder / "days.zarr", tmp_path / "map.zarr"
    reading = ("--sample-dims", "time", "--coslat")
    # what weighs the samples is no feature
    weighted = ("--sample-weights", "fog", "--grid", "2x3", "--epochs", 2)
    succeed("train", data, *reading, *weighted, "-o", som)
    days, fog = field(n=40), open_dataset(data)["fog"].load()
    settings: dict[str, Any] = {"sample_dims": "time", "feature_weights": "coslat"}
    expected = ss.train(days, ss.Grid(2, 3), epochs=2, sample_weights=fog, **settings)
    written = open_dataset(som).load()
    assert np.array_equal(written["codes"], expected["codes"])
    assert written["codes"].dims == ("unit", "lat", "lon")

    named = ("--variable", "t2m", "--map", som)
    few = ("-m", "quantization_error", "-m", "codes", "-o", tmp_path / "q.zarr")
    succeed("evaluate", data, *reading, *named, *few)
    q = ss.evaluate(days, expected, metrics="quantization_error", **settings)
    found = open_dataset(tmp_path / "q.zarr")
    assert np.array_equal(found["value"], q["value"])
    assert found["codes"].sizes["lat"] == 4

    told = succeed("project", data, *reading, *named, "-o", tmp_path / "units.zarr")
    units = ss.project(days, expected, **settings)
    written = open_dataset(tmp_path / "units.zarr").load()
    assert set(written.data_vars) == {"bmu", "second_bmu", "distance"}
    for name in written.data_vars:
        assert written[name].dims == ("time",)
        assert np.array_equal(written[name], units[name])
    assert np.array_equal(written["time"], days["time"])
    used = np.unique(units["bmu"]).size
    assert told.startswith(f"40 samples on {used} of 6 units")
    assert f"{units['distance'].mean().item():.6g}" in told


def test_values_of_one_variable_are_samples_of_one_feature(folder: Path, tmp_path: Path) -> None:
    data, som = folder / "days.zarr", tmp_path / "map.zarr"
    common = (data, "--sample-dims", "time,lat,lon", "--variable", "t2m")
    told = succeed("train", *common, "--grid", 3, "--epochs", 2, "-o", som)
    assert "800 samples × 1 feature," in told
    assert open_dataset(som)["codes"].dims == ("unit", "feature")
    succeed("project", *common, "--map", som, "-o", tmp_path / "units.zarr")
    units = open_dataset(tmp_path / "units.zarr")["bmu"]
    assert units.dims == ("time", "lat", "lon")
    nearest = np.abs(field(n=40).values[..., None] - open_dataset(som)["codes"].values[:, 0])
    assert np.array_equal(units, nearest.argmin(axis=-1))


def test_samples_without_a_unit_are_counted(folder: Path, tmp_path: Path) -> None:
    common = ("--map", folder / "first.zarr", "--missing", "drop_any_sample")
    told = succeed("project", folder / "gap.npy", *common, "-o", tmp_path / "units.nc")
    assert told.endswith("; 1 left out\n")
    with open_dataset(tmp_path / "units.nc") as units:
        assert np.flatnonzero(units["bmu"] == -1).tolist() == [7]


def test_a_workspace_stands_for_its_samples(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work.zarr"
    ss.Workspace(work).write_samples(VALUES)
    succeed("train", work, "--grid", "2x2", "--epochs", 2, "-o", tmp_path / "map.zarr")
    found = open_dataset(tmp_path / "map.zarr")
    assert np.array_equal(found["codes"], ss.train(VALUES, ss.Grid(2, 2), epochs=2)["codes"])
    succeed("project", work, "--map", tmp_path / "map.zarr", "-o", tmp_path / "units.zarr")


def test_a_summary_tells_what_the_map_holds(folder: Path, tmp_path: Path) -> None:
    som = ss.train(VALUES, ss.Grid(3, 3), epochs=4)
    common = ("train", folder / "x.npy", "--grid", "3x3", "--epochs", 4, "-o")
    told = succeed(*common, tmp_path / "a.zarr")
    assert "9 units, Grid(3, 3, topology='rectangular'" in told
    assert "300 samples × 3 features, 4 of 4 epochs" in told
    first, last = som["quantization_error"].values[[0, -1]]
    assert f"{first:.6g} in the first epoch and {last:.6g} in the last" in told
    assert f"distortion {som['distortion'][-1].item():.6g}" in told
    facts = json.loads(succeed(*common, tmp_path / "b.zarr", "--json"))
    assert facts["quantization_error"] == last
    assert [facts[name] for name in ("units", "samples", "features")] == [9, 300, 3]
    assert facts["epochs_run"] == 4
    assert not facts["note"]


def test_more_units_than_samples_are_remarked_on(folder: Path, tmp_path: Path) -> None:
    told = succeed("train", folder / "one.npy", "--grid", "2x3", "-o", tmp_path / "map.zarr")
    assert "Note: the grid has more units (6) than there are samples (5)" in told
    assert "5 samples × 1 feature," in told


BAD = {
    "no data": (["missing.npy", "--grid", "2x2"], 1, "there is no file or store"),
    "gaps": (["gap.npy", "--grid", "2x2"], 1, "--missing drop_any_sample"),
    "no sides": (["x.npy", "--grid", "2y2"], 1, "as 12x8"),
    "no rows": (["x.npy", "--grid", "0x2"], 1, "rows must be an integer of at least 1"),
    "topology": (["x.npy", "--grid", "2x2", "--topology", "hex"], 2, "'--topology': 'hex'"),
    "neighbors": (["x.npy", "--grid", "2x2", "--neighbors", "5"], 1, "must be 4 or 8, not 5"),
    "no lattice": (
        ["x.npy", "--grid", "3x3", "--topology", "hexagonal", "--periodic", "rows"],
        1,
        "--periodic cols",
    ),
    "chain": (["x.npy", "--grid", "9", "--topology", "hexagonal"], 1, "as --grid 1x9"),
    "half a ring": (["x.npy", "--grid", "9", "--periodic", "rows"], 1, "--periodic both"),
    "init": (["x.npy", "--grid", "2x2", "--init", "plain"], 1, "the file of a map, not 'plain'"),
    "init of others": (
        ["one.npy", "--grid", "2x2", "--init", "first.zarr"],
        1,
        "map has 3 features and the samples have 1",
    ),
    "kernel": (["x.npy", "--grid", "2x2", "--kernel", "box"], 1, "'box'. Kernels are"),
    "rate": (["x.npy", "--grid", "2x2", "--learning-rate", "1", "0.1"], 1, "--algorithm stoch"),
    "radius": (["x.npy", "--grid", "2x2", "-T", "1", "2"], 1, "falls from its first value"),
    "weights": (["x.npy", "--grid", "2x2", "--sample-weights", "one.npy"], 1, "sample_weights"),
    "budget": (["x.npy", "--grid", "2x2", "--memory-budget", "1MiB"], 1, "--memory-budget"),
    "too large": (["x.npy", "--grid", "100000x100000"], 1, "take a smaller grid"),
    "format": (["x.npy", "--grid", "2x2", "-o", "map.txt"], 1, ".zarr or .nc"),
    "exists": (["x.npy", "--grid", "2x2", "-o", "first.zarr"], 1, "add --overwrite"),
    "is read": (
        ["x.npy", "--grid", "2x2", "--init", "first.zarr", "-o", "first.zarr", "--overwrite"],
        1,
        "is read by this command",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(folder)
    arguments, code, words = BAD[case]
    before = sorted(path.name for path in folder.iterdir())
    target = [] if "-o" in arguments else ["-o", "map.zarr"]
    result = run("train", *arguments, *target)
    assert result.exit_code == code
    last = result.stderr.strip().splitlines()
    assert words in last[-1]
    assert last[-1].startswith("Error: ")
    assert len(last) == 1 or code == 2
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_place_is_asked_for(folder: Path) -> None:
    for arguments in (("train", "--grid", "2x2"), ("project", "--map", folder / "first.zarr")):
        result = run(*arguments, folder / "x.npy")
        assert result.exit_code == 1
        assert "--output" in result.stderr


def test_a_map_is_replaced_only_when_asked(folder: Path, tmp_path: Path) -> None:
    common = ("train", folder / "x.npy", "--epochs", 1, "-o", tmp_path / "map.zarr")
    succeed(*common, "--grid", "2x2")
    assert run(*common, "--grid", "3x3").exit_code == 1
    assert open_dataset(tmp_path / "map.zarr").sizes["unit"] == 4
    succeed(*common, "--grid", "3x3", "--overwrite")
    assert open_dataset(tmp_path / "map.zarr").sizes["unit"] == 9


PLANNED = {
    "batch": ({}, {}, 1 + 20),
    "samples": ({"init": "samples", "epochs": 3}, {}, 3),
    "stochastic": ({"algorithm": "stochastic", "epochs": 2}, {}, 1 + 1),
    "partial": ({"epochs": 2}, {"missing": "partial"}, 2 + 2),
    "gapped features": ({"epochs": 2}, {"missing": "drop_any_feature"}, 1 + 1 + 2),
}


@pytest.mark.parametrize("case", PLANNED)
def test_a_plan_counts_the_passes_that_are_made(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    settings, reading, count = PLANNED[case]
    asked: dict[str, Any] = {
        **{"algorithm": "batch", "epochs": 20, "seed": 0, "kernel": "gaussian"},
        **{"temperature": None, "schedule": "geometric", "learning_rate": None, "tolerance": None},
        **settings,
    }
    init = asked.pop("init", "plane")
    grid = ss.Grid(2, 2)
    plan = plan_training(VALUES, grid, settings=asked, init=init, reading=reading)
    assert sum(read.times for read in plan.reads) == count
    assert plan.bytes_read == count * VALUES.nbytes
    made: list[int] = []

    def counted(job: Any, label: str = "reading") -> list[Any]:
        made.append(job.n_features)
        return run_job(job, label)

    monkeypatch.setattr(passes, "run_job", counted)
    ss.train(VALUES, grid, init=init, **asked, **reading)
    # the read for gaps is not one of the training's own
    assert len(made) == count - ("gapped" in case)


def test_a_dry_run_trains_nothing(folder: Path, tmp_path: Path) -> None:
    common = ("train", folder / "x.npy", "--grid", "3x3", "--dry-run")
    told = succeed(*common, "-o", tmp_path / "map.zarr")
    assert "<training plan: 9 units, 20 epochs>" in told
    assert "first codes: 1 pass\n" in told
    assert "epochs: 20 passes\n  samples      300 × 3 features" in told
    assert re.search(r"memory .* a task; budget", told)
    assert not (tmp_path / "map.zarr").exists()
    facts = json.loads(succeed(*common, "--json"))
    assert facts["bytes_read"] == 21 * VALUES.nbytes
    assert facts["tasks"] == 21
    told = succeed(*common, "--algorithm", "stochastic")
    assert "epochs: 20 reads of the samples, in pools of up to 64 MiB" in told
    refused = run(*common, "--memory-budget", "1MiB")
    assert refused.exit_code == 1
    assert "--memory-budget" in refused.stderr
    # with few samples of many features the plane is found through the samples
    np.save(tmp_path / "wide.npy", VALUES[:2])
    assert "first codes: 2 or 3 reads" in succeed(
        "train", tmp_path / "wide.npy", "--grid", 2, "--dry-run"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("algorithm", ["batch", "stochastic"])
def test_a_bar_tells_the_epoch_and_the_error_before(
    monkeypatch: pytest.MonkeyPatch, algorithm: Any
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ss.set_options(progress=True):
        som = ss.train(VALUES, ss.Grid(2, 2), epochs=3, algorithm=algorithm)
    shown = stream.getvalue()
    errors = som["quantization_error"].values
    assert "epoch 1 of 3:" in shown
    assert f"epoch 2 of 3, quantization error {errors[0]:.6g}:" in shown
    assert f"epoch 3 of 3, quantization error {errors[1]:.6g}:" in shown
    if algorithm == "stochastic":
        assert f"/{N} [" in shown


def test_a_map_that_no_budget_holds_is_refused_before_anything_is_read() -> None:
    with pytest.raises(MemoryBudgetError, match="a map of 10,000,000,000 units and 3 features"):
        ss.train(VALUES, ss.Grid(100_000, 100_000))

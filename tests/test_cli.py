"""The command line: files to files, the functions' numbers, errors in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from archives import field, trained
from click.testing import CliRunner, Result

import somscale as ss
from somscale.cli import main
from somscale.datasets import write_digits
from somscale.metrics.spec import all_specs
from somscale.store import open_dataset, write_dataset


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive, two maps and labels, with a space and an umlaut in the path."""
    folder = tmp_path_factory.mktemp("größe und form")
    write_digits(folder / "digits.zarr")
    for name, grid in {"small": ss.Grid(3, 4), "hex": ss.Grid(4, 4, topology="hexagonal")}.items():
        som = ss.train(folder / "digits.zarr", grid, epochs=2, seed=0)
        write_dataset(som, folder / f"{name}.zarr")
    write_dataset(som, folder / "hex.nc")
    np.save(folder / "odd.npy", open_dataset(folder / "digits.zarr")["label"].values % 2)
    return folder


def test_demo_ends_with_a_result_that_xarray_opens(tmp_path: Path) -> None:
    printed = succeed("demo", "-o", tmp_path / "demo")
    assert f"somscale report {tmp_path / 'demo' / 'result.zarr'} --map" in printed
    assert "topographic_error" in printed
    assert "lower is better" in printed
    q = xr.open_zarr(tmp_path / "demo" / "result.zarr").load()
    archive = open_dataset(tmp_path / "demo" / "digits.zarr")
    som = open_dataset(tmp_path / "demo" / "map.zarr").load()
    again = ss.evaluate(
        archive["samples"].values,
        som,
        labels=archive["label"],
        temperature=[1.0, 2.0],
        **{"k": 10, "kappa_s": 20, "kappa_t": 10},
    )
    assert np.array_equal(q["value"], again["value"], equal_nan=True)
    assert np.array_equal(q["bmu"], again["bmu"])
    error = q["value"].sel(metric="topographic_error").item()
    assert 0 < error < 0.2, "a trained map keeps most neighbours together"
    assert f"{error:.6g}" in printed
    judged = open_dataset(tmp_path / "demo" / "clusters.zarr").load()
    assert judged["value"].sel(metric="clustering_accuracy") > 0.6
    assert judged["value"].sel(metric="calinski_harabasz_score") > 100
    embedded = open_dataset(tmp_path / "demo" / "embedding.zarr").load()
    trust, continuity = (embedded[name].sel(k=20) for name in ("trustworthiness", "continuity"))
    assert 0.8 < trust < continuity < 0.95, "a plane puts strangers together, and tears little"
    assert f"{trust.item():.4g}" in printed
    assert "rank_quality[kappa_s=20, kappa_t=10]" in printed


def test_evaluate_writes_what_the_function_gives(folder: Path, tmp_path: Path) -> None:
    data, som = folder / "digits.zarr", folder / "small.zarr"
    common = ("evaluate", data, "--map", som, "--labels", "label", "-T", 1, "-T", 2)
    expected = ss.evaluate(
        data,
        open_dataset(som).load(),
        labels=open_dataset(data)["label"],
        temperature=[1, 2],
    )
    for name in ("out.zarr", "out.nc"):
        succeed(*common, "-o", tmp_path / name)
        with open_dataset(tmp_path / name) as written:
            assert np.array_equal(written["value"], expected["value"], equal_nan=True)
            assert np.array_equal(written["distortion"], expected["distortion"])
            assert written["bmu"].dtype == np.int32


def test_json_is_for_other_programs(folder: Path) -> None:
    printed = succeed("evaluate", folder / "digits.zarr", "--map", folder / "small.zarr", "--json")
    document = json.loads(printed)
    names = document["coordinates"]["metric"]
    values = document["variables"]["value"]["values"]
    assert values[names.index("quantization_error")] > 0
    assert "bmu" not in document["variables"]


def test_several_maps_are_candidates(folder: Path) -> None:
    printed = succeed(
        "evaluate",
        folder / "digits.zarr",
        *("--map", folder / "small.zarr", "--map", folder / "hex.zarr"),
        *("-m", "topographic_error", "-m", "dead_units"),
    )
    heads = printed.splitlines()[0].split()
    assert heads[:3] == ["index", "small", "hex"]


def test_clusterings_from_files_and_variables(folder: Path) -> None:
    printed = succeed(
        "evaluate",
        folder / "digits.zarr",
        *("--clusters", folder / "odd.npy", "--labels", "label", "-m", "purity"),
    )
    assert "purity" in printed
    assert "0.2" in printed


def test_a_dry_run_and_the_plan_compute_nothing(folder: Path, tmp_path: Path) -> None:
    data, som = folder / "digits.zarr", folder / "hex.nc"
    dry = succeed("evaluate", data, "--map", som, "-o", tmp_path / "x.zarr", "--dry-run")
    assert "tasks" in dry
    assert "memory" in dry
    assert not (tmp_path / "x.zarr").exists()
    planned = json.loads(succeed("plan", data, "--map", som, "--cost", "linear", "--json"))
    assert planned["bytes_read"] == 1797 * 64 * 8
    everything = json.loads(succeed("plan", data, "--map", som, "--json"))
    assert everything["bytes_read"] > planned["bytes_read"]
    assert planned["tasks"] >= 1


def test_the_table_lists_every_index() -> None:
    table = succeed("metrics")
    facts = json.loads(succeed("metrics", "--json"))
    assert [f["name"] for f in facts] == [s.name for s in all_specs()]
    for fact in facts:
        assert fact["name"] in table
        assert fact["definition"]
        assert fact["source"]
        assert fact["range"]


@pytest.mark.parametrize("scheduler", ["serial", "threads", "processes"])
def test_every_scheduler_prints_the_same(folder: Path, scheduler: str) -> None:
    arguments = ("evaluate", folder / "digits.zarr", "--map", folder / "small.zarr", "--json")
    assert succeed(*arguments, "--scheduler", scheduler, "--workers", 2) == succeed(*arguments)


def test_a_cluster_by_address_and_by_file(folder: Path, tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    arguments = ("evaluate", folder / "digits.zarr", "--map", folder / "small.zarr", "--json")
    expected = succeed(*arguments)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        file = tmp_path / "scheduler.json"
        file.write_text(json.dumps(client.scheduler_info()))
        for where in (cluster.scheduler_address, file):
            assert succeed(*arguments, "--scheduler", where) == expected


BAD = {
    "no data": (["missing.zarr", "--map", "small.zarr"], "there is no file or store"),
    "no map": (["digits.zarr", "--map", "missing.zarr"], "there is no file or store"),
    "neither": (["digits.zarr"], "--map, --clusters and --embedding"),
    "unknown index": (
        ["digits.zarr", "--map", "small.zarr", "-m", "topografic_error"],
        "did you mean 'topographic_error'",
    ),
    "unknown variable": (
        ["digits.zarr", "--map", "small.zarr", "--labels", "lable"],
        "no variable 'lable'",
    ),
    "budget": (
        ["digits.zarr", "--map", "small.zarr", "--memory-budget", "1MiB"],
        "needs at least",
    ),
    "no amount": (
        ["digits.zarr", "--map", "small.zarr", "--memory-budget", "lots"],
        "no amount of memory",
    ),
    "no map at all": (["digits.zarr", "--map", "digits.zarr"], "not a codebook"),
    "output": (["digits.zarr", "--map", "small.zarr", "-o", "result.txt"], ".zarr or .nc"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(folder)
    arguments, words = BAD[case]
    result = run("evaluate", *arguments)
    assert result.exit_code == 1
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


def test_an_existing_result_is_kept_unless_asked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zarr"
    arguments = ("evaluate", folder / "digits.zarr", "--map", folder / "small.zarr", "-o", out)
    succeed(*arguments, "-m", "hits")
    refused = run(*arguments, "-m", "topographic_error")
    assert refused.exit_code == 1
    assert "--overwrite" in refused.stderr
    assert "hits" in xr.open_zarr(out)
    succeed(*arguments, "-m", "topographic_error", "--overwrite")
    assert "hits" not in xr.open_zarr(out)


def test_no_bar_off_a_terminal(folder: Path) -> None:
    command = "from somscale.cli import main; main()"
    arguments = ["evaluate", str(folder / "digits.zarr"), "--map", str(folder / "small.zarr")]
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field in one store and in two files, a map of it, seasons in the archive."""
    folder = tmp_path_factory.mktemp("fields")
    days = field(40)
    days[:, 0, 0] = np.nan
    archive = days.to_dataset()
    archive["season"] = ("time", np.arange(40) // 10)
    archive.to_zarr(folder / "all.zarr", consolidated=False)
    archive.isel(time=slice(25)).to_netcdf(folder / "y1.nc")
    archive.isel(time=slice(25, None)).to_netcdf(folder / "y2.nc")
    write_dataset(trained(days, missing="drop", feature_weights="coslat"), folder / "som.zarr")
    return folder


@pytest.mark.parametrize("data", [["all.zarr"], ["y2.nc", "y1.nc"], ["y?.nc"]])
def test_fields_are_judged_from_archives(fields: Path, data: list[str], tmp_path: Path) -> None:
    files = [fields / name for name in data]
    settings = ["--map", fields / "som.zarr", "--sample-dims", "time", "--labels", "season"]
    settings += ["--coslat", "--missing", "drop"]
    printed = succeed("evaluate", *files, *settings, "-o", tmp_path / "q.nc")
    assert "features_dropped" in printed
    with open_dataset(tmp_path / "q.nc") as opened:
        q = opened.load()
    assert q["composite"].dims == ("unit", "lat", "lon")
    with open_dataset(fields / "all.zarr") as opened:
        archive = opened.load()
    expected = ss.evaluate(
        archive["t2m"],
        open_dataset(fields / "som.zarr").load(),
        sample_dims="time",
        labels=archive["season"],
        missing="drop",
        feature_weights="coslat",
    )
    np.testing.assert_array_equal(q["value"], expected["value"])
    assert q["value"].sel(metric="features_dropped") == 1
    facts = json.loads(succeed("plan", *files, *settings, "--cost", "linear", "--json"))
    assert facts["bytes_read"] == archive["t2m"].nbytes
    assert "codes" not in json.loads(succeed("evaluate", *files, *settings, "--json"))["variables"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ([], "--sample-dims time"),
        (["--sample-dims", "month"], "'month'"),
        (["--sample-dims", "time"], "the map has 20 features and the samples have 21"),
        (["--sample-dims", "time", "--variable", "t2m"], "--missing drop leaves"),
        (["--sample-dims", "time", "--variable", "t"], "no variable 't'"),
    ],
)
def test_fields_without_the_right_words_are_refused(
    fields: Path, settings: list[str], complaint: str
) -> None:
    weights = xr.DataArray(np.ones((4, 4, 5)), dims=("unit", "lat", "lon"))
    write_dataset(ss.codebook(weights, ss.Grid(2, 2)), fields / "ones.zarr")
    result = run("evaluate", fields / "all.zarr", "--map", fields / "ones.zarr", *settings)
    assert result.exit_code == 1
    assert complaint in result.output.replace("\n", " ")


def test_another_programs_forms_are_taken(folder: Path) -> None:
    data, som = folder / "digits.zarr", folder / "small.zarr"
    wanted = ["-m", "topographic_error", "--convention", "somperf", "--json"]
    facts = json.loads(succeed("evaluate", data, "--map", som, *wanted))
    opened = open_dataset(som).load()
    expected = ss.evaluate(data, opened, metrics="topographic_error", convention="somperf")
    assert facts["variables"]["value"]["values"] == expected["value"].values.tolist()

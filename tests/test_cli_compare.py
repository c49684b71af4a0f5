"""``somscale compare``: the function's numbers in a table by mean rank, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import somscale as ss
from somscale.cli import main
from somscale.store import open_dataset, write_dataset

METRICS = ("-m", "quantization_error", "-m", "topographic_error")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps = many")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 3))
    np.save(folder / "x.npy", x)
    for n in (2, 3, 5):
        som = ss.train(x, ss.Grid(n, n), epochs=3, seed=0)
        write_dataset(som, folder / f"m{n}.zarr")
    ss.write_codebook(ss.codebook(x[:6], ss.Grid(2, 3)), folder / "six.cod")
    np.save(folder / "labels.npy", (x[:, 0] > 0).astype(int))
    np.save(folder / "near.npy", (x[:, 0] > 0.2).astype(int))
    np.save(folder / "far.npy", (x[:, 1] > 0).astype(int))
    np.save(folder / "plane.npy", x[:, :2])
    np.save(folder / "noise.npy", rng.standard_normal((600, 2)))
    return folder


def maps(folder: Path) -> list[object]:
    named = ["--map", folder / "m2.zarr", "--map", f"big={folder / 'm5.zarr'}"]
    return [folder / "x.npy", *named, "--map", folder / "six.cod"]


def test_the_table_has_the_functions_numbers_by_mean_rank(folder: Path) -> None:
    printed = succeed(*maps(folder), *METRICS, "--seed", 5, "--draws", 80)
    candidates = {
        "m2": open_dataset(folder / "m2.zarr").load(),
        "big": open_dataset(folder / "m5.zarr").load(),
        "six": ss.read_codebook(folder / "six.cod"),
    }
    x = np.load(folder / "x.npy")
    found = ss.compare(x, candidates, list(METRICS[1::2]), seed=5, n_boot=80)
    rows = printed.splitlines()
    assert rows[0].split() == [
        *("candidate", "mean", "rank", "front", "quantization_error", "(low)"),
        *("topographic_error", "(low)"),
    ]
    order = sorted(candidates, key=lambda name: found["mean_rank"].sel(candidate=name).item())
    assert [row.split()[0] for row in rows[1:4]] == order
    for row in rows[1:4]:
        own = found.sel(candidate=row.split()[0])
        assert ("yes" in row.split()) == bool(own["on_front"])
        for value, error in zip(own["value"].values, own["standard_error"].values, strict=True):
            assert f"{value:.6g} ± {error:.2g}" in row
        assert row.count("*") == int((own["indistinguishable"] == 1).sum())
    assert "quantization_error: big is best" in printed
    front = found["candidate"].values[found["on_front"].values]
    line = next(row for row in rows if row.startswith("On the front"))
    assert set(line.split(": ")[1].split(", ")) == set(front)


def test_json_and_a_result_that_opens(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared.zarr"
    told = json.loads(succeed(*maps(folder), *METRICS, "--json", "-o", out))
    found = open_dataset(out).load()
    assert told["coordinates"]["candidate"] == ["m2", "big", "six"]
    np.testing.assert_allclose(told["variables"]["value"]["values"], found["value"])
    assert found["best"].sel(metric="quantization_error").item() == "big"
    assert found.attrs["n_boot"] == 200
    refused = run(*maps(folder), *METRICS, "-o", out)
    assert refused.exit_code == 1
    assert "add --overwrite" in refused.output


def test_twins_cannot_be_told_apart(folder: Path) -> None:
    same = [f"{name}={folder / 'm3.zarr'}" for name in ("one", "two")]
    printed = succeed(folder / "x.npy", "--map", same[0], "--map", same[1], *METRICS)
    assert "quantization_error: one is best, and not to be told from two" in printed


def test_many_indices_stand_in_rows(folder: Path) -> None:
    printed = succeed(*maps(folder), "--cost", "linear", "--intervals", "none")
    rows = printed.splitlines()
    assert rows[0].split()[0] == "index"
    assert rows[1].startswith("mean rank")
    assert any(row.startswith("dead_units") for row in rows)
    assert "±" not in printed


def test_clusterings_and_embeddings(folder: Path) -> None:
    x, labels = folder / "x.npy", folder / "labels.npy"
    clusters = ["--clusters", folder / "near.npy", "--clusters", f"other={folder / 'far.npy'}"]
    printed = succeed(x, *clusters, "--labels", labels, "-m", "adjusted_rand_score")
    assert printed.splitlines()[1].startswith("near ")
    assert "adjusted_rand_score: near is best" in printed
    planes = ["--embedding", folder / "plane.npy", "--embedding", folder / "noise.npy"]
    printed = succeed(x, *planes, "-m", "trustworthiness", "-k", 10)
    assert "trustworthiness: plane is best" in printed
    assert "Interval: no mean of values of samples" in printed
    printed = succeed(x, *planes, "-m", "trustworthiness", "-k", 10, "--sample-anchors", 100)
    assert printed.splitlines()[1].count("±") == 1


def test_names_of_files_hold_for_evaluate_too(folder: Path) -> None:
    result = CliRunner().invoke(
        main, ["evaluate", *map(str, maps(folder)), "-m", "quantization_error", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["coordinates"]["candidate"] == ["m2", "big", "six"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--map", "m2.zarr"], 1, "a comparison needs at least two candidates"),
        (["--map", "m2.zarr", "--map", "m2.zarr"], 1, "the same name; give them others"),
        (["--map", "m2.zarr", "--map", "a=none.zarr"], 1, "none.zarr"),
        (["--map", "m2.zarr", "--clusters", "far.npy"], 1, "candidates are of one kind"),
        ([], 1, "give one of --map"),
        (["--map", "m2.zarr", "--map", "m3.zarr", "-m", "bmu"], 1, "no single number"),
        (["--map", "m2.zarr", "--map", "m3.zarr", "-m", "quantisation"], 1, "quantization_error"),
        (["--map", "m2.zarr", "--map", "m3.zarr", "--draws", "39"], 2, "39 is not in the range"),
        (
            ["--map", "m2.zarr", "--map", "m3.zarr", "--intervals", "anchors"],
            1,
            "--intervals anchors are those of estimates; give --sample-anchors",
        ),
        (["--map", "m2.zarr", "--map", "m3.zarr", "--intervals", "most"], 2, "'most' is not one"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, text: str
) -> None:
    monkeypatch.chdir(folder)
    result = run("x.npy", *arguments)
    assert result.exit_code == code, result.output
    assert text in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_samples_of_a_workspace(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work.zarr"
    stored = CliRunner().invoke(main, ["store", str(folder / "x.npy"), "-o", str(work)])
    assert stored.exit_code == 0, stored.output
    given_maps = maps(folder)
    assert succeed(work, *given_maps[1:], *METRICS) == succeed(*given_maps, *METRICS)
    assert succeed(*given_maps, *METRICS, "--store", work) == succeed(*given_maps, *METRICS)

"""Pages from the command line: of a stored result, and along with an evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import report_pages as cases
import xarray as xr
from click.testing import CliRunner, Result
from report_pages import Page

from somscale import metrics
from somscale.cli import main
from somscale.reporting import page
from somscale.store import open_dataset, write_dataset
from somscale.workspace import Workspace


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    np.save(folder / "samples.npy", cases.samples())
    np.save(folder / "plane.npy", cases.samples()[:, :2])
    np.save(folder / "labels.npy", np.repeat([0, 1, 2], 30))
    write_dataset(cases.som(), folder / "som.zarr")
    write_dataset(cases.of_map(), folder / "q.zarr")
    return folder


def test_a_stored_result_becomes_a_page(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = run("report", folder / "q.zarr", "-o", out, "--map", folder / "som.zarr")
    assert done.exit_code == 0, done.output
    assert f"Wrote {out}" in done.stderr
    found = Page(out.read_text("utf-8"))
    assert list(found.sections) == ["summary", "maps", "indices", "provenance"]
    assert "q.zarr" in found.sections["provenance"]
    assert "som.zarr" in found.sections["provenance"]
    assert str(folder) not in found.sections["provenance"]


def test_an_evaluation_writes_its_page_and_keeps_its_result(folder: Path, tmp_path: Path) -> None:
    out, result = tmp_path / "page.html", tmp_path / "q.zarr"
    done = run(
        *("evaluate", folder / "samples.npy", "--embedding", folder / "plane.npy"),
        *("--labels", folder / "labels.npy", "-m", "rank_quality", "-m", "q_nx"),
        *("-o", result, "--report", out),
    )
    assert done.exit_code == 0, done.output
    found = Page(out.read_text("utf-8"))
    assert list(found.sections) == ["summary", "ranks", "curves", "indices", "plan", "provenance"]
    assert "samples.npy" in found.sections["provenance"]
    assert str(folder) not in found.sections["provenance"]
    points = found.json("data-ranks")["points"]
    assert len(points["pairs"]) == 64
    assert points["classes"]["names"] == ["0", "1", "2"]
    with open_dataset(result) as written:
        assert sorted(written.data_vars) == ["q_nx", "rank_quality"], "colours are the page's own"


def test_an_evaluation_in_a_workspace_has_the_colours_and_keeps_none_of_them(
    folder: Path, tmp_path: Path
) -> None:
    work, samples = tmp_path / "work.zarr", folder / "samples.npy"
    assert run("store", samples, "-o", work, "--ranks").exit_code == 0
    pages = {}
    for name, named in {"own": [work], "beside": [samples, "--store", work]}.items():
        out = tmp_path / f"{name}.html"
        done = run(
            *("evaluate", *named, "--embedding", folder / "plane.npy", "-m", "rank_quality"),
            *("--norm", "region", "--report", out),
        )
        assert done.exit_code == 0, done.output
        pages[name] = Page(out.read_text("utf-8")).json("data-ranks")
    assert len(Workspace(work, mode="r").tree()["results"].children) == 1
    wanted = metrics.pointwise_rank_quality(
        cases.samples(), cases.samples()[:, :2], kappa_s=1, kappa_t=0, norm="region"
    )
    for data in pages.values():
        points = data["points"]
        assert (len(points["pairs"]), points["pairs"][0]) == (64, [1, 0])
        assert points["shades"][0]["high"] == pytest.approx(wanted.max().item())
        assert data == pages["own"]


def test_an_archive_names_its_variable_and_dims(tmp_path: Path) -> None:
    values = xr.DataArray(cases.samples(), dims=("time", "level"), name="wind")
    values.to_dataset().to_netcdf(tmp_path / "archive.nc", engine="scipy")
    np.save(tmp_path / "plane.npy", cases.samples()[:, :2])
    done = run(
        *("evaluate", tmp_path / "archive.nc", "--embedding", tmp_path / "plane.npy"),
        *("--variable", "wind", "--sample-dims", "time", "-m", "q_nx"),
        *("-o", tmp_path / "q.zarr", "--report", tmp_path / "page.html"),
    )
    assert done.exit_code == 0, done.output
    told = Page((tmp_path / "page.html").read_text("utf-8")).sections["provenance"]
    assert all(words in told for words in ("archive.nc", "wind", "Dimensions of the samples"))


def test_an_existing_page_is_kept_unless_asked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    command = ("report", folder / "q.zarr", "-o", out)
    refused = run(*command)
    assert refused.exit_code == 1
    assert "add --overwrite" in refused.stderr
    assert out.read_text() == "mine"
    samples = (folder / "samples.npy", "--map", folder / "som.zarr", "--report", out)
    assert "name another --report, or add --overwrite" in run("evaluate", *samples).stderr
    assert run(*command, "--overwrite", "--title", "Ours").exit_code == 0
    assert "<h1>Ours</h1>" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["q.zarr", "-o", "page.pdf"], "written as .html, not 'page.pdf'"),
        (["none.zarr"], "there is no file or store at 'none.zarr'"),
        (["som.zarr"], "no result of ss.evaluate"),
        (["q.zarr", "-o", "no/page.html"], "there is no folder"),
        (["q.zarr", "--map", "som.zarr", "--clusters", "labels.npy"], "give one of --map"),
        (["q.zarr", "--map", "som.zarr", "--map", "b=som.zarr"], "is of one candidate"),
        (["q.zarr", "--labels", "som.zarr"], "no .npy file of values"),
    ],
)
def test_bad_input_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(folder)
    done = run("report", *arguments)
    assert done.exit_code == 1
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "report.html").exists()


def test_a_missing_library_is_said_before_anything_is_computed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    command = ("evaluate", folder / "samples.npy", "--map", folder / "som.zarr")
    done = run(*command, "--report", tmp_path / "page.html", "-o", tmp_path / "q.zarr")
    assert done.exit_code == 1
    assert "pip install 'somscale[report]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_writes_its_page(folder: Path, tmp_path: Path) -> None:
    np.save(folder / "other.npy", cases.samples()[:, 2:])
    out = tmp_path / "page.html"
    command = (
        *("compare", folder / "samples.npy", "--embedding", folder / "plane.npy"),
        *("--embedding", folder / "other.npy", "-m", "shepard_correlation", "--draws", 40),
        *("--report", out),
    )
    done = run(*command)
    assert done.exit_code == 0, done.output
    found = Page(out.read_text("utf-8"))
    assert list(found.sections) == ["summary", "ranks", "comparison", "indices", "provenance"]
    refused = run(*command)
    assert refused.exit_code == 1
    assert "name another --report, or add --overwrite" in refused.stderr


def test_a_title_stays_text(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    command = ("report", folder / "q.zarr", "-o", out, "--title")
    assert run(*command, cases.EVIL).exit_code == 0
    found = Page(out.read_text("utf-8"))
    assert found.comments == []
    assert len(found.all("script")) == 4

"""Archives and workspaces at URLs: in Python, and on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from click.testing import CliRunner, Result
from faults import environment
from s3_server import BUCKET, S3Server, serving

import somscale as ss
from somscale.cli import main
from somscale.engine.readers.paths import expand
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.urls import Url
from somscale.errors import InputError
from somscale.store import fingerprints, open_dataset, write_dataset

VALUES = np.random.default_rng(3).normal(size=(40, 3))
COMMAND = "from somscale.cli import main; main()"
DAYS = xr.DataArray(VALUES, dims=("time", "feature"), coords={"time": np.arange(40)}, name="x")


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """A server that fsspec is configured for, as by its variables in the environment."""
    known: dict[str, Any] = {}
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        options = {**server.options, "max_concurrency": 1}  # one request a read, and not two
        fsspec.config.set_conf_env(known, {"FSSPEC_S3": json.dumps(options)})
        patch.setitem(fsspec.config.conf, "s3", known["s3"])
        yield server


@pytest.fixture(scope="module")
def archive(server: S3Server) -> str:
    """An archive of samples in a bucket."""
    place = f"s3://{BUCKET}/archive of {uuid4().hex}.zarr"
    DAYS.to_dataset().chunk(time=10).to_zarr(place, zarr_format=3, consolidated=False)
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A map and a projection in the working directory."""
    monkeypatch.chdir(tmp_path)
    np.save("E.npy", VALUES[:, :2])
    write_dataset(ss.codebook(VALUES[:6], ss.Grid(2, 3)), "som.zarr")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_url_is_no_path_and_keeps_its_slashes() -> None:
    url = Url.of("s3://bucket/a b/x.zarr/")
    assert url is not None
    assert (str(url), os.fspath(url)) == ("s3://bucket/a b/x.zarr",) * 2
    assert (url.name, url.suffix, url.resolve()) == ("x.zarr", ".zarr", url)
    assert list(map(str, url.parents)) == ["s3://bucket/a b", "s3://bucket"]
    assert expand(url) == [url]
    for path in ("C://x.zarr", "a/b.zarr", "/a/s3://x"):
        assert Url.of(path) is None
    with pytest.raises(InputError, match="names nothing"):
        Url.of("s3://")


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore:Consolidated metadata is currently:UserWarning")
def test_an_archive_at_a_url_is_that_on_disk(zarr_format: int, consolidated: bool) -> None:
    place = f"memory://{uuid4().hex}/archive.zarr"
    DAYS.to_dataset().chunk(time=10).to_zarr(
        place, zarr_format=zarr_format, consolidated=consolidated
    )
    som = ss.codebook(VALUES[:6], ss.Grid(2, 3))
    q = ss.evaluate(place, som, sample_dims="time")
    assert q.drop_attrs().identical(ss.evaluate(DAYS, som, sample_dims="time").drop_attrs())
    assert open_dataset(place)["x"].identical(DAYS)


def test_an_archive_on_s3_is_read_chunk_by_chunk(server: S3Server, archive: str) -> None:
    som = ss.codebook(VALUES[:6], ss.Grid(2, 3))
    begun = len(server.seen)
    q = ss.evaluate(archive, som, sample_dims="time", metrics="quantization_error")
    assert q["value"].equals(ss.evaluate(VALUES, som, metrics="quantization_error")["value"])
    read = [path for method, path in server.seen[begun:] if method == "GET" and "/x/c/" in path]
    assert sorted(path[-3:] for path in read) == ["0/0", "1/0", "2/0", "3/0"]
    # a bare array, and several archives, at URLs as well
    bare = f"s3://{BUCKET}/bare.zarr"
    zarr.create_array(bare, data=VALUES, chunks=(20, 3))
    assert ss.evaluate(bare, som, metrics="quantization_error")["value"].equals(q["value"])
    later = f"s3://{BUCKET}/later.zarr"
    DAYS.assign_coords(time=DAYS["time"] + 40).to_dataset().to_zarr(later, consolidated=False)
    assert open_samples([later, archive], sample_dims="time").rows.size == 80


def test_a_workspace_knows_an_archive_by_the_tags_of_its_objects(
    server: S3Server, archive: str, tmp_path: Path
) -> None:
    ws = ss.Workspace(tmp_path / "w.zarr")
    ws.write_samples(archive, sample_dims="time", copy=False)
    begun = len(server.seen)
    ws.samples(archive, sample_dims="time")
    assert not [path for _, path in server.seen[begun:] if "/x/c/" in path]
    known = fingerprints.stamps_of(archive)
    fs = fsspec.filesystem("s3")
    key = f"{archive.removeprefix('s3://')}/x/c/3/0"
    kept = fs.cat_file(key)
    fs.pipe_file(key, fs.cat_file(key.replace("/3/0", "/2/0")))
    try:
        assert fingerprints.stamps_of(archive) != known
        with pytest.raises(ss.errors.WorkspaceError, match=r"not those of .* 0 to 39 differ"):
            ws.samples(archive, sample_dims="time")
    finally:
        fs.pipe_file(key, kept)
    assert fingerprints.stamps_of(archive) == known


def test_what_cannot_be_read_at_a_url_is_one_sentence(
    server: S3Server, archive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong, why in {
        f"s3://{BUCKET}/none.zarr": r"there is no Zarr store at 's3://bucket/none\.zarr'",
        f"s3://{BUCKET}/x.npy": "at a URL somscale reads Zarr alone; copy the file here",
        f"s3://{BUCKET}/x.nc": "at a URL somscale reads Zarr alone",
        f"s3://{BUCKET}/*.zarr": "patterns are of paths on disk; name each URL",
    }.items():
        with pytest.raises(InputError, match=why):
            open_samples(wrong)
    with pytest.raises(InputError, match="is named twice"):
        open_samples([archive, f"{archive}/"])
    with server.refusing(lambda method, path: True), pytest.raises(InputError, match="be read: "):
        open_samples(archive)
    with pytest.raises(InputError, match=r"there is no Zarr store at 's3://bucket/none"):
        open_dataset(f"s3://{BUCKET}/none.zarr")
    with pytest.raises(InputError, match="written to disk alone"):
        write_dataset(DAYS.to_dataset(), f"s3://{BUCKET}/out.zarr")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(InputError, match=r"needs a package that is not installed: .*gcsfs"):
        open_samples("gs://bucket/x.zarr")


def test_commands_take_urls(server: S3Server, archive: str, folder: Path) -> None:
    work = f"s3://{BUCKET}/work {uuid4().hex}.zarr"
    made = succeed("store", archive, "--sample-dims", "time", "-o", work, "--ranks")
    assert work in made
    assert "ranks/euclidean" in made
    asked = ("--embedding", "E.npy", "-m", "trustworthiness", "-k", "5")
    printed = succeed("evaluate", archive, "--sample-dims", "time", *asked, "--store", work)
    assert "Read from the workspace: ranks/euclidean" in printed
    # DATA is the workspace itself
    assert json.loads(succeed("plan", work, *asked, "--json"))
    assert "results/" in succeed("info", work)
    key = f"{work.removeprefix('s3://')}/ranks/euclidean/rank/c/0/0"
    fsspec.filesystem("s3").rm(key)
    found = run("verify", work)
    assert found.exit_code == 1
    assert "ranks/euclidean/rank, chunk (0, 0)" in found.stdout
    assert "all repaired" in succeed("verify", work, "--repair")
    assert not any(name.startswith("s3") for name in os.listdir(folder))


@pytest.mark.parametrize(
    "arguments", [("store", "s3://"), ("evaluate", "a::s3://b/c", "--map", "m")]
)
def test_a_command_refuses_a_url_that_leads_to_no_store(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "names nothing" in result.output or "chain of file systems" in result.output
    assert "Traceback" not in result.output


def test_the_environment_says_where_a_bucket_is(server: S3Server, archive: str) -> None:
    place = f"s3://{BUCKET}/{uuid4().hex}.zarr"
    settings = {
        "FSSPEC_S3_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "store", archive, "-o", place],
        env=environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(time: 40) × (feature: 3) float64" in done.stdout
    assert succeed("info", place) == done.stdout

"""Every damaged chunk is found and named, and a repair touches nothing else."""

from __future__ import annotations

import itertools
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import somscale as ss
from somscale.errors import WorkspaceError
from somscale.store.arrays import open_array
from somscale.store.checkpoints import WorkspaceCheckpoints
from somscale.store.keys import list_keys, read_key, write_key
from somscale.workspace.checking import _threads
from somscale.workspace.findings import Checked, Finding, Verification

N = 150
RNG = np.random.default_rng(7)
VALUES = RNG.normal(size=(N, 4))
SAMPLES = xr.DataArray(
    VALUES,
    dims=("day", "feature"),
    coords={"day": np.arange(N) * 2, "tag": ("day", ["a", "b"] * 75)},
)
EMBEDDING = VALUES[:, :2]
SOM = ss.codebook(VALUES[:6], ss.Grid(2, 3))


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    """Chunks so small that matrices of few samples have several."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("somscale.store.layouts._SQUARE", 64)
    monkeypatch.setattr("somscale.store.layouts._SHARD", 128)
    monkeypatch.setattr("somscale.store.layouts._RANK_ROWS", 64)
    monkeypatch.setattr("somscale.store.layouts._RANK_COLUMNS", 100)
    monkeypatch.setattr("somscale.workspace.copying._CHUNK_BYTES", 2048)
    with ss.set_options(scheduler="serial", workers=2):
        yield
    monkeypatch.undo()


def ask(ws: ss.Workspace) -> xr.Dataset:
    return ss.evaluate(ws, EMBEDDING, metrics=["metric_stress", "q_nx"], k=5, run="answer")


def filled(place: Any) -> ss.Workspace:
    """Samples, a map, distances, ranks and a result."""
    ws = ss.Workspace(place)
    ws.write_samples(SAMPLES)
    ws.write_map("small", SOM)
    ws.write_distances()
    ws.write_ranks()
    ask(ws)
    return ws


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(filled(tmp_path_factory.mktemp("w") / "whole.zarr").name)


@pytest.fixture
def ws(whole: Path, tmp_path: Path) -> ss.Workspace:
    """A copy of its own, with a space and an umlaut in the path."""
    return ss.Workspace(shutil.copytree(whole, tmp_path / "größe und form.zarr"))


def chunk_keys(ws: ss.Workspace) -> list[str]:
    return [key for key in sorted(list_keys(ws.location, "")) if not key.endswith("zarr.json")]


def flip(ws: ss.Workspace, key: str, at: float = 0.5) -> None:
    """Change one bit of a stored value."""
    data = bytearray(read_key(ws.location, key) or b"")
    data[int(at * (len(data) - 1))] ^= 1
    write_key(ws.location, key, bytes(data))


def named(key: str) -> tuple[str, tuple[int, ...]]:
    path, numbers = re.fullmatch(r"(.*?)/c((?:/\d+)*)", key).groups()
    return path, tuple(int(number) for number in numbers.split("/") if number)


def stamps(ws: ss.Workspace) -> dict[str, Any]:
    return {
        key: (stamp, read_key(ws.location, key))
        for key, stamp in list_keys(ws.location, "").items()
    }


def where(findings: tuple[Finding, ...]) -> list[tuple[str, tuple[int, ...] | None]]:
    return sorted((f.path, f.chunk) for f in findings)


def test_a_sound_workspace_is_read_whole(ws: ss.Workspace) -> None:
    found = ws.verify()
    assert found.ok
    assert found.damaged == found.repaired == found.unfinished == ()
    keys = chunk_keys(ws)
    sizes = {key: stamp.size for key, stamp in list_keys(ws.location, "").items()}
    assert found.checked == Checked(len(keys), sum(sizes[key] for key in keys))
    assert "nothing is damaged" in str(found)


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_a_flipped_bit_in_any_chunk_is_found_and_named(ws: ss.Workspace, at: float) -> None:
    keys = chunk_keys(ws)
    assert {key.split("/")[0] for key in keys} == {
        "samples",
        "maps",
        "distances",
        "ranks",
        "results",
    }
    for key in keys:
        flip(ws, key, at)
    found = ws.verify()
    assert not found.ok
    assert where(found.damaged) == sorted(map(named, keys))
    texts = [str(finding) for finding in found.damaged]
    assert any(text.startswith("distances/euclidean/distance, chunk (1, 2): ") for text in texts)


def test_one_flipped_bit_is_one_finding(ws: ss.Workspace) -> None:
    for key in chunk_keys(ws)[::7]:
        whole = read_key(ws.location, key)
        assert whole is not None
        flip(ws, key)
        assert where(ws.verify().damaged) == [named(key)]
        write_key(ws.location, key, whole)
    assert ws.verify().ok


def test_missing_empty_and_cut_chunks_are_named(ws: ss.Workspace) -> None:
    root = Path(ws.name)
    (root / "distances/euclidean/distance/c/2/0").unlink()
    (root / "ranks/euclidean/rank/c/1/1").write_bytes(b"")
    cut = root / "ranks/euclidean/taken/c/0"
    cut.write_bytes(cut.read_bytes()[:-3])
    found = ws.verify()
    problems = {(f.path, f.chunk): f.problem for f in found.damaged}
    assert problems["distances/euclidean/distance", (2, 0)] == "is missing"
    assert problems["ranks/euclidean/rank", (1, 1)] == "is empty"
    assert ("ranks/euclidean/taken", (0,)) in problems
    assert len(problems) == 3
    assert len(str(found).splitlines()) == 5


def test_a_repair_writes_only_what_failed(ws: ss.Workspace) -> None:
    before = {path: ws.open(path).values for path in ("distances/euclidean", "ranks/euclidean")}
    known = stamps(ws)
    bad = [
        "distances/euclidean/distance/c/0/0",
        "distances/euclidean/distance/c/2/1",
        "ranks/euclidean/rank/c/1/0",
        "ranks/euclidean/taken/c/2",
    ]
    for key in bad[:-1]:
        flip(ws, key)
    Path(ws.name, bad[-1]).unlink()
    found = ws.verify(repair=True)
    assert found.ok
    assert where(found.damaged) == where(found.repaired) == sorted(map(named, bad))
    assert {f.outcome for f in found.repaired} == {"computed again"}
    now = stamps(ws)
    groups = {"distances/euclidean/zarr.json", "ranks/euclidean/zarr.json"}
    changed = {key for key in known if now[key] != known[key]}
    assert changed == {*bad, *groups}
    assert now.keys() == known.keys()
    assert all(now[key][1] == known[key][1] for key in groups), "complete again"
    assert ws.verify().ok
    for path, values in before.items():
        np.testing.assert_array_equal(ws.open(path).values, values)


READINGS = {
    "mask": {"mask": SAMPLES["day"] > 30},
    "features": {"mask": (SAMPLES["day"] > 4, [True, False, True, True])},
    "weights": {"feature_weights": [1.0, 2.0, 0.5, 0.0]},
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_matrix_is_repaired_as_it_was_read(tmp_path: Path, reading: str) -> None:
    ws = ss.Workspace(tmp_path / "w.zarr")
    ws.write_samples(SAMPLES)
    ws.write_distances("sqeuclidean", dtype="float32", name="own", **READINGS[reading])
    ws.write_ranks(name="own", **READINGS[reading])
    values = [ws.open(path).values for path in ("distances/own", "ranks/own")]
    assert ws.verify().ok
    for key in chunk_keys(ws):
        if "/own/distance/" in key or "/own/rank/" in key:
            flip(ws, key)
    assert ws.verify(repair=True).ok
    for path, known in zip(("distances/own", "ranks/own"), values, strict=True):
        np.testing.assert_array_equal(ws.open(path).values, known)


@pytest.mark.parametrize("missing", ["drop", "drop_any_sample", "drop_any_feature"])
def test_gaps_are_repaired_as_they_were_read(tmp_path: Path, missing: str) -> None:
    gaps = SAMPLES.copy(deep=True)
    gaps[{"day": [3, 70]}] = np.nan
    if missing != "drop":
        gaps[5, 2] = np.nan
    ws = ss.Workspace(tmp_path / "w.zarr")
    ws.write_samples(gaps)
    ws.write_distances(missing=missing)
    ws.write_ranks(missing=missing)
    values = [ws.open(path).values for path in ("distances/euclidean", "ranks/euclidean")]
    assert np.isnan(values[0][3]).all()
    assert ws.verify().ok
    flip(ws, "distances/euclidean/distance/c/0/0")
    flip(ws, "ranks/euclidean/rank/c/1/0")
    assert ws.verify(repair=True).ok
    for path, known in zip(("distances/euclidean", "ranks/euclidean"), values, strict=True):
        np.testing.assert_array_equal(ws.open(path).values, known)


IMPOSSIBLE = {
    "rank": ("ranks/euclidean/rank", (1, 0), (0, 3), N, "has a rank of 150 among 150 samples"),
    "self": ("ranks/euclidean/rank", (0, 0), (2, 2), 4, "around itself"),
    "zero": ("ranks/euclidean/rank", (0, 0), (2, 3), 0, "a rank of 0 beside the diagonal"),
    "negative": ("distances/euclidean/distance", (0, 1), (1, 1), -0.5, "negative distance (-0.5)"),
    "nan": ("distances/euclidean/distance", (2, 0), (1, 1), np.nan, "no distance (nan)"),
    "own": ("distances/euclidean/distance", (1, 1), (1, 1), 0.5, "to itself that is not 0"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_values_that_cannot_be_are_found_and_mended(ws: ss.Workspace, case: str) -> None:
    path, chunk, entry, value, problem = IMPOSSIBLE[case]
    array = open_array(ws.location, path)
    before = array.read()
    values = array.read(*array.box(chunk)).copy()
    values[entry] = value
    array.write(chunk, values)
    found = ws.verify()
    assert where(found.damaged) == [(path, chunk)]
    assert problem in found.damaged[0].problem
    assert ws.verify(repair=True).ok
    np.testing.assert_array_equal(open_array(ws.location, path).read(), before)


def test_what_was_stopped_is_no_damage_and_is_finished(ws: ss.Workspace) -> None:
    known = ws.open("ranks/euclidean").values
    ws.location.group("ranks/euclidean", mode="a").attrs["complete"] = False
    for key in ("rank/c/0/0", "rank/c/0/1", "taken/c/0"):
        Path(ws.name, "ranks/euclidean", key).unlink()
    found = ws.verify()
    assert found.ok
    assert str(found.unfinished[0]) == "ranks/euclidean: 3 of 9 chunks are still to be written"
    flip(ws, "ranks/euclidean/rank/c/2/1")
    assert where(ws.verify().damaged) == [("ranks/euclidean/rank", (2, 1))]
    mended = ws.verify(repair=True)
    assert mended.ok
    assert mended.unfinished == ()
    assert [f.outcome for f in mended.repaired] == ["computed again", "completed"]
    np.testing.assert_array_equal(ws.open("ranks/euclidean").values, known)


def manhattan(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a[:, None] - b[None]).sum(axis=2)


def test_a_function_is_asked_for_again(ws: ss.Workspace) -> None:
    ws.write_distances(manhattan, name="own")
    known, values = stamps(ws), ws.open("distances/own").values
    flip(ws, "distances/own/distance/c/1/0")
    found = ws.verify(repair=True)
    assert not found.ok
    assert "call write_distances with it again" in str(found)
    assert "1 of 9 chunks" in str(ws.verify())
    ws.write_distances(manhattan, name="own")
    now = stamps(ws)
    mirror = {"distances/own/distance/c/1/0", "distances/own/distance/c/0/1"}
    assert {k for k in known if now[k] != known[k]} <= {*mirror, "distances/own/zarr.json"}
    np.testing.assert_array_equal(ws.open("distances/own").values, values)


def test_samples_are_copied_again_from_the_same_ones(ws: ss.Workspace) -> None:
    known = stamps(ws)
    bad = ["samples/samples/c/1/0", "samples/day/c/0", "samples/digests/c/0/0"]
    for key in [*bad, "ranks/euclidean/rank/c/0/0"]:
        flip(ws, key)
    alone = ws.verify(repair=True)
    assert where(alone.left) == sorted(map(named, [*bad, "ranks/euclidean/rank/c/0/0"]))
    assert "its repair needs the samples" in str(alone)
    other = ws.verify(repair=True, samples=SAMPLES + 1)
    assert len(other.left) == 4
    assert "are not those of the workspace" in str(other)
    whole = ws.verify(repair=True, samples=SAMPLES)
    assert whole.ok
    assert where(whole.repaired) == where(alone.left)
    now = stamps(ws)
    assert {key: now[key][1] for key in bad} == {key: known[key][1] for key in bad}
    assert ws.verify().ok
    assert ask(ws) is not None


def test_samples_with_other_values_are_told_by_their_digests(ws: ss.Workspace) -> None:
    array = open_array(ws.location, "samples/samples")
    array.write((2, 0), array.read(*array.box((2, 0))) + 1)
    found = ws.verify()
    assert ("samples/samples", (2, 0)) in where(found.damaged)
    assert {f.path for f in found.damaged} == {"samples/samples"}
    assert ws.verify(repair=True, samples=SAMPLES).ok
    np.testing.assert_array_equal(array.read(), VALUES)


def test_without_a_copy_the_samples_are_given(tmp_path: Path) -> None:
    ws = ss.Workspace(tmp_path / "w.zarr")
    ws.write_samples(SAMPLES, copy=False)
    ws.write_ranks(samples=SAMPLES)
    known = ws.open("ranks/euclidean").values
    flip(ws, "ranks/euclidean/rank/c/0/0")
    assert "give samples=" in str(ws.verify(repair=True))
    assert where(ws.verify().damaged) == [("ranks/euclidean/rank", (0, 0))]
    assert ws.verify(repair=True, samples=SAMPLES).ok
    np.testing.assert_array_equal(ws.open("ranks/euclidean").values, known)


def test_results_go_and_maps_stay(ws: ss.Workspace) -> None:
    answer = ask(ws)
    result = next(k for k in chunk_keys(ws) if k.startswith("results/answer/q_nx/"))
    som = next(k for k in chunk_keys(ws) if k.startswith("maps/small/codes/"))
    flip(ws, result)
    flip(ws, som)
    found = ws.verify(repair=True)
    assert where(found.left) == [named(som)]
    assert where(found.repaired) == [named(result)]
    assert "the same call computes it again" in str(found)
    xr.testing.assert_identical(ask(ws), answer)
    ws.write_map("small", SOM)
    assert ws.verify().ok


def test_checkpoints_that_are_damaged_are_dropped(ws: ss.Workspace) -> None:
    checkpoints = WorkspaceCheckpoints(ws.location, "run1")
    sink = checkpoints.sink("00-pairs-abc", 4)
    for number in range(3):
        sink.put(number, [{"sum": np.arange(5.0) + number}], 100.0)
    assert "3 finished tasks" in str(ws.verify())
    assert ws.verify().ok
    key = next(key for key in chunk_keys(ws) if key.endswith("/1/c/0") and "run1-" in key)
    flip(ws, key)
    found = ws.verify()
    assert where(found.damaged) == [(key.removesuffix("/c/0"), None)]
    assert ws.verify(repair=True).ok
    assert checkpoints.size().tasks == 2
    assert ws.verify().damaged == ()


def test_torn_metadata_are_found(ws: ss.Workspace) -> None:
    known = ws.open("distances/euclidean").values
    Path(ws.name, "distances/euclidean/distance/zarr.json").write_bytes(b'{"zarr_f')
    found = ws.verify()
    assert where(found.damaged) == [("distances/euclidean/distance", None)]
    assert ws.verify(repair=True).ok
    np.testing.assert_array_equal(ws.open("distances/euclidean").values, known)
    Path(ws.name, "ranks/zarr.json").unlink()
    assert where(ws.verify().damaged) == [("ranks", None)]
    assert ws.verify(repair=True).ok
    Path(ws.name, "ranks/euclidean/zarr.json").write_bytes(b"")
    found = ws.verify(repair=True)
    assert where(found.left) == [("ranks/euclidean", None)]
    assert "delete it and write it again" in str(found)
    ws.delete("ranks/euclidean")
    ws.write_ranks()
    assert ws.verify().ok


def test_rests_of_what_was_stopped_are_cleared_away(ws: ss.Workspace) -> None:
    stray = Path(ws.name, f"distances/euclidean/distance/c/0/0.{uuid.uuid4().hex}.partial")
    stray.write_bytes(b"half")
    rest = Path(ws.name, "distances/gone/distance/c/0")
    rest.mkdir(parents=True)
    (rest / "0").write_bytes(b"old")
    found = ws.verify()
    assert found.ok
    assert [f.path for f in found.unfinished] == ["distances/gone"]
    assert stray.exists(), "a check writes nothing"
    found = ws.verify(repair=True)
    assert found.unfinished == ()
    assert not stray.exists()
    assert not rest.exists()


def test_what_is_not_ours_is_left_alone(ws: ss.Workspace) -> None:
    own = ws.location.group(mode="a").create_group("notes")
    own.create_array("text", shape=(4,), chunks=(2,), dtype="i4")
    ws.location.group("results", mode="a").create_group("theirs").create_array(
        "x", shape=(4,), chunks=(2,), dtype="i4"
    )
    found = ws.verify(repair=True)
    assert found.ok
    assert found.unfinished == ()
    assert read_key(ws.location, "notes/text/zarr.json") is not None
    assert read_key(ws.location, "results/theirs/x/zarr.json") is not None


def test_what_is_only_read_is_checked_and_not_mended(ws: ss.Workspace) -> None:
    flip(ws, "ranks/euclidean/rank/c/0/0")
    known = stamps(ws)
    reader = ss.Workspace(ws.name, mode="r")
    assert where(reader.verify().damaged) == [("ranks/euclidean/rank", (0, 0))]
    with pytest.raises(WorkspaceError, match="reading only"):
        reader.verify(repair=True)
    assert stamps(ws) == known


def test_shards_are_checked_and_mended() -> None:
    ws = filled(f"memory://verify-{uuid.uuid4().hex}/w.zarr")
    assert ws.verify().ok
    known = ws.open("distances/euclidean").values
    before = stamps(ws)
    bad = ["distances/euclidean/distance/c/0/1", "ranks/euclidean/rank/c/1/0"]
    for key in bad:
        flip(ws, key, 0.3)
    found = ws.verify(repair=True)
    assert where(found.damaged) == where(found.repaired) == sorted(map(named, bad))
    now = stamps(ws)
    same = {key for key in before if now[key][1] == before[key][1]}
    assert before.keys() - same <= set(bad)
    np.testing.assert_array_equal(ws.open("distances/euclidean").values, known)
    assert ws.verify().ok


def test_little_memory_means_few_threads(ws: ss.Workspace) -> None:
    array = open_array(ws.location, "distances/euclidean/distance")
    with ss.set_options(memory_budget="1KiB", workers=8):
        assert _threads(array, 100) == 1
        assert ws.verify().ok
    with ss.set_options(memory_budget="1TiB", workers=8):
        assert _threads(array, 100) == 8
        assert _threads(array, 3) == 3


def test_words_and_html() -> None:
    many = tuple(Finding("a<b>", (n, 0), "is missing") for n in range(30))
    found = Verification("<w>", many, many[:1], (), Checked(1, 10))
    assert found.left == many[1:]
    assert str(found).splitlines()[0] == "<w>: 29 damaged; checked 1 chunk (1 KiB)"
    assert "... and 9 more" in str(found)
    assert "<b>" not in found._repr_html_()
    assert "a&lt;b&gt;" in found._repr_html_()
    facts = found.as_dict()
    assert facts["ok"] is False
    assert facts["damaged"][2] == {
        "path": "a<b>",
        "chunk": [2, 0],
        "problem": "is missing",
        "outcome": "",
    }
    assert len(list(itertools.chain(facts["damaged"], facts["repaired"]))) == 31

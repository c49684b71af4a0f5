"""What a workspace says of itself: sizes, what is complete, what the rest would take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import somscale as ss
from somscale.store.checkpoints import WorkspaceCheckpoints
from somscale.store.keys import list_keys
from somscale.workspace.overview import Work

N = 150
SAMPLES = np.random.default_rng(3).normal(size=(N, 4)).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched, ss.set_options(scheduler="serial"):
        patched.setattr("somscale.store.layouts._SQUARE", 64)
        patched.setattr("somscale.store.layouts._RANK_ROWS", 64)
        yield


@pytest.fixture
def ws(tmp_path: Path) -> ss.Workspace:
    ws = ss.Workspace(tmp_path / "wörk <1>.zarr")
    ws.write_samples(SAMPLES)
    ws.write_distances(dtype="float32")
    ws.write_ranks("minkowski", p=3)
    return ws


def test_an_empty_workspace_says_so(tmp_path: Path) -> None:
    info = ss.Workspace(tmp_path / "w.zarr").info()
    assert info.samples is None
    assert info.complete
    assert "none yet" in str(info)
    assert json.loads(json.dumps(info.as_dict()))["matrices"] == []


def test_sizes_are_those_of_the_store(ws: ss.Workspace) -> None:
    ws.write_map("small", ss.codebook(SAMPLES[:6], ss.Grid(2, 3)))
    maps = {"one": SAMPLES[:, :2], "two": SAMPLES[:, 2:]}
    ss.evaluate(ws, maps, metrics=["q_nx", "trustworthiness"], k=5, run="answer")
    info = ws.info()
    keys = list_keys(ws.location, "")
    samples, (distances, ranks), (result,) = info.samples, info.matrices, info.results
    assert samples is not None
    assert (samples.dims, samples.dtype) == ({"sample": N, "feature": 4}, "float32")
    assert samples.copied
    assert samples.raw == SAMPLES.nbytes
    assert distances.stored == sum(
        stamp.size
        for key, stamp in keys.items()
        if key.startswith("distances/euclidean/distance/c")
    )
    assert (distances.shape, distances.dtype, distances.raw) == ((N, N), "float32", 4 * N * N)
    assert (distances.present, distances.chunks) == (9, 9)
    assert distances.ratio == distances.stored / distances.raw
    assert (ranks.path, ranks.distance, ranks.dtype) == (
        "ranks/minkowski_p3",
        "minkowski, p=3",
        "uint8",
    )
    assert ranks.of_these_samples
    assert result.metrics == ("q_nx", "trustworthiness")
    assert result.candidates == ("one", "two")
    assert info.maps[0].path == "maps/small"
    assert info.complete
    assert info.unfinished == ()
    rooms = ("samples", "maps/small", "distances/euclidean/distance/c", "ranks/minkowski_p3/rank/c")
    rooms = (*rooms, "results/answer")
    assert info.stored == sum(s.size for k, s in keys.items() if k.startswith(rooms))


def test_what_is_not_complete_comes_with_what_it_takes(ws: ss.Workspace) -> None:
    group = Path(ws.name, "ranks/minkowski_p3/rank/c")
    for row in (0, 2):
        (group / str(row) / "0").unlink()
    ws.location.group("ranks/minkowski_p3", mode="a").attrs["complete"] = False
    info = ws.info()
    ranks = info.matrices[1]
    assert not info.complete
    assert (ranks.present, ranks.chunks, ranks.complete) == (1, 3, False)
    assert ranks.work is not None
    assert ranks.work.tasks == 2
    assert ranks.work.operations > 0
    assert ranks.work.peak_memory > 0
    everything = ws.plan_matrix("ranks", "minkowski", p=3)
    assert ranks.work.operations == everything.job.operations * 2 / 3
    assert "not complete: 1 of 3 chunks; to finish: 2 of 3 tasks" in str(info)
    ws.write_ranks("minkowski", p=3)
    assert ws.info().complete


def test_chunks_that_are_gone_show(ws: ss.Workspace) -> None:
    Path(ws.name, "distances/euclidean/distance/c/1/1").unlink()
    info = ws.info()
    assert (info.matrices[0].present, info.matrices[0].complete) == (8, True)
    assert "damaged: 1 of 9 chunks are missing" in str(info)


def test_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    ws = ss.Workspace(tmp_path / "w.zarr")
    ws.write_samples(SAMPLES, copy=False)
    ws.write_ranks(samples=SAMPLES)
    ws.location.group("ranks/euclidean", mode="a").attrs["complete"] = False
    ranks = ws.info().matrices[0]
    assert ranks.work is None
    assert "only the fingerprint" in ranks.why_unknown
    assert "only their fingerprint is kept" in str(ws.info())


def test_runs_that_were_stopped_are_counted(ws: ss.Workspace) -> None:
    sink = WorkspaceCheckpoints(ws.location, "run1").sink("00-pairs-abc", 4)
    for number in range(2):
        sink.put(number, [{"sum": np.arange(5.0)}], 100.0)
    (run,) = ws.info().unfinished
    assert (run.run, run.tasks) == ("run1", 2)
    assert run.stored > 0
    assert not ws.info().complete
    assert "2 finished tasks kept" in str(ws.info())


def test_no_chunk_is_read(ws: ss.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    get = zarr.storage.LocalStore.get

    async def watched(self: Any, key: str, *args: Any, **settings: Any) -> Any:
        seen.append(key)
        return await get(self, key, *args, **settings)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", watched)
    ss.Workspace(ws.name, mode="r").info()
    assert seen
    assert not [key for key in seen if not key.endswith("zarr.json")]


def test_text_html_and_json_agree(ws: ss.Workspace) -> None:
    info = ws.info()
    assert "<1>" not in info._repr_html_()
    assert "wörk &lt;1&gt;.zarr" in info._repr_html_()
    facts = json.loads(json.dumps(info.as_dict()))
    assert facts["samples"]["dims"] == {"sample": N, "feature": 4}
    assert facts["matrices"][0]["ratio"] == info.matrices[0].ratio
    assert facts["stored"] == info.stored
    assert facts["complete"] is True
    assert Work(1, 2, 3.0, 4).of == 2

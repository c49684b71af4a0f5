"""Matrices in a workspace: written once, opened lazily, gone on with, and used by indices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from faults import Fault, FaultyStore, differences
from filling_cases import rank_table, table_of
from stores import place as place_of
from workspace_work import make_small
from zarr.storage import MemoryStore

import somscale as ss
from somscale.errors import InputError, WorkspaceError
from somscale.metrics.answering import asked
from somscale.store.arrays import StoredArray
from somscale.store.layouts import distance_layout, rank_layout
from somscale.workspace import matrices

Array = np.ndarray[Any, Any]
N = 90
PLACES = ("local", "memory URL", "file URL", "memory store")
each_place = pytest.mark.parametrize("where", PLACES)
MIXED = ["trustworthiness", "kruskal_shepard_error", "quantization_error", "c_measure"]


def values(n: int = N, d: int = 4, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, d))


def labelled(n: int = N, d: int = 4) -> xr.DataArray:
    days = np.datetime64("2001-01-01", "ns") + np.arange(n) * np.timedelta64(1, "D")
    return xr.DataArray(
        values(n, d),
        dims=("time", "cell"),
        coords={"time": ("time", days, {"standard_name": "time"}), "cell": np.arange(d)},
        attrs={"units": "K"},
    )


def som() -> xr.Dataset:
    return ss.codebook(values(6, 4, seed=8), ss.Grid(3, 2))


@pytest.fixture
def ws(tmp_path: Path) -> ss.Workspace:
    """A workspace with samples."""
    workspace = ss.Workspace(tmp_path / "work.zarr")
    workspace.write_samples(values())
    return workspace


@pytest.fixture
def small() -> Iterator[pytest.MonkeyPatch]:
    """Chunks and tiles so small that 90 samples have many of them."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield patch


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, ...]]]:
    """Every chunk of a matrix that is written."""
    seen: list[tuple[str, tuple[int, ...]]] = []
    plain = StoredArray.write

    def write(self: StoredArray, index: tuple[int, ...], block: Array) -> None:
        if self.path.startswith(("distances", "ranks")):
            seen.append((self.path, index))
        plain(self, index, block)

    monkeypatch.setattr(StoredArray, "write", write)
    return seen


# --- written and opened


@each_place
def test_both_are_written_and_opened(where: str, small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    workspace = ss.Workspace(place_of(where, tmp_path))
    workspace.write_samples(values())
    workspace.write_distances()
    workspace.write_ranks()
    distances, ranks = workspace.open("distances/euclidean"), workspace.open("ranks/euclidean")
    table = table_of(values())
    np.testing.assert_allclose(distances.values, table, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(ranks.values, rank_table(table))
    assert (distances.name, ranks.name) == ("distance", "rank")
    assert distances.dims == ranks.dims == ("sample", "sample_other")
    assert (distances.dtype, ranks.dtype) == (np.float64, np.uint8)
    assert isinstance(distances.data, da.Array)
    assert isinstance(ranks.data, da.Array)
    assert distances.data.chunks == ((32, 32, 26), (32, 32, 26))
    sharded = where.endswith("URL")
    rows = (16, 16, 16, 16, 16, 10)
    assert ranks.data.chunks == (rows, (90,) if sharded else (32, 32, 26))
    for lazy, whole in ((distances, table), (ranks, rank_table(table))):
        np.testing.assert_allclose(lazy[5:40, 30:71].values, whole[5:40, 30:71], rtol=1e-12)
        np.testing.assert_allclose(lazy[::-7, 3].values, whole[::-7, 3], rtol=1e-12)


def test_what_is_opened_reads_only_the_chunks_that_are_asked_for(
    ws: ss.Workspace, small: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.write_distances()
    boxes: list[tuple[slice, ...]] = []
    plain = StoredArray.read

    def read(self: StoredArray, *box: slice) -> Array:
        if box[0].stop > box[0].start:  # Dask asks once for nothing
            boxes.append(box)
        return plain(self, *box)

    monkeypatch.setattr(StoredArray, "read", read)
    lazy = ws.open("distances/euclidean")
    assert boxes == []
    lazy[3, 40:50].values  # noqa: B018
    assert len(boxes) == 1
    panel = lazy[32:64]
    boxes.clear()
    assert panel.values.shape == (32, 90)
    assert len(boxes) == 3


def test_labels_and_units_of_the_samples_come_along(tmp_path: Path) -> None:
    workspace = ss.Workspace(tmp_path / "w.zarr")
    array = labelled()
    workspace.write_samples(array, sample_dims="time")
    workspace.write_distances()
    workspace.write_ranks()
    for kind in ("distances", "ranks"):
        found = workspace.open(f"{kind}/euclidean")
        assert isinstance(found, xr.DataArray)
        assert found.dims == ("time", "time_other")
        for dim in found.dims:
            np.testing.assert_array_equal(found[dim].values, array["time"].values)
            assert found[dim].attrs["standard_name"] == "time"
        near = found.sel(time="2001-01-05", time_other=slice("2001-01-03", "2001-01-06"))
        assert near.shape == (4,)
        assert float(near.sel(time_other="2001-01-05")) == 0
    assert workspace.open("distances/euclidean").attrs["units"] == "K"
    assert workspace.open("ranks/euclidean").attrs["units"] == "1"
    tree = workspace.tree()
    xr.testing.assert_identical(tree["ranks/euclidean"]["time"], found["time"])


def test_several_sample_dims_are_one_flat_dim(tmp_path: Path) -> None:
    array = xr.DataArray(values(60, 3).reshape(6, 10, 3), dims=("y", "x", "band"))
    workspace = ss.Workspace(tmp_path / "w.zarr")
    workspace.write_samples(array, sample_dims=("y", "x"))
    workspace.write_distances()
    workspace.write_ranks()
    distances = workspace.open("distances/euclidean")
    assert isinstance(distances, xr.DataArray)
    assert distances.dims == ("sample", "sample_other")
    np.testing.assert_allclose(distances, table_of(values(60, 3)), rtol=1e-12)
    np.testing.assert_array_equal(
        workspace.open("ranks/euclidean"), rank_table(table_of(values(60, 3)))
    )
    codes = ss.codebook(values(6, 3, seed=8), ss.Grid(3, 2))
    asked_for = {"metrics": MIXED, "k": 5, "sample_dims": ("y", "x")}
    assert_equal(ss.evaluate(array, codes, store=workspace, **asked_for), array, codes, **asked_for)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"distance": "cityblock"}, "cityblock"),
        ({"distance": "manhattan"}, "cityblock"),
        ({"distance": "minkowski", "p": 3}, "minkowski_p3"),
        ({"distance": "minkowski", "p": 1.5}, "minkowski_p1.5"),
        ({"distance": "minkowski", "p": 2}, "euclidean"),
        ({"distance": "minkowski", "p": np.inf}, "chebyshev"),
        ({"name": "Mine-1.0"}, "Mine-1.0"),
    ],
)
def test_names(settings: dict[str, Any], name: str, ws: ss.Workspace) -> None:
    ws.write_distances(**settings)
    ws.write_ranks(**settings)
    assert ws.open(f"distances/{name}").shape == (N, N)
    assert ws.open(f"ranks/{name}").shape == (N, N)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "x y", "zarr.json"])
def test_names_that_are_refused(name: str, ws: ss.Workspace) -> None:
    with pytest.raises(InputError):
        ws.write_distances(name=name)
    assert "distances" not in ws.tree().children


def test_float32(ws: ss.Workspace) -> None:
    ws.write_distances(dtype="float32")
    found = ws.open("distances/euclidean")
    assert found.dtype == np.float32
    ws.write_distances(name="double")
    np.testing.assert_array_equal(found, ws.open("distances/double").astype(np.float32))
    ws.write_distances("cityblock", dtype=np.dtype("float32"))
    ws.write_distances("cityblock", dtype=np.float32)  # the same, said in another way
    q = ss.evaluate(ws, values()[:, :2], metrics="kruskal_shepard_error")
    assert '"read": ["distances/double"]' in q.attrs["stored_matrices"]
    ws.delete("distances/double")
    q = ss.evaluate(ws, values()[:, :2], metrics="kruskal_shepard_error", resume=False)
    assert '"read": []' in q.attrs["stored_matrices"]
    assert "float32" in q.attrs["stored_matrices"]


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex128", "nonsense"])
def test_other_types_are_refused(dtype: str, ws: ss.Workspace) -> None:
    with pytest.raises(InputError, match="float32"):
        ws.write_distances(dtype=dtype)
    assert "distances" not in ws.tree().children


def test_layouts_have_the_narrowest_type() -> None:
    kinds = {2: "u1", 254: "u1", 255: "u1", 256: "u2", 65_535: "u2", 65_536: "u4", 10**6: "u4"}
    for n, kind in kinds.items():
        for sharded in (False, True):
            layout = rank_layout(n, sharded=sharded)
            assert layout.dtype == np.dtype(kind)
            assert np.iinfo(layout.dtype).max > n - 1  # the largest is no rank
            assert all(u % c == 0 for u, c in zip(layout.unit, layout.chunk, strict=True))
            side = distance_layout(n, "float32", sharded=sharded)
            assert side.unit[0] == side.unit[1]


@pytest.mark.parametrize("n", [1, 2, 254, 255, 256])
def test_ranks_at_the_edges_of_the_types(n: int, tmp_path: Path) -> None:
    workspace = ss.Workspace(tmp_path / "w.zarr")
    workspace.write_samples(values(n, 2))
    workspace.write_ranks()
    workspace.write_distances()
    found = workspace.open("ranks/euclidean")
    assert found.dtype == (np.uint8 if n < 256 else np.uint16)
    np.testing.assert_array_equal(found, rank_table(table_of(values(n, 2))))
    assert workspace.verify().ok


# --- written again


def test_written_twice_is_written_once(
    ws: ss.Workspace, writes: list[Any], tmp_path: Path, small: pytest.MonkeyPatch
) -> None:
    ws.write_distances()
    ws.write_ranks()
    assert len(writes) == len(set(writes)) == 9 + 18 + 6
    before = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*") if p.is_file())
    for _ in range(2):
        ws.write_distances()
        ws.write_ranks()
        ws.write_ranks(samples=values())
    again = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*") if p.is_file())
    assert again == before
    assert len(writes) == 33


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": "cityblock"}, r"distance 'euclidean', not 'cityblock'"),
        ({"distance": "minkowski", "p": 3}, r"p None, not 3"),
        ({"dtype": "float32"}, r"dtype 'float64', not 'float32'"),
        ({"mask": np.arange(N) > 3}, "another mask, weights or handling of missing values"),
        ({"feature_weights": np.arange(4.0)}, "another mask, weights or handling"),
        ({"missing": "drop_any_sample"}, "missing"),
    ],
)
def test_another_matrix_under_a_name_is_refused(
    settings: dict[str, Any], message: str, ws: ss.Workspace
) -> None:
    ws.write_distances(name="mine")
    before = ws.open("distances/mine").values
    with pytest.raises(WorkspaceError, match=message):
        ws.write_distances(**settings, name="mine")
    np.testing.assert_array_equal(ws.open("distances/mine").values, before)
    ws.write_distances(**settings, name="mine", overwrite=True)
    assert ws.open("distances/mine").values.tobytes() != before.tobytes() or "missing" in settings
    with pytest.raises(WorkspaceError, match="made from something else"):
        ws.write_distances(name="mine")


def test_another_function_of_the_same_name_is_refused(ws: ss.Workspace) -> None:
    def once(x: Array, y: Array) -> Array:
        return np.abs(x[:, None] - y).sum(axis=2)

    def twice(x: Array, y: Array) -> Array:
        return 2 * np.abs(x[:, None] - y).sum(axis=2)

    twice.__name__ = "once"
    ws.write_distances(once)
    ws.write_distances(once)
    with pytest.raises(WorkspaceError, match="another function of the same name"):
        ws.write_distances(twice)
    ws.write_distances(twice, overwrite=True)
    np.testing.assert_allclose(
        ws.open("distances/function_once"), 2 * table_of(values(), ss_measure("cityblock"))
    )


def ss_measure(distance: str) -> Any:
    from somscale.metrics.asking.pair_wishes import Measure

    return Measure(distance)


def test_samples_may_be_given_again_in_any_form(ws: ss.Workspace, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", values())
    forms = {
        "numpy": values(),
        "path": tmp_path / "x.npy",
        "dask": da.from_array(values(), chunks=(20, 3)),
        "xarray": xr.DataArray(values(), dims=("sample", "feature")),
    }
    for name, form in forms.items():
        ws.write_distances(samples=form, name=name)
        ws.write_ranks(samples=form, name=name)
    for name in forms:
        assert ws.open(f"distances/{name}").values.tobytes() == (
            ws.open("distances/numpy").values.tobytes()
        )
        np.testing.assert_array_equal(ws.open(f"ranks/{name}"), ws.open("ranks/numpy"))
    other = values()
    other[77, 1] += 1e-9
    for bad, message in (
        (other, r"samples 0 to 89 differ|sample.*differ"),
        (other.astype(np.float32), "type float32, not float64"),
        (values(91), r"shape \(91, 4\), not \(90, 4\)"),
    ):
        with pytest.raises(WorkspaceError, match=message):
            ws.write_distances(samples=bad, name="bad")
    assert "bad" not in ws.tree()["distances"].children


def test_a_workspace_without_samples_says_so(tmp_path: Path) -> None:
    workspace = ss.Workspace(tmp_path / "w.zarr")
    with pytest.raises(WorkspaceError, match="no samples"):
        workspace.write_distances()
    with pytest.raises(WorkspaceError, match="no samples"):
        ss.evaluate(workspace, som())
    workspace.write_samples(values(), copy=False)
    with pytest.raises(WorkspaceError, match="give the samples"):
        workspace.write_ranks()
    workspace.write_ranks(samples=values())
    np.testing.assert_array_equal(workspace.open("ranks/euclidean"), rank_table(table_of(values())))


def test_settings_that_say_nothing_about_distances_are_refused(ws: ss.Workspace) -> None:
    with pytest.raises(InputError, match="'sample_weights' says nothing about distances"):
        ws.write_distances(sample_weights=np.ones(N))
    with pytest.raises(InputError, match="'colour'"):
        ws.write_ranks(colour=1)


# --- stopped, and gone on with


@pytest.mark.parametrize("kind", ["distances", "ranks"])
@pytest.mark.parametrize("at", [0, 1, 4, 8])
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
def test_only_what_is_missing_is_computed(
    kind: str, at: int, scheduler: str, small: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    plain_write = StoredArray.write
    plain_fill = matrices.fill_matrix
    n_tasks: list[int] = []

    def count(filling: Any) -> None:
        from somscale.engine.pairs.filling import plan_filling

        n_tasks.append(len(filling.tasks(plan_filling(filling).cut)))
        plain_fill(filling)

    def write(self: StoredArray, index: tuple[int, ...], block: Array) -> None:
        if self.path == f"{kind}/euclidean/{'distance' if kind == 'distances' else 'rank'}":
            if len(seen) == at and small_state["fails"]:
                raise OSError("stopped")
            seen.append((index[0], index[1]))
        plain_write(self, index, block)

    small.setattr(matrices, "fill_matrix", count)
    small.setattr(StoredArray, "write", write)
    whole, stopped = ss.Workspace(tmp_path / "whole.zarr"), ss.Workspace(tmp_path / "s.zarr")
    small_state = {"fails": False}
    with ss.set_options(scheduler=scheduler, workers=2):
        for workspace in (whole, stopped):
            workspace.write_samples(values())
        run_of(whole, kind)
        assert sorted(set(seen)) == sorted(seen)
        seen.clear()
        small_state["fails"] = True
        with pytest.raises(OSError, match="stopped"):
            run_of(stopped, kind)
        assert len(seen) == at
        with pytest.raises(WorkspaceError, match=f"{kind}/euclidean.*is not complete.*chunks"):
            stopped.open(f"{kind}/euclidean")
        written = set(seen)
        small_state["fails"] = False
        run_of(stopped, kind)
    again = seen[at:]
    assert len(again) == len(set(again))
    if kind == "distances":
        done = {pair for pair in written if (pair[1], pair[0]) in written}
        assert set(again) == {(i, j) for i in range(3) for j in range(3)} - done
        assert n_tasks == [6, 6, 6 - len({tuple(sorted(pair)) for pair in done})]
    else:
        done_rows = {r for r in range(6) if sum(i == r for i, _ in written) == 3}
        assert {row for row, _ in again} == set(range(6)) - done_rows
        assert n_tasks == [6, 6, 6 - len(done_rows)]
    assert differences(tmp_path / "whole.zarr", tmp_path / "s.zarr") == []


def run_of(workspace: ss.Workspace, kind: str) -> None:
    workspace.write_distances() if kind == "distances" else workspace.write_ranks()


@pytest.mark.parametrize("kind", ["distances", "ranks"])
def test_a_store_that_fails_in_the_middle(kind: str, small: pytest.MonkeyPatch) -> None:
    with ss.set_options(scheduler="serial"):
        whole = MemoryStore()
        work_on(ss.Workspace(whole), kind)
        for at in (2, 5, 9):
            store = FaultyStore(MemoryStore())
            workspace = ss.Workspace(store)
            workspace.write_samples(values())
            store.fault = Fault(at, "ENOSPC", within=f"{kind}/euclidean/{kind[:-1]}/c")
            with pytest.raises(
                WorkspaceError, match=f"chunk .*{kind}/euclidean.*No space.*goes on"
            ):
                run_of(workspace, kind)
            store.fault = None
            work_on(workspace, kind)
            assert differences(store, whole) == []


def work_on(workspace: ss.Workspace, kind: str) -> None:
    workspace.write_samples(values())
    run_of(workspace, kind)


def test_an_overwriting_that_is_stopped_leaves_none_of_the_old(
    ws: ss.Workspace, small: pytest.MonkeyPatch
) -> None:
    ws.write_distances(name="mine")
    plain = StoredArray.write

    def fails(self: StoredArray, index: tuple[int, ...], block: Array) -> None:
        if index == (1, 1):
            raise OSError("stopped")
        plain(self, index, block)

    with ss.set_options(scheduler="serial"):
        with small.context() as patch:
            patch.setattr(StoredArray, "write", fails)
            with pytest.raises(OSError, match="stopped"):
                ws.write_distances("cityblock", name="mine", overwrite=True)
        with pytest.raises(WorkspaceError, match="is not complete"):
            ws.open("distances/mine")
        with pytest.raises(WorkspaceError, match="made from something else"):
            ws.write_distances(name="mine")
        ws.write_distances("cityblock", name="mine")
    expected = table_of(values(), ss_measure("cityblock"))
    np.testing.assert_allclose(ws.open("distances/mine"), expected, rtol=1e-12)


# --- samples that take no part


@pytest.mark.parametrize("form", ["mask", "missing"])
def test_samples_that_take_no_part_hold_no_value(form: str, tmp_path: Path) -> None:
    there = np.random.default_rng(3).random(N) > 0.3
    own, reading = values(), {"mask": there}
    if form == "missing":
        own[~there, 1], reading = np.nan, {"missing": "drop_any_sample"}
    workspace = ss.Workspace(tmp_path / "w.zarr")
    workspace.write_samples(own)
    workspace.write_distances(**reading)
    workspace.write_ranks(**reading)
    both = np.outer(there, there)
    distances, ranks = workspace.open("distances/euclidean"), workspace.open("ranks/euclidean")
    np.testing.assert_array_equal(np.isnan(distances), ~both)
    assert (ranks.values[~both] == 255).all()
    np.testing.assert_array_equal(
        ranks.values[both].reshape(there.sum(), -1), rank_table(table_of(own[there]))
    )
    taken = workspace.tree()["ranks/euclidean"]["taken"]
    np.testing.assert_array_equal(taken, there)
    if form == "missing":
        with pytest.raises(ss.SampleValueError):
            workspace.write_distances(name="strict")
    answers = {"metrics": MIXED, "k": 5, **reading}
    found = ss.evaluate(workspace, som(), **answers)
    assert '["distances/euclidean", "ranks/euclidean"]' in found.attrs["stored_matrices"]
    assert_equal(found, own, som(), **answers)


# --- indices of a workspace


def assert_equal(found: xr.Dataset, samples: Any, projection: Any, **arguments: Any) -> None:
    """What a workspace gave is what the samples give, to twelve digits."""
    expected = ss.evaluate(samples, projection, **arguments)
    attributes = dict(found.attrs)
    attributes.pop("stored_matrices")
    assert attributes == expected.compute().attrs
    xr.testing.assert_allclose(found, expected.compute(), rtol=1e-12, atol=1e-13)
    if "trustworthiness" in expected:
        np.testing.assert_array_equal(found["trustworthiness"], expected["trustworthiness"])


def candidates() -> dict[str, Any]:
    return {
        "map": som(),
        "embedding": values()[:, :2],
        "clusters": np.arange(N) % 4,
        "maps": {"a": som(), "b": ss.codebook(values(9, 4, seed=1), ss.Grid(3, 3))},
    }


ARGUMENTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "labels": {"labels": np.arange(N) % 3},
    "mask": {"mask": np.arange(N) % 5 > 0},
    "feature weights": {"feature_weights": np.array([1, 2, 0.5, 3])},
    "anchors": {"sample_anchors": 20, "seed": 3},
    "manhattan": {"distance": "cityblock"},
}


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("kind", ["map", "embedding", "clusters", "maps"])
def test_a_workspace_gives_what_the_samples_give(
    kind: str, arguments: dict[str, Any], ws: ss.Workspace
) -> None:
    reading = {name: arguments[name] for name in ("mask", "feature_weights") if name in arguments}
    ws.write_distances(**reading)
    ws.write_ranks(**reading)
    if kind == "clusters":
        settings: dict[str, Any] = {"metrics": ["silhouette_score", "dunn_index"]}
        if "sample_anchors" in arguments:
            settings = {"metrics": ["silhouette_score"]}
    else:
        names = MIXED if kind != "embedding" else [m for m in MIXED if m != "quantization_error"]
        settings = {"metrics": names, "k": [3, 7]}
        if "sample_anchors" in arguments:
            settings["metrics"] = ["trustworthiness", "kruskal_shepard_error"]
        if arguments.get("distance") == "cityblock":
            settings["metrics"] = [m for m in names if m != "quantization_error"]
    settings |= arguments
    if "labels" in settings and kind == "embedding":
        settings["metrics"] = [*settings["metrics"], "neighborhood_hit"]
    projection = candidates()[kind]
    assert_equal(ss.evaluate(ws, projection, **settings), values(), projection, **settings)


def test_conventions_and_weights_pass_through(ws: ss.Workspace) -> None:
    ws.write_distances()
    for arguments in (
        {"metrics": ["kruskal_shepard_error", "c_measure"], "convention": "somperf"},
        {"metrics": ["quantization_error", "explained_variance"], "sample_weights": np.arange(N)},
    ):
        assert_equal(ss.evaluate(ws, som(), **arguments), values(), som(), **arguments)


LINEAR = ["quantization_error", "explained_variance"]
QUESTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"sample_weights": np.arange(N) + 1.0},
    "other weights": {"sample_weights": np.arange(N)[::-1] + 1.0},
    "mask": {"mask": np.arange(N) > 9},
    "feature weights": {"feature_weights": np.array([1, 2, 0.5, 3])},
    "more": {"metrics": [*LINEAR, "topographic_error"]},
    "other order": {"metrics": LINEAR[::-1]},
    "missing": {"missing": "drop_any_sample"},
    "all": {"metrics": "all", "cost": "linear"},
    "form": {"metrics": {"a": "quantization_error", "b": "explained_variance"}},
    "pairs": {"metrics": "kruskal_shepard_error"},
    "convention": {"metrics": "kruskal_shepard_error", "convention": "somperf"},
    "anchors": {"metrics": "trustworthiness", "k": 5, "sample_anchors": 20},
    "other anchors": {"metrics": "trustworthiness", "k": 5, "sample_anchors": 20, "seed": 1},
}


def test_every_other_question_is_another_run(ws: ss.Workspace) -> None:
    for number, (name, question) in enumerate(QUESTIONS.items(), 1):
        arguments = {"metrics": LINEAR, **question}
        found = ss.evaluate(ws, som(), **arguments)
        assert_equal(found, values(), som(), **arguments)
        assert len(ws.tree()["results"].children) == number, name
    two = {"a": som(), "b": ss.codebook(values(9, 4, seed=1), ss.Grid(3, 3))}
    for order in ("ab", "ba"):
        maps = {name: two[name] for name in order}
        assert_equal(ss.evaluate(ws, maps, metrics=LINEAR), values(), maps, metrics=LINEAR)


def test_units_of_samples_that_are_given_again(ws: ss.Workspace) -> None:
    for units in ("K", "m", None):
        attributes = {} if units is None else {"units": units, "long_name": "height"}
        array = xr.DataArray(values(), dims=("sample", "feature"), attrs=attributes)
        found = ss.evaluate(array, som(), store=ws, metrics=LINEAR)
        assert_equal(found, array, som(), metrics=LINEAR)
        expected = ss.evaluate(array, som(), metrics=LINEAR)
        np.testing.assert_array_equal(found["metric_units"], expected["metric_units"])


def test_a_result_is_given_back_without_computing(
    ws: ss.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[int] = []
    plain = asked.solve

    def solve(*arguments: Any, **settings: Any) -> Any:
        solved.append(1)
        return plain(*arguments, **settings)

    monkeypatch.setattr(asked, "solve", solve)
    ws.write_ranks()
    settings = {"metrics": MIXED, "k": 4}
    first = ss.evaluate(ws, som(), **settings)
    assert solved == [1]
    for samples in (ws, values(), da.from_array(values(), chunks=30)):
        again = ss.evaluate(samples, som(), store=ws, **settings)
        xr.testing.assert_identical(again, first)
    assert solved == [1]
    named = ss.evaluate(ws, som(), run="mine", **settings)
    assert solved == [1, 1]
    xr.testing.assert_identical(named, first)
    xr.testing.assert_identical(ws.open("results/mine"), first)
    with pytest.raises(WorkspaceError, match=r"results/mine.*another question.*metrics"):
        ss.evaluate(ws, som(), run="mine", metrics="quantization_error")
    assert solved == [1, 1]
    ws.delete("results/mine")
    ss.evaluate(ws, som(), run="mine", metrics="quantization_error")
    assert solved == [1, 1, 1]
    assert "partials" not in ws.tree().children


def test_store_is_made_of_what_is_given(tmp_path: Path) -> None:
    place = tmp_path / "new.zarr"
    settings = {"metrics": MIXED, "k": 4}
    for number, samples in enumerate((labelled(), labelled().chunk(time=20))):
        own = f"{place}{number}"
        found = ss.evaluate(samples, som(), store=own, sample_dims="time", **settings)
        assert not any(hasattr(v.data, "dask") for v in found.variables.values())
        assert_equal(found, labelled(), som(), sample_dims="time", **settings)
        workspace = ss.Workspace(own, mode="r")
        assert workspace.open("samples").dims == ("time", "cell")


def test_other_samples_are_refused_with_what_differs(ws: ss.Workspace) -> None:
    other = values()
    other[70, 0] += 1
    for bad, message in (
        (other, "differ"),
        (values()[:80], r"shape \(80, 4\), not \(90, 4\)"),
        (values().astype(np.float32), "type float32, not float64"),
        (da.from_array(other, chunks=40), "differ"),
    ):
        with pytest.raises(WorkspaceError, match=message):
            ss.evaluate(bad, som(), store=ws, metrics="quantization_error")
    assert "results" not in ws.tree().children


def test_precomputed_distances_are_refused_with_a_store(ws: ss.Workspace) -> None:
    table = table_of(values())
    for samples in (table, ws):
        with pytest.raises(InputError, match="precomputed"):
            ss.evaluate(
                samples, values()[:, :2], store=ws, distance="precomputed", metrics="c_measure"
            )


def test_two_workspaces_are_one_too_many(ws: ss.Workspace, tmp_path: Path) -> None:
    other = ss.Workspace(tmp_path / "other.zarr")
    with pytest.raises(InputError, match="give one of them"):
        ss.evaluate(ws, som(), store=other)
    same = ss.evaluate(ws, som(), store=ws.name, metrics="quantization_error")
    assert same["value"].size == 1
    with pytest.raises(InputError, match="store="):
        ss.evaluate(values(), som(), run="x")


# --- read-only


def snapshot(folder: Path) -> list[tuple[str, int, bytes]]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return [(str(p), p.stat().st_mtime_ns, p.read_bytes()) for p in files]


def _writes_anyway(folder: Path) -> bool:
    """Whether this user writes to what is read-only, as root does."""
    probe = folder / "probe"
    probe.mkdir(0o555)
    can = os.access(probe, os.W_OK)
    probe.rmdir()
    return can


@pytest.mark.parametrize("how", ["mode", "chmod"])
def test_read_only_workspaces_serve_and_are_not_written(
    how: str, ws: ss.Workspace, tmp_path: Path
) -> None:
    if how == "chmod" and _writes_anyway(tmp_path):
        pytest.skip("this user writes to what is read-only")
    ws.write_distances()
    ws.write_ranks()
    kept = ss.evaluate(ws, som(), metrics=MIXED, k=3, run="kept")
    folder = tmp_path / "work.zarr"
    before = snapshot(tmp_path)
    paths = [folder, *folder.rglob("*")]
    try:
        if how == "chmod":
            for path in paths:
                path.chmod(0o555 if path.is_dir() else 0o444)
        served = ss.Workspace(folder, mode="r" if how == "mode" else "a")
        assert served.read_only == (how == "mode")
        for samples in (served, values()):
            if how == "mode":
                found = ss.evaluate(samples, som(), metrics=MIXED, k=[3, 5], store=served)
                assert_equal(found, values(), som(), metrics=MIXED, k=[3, 5])
                assert "distances/euclidean" in found.attrs["stored_matrices"]
        again = ss.evaluate(served, som(), metrics=MIXED, k=3, run="kept")
        xr.testing.assert_identical(again, kept)
        np.testing.assert_array_equal(
            served.open("ranks/euclidean"), rank_table(table_of(values()))
        )
        with pytest.raises(WorkspaceError):
            served.write_distances("cityblock")
        with pytest.raises(WorkspaceError):
            served.delete("ranks/euclidean")
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert [f for f in snapshot(tmp_path) if not f[0].endswith(".lock")] == [
        f for f in before if not f[0].endswith(".lock")
    ]


def test_a_read_only_place_without_a_workspace_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        ss.Workspace(tmp_path / "none.zarr", mode="r")
    assert list(tmp_path.iterdir()) == []

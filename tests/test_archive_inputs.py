"""Everything that users hold besides one clean field: files, variables, labels, lazy and large."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import cftime
import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from archives import field, flat, flat_codes, squared, trained
from passes import assert_same_bits, cut_by_hand
from scipy import sparse
from zarr.storage import MemoryStore, WrapperStore

import somscale as ss
from somscale.engine.linear.cutting import bytes_read
from somscale.engine.linear.job import Cut, LinearJob
from somscale.engine.readers.peek import read_some_rows
from somscale.engine.readers.samples import open_samples
from somscale.engine.readers.sources import ArraySource, ZarrSource
from somscale.engine.readers.views import flatten
from somscale.errors import InputError
from somscale.reductions.units import UnitsReduction


def value(q: xr.Dataset, metric: str) -> float:
    return float(q["value"].sel(metric=metric))


# --- variables of a Dataset


@pytest.fixture(scope="module")
def model() -> xr.Dataset:
    """A model's output: bounds, a noleap calendar, a surface and a level field, an index."""
    t2m = field(24, 3, 4).drop_vars("time")
    time = xr.date_range("0001-01-01", periods=24, calendar="noleap", use_cftime=True)
    level = xr.DataArray(
        np.random.default_rng(5).random((24, 2, 3, 4)),
        dims=("time", "level", "lat", "lon"),
        coords={"level": [500.0, 850.0]},
    )
    dataset = xr.Dataset({"t2m": t2m, "z": level, "nino": ("time", np.arange(24.0))})
    dataset = dataset.assign_coords(time=time)
    dataset["time_bnds"] = (("time", "bnds"), np.zeros((24, 2)))
    dataset["lat_bnds"] = (("lat", "bnds"), np.zeros((3, 2)))
    dataset["cell_edges"] = (("time", "edge"), np.ones((24, 3)))
    dataset["name"] = ("time", np.array(["a"] * 24, dtype=object))
    dataset["time"].attrs["bounds"] = "time_bnds"
    dataset["lat"].attrs["bounds"] = "cell_edges"
    return dataset


def test_bounds_are_left_out_and_listed(model: xr.Dataset) -> None:
    both = model.drop_vars(["z", "nino"])
    som = trained(both)
    assert som["codes"].dims == ("unit", "lat", "lon")
    q = ss.evaluate(both, som, sample_dims="time")
    left_out = json.loads(q.attrs["variables_left_out"])
    assert left_out == ["time_bnds", "lat_bnds", "cell_edges", "name"]
    assert isinstance(q["time"].values[0], cftime.DatetimeNoLeap)
    plain = ss.evaluate(flat(model["t2m"]), ss.codebook(flat_codes(som), ss.Grid(2, 3)))
    assert value(q, "quantization_error") == value(plain, "quantization_error")


def test_variables_of_any_shape_stand_side_by_side(model: xr.Dataset, tmp_path: Path) -> None:
    names = ["t2m", "z", "nino"]
    som = trained(model, variable=names)
    assert som["codes"].dims == ("unit", "feature")
    assert som["codes"]["variable"].values.tolist() == ["t2m"] * 12 + ["z"] * 24 + ["nino"]
    assert np.isnan(som["lat"].values[-1])
    assert np.isnan(som["level"].values[:12]).all()
    parts = [flat(model[name]) for name in names]
    expected = np.sqrt(squared(np.concatenate(parts, axis=1), flat_codes(som)).min(axis=1)).mean()
    model.drop_vars("time_bnds").to_netcdf(tmp_path / "m.nc")
    for samples in (model, model.chunk(time=5), tmp_path / "m.nc"):
        q = ss.evaluate(samples, som, sample_dims="time", variable=names).compute()
        assert value(q, "quantization_error") == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match="differ along 'feature'"):
        ss.evaluate(model, som, sample_dims="time", variable=names[::-1])


def test_variables_of_one_shape_have_a_dim_of_their_own(model: xr.Dataset) -> None:
    pair = xr.Dataset({"u": model["t2m"], "v": model["t2m"] * 2})
    som = trained(pair)
    assert som["codes"].dims == ("unit", "variable", "lat", "lon")
    assert som["variable"].values.tolist() == ["u", "v"]
    other = ss.evaluate(pair[["v", "u"]], som, sample_dims="time")
    assert value(other, "quantization_error") == pytest.approx(
        value(ss.evaluate(pair, som, sample_dims="time"), "quantization_error"), rel=1e-12
    )


def test_a_log_of_sensors_is_samples_of_its_variables() -> None:
    log = xr.Dataset(
        {name: ("time", np.random.default_rng(n).random(50)) for n, name in enumerate("abc")}
    )
    som = trained(log)
    assert som["codes"].dims == ("unit", "variable")
    q = ss.evaluate(log, som, sample_dims="time", feature_weights=[1, 0, 2])
    values = np.stack([log[name].values for name in "abc"], axis=1)
    expected = np.sqrt(squared(values, flat_codes(som), [1, 0, 2]).min(axis=1)).mean()
    assert value(q, "quantization_error") == pytest.approx(expected, rel=1e-12)


# --- several files


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_files_continue_each_other(suffix: str, tmp_path: Path) -> None:
    days = field(50)
    som = trained(days)
    for name, part in {"b": days[:20], "c": days[20:21], "a": days[21:]}.items():
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "nc":
            part.to_netcdf(path, encoding={"t2m": {"chunksizes": (1, 4, 5)}})
        else:
            part.to_dataset().to_zarr(path, consolidated=False)
    expected = ss.evaluate(days, som, sample_dims="time")
    paths = sorted(tmp_path.glob(f"*.{suffix}"))
    for samples in (str(tmp_path / f"*.{suffix}"), paths, [str(p) for p in paths]):
        q = ss.evaluate(samples, som, sample_dims="time")
        xr.testing.assert_equal(q, expected)
        assert q["bmu"].dtype == np.int32


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    days = field(10)
    days[:5].to_netcdf(tmp_path / "a.nc")
    days[5:].assign_coords(lon=days["lon"] + 1).to_netcdf(tmp_path / "b.nc")
    days[5:].rename("other").to_netcdf(tmp_path / "c.nc")
    som = trained(days)
    both = [tmp_path / "a.nc", tmp_path / "b.nc"]
    with pytest.raises(InputError, match=r"'b\.nc' and 'a\.nc' differ in the coordinate 'lon'"):
        ss.evaluate(both, som, sample_dims="time")
    with pytest.raises(InputError, match=r"'c\.nc' has no variable 't2m'"):
        ss.evaluate([tmp_path / "a.nc", tmp_path / "c.nc"], som, sample_dims="time")
    with pytest.raises(InputError, match="sample_dims='time'"):
        ss.evaluate(both, som)
    with pytest.raises(InputError, match="no file or store matches"):
        ss.evaluate(str(tmp_path / "*.zarr"), som, sample_dims="time")


# --- labels and clusters


def test_series_are_aligned_by_their_index() -> None:
    days = field(40)
    som = trained(days)
    labels = pd.Series(np.arange(40) % 5 < 2, index=days["time"].values)
    expected = ss.evaluate(days, som, sample_dims="time", labels=labels.to_numpy())
    for given in (labels, labels[::-1], labels.rename_axis("time")[::-1]):
        found = ss.evaluate(days, som, sample_dims="time", labels=given)
        assert value(found, "purity") == value(expected, "purity")
    other = labels.set_axis(labels.index + pd.Timedelta(days=3))
    with pytest.raises(InputError, match="labels and samples differ along 'time'"):
        ss.evaluate(days, som, sample_dims="time", labels=other)
    unnamed = labels.reset_index(drop=True)
    assert value(ss.evaluate(days, som, sample_dims="time", labels=unnamed), "purity") == (
        value(expected, "purity")
    )


def test_categories_keep_their_order() -> None:
    days = field(30)
    som = trained(days)
    numbers = np.array(["10", "2", "1"])[np.arange(30) % 3]
    labels = pd.Series(
        pd.Categorical(numbers, categories=["2", "10", "1"]), index=days["time"].values
    )
    q = ss.evaluate(days, som, sample_dims="time", labels=labels[::-1])
    assert q["class"].values.tolist() == ["2", "10", "1"]
    in_order = ss.evaluate(days, som, sample_dims="time", labels=labels)
    xr.testing.assert_equal(q, in_order)


def test_unequal_lengths_are_refused_with_both() -> None:
    days = field(30)
    with pytest.raises(InputError, match="there are 29 labels and 30 samples"):
        ss.evaluate(days, trained(days), sample_dims="time", labels=np.arange(29))


# --- arrays without names


def test_sparse_rows_are_read_by_blocks() -> None:
    matrix = sparse.random_array((300, 40), density=0.1, format="csr", rng=np.random.default_rng(0))
    som = ss.codebook(matrix[:6].toarray(), ss.Grid(2, 3))
    expected = ss.evaluate(matrix.toarray(), som)
    xr.testing.assert_identical(ss.evaluate(matrix, som), expected)
    xr.testing.assert_identical(ss.evaluate(sparse.csr_matrix(matrix), som), expected)
    with pytest.raises(InputError, match=r"CSR format; give samples\.tocsr\(\)"):
        ss.evaluate(matrix.tocsc(), som)


def test_masked_arrays_are_gaps() -> None:
    values = np.random.default_rng(0).random((50, 3))
    som = ss.codebook(values[:4], ss.Grid(2, 2))
    masked = np.ma.masked_less(values, 0.02)
    with pytest.raises(InputError, match=r"masked, first at .*missing="):
        ss.evaluate(masked, som)
    q = ss.evaluate(masked, som, missing="drop_any_sample")
    assert value(q, "samples_dropped") == masked.mask.any(axis=1).sum() > 0


def test_lengths_that_are_unknown_are_refused_with_the_call() -> None:
    blocks = da.random.default_rng(0).random((100, 3), chunks=(10, 3))
    unknown = blocks[blocks[:, 0] > 0.5]
    som = ss.codebook(np.eye(3), ss.Grid.chain(3))
    with pytest.raises(InputError, match=r"unknown length; call compute_chunk_sizes\(\)"):
        ss.evaluate(unknown, som)
    unknown.compute_chunk_sizes()
    assert ss.evaluate(unknown, som)["bmu"].shape == (unknown.shape[0],)


# --- bad words for dims, masks and weights


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, r"dims \('time', 'lat', 'lon'\).*sample_dims='time'"),
        ({"sample_dims": "month"}, r"names 'month', and the samples have the dims"),
        ({"sample_dims": {"time", "lat"}}, "a list, not a set"),
        ({"sample_dims": ("time", "time")}, "each dim of the samples once"),
        ({"sample_dims": "time", "missing": "ignore"}, "missing is one of"),
        ({"sample_dims": "time", "variable": "t2m"}, "samples are one array"),
        ({"sample_dims": "time", "mask": np.ones((3, 3), bool)}, "fits neither"),
        ({"sample_dims": "time", "mask": np.ones((4, 5))}, "not booleans"),
        ({"sample_dims": "time", "mask": np.zeros((4, 5), bool)}, "False everywhere"),
        ({"sample_dims": "time", "feature_weights": "cos"}, "'coslat' or an array"),
        ({"sample_dims": "time", "feature_weights": np.ones(3)}, "has shape"),
        ({"sample_dims": "time", "feature_weights": -np.ones(20)}, "holds -1.0 at lat 0"),
        ({"sample_dims": "time", "feature_weights": np.zeros(20)}, "0 everywhere"),
        ({"sample_dims": "time", "sample_weights": np.full(60, np.nan)}, "holds nan at time 0"),
        ({"sample_dims": "time", "sample_weights": "coslat"}, "finds no latitude"),
        (
            {"sample_dims": "time", "sample_weights": np.ones(60), "labels": np.ones(60, int)},
            "no meaning for indices of labels",
        ),
    ],
)
def test_bad_words_are_refused(settings: dict[str, Any], complaint: str) -> None:
    days = field()
    with pytest.raises(InputError, match=complaint):
        ss.evaluate(days, trained(days), **settings)


def test_latitudes_beyond_the_poles_are_refused() -> None:
    days = field().assign_coords(lat=[0.0, 45.0, 90.0, 135.0])
    with pytest.raises(InputError, match="reaches 135"):
        ss.evaluate(days, trained(days), sample_dims="time", feature_weights="coslat")


def test_time_in_second_place_is_no_guess() -> None:
    stations = field(20, 2, 3).stack(station=("lat", "lon")).reset_index("station").transpose()
    with pytest.raises(InputError, match=r"not clear which.*sample_dims='time'"):
        ss.train(stations, ss.Grid(2, 2))
    assert ss.train(stations, ss.Grid(2, 2), epochs=1, sample_dims="time")["codes"].shape == (4, 6)


def test_variants_of_the_same_data_are_named() -> None:
    days = field(12)
    both = xr.concat(
        [days.where(days["time.day"] < 9), days.where(days["time.day"] >= 9)], "expver"
    )
    som = ss.codebook(np.zeros((2, 40)), ss.Grid.chain(2))
    with pytest.raises(ss.SampleValueError, match=r"'expver' holds variants.*combine_first"):
        ss.evaluate(both, som, sample_dims="time")
    merged = both.isel(expver=0).combine_first(both.isel(expver=1))
    assert ss.evaluate(merged, trained(merged), sample_dims="time")["bmu"].shape == (12,)


def test_codes_of_another_scale_are_remarked_on() -> None:
    days = field()
    som = trained(days)
    assert "scaled" not in "".join(ss.evaluate(days, som, sample_dims="time")["note"].values)
    q = ss.evaluate(days - 273.15, som, sample_dims="time", metrics="quantization_error")
    assert "scaled differently" in q["note"].item()
    lazy = ss.evaluate((days - 273.15).chunk(time=9), som, sample_dims="time")
    assert "scaled differently" in str(
        lazy["note"].sel(metric="quantization_error").compute().item()
    )


# --- what is read, held and planned


class CountingStore(WrapperStore[MemoryStore]):
    """Counts how often each chunk is fetched, through whatever copies xarray makes of it."""

    fetched: ClassVar[Counter[str]] = Counter()

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if not key.endswith("zarr.json"):
            self.fetched[key] += 1
        return await super().get(key, prototype, byte_range)


WIDE = (40, 30, 50)


@pytest.mark.parametrize("budget", ["plenty", "tight"])
@pytest.mark.parametrize("chunks", [(40, 10, 10), (1, 30, 50), (16, 30, 7), (7, 4, 50)])
def test_a_store_sees_the_reads_that_the_plan_announced(
    chunks: tuple[int, ...], budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).standard_normal(WIDE).astype(np.float32)
    store = CountingStore(MemoryStore())
    group = zarr.create_group(store, path="group")
    dims = ("time", "lat", "lon")
    group.create_array("field", data=values, chunks=chunks, dimension_names=dims)
    opened = xr.open_zarr(store, group="group", chunks=None, consolidated=False)["field"]
    codes = values[:6].astype(np.float64)
    som = ss.codebook(codes, ss.Grid(2, 3))
    expected = ss.evaluate(values.reshape(40, -1), som, cost="linear")
    monkeypatch.setattr("somscale.engine.where.baseline_bytes", lambda: 0)
    sizes = (
        ["1GiB"] if budget == "plenty" else [f"{size}KiB" for size in range(34_500, 33_000, -60)]
    )
    for size in sizes:
        with ss.set_options(memory_budget=size, scheduler="serial"):
            try:
                plan = ss.plan(opened, som, sample_dims="time", cost="linear")
            except ss.MemoryBudgetError:
                break
            store.fetched.clear()
            q = ss.evaluate(opened, som, sample_dims="time", cost="linear")
        whole = 4 * int(np.prod(chunks)) * store.fetched.total()
        # chunks at an edge hold fewer values than others
        edges = np.prod(
            [-(-size // chunk) * chunk / size for size, chunk in zip(WIDE, chunks, strict=True)]
        )
        assert plan.bytes_read == pytest.approx(whole / edges, rel=0.35 if edges > 1 else 1e-9)
        if budget == "plenty":
            assert store.fetched.total() == len(store.fetched)
        assert value(q, "quantization_error") == value(expected, "quantization_error")
        np.testing.assert_array_equal(q["bmu"], expected["bmu"])


@pytest.mark.parametrize("slab", [500, 700, 1500])
@pytest.mark.parametrize("chunks", [(40, 10, 10), (8, 5, 25)])
def test_a_walk_by_features_of_a_field_reads_what_is_announced(
    chunks: tuple[int, ...], slab: int
) -> None:
    values = np.random.default_rng(0).standard_normal(WIDE).astype(np.float32)
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, data=values, chunks=chunks)
    reduction = UnitsReduction(values[:6].reshape(6, -1).astype(np.float64), samplewise=True)
    job = LinearJob([reduction], 40, 1500, source=flatten(ZarrSource(array), (0, 1, 2), 1))
    cut = Cut("features", 1, slab, 8)
    store.fetched.clear()
    stats = cut_by_hand(job, cut)[0]
    assert 4 * int(np.prod(chunks)) * store.fetched.total() == bytes_read(job, cut)
    flat_job = replace(job, source=ArraySource(values.reshape(40, -1)))
    assert_same_bits(stats, cut_by_hand(flat_job, Cut("rows", 1, 1500, 40))[0])


@pytest.mark.parametrize("chunks", [(40, 10, 10), (1, 30, 50), (9, 30, 7)])
def test_wide_tiles_of_dask_arrays_are_taken_in_parts(
    chunks: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).standard_normal(WIDE)
    som = ss.codebook(values[:6].reshape(6, -1), ss.Grid(2, 3))
    expected = ss.evaluate(values.reshape(40, -1), som)
    monkeypatch.setattr("somscale.engine.linear.cutting._TASK_BYTES", 8 * 1500 * 5)
    lazy = xr.DataArray(da.from_array(values, chunks=chunks), dims=("time", "lat", "lon"))
    for scheduler in ("synchronous", "threads"):
        q = ss.evaluate(lazy, som, sample_dims="time")
        with dask.config.set(scheduler=scheduler):
            found = q.compute()
        for name in ("value", "hits", "distortion"):
            np.testing.assert_array_equal(found[name], expected[name])
        np.testing.assert_array_equal(
            found["composite"].values.reshape(6, -1), expected["composite"]
        )


def test_a_wide_field_needs_nothing_of_the_size_of_its_square(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = xr.DataArray(rng.random((56, 420, 444), dtype=np.float32), dims=("time", "lat", "lon"))
    som = ss.codebook(
        days[:9].astype(float).rename(time="unit"), ss.Grid(3, 3, topology="hexagonal")
    )
    q = ss.evaluate(
        days, som, sample_dims="time", metrics=["quantization_error", "rms_per_feature"]
    )
    plan = ss.plan(days, som, sample_dims="time")
    assert plan.peak_memory - plan.passes[0].memory.baseline < 600 << 20
    squares = squared_in_parts(days.values.reshape(56, -1), som["codes"].values.reshape(9, -1))
    rms = np.sqrt(squares.min(axis=1).mean() / (420 * 444))
    assert value(q, "rms_per_feature") == pytest.approx(rms, rel=1e-12)
    days.to_dataset(name="x").to_zarr(
        tmp_path / "x.zarr", encoding={"x": {"chunks": (56, 50, 50)}}, consolidated=False
    )
    for slab in (1024, 5000, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("somscale.engine.linear.cutting._SLAB", slab)
            other = ss.evaluate(
                tmp_path / "x.zarr", som, sample_dims="time", metrics=q["metric"].values.tolist()
            )
        np.testing.assert_array_equal(other["value"], q["value"])


def squared_in_parts(samples: Any, codes: Any) -> Any:
    total = np.zeros((len(samples), len(codes)))
    for start in range(0, samples.shape[1], 20_000):
        part = slice(start, start + 20_000)
        total += squared(samples[:, part].astype(float), codes[:, part])
    return total


@pytest.mark.parametrize("shape", ["pixels", "wide"])
def test_plans_of_huge_lazy_archives_are_small(shape: str) -> None:
    if shape == "pixels":
        lazy = da.zeros((100, 1000, 1000), chunks=(1, 1000, 1000), dtype=np.float32)
        samples = xr.DataArray(lazy, dims=("time", "y", "x"))
        codes, dims = np.zeros((9, 1)), ("time", "y", "x")
    else:
        lazy = da.zeros((382_776, 174_688), chunks=(2048, 174_688), dtype=np.float32)
        samples = xr.DataArray(lazy, dims=("time", "cell"))
        codes, dims = np.random.default_rng(0).random((9, 174_688)), ("time",)
    som = ss.codebook(codes, ss.Grid(3, 3))
    tracemalloc.start()
    plan = ss.plan(samples, som, sample_dims=dims)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20
    assert plan.bytes_read == lazy.nbytes
    assert "samples" in repr(plan)


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
import numpy as np
import somscale as ss
"""

MEMMAP = """
path, n, d = "{path}", 2_000_000, 537
samples = np.memmap(path, np.float32, "r", shape=(n, d))
som = ss.codebook(np.repeat(np.arange(1.0, 5.0)[:, None], d, axis=1), ss.Grid(2, 2))
q = ss.evaluate(samples, som, metrics=["quantization_error", "hits"])
assert q["hits"].values.tolist() == [n, 0, 0, 0], q["hits"].values
assert abs(float(q["value"][0]) / d**0.5 - 1) < 1e-12
"""

MANY_UNITS = """
rng = np.random.default_rng(0)
samples = rng.random((100_000, 8), dtype=np.float32)
som = ss.codebook(rng.random((16_384, 8)), ss.Grid(128, 128, topology="hexagonal"))
wanted = ["quantization_error", "topographic_error", "explained_variance", "hits", "bmu"]
q = ss.evaluate(samples, som, metrics=wanted)
assert int(q["hits"].sum()) == 100_000
some = rng.integers(0, 100_000, 50)
squares = ((samples[some, None].astype(float) - som["codes"].values[None]) ** 2).sum(axis=2)
assert (q["bmu"].values[some] == squares.argmin(axis=1)).all()
"""


def run_limited(script: str) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")
def test_a_memory_map_of_4_gibibytes_runs_in_one(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    with path.open("wb") as file:
        file.truncate(2_000_000 * 537 * 4)  # a hole: it takes no space
    assert path.stat().st_size > 4 << 30
    run_limited(MEMMAP.format(path=path))


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")
def test_a_map_of_many_units_runs_in_one_gibibyte() -> None:
    run_limited(MANY_UNITS)


def test_open_samples_stacks_nothing() -> None:
    lazy = da.zeros((1000, 300, 300), chunks=(1, 300, 300), dtype=np.float32)
    tracemalloc.start()
    opened = open_samples(
        xr.DataArray(lazy, dims=("time", "y", "x")), sample_dims=["time", "y", "x"]
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert opened.shape == (90_000_000, 1)
    assert peak < 20 << 20


def test_dask_blocks_that_are_whole_in_time_are_refused_with_two_ways_out() -> None:
    lazy = da.zeros((300_000, 200_000), chunks=(100_000, 1000), dtype=np.float32)
    som = ss.codebook(np.zeros((2, 200_000)), ss.Grid.chain(2))
    with pytest.raises(ss.MemoryBudgetError, match=r"up to 100000 samples.*path is read by feat"):
        ss.plan(lazy, som)
    assert ss.plan(lazy.rechunk((2048, -1)), som).tasks == 147


def test_a_peek_decodes_chunks_that_are_whole_in_time_once() -> None:
    values = np.random.default_rng(0).standard_normal((1500, 60, 50)).astype(np.float32)
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, data=values, chunks=(1500, 20, 50))
    store.fetched.clear()
    source = flatten(ZarrSource(array), (0, 1, 2), 1)
    peeked = read_some_rows(
        replace(open_samples(values.reshape(1500, -1)), source=source),
        600,
        np.random.default_rng(1),
    )
    assert store.fetched.total() == len(store.fetched) == 3
    plain = read_some_rows(open_samples(values.reshape(1500, -1)), 600, np.random.default_rng(1))
    np.testing.assert_array_equal(peeked, plain)


def test_masks_weights_and_labels_in_series_go_by_their_index() -> None:
    days = field(40)
    som, times = trained(days), days["time"].values
    taken = pd.Series(np.arange(40) % 7 > 0, index=times)
    weights = pd.Series(np.arange(40.0), index=times)
    for given in (taken, taken[::-1]):
        q = ss.evaluate(days, som, sample_dims="time", mask=given)
        assert np.flatnonzero(q["bmu"] < 0).tolist() == list(range(0, 40, 7))
    found = [
        value(ss.evaluate(days, som, sample_dims="time", sample_weights=w), "quantization_error")
        for w in (weights, weights[::-1], weights.to_numpy())
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("form", ["series", "stacked"])
def test_flat_labels_of_pixels_go_by_the_dims_they_came_from(form: str) -> None:
    days = field(6, 4, 5)
    dims = ["time", "lat", "lon"]
    labels = (days > 280).astype(int)
    som = ss.codebook([[275.0], [280.0], [285.0]], ss.Grid.chain(3))
    expected = value(ss.evaluate(days, som, sample_dims=dims, labels=labels), "purity")
    turned = labels.transpose("lon", "time", "lat")
    flat_labels = (
        turned.to_series().sample(frac=1, random_state=0)
        if form == "series"
        else turned.stack(pixel=["lon", "time", "lat"])
    )
    found = ss.evaluate(days, som, sample_dims=dims, labels=flat_labels)
    assert value(found, "purity") == expected
    both = ss.evaluate(None, labels.transpose("lat", "time", "lon"), labels=labels)
    assert value(both, "purity") == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"mask": [np.ones(40, bool), np.ones((4, 5), bool)]}, r"a pair, \(one, other\)"),
        ({"mask": xr.Dataset({"a": 1})}, "mask is a Dataset; choose a variable"),
        ({"feature_weights": xr.Dataset({"a": 1})}, "feature_weights is a Dataset"),
    ],
)
def test_what_is_no_mask_and_no_weights_is_refused(settings: Any, complaint: str) -> None:
    days = field(40)
    with pytest.raises(InputError, match=complaint):
        ss.evaluate(days, trained(days), sample_dims="time", **settings)


def test_latitudes_in_radians_are_told_by_their_units() -> None:
    cells = field(9, 4, 1).squeeze("lon", drop=True).rename(lat="clat")
    som = ss.codebook(flat(cells)[:2], ss.Grid.chain(2))
    how: dict[str, Any] = {"sample_dims": "time", "feature_weights": "coslat"}
    facts = {"units": "radian", "standard_name": "latitude"}
    radians = cells.assign_coords(clat=("clat", np.deg2rad(cells["clat"].values), facts))
    expected = np.cos(np.deg2rad(cells["clat"].values)).sum()
    q = ss.evaluate(radians, som, **how)
    assert q.attrs["feature_weights_sum"] == pytest.approx(expected)
    radians["clat"].attrs["units"] = "m"
    with pytest.raises(InputError, match="'clat' is in 'm'"):
        ss.evaluate(radians, som, **how)


def test_masks_on_other_curvilinear_places_are_refused() -> None:
    places = xr.DataArray(np.random.default_rng(0).random((4, 5)), dims=("lat", "lon"))
    days = field(12).drop_vars(["lat", "lon"]).assign_coords(glat=places)
    som = ss.codebook(flat(days)[:3], ss.Grid.chain(3))
    mask = days["glat"] > 0.3
    assert ss.evaluate(days, som, sample_dims="time", mask=mask)["bmu"].size == 12
    with pytest.raises(InputError, match="differ in the coordinate 'glat'"):
        ss.evaluate(days, som, sample_dims="time", mask=mask[::-1])


def test_files_of_other_units_and_files_named_twice_are_refused(tmp_path: Path) -> None:
    days = field(20)
    days[:10].to_netcdf(tmp_path / "a.nc")
    (days[10:] - 273.15).assign_attrs(units="degC").to_netcdf(tmp_path / "b.nc")
    days[:0].to_netcdf(tmp_path / "c.nc")
    som = trained(days)
    for names, complaint in {
        ("a.nc", "b.nc"): "in 'degC' in 'b.nc' and in 'K' in 'a.nc'",
        ("a.nc", "a.nc"): "named twice",
        ("a.nc", "c.nc"): "'c.nc' has nothing along 'time'",
    }.items():
        with pytest.raises(InputError, match=re.escape(complaint)):
            ss.evaluate([tmp_path / name for name in names], som, sample_dims="time")


def test_what_a_projection_left_out_is_no_cluster() -> None:
    days = field(40)
    taken = np.arange(40) % 5 > 0
    bmu = ss.project(days, trained(days), sample_dims="time", mask=taken)["bmu"]
    labels = np.arange(40) // 14
    q = ss.evaluate(None, bmu, labels=labels)
    plain = ss.evaluate(None, bmu.values[taken], labels=labels[taken])
    assert value(q, "adjusted_rand_score") == value(plain, "adjusted_rand_score")
    assert json.loads(q.attrs["clusters_excluded"]) == {"projection": 8}


@pytest.mark.parametrize("name", ["hits", "temperature", "unit", "value"])
def test_features_of_the_results_own_names_are_refused_before_the_read(name: str) -> None:
    days = field(10).assign_coords({name: ("lat", np.arange(4.0))})
    with pytest.raises(InputError, match=rf"rename\({name}="):
        ss.evaluate(days, trained(field(10)), sample_dims="time")

"""Labels of samples and features: put in order where both have them, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import somscale as ss
from somscale.errors import InputError
from somscale.store import open_dataset, write_dataset


@pytest.fixture
def field() -> xr.DataArray:
    coords = {"time": np.arange(60), "lat": [10.0, 20.0, 30.0], "lon": [0.0, 5.0]}
    values = np.random.default_rng(0).normal(size=(60, 3, 2))
    return xr.DataArray(values, dims=("time", "lat", "lon"), coords=coords, name="field")


def stacked(field: xr.DataArray, *, index: bool = True) -> xr.DataArray:
    days = field.stack(feature=("lat", "lon"))
    return days if index else days.reset_index("feature")


def error_of(samples: xr.DataArray, som: xr.Dataset) -> float:
    return float(ss.metrics.quantization_error(samples, som))


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("stored", [True, False])
def test_flipped_latitudes_are_put_in_order(
    field: xr.DataArray, tmp_path: Path, index: bool, stored: bool
) -> None:
    som = ss.train(stacked(field), ss.Grid(2, 2), epochs=2, seed=0)
    if stored:
        write_dataset(som, tmp_path / "som.zarr")
        som = open_dataset(tmp_path / "som.zarr").load()
    expected = error_of(stacked(field), som)
    flipped = stacked(field.isel(lat=slice(None, None, -1)), index=index)
    assert error_of(flipped, som) == pytest.approx(expected, rel=1e-14)
    bare = flipped.drop_vars(["feature", "lat", "lon"], errors="ignore")
    assert error_of(bare, som) > 1.01 * expected


def test_shifted_latitudes_are_refused(field: xr.DataArray) -> None:
    som = ss.train(stacked(field, index=False), ss.Grid(2, 2), epochs=2, seed=0)
    shifted = stacked(field.assign_coords(lat=field["lat"] + 90), index=False)
    with pytest.raises(InputError, match=r"differ along 'feature' in 'lat' and 'lon' .*drop_vars"):
        error_of(shifted, som)


@pytest.mark.parametrize("suffix", ["zarr", "nc"])
def test_a_map_of_stacked_fields_can_be_kept(
    field: xr.DataArray, tmp_path: Path, suffix: str
) -> None:
    som = ss.train(stacked(field), ss.Grid(2, 2), epochs=2, seed=0)
    write_dataset(som, tmp_path / f"som.{suffix}")
    with open_dataset(tmp_path / f"som.{suffix}") as opened:
        xr.testing.assert_identical(opened.load(), som)
    assert set(som["codes"].coords) >= {"lat", "lon"}


def test_results_of_stacked_samples_can_be_kept(field: xr.DataArray, tmp_path: Path) -> None:
    cells = field.stack(cell=("lat", "lon")).transpose("cell", "time")
    som = ss.train(cells, ss.Grid(2, 1), epochs=1, sample_dims="cell")
    q = ss.evaluate(cells, som, metrics="bmu", sample_dims="cell")
    write_dataset(q, tmp_path / "q.zarr")
    assert q["bmu"].dims == ("cell",)
    assert set(q["bmu"].coords) == {"lat", "lon"}


def test_labels_are_put_in_the_samples_order(field: xr.DataArray) -> None:
    days = stacked(field)
    labels = (field[:, 0, 0] > 0).drop_vars(["lat", "lon"])
    som = ss.train(days, ss.Grid(2, 2), epochs=2, seed=0)
    units = ss.project(days, som)["bmu"]
    expected = ss.evaluate(days, som, labels=labels, metrics="partition")["value"]
    backwards = ss.evaluate(days, som, labels=labels[::-1], metrics="partition")["value"]
    as_clusters = ss.evaluate(days, units[::-1], labels=labels, metrics="partition")["value"]
    assert np.array_equal(backwards, expected)
    assert np.array_equal(as_clusters, expected)
    assert ss.metrics.purity(labels, units[::-1]) == expected.sel(metric="purity")
    assert ss.metrics.purity(labels, units[::-1].values) != expected.sel(metric="purity")


def test_labels_of_other_days_are_refused(field: xr.DataArray) -> None:
    days = stacked(field)
    som = ss.train(days, ss.Grid(2, 2), epochs=1)
    labels = xr.DataArray(np.arange(60) % 2, dims="time", coords={"time": np.arange(1, 61)})
    with pytest.raises(InputError, match=r"labels and samples differ along 'time' .*1 and 0 at"):
        ss.evaluate(days, som, labels=labels)


def test_repeated_days_are_taken_in_the_same_order_only(field: xr.DataArray) -> None:
    week = np.arange(60) % 7
    days = stacked(field).assign_coords(time=week)
    labels = xr.DataArray(np.arange(60) % 2, dims="time", coords={"time": week})
    som = ss.train(days, ss.Grid(2, 2), epochs=1)
    assert ss.evaluate(days, som, labels=labels)["value"].sel(metric="purity") > 0
    with pytest.raises(InputError, match="differ along 'time'"):
        ss.evaluate(days, som, labels=labels[::-1])

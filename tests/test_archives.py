"""Fields on latitude and longitude and their like: in and out on the user's own dims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import xarray as xr
import zarr
from archives import field, flat, flat_codes, squared, trained

import somscale as ss
from somscale.engine.readers.samples import open_samples
from somscale.errors import InputError, SampleValueError
from somscale.store import open_dataset, write_dataset


def value(q: xr.Dataset, metric: str) -> float:
    return float(q["value"].sel(metric=metric))


# --- in and out


@pytest.fixture(scope="module")
def days() -> xr.DataArray:
    return field()


@pytest.fixture(scope="module")
def som(days: xr.DataArray) -> xr.Dataset:
    return trained(days)


def test_a_map_lies_on_the_dims_of_its_samples(days: xr.DataArray, som: xr.Dataset) -> None:
    assert som["codes"].dims == ("unit", "lat", "lon")
    assert som["codes"].attrs["units"] == "K"
    for name in ("lat", "lon"):
        xr.testing.assert_identical(som[name], days[name])


def test_results_lie_on_the_users_own_dims(days: xr.DataArray, som: xr.Dataset) -> None:
    q = ss.evaluate(days, som, sample_dims="time")
    distances = np.sqrt(squared(flat(days), flat_codes(som)))
    bmu = distances.argmin(axis=1)
    assert q["bmu"].dims == q["second_bmu"].dims == q["distance"].dims == ("time",)
    np.testing.assert_array_equal(q["bmu"], bmu)
    np.testing.assert_allclose(q["distance"], distances.min(axis=1), rtol=1e-12)
    assert q["codes"].dims == q["composite"].dims == ("unit", "lat", "lon")
    np.testing.assert_array_equal(q["codes"], som["codes"])
    means = [days[bmu == unit].astype(float).mean("time") for unit in range(6)]
    np.testing.assert_allclose(q["composite"], np.stack(means), rtol=1e-12)
    np.testing.assert_array_equal(q["hits"], np.bincount(bmu, minlength=6))
    np.testing.assert_allclose(q["frequency"], np.bincount(bmu, minlength=6) / 60)
    rms = np.sqrt((distances.min(axis=1) ** 2).mean() / 20)
    assert value(q, "rms_per_feature") == pytest.approx(rms, rel=1e-12)
    assert {"row", "col", "lat", "lon", "time"} <= set(q.coords)
    assert q["time"].equals(days["time"])
    for name in q.variables:
        if q[name].dtype.kind not in "OT":
            assert "long_name" in q[name].attrs or name in days.coords, name


def test_units_follow_the_data(days: xr.DataArray, som: xr.Dataset) -> None:
    q = ss.evaluate(days, som, sample_dims="time")
    units = dict(zip(q["metric"].values, q["metric_units"].values, strict=True))
    assert units["quantization_error"] == units["rms_per_feature"] == "K"
    assert q["distortion"].attrs["units"] == "K^2"
    assert q["codes"].attrs["units"] == q["composite"].attrs["units"] == "K"


def test_best_units_are_flags_as_cf_has_them(days: xr.DataArray, som: xr.Dataset) -> None:
    for bmu in (ss.project(days, som, sample_dims="time")["bmu"], ss.metrics.bmu(
        days, som, sample_dims="time"
    )):  # fmt: skip
        assert bmu.dtype == np.int32
        assert bmu.attrs["flag_values"].tolist() == [-1, 0, 1, 2, 3, 4, 5]
        assert bmu.attrs["flag_meanings"].split()[:2] == ["not_evaluated", "unit_0"]
        assert len(bmu.attrs["flag_meanings"].split()) == 7


@pytest.mark.parametrize("suffix", ["zarr", "nc"])
@pytest.mark.parametrize("missing", ["raise", "drop"])
def test_maps_and_results_survive_a_round_trip(suffix: str, missing: str, tmp_path: Path) -> None:
    days = field()
    if missing == "drop":
        days = days.where(days["lon"] > 15)
    reading: dict[str, Any] = {"sample_dims": "time", "missing": missing}
    som = trained(days, missing=missing)
    q = ss.evaluate(days, som, **reading)
    for name, dataset in {"som": som, "q": q}.items():
        write_dataset(dataset, tmp_path / f"{name}.{suffix}")
        with open_dataset(tmp_path / f"{name}.{suffix}") as opened:
            xr.testing.assert_equal(opened.load(), dataset)
            assert opened["bmu" if name == "q" else "codes"].dtype == (
                np.int32 if name == "q" else np.float64
            )
    with open_dataset(tmp_path / f"som.{suffix}") as opened:
        again = ss.evaluate(days, opened.load(), **reading)
    xr.testing.assert_identical(again, q)


def test_the_users_next_lines_work(days: xr.DataArray, som: xr.Dataset) -> None:
    q = ss.evaluate(days, som, sample_dims="time")
    means = days.groupby(q["bmu"]).mean()
    present = means["bmu"].values
    np.testing.assert_allclose(means.values, q["composite"].sel(unit=present), rtol=1e-5)
    assert set(q["bmu"].groupby("time.season").groups) == {"DJF", "MAM"}


def test_patterns_are_plotted_side_by_side(days: xr.DataArray, som: xr.Dataset) -> None:
    matplotlib.use("Agg")
    q = ss.evaluate(days, som, sample_dims="time")
    facets = q["codes"].plot(col="unit", col_wrap=4)
    assert facets.axs.size == 8


def test_pixels_are_samples_on_several_dims() -> None:
    scene = field(7, 5, 6).rename(time="band").drop_vars("band")
    som = ss.codebook(flat(scene, ("lat", "lon"))[[0, 11, 22, 29]], ss.Grid(2, 2))
    q = ss.evaluate(scene, som, sample_dims=("lat", "lon"))
    assert q["bmu"].dims == ("lat", "lon")
    np.testing.assert_array_equal(
        q["bmu"], squared(flat(scene, ("lat", "lon")), flat_codes(som)).argmin(1).reshape(5, 6)
    )
    assert q["codes"].dims == ("unit", "band")
    labels = xr.DataArray(
        np.arange(30).reshape(5, 6) % 3, dims=("lat", "lon"), coords=scene.drop_vars([]).coords
    )
    found = ss.evaluate(scene, som, sample_dims=("lat", "lon"), labels=labels)
    plain = ss.evaluate(flat(scene, ("lat", "lon")), som, labels=labels.values.ravel())
    assert value(found, "purity") == value(plain, "purity")
    assert value(found, "quantization_error") == value(plain, "quantization_error")
    clusters = q["bmu"]
    assert value(
        ss.evaluate(scene, clusters, sample_dims=("lat", "lon"), labels=labels), "purity"
    ) == (value(plain, "purity"))


def test_any_order_of_dims_and_any_backend_gives_the_same_bits(
    days: xr.DataArray, som: xr.Dataset, tmp_path: Path
) -> None:
    expected = ss.evaluate(days, som, sample_dims="time")
    dataset = days.to_dataset()
    dataset.to_zarr(
        tmp_path / "a.zarr", encoding={"t2m": {"chunks": (7, 3, 2)}}, consolidated=False
    )
    dataset.to_netcdf(tmp_path / "a.nc")
    for samples in (
        days.copy(data=np.asfortranarray(days.values)),
        days.chunk(time=13, lat=3, lon=2),
        tmp_path / "a.zarr",
        str(tmp_path / "a.nc"),
        dataset,
        xr.open_zarr(tmp_path / "a.zarr", consolidated=False),
    ):
        found = ss.evaluate(samples, som, sample_dims="time")
        xr.testing.assert_identical(found.compute(), expected)
    backwards = ss.evaluate(days.transpose("lon", "time", "lat"), som, sample_dims="time")
    np.testing.assert_array_equal(backwards["bmu"], expected["bmu"])
    assert backwards["codes"].dims == ("unit", "lon", "lat")
    np.testing.assert_allclose(backwards["value"], expected["value"], rtol=1e-12)


def test_samples_keep_their_order_and_repeat(days: xr.DataArray, som: xr.Dataset) -> None:
    shuffled = days.isel(time=[5, 3, 3, 59, 0])
    q = ss.evaluate(shuffled, som, sample_dims="time")
    assert q["time"].equals(shuffled["time"])
    whole = ss.project(days, som, sample_dims="time")["bmu"]
    np.testing.assert_array_equal(q["bmu"], whole[[5, 3, 3, 59, 0]])


def test_seasons_apart_and_maps_of_many_sizes_in_one_read(days: xr.DataArray) -> None:
    year = field(360)
    seasons = xr.concat([year[year["time.month"] == month] for month in (12, 1, 2)], "time")
    maps = {f"{n}x{n}": trained(seasons, ss.Grid(n, n)) for n in (1, 2, 4)}
    read: list[Any] = []

    def watch(block: Any, block_id: Any) -> Any:
        read.append(block_id)
        return block

    lazy = seasons.chunk(time=20)
    lazy = lazy.copy(data=lazy.data.map_blocks(watch, dtype=np.float32))
    read.clear()
    q = ss.evaluate(lazy, maps, sample_dims="time", cost="linear").compute()
    assert len(read) == len(set(read)) == -(-seasons.sizes["time"] // 20)
    assert q["time"].equals(seasons["time"])
    assert np.isnan(q["value"].sel(candidate="1x1", metric="topographic_error"))
    assert "one unit" in str(q["note"].sel(candidate="1x1", metric="topographic_error").values)
    assert "codes" not in q
    bmu = q["bmu"].sel(candidate="4x4")
    assert set(seasons.groupby(bmu.astype(int)).groups) <= set(range(16))
    fields = ss.evaluate(seasons, maps, sample_dims="time", metrics=["composite", "hits"])
    empty = fields["composite"].sel(candidate="2x2").isel(unit=slice(4, None))
    assert np.isnan(empty).all()


def test_an_empty_unit_has_no_hits_and_no_values(days: xr.DataArray, som: xr.Dataset) -> None:
    far = som.copy(deep=True)
    far["codes"][2] = 9e3
    q = ss.evaluate(days, far, sample_dims="time")
    assert q["hits"][2] == q["frequency"][2] == 0
    assert np.isnan(q["composite"][2]).all()
    assert np.isnan(q["unit_quantization_error"][2])
    assert len(q["hits"]) == 6


# --- features that take no part


def land(days: xr.DataArray) -> xr.DataArray:
    mask = xr.ones_like(days[0].drop_vars("time"), dtype=bool)
    mask[1, 2] = mask[3, 0] = mask[0, 0] = False
    return mask.rename("sea")


@pytest.mark.parametrize("how", ["drop", "mask", "drop_any_feature"])
@pytest.mark.parametrize("lazy", [False, True])
def test_land_takes_no_part(days: xr.DataArray, how: str, lazy: bool) -> None:
    sea = land(days)
    keep = sea.values.ravel()
    gapped = days.where(sea)
    reading: dict[str, Any] = {"sample_dims": "time"}
    if how == "mask":
        reading["mask"] = sea
        gapped = days.where(sea, -9e9)
    else:
        reading["missing"] = how
    som = trained(gapped, **reading)
    assert np.isnan(som["codes"].where(~sea, drop=False)).all()
    np.testing.assert_array_equal(np.isnan(som["codes"][0]), ~sea)
    q = ss.evaluate(gapped.chunk(time=7) if lazy else gapped, som, **reading).compute()
    plain = ss.evaluate(flat(days)[:, keep], ss.codebook(flat_codes(som)[:, keep], ss.Grid(2, 3)))
    shared = ["quantization_error", "topographic_error", "explained_variance", "rms_per_feature"]
    for metric in shared:
        assert value(q, metric) == pytest.approx(value(plain, metric), rel=1e-12), metric
    np.testing.assert_array_equal(q["bmu"], plain["bmu"])
    np.testing.assert_allclose(q["distortion"], plain["distortion"], rtol=1e-12)
    for name in ("codes", "composite"):
        found = q[name].values.reshape(6, -1)
        np.testing.assert_allclose(found[:, keep], plain[name], rtol=1e-12)
        assert np.isnan(found[:, ~keep]).all()
    assert value(q, "features_dropped") == 3
    assert value(q, "samples_dropped") == 0


def test_pixels_without_values_are_dropped_and_counted() -> None:
    scene = field(4, 30, 20).rename(time="band").drop_vars("band").transpose("lat", "lon", "band")
    codes = flat(scene, ("lat", "lon"))[:6]
    gone = np.random.default_rng(1).random((30, 20)) < 0.2
    gapped = scene.where(~xr.DataArray(gone, dims=("lat", "lon")))
    som = ss.codebook(codes, ss.Grid(2, 3))
    q = ss.evaluate(gapped, som, sample_dims=("lat", "lon"), missing="drop")
    plain = ss.evaluate(flat(scene, ("lat", "lon"))[~gone.ravel()], som)
    assert value(q, "samples_dropped") == gone.sum()
    assert (q["bmu"].values[gone] == -1).all()
    assert (q["bmu"].values[~gone] == plain["bmu"].values).all()
    assert np.isnan(q["distance"].values[gone]).all()
    assert int(q["hits"].sum()) == (~gone).sum()
    error = value(plain, "quantization_error")
    assert value(q, "quantization_error") == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("lazy", [False, True])
def test_gaps_are_counted_in_three_kinds(days: xr.DataArray, som: xr.Dataset, lazy: bool) -> None:
    gapped = days.where(land(days)).copy()
    gapped[[4, 9]] = np.nan
    gapped[20, 1, 1] = gapped[21, 1, 1] = gapped[21, 2, 2] = np.nan
    samples = gapped.chunk(time=7) if lazy else gapped
    for missing in ("raise", "drop"):
        with pytest.raises(SampleValueError) as caught:
            ss.evaluate(samples, som, sample_dims="time", missing=missing).compute()
        text = str(caught.value)
        assert "3 features" in text
        assert "2 samples" in text
        assert "drop_any_sample" in text
    with pytest.raises(SampleValueError, match=r"time 0 \(2001-01-01.*lat 0 \(-60.0\), lon 0"):
        ss.evaluate(gapped, som, sample_dims="time")


def test_any_gap_drops_its_sample_or_its_feature(days: xr.DataArray, som: xr.Dataset) -> None:
    gapped = days.copy()
    gapped[3] = np.nan
    gapped[20, 1, 1] = gapped[21, 1, 1] = gapped[21, 2, 2] = np.nan
    q = ss.evaluate(gapped, som, sample_dims="time", missing="drop_any_sample")
    assert value(q, "samples_dropped") == 3
    assert np.flatnonzero(q["bmu"] < 0).tolist() == [3, 20, 21]
    keep = [t for t in range(60) if t not in (3, 20, 21)]
    plain = ss.evaluate(days.isel(time=keep), som, sample_dims="time")
    assert value(q, "quantization_error") == pytest.approx(
        value(plain, "quantization_error"), rel=1e-12
    )
    q = ss.evaluate(gapped, som, sample_dims="time", missing="drop_any_feature")
    assert (value(q, "samples_dropped"), value(q, "features_dropped")) == (1, 2)
    assert np.isnan(q["codes"][:, 1, 1]).all()
    assert np.isnan(q["codes"][:, 2, 2]).all()
    assert np.isfinite(q["codes"][:, 0, 0]).all()


def test_masked_samples_may_hold_anything(days: xr.DataArray, som: xr.Dataset) -> None:
    spoilt = days.copy()
    spoilt[[1, 5]] = np.inf
    taken = xr.DataArray(np.ones(60, bool), dims="time")
    taken[[1, 5]] = False
    q = ss.evaluate(spoilt, som, sample_dims="time", mask=taken, labels=np.arange(60) % 4)
    assert np.flatnonzero(q["bmu"] < 0).tolist() == [1, 5]
    assert value(q, "samples_dropped") == 2
    keep = taken.values
    plain = ss.evaluate(days[keep], som, sample_dims="time", labels=(np.arange(60) % 4)[keep])
    for metric in ("quantization_error", "purity", "adjusted_rand_score"):
        assert value(q, metric) == pytest.approx(value(plain, metric), rel=1e-12)
    both = ss.evaluate(spoilt, som, sample_dims="time", mask=(taken, land(days)))
    assert value(both, "features_dropped") == 3


# --- weights


def test_weights_multiply_squared_differences(days: xr.DataArray, som: xr.Dataset) -> None:
    root = np.sqrt(np.cos(np.deg2rad(days["lat"])))
    weighted = ss.evaluate(days, som, sample_dims="time", feature_weights="coslat")
    scaled = som.assign(codes=som["codes"] * root)
    plain = ss.evaluate((days.astype(float) * root), scaled, sample_dims="time")
    np.testing.assert_array_equal(weighted["bmu"], plain["bmu"])
    different = {"rms_per_feature"}
    for metric in weighted["metric"].values:
        if metric not in different:
            assert value(weighted, metric) == pytest.approx(
                value(plain, metric), rel=1e-10, nan_ok=True
            ), metric
    for name in plain.data_vars:
        if name not in ("value", "note", "codes", "composite") and plain[name].dtype.kind == "f":
            np.testing.assert_allclose(weighted[name], plain[name], rtol=1e-9, err_msg=str(name))
    np.testing.assert_array_equal(weighted["codes"], som["codes"])
    np.testing.assert_allclose(weighted["composite"] * root, plain["composite"], rtol=1e-10)
    total = float((root**2).sum() * days.sizes["lon"])
    assert weighted.attrs["feature_weights_sum"] == pytest.approx(total)
    squares = squared(
        flat(days), flat_codes(som), np.broadcast_to((root**2).values[:, None], (4, 5)).ravel()
    )
    rms = np.sqrt(squares.min(axis=1).mean() / total)
    assert value(weighted, "rms_per_feature") == pytest.approx(rms, rel=1e-10)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("phi", {"units": "degrees_north"}),
        ("y", {"standard_name": "latitude", "axis": "Y"}),
        ("latitude", {}),
        ("lat", {"units": "degrees"}),
    ],
)
def test_the_latitude_is_found(name: str, attributes: dict[str, str]) -> None:
    days = field()
    renamed = days.rename(lat=name) if name != "lat" else days
    renamed[name].attrs = attributes
    codes = xr.DataArray(flat(days)[:2].reshape(2, 4, 5), dims=("unit", name, "lon"))
    som = ss.codebook(codes, ss.Grid.chain(2))
    expected = ss.metrics.quantization_error(
        days,
        ss.codebook(codes.rename({name: "lat"}), ss.Grid.chain(2)),
        sample_dims="time",
        feature_weights=np.cos(np.deg2rad(days["lat"])),
    )
    found = ss.metrics.quantization_error(
        renamed, som, sample_dims="time", feature_weights="coslat"
    )
    assert float(found) == float(expected)


def test_a_latitude_over_two_dims_serves_too() -> None:
    days = field().rename(lat="y", lon="x").drop_vars(["y", "x"])
    latitude = np.random.default_rng(0).uniform(-80, 80, (4, 5))
    days = days.assign_coords(lat=(("y", "x"), latitude))
    som = ss.codebook(flat(days)[:3], ss.Grid.chain(3))
    found = ss.evaluate(days, som, sample_dims="time", feature_weights="coslat")
    weights = np.cos(np.deg2rad(latitude)).ravel()
    expected = np.sqrt(squared(flat(days), flat_codes(som), weights).min(axis=1)).mean()
    assert value(found, "quantization_error") == pytest.approx(expected, rel=1e-12)
    assert found["lat"].dims == ("y", "x")


def test_sample_weights_count_a_sample_more_than_once(days: xr.DataArray, som: xr.Dataset) -> None:
    times = xr.DataArray(np.arange(60) % 4, dims="time", coords={"time": days["time"]})
    q = ss.evaluate(days, som, sample_dims="time", sample_weights=times[::-1])
    repeated = days.isel(time=np.repeat(np.arange(60), times.values))
    plain = ss.evaluate(repeated, som, sample_dims="time")
    for metric in ("quantization_error", "topographic_error", "explained_variance"):
        assert value(q, metric) == pytest.approx(value(plain, metric), rel=1e-12)
    np.testing.assert_allclose(q["composite"], plain["composite"], rtol=1e-12)
    np.testing.assert_allclose(q["frequency"], plain["frequency"], rtol=1e-12)
    np.testing.assert_allclose(q["distortion"], plain["distortion"], rtol=1e-12)
    assert int(q["hits"].sum()) == 60


def test_pixels_are_weighted_by_their_latitude() -> None:
    scene = field(3, 6, 5).rename(time="band").drop_vars("band")
    som = ss.codebook(flat(scene, ("lat", "lon"))[[0, 9, 17]], ss.Grid.chain(3))
    q = ss.evaluate(scene, som, sample_dims=("lat", "lon"), sample_weights="coslat")
    weights = np.repeat(np.cos(np.deg2rad(scene["lat"].values)), 5)
    distances = np.sqrt(squared(flat(scene, ("lat", "lon")), flat_codes(som)).min(axis=1))
    expected = np.average(distances, weights=weights)
    assert value(q, "quantization_error") == pytest.approx(expected, rel=1e-12)


# --- decoding


def test_packed_and_plain_archives_agree(tmp_path: Path) -> None:
    days = field(dtype=np.float64)
    som = trained(days)
    packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -(2**15)}
    days.to_dataset().to_zarr(tmp_path / "p.zarr", encoding={"t2m": packing}, consolidated=False)
    expected = value(ss.evaluate(days, som, sample_dims="time"), "quantization_error")
    opened = xr.open_zarr(tmp_path / "p.zarr", consolidated=False, chunks=None)
    found = [
        ss.evaluate(samples, som, sample_dims="time")
        for samples in (tmp_path / "p.zarr", opened["t2m"], opened)
    ]
    for q in found:
        xr.testing.assert_identical(q, found[0])
    # every value is off by half the scale at most
    assert abs(value(found[0], "quantization_error") - expected) <= 0.005 * np.sqrt(20)
    raw = xr.open_zarr(tmp_path / "p.zarr", consolidated=False, chunks=None, mask_and_scale=False)
    with pytest.raises(InputError, match=r"not decoded \(scale_factor=.*mask_and_scale=True"):
        ss.evaluate(raw, som, sample_dims="time")
    stored = zarr.open_array(tmp_path / "p.zarr" / "t2m", mode="r")
    with pytest.raises(InputError, match="not decoded"):
        open_samples(stored)


def test_a_sentinel_that_the_attributes_name_is_refused(
    days: xr.DataArray, som: xr.Dataset
) -> None:
    for name in ("nodata", "missing_value", "_FillValue"):
        with pytest.raises(InputError, match=rf"{name}=-9999"):
            ss.evaluate(days.assign_attrs({name: -9999}), som, sample_dims="time")


# --- labels that must agree


def test_flipped_latitudes_are_put_in_order(days: xr.DataArray, som: xr.Dataset) -> None:
    expected = ss.evaluate(days, som, sample_dims="time")
    flipped = ss.evaluate(days.isel(lat=slice(None, None, -1)), som, sample_dims="time")
    np.testing.assert_array_equal(flipped["bmu"], expected["bmu"])
    np.testing.assert_allclose(flipped["value"], expected["value"], rtol=1e-12)
    np.testing.assert_array_equal(flipped["codes"].sel(lat=expected["lat"]), expected["codes"])
    bare = days.isel(lat=slice(None, None, -1)).drop_vars(["lat", "lon"])
    by_position = ss.evaluate(bare, som, sample_dims="time")
    assert value(by_position, "quantization_error") > 1.01 * value(expected, "quantization_error")


def test_shifted_longitudes_are_refused_with_the_call_that_mends_them(som: xr.Dataset) -> None:
    days = field()
    shifted = days.assign_coords(lon=(days["lon"] + 180) % 360 - 180).assign_coords(
        lon=[0.0, 10.0, 20.0, -170.0, -160.0]
    )
    turned = som.assign_coords(lon=[0.0, 10.0, 20.0, 190.0, 200.0])
    with pytest.raises(InputError, match=r"'lon'.*assign_coords\(lon=.*% 360"):
        ss.evaluate(shifted, turned, sample_dims="time")
    mended = shifted.assign_coords(lon=shifted["lon"] % 360)
    assert ss.evaluate(mended, turned, sample_dims="time")["bmu"].sizes == {"time": 60}


def test_other_regions_are_refused(days: xr.DataArray, som: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"the map has 20 features and the samples have 15"):
        ss.evaluate(days.isel(lat=slice(3)), som, sample_dims="time")
    moved = days.assign_coords(lat=days["lat"] + 5)
    with pytest.raises(InputError, match=r"differ along 'lat'"):
        ss.evaluate(moved, som, sample_dims="time")
    rounded = days.assign_coords(lon=days["lon"] + 1e-7)
    with pytest.raises(InputError, match=r"by rounding.*assign_coords\(lon="):
        ss.evaluate(rounded, som, sample_dims="time")
    repeated = days.assign_coords(lon=[0.0, 10, 10, 20, 30])
    with pytest.raises(InputError, match="repeat"):
        ss.evaluate(repeated, som.assign_coords(lon=[10.0, 0, 10, 20, 30]), sample_dims="time")


def test_a_mask_other_than_the_maps_is_refused(days: xr.DataArray) -> None:
    sea = land(days)
    som = trained(days.where(sea), missing="drop")
    with pytest.raises(SampleValueError, match=r"lat 0 \(-60.0\), lon 0 \(0.0\)"):
        ss.evaluate(days, som, sample_dims="time", missing="drop")
    with pytest.raises((InputError, SampleValueError), match=r"missing='drop'|mask="):
        ss.evaluate(days, som, sample_dims="time")
    other = sea.copy()
    other[2, 2] = False
    with pytest.raises(SampleValueError, match="lat 2"):
        ss.evaluate(days.where(other), som, sample_dims="time", missing="drop")
    wider = sea.copy()
    wider[0, 0] = True
    with pytest.raises(InputError, match=r"nan at lat 0 .*which mask= keeps"):
        ss.evaluate(days, som, sample_dims="time", mask=wider)
    q = ss.evaluate(days, som, sample_dims="time", mask=sea)
    assert value(q, "features_dropped") == 3


def test_stacked_and_unstacked_features_meet_by_their_labels(
    days: xr.DataArray, som: xr.Dataset
) -> None:
    expected = value(ss.evaluate(days, som, sample_dims="time"), "quantization_error")
    for order in (("lat", "lon"), ("lon", "lat")):
        stacked = days.stack(cell=order)
        assert value(ss.evaluate(stacked, som), "quantization_error") == pytest.approx(
            expected, rel=1e-12
        )
        flat_map = ss.codebook(som["codes"].stack(cell=order), ss.Grid(2, 3))
        found = ss.evaluate(days, flat_map, sample_dims="time")
        assert value(found, "quantization_error") == expected
    with pytest.raises(InputError, match=r"dims \('lat', 'lon'\) and the samples' \('cell',\)"):
        ss.evaluate(stacked.drop_vars(["cell", "lat", "lon"]), som)


def test_flags_are_those_of_the_largest_candidate(days: xr.DataArray, som: xr.Dataset) -> None:
    both = {"small": som, "large": trained(days, ss.Grid(3, 3))}
    q = ss.evaluate(days, both, sample_dims="time", metrics=["bmu", "codes"])
    assert q["bmu"].attrs["flag_values"].tolist() == list(range(-1, 9))
    assert q["codes"].dims == ("candidate", "unit", "lat", "lon")


def test_labels_on_other_dims_are_refused(days: xr.DataArray, som: xr.Dataset) -> None:
    labels = days[0].drop_vars("time") > 280
    with pytest.raises(InputError, match=r"labels have dims \('lat', 'lon'\), and the samples'"):
        ss.evaluate(days, som, sample_dims="time", labels=labels)


def test_weights_that_leave_nothing_are_refused(days: xr.DataArray, som: xr.Dataset) -> None:
    taken = np.arange(60) < 5
    reading: dict[str, Any] = {"sample_dims": "time", "mask": taken, "sample_weights": 1.0 - taken}
    with pytest.raises(SampleValueError, match="weights of all samples that take part are 0"):
        ss.evaluate(days, som, **reading)
    with pytest.raises((InputError, SampleValueError), match="weights"):
        ss.evaluate(days, np.arange(60) % 3, **reading)

"""Codebooks: made, refused, kept in files, matched to samples, projected onto."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import reference
import xarray as xr
from numpy.typing import NDArray

import somscale as ss
from somscale.codebook import as_map, matched
from somscale.engine.readers.samples import open_samples
from somscale.errors import InputError
from somscale.store import open_dataset, write_dataset

TRIANGLES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
TABLE = np.abs(np.subtract.outer(np.arange(5.0) ** 2, np.arange(5.0) ** 2)) / 4
GRIDS = [
    ss.Grid(3, 4, neighbors=8, periodic="cols", delta="max"),
    ss.Grid(4, 3, topology="hexagonal", offset="even", delta="euclidean"),
    ss.Grid.chain(5, periodic=True),
    ss.Grid(1, 1),
    ss.Grid.from_edges(5, TRIANGLES),
    ss.Grid.from_edges(5, TRIANGLES, positions=np.arange(10.0).reshape(5, 2)),
    ss.Grid.from_distances(TABLE),
    ss.Grid.from_distances(TABLE, edges=[(0, 4)]),
]
every_grid = pytest.mark.parametrize("grid", GRIDS, ids=repr)
each_format = pytest.mark.parametrize("name", ["map.zarr", "map.nc"])


def codes_for(grid: ss.Grid, d: int = 3, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((grid.size, d))


def labelled(values: Any, features: Any, dim: str = "station", **attrs: Any) -> xr.DataArray:
    return xr.DataArray(values, dims=("time", dim), coords={dim: list(features)}, attrs=attrs)


# --- making


def test_a_codebook_says_what_it_holds() -> None:
    weights = np.arange(24).reshape(2, 3, 4)
    som = ss.codebook(weights, ss.Grid(2, 3))
    assert som["codes"].dims == ("unit", "feature")
    assert som["codes"].dtype == np.float64
    np.testing.assert_array_equal(som["codes"], weights.reshape(6, 4))
    assert som["row"].values.tolist() == [0, 0, 0, 1, 1, 1]
    assert som["col"].values.tolist() == [0, 1, 2, 0, 1, 2]
    for name in ("codes", "unit", "row", "col"):
        assert {"long_name", "units"} <= set(som[name].attrs), name
    assert som.identical(ss.codebook(weights.reshape(6, 4), ss.Grid(2, 3)))


def test_weights_are_copied() -> None:
    weights = np.zeros((2, 1))
    som = ss.codebook(weights, ss.Grid.chain(2))
    weights[:] = 1
    assert som["codes"].values.tolist() == [[0], [0]]


def test_labelled_weights_keep_names_units_and_coordinates() -> None:
    weights = labelled(np.zeros((2, 3)), "abc", units="K", long_name="temperature", other=1)
    weights = weights.assign_coords(height=("station", [1.0, 2, 3], {"units": "m"}), run=7)
    som = ss.codebook(weights, ss.Grid.chain(2))
    assert som["codes"].dims == ("unit", "station")
    assert som["codes"].attrs == {"units": "K", "long_name": "temperature"}
    assert som["station"].values.tolist() == ["a", "b", "c"]
    assert som["height"].attrs == {"units": "m"}
    assert "run" not in som.coords


@pytest.mark.parametrize(
    ("weights", "grid", "complaint"),
    [
        (
            np.zeros((5, 2)),
            ss.Grid(2, 3),
            r"shape \(5, 2\); a grid of 6 units needs \(6, feature\)",
        ),
        (np.zeros((3, 2, 4)), ss.Grid(2, 3), r"shape \(3, 2, 4\).*\(2, 3, feature\)"),
        (np.zeros(6), ss.Grid(2, 3), r"shape \(6,\)"),
        (np.zeros((6, 0)), ss.Grid(2, 3), "no code vector"),
        (
            [[1.0], [np.nan]],
            ss.Grid.chain(2),
            "nan at unit 1, feature 0; every code must be finite",
        ),
        ([[1.0, np.inf]], ss.Grid.chain(1), "inf at unit 0, feature 1"),
        ([["a"], ["b"]], ss.Grid.chain(2), "not real numbers"),
        (np.zeros((2, 2), complex), ss.Grid.chain(2), "complex128, not real numbers"),
        (np.zeros((2, 2)), (2, 1), "is a tuple, not a Grid"),
        (labelled(np.zeros((2, 2)), "ab", "edge"), ss.Grid.chain(2), "'edge'.*rename"),
        (
            labelled(np.zeros((2, 2)), "ab").assign_coords(row=("station", [0, 1])),
            ss.Grid.chain(2),
            "'row'.*rename",
        ),
    ],
)
def test_bad_weights_are_refused(weights: Any, grid: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ss.codebook(weights, grid)


@pytest.mark.parametrize("som", [np.zeros((2, 2)), None, xr.Dataset(), xr.Dataset({"codes": 1})])
def test_what_is_no_map_is_refused(som: Any) -> None:
    with pytest.raises(InputError, match=r"not a codebook; make one with ss\.codebook"):
        as_map(som)


def test_a_codebook_is_known_by_the_names_of_its_dims() -> None:
    som = ss.codebook(np.arange(24.0).reshape(6, 4), ss.Grid(2, 3))
    turned = as_map(som.transpose("feature", "unit"))
    np.testing.assert_array_equal(turned.codes, som["codes"])
    with pytest.raises(InputError, match="not \\(unit, feature\\)"):
        as_map(som.rename_dims(unit="place").drop_vars("unit"))
    with pytest.raises(InputError, match="a grid of 6 units"):
        as_map(som.isel(unit=slice(3)))


# --- keeping


@every_grid
@each_format
def test_a_codebook_comes_back_from_a_file(grid: ss.Grid, name: str, tmp_path: Path) -> None:
    weights = labelled(codes_for(grid), "abc", units="K")
    weights = weights.assign_coords(height=("station", [1.0, 2, 3], {"units": "m"}))
    som = ss.codebook(weights, grid)
    write_dataset(som, tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), som)
        assert as_map(back).grid == grid
        assert as_map(back).fingerprint == as_map(som).fingerprint


@every_grid
def test_a_codebook_that_comes_back_gives_the_same_indices(grid: ss.Grid, tmp_path: Path) -> None:
    som = ss.codebook(codes_for(grid), grid)
    samples = np.random.default_rng(1).standard_normal((50, 3))
    write_dataset(som, tmp_path / "map.nc")
    with open_dataset(tmp_path / "map.nc") as back:
        xr.testing.assert_identical(ss.evaluate(samples, back), ss.evaluate(samples, som))


def test_fingerprints_tell_maps_apart() -> None:
    codes = codes_for(ss.Grid(3, 4))
    other = codes.copy()
    other[2, 1] = np.nextafter(other[2, 1], 9)
    maps = [
        ss.codebook(codes, ss.Grid(3, 4)),
        ss.codebook(other, ss.Grid(3, 4)),
        ss.codebook(codes, ss.Grid(4, 3)),
        ss.codebook(codes, ss.Grid(3, 4, neighbors=8)),
        ss.codebook(codes, ss.Grid(3, 4, topology="hexagonal")),
        ss.codebook(codes, ss.Grid(3, 4, topology="hexagonal", offset="even")),
        ss.codebook(codes, ss.Grid.from_edges(12, ss.Grid(3, 4).edges())),
        ss.codebook(codes, ss.Grid.from_edges(12, ss.Grid.chain(12).edges())),
        ss.codebook(codes[:, :2], ss.Grid(3, 4)),
    ]
    assert len({as_map(som).fingerprint for som in maps}) == len(maps)


# --- matching to samples


def test_features_in_another_order_are_matched_by_label() -> None:
    grid = ss.Grid(2, 3)
    codes, samples = codes_for(grid), np.random.default_rng(1).standard_normal((40, 3))
    som = ss.codebook(labelled(codes, "abc"), grid)
    plain = ss.project(samples, ss.codebook(codes, grid))
    turned = ss.project(labelled(samples[:, [2, 0, 1]], "cab"), som)
    np.testing.assert_array_equal(turned["bmu"], plain["bmu"])
    assert turned.attrs["map_fingerprint"] == as_map(som).fingerprint
    unlabelled = ss.project(samples, som)
    np.testing.assert_array_equal(unlabelled["bmu"], plain["bmu"])


@pytest.mark.parametrize(
    ("ours", "theirs", "complaint"),
    [
        ("abc", "abd", "c and d at position 2"),
        ("abc", "aab", "some labels repeat"),
        ("aab", "aba", "some labels repeat"),
        ([10.0, 11.0, 12.0], [10.0, 11.0, 12.5], "12.0 and 12.5 at position 2"),
    ],
)
def test_features_of_other_labels_are_refused(ours: Any, theirs: Any, complaint: str) -> None:
    som = ss.codebook(labelled(np.zeros((2, 3)), ours), ss.Grid.chain(2))
    samples = labelled(np.zeros((4, 3)), theirs)
    with pytest.raises(InputError, match=f"differ along 'station'.*{complaint}.*drop_vars"):
        ss.project(samples, som)
    ss.project(samples.drop_vars("station"), som)


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ((10, 4), "map has 3 features and the samples have 4"),
        ((3, 10), r"look transposed: pass samples\.T"),
        ((10, 6), r"weights look transposed: they are \(unit, feature\)"),
    ],
)
def test_shapes_that_do_not_match_are_refused(shape: tuple[int, int], complaint: str) -> None:
    som = ss.codebook(codes_for(ss.Grid(2, 3)), ss.Grid(2, 3))
    with pytest.raises(InputError, match=complaint):
        matched(as_map(som), open_samples(np.zeros(shape)))


# --- projecting


def test_a_projection_keeps_dims_and_coordinates() -> None:
    times = pd.date_range("2001-12-01", periods=40)[::-1]
    samples = labelled(np.random.default_rng(1).standard_normal((40, 3)), "abc", units="K")
    samples = samples.assign_coords(time=times, season=("time", ["DJF"] * 40), run=3)
    som = ss.codebook(codes_for(ss.Grid(2, 3)), ss.Grid(2, 3))
    found = ss.project(samples, som)
    assert {name: array.dims for name, array in found.data_vars.items()} == {
        "bmu": ("time",),
        "second_bmu": ("time",),
        "distance": ("time",),
    }
    pd.testing.assert_index_equal(found.indexes["time"], times.rename("time"))
    assert found["season"].values.tolist() == ["DJF"] * 40
    assert found["distance"].attrs["units"] == "K"
    assert found["bmu"].dtype == found["second_bmu"].dtype == np.int32
    assert samples.groupby(found["bmu"]).mean().sizes["bmu"] == len(np.unique(found["bmu"]))


@pytest.mark.parametrize("grid", [GRIDS[1], GRIDS[3]], ids=repr)
def test_a_projection_is_that_of_the_definition(grid: ss.Grid) -> None:
    codes, samples = codes_for(grid), np.random.default_rng(1).standard_normal((40, 3))
    found = ss.project(samples, ss.codebook(codes, grid))
    best, second = reference.best_two(samples, codes)
    np.testing.assert_array_equal(found["bmu"], best)
    np.testing.assert_array_equal(found["second_bmu"], second)
    squares = reference.smallest_squares(samples, codes)
    np.testing.assert_array_equal(found["distance"], np.sqrt(squares))


def test_ties_go_to_the_lowest_unit() -> None:
    som = ss.codebook([[2.0], [0.0], [0.0], [2.0]], ss.Grid.chain(4))
    found = ss.project([[1.0], [0.0], [2.0]], som)
    assert found["bmu"].values.tolist() == [0, 1, 0]
    assert found["second_bmu"].values.tolist() == [1, 2, 3]


def test_a_projection_of_dask_samples_is_lazy_and_the_same() -> None:
    samples = np.random.default_rng(1).standard_normal((5000, 3))
    som = ss.codebook(codes_for(ss.Grid(2, 3)), ss.Grid(2, 3))
    lazy = ss.project(da.from_array(samples, chunks=(700, 2)), som)
    assert all(array.chunks is not None for array in lazy.data_vars.values())
    xr.testing.assert_identical(lazy.compute(), ss.project(samples, som))


@each_format
def test_a_projection_comes_back_from_a_file(name: str, tmp_path: Path) -> None:
    samples = labelled(np.random.default_rng(1).standard_normal((40, 3)), "abc", units="K")
    samples = samples.assign_coords(time=pd.date_range("2001-12-01", periods=40))
    found = ss.project(samples, ss.codebook(codes_for(ss.Grid(2, 3)), ss.Grid(2, 3)))
    write_dataset(found, tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), found)


def test_a_coordinate_of_the_name_of_a_result_is_refused() -> None:
    samples = labelled(np.zeros((4, 3)), "abc").assign_coords(distance=("time", np.arange(4)))
    som = ss.codebook(np.zeros((2, 3)), ss.Grid.chain(2))
    with pytest.raises(InputError, match=r"'distance'.*rename\(distance="):
        ss.project(samples, som)

"""Datasets on disk: whole or not at all, and opened by others without a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

import somscale as ss
from somscale.datasets import write_digits
from somscale.errors import InputError
from somscale.store import open_dataset, write_dataset

each_format = pytest.mark.parametrize("name", ["x.zarr", "x.nc"])


def dataset(value: float = 1.0) -> xr.Dataset:
    return xr.Dataset(
        {
            "numbers": (("time", "unit"), np.full((3, 2), value), {"units": "K"}),
            "words": ("unit", np.array(["none", "κ and δ"], dtype=object)),
        },
        coords={
            "time": np.array(["2001-01-01", "2000-01-01", "2000-01-01"], "M8[ns]"),
            "season": ("time", ["DJF", "JJA", "MAM"]),
        },
        attrs={"title": "a result", "count": 3},
    )


@each_format
@pytest.mark.parametrize("as_text", [False, True])
def test_what_is_written_comes_back(name: str, as_text: bool, tmp_path: Path) -> None:
    path: Any = str(tmp_path / name) if as_text else tmp_path / name
    write_dataset(dataset(), path)
    with open_dataset(path) as back:
        assert not back.chunks
        xr.testing.assert_identical(back.load(), dataset())
    assert [p.name for p in tmp_path.iterdir()] == [name]


@each_format
def test_a_new_one_replaces_the_old(name: str, tmp_path: Path) -> None:
    write_dataset(dataset(1).assign(more=("unit", [1, 2])), tmp_path / name)
    write_dataset(dataset(2), tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), dataset(2))
    assert [p.name for p in tmp_path.iterdir()] == [name]


def fail(block: Any) -> Any:
    raise OSError("the disk is full")


@each_format
def test_the_old_one_stays_until_the_new_one_is_whole(name: str, tmp_path: Path) -> None:
    write_dataset(dataset(1), tmp_path / name)
    numbers = da.ones((3, 2), chunks=(1, 2))
    broken = da.concatenate([numbers[:2], numbers[2:].map_blocks(fail, dtype=float)])
    torn = dataset().assign(numbers=(("time", "unit"), broken))
    with pytest.raises(OSError, match="the disk is full"):
        write_dataset(torn, tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), dataset(1))
    # and what the failure left does not stand in the way
    write_dataset(dataset(2), tmp_path / name)
    with open_dataset(tmp_path / name) as back:
        xr.testing.assert_identical(back.load(), dataset(2))
    assert [p.name for p in tmp_path.iterdir()] == [name]


@each_format
def test_nothing_is_there_where_the_first_write_fails(name: str, tmp_path: Path) -> None:
    torn = dataset().assign(
        numbers=(("time", "unit"), da.ones((3, 2)).map_blocks(fail, dtype=float))
    )
    with pytest.raises(OSError, match="the disk is full"):
        write_dataset(torn, tmp_path / name)
    with pytest.raises(InputError, match="no file or store"):
        open_dataset(tmp_path / name)


def test_others_open_a_store_without_a_warning(tmp_path: Path) -> None:
    # any warning is an error here
    write_dataset(dataset(), tmp_path / "x.zarr")
    with xr.open_zarr(tmp_path / "x.zarr") as back:
        xr.testing.assert_identical(back.load(), dataset())
    assert zarr.open_group(tmp_path / "x.zarr", mode="r").metadata.zarr_format == 3


def test_chunks_are_as_asked(tmp_path: Path) -> None:
    write_dataset(dataset(), tmp_path / "x.zarr", encoding={"numbers": {"chunks": (2, 1)}})
    assert zarr.open_array(tmp_path / "x.zarr" / "numbers", mode="r").chunks == (2, 1)


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"written as \.zarr or \.nc, not 'x\.csv'"):
        write_dataset(dataset(), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or store at"):
        open_dataset(tmp_path / "x.zarr")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="neither a Zarr store nor NetCDF"):
        open_dataset(tmp_path / "folder")
    (tmp_path / "x.nc").write_text("nothing")
    with pytest.raises(InputError, match="neither a Zarr store nor NetCDF"):
        open_dataset(tmp_path / "x.nc")


def test_the_digits_of_the_examples(tmp_path: Path, digits_map: Any) -> None:
    write_digits(tmp_path / "digits.zarr", chunk_rows=300)
    with open_dataset(tmp_path / "digits.zarr") as archive:
        np.testing.assert_array_equal(archive["samples"], digits_map[0])
        assert archive["label"].values.tolist()[:10] == list(range(10))
        assert archive["feature"].values.tolist()[:2] == ["r0c0", "r0c1"]
        assert archive["samples"].encoding["chunks"] == (300, 64)
    som = ss.codebook(digits_map[1], ss.Grid(8, 8))
    error = ss.metrics.quantization_error(tmp_path / "digits.zarr", som).item()
    assert error == pytest.approx(1.5708442996824232, rel=1e-14)

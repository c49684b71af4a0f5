"""What a hostile user tried: data that would be lost, answers that would be silently wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from click.testing import CliRunner

import somscale as ss
from somscale.cli import main
from somscale.errors import InputError
from somscale.store import write_dataset

X = np.random.default_rng(0).normal(size=(200, 6))
SOM = ss.codebook(X[:7], ss.Grid.chain(7))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    xr.Dataset({"samples": (("sample", "feature"), X)}).to_zarr(
        tmp_path / "data.zarr", consolidated=False
    )
    write_dataset(SOM, tmp_path / "map.zarr")
    return tmp_path


@pytest.mark.parametrize("target", ["data.zarr", "map.zarr", "data.zarr/inner.zarr"])
def test_no_input_is_overwritten(folder: Path, target: str) -> None:
    arguments = ["evaluate", str(folder / "data.zarr"), "--map", str(folder / "map.zarr")]
    result = CliRunner().invoke(main, [*arguments, "-o", str(folder / target), "--overwrite"])
    assert result.exit_code == 1
    assert "is read by this command" in result.stderr
    assert ss.metrics.quantization_error(folder / "data.zarr", SOM) > 0


def test_a_folder_that_is_no_store_is_left_alone(folder: Path) -> None:
    (folder / "thesis.zarr").mkdir()
    (folder / "thesis.zarr" / "notes.txt").write_text("years of work")
    (folder / "link.zarr").symlink_to(folder / "map.zarr")
    for name, words in {"thesis.zarr": "no Zarr store", "link.zarr": "is a link"}.items():
        with pytest.raises(InputError, match=words):
            write_dataset(SOM, folder / name)
    assert (folder / "thesis.zarr" / "notes.txt").read_text() == "years of work"


@pytest.mark.parametrize("name", ["scale_factor", "_FillValue", "missing_value"])
def test_undecoded_arrays_are_refused(name: str) -> None:
    packed = zarr.create_array(zarr.storage.MemoryStore(), data=X.astype(np.int16))
    packed.attrs[name] = -9
    for samples in (packed, xr.DataArray(X, dims=("t", "x"), attrs={name: -9})):
        with pytest.raises(InputError, match=f"not decoded .{name}=-9"):
            ss.metrics.quantization_error(samples, SOM)


def test_nan_as_fill_value_hides_nothing(folder: Path) -> None:
    array = zarr.open(str(folder / "data.zarr"), mode="r")["samples"]
    assert ss.metrics.quantization_error(array, SOM) > 0


def test_changes_to_a_copy_on_write_map_count(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped *= 2
    expected = ss.metrics.quantization_error(2 * X, SOM)
    assert ss.metrics.quantization_error(mapped, SOM) == expected


def test_units_that_were_sorted_or_selected() -> None:
    expected = ss.metrics.hits(X, SOM)
    xr.testing.assert_identical(ss.metrics.hits(X, SOM.sortby("unit", ascending=False)), expected)
    with pytest.raises(InputError, match="a part of a map is no map"):
        ss.metrics.hits(X, SOM.isel(unit=[0, 1, 3]))


def test_columns_of_a_table_are_labels() -> None:
    labels = list("abcdef")
    weights = xr.DataArray(X[:7], dims=("unit", "feature"), coords={"feature": labels})
    som = ss.codebook(weights, ss.Grid.chain(7))
    table = pd.DataFrame(X, columns=labels)[list("fbdaec")]
    assert float(ss.metrics.quantization_error(table, som)) == pytest.approx(
        float(ss.metrics.quantization_error(X, SOM)), rel=1e-14
    )


def test_a_policy_that_does_not_exist_is_refused_for_maps_too() -> None:
    with pytest.raises(InputError, match="noise is one of"):
        ss.evaluate(X, SOM, labels=X[:, 0] > 0, noise="bogus")
    with pytest.raises(InputError, match="noise_label is one label"):
        ss.evaluate(
            None, ["a", "b"], labels=[0, 1], noise="ignore", noise_label=np.array(["a", "b"])
        )


def test_an_overflow_says_why() -> None:
    som = ss.codebook(1e153 * X[:7], ss.Grid.chain(7))
    q = ss.evaluate(1e153 * X, som, metrics=["explained_variance"])
    assert np.isnan(q["value"]).all()
    assert "rescale" in q["note"].item()


def test_lazy_results_pickle() -> None:
    q = ss.evaluate(da.from_array(X, chunks=50), SOM)
    xr.testing.assert_identical(pickle.loads(pickle.dumps(q)).compute(), q.compute())

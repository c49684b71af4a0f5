"""What a first hour with data of one's own met: frames, weights that are forgotten, wrong files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from click.testing import CliRunner

import somscale as ss
from somscale.cli import main
from somscale.engine.readers import unreadable
from somscale.engine.readers.unreadable import why_unreadable
from somscale.errors import InputError

RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((60, 3))
SOM = ss.codebook(VALUES[:6], ss.Grid(2, 3))
FIELD = xr.DataArray(
    RNG.standard_normal((60, 4, 2)),
    dims=("time", "lat", "lon"),
    coords={"lat": [-60.0, -20, 20, 60], "lon": [0.0, 90]},
)


def test_the_index_of_a_frame_labels_its_samples() -> None:
    days = pd.date_range("2001-01-01", periods=60, name="time")
    found = ss.project(pd.DataFrame(VALUES, index=days), SOM)["bmu"]
    assert found.dims == ("time",)
    assert (found["time"].values == days.values).all()
    counted = ss.project(pd.DataFrame(VALUES), SOM)["bmu"]
    assert counted.dims == ("sample",)
    assert "sample" not in counted.coords
    texts = ss.project(pd.DataFrame(VALUES, index=[f"s{i}" for i in range(60)]), SOM)["bmu"]
    assert texts["sample"].values[1] == "s1"
    np.testing.assert_array_equal(found, counted)


def test_columns_without_numbers_are_named() -> None:
    frame = pd.DataFrame(VALUES, columns=list("abc")).assign(season="DJF")
    with pytest.raises(InputError, match=r"'season' \(.*\) of the DataFrame holds no numbers"):
        ss.project(frame, SOM)


@pytest.mark.parametrize("judge", [ss.project, ss.evaluate])
def test_weights_of_training_are_not_forgotten_in_silence(judge: Callable[..., object]) -> None:
    how = {"sample_dims": "time", "feature_weights": "coslat"}
    som = ss.train(FIELD, ss.Grid(2, 2), epochs=2, seed=0, **how)
    judge(FIELD, som, **how)  # a warning would be an error
    with pytest.warns(UserWarning, match="was trained with feature_weights='coslat' and is judged"):
        judge(FIELD, som, sample_dims="time")
    with pytest.warns(UserWarning, match="judged with others"):
        judge(FIELD, som, sample_dims="time", feature_weights=np.arange(1.0, 9).reshape(4, 2))
    plain = ss.train(FIELD, ss.Grid(2, 2), epochs=2, seed=0, sample_dims="time")
    judge(FIELD, plain, sample_dims="time")


def test_tables_of_text_and_dims_that_are_not_said(tmp_path: Path) -> None:
    table = tmp_path / "days.csv"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"days\.csv.*pandas"):
        ss.project(table, SOM)
    FIELD.to_dataset(name="sst").to_zarr(tmp_path / "sst.zarr", consolidated=False)
    with pytest.raises(InputError, match="sample_dims='time'"):
        ss.train(tmp_path / "sst.zarr", ss.Grid(2, 2))


def test_netcdf_without_its_readers_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "sst.nc"
    FIELD.to_netcdf(place, engine="h5netcdf")
    assert "which needs" not in why_unreadable(place, OSError("torn"))
    for installed in (set(), {"h5netcdf"}):  # which since 1.8 comes without h5py
        monkeypatch.setattr(
            unreadable, "find_spec", lambda name, installed=installed: name in installed
        )
        said = why_unreadable(place, OSError("torn"))
        assert said.endswith("which needs netCDF4 or h5netcdf: pip install 'somscale[netcdf]'")
    monkeypatch.setattr(unreadable, "find_spec", {"h5netcdf", "h5py"}.__contains__)
    assert "which needs" not in why_unreadable(place, OSError("torn"))
    assert why_unreadable(tmp_path / "none.nc", OSError("gone\nfor good")) == "gone"


def test_a_result_is_no_workspace_but_has_a_report(tmp_path: Path) -> None:
    place = str(tmp_path / "result.zarr")
    ss.evaluate(VALUES, SOM, metrics="hits").to_zarr(place, consolidated=False)
    said = CliRunner().invoke(main, ["info", place])
    assert said.exit_code != 0
    assert "is a result and no workspace; `somscale report" in said.output

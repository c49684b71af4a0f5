"""Weather patterns of an archive on latitude and longitude: train, choose a size, look at them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

import somscale as ss


def made_up_archive() -> xr.Dataset:
    """Five years of days with a seasonal wave, packed as archives are, land without values."""
    rng = np.random.default_rng(0)
    time = np.datetime64("2001-01-01", "ns") + np.arange(1826) * np.timedelta64(1, "D")
    lat, lon = np.linspace(30.0, 70.0, 21), np.arange(0.0, 60.0, 2.5)
    day = 2 * np.pi * np.arange(1826) / 365.25
    phase = np.deg2rad(6 * lon)[None, None, :] - day[:, None, None]
    waves = 8 * np.cos(phase) * np.cos(np.deg2rad(lat))[None, :, None]
    values = 1013 + waves + rng.normal(0, 2, size=(1826, 21, 24))
    pressure = xr.DataArray(
        values.astype("float32"),
        dims=("time", "lat", "lon"),
        coords={"time": time, "lat": ("lat", lat, {"units": "degrees_north"}), "lon": lon},
        attrs={"units": "hPa", "long_name": "pressure at sea level"},
    )
    land = (pressure.lat > 55) & (pressure.lon > 40)
    return pressure.where(~land).to_dataset(name="slp")


def main() -> None:
    """Write the archive in chunks, judge maps of three sizes in one read, show the best one."""
    how = {"sample_dims": "time", "missing": "drop", "feature_weights": "coslat"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slp.zarr"
        packing = {
            "dtype": "int16",
            "scale_factor": 0.01,
            "add_offset": 1013.0,
            "_FillValue": -32768,
        }
        encoding = {"slp": {"chunks": (1826, 7, 8), **packing}}
        made_up_archive().to_zarr(path, encoding=encoding, consolidated=False)

        maps = {
            f"{rows}x4": ss.train(path, ss.Grid(rows, 4), epochs=8, seed=0, **how)
            for rows in (2, 3, 5)
        }
        names = ["rms_per_feature", "topographic_error", "simplified_silhouette"]
        asked = [*names, "features_dropped"]
        print(ss.plan(path, maps, metrics=asked, **how), "\n")
        sizes = ss.evaluate(path, maps, metrics=asked, **how)
        print(sizes["value"].to_pandas().round(4).to_string(), "\n")

        # Errors fall as maps grow; the silhouette also falls where units share what is alike.
        best = sizes["value"].sel(metric="simplified_silhouette").idxmax("candidate").item()
        print(f"kept: {best}, of the largest silhouette")

        q = ss.evaluate(path, maps[best], cost="linear", **how)
        seasons = q["bmu"].groupby("time.season")
        for season, units in seasons:
            common, days = np.unique(units, return_counts=True)
            print(f"{season}: unit {common[days.argmax()]} on {days.max()} of {len(units)} days")
        print(f"\npatterns as fields: {dict(q['composite'].sizes)}, in {q['composite'].units}")


if __name__ == "__main__":
    main()

"""An archive on disk, judged block by block under a memory budget, on threads and on a cluster."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import zarr
from dask.distributed import Client, LocalCluster

import somscale as ss

N, D = 400_000, 16


def write_archive(path: Path) -> None:
    """Write samples chunk by chunk, as an instrument would."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((12, D))
    archive = zarr.create_array(path, shape=(N, D), chunks=(50_000, D), dtype="float32")
    for start in range(0, N, 50_000):
        members = rng.integers(12, size=50_000)
        archive[start : start + 50_000] = centres[members] + rng.standard_normal((50_000, D))


def main() -> None:
    """Train, plan and judge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.zarr"
        write_archive(path)
        with ss.set_options(memory_budget="1GiB"):
            som = ss.train(path, ss.Grid(12, 12, topology="hexagonal"), epochs=3, seed=0)
            print(ss.plan(path, som), "\n")
            q = ss.evaluate(path, som, metrics=["quantization_error", "topographic_error"])
        print(q["value"].to_series().to_string(), "\n")

        # On a Dask cluster (here one worker process on this machine) the numbers are the same.
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster),
        ):
            again = ss.evaluate(path, som, metrics=["quantization_error", "topographic_error"])
        print("the same bits on a cluster:", bool((q["value"] == again["value"]).all()))


if __name__ == "__main__":
    main()

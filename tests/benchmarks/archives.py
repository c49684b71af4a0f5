"""Wide archives, whole in time or one step a chunk, against the bare product and one plain read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import xarray as xr
import zarr
from threadpoolctl import threadpool_limits
from timing import compare

import somscale as ss

N, LAT, LON, K = 2_000, 250, 400, 25
D = LAT * LON
METRICS = ["quantization_error", "topographic_error", "explained_variance", "hits"]
CHUNKS = {"time-whole": (N, 10, 50), "one step a chunk": (1, LAT, LON)}


def write(folder: Path) -> dict[str, Path]:
    """Write the same field in both chunkings."""
    base = np.random.default_rng(0).standard_normal((N, 50)).astype(np.float32)
    patterns = np.random.default_rng(1).standard_normal((50, D)).astype(np.float32)
    values = (base @ patterns).reshape(N, LAT, LON)
    paths = {}
    for name, chunks in CHUNKS.items():
        paths[name] = folder / f"{name.replace(' ', '-')}.zarr"
        days = xr.Dataset({"field": (("time", "lat", "lon"), values)})
        days.to_zarr(paths[name], encoding={"field": {"chunks": chunks}}, consolidated=False)
    return paths


def bare_gemm(samples: np.ndarray, codes: np.ndarray, block: int = 256) -> None:
    """The floor: the product N × K × D in float64 and nothing else."""
    for start in range(0, len(samples), block):
        samples[start : start + block] @ codes.T


def main() -> None:
    """Print the ratios, and whether both chunkings gave the same bits."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1, "blas"):
        paths = write(Path(folder))
        first = zarr.open_group(next(iter(paths.values())), mode="r")["field"]
        codes = first[:K].reshape(K, D).astype(np.float64)
        som = ss.codebook(codes.reshape(K, LAT, LON), ss.Grid(5, 5))
        wide = np.random.default_rng(2).standard_normal((512, D))
        results = {}
        for name, path in paths.items():

            def ours(path: Path = path) -> None:
                results[path] = ss.evaluate(path, som, sample_dims="time", metrics=METRICS)

            def plain_read(path: Path = path) -> None:
                zarr.open_group(path, mode="r")["field"][:]

            print(f"{name}: {ss.plan(path, som, sample_dims='time', metrics=METRICS)}")
            medians = compare(
                {
                    "bare GEMM of a quarter": lambda: bare_gemm(wide, codes),
                    "plain read": plain_read,
                    "somscale": ours,
                }
            )
            floor = N / 512 * medians["bare GEMM of a quarter"] + medians["plain read"]
            print(
                f"{name}: somscale / (bare GEMM + plain read) = {medians['somscale'] / floor:.2f}"
            )
        left, right = results.values()
        print("equal bits:", left["value"].values.tobytes() == right["value"].values.tobytes())


if __name__ == "__main__":
    main()

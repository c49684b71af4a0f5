"""Dask's schedulers against a plain loop over the same kernels, from Zarr."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import zarr
from timing import compare

import somscale as ss
from somscale.engine.blas import single_threaded_blas
from somscale.engine.linear.cutting import plan_linear
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.walk import walk_run
from somscale.engine.readers.sources import ZarrSource
from somscale.reductions.merge import Fold
from somscale.reductions.units import UnitsReduction

N, D, ROWS, COLS = 2_000_000, 20, 20, 20


def plain_loop(array: zarr.Array, codes: np.ndarray) -> float:
    """The kernels in a loop: no scheduler, no labels."""
    reduction = UnitsReduction(codes)
    job = LinearJob([reduction], *array.shape, source=ZarrSource(array))
    plan = plan_linear(job, budget=2**40, baseline=0, threads=1)
    fold = Fold(reduction.fields)
    level = plan.cut.run_tiles.bit_length() - 1
    with single_threaded_blas():
        for run in range(plan.tasks):
            fold.add(level, run, walk_run(job, plan.cut, run)[0])
    stats = reduction.finalize(fold.result())
    return float(stats.distances.sum() / stats.n_samples)


def main() -> None:
    """Print the ratios."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.zarr"
        array = zarr.create_array(path, shape=(N, D), chunks=(65_536, D), dtype="f8")
        for start in range(0, N, 65_536):
            array[start : start + 65_536] = rng.standard_normal((min(65_536, N - start), D))
        codes = array[: ROWS * COLS] + 0.1
        som = ss.codebook(codes, ss.Grid(ROWS, COLS))

        def run(**options: object) -> float:
            with ss.set_options(**options):
                return float(ss.metrics.quantization_error(path, som))

        print(f"N = {N}, D = {D}, K = {ROWS * COLS}, from Zarr")
        medians = compare(
            {
                "plain loop": lambda: plain_loop(array, codes),
                "serial twin": lambda: run(scheduler="serial"),
                "threads, 1 worker": lambda: run(scheduler="threads", workers=1),
                "threads, 2 workers": lambda: run(scheduler="threads", workers=2),
            }
        )
        for name in list(medians)[1:]:
            print(f"{name} / plain loop: {medians[name] / medians['plain loop']:.2f}")


if __name__ == "__main__":
    main()

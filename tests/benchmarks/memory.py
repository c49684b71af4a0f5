"""Peak memory from Zarr under a real limit: within the plan, and flat in N."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import zarr

D, K = 50, 400
BUDGET = "700MiB"

CHILD = """
import json, resource, sys
import numpy as np
import somscale as ss
path, budget = sys.argv[1:]
codes = np.random.default_rng(1).standard_normal(({k}, {d}))
som = ss.codebook(codes, ss.Grid(20, 20))
metrics = ["quantization_error", "topographic_error", "distortion", "hits"]
with ss.set_options(memory_budget=budget, workers=2, scheduler="threads"):
    plan = ss.plan(path, som, metrics=metrics)
    q = ss.evaluate(path, som, metrics=metrics)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([plan.peak_memory, peak, plan.tasks, q["value"].values.tolist()]))
"""


def write(path: Path, n: int) -> None:
    """Write n samples in chunks."""
    rng = np.random.default_rng(0)
    array = zarr.create_array(path, shape=(n, D), chunks=(50_000, D), dtype="f8")
    for start in range(0, n, 50_000):
        array[start : start + 50_000] = rng.standard_normal((min(50_000, n - start), D))


def main() -> None:
    """Print planned and real peaks for two sizes."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for n in (1_000_000, 4_000_000):
            path = Path(folder) / f"{n}.zarr"
            write(path, n)
            limit = ["prlimit", f"--data={1 << 30}"]
            child = [sys.executable, "-c", CHILD.format(k=K, d=D), str(path), BUDGET]
            printed = subprocess.run(
                limit + child, check=True, capture_output=True, text=True, env=environment
            ).stdout
            planned, peak, tasks, _ = json.loads(printed)
            print(
                f"N = {n:>9,} ({n * D * 8 / 2**20:5.0f} MiB): planned {planned / 2**20:.0f} MiB, "
                f"peak {peak / 2**20:.0f} MiB, budget {BUDGET}, data limit 1 GiB, {tasks} tasks"
            )


if __name__ == "__main__":
    main()

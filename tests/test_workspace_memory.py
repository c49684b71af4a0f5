"""Matrices much larger than memory, written and read under a limit that Linux keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from peaks import READ_PEAK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory limits are Linux's")

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
import numpy as np
import somscale as ss
from somscale.store.keys import list_keys

BUDGET = {budget}
ss.set_options(memory_budget=BUDGET)


def check_peak():
    peak = read_peak()
    assert peak <= BUDGET, f"{{peak >> 20}} MiB of {{BUDGET >> 20}}"


ws = ss.Workspace("{place}")
n = {n}
samples = np.random.default_rng(0).integers(0, 4, (n, 1)).astype(np.int16)
ws.write_samples(samples)
"""

DISTANCES = """
ws.write_distances(dtype="float32")
check_peak()
found = ws.open("distances/euclidean")
assert found.nbytes >= {least}, found.nbytes
panel = found[n - 100 : n - 90].values
assert (panel == abs(samples[n - 100 : n - 90].astype(float) - samples[:, 0])).all()
block = found[1000:3000, n - 2000 :].values
assert (block == abs(samples[1000:3000].astype(float) - samples[n - 2000 :, 0])).all()
del panel, block
assert len(list_keys(ws.location, "distances/euclidean")) < 2000
som = ss.codebook([[0.0], [1.0], [3.0]], ss.Grid.chain(3))
q = ss.evaluate(ws, som, metrics=["quantization_error", "hits"])
assert int(q["hits"].sum()) == n
check_peak()
"""

RANKS = """
ws.write_ranks()
check_peak()
found = ws.open("ranks/euclidean")
assert found.dtype == np.uint16
row = found[n - 7].values
near = abs(samples[:, 0].astype(float) - samples[n - 7])
for distance in range(1, 4):
    nearer = int((near < distance).sum())  # with the sample itself
    assert (row[near == distance] == nearer).all()
assert row[n - 7] == 0
assert (np.delete(row[near == 0], np.flatnonzero(np.flatnonzero(near == 0) == n - 7)) == 1).all()
check_peak()
"""

READ = """
ws.write_distances()
points = np.random.default_rng(2).standard_normal((n, 2))
q = ss.evaluate(ws, points, metrics="kruskal_shepard_error")
assert '"read": ["distances/euclidean"]' in q.attrs["stored_matrices"]
check_peak()
"""


def run_limited(
    script: str, folder: Path, *, n: int, limit: int, budget: int, least: int = 0
) -> None:
    """Run a script on n samples in a process that may hold so many bytes."""
    facts = {"place": folder / "w.zarr", "n": n, "limit": limit, "budget": budget, "least": least}
    done = subprocess.run(
        [sys.executable, "-c", READ_PEAK + (LIMITED + script).format(**facts)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


GIBIBYTE, MEBIBYTE = 1 << 30, 1 << 20


def test_distances_of_12_gibibytes_in_one(tmp_path: Path) -> None:
    own = {"limit": GIBIBYTE, "budget": 900 * MEBIBYTE, "least": 12 * GIBIBYTE}
    run_limited(DISTANCES, tmp_path, n=57_000, **own)


@pytest.mark.benchmark
def test_ranks_of_40_000_samples_in_one_gibibyte(tmp_path: Path) -> None:
    run_limited(RANKS, tmp_path, n=40_000, limit=GIBIBYTE, budget=900 * MEBIBYTE)


def test_ranks_of_10_000_samples_in_half_of_one(tmp_path: Path) -> None:
    run_limited(RANKS, tmp_path, n=10_000, limit=GIBIBYTE // 2, budget=480 * MEBIBYTE)


def test_indices_read_one_gibibyte_of_distances_in_half_of_one(tmp_path: Path) -> None:
    run_limited(READ, tmp_path, n=12_000, limit=GIBIBYTE // 2, budget=480 * MEBIBYTE)

"""A run that survives: samples, ranks and results in a workspace, a kill, and where it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import somscale as ss

SAMPLES = 6_000
WRITE = """
import sys
import somscale as ss
ss.Workspace(sys.argv[1]).write_ranks()
"""


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    samples = np.random.default_rng(0).normal(size=(SAMPLES, 20)) @ np.diag(0.7 ** np.arange(20))

    # A workspace is one Zarr group.  It takes the samples, or only their fingerprint (copy=False).
    workspace = ss.Workspace(folder / "work.zarr")
    workspace.write_samples(samples)

    # A process that writes all ranks is killed as soon as some chunks are there ...
    ranks = folder / "work.zarr" / "ranks" / "euclidean" / "rank" / "c"
    writer = subprocess.Popen([sys.executable, "-c", WRITE, str(folder / "work.zarr")])
    while writer.poll() is None and len(list(ranks.glob("*/*"))) < 5:
        pass
    if writer.poll() is None:
        os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    print("killed:")
    print(workspace.info(), "\n")

    # ... and the same call goes on with the chunks that are missing.
    workspace.write_ranks()
    print("completed:")
    print(workspace.info(), "\n")

    # Ranks that are stored serve any number of embeddings, with the same numbers bit for bit.
    embeddings = {f"components {n}, {n + 1}": samples[:, n : n + 2] for n in (0, 2, 4)}
    asked = {"metrics": ["trustworthiness", "continuity"], "k": [5, 20, 100]}
    q = ss.evaluate(workspace, embeddings, **asked)
    print("read:", q.attrs["stored_matrices"])
    print(q["trustworthiness"].to_pandas().round(4).to_string(), "\n")
    plain = ss.evaluate(samples, embeddings, **asked)
    assert all(np.array_equal(q[name], plain[name]) for name in asked["metrics"])

    # A byte that changed on the disk is found, named and mended.
    chunk = next(ranks.glob("*/*"))
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    print(workspace.verify())
    print(workspace.verify(repair=True))
    assert workspace.verify().ok


if __name__ == "__main__":
    main()

"""An epoch of training against the bare product of the same size, and against peers.

CPU seconds of one thread, so that what else runs on the machine counts for little.  The
epoch's floor is the product in the samples' own precision, as for the other linear passes;
the float32 product, which somscale ranks units by whatever the samples are, is told beside
it.  XPySom and Somoclu take part where they can be imported, and learn in float32.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

# before any library starts its threads
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from minisom import MiniSom
from threadpoolctl import threadpool_limits

import somscale as ss

N, D, ROWS, COLS = 1_000_000, 20, 20, 20
EPOCHS, REPEATS = 4, 7
MINISOM_SAMPLES, STOCHASTIC_SAMPLES = 5_000, 100_000
MINISOM_EPOCHS = 2
PEER_SAMPLES, PEER_EPOCHS = 20_000, 4


def bare_gemm(samples: np.ndarray, codes: np.ndarray, block: int = 2048) -> None:
    """The floor: the blocked product N × K × D and nothing else."""
    out = np.empty((block, len(codes)), samples.dtype)
    for start in range(0, len(samples), block):
        part = samples[start : start + block]
        np.matmul(part, codes.T, out=out[: len(part)])


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def xpysom(samples: np.ndarray) -> Callable[[], object]:
    """Batch training of XPySom on NumPy."""
    peer: Any = importlib.import_module("xpysom")

    def run() -> None:
        som = peer.XPySom(ROWS, COLS, D, sigma=10, sigmaN=1, random_seed=0, xp=np)
        som.train(samples, PEER_EPOCHS)

    return run


def somoclu(samples: np.ndarray) -> Callable[[], object]:
    """Batch training of Somoclu's dense kernel for CPUs."""
    peer: Any = importlib.import_module("somoclu")
    importlib.import_module("_somoclu_wrap")  # what it trains with, which may not be built

    def run() -> None:
        peer.Somoclu(COLS, ROWS, compactsupport=False).train(samples, epochs=PEER_EPOCHS)

    return run


def peers_there(samples: np.ndarray) -> dict[str, Callable[[], object]]:
    """Batch training of those that can be imported; the others are named."""
    found = {}
    for name, prepare in {"XPySom": xpysom, "Somoclu": somoclu}.items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found[name] = prepare(samples)
        except ImportError as error:
            print(f"{name} takes no part: {error}")
    return found


def main() -> None:
    """Print the ratios."""
    samples = np.random.default_rng(0).standard_normal((N, D))
    single = samples.astype(np.float32)
    codes = single[: ROWS * COLS]
    few, some = samples[:MINISOM_SAMPLES], samples[:STOCHASTIC_SAMPLES]
    grid = ss.Grid(ROWS, COLS)

    def ours(epochs: int) -> None:
        # samples as first codes, for the plane takes a read of its own
        ss.train(samples, grid, epochs=epochs, init="samples")

    def stochastic() -> None:
        ss.train(some, grid, epochs=1, init="samples", algorithm="stochastic")

    def minisom(batch: bool) -> None:
        peer = MiniSom(ROWS, COLS, D, sigma=10, random_seed=0)
        train = peer.train_batch_offline if batch else peer.train
        train(few, MINISOM_EPOCHS, use_epochs=True) if not batch else train(few, MINISOM_EPOCHS)

    runs: dict[str, tuple[Callable[[], object], float]] = {
        "bare float32 GEMM": (lambda: bare_gemm(single, codes), N),
        "bare float64 GEMM": (lambda: bare_gemm(samples, samples[: ROWS * COLS]), N),
        "somscale batch": (lambda: ours(EPOCHS), N * EPOCHS),
        "somscale stochastic": (stochastic, STOCHASTIC_SAMPLES),
        "MiniSom batch": (lambda: minisom(True), MINISOM_SAMPLES * MINISOM_EPOCHS),
        "MiniSom stochastic": (lambda: minisom(False), MINISOM_SAMPLES * MINISOM_EPOCHS),
    }
    for name, run in peers_there(single[:PEER_SAMPLES]).items():
        runs[f"{name} batch"] = run, PEER_SAMPLES * PEER_EPOCHS
    print(f"N = {N}, D = {D}, K = {ROWS * COLS}, float64 samples, one thread")
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    with ss.set_options(scheduler="serial"), threadpool_limits(1, "blas"):
        ss.train(some, grid, epochs=1)
        stochastic()
        for _ in range(REPEATS):
            for name, (run, sample_epochs) in runs.items():
                seconds[name].append(cpu_seconds(run) / sample_epochs * N)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, times in seconds.items():
        spread = f"from {min(times):.3f} to {max(times):.3f}"
        print(f"{name:<22} {medians[name]:8.3f} s an epoch of {N} samples  ({spread})")
    least = {name: min(times) for name, times in seconds.items()}
    for floor in ("bare float64 GEMM", "bare float32 GEMM"):
        ratios = [found["somscale batch"] / found[floor] for found in (medians, least)]
        print(f"somscale batch / {floor}: {ratios[0]:.2f} (fastest runs {ratios[1]:.2f})")
    for name in runs:
        if name.endswith("batch") and not name.startswith("somscale"):
            print(f"{name} / somscale batch: {medians[name] / medians['somscale batch']:.1f}")
    slow = medians["MiniSom stochastic"] / medians["somscale stochastic"]
    print(f"MiniSom stochastic / somscale stochastic: {slow:.1f}")


if __name__ == "__main__":
    main()

"""Walks over pairs against the bare product, genieclust and scikit-learn; and out of core.

The bars: C measure, Kruskal-Shepard (SOMperf's form) and sums within groups in one walk
within twice the bare GEMM of N²/2 pairs, and 0.9 of its gain from a second thread; exact
silhouettes 2 times as fast as genieclust on one thread and 4 times as scikit-learn; from
Zarr on Dask within 15 % of the plain loop.  Name some of: walk silhouette zarr shepard.
"""

from __future__ import annotations

import sys
import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from timing import compare

import somscale as ss
from somscale._types import Float

_TILE = 512


def bare_gemm(values: Float, threads: int = 1) -> None:
    """All products of pairs of tiles i ≥ j, into one buffer a thread."""
    tiles = range(0, len(values), _TILE)

    def rows(part: int) -> None:
        out = np.empty((_TILE, _TILE))
        for number, s in enumerate(tiles):
            if number % threads != part:
                continue
            for q in range(0, s + 1, _TILE):
                a, b = values[s : s + _TILE], values[q : q + _TILE]
                np.matmul(a, b.T, out=out[: len(a), : len(b)])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(rows, range(threads)))


def walk() -> None:
    """C measure, Kruskal-Shepard error and sums within units, on one thread and on two."""
    n, d, side = 20_000, 50, 10
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((n, d))
    som = ss.codebook(samples[: side * side] + 0.1, ss.Grid(side, side))
    wanted = {
        "c": "c_measure",
        "kse": ("kruskal_shepard_error", {"form": "somperf"}),
        "r": "shepard_correlation",
    }

    def ours(scheduler: str, workers: int) -> None:
        with ss.set_options(scheduler=scheduler, workers=workers):
            ss.evaluate(samples, som, metrics=wanted)

    print(f"N = {n}, D = {d}, K = {side * side}, float64; the units pass included")
    with threadpool_limits(1, "blas"):
        found = compare(
            {
                "bare GEMM": lambda: bare_gemm(samples),
                "one walk": lambda: ours("serial", 1),
                "bare GEMM, 2 threads": lambda: bare_gemm(samples, 2),
                "one walk, 2 threads": lambda: ours("threads", 2),
            }
        )
    print(f"one walk / bare GEMM: {found['one walk'] / found['bare GEMM']:.2f}")
    gain = found["one walk"] / found["one walk, 2 threads"]
    bare = found["bare GEMM"] / found["bare GEMM, 2 threads"]
    print(f"gain from a second thread: {gain:.2f}, of the bare GEMM {bare:.2f}: {gain / bare:.2f}")


def silhouette() -> None:
    """Exact silhouettes against genieclust and scikit-learn."""
    from sklearn.datasets import make_blobs
    from sklearn.metrics import silhouette_score

    for n in (20_000, 50_000):
        samples, clusters = make_blobs(n, 20, centers=10, cluster_std=6.0, random_state=0)
        clusters = clusters.astype(np.int64)

        def ours(workers: int, samples: Float = samples, clusters: Any = clusters) -> None:
            scheduler = "serial" if workers == 1 else "threads"
            with ss.set_options(scheduler=scheduler, workers=workers):
                ss.metrics.silhouette_score(samples, clusters)

        contestants = {
            "somscale, 1 thread": lambda: ours(1),
            "somscale, 2 threads": lambda: ours(2),
        }
        if n == 20_000:
            contestants["scikit-learn"] = lambda s=samples, c=clusters: silhouette_score(s, c)
        try:
            from genieclust.cluster_validity import silhouette_index
        except ImportError:
            print("genieclust is not installed")
        else:
            contestants["genieclust"] = lambda s=samples, c=clusters: silhouette_index(s, c)
        print(f"silhouette, N = {n}, D = 20, K = 10")
        with threadpool_limits(1, "blas"):
            found = compare(contestants, repeats=3)
        for peer in ("genieclust", "scikit-learn"):
            if peer in found:
                print(f"{peer} / somscale: {found[peer] / found['somscale, 1 thread']:.2f}")
        if n == 20_000:
            for name, run in contestants.items():
                tracemalloc.start()
                run()
                print(f"{name}: extra {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB")
                tracemalloc.stop()


def zarr() -> None:
    """C measure of 60,000 samples from Zarr: a plain loop against Dask on one thread."""
    import zarr as store

    n, d, side = 60_000, 20, 10
    samples = np.random.default_rng(0).standard_normal((n, d))
    som = ss.codebook(samples[: side * side] + 0.1, ss.Grid(side, side))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.zarr"
        array = store.create_array(path, data=samples, chunks=(4_096, d))

        def ours(scheduler: str) -> None:
            with ss.set_options(scheduler=scheduler, workers=1, memory_budget="1GiB"):
                ss.metrics.c_measure(array, som)

        print(f"N = {n}, D = {d} from Zarr; the matrix would take {n * n * 8 / 2**30:.0f} GiB")
        with threadpool_limits(1, "blas"):
            found = compare(
                {"plain loop": lambda: ours("serial"), "Dask": lambda: ours("threads")}, repeats=3
            )
        print(f"Dask / plain loop: {found['Dask'] / found['plain loop']:.3f}")
        with ss.set_options(workers=2, memory_budget="1GiB"):
            print(f"tasks: {ss.plan(array, som, metrics='c_measure').passes[-1].tasks}")
            tracemalloc.start()
            ss.metrics.c_measure(array, som)
            print(f"extra memory: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB")
            tracemalloc.stop()


def shepard() -> None:
    """The survey's Kruskal-Shepard error of twice as many samples, in linear time."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((2_000_000, 20))
    som = ss.codebook(samples[:100] + 0.1, ss.Grid(10, 10))
    found = compare(
        {
            "Kruskal-Shepard, N = 1,000,000": lambda: _shepard(samples[:1_000_000], som),
            "Kruskal-Shepard, N = 2,000,000": lambda: _shepard(samples, som),
        }
    )
    one, two = found.values()
    print(f"twice as many samples: {two / one:.2f} times the time")


def _shepard(samples: Float, som: Any) -> None:
    with ss.set_options(scheduler="serial"):
        ss.metrics.kruskal_shepard_error(samples, som)


if __name__ == "__main__":
    runs = {"walk": walk, "silhouette": silhouette, "zarr": zarr, "shepard": shepard}
    for name in sys.argv[1:] or runs:
        runs[name]()

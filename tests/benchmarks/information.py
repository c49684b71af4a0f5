"""Adjusted mutual information of ten million labels, against scikit-learn, and large tables."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import somscale as ss

N, CLASSES = 10_000_000, 100


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Print the ratio, the difference, and time and memory of all indices of a sparse table."""
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, CLASSES, N), rng.integers(0, CLASSES, N)
    found: list[float] = []

    def ours() -> None:
        found.append(float(ss.metrics.adjusted_mutual_info_score(labels, clusters)))

    def theirs() -> None:
        found.append(adjusted_mutual_info_score(labels, clusters))

    ours()  # loads the compiled loop
    own = float(np.median([seconds(ours) for _ in range(5)]))
    peer = seconds(theirs)  # once: it takes most of a minute
    print(f"N = {N}, {CLASSES} × {CLASSES}: somscale {own:.3f} s, scikit-learn {peer:.1f} s")
    print(f"scikit-learn / somscale: {peer / own:.0f}; difference {found[0] - found[-1]:.1e}")
    labels, clusters = rng.integers(0, 100_000, 10**6), rng.integers(0, 100_000, 10**6)
    tracemalloc.start()
    taken = seconds(lambda: ss.evaluate(None, clusters, labels=labels, metrics="partition"))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"all indices, 100,000 × 100,000, N = 10⁶: {taken:.2f} s (traced), {peak:.0f} MiB extra")


if __name__ == "__main__":
    main()

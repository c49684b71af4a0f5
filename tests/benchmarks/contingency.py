"""Pair counts and adjusted Rand index of ten million labels, against scikit-learn."""

from __future__ import annotations

import tracemalloc

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix
from timing import compare

import somscale as ss

N, CLASSES = 10_000_000, 100


def main() -> None:
    """Print the ratios and the extra memory."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, N)
    clusters = rng.integers(0, CLASSES, N)

    def ours() -> None:
        ss.evaluate(None, clusters, labels=labels, metrics=["pair_counts", "adjusted_rand_score"])

    def serial() -> None:
        with ss.set_options(scheduler="serial"):
            ours()

    print(f"N = {N}, {CLASSES} × {CLASSES} labels")
    medians = compare(
        {
            "scikit-learn pair_confusion_matrix": lambda: pair_confusion_matrix(labels, clusters),
            "somscale, one thread": serial,
            "somscale": ours,
        }
    )
    peer = medians["scikit-learn pair_confusion_matrix"]
    print(f"scikit-learn / somscale, one thread: {peer / medians['somscale, one thread']:.0f}")
    print(f"scikit-learn / somscale: {peer / medians['somscale']:.0f}")
    tracemalloc.start()
    ours()
    print(f"extra memory: {tracemalloc.get_traced_memory()[1] / 2**20:.1f} MiB")
    tracemalloc.stop()
    counts = ss.metrics.pair_counts(labels, clusters).values
    (d, b), (c, a) = pair_confusion_matrix(clusters, labels) // 2
    print("equal integers:", sorted(counts.tolist()) == sorted(int(n) for n in (a, b, c, d)))
    theirs = adjusted_rand_score(labels, clusters)
    print("adjusted Rand:", float(ss.metrics.adjusted_rand_score(labels, clusters)), theirs)


if __name__ == "__main__":
    main()

"""All linear indices of one map together, against the bare product."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits
from timing import compare
from units import COLS, ROWS, D, N, bare_gemm

import somscale as ss


def main() -> None:
    """Print the ratio."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((N, D))
    codes = samples[: ROWS * COLS] + 0.1
    som = ss.codebook(codes, ss.Grid(ROWS, COLS))
    labels = rng.integers(0, 10, N)

    def ours() -> None:
        with ss.set_options(scheduler="serial"):
            ss.evaluate(samples, som, labels=labels)

    def maps_alone() -> None:
        with ss.set_options(scheduler="serial"):
            ss.evaluate(samples, som)

    print(f"N = {N}, D = {D}, K = {ROWS * COLS}, float64, one thread")
    with threadpool_limits(1, "blas"):
        medians = compare(
            {
                "bare GEMM": lambda: bare_gemm(samples, codes),
                "all indices of the map": maps_alone,
                "all with labels": ours,
            }
        )
    for name in ("all indices of the map", "all with labels"):
        print(f"{name} / bare GEMM: {medians[name] / medians['bare GEMM']:.2f}")


if __name__ == "__main__":
    main()

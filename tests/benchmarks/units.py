"""Quantization error + topographic error + distortion in one pass, against GEMM and MiniSom."""

from __future__ import annotations

import numpy as np
from minisom import MiniSom
from threadpoolctl import threadpool_limits
from timing import compare

import somscale as ss

N, D, ROWS, COLS = 200_000, 50, 20, 20
METRICS = ["quantization_error", "topographic_error", "distortion"]


def bare_gemm(samples: np.ndarray, codes: np.ndarray, block: int = 2048) -> None:
    """The floor: the blocked product N × K × D and nothing else."""
    out = np.empty((block, len(codes)))
    for start in range(0, len(samples), block):
        part = samples[start : start + block]
        np.matmul(part, codes.T, out=out[: len(part)])


def main() -> None:
    """Print the ratios."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((N, D))
    codes = samples[: ROWS * COLS] + 0.1
    som = ss.codebook(codes, ss.Grid(ROWS, COLS))
    peer = MiniSom(ROWS, COLS, D)
    peer._weights = codes.reshape(ROWS, COLS, D)

    def ours() -> None:
        with ss.set_options(scheduler="serial"):
            ss.evaluate(samples, som, metrics=METRICS)

    def minisom() -> None:
        peer.quantization_error(samples)
        peer.topographic_error(samples)

    print(f"N = {N}, D = {D}, K = {ROWS * COLS}, float64, one thread")
    with threadpool_limits(1, "blas"):
        medians = compare(
            {
                "bare GEMM": lambda: bare_gemm(samples, codes),
                "somscale QE + TE + distortion": ours,
                "MiniSom QE + TE": minisom,
            }
        )
    seconds = medians["somscale QE + TE + distortion"]
    print(f"somscale / bare GEMM: {seconds / medians['bare GEMM']:.2f}")
    print(f"MiniSom / somscale: {medians['MiniSom QE + TE'] / seconds:.1f}")


if __name__ == "__main__":
    main()

"""Bootstrap weights of samples: drawn by number, so that no order of work changes them."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from somscale._types import Float, Int

__all__ = ["BLOCK_ROWS", "DRAW_BYTES", "add_resampled", "count_resampled", "resample_weights"]

BLOCK_ROWS: Final = 2048
"""Samples whose weights are drawn together.  Part of every result: never change it."""
DRAW_BYTES: Final = 8
"""Bytes held for a weight while a block is drawn, those of kept blocks included."""
_KEPT_BLOCKS: Final = 4


@functools.lru_cache(maxsize=_KEPT_BLOCKS)
def resample_weights(seed: int, block: int, n_boot: int) -> NDArray[np.uint8]:
    """How often each sample of a block occurs in each resample, (n_boot + 1, BLOCK_ROWS) uint8.

    Parameters
    ----------
    seed : int
        Key of all draws, from 0 on.
    block : int
        Samples `block` × BLOCK_ROWS and those that follow.
    n_boot : int
        Resamples.

    Returns
    -------
    array
        Row 0 is all ones: the samples themselves.  Row r depends on `seed`, `block` and r
        alone.  Read-only.

    Notes
    -----
    The weights are independent, of mean 1 and variance 1 exactly, and Poisson up to 2⁻¹⁵.
    The stream is that of Philox with the block in its counter (Salmon et al. 2011,
    doi:10.1145/2063384.2063405), which is the same on every machine.
    """
    stream = np.random.Philox(key=seed, counter=[0, 0, block, 0])
    # as bytes in one order, so that the halves of a word are the same ones everywhere
    bits = stream.random_raw(n_boot * BLOCK_ROWS // 4).astype("<u8", copy=False).view("<u2")
    weights = np.ones((n_boot + 1, BLOCK_ROWS), np.uint8)
    np.take(_counts_of_bits(), bits.reshape(n_boot, BLOCK_ROWS), out=weights[1:])
    weights.flags.writeable = False
    return weights


@functools.cache
def _counts_of_bits() -> NDArray[np.uint8]:
    """The weight that each of the 2¹⁶ values of two bytes stands for."""
    cells = 1 << 16
    weight = np.arange(9)
    shares = np.exp(-1.0) / np.cumprod(np.maximum(weight, 1))
    number = np.rint(cells * shares).astype(np.int64)
    # the first three make up for the rounding: in number, in mean, and in variance
    lack = cells - number.sum()
    lack_of_mean = cells - (number * weight).sum()
    lack_of_pairs = cells - (number * weight * (weight - 1)).sum()
    two = lack_of_pairs // 2
    one = lack_of_mean - 2 * two
    number[:3] += [lack - one - two, one, two]
    return np.repeat(weight, number).astype(np.uint8)


def add_resampled(weights: Any, values: Float, sums: Float) -> None:
    """Add Σ_i w_ri v_it of some samples to the sums of every resample, in place.

    Parameters
    ----------
    weights : (R, n) uint8
        How often each sample occurs in each resample.
    values : (n, T) float64
        What a sample adds to each sum.
    sums : (R, T) float64
        Updated in the order of the samples: rows in two portions give the same bits as in
        one, which a matrix product would not.
    """
    from somscale.kernels import resample_loops

    resample_loops.add_resampled(weights, values, sums)


def count_resampled(weights: Any, keys: Int, counts: Int) -> None:
    """Count keys, one a sample and below 0 for none, in the tables of all resamples, in place.

    `weights` (R, n) is as for :func:`add_resampled`; `counts` (R, cells) int64.
    """
    from somscale.kernels import resample_loops

    resample_loops.count_resampled(weights, keys, counts)

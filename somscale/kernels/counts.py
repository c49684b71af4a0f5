"""Counts of integer keys, dense or sparse, in 64 bits, and sums of weights by key.

A keyed (sparse) count is one (2, m) array of int64: keys in row 0, how often
each occurs in row 1.  Keys may repeat until :func:`sort_keyed` joins them.  An
array of float64 holds weights in row 1 instead, and keys below 2⁵³, which are exact.
"""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Float, Int

__all__ = [
    "as_keyed",
    "as_keyed_weights",
    "count_dense",
    "count_keyed",
    "merge_keyed",
    "sort_keyed",
]

_SORT_ABOVE = 1 << 16
_COUNTERS_PER_KEY = 8
"""Walking this many counters costs less than sorting one key."""


def count_dense(keys: Int, n_keys: int) -> Int:
    """How often each key of ``range(n_keys)`` occurs, (n_keys,) int64."""
    return np.bincount(keys, minlength=n_keys).astype(np.int64, copy=False)


def as_keyed(keys: Int) -> Int:
    """A keyed count of single occurrences, not yet sorted."""
    return np.stack([keys.astype(np.int64, copy=False), np.ones(len(keys), np.int64)])


def count_keyed(keys: Int, n_keys: int) -> Int:
    """A sorted keyed count of the keys of ``range(n_keys)`` that occur."""
    if n_keys > _COUNTERS_PER_KEY * len(keys):
        return np.stack(np.unique(keys, return_counts=True))
    return _occurring(count_dense(keys, n_keys))


def as_keyed_weights(keys: Int, weights: Float) -> Float:
    """Keyed weights, not yet sorted."""
    return np.stack([keys, weights]).astype(np.float64, copy=False)


def merge_keyed(left: AnyArray, right: AnyArray) -> AnyArray:
    """Add two keyed counts; sorted only once they are long, which costs far less."""
    joined = np.concatenate([left, right], axis=1)
    return joined if joined.shape[1] <= _SORT_ABOVE else sort_keyed(joined)


def sort_keyed(counts: AnyArray) -> AnyArray:
    """Sorted unique keys and their exact counts, or their weights added one after the other."""
    if not counts.shape[1]:
        return counts
    if counts.dtype.kind == "f":
        keys, places = np.unique(counts[0], return_inverse=True)
        return np.stack([keys, np.bincount(places, weights=counts[1])])
    low, high = int(counts[0].min()), int(counts[0].max())
    if high - low < _COUNTERS_PER_KEY * counts.shape[1]:
        dense = np.zeros(high - low + 1, np.int64)
        np.add.at(dense, counts[0] - low, counts[1])
        joined = _occurring(dense)
        joined[0] += low
        return joined
    order = np.argsort(counts[0], kind="stable")
    keys, numbers = counts[0, order], counts[1, order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return np.stack([keys[starts], np.add.reduceat(numbers, starts)])


def _occurring(dense: Int) -> Int:
    keys = np.flatnonzero(dense != 0)  # five times as fast on booleans
    return np.stack([keys, dense[keys]])

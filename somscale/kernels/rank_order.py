"""Put a few hundred pairs in the order of their distances, ties by the samples' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["sort_pairs"]

_CROWD = 48
"""Entries of one bucket up to which an insertion sort of nearly ordered ones is quick."""
_COUNTED = 192
"""Entries up to which counting is quicker than a sort."""


@compiled
def _order_by_counting(keys: Any, others: Any, order: Any, n: int) -> None:
    """Of each entry, how many lie before it: for few entries quicker than any sort, in vectors."""
    for q in range(n):
        key, other = keys[q], others[q]
        before = 0
        for a in range(n):
            before += (keys[a] < key) | ((keys[a] == key) & (others[a] < other))
        order[before] = q


@compiled
def _sort_by_shell(keys: Any, others: Any, order: Any, n: int, widest: int) -> None:
    """Sort with gaps of at most `widest`: 1 is an insertion, for what is nearly in order."""
    gap = 1
    while gap < widest:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            moved = order[i]
            key, other = keys[moved], others[moved]
            j = i
            while j >= gap:
                before = order[j - gap]
                if keys[before] < key or (keys[before] == key and others[before] < other):
                    break
                order[j] = before
                j -= gap
            order[j] = moved
        gap //= 3


@compiled
def _spread(keys: Any, order: Any, n: int) -> Any:
    """Write entries nearly in order, by buckets of one width; whether none holds many."""
    low, high = keys[0], keys[0]
    for q in range(n):
        low, high = min(low, keys[q]), max(high, keys[q])
    n_buckets, span = 4 * n, high - low
    if not (span > 0.0 and n_buckets / span < np.inf):
        return False
    scale = (n_buckets - 1) / span
    ends = np.zeros(n_buckets + 1, np.int32)
    for q in range(n):
        ends[np.uint32(np.int32((keys[q] - low) * scale)) + np.uint32(1)] += 1
    most, total = np.int32(0), np.int32(0)
    for b in range(n_buckets + 1):
        most = max(most, ends[b])
        total += ends[b]
        ends[b] = total
    for q in range(n):
        bucket = np.uint32(np.int32((keys[q] - low) * scale))
        order[ends[bucket]] = q
        ends[bucket] += 1
    return most <= _CROWD


@compiled
def sort_pairs(keys: Any, others: Any, order: Any, n: int) -> None:
    """Write the first n entries in the order in which (key, other) ascend; no two are equal."""
    if n <= _COUNTED:
        _order_by_counting(keys, others, order, n)
        return
    widest = 1
    if not _spread(keys, order, n):
        for q in range(n):
            order[q] = q
        widest = n // 3
    _sort_by_shell(keys, others, order, n, widest)

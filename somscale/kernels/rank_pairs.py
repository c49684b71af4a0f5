"""From the nearest samples in two spaces to the ranks of both in either."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled
from somscale.kernels.rank_near import squares_of
from somscale.kernels.rank_order import sort_pairs

__all__ = ["carry_keys", "far_pairs", "join_pairs", "order_far", "rank_pairs"]


@compiled
def carry_keys(
    others: Any,
    counts: Any,
    moved: Any,
    keys: Any,
    first: int,
    left: Any,
    right: Any,
    weights: Any,
    carried: Any,
) -> None:
    """Give the nearest of one space their δ in another, those that are new by its sum or keys.

    ``moved`` is what :func:`~somscale.kernels.rank_near.settle` said of them; row c of `right`,
    or where that is empty column c of `keys`, belongs to sample `first` + c.
    """
    k = others.shape[1]
    fresh, places, found = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k)
    for p in range(others.shape[0]):
        n = 0
        for place in range(counts[p] - 1, -1, -1):
            before = moved[p, place]
            if before >= 0:
                carried[p, place] = carried[p, before]
            else:
                fresh[n], places[n] = others[p, place], place
                n += 1
        if right.shape[1] > 0:
            squares_of(left[p], right, fresh, first, n, weights, found)
        else:
            for q in range(n):
                found[q] = keys[p, fresh[q] - first]
        for q in range(n):
            carried[p, places[q]] = found[q]


@compiled
def _is_near(key: float, other: Any, keys: Any, others: Any, n: int, k: int) -> Any:
    """Whether a pair is among the k nearest, given those."""
    return n < k or key < keys[n - 1] or (key == keys[n - 1] and other <= others[n - 1])


@compiled
def far_pairs(
    others: Any,
    carried: Any,
    counts: Any,
    near_keys: Any,
    near_others: Any,
    near_counts: Any,
    far_keys: Any,
    far_others: Any,
    far_counts: Any,
) -> None:
    """Add those nearest of another space that are not among the nearest of this one.

    ``carried`` are their δ here.
    """
    k = near_keys.shape[1]
    for p in range(others.shape[0]):
        n = far_counts[p]
        for q in range(counts[p]):
            key, other = carried[p, q], others[p, q]
            if not _is_near(key, other, near_keys[p], near_others[p], near_counts[p], k):
                far_keys[p, n] = key
                far_others[p, n] = other
                n += 1
        far_counts[p] = n


@compiled
def order_far(far_keys: Any, far_others: Any, far_counts: Any) -> None:
    """Put far pairs in order, each once; those of several spaces may come several times."""
    width = far_keys.shape[1]
    order, places = np.empty(width, np.int64), np.empty(width, np.int64)
    keys, others = np.empty(width), np.empty(width, np.int64)
    for p in range(far_keys.shape[0]):
        n = far_counts[p]
        # a place breaks ties of pairs that are one and the same
        for q in range(n):
            keys[q] = far_keys[p, q]
            others[q] = far_others[p, q]
            places[q] = others[q] * width + q
        sort_pairs(keys, places, order, n)
        m = 0
        for q in range(n):
            at = order[q]
            if m > 0 and far_others[p, m - 1] == others[at] and far_keys[p, m - 1] == keys[at]:
                continue
            far_keys[p, m] = keys[at]
            far_others[p, m] = others[at]
            m += 1
        far_counts[p] = m


@compiled
def rank_pairs(
    others: Any,
    counts: Any,
    near_others: Any,
    near_counts: Any,
    far_others: Any,
    far_counts: Any,
    below: Any,
    places: Any,
    ranks: Any,
) -> None:
    """Ranks in one space of the nearest of others, (e, p, k), each of which is near or far here.

    ``below[p, a]`` counts the samples that are nearer than far pair a.  ``places`` has room
    for every sample; what is left in it of other rows is never looked at.
    """
    for p in range(near_others.shape[0]):
        for q in range(near_counts[p]):
            places[near_others[p, q]] = q + 1
        for q in range(far_counts[p]):
            places[far_others[p, q]] = below[p, q] + 1
        for e in range(others.shape[0]):
            for q in range(counts[e, p]):
                ranks[e, p, q] = places[others[e, p, q]]


@compiled
def join_pairs(
    input_others: Any,
    input_counts: Any,
    output_ranks: Any,
    output_others: Any,
    output_counts: Any,
    input_ranks: Any,
    rho: Any,
    r: Any,
    others: Any,
    counts: Any,
) -> None:
    """All pairs that are near in either space, each once, with both ranks.

    ``output_ranks`` are those of the nearest in the input, ``input_ranks`` those of the
    nearest in the output.
    """
    for p in range(input_others.shape[0]):
        n = input_counts[p]
        for q in range(n):
            rho[p, q] = q + 1
            r[p, q] = output_ranks[p, q]
            others[p, q] = input_others[p, q]
        for q in range(output_counts[p]):
            if input_ranks[p, q] > input_counts[p]:
                rho[p, n] = input_ranks[p, q]
                r[p, n] = q + 1
                others[p, n] = output_others[p, q]
                n += 1
        counts[p] = n

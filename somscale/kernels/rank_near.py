"""Nearest samples of some rows, found block after block and exact whatever the filter.

A *key* of a pair is its squared distance δ, or what is within a margin m of it.  Order is
that of (δ, number of the sample).  Numbers are unsigned in the hot loops: numba looks twice
at an index that may be negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled
from somscale.kernels.rank_order import sort_pairs

__all__ = [
    "direct_keys",
    "finish_keys",
    "kth_smallest",
    "scan_keys",
    "settle",
    "square_of",
    "squares_of",
]

_SINGLE = 2.0**-22
"""More than a rounding to single precision."""


@compiled
def square_of(left: Any, right: Any, weights: Any) -> Any:
    """Σ v (x − y)² in feature order: the sum that decides every order."""
    total = 0.0
    for f in range(left.shape[0]):
        difference = np.float64(left[f]) - np.float64(right[f])
        square = difference * difference
        if weights is not None:
            square *= weights[f]
        total += square
    return total


@compiled
def squares_of(
    left: Any, right: Any, rows: Any, first: int, n: int, weights: Any, out: Any
) -> None:
    """Write those sums for n rows of `right`, given as numbers of which `first` is its row 0.

    Four at a time: one sum by itself waits for each of its additions.
    """
    whole = n - n % 4
    for q in range(0, whole, 4):
        one, two = right[rows[q] - first], right[rows[q + 1] - first]
        three, four = right[rows[q + 2] - first], right[rows[q + 3] - first]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for f in range(left.shape[0]):
            value = np.float64(left[f])
            e = value - np.float64(one[f])
            g = value - np.float64(two[f])
            h = value - np.float64(three[f])
            i = value - np.float64(four[f])
            e, g, h, i = e * e, g * g, h * h, i * i
            if weights is not None:
                e, g, h, i = e * weights[f], g * weights[f], h * weights[f], i * weights[f]
            a += e
            b += g
            c += h
            d += i
        out[q], out[q + 1], out[q + 2], out[q + 3] = a, b, c, d
    for q in range(whole, n):
        out[q] = square_of(left, right[rows[q] - first], weights)


@compiled
def direct_keys(
    left: Any, columns: Any, start: int, stop: int, weights: Any, keys: Any, low: int
) -> None:
    """Write Σ v (x − y)² in feature order to the columns of `keys` from `low` on.

    ``columns`` is (D, b), of which those from `start` to `stop` are taken: pairs run in vectors.
    """
    for i in range(left.shape[0]):
        out = keys[i, low : low + stop - start]
        first, others = np.float64(left[i, 0]), columns[0, start:stop]
        for j in range(out.shape[0]):
            difference = first - others[j]
            square = difference * difference
            if weights is not None:
                square *= weights[0]
            out[j] = square
        for f in range(1, columns.shape[0]):
            value, others = np.float64(left[i, f]), columns[f, start:stop]
            for j in range(out.shape[0]):
                difference = value - others[j]
                square = difference * difference
                if weights is not None:
                    square *= weights[f]
                out[j] += square


@compiled
def finish_keys(products: Any, left_norms: Any, right_norms: Any, keys: Any, low: int) -> None:
    """Turn scalar products, (p, c), into squared distances within their rounding.

    Written to the columns of `keys` from `low` on.
    """
    for i in range(products.shape[0]):
        norm, row, out = left_norms[i], products[i], keys[i, low : low + products.shape[1]]
        for j in range(row.shape[0]):
            # twice a product without a constant, which would be of double precision
            out[j] = (norm + right_norms[j]) - (row[j] + row[j])


@compiled
def kth_smallest(values: Any, n: int, k: int) -> Any:
    """The k-th smallest, from 0, of the first n values, which are put in order around it."""
    low, high = 0, n - 1
    while low < high:
        first, middle, last = values[low], values[(low + high) >> 1], values[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@compiled
def _keep_nearest(keys: Any, others: Any, n: int, k: int, slack: float, scratch: Any) -> Any:
    """Keep what may be among the k nearest of n, in place and in order.

    Returns how many are kept and the k-th smallest key.  Without slack exactly k are kept,
    of equal ones the first.
    """
    for q in range(n):
        scratch[q] = keys[q]
    bound = kth_smallest(scratch, n, k - 1)
    room = k
    if slack == 0.0:
        for q in range(n):
            room -= keys[q] < bound
    m = 0
    for q in range(n):
        if keys[q] < bound or (keys[q] <= bound + slack and (slack > 0.0 or room > 0)):
            room -= slack == 0.0 and keys[q] == bound
            keys[m] = keys[q]
            others[m] = others[q]
            m += 1
    return m, bound


@compiled
def _bound_of_sample(row: Any, k: int, sample: Any) -> Any:
    """A key below which k of a row's will be found, as a rule, and few more: from a part of it."""
    size = sample.shape[0]
    step = row.shape[0] // size
    for q in range(size):
        sample[q] = row[q * step]
    share = k * size / row.shape[0]
    place = int(share + 3.0 * np.sqrt(share) + 2.0)
    return kth_smallest(sample, size, place) if place < size else np.inf


@compiled
def _edge(bound: float, margin: float, edges: Any) -> Any:
    """A bound in the type of the keys, never below it."""
    if margin > 0.0 and bound < np.inf:
        bound += _SINGLE * abs(bound)
    edges[0] = bound
    return edges[0]


@compiled
def _scan_row(
    row: Any,
    first: int,
    k: int,
    bound: float,
    margin: float,
    left: Any,
    right: Any,
    weights: Any,
    own: Any,
    numbers: Any,
    scratch: Any,
    edges: Any,
) -> Any:
    """Collect the keys of a row that lie below a bound, which falls as soon as it may.

    Returns how many there are, and how many were taken again.
    """
    n, capacity, again = 0, own.shape[0], 0
    edge = _edge(bound, margin, edges)
    for j in range(row.shape[0]):
        key = row[j]
        if key < edge:
            own[n] = key
            numbers[n] = first + j
            n += 1
            if n == capacity:
                n, kth = _keep_nearest(own, numbers, n, k, 2.0 * margin, scratch)
                bound = min(bound, kth + 2.0 * margin)
                if 2 * (n - k) > capacity - k:
                    again += n
                    squares_of(left, right, numbers, first, n, weights, own)
                    n, kth = _keep_nearest(own, numbers, n, k, 0.0, scratch)
                    bound = min(bound, kth + margin)
                edge = _edge(bound, margin, edges)
    return n, again


@compiled
def scan_keys(
    keys: Any,
    first: int,
    k: int,
    margins: Any,
    left: Any,
    right: Any,
    weights: Any,
    bounds: Any,
    fresh_keys: Any,
    fresh_others: Any,
    counts: Any,
    scratch: Any,
    sample: Any,
) -> Any:
    """Collect for every row the samples of a block that may be among its k nearest.

    Parameters
    ----------
    keys : (p, b) float32 or float64
        Of the block's samples, from number `first` on.
    margins : (p,) float64
        How far a key may be from its δ; 0 where it is exact.
    left, right : (p, D), (b, D)
        The rows, and the block's samples, with which doubtful keys are taken again.
    bounds : (p,) float64
        Keys from here on are of no interest; infinite where fewer than k are known.
    fresh_keys, fresh_others : (p, cap)
        Written: what was collected, `counts` of each row.
    scratch, sample : (cap,), (s,)
        Room to work.

    Returns
    -------
    int
        How many keys were in doubt and taken again.

    Notes
    -----
    A long row is first looked at in a sample: with a bound that few keys keep to, little is
    collected that is thrown away again.  It is looked at once more where too few were found.
    """
    edges, again = np.empty(1, keys.dtype), 0
    for p in range(keys.shape[0]):
        row, bound, margin = keys[p], bounds[p], margins[p]
        own, numbers = fresh_keys[p], fresh_others[p]
        guess = bound
        if row.shape[0] > 8 * sample.shape[0]:
            guess = min(bound, _bound_of_sample(row, k, sample))
        # with k keys below the guess, none of the nearest lies above it by both margins
        wide, n, found = min(bound, guess + 2.0 * margin), 0, 0
        while True:
            n, more = _scan_row(
                row, first, k, wide, margin, left[p], right, weights, own, numbers, scratch, edges
            )
            again += more
            if wide >= bound:
                break
            found = 0
            for q in range(n):
                found += own[q] < guess
            if found >= k:
                break
            wide = bound
        counts[p] = n
    return again


@compiled
def settle(
    k: int,
    margins: Any,
    left: Any,
    right: Any,
    weights: Any,
    first: int,
    fresh_keys: Any,
    fresh_others: Any,
    counts: Any,
    near_keys: Any,
    near_others: Any,
    near_counts: Any,
    moved: Any,
    scratch: Any,
    order: Any,
) -> None:
    """Merge what a block brought into the k nearest of every row, all exact and in order.

    ``moved[p, q]`` is the place that the q-th nearest had before, or −1 where it is new.
    """
    for p in range(near_keys.shape[0]):
        keys, others, n = fresh_keys[p], fresh_others[p], counts[p]
        if n > k:
            n, _ = _keep_nearest(keys, others, n, k, 2.0 * margins[p], scratch)
        if margins[p] > 0.0:
            squares_of(left[p], right, others, first, n, weights, keys)
        sort_pairs(keys, others, order, n)
        known = near_counts[p]
        total = min(k, known + n)
        # from behind, into places that are read already: both lists keep their order
        a, b = known, n
        while a + b > total:
            # drop the last of both
            if b == 0 or (a > 0 and near_keys[p, a - 1] > keys[order[b - 1]]):
                a -= 1
            else:
                b -= 1
        for place in range(total - 1, -1, -1):
            if b == 0 or (a > 0 and near_keys[p, a - 1] > keys[order[b - 1]]):
                a -= 1
                near_keys[p, place] = near_keys[p, a]
                near_others[p, place] = near_others[p, a]
                moved[p, place] = a
            else:
                b -= 1
                near_keys[p, place] = keys[order[b]]
                near_others[p, place] = others[order[b]]
                moved[p, place] = -1
        near_counts[p] = total
        counts[p] = 0

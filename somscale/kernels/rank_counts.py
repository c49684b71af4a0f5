"""How many samples are nearer than some: counted, never sorted.

The *thresholds* of a row are the pairs whose ranks matter, in the order of (δ, number of the
sample).  Their range is cut into buckets of one width; a table says of each bucket between
which thresholds it lies, or that it holds one, so that a sample is counted by two look-ups.
What falls into a bucket with a threshold is compared one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled
from somscale.kernels.rank_near import square_of

__all__ = ["count_below"]

_TWO = np.uint32(2)
_STEEPEST = 1e30
"""Buckets a unit at most, in single precision too."""
_NEARBY = 8
"""Thresholds that are compared one after the other before halves are left out."""


@compiled
def _fill_buckets(keys: Any, scales: Any, buckets: Any) -> None:
    """Bucket numbers: 0 below the lowest threshold, the last one above all.

    ``scales`` has the lowest key, buckets a unit, 0, 1 and the last bucket, in the type of the
    keys: one of double precision would make the loop half as quick.
    """
    low, scale, zero, one, last = scales[0], scales[1], scales[2], scales[3], scales[4]
    for j in range(keys.shape[0]):
        # conditions, not minimum and maximum: these run in vectors
        place = (keys[j] - low) * scale + one
        place = place if place > zero else zero
        place = place if place < last else last
        buckets[j] = np.int32(place)


@compiled
def _bucket(key: float, scales: Any) -> Any:
    """The bucket of a threshold, as its key would be found in it."""
    scales[5] = key
    place = (scales[5] - scales[0]) * scales[1] + scales[3]
    place = place if place > scales[2] else scales[2]
    place = place if place < scales[4] else scales[4]
    return np.int64(np.int32(place))


@compiled
def _fill_table(
    thresholds: Any, n: int, margin: float, most: float, scales: Any, table: Any
) -> None:
    """4a where all of a bucket lies between thresholds a − 1 and a.

    Where one is near, a is the first of these, plus 1; plus 2 as well if there are more.
    """
    last, filled = table.shape[0] - 1, 0
    for a in range(n):
        start = _bucket(min(thresholds[a] - margin, most), scales)
        stop = _bucket(min(thresholds[a] + margin, most), scales)
        for b in range(filled, start):
            table[b] = 4 * a
        for b in range(start, min(filled, stop + 1)):
            table[b] |= 2
        for b in range(max(start, filled), stop + 1):
            table[b] = 4 * a + 1
        filled = max(filled, stop + 1)
    for b in range(filled, last + 1):
        table[b] = 4 * n


@compiled
def _place_of(key: float, other: Any, thresholds: Any, numbers: Any, first: Any, n: int) -> Any:
    """Thresholds that are not after (key, other); the first ones are known not to be."""
    low: Any = np.int64(first)
    nearby = min(low + _NEARBY, n)
    while low < nearby:
        own = thresholds[low]
        if not (own < key or (own == key and numbers[low] <= other)):
            return low
        low += 1
    high = n
    while low < high:
        middle = (low + high) >> 1
        own = thresholds[middle]
        if own < key or (own == key and numbers[middle] <= other):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _doubt(
    key: float, other: Any, margin: float, thresholds: Any, numbers: Any, first: Any, n: int
) -> Any:
    """Which threshold a sample is itself; n if another lies within the margin, else −1."""
    place = _place_of(key - margin, -1, thresholds, numbers, first, n)
    found = -1
    # of a crowd it does not pay to ask which one it is
    for at in range(place, min(place + _NEARBY, n)):
        if thresholds[at] > key + margin:
            break
        if numbers[at] == other:
            return at
        found = n
    return found


@compiled
def _tally(buckets: Any, width: int, table: Any, tallies: Any, listed: Any) -> Any:
    """Count samples by what the table says of their buckets; list those near a threshold.

    Returns how many are listed.
    """
    whole = width - width % 4
    found = np.uint32(0)
    for j in range(0, whole, 4):
        # four counters, so that an addition need not wait for the one before
        at = np.uint32(j)
        one, two = table[buckets[at]], table[buckets[at + np.uint32(1)]]
        three, four = table[buckets[at + np.uint32(2)]], table[buckets[at + np.uint32(3)]]
        tallies[0, np.uint32(one) >> _TWO] += 1
        tallies[1, np.uint32(two) >> _TWO] += 1
        tallies[2, np.uint32(three) >> _TWO] += 1
        tallies[3, np.uint32(four) >> _TWO] += 1
        if (one | two | three | four) & 1:
            # without conditions, which would be guessed wrong half of the time
            listed[found] = at
            found += np.uint32(one & 1)
            listed[found] = at + np.uint32(1)
            found += np.uint32(two & 1)
            listed[found] = at + np.uint32(2)
            found += np.uint32(three & 1)
            listed[found] = at + np.uint32(3)
            found += np.uint32(four & 1)
    for j in range(whole, width):
        entry = table[buckets[j]]
        tallies[0, np.uint32(entry) >> _TWO] += 1
        listed[found] = j
        found += np.uint32(entry & 1)
    return found


@compiled
def count_below(
    keys: Any,
    start: int,
    margins: Any,
    left: Any,
    right: Any,
    weights: Any,
    thresholds: Any,
    numbers: Any,
    counts: Any,
    places: Any,
    most: float,
    buckets: Any,
    table: Any,
    tallies: Any,
    listed: Any,
) -> Any:
    """Count the samples of a block between the thresholds of every row.

    Parameters
    ----------
    keys : (p, b) float32 or float64
        Of the samples from number `start` on, whose values are `right`.
    margins : (p,) float64
        How far a key may be from its δ.
    thresholds, numbers : (p, M)
        δ and numbers of the thresholds, in order; `counts` of each row.
    places : (p, M + 1) int64
        Added to: samples of which so many thresholds are not after them.
    most : float
        No finite key is larger, and it fits the keys' type; thresholds may not.
    buckets : (b,) uint16
    table : (B + 2,) uint16 or uint32
    tallies : (4, M + 1) int32
    listed : (b,) uint32
        Scratch.

    Returns
    -------
    int
        How many keys were in doubt and taken again.
    """
    width, last = keys.shape[1], float(table.shape[0] - 1)
    again = 0
    scales = np.empty(6, keys.dtype)
    scales[2], scales[3], scales[4] = 0.0, 1.0, last
    for p in range(keys.shape[0]):
        n = counts[p]
        if n == 0:
            continue
        row, margin, own, others = keys[p], margins[p], thresholds[p], numbers[p]
        low = min(own[0] - margin, most)
        span = min(own[n - 1] + margin, most) - low
        scales[0] = low
        scales[1] = min((last - 2.0) / span, _STEEPEST) if span > 0.0 else _STEEPEST
        _fill_buckets(row, scales, buckets)
        _fill_table(own, n, margin, most, scales, table)
        for a in range(n + 1):
            for lane in range(4):
                tallies[lane, a] = 0
        found = _tally(buckets, width, table, tallies, listed)
        for a in range(n + 1):
            places[p, a] += tallies[0, a] + tallies[1, a] + tallies[2, a] + tallies[3, a]
        for q in range(found):
            column = listed[q]
            entry, other = table[buckets[column]], start + np.int64(column)
            own_key = np.float64(row[column])
            first = np.int64(entry >> 2)
            if margin > 0.0:
                near = _doubt(own_key, other, margin, own, others, first, n)
                if near == n:
                    own_key = square_of(left[p], right[column], weights)
                    again += 1
                elif near >= 0:
                    own_key = own[near]
            place = first + np.int64(
                (own[first] < own_key) | ((own[first] == own_key) & (others[first] <= other))
            )
            if entry & 2 and place > first:
                place = _place_of(own_key, other, own, others, place, n)
            places[p, first] -= 1
            places[p, place] += 1
    return again

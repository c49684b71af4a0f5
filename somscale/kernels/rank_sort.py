"""Order of the distances around a sample, row after row, by a radix sort of their digits.

The bits of a float64 that is not negative are an integer in the same order.  A row's bits,
less the least of them, are cut to their leading digits, packed with the column and sorted
digit by digit; the few that leading digits leave equal are mended by the exact bits.  Where
many are nearly equal, all digits are sorted.  Every step keeps the order of equal keys.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = ["COUNTERS", "FOUND", "TIED", "order_ties", "rank_in_order", "sort_rows"]

DIGIT = 11
COUNTERS = 1 << DIGIT
"""Values of one digit: the counters fit the nearest cache."""

FOUND, TIED = 0, 1
"""What `sort_rows` tells of a row: how many others there are; how many share their key."""

_PLACE = 32
"""Bits of a packed item that hold the column; leading digits of the key lie above."""

_COLUMN = (1 << _PLACE) - 1
_POSITIVE = (1 << 63) - 1
_INFINITE = 0x7FF << 52
_SHORT_ROW = 1 << 15
_MOVES = 4
"""Steps of mending an item, on average, beyond which a row is sorted by all digits."""


@compiled
def _find_others(bits: Any, own: int, items: Any) -> tuple[int, int, int]:
    """List the columns that take part; how many, and the least and largest of their bits."""
    n, low, high = 0, _INFINITE, 0
    for column in range(bits.shape[0]):
        key = bits[column] & _POSITIVE
        if column != own and key < _INFINITE:
            items[n] = column
            n += 1
            low, high = min(low, key), max(high, key)
    return n, low, high


@compiled
def _pack(bits: Any, n: int, low: int, shift: int, items: Any, counts: Any) -> None:
    counts[:] = 0
    for t in range(n):
        column = items[t]
        leading = ((bits[column] & _POSITIVE) - low) >> shift
        items[t] = (leading << _PLACE) | column
        counts[0, leading & (COUNTERS - 1)] += 1
        counts[1, (leading >> DIGIT) & (COUNTERS - 1)] += 1
        if n > _SHORT_ROW:
            counts[2, leading >> (2 * DIGIT)] += 1


@compiled
def _to_starts(counts: Any) -> None:
    total = 0
    for value in range(COUNTERS):
        total, counts[value] = total + counts[value], total


@compiled
def _deal(items: Any, n: int, shift: int, starts: Any, dealt: Any) -> None:
    """One pass over a digit of the packed items."""
    for t in range(n):
        item = items[t]
        value = (item >> shift) & (COUNTERS - 1)
        dealt[starts[value]] = item
        starts[value] += 1


@compiled
def _mend(bits: Any, n: int, items: Any) -> bool:
    """Insert items of equal leading digits by their exact bits; False if that takes too long."""
    left, before = _MOVES * n, -1
    for t in range(1, n):
        item = items[t]
        leading = item >> _PLACE
        if items[t - 1] >> _PLACE != leading:
            before = -1
            continue
        if before < 0:
            before = bits[items[t - 1] & _COLUMN] & _POSITIVE
        key = bits[item & _COLUMN] & _POSITIVE
        if key >= before:
            before = key
            continue
        s = t
        while s > 0 and items[s - 1] >> _PLACE == leading:
            if bits[items[s - 1] & _COLUMN] & _POSITIVE <= key:
                break
            items[s] = items[s - 1]
            s -= 1
        items[s] = item
        left -= t - s
        if left < 0:
            return False
    return True


@compiled
def _sort_fully(
    bits: Any, n: int, low: int, width: int, items: Any, spare: Any, counts: Any
) -> Any:
    """Sort by all digits; where the items are then, columns alone."""
    for t in range(n):
        items[t] &= _COLUMN
    for shift in range(0, width, DIGIT):
        counts[0] = 0
        for t in range(n):
            key = (bits[items[t]] & _POSITIVE) - low
            counts[0, (key >> shift) & (COUNTERS - 1)] += 1
        _to_starts(counts[0])
        for t in range(n):
            key = (bits[items[t]] & _POSITIVE) - low
            value = (key >> shift) & (COUNTERS - 1)
            spare[counts[0, value]] = items[t]
            counts[0, value] += 1
        items, spare = spare, items
    return items


@compiled
def _bit_length(value: int) -> int:
    length = 0
    while value > 0:
        value >>= 1
        length += 1
    return length


@compiled
def _sorted_items(bits: Any, n: int, low: int, high: int, packed: Any, counts: Any) -> Any:
    """The row's items in order; those of equal keys have equal leading digits."""
    width = _bit_length(high - low)
    kept = 2 * DIGIT if n <= _SHORT_ROW else 3 * DIGIT - 2
    shift = max(0, width - kept)
    items, spare = packed[0], packed[1]
    _pack(bits, n, low, shift, items, counts)
    for digit in range((width - shift + DIGIT - 1) // DIGIT):
        _to_starts(counts[digit])
        _deal(items, n, _PLACE + digit * DIGIT, counts[digit], spare)
        items, spare = spare, items
    if shift == 0 or _mend(bits, n, items):
        return items
    return _sort_fully(bits, n, low, width, items, spare, counts)


@compiled
def _tell_ranks(bits: Any, n: int, items: Any, order: Any, rank: Any, ends: Any) -> int:
    """Write the order and the ranks, of ties the least where ends are told; how many tie."""
    spans = ends.shape[0] > 0
    tied, start = 0, 0
    for t in range(n):
        column = items[t] & _COLUMN
        order[t] = column
        same = t > 0 and items[t - 1] >> _PLACE == items[t] >> _PLACE
        if same:
            key = bits[items[t - 1] & _COLUMN] & _POSITIVE
            same = key == bits[column] & _POSITIVE
        if not same:
            tied += t - start if t - start > 1 else 0
            if spans:
                ends[start + 1] = t
            start = t
        rank[column] = start + 1 if spans else t + 1
    if spans:
        ends[start + 1] = n
    return tied + (n - start if n - start > 1 else 0)


@compiled
def sort_rows(
    bits: Any,
    numbers: Any,
    order: Any,
    rank: Any,
    ends: Any,
    packed: Any,
    counts: Any,
    found: Any,
) -> None:
    """Rank the columns of each row by their keys, ties by the column.

    Parameters
    ----------
    bits : (P, N) int64
        Bits of keys ≥ 0; infinity takes no part.
    numbers : (P,) int64
        Each row's own column, which takes no part.
    order : (P, N) int32
        Overwritten: the columns, nearest first, as many as were found.
    rank : (P, N) int32
        Overwritten at these columns: 1, 2, …; with `ends` the least rank of equal keys.
    ends : (P, N) or (P, 0) int32
        Overwritten, if there is room, at the least rank of equal keys: their largest.
    packed : (2, N) int64
        Scratch.
    counts : (3, COUNTERS) int64
        Scratch.
    found : (P, 2) int64
        Overwritten: see FOUND and TIED.
    """
    for p in range(bits.shape[0]):
        n, low, high = _find_others(bits[p], numbers[p], packed[0])
        found[p, FOUND] = n
        found[p, TIED] = 0
        if n > 0:
            items = _sorted_items(bits[p], n, low, high, packed, counts)
            found[p, TIED] = _tell_ranks(bits[p], n, items, order[p], rank[p], ends[p])


@compiled
def order_ties(
    order: Any, first: Any, n: int, reach: int, step: int, heads: Any, ordered: Any
) -> None:
    """Order columns by their least ranks, ties in the order in which they are met.

    Parameters
    ----------
    order : (P, N) int32
        Columns in the order in which they are met.
    first : (P, N) int32
        Least rank of a column's ties.
    n : int
        How many columns there are in a row.
    reach : int
        Ties whose least rank is larger are left out.
    step : int
        1 or −1: `order` forwards or backwards.
    heads : (N,) int64
        Scratch.
    ordered : (P, N) int32
        Overwritten: columns.
    """
    for p in range(order.shape[0]):
        for t in range(min(n, reach)):
            heads[t] = t
        for t in range(n):
            column = order[p, t if step > 0 else n - 1 - t]
            group = first[p, column] - 1
            if group < reach:
                ordered[p, heads[group]] = column
                heads[group] += 1


@compiled
def rank_in_order(order: Any, n: int, rank: Any) -> None:
    """Write ranks 1..n of columns, (P, N) int32, in the order in which they are."""
    for p in range(order.shape[0]):
        for t in range(n):
            rank[p, order[p, t]] = t + 1

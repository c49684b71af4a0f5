"""Expected counts of pairs by their ranks, over all orders of ties, in closed form.

A sample whose key ties holds the ranks a..b around a row in the samples' space and c..d in
the projection; it counts 1/((b − a + 1)(d − c + 1)) at each pair of ranks.  The two spaces
cut the ranks 1..n into spans, and a span of one meets all spans of the other in n ranks
together, so that the work is of the order of n whatever ties.

Each number of a row's sums by columns (:mod:`somscale.kernels.rank_tally`) is made whole before
it is added, row after row: sums do not depend on how rows are cut into groups.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = ["add_expected_columns", "list_runs"]


@compiled
def _sum_of(low: int, high: int) -> float:
    """Σ of low..high, exact while it is below 2⁵³."""
    return float((low + high) * (high - low + 1) // 2)


@compiled
def _spread_span(
    order: Any, c: int, d: int, first: Any, ends: Any, inner: Any
) -> tuple[float, float, float, float]:
    """Spread the partners of the span c..d: count and sum below it, and above it.

    `inner` takes what falls on each of its ranks.
    """
    below, below_sum, above, above_sum = 0.0, 0.0, 0.0, 0.0
    for k in range(d - c + 1):
        inner[k] = 0.0
    t = c - 1
    while t < d:
        a = first[order[t]]
        b = ends[a]
        start = t
        t += 1
        if a == b:
            if a < c:
                below += 1.0
                below_sum += a
            elif a > d:
                above += 1.0
                above_sum += a
            else:
                inner[a - c] += 1.0
            continue
        while t < d and first[order[t]] == a:
            t += 1
        weight = (t - start) / (b - a + 1)
        high = min(b, c - 1)
        if a <= high:
            below += weight * (high - a + 1)
            below_sum += weight * _sum_of(a, high)
        low = max(a, d + 1)
        if low <= b:
            above += weight * (b - low + 1)
            above_sum += weight * _sum_of(low, b)
        for k in range(max(a, c), min(b, d) + 1):
            inner[k - c] += weight
    return below, below_sum, above, above_sum


@compiled
def _add_span(
    order: Any, c: int, d: int, first: Any, ends: Any, inner: Any, sums: Any, at: int, equal: bool
) -> None:
    below, below_sum, above, above_sum = _spread_span(order, c, d, first, ends, inner)
    stop = sums.shape[1]
    share = 1.0 / (d - c + 1)
    for k in range(c, min(d, stop - 1) + 1):
        sums[at + 2, k] += below * share
        sums[at + 3, k] += below_sum * share
        below += inner[k - c]
        below_sum += inner[k - c] * k
        if equal:
            sums[0, k] += inner[k - c] * share
    for k in range(d, c - 1, -1):
        if k < stop:
            sums[at, k] += above * share
            sums[at + 1, k] += above_sum * share
        above += inner[k - c]
        above_sum += inner[k - c] * k


@compiled
def _add_single(c: int, a: int, b: int, sums: Any, at: int, equal: bool) -> None:
    """Add the one sample at rank c, whose partner ranks are a..b; quicker than a span."""
    if a > c:
        sums[at, c] += 1.0
        sums[at + 1, c] += 0.5 * (a + b)
    elif b < c:
        sums[at + 2, c] += 1.0
        sums[at + 3, c] += 0.5 * (a + b)
    else:
        share = 1.0 / (b - a + 1)
        sums[at, c] += (b - c) * share
        sums[at + 1, c] += _sum_of(c + 1, b) * share
        sums[at + 2, c] += (c - a) * share
        sums[at + 3, c] += _sum_of(a, c - 1) * share
        if equal:
            sums[0, c] += share


@compiled
def _add_half(
    order: Any,
    own_ends: Any,
    first: Any,
    ends: Any,
    n: int,
    inner: Any,
    sums: Any,
    at: int,
    equal: bool,
) -> None:
    c = 1
    while c <= n and c < sums.shape[1]:
        d = own_ends[c]
        if c == d:
            a = first[order[c - 1]]
            _add_single(c, a, ends[a], sums, at, equal)
        else:
            _add_span(order, c, d, first, ends, inner, sums, at, equal)
        c = d + 1


@compiled
def add_expected_columns(
    order_in: Any,
    order_out: Any,
    first_in: Any,
    ends_in: Any,
    first_out: Any,
    ends_out: Any,
    n: int,
    inner: Any,
    sums: Any,
) -> None:
    """Add rows to sums by columns.

    Parameters
    ----------
    order_in, order_out : (P, N) int32
        Columns, nearest first; ties sorted by their ranks in the other space.
    first_in, first_out : (P, N) int32
        Least ranks of the columns' ties.
    ends_in, ends_out : (P, N) int32
        By the least rank of ties, their largest.
    n : int
        How many there are in a row.
    inner : (N,) float64
        Scratch.
    sums : (P or 1, 9, L) float64
        Added to.
    """
    for p in range(order_in.shape[0]):
        row = sums[p if sums.shape[0] > 1 else 0]
        _add_half(order_out[p], ends_out[p], first_in[p], ends_in[p], n, inner, row, 1, True)
        _add_half(order_in[p], ends_in[p], first_out[p], ends_out[p], n, inner, row, 5, False)


@compiled
def list_runs(
    order: Any,
    first_in: Any,
    ends_in: Any,
    first_out: Any,
    ends_out: Any,
    n: int,
    reach: int,
    runs: Any,
) -> int:
    """List what shares both spans in one row, where either span begins within reach.

    Parameters
    ----------
    order : (N,) int32
        Columns by output rank, ties by input rank.
    first_in, ends_in, first_out, ends_out, n
        As of `add_expected_columns`, of one row.
    reach : int
        See above.
    runs : (N, 6) int32
        Overwritten: a, b, c, d, and the places in `order` from which and up to which.

    Returns
    -------
    int
        How many runs there are.
    """
    found, t = 0, 0
    while t < n:
        start = t
        a, c = first_in[order[t]], first_out[order[t]]
        while t < n and first_in[order[t]] == a and first_out[order[t]] == c:
            t += 1
        if min(a, c) <= reach:
            runs[found, 0], runs[found, 1] = a, ends_in[a]
            runs[found, 2], runs[found, 3] = c, ends_out[c]
            runs[found, 4], runs[found, 5] = start, t
            found += 1
    return found

"""Sums by columns where equal keys share the least of their ranks.

The survey's and SOMperf's rule: neighbourhoods take whole groups of ties and may so hold
more than K samples.  Ranks are then 1 + how many are strictly nearer.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = ["add_least_columns", "weigh_columns"]


@compiled
def _add_half(order: Any, own: Any, other: Any, n: int, sums: Any, first: int, equal: bool) -> None:
    for t in range(n):
        column = order[t]
        c, o = own[column], other[column]
        if c >= sums.shape[1]:
            break
        if o > c:
            sums[first, c] += 1
            sums[first + 1, c] += o
        elif o < c:
            sums[first + 2, c] += 1
            sums[first + 3, c] += o
        elif equal:
            sums[0, c] += 1


@compiled
def add_least_columns(
    order_in: Any, order_out: Any, first_in: Any, first_out: Any, n: int, sums: Any
) -> None:
    """Add rows to sums by columns (:mod:`somscale.kernels.rank_tally`), by the least ranks of ties.

    Parameters
    ----------
    order_in, order_out : (P, N) int32
        Columns, nearest first.
    first_in, first_out : (P, N) int32
        Least ranks.
    n : int
        How many there are in a row.
    sums : (P, 9, L) int64
        Added to.
    """
    for p in range(order_in.shape[0]):
        _add_half(order_out[p], first_out[p], first_in[p], n, sums[p], 1, True)
        _add_half(order_in[p], first_in[p], first_out[p], n, sums[p], 5, False)


@compiled
def weigh_columns(sums: Any, weighted: Any) -> None:
    """Weighted sums of (ρ − K) and (r − K) of each row at each K.

    With A and B the neighbourhoods of a row in the samples' space and in the projection,
    intruders count |A|/|B| and extruders |B|/|A|.

    Parameters
    ----------
    sums : (P, 9, L) int64
        Rows' sums by columns, by the least ranks of ties.
    weighted : (P, 2, L) float64
        Overwritten at K = 1..L − 1.
    """
    for p in range(sums.shape[0]):
        row = sums[p]
        near_in, near_out, pairs_in, pairs_out, ranks_in, ranks_out = 0, 0, 0, 0, 0, 0
        for k in range(1, row.shape[1]):
            near_in += row[0, k] + row[5, k] + row[7, k]
            near_out += row[0, k] + row[1, k] + row[3, k]
            pairs_in += row[1, k] - row[7, k]
            pairs_out += row[5, k] - row[3, k]
            ranks_in += row[2, k] - k * row[7, k]
            ranks_out += row[6, k] - k * row[3, k]
            # the nearest other has rank 1: nothing is empty where there is another
            share = near_in / max(near_out, 1)
            weighted[p, 0, k] = (ranks_in - k * pairs_in) * share
            share = near_out / max(near_in, 1)
            weighted[p, 1, k] = (ranks_out - k * pairs_out) * share

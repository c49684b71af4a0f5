"""Counts of pairs by their ranks ρ (samples) and r (projection), each pair one rank of each.

Sums by *columns* hold, for every rank c, what the partners' ranks o are: of pairs with
r = c the partner is ρ, of pairs with ρ = c it is r.  Rows of (9, L) sums: 0 how many have
o = c; 1 to 4, of r = c: how many o > c, their Σ o, how many o < c, their Σ o; 5 to 8 the
same of ρ = c.  All tallies are linear in them.

The first axis of what is added to has one entry a row of pairs, or a single one for all.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = [
    "add_agreement",
    "add_cells",
    "add_columns",
    "add_marks",
    "add_matrix",
    "add_pair_columns",
    "list_near",
]


@compiled
def _add_half(order: Any, other: Any, n: int, sums: Any, first: int) -> None:
    above, above_sum, below, below_sum = (
        sums[first],
        sums[first + 1],
        sums[first + 2],
        sums[first + 3],
    )
    for c in range(1, min(n, sums.shape[1] - 1) + 1):
        o = other[order[c - 1]]
        above[c] += o > c
        above_sum[c] += o if o > c else 0
        below[c] += o < c
        below_sum[c] += o if o < c else 0


@compiled
def add_columns(order_in: Any, order_out: Any, rho: Any, r: Any, n: int, sums: Any) -> None:
    """Add rows that are sorted in both spaces to sums by columns.

    Parameters
    ----------
    order_in, order_out : (P, N) int32
        Columns, nearest first.
    rho, r : (P, N) int32
        Their ranks.
    n : int
        How many there are in a row.
    sums : (P or 1, 9, L) int64
        Added to.
    """
    for p in range(rho.shape[0]):
        row = sums[p if sums.shape[0] > 1 else 0]
        _add_half(order_out[p], rho[p], n, row, 1)
        _add_half(order_in[p], r[p], n, row, 5)
        for c in range(1, min(n, row.shape[1] - 1) + 1):
            row[0, c] += order_in[p, c - 1] == order_out[p, c - 1]


@compiled
def add_pair_columns(rho: Any, r: Any, counts: Any, sums: Any) -> None:
    """Add pairs, (P, M) of which `counts` are valid in each row, to sums by columns."""
    stop = sums.shape[2]
    for p in range(rho.shape[0]):
        row = sums[p if sums.shape[0] > 1 else 0]
        for q in range(counts[p]):
            k, c = rho[p, q], r[p, q]
            if k == c:
                if k < stop:
                    row[0, k] += 1
                continue
            at = 0 if k > c else 2
            if c < stop:
                row[1 + at, c] += 1
                row[2 + at, c] += k
            if k < stop:
                row[7 - at, k] += 1
                row[8 - at, k] += c


@compiled
def list_near(
    order_in: Any,
    order_out: Any,
    rho: Any,
    r: Any,
    n: int,
    reach: int,
    pairs: Any,
    counts: Any,
) -> None:
    """List the pairs with min(ρ, r) ≤ reach of rows that are sorted in both spaces.

    Parameters
    ----------
    order_in, order_out, rho, r, n
        As of `add_columns`.
    reach : int
        See above.
    pairs : (3, P, M) int32
        Overwritten: ρ, r and the other sample.
    counts : (P,) int64
        Overwritten: how many there are.
    """
    reach = min(reach, n)
    for p in range(rho.shape[0]):
        found = 0
        for c in range(reach):
            other = order_out[p, c]
            pairs[0, p, found], pairs[1, p, found] = rho[p, other], c + 1
            pairs[2, p, found] = other
            found += 1
        for c in range(reach):
            other = order_in[p, c]
            if r[p, other] > reach:
                pairs[0, p, found], pairs[1, p, found] = c + 1, r[p, other]
                pairs[2, p, found] = other
                found += 1
        counts[p] = found


@compiled
def add_cells(rho: Any, r: Any, counts: Any, cells: Any) -> None:
    """Count pairs at [min(ρ, r), |ρ − r|] of (P or 1, S + 1, T + 2) int64.

    The last column takes all that moved farther than T.
    """
    stop, beyond = cells.shape[1], cells.shape[2] - 1
    for p in range(rho.shape[0]):
        row = cells[p if cells.shape[0] > 1 else 0]
        for q in range(counts[p]):
            k, c = rho[p, q], r[p, q]
            if min(k, c) < stop:
                row[min(k, c), min(abs(k - c), beyond)] += 1


@compiled
def add_marks(
    rho: Any, r: Any, others: Any, counts: Any, marked: Any, inside: Any, back: Any
) -> None:
    """Count, of each row and of each other sample, the pairs inside the regions.

    Parameters
    ----------
    rho, r, others, counts
        Pairs.
    marked : (c, 2) int64
        κs and κt: a pair is inside where min(ρ, r) ≤ κs and |ρ − r| ≤ κt.
    inside : (P, c) int64
        Added to.
    back : (N, c) int64
        Added to, at the other sample.
    """
    for p in range(rho.shape[0]):
        for q in range(counts[p]):
            near, moved = min(rho[p, q], r[p, q]), abs(rho[p, q] - r[p, q])
            for m in range(marked.shape[0]):
                if near <= marked[m, 0] and moved <= marked[m, 1]:
                    inside[p, m] += 1
                    back[others[p, q], m] += 1


@compiled
def add_agreement(
    r: Any, others: Any, counts: Any, numbers: Any, labels: Any, agreement: Any
) -> None:
    """Count pairs of one label at r in (P or 1, L) int64; negative labels agree with nobody."""
    for p in range(r.shape[0]):
        row = agreement[p if agreement.shape[0] > 1 else 0]
        own = labels[numbers[p]]
        if own < 0:
            continue
        for q in range(counts[p]):
            if r[p, q] < row.shape[0] and labels[others[p, q]] == own:
                row[r[p, q]] += 1


@compiled
def add_matrix(rho: Any, r: Any, counts: Any, matrix: Any) -> None:
    """Count pairs at [ρ − 1, r − 1] of an (M, M) int64 corner of the co-ranking matrix."""
    for p in range(rho.shape[0]):
        for q in range(counts[p]):
            k, c = rho[p, q], r[p, q]
            if k <= matrix.shape[0] and c <= matrix.shape[0]:
                matrix[k - 1, c - 1] += 1

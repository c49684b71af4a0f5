"""Compiled loops over tiles of distances; imported only by the kernels that call them.

A tile has rows p and columns q; row p forms pairs with the columns from ``p + offset + 1``
on.  Rows come in the order of their groups (`order`, `starts`: see
:class:`somscale.reductions.pair_tiles.Runs`), so that all rows of a group are added up
column by column first, in vectors, and what belongs to two groups is done once a run.
In NumPy the same takes a pass over the tile for every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import REASSOCIATED, compiled, compiled_with

__all__ = [
    "add_between",
    "add_extremes",
    "add_map_distances",
    "add_to_columns",
    "add_to_rows",
    "add_totals",
    "add_within",
    "keep_nearest",
]


@compiled
def _sum_run(d: Any, order: Any, start: int, stop: int, offset: int, column_sums: Any) -> None:
    """Add up the rows of one run, column by column."""
    column_sums[:] = 0.0
    for place in range(start, stop):
        p = order[place]
        first = max(0, p + offset + 1)
        # counted from 0 the loop runs in vectors: no index can be negative
        row, sums = d[p, first:], column_sums[first:]
        for q in range(row.shape[0]):
            sums[q] += row[q]


@compiled
def add_map_distances(
    d: Any,
    order: Any,
    starts: Any,
    row_units: Any,
    column_units: Any,
    delta: Any,
    offset: int,
    column_sums: Any,
    totals: Any,
) -> None:
    """Add Σd and Σd·δ to `totals`.

    `row_units` has the unit of every run, `column_units` that of every column.
    """
    for r in range(row_units.shape[0]):
        _sum_run(d, order, starts[r], starts[r + 1], offset, column_sums)
        distances = delta[row_units[r]]
        total, product = 0.0, 0.0
        for q in range(column_sums.shape[0]):
            total += column_sums[q]
            product += column_sums[q] * distances[column_units[q]]
        totals[0] += total
        totals[1] += product


@compiled
def add_within(
    d: Any,
    row_order: Any,
    row_starts: Any,
    row_groups: Any,
    column_order: Any,
    column_starts: Any,
    column_groups: Any,
    offset: int,
    sums: Any,
    squares: Any,
    largest: Any,
) -> None:
    """Add up, by group, the pairs of rows and columns of the same group."""
    other = 0
    for r in range(row_groups.shape[0]):
        group = row_groups[r]
        while other < column_groups.shape[0] and column_groups[other] < group:
            other += 1
        if other == column_groups.shape[0] or column_groups[other] != group:
            continue
        total, square, highest = 0.0, 0.0, largest[group]
        for place in range(row_starts[r], row_starts[r + 1]):
            p = row_order[place]
            for column in range(column_starts[other], column_starts[other + 1]):
                q = column_order[column]
                if q > p + offset:
                    value = d[p, q]
                    total += value
                    square += value * value
                    highest = max(highest, value)
        sums[group] += total
        squares[group] += square
        largest[group] = highest


@compiled
def add_between(
    d: Any,
    order: Any,
    starts: Any,
    row_groups: Any,
    column_codes: Any,
    offset: int,
    column_sums: Any,
    sums: Any,
) -> None:
    """Add up the pairs of every two groups, (row's group, column's group)."""
    for r in range(row_groups.shape[0]):
        _sum_run(d, order, starts[r], starts[r + 1], offset, column_sums)
        group = row_groups[r]
        for q in range(column_sums.shape[0]):
            if column_codes[q] >= 0:
                sums[group, column_codes[q]] += column_sums[q]


@compiled
def add_extremes(
    d: Any,
    order: Any,
    starts: Any,
    row_groups: Any,
    column_codes: Any,
    offset: int,
    low: Any,
    high: Any,
    smallest: Any,
    largest: Any,
) -> None:
    """Keep the smallest and the largest distance of every two groups."""
    for r in range(row_groups.shape[0]):
        low[:] = np.inf
        high[:] = -np.inf
        for place in range(starts[r], starts[r + 1]):
            p = order[place]
            first = max(0, p + offset + 1)
            row, lowest, highest = d[p, first:], low[first:], high[first:]
            for q in range(row.shape[0]):
                lowest[q] = row[q] if row[q] < lowest[q] else lowest[q]
                highest[q] = row[q] if row[q] > highest[q] else highest[q]
        group = row_groups[r]
        for q in range(low.shape[0]):
            code = column_codes[q]
            if code >= 0:
                smallest[group, code] = min(smallest[group, code], low[q])
                largest[group, code] = max(largest[group, code], high[q])


@compiled
def add_to_columns(
    d: Any, order: Any, starts: Any, row_groups: Any, offset: int, column_sums: Any, sums: Any
) -> None:
    """Add each column's distances to the rows of every group to ``sums[group, column]``."""
    for r in range(row_groups.shape[0]):
        _sum_run(d, order, starts[r], starts[r + 1], offset, column_sums)
        own = sums[row_groups[r]]
        for q in range(column_sums.shape[0]):
            own[q] += column_sums[q]


@compiled
def keep_nearest(d: Any, order: Any, starts: Any, row_groups: Any, nearest: Any) -> None:
    """Keep each column's smallest distance to the rows of every group."""
    for r in range(row_groups.shape[0]):
        lowest = nearest[row_groups[r]]
        for place in range(starts[r], starts[r + 1]):
            row = d[order[place]]
            for q in range(row.shape[0]):
                lowest[q] = row[q] if row[q] < lowest[q] else lowest[q]


@compiled_with(REASSOCIATED)
def _sum_of(d: Any) -> float:
    total = 0.0
    for q in range(d.shape[0]):
        total += d[q]
    return total


@compiled
def add_to_rows(d: Any, starts: Any, groups: Any, offset: int, sums: Any) -> None:
    """Add each row's distances to the columns of every group to ``sums[group, row]``.

    Columns stand in the order of their groups already.
    """
    for p in range(d.shape[0]):
        first = max(0, p + offset + 1)
        for r in range(groups.shape[0]):
            if starts[r + 1] > first:
                sums[groups[r], p] += _sum_of(d[p, max(starts[r], first) : starts[r + 1]])


@compiled_with(REASSOCIATED)
def _row_totals(d: Any, e: Any, row: Any, sammon: bool, fourth: bool) -> None:
    d1, d2, e1, e2, de, stress = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    d_max, e_max, d4, d2e, ratio = 0.0, 0.0, 0.0, 0.0, 0.0
    collapsed = 0
    for q in range(d.shape[0]):
        x, y = d[q], e[q]
        square, gap = x * x, x - y
        d1 += x
        d2 += square
        e1 += y
        e2 += y * y
        de += x * y
        stress += gap * gap
        d_max = max(d_max, x)
        e_max = max(e_max, y)
    if fourth:
        for q in range(d.shape[0]):
            square = d[q] * d[q]
            d4 += square * square
            d2e += square * e[q]
    if sammon:
        for q in range(d.shape[0]):
            gap = d[q] - e[q]
            some = d[q] > 0.0
            ratio += gap * gap / (d[q] if some else np.inf)
            collapsed += (not some) and e[q] > 0.0
    row[0], row[1], row[2], row[3], row[4], row[5] = d1, d2, e1, e2, de, stress
    row[6], row[7], row[8], row[9], row[10] = d4, d2e, ratio, float(collapsed), d_max
    row[11] = e_max


@compiled
def add_totals(
    d: Any, e: Any, offset: int, sammon: bool, fourth: bool, row: Any, sums: Any, largest: Any
) -> None:
    """Add up what formulas of two distances read: see `TOTALS` of the reduction."""
    for p in range(d.shape[0]):
        first = max(0, p + offset + 1)
        if first >= d.shape[1]:
            return
        _row_totals(d[p, first:], e[p, first:], row, sammon, fourth)
        for number in range(sums.shape[0]):
            sums[number] += row[number]
        largest[0] = max(largest[0], row[10])
        largest[1] = max(largest[1], row[11])

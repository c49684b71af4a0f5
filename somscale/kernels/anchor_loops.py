"""Compiled loops that compare samples with a few fixed ones; imported where they run.

Rows are added one after the other, never several of them first: then sums are the same
in whatever parts the rows come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale.kernels.compiling import compiled

__all__ = ["add_centroid_rows", "add_group_rows", "add_own_group_rows", "add_total_rows"]


@compiled
def add_total_rows(d: Any, e: Any, first: int, sammon: bool, fourth: bool, sums: Any) -> None:
    """Add up for every column what formulas of two distances read: see `TOTALS`.

    Column q has its sums in ``sums[:, first + q]``.  Several loops over a row: each writes
    to two rows of sums at most, so that it runs in vectors.
    """
    stop = first + d.shape[1]
    d1, d2, e1, e2 = (
        sums[0, first:stop],
        sums[1, first:stop],
        sums[2, first:stop],
        sums[3, first:stop],
    )
    de, stress, d4 = sums[4, first:stop], sums[5, first:stop], sums[6, first:stop]
    d2e, ratio, collapsed = sums[7, first:stop], sums[8, first:stop], sums[9, first:stop]
    for p in range(d.shape[0]):
        x, y = d[p], e[p]
        for q in range(x.shape[0]):
            d1[q] += x[q]
            d2[q] += x[q] * x[q]
        for q in range(x.shape[0]):
            e1[q] += y[q]
            e2[q] += y[q] * y[q]
        for q in range(x.shape[0]):
            gap = x[q] - y[q]
            de[q] += x[q] * y[q]
            stress[q] += gap * gap
        if fourth:
            for q in range(x.shape[0]):
                square = x[q] * x[q]
                d4[q] += square * square
                d2e[q] += square * y[q]
        if sammon:
            for q in range(x.shape[0]):
                gap = x[q] - y[q]
                ratio[q] += gap * gap / (x[q] if x[q] > 0.0 else np.inf)
            for q in range(x.shape[0]):
                collapsed[q] += 1.0 if (x[q] == 0.0) & (y[q] > 0.0) else 0.0


@compiled
def add_group_rows(d: Any, row_groups: Any, first: int, sums: Any) -> None:
    """Add every row's distances to ``sums[its group, first + column]``."""
    for p in range(d.shape[0]):
        group = row_groups[p]
        if group < 0:
            continue
        own, x = sums[group, first : first + d.shape[1]], d[p]
        for q in range(x.shape[0]):
            own[q] += x[q]


@compiled
def add_own_group_rows(d: Any, row_groups: Any, column_groups: Any, first: int, sums: Any) -> None:
    """Add to ``sums[first + column]`` the distances of the rows of the column's group."""
    own = sums[first : first + d.shape[1]]
    for p in range(d.shape[0]):
        group, x = row_groups[p], d[p]
        if group < 0:
            continue
        for q in range(x.shape[0]):
            own[q] += x[q] if column_groups[q] == group else 0.0


@compiled
def add_centroid_rows(
    squares: Any,
    places: Any,
    groups: Any,
    hits: Any,
    scatter: Any,
    to_centroids: Any,
    plain: Any,
    squared: Any,
) -> None:
    """Add distances to all centroids, and find silhouettes of two kinds.

    Row ``places[i]`` of `squares` has sample i's squared distances.  What is None is not
    asked for: `to_centroids` is (K, K), `plain` and `squared` are (n,) and overwritten.
    """
    for i in range(places.shape[0]):
        row, k = squares[places[i]], groups[i]
        if to_centroids is not None:
            for m in range(row.shape[0]):
                to_centroids[k, m] += np.sqrt(row[m])
        if plain is not None:
            nearest = np.inf
            for m in range(row.shape[0]):
                if m != k and hits[m] > 0:
                    nearest = min(nearest, row[m])
            plain[i] = _silhouette(np.sqrt(row[k]), np.sqrt(nearest), hits[k])
        if squared is not None:
            nearest = np.inf
            for m in range(row.shape[0]):
                if m != k and hits[m] > 0:
                    nearest = min(nearest, row[m] + scatter[m] / hits[m])
            others = max(hits[k] - 1, 1)
            # the factor first: n times a square may overflow
            own = (hits[k] / others) * row[k] + scatter[k] / others
            squared[i] = _silhouette(own, nearest, hits[k])


@compiled
def _silhouette(own: float, nearest: float, size: int) -> float:
    if nearest == np.inf:
        return np.nan
    if size == 1:
        return 0.0
    larger = max(own, nearest)
    return (nearest - own) / larger if larger > 0.0 else np.nan

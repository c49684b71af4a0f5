"""Expected tables of pairs by their ranks, from runs of samples that share both spans of ranks.

Runs are what :func:`somscale.kernels.rank_expected.list_runs` lists: a, b, c, d, start, stop.
"""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import compiled

__all__ = [
    "add_expected_agreement",
    "add_expected_cells",
    "add_expected_marks",
    "add_expected_matrix",
]


@compiled
def add_expected_cells(runs: Any, n_runs: int, sums: Any, cells: Any) -> None:
    """Add one row's pairs at [min(ρ, r), |ρ − r|] of zeros, (S + 1, T + 2) float64.

    Parameters
    ----------
    runs : (R, 6) int32
        Runs.
    n_runs : int
        How many there are.
    sums : (9, S + 1) float64
        The row's sums by columns: what they tell of all |ρ − r| goes, less what is near,
        to the last column.
    cells : (S + 1, T + 2) float64
        Added to.
    """
    s, t = cells.shape[0] - 1, cells.shape[1] - 2
    for i in range(n_runs):
        a, b, c, d = runs[i, 0], runs[i, 1], runs[i, 2], runs[i, 3]
        weight = (runs[i, 5] - runs[i, 4]) / ((b - a + 1.0) * (d - c + 1.0))
        for k in range(max(a, c - t), min(b, d + t, s + t) + 1):
            high = min(d, k + t, s if k > s else k + t)
            for r in range(max(c, k - t), high + 1):
                cells[min(k, r), abs(k - r)] += weight
    for k in range(1, s + 1):
        near = 0.0
        for moved in range(t + 1):
            near += cells[k, moved]
        # what rounding leaves of nothing is nothing
        beyond = (sums[0, k] + sums[1, k] + sums[5, k]) - near
        cells[k, t + 1] += beyond if abs(beyond) > 1e-12 else 0.0


@compiled
def _count_inside(a: int, b: int, c: int, d: int, s: int, t: int) -> int:
    """Pairs of ranks of a..b × c..d with min ≤ s and a difference ≤ t; few of a..b is quick."""
    inside = 0
    for k in range(max(a, c - t), min(b, d + t, s + t) + 1):
        high = min(d, k + t)
        if k > s:
            high = min(high, s)
        inside += max(0, high - max(c, k - t) + 1)
    return inside


@compiled
def add_expected_marks(
    runs: Any, n_runs: int, order: Any, marked: Any, inside: Any, back: Any
) -> None:
    """Add the chances of one row's pairs to be inside the regions, by row and other sample.

    Parameters
    ----------
    runs : (R, 6) int32
        Runs.
    n_runs : int
        How many there are.
    order : (N,) int32
        Columns of which runs tell the places.
    marked : (c, 2) int64
        κs and κt: a pair is inside where min(ρ, r) ≤ κs and |ρ − r| ≤ κt.
    inside : (c,) float64
        Added to.
    back : (N, c) float64
        Added to, at the other sample.
    """
    for i in range(n_runs):
        a, b, c, d = runs[i, 0], runs[i, 1], runs[i, 2], runs[i, 3]
        size = (b - a + 1.0) * (d - c + 1.0)
        for m in range(marked.shape[0]):
            s, t = marked[m, 0], marked[m, 1]
            if b - a <= d - c:
                chance = _count_inside(a, b, c, d, s, t) / size
            else:
                chance = _count_inside(c, d, a, b, s, t) / size
            if chance > 0.0:
                inside[m] += chance * (runs[i, 5] - runs[i, 4])
                for place in range(runs[i, 4], runs[i, 5]):
                    back[order[place], m] += chance


@compiled
def add_expected_agreement(
    order: Any, ends: Any, n: int, own: int, labels: Any, agreement: Any
) -> None:
    """Add one row's pairs of one label at r.

    Parameters
    ----------
    order : (N,) int32
        Columns by output rank.
    ends : (N,) int32
        By the least output rank of ties, their largest.
    n : int
        How many there are.
    own : int
        The row's label, not negative.
    labels : (N,) integers
        Labels.
    agreement : (L,) float64
        Added to.
    """
    c = 1
    while c <= n and c < agreement.shape[0]:
        d = ends[c]
        alike = 0
        for place in range(c - 1, d):
            alike += labels[order[place]] == own
        for k in range(c, min(d, agreement.shape[0] - 1) + 1):
            agreement[k] += alike / (d - c + 1.0)
        c = d + 1


@compiled
def add_expected_matrix(runs: Any, n_runs: int, matrix: Any) -> None:
    """Add one row's pairs at [ρ − 1, r − 1] of an (M, M) float64 corner."""
    size = matrix.shape[0]
    for i in range(n_runs):
        a, b, c, d = runs[i, 0], runs[i, 1], runs[i, 2], runs[i, 3]
        weight = (runs[i, 5] - runs[i, 4]) / ((b - a + 1.0) * (d - c + 1.0))
        for k in range(a, min(b, size) + 1):
            for r in range(c, min(d, size) + 1):
                matrix[k - 1, r - 1] += weight

"""Compiled comparison of the ways over two maps, imported only by the index that asks for it."""

from __future__ import annotations

from typing import Any

from somscale.kernels.compiling import REASSOCIATED, compiled, compiled_with

__all__ = ["add_differences"]


@compiled_with(REASSOCIATED)
def _sum_row(
    start: int, stop: int, near: float, far: float, ways: Any, others: Any, units: Any, reaches: Any
) -> float:
    """Σ |a − b| / (a + b) of one sample with those from `start` to before `stop`."""
    # counted from 0 the loop runs in vectors: no index can be negative
    one, two = units[0, start:stop], units[1, start:stop]
    reach, other_reach = reaches[0, start:stop], reaches[1, start:stop]
    total = 0.0
    for j in range(one.shape[0]):
        a = near + ways[one[j]] + reach[j]
        b = far + others[two[j]] + other_reach[j]
        whole = a + b
        total += abs(a - b) / (whole if whole > 0.0 else 1.0)
    return total


@compiled
def add_differences(
    rows: Any, later: bool, units: Any, reaches: Any, paths: Any, other_paths: Any, sums: Any
) -> None:
    """Σ |a − b| / (a + b) of some samples with others, 0 where both are 0, into `sums`.

    `rows` are the samples; with `later` each is compared with those after it, else with all
    but itself.  a and b are the ways on one map and the other: `units` and `reaches`, (2, N),
    hold each sample's unit and its distance to that; `paths` and `other_paths` the lengths
    between units.  A row's sum is the same in whatever parts the rows come.
    """
    n = units.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        near, far = reaches[0, i], reaches[1, i]
        ways, others = paths[units[0, i]], other_paths[units[1, i]]
        sums[r] = _sum_row(i + 1, n, near, far, ways, others, units, reaches)
        if not later:
            sums[r] += _sum_row(0, i, near, far, ways, others, units, reaches)

"""Fair timing: the contestants take turns, and the medians are compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["compare"]


def compare(
    contestants: Mapping[str, Callable[[], object]], *, repeats: int = 5
) -> dict[str, float]:
    """Median seconds of every contestant, run in turn after one warm-up each."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, values in seconds.items():
        print(f"{name:<44} {medians[name]:8.3f} s  (from {min(values):.3f} to {max(values):.3f})")
    return medians

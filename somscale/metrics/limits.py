"""Values that are too large to make without being asked."""

from __future__ import annotations

from typing import Final

from somscale.metrics.compute import Problem
from somscale.metrics.spec import MetricSpec

__all__ = ["size_obstacle"]

MAX_CELLS: Final = 1 << 26
"""Cells of a table of units and classes: 512 MiB."""


def size_obstacle(spec: MetricSpec, problem: Problem) -> str | None:
    """Why the value of an index would be too large; None when it is not."""
    if "class" not in spec.dims:
        return None
    n_classes = problem.size("class", "")
    n_units = max(problem.size("unit", candidate) for candidate in problem.candidates)
    if n_units * n_classes <= MAX_CELLS:
        return None
    return (
        f"its table of {n_units} units and {n_classes} classes would hold "
        f"{n_units * n_classes * 8 / 2**30:.1f} GiB (limit: 0.5)"
    )

"""What a training would read and hold, without reading a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somscale.codebook.passes import gaps_job
from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.linear.run import plan_job
from somscale.engine.memory import budget_bytes, refuse_more_than_budget
from somscale.engine.planview import pass_lines
from somscale.engine.readers.samples import Samples, open_samples
from somscale.errors import MemoryBudgetError
from somscale.topology import Grid
from somscale.training.first_codes import check_init
from somscale.training.passes import Material
from somscale.training.plane import way_of_plane
from somscale.training.settings import Settings, checked_settings

__all__ = ["PlannedRead", "TrainingPlan", "plan_training", "refuse_too_many_units"]


@dataclass(frozen=True)
class PlannedRead:
    """One kind of read of the samples.

    Attributes
    ----------
    purpose : str
        What it is for.
    times : int
        How often it is made, at most.
    plan : LinearPlan
        What it takes each time.
    """

    purpose: str
    times: int
    plan: LinearPlan


@dataclass(frozen=True)
class TrainingPlan:
    """What a training would do.

    Attributes
    ----------
    n_units, epochs : int
        Units of the map, and epochs at most.
    reads : sequence of PlannedRead
        Reads of the samples, in their order.
    others : sequence of str
        Reads that are not cut into tasks, in words.
    """

    n_units: int
    epochs: int
    reads: Sequence[PlannedRead]
    others: Sequence[str] = ()

    @property
    def peak_memory(self) -> int:
        """Projected peak of one worker process in bytes, in the reads that are cut into tasks."""
        return max(read.plan.memory.peak for read in self.reads)

    @property
    def tasks(self) -> int:
        """Tasks that read samples."""
        return sum(read.times * read.plan.tasks for read in self.reads)

    @property
    def bytes_read(self) -> int:
        """Bytes of samples that the tasks read."""
        return sum(read.times * read.plan.bytes_read for read in self.reads)

    def __repr__(self) -> str:
        lines = [f"<training plan: {_count(self.n_units, 'unit')}, {_count(self.epochs, 'epoch')}>"]
        for read in self.reads:
            lines.append(f"{read.purpose}: {_count(read.times, 'pass', 'passes')}")
            lines += pass_lines(read.plan)
        return "\n".join([*lines, *self.others])


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def plan_training(
    samples: Any, grid: Grid, *, settings: Mapping[str, Any], init: Any, reading: Mapping[str, Any]
) -> TrainingPlan:
    """Plan the reads of a training.

    Parameters
    ----------
    samples, grid, init
        As for :func:`somscale.train`.
    settings, reading : mapping
        All its other arguments, those that say how samples are read apart.

    Raises
    ------
    InputError
        Bad arguments.
    MemoryBudgetError
        A read, or the map itself, does not fit the budget.
    """
    opened = open_samples(samples, **reading)
    refuse_too_many_units(grid, opened.shape[1])
    asked = checked_settings(grid, **settings)
    check_init(init)
    return _planned(opened, asked, init)


def _planned(samples: Samples, settings: Settings, init: Any) -> TrainingPlan:
    grid, epochs, n_features = settings.grid, settings.epochs, samples.shape[1]
    material = Material(samples)
    reads: list[PlannedRead] = []
    others: list[str] = []
    if samples.missing == "drop_any_feature":
        reads.append(PlannedRead("features with gaps", 1, plan_job(gaps_job(samples))))
    way = way_of_plane(samples) if isinstance(init, str) and init == "plane" else ""
    if way == "features":
        # what does not fit is made of some samples instead
        try:
            scatter = plan_job(material.scatter_job(np.zeros(n_features), 1.0))
            times = 2 if material.partial else 1
            reads.append(PlannedRead("first codes", times, scatter))
        except MemoryBudgetError:
            way = ""
    if way == "samples":
        others.append("first codes: 2 or 3 reads of the samples, some features at a time")
    codes = np.zeros((grid.size, n_features))
    if settings.algorithm == "batch":
        reads.append(PlannedRead("epochs", epochs, plan_job(material.units_job(codes))))
    else:
        reads.append(PlannedRead("checks", 1, plan_job(material.units_job(codes[:1]))))
        others.append(
            f"epochs: {_count(epochs, 'read')} of the samples, in pools of up to 64 MiB, "
            "one sample after the other"
        )
    return TrainingPlan(grid.size, epochs, reads, others)


def refuse_too_many_units(grid: Grid, n_features: int) -> None:
    """Refuse a grid whose codes alone, before and after a step, exceed the budget.

    Raises
    ------
    MemoryBudgetError
        They do.
    """
    needed = 2 * 8 * grid.size * n_features
    if needed > budget_bytes():
        refuse_more_than_budget(
            needed,
            f"a map of {grid.size:,} units and {n_features:,} features",
            "take a smaller grid",
        )

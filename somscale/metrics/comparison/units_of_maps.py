"""The units of the same samples on several maps, in one read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from somscale.codebook import TrainedMap
from somscale.codebook.passes import job_over, units_reduction
from somscale.engine.linear.run import run_job
from somscale.engine.memory import refuse_more_than_budget
from somscale.errors import InputError
from somscale.metrics.asking.problem import READING, pose
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["units_on_maps"]


def units_on_maps(
    samples: Any, maps: Mapping[str, Any], reading: Mapping[str, Any], name: str, *, row_bytes: int
) -> list[tuple[Grid, UnitStats]]:
    """The grid and the samplewise statistics of every map.

    Parameters
    ----------
    samples, maps, reading
        What the user gave.
    name : str
        Of the function that asks, for errors.
    row_bytes : int
        What it will hold of every sample and map besides.

    Raises
    ------
    InputError
        An option that says nothing of how samples are read, sample weights, or what is no map.
    MemoryBudgetError
        The units of so many samples do not fit the memory budget.
    """
    for option in reading:
        if option not in READING:
            raise InputError(
                f"{name} has no parameter {option!r}; samples are read by {', '.join(READING)}"
            )
    if reading.get("sample_weights") is not None:
        raise InputError(
            f"sample_weights= has no meaning for {name}, which compares pairs of samples of which "
            "every one counts once; leave it out"
        )
    problem = pose(samples, maps, None, {}, {**READING, **reading})
    opened = problem.samples
    trained = [c for c in problem.candidates.values() if isinstance(c, TrainedMap)]
    if opened is None or len(trained) < len(maps):
        raise InputError(f"{name} compares maps; make them with ss.codebook(weights, grid)")
    n, kept = opened.shape[0], 12  # the unit and the distance of every sample
    refuse_more_than_budget(
        n * len(maps) * (kept + row_bytes),
        f"{name} of {n} samples on {len(maps)} maps",
        "give some of the samples",
    )
    reductions = [
        units_reduction(own.codes, opened, name=label, samplewise=True)
        for label, own in zip(problem.candidates, trained, strict=True)
    ]
    stats = run_job(job_over(opened, reductions))
    return [(own.grid, found) for own, found in zip(trained, stats, strict=True)]

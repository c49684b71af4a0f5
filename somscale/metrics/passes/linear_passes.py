"""The one read of the samples that maps and tables of labels need, for all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somscale.codebook import TrainedMap
from somscale.codebook.passes import job_over, units_reduction
from somscale.engine.linear.job import LinearJob
from somscale.engine.readers.columns import Column, RowValues
from somscale.metrics.asking.question import Problem, Request
from somscale.reductions.contingency import (
    DENSE_CELLS,
    LARGE_DENSE_CELLS,
    ContingencyReduction,
)
from somscale.reductions.marginals import MarginalsReduction
from somscale.reductions.units import UnitsReduction

__all__ = ["first_job"]


def first_job(
    problem: Problem, requests: Sequence[Request], *, units_of_samples: bool = False
) -> LinearJob:
    """The pass of maps over their samples, and of labels over clusters or units.

    Parameters
    ----------
    units_of_samples : bool
        Keep the best-matching unit of every sample for passes that follow.
    """
    needs = {need for request in requests for need in request.spec.needs}
    samplewise = units_of_samples or any(request.spec.sample_field for request in requests)
    columns: dict[str, RowValues] = {} if problem.labels is None else {"labels": problem.labels}
    reductions: list[Any] = []
    for name, candidate in problem.candidates.items():
        if isinstance(candidate, Column):
            seen, width = f"clusters:{name}", candidate.n_categories
            columns[seen] = candidate
        elif isinstance(candidate, TrainedMap):
            seen, width = f"units:{name}", len(candidate.codes)
            if problem.samples is None:
                raise ValueError("a map is judged on samples")
            reductions.append(
                units_reduction(
                    candidate.codes,
                    problem.samples,
                    name=seen,
                    samplewise=samplewise,
                    silhouettes="silhouettes" in needs,
                )
            )
            if "marginals" in needs:
                # after the units, which say who takes part
                reductions.append(
                    MarginalsReduction(candidate.codes, seen, name=f"marginals:{name}")
                )
        else:
            continue
        if "table" in needs and problem.labels is not None:
            # a pass over labels alone has long tiles, which a large dense table suits
            cells = LARGE_DENSE_CELLS if isinstance(candidate, Column) else DENSE_CELLS
            shape = problem.labels.n_categories, width
            columns_used = (problem.labels, candidate)
            complete = all(isinstance(c, Column) and not c.n_excluded for c in columns_used)
            reductions.append(
                ContingencyReduction(
                    "labels",
                    seen,
                    *shape,
                    name=f"table:{name}",
                    dense_cells=cells,
                    complete=complete,
                )
            )
    # after the units of all maps, which say what is summed
    reductions += problem.resampling
    samples = problem.samples
    reads = samples is not None and any(isinstance(r, UnitsReduction) for r in reductions)
    if samples is None or not reads:
        return LinearJob(reductions, problem.n_samples, columns=columns)
    return job_over(samples, reductions, columns)

"""From a user's arguments to finished values: which passes are needed, run or put off.

``evaluate`` and every index's own function come through here, so they give
the same answer for the same work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from somscale.codebook import TrainedMap
from somscale.codebook.passes import gaps_job, job_over, units_reduction
from somscale.engine.arrays import call_later, later_array, sample_array
from somscale.engine.linear.cutting import LinearPlan
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import lazy_pass, plan_job, run_job
from somscale.engine.readers.columns import Column, RowValues
from somscale.engine.readers.samples import Samples
from somscale.engine.tokens import job_token
from somscale.metrics.cluster_passes import find_moments, find_moments_later, plan_moments
from somscale.metrics.spec import MetricSpec
from somscale.metrics.unit_columns import grid_of
from somscale.metrics.values import Value, note_of, number_of, undefined
from somscale.reductions.contingency import (
    DENSE_CELLS,
    LARGE_DENSE_CELLS,
    ContingencyReduction,
)
from somscale.reductions.units import UnitsReduction

__all__ = ["Answer", "Problem", "Request", "plan_problem", "solve"]


@dataclass(frozen=True)
class Request:
    """An index to compute, under a label, with all its parameters.

    Attributes
    ----------
    label : str
        Name of the result.
    spec : MetricSpec
        The index.
    parameters : mapping
        Every parameter; the one that is a dimension as a 1-D array.
    """

    label: str
    spec: MetricSpec
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """Candidates of one kind, and what they are judged on.

    Attributes
    ----------
    candidates : mapping of str to TrainedMap or Column
        Maps, or clusterings.
    samples : Samples or None
        Not needed for clusterings against labels.
    labels : Column or None
        Classes.
    """

    candidates: Mapping[str, TrainedMap | Column]
    samples: Samples | None = None
    labels: Column | None = None

    @property
    def lazy(self) -> bool:
        """Whether results are lazy."""
        return self.samples is not None and self.samples.lazy

    @property
    def n_samples(self) -> int:
        """Samples N."""
        if self.samples is not None:
            return self.samples.shape[0]
        return max(len(c) for c in self.candidates.values() if isinstance(c, Column))

    def size(self, dim: str, candidate: str) -> int:
        """Length of a dimension of a value."""
        fixed = {"part": 3, "pair": 4}
        if dim in fixed:
            return fixed[dim]
        if dim == "feature" and self.samples is not None:
            return self.samples.features.size
        own = self.candidates.get(candidate)
        if dim in ("cluster", "other_cluster") and isinstance(own, Column):
            return own.n_categories
        if dim == "class" and self.labels is not None:
            return self.labels.n_categories
        grid = grid_of(self.candidates[candidate])
        if dim == "unit" and grid is not None:
            return grid.size
        return self.n_samples


@dataclass(frozen=True)
class Answer:
    """The value of one index for one candidate; numpy, or Dask where results are lazy."""

    value: Any
    note: Any


def plan_problem(problem: Problem, requests: Sequence[Request]) -> list[LinearPlan]:
    """Plan the passes of a problem without computing anything."""
    plans = []
    if problem.samples is not None and problem.samples.missing == "drop_any_feature":
        plans.append(plan_job(gaps_job(problem.samples)))
    job, samples = _job(problem, requests), problem.samples
    if job.reductions:
        plans.append(plan_job(job, lazy=problem.lazy))
    clusterings = _judged_clusterings(problem, requests)
    if samples is not None and clusterings:
        plans += plan_moments(samples, clusterings)
    return plans


def solve(problem: Problem, requests: Sequence[Request]) -> dict[str, dict[str, Answer]]:
    """Compute indices for all candidates: in one pass, for moments of clusters in two.

    Returns
    -------
    dict
        Candidate to label to answer.
    """
    job = _job(problem, requests)
    if problem.lazy:
        return _solve_later(problem, requests, job)
    found: dict[str, Any] = {}
    if job.reductions:
        found.update(zip((r.name for r in job.reductions), run_job(job), strict=True))
    clusterings = _judged_clusterings(problem, requests)
    if problem.samples is not None and clusterings:
        moments = find_moments(problem.samples, clusterings)
        found.update({f"moments:{name}": stats for name, stats in moments.items()})
    return {
        candidate: {
            request.label: _answer_now(problem, request, _bundle(problem, candidate, found))
            for request in requests
        }
        for candidate in problem.candidates
    }


def _job(problem: Problem, requests: Sequence[Request]) -> LinearJob:
    needs = {need for request in requests for need in request.spec.needs}
    samplewise = any(request.spec.sample_field for request in requests)
    columns: dict[str, RowValues] = {} if problem.labels is None else {"labels": problem.labels}
    reductions: list[Any] = []
    for name, candidate in problem.candidates.items():
        if isinstance(candidate, Column):
            seen, width = f"clusters:{name}", candidate.n_categories
            columns[seen] = candidate
        else:
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
    samples = problem.samples
    reads = samples is not None and any(isinstance(r, UnitsReduction) for r in reductions)
    if samples is None or not reads:
        return LinearJob(reductions, problem.n_samples, columns=columns)
    return job_over(samples, reductions, columns)


def _judged_clusterings(problem: Problem, requests: Sequence[Request]) -> dict[str, Column]:
    """The clusterings whose moments are asked for."""
    if not any("moments" in request.spec.needs for request in requests):
        return {}
    return {name: c for name, c in problem.candidates.items() if isinstance(c, Column)}


def _bundle(problem: Problem, candidate: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The finished statistics of one candidate, by the names that formulas ask for."""
    samples = problem.samples
    return {
        "table": found.get(f"table:{candidate}"),
        "moments": found.get(f"moments:{candidate}"),
        "units": found.get(f"units:{candidate}"),
        "silhouettes": found.get(f"units:{candidate}"),
        "grid": grid_of(problem.candidates[candidate]),
        "left_out": 0 if samples is None else samples.features.size - samples.shape[1],
    }


def _apply(request: Request, *statistics: Any) -> Value:
    with np.errstate(over="ignore", invalid="ignore"):
        value = request.spec.formula(*statistics, **request.parameters)
    if request.spec.scalar and not note_of(value) and not np.isfinite(number_of(value)):
        return undefined("the value overflows float64; rescale the samples and the map")
    return value


def _answer_now(problem: Problem, request: Request, bundle: Mapping[str, Any]) -> Answer:
    value = _apply(request, *(bundle[need] for need in request.spec.needs))
    return Answer(_whole(value, *_places(problem, request)), note_of(value))


def _places(problem: Problem, request: Request) -> tuple[int, Samples | None]:
    """Where a value has features of which a mask left some out, and the samples that tell."""
    samples, dims = problem.samples, request.spec.dims
    if samples is None or samples.kept is None or "feature" not in dims:
        return 0, None
    return dims.index("feature"), replace(samples, source=None, blocks=None)


def _whole(value: Value, axis: int, samples: Samples | None) -> Any:
    """The bare value, nan at features that a mask left out."""
    number = number_of(value)
    if samples is None:
        return number
    return np.moveaxis(samples.whole(np.moveaxis(number, axis, -1)), -1, axis)


def _solve_later(
    problem: Problem, requests: Sequence[Request], job: LinearJob
) -> dict[str, dict[str, Answer]]:
    token = job_token(job)
    number_by_name = {r.name: number for number, r in enumerate(job.reductions)}
    found: dict[str, Any] = {}
    if job.reductions:
        pending = lazy_pass(job, token)
        found = {name: pending.stats[number] for name, number in number_by_name.items()}
    clusterings = _judged_clusterings(problem, requests)
    if problem.samples is not None and clusterings:
        moments, own_token = find_moments_later(problem.samples, clusterings)
        found.update({f"moments:{name}": stats for name, stats in moments.items()})
        token = f"{token}-{own_token}" if job.reductions else own_token
    answers: dict[str, dict[str, Answer]] = {}
    for candidate in problem.candidates:
        bundle = _bundle(problem, candidate, found)
        answers[candidate] = {}
        for request in requests:
            if request.spec.sample_field:
                units = number_by_name[f"units:{candidate}"]
                field = request.spec.sample_field
                dtype = job.reductions[units].fields[field].dtype
                values = sample_array(pending.pieces[units, field], dtype)
                answers[candidate][request.label] = Answer(values, "")
            else:
                answers[candidate][request.label] = _answer_later(
                    problem, candidate, request, bundle, token
                )
    return answers


def _answer_later(
    problem: Problem, candidate: str, request: Request, bundle: Mapping[str, Any], token: str
) -> Answer:
    spec = request.spec
    names = (spec.parameter,) if spec.parameter else ()
    shape = tuple(
        len(request.parameters[dim]) if dim in names else problem.size(dim, candidate)
        for dim in spec.dims
    )
    key = f"{request.label}-{candidate}-{_question(request, bundle)}-{token}"
    value = call_later(_apply, request, *(bundle[n] for n in spec.needs), name=f"index-{key}")
    places = _places(problem, request)
    number = call_later(_whole, value, *places, name=f"value-{key}")
    note = call_later(_note_array, value, name=f"note-{key}")
    return Answer(
        later_array(number, shape, spec.dtype), later_array(note, (), np.dtypes.StringDType())
    )


def _question(request: Request, bundle: Mapping[str, Any]) -> str:
    """What a formula depends on besides the pass: equal keys must mean equal values."""
    given = sorted((n, np.asarray(v).tolist()) for n, v in request.parameters.items())
    text = repr((request.spec.name, given))
    if "grid" in request.spec.needs:
        spec = sorted(bundle["grid"].to_spec().items())
        text += repr([(n, v.tobytes() if isinstance(v, np.ndarray) else v) for n, v in spec])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _note_array(value: Value) -> np.ndarray[Any, Any]:
    return np.array(note_of(value), dtype=np.dtypes.StringDType())

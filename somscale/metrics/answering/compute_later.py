"""The answers for samples in Dask arrays: every pass and every formula put off."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from somscale.engine.arrays import call_later, join_later, later_array, sample_array
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import lazy_pass
from somscale.engine.tokens import job_token
from somscale.metrics.answering.answers import (
    apply,
    bundle_of,
    judged_clusterings,
    pair_bundle,
    places_of,
    whole,
)
from somscale.metrics.answering.estimates import ERRORS, errors_of
from somscale.metrics.asking.diagram_bins import DIAGRAM_DIMS, DIAGRAM_ENDS, diagram_ends
from somscale.metrics.asking.pair_wishes import Wish, wished
from somscale.metrics.asking.question import Answer, Problem, Request
from somscale.metrics.asking.rank_wishes import RANKS, RankKey, rank_bundle, rank_wishes
from somscale.metrics.asking.sampling import Estimate
from somscale.metrics.passes.cluster_passes import find_moments_later
from somscale.metrics.passes.pair_linear import needs_radii
from somscale.metrics.passes.pair_linear_later import find_linear_later
from somscale.metrics.passes.pair_passes_later import (
    find_walks_later,
    merge_pairs_later,
    walks_token,
)
from somscale.metrics.passes.rank_finding import RankFinder
from somscale.metrics.passes.rank_passes_later import ranks_token
from somscale.metrics.passes.sampled_passes_later import find_sampled_later
from somscale.metrics.values import Value, note_of

__all__ = ["solve_later"]


def solve_later(
    problem: Problem,
    requests: Sequence[Request],
    wishes: Sequence[Wish],
    job: LinearJob,
    finder: RankFinder,
) -> dict[str, dict[str, Answer]]:
    """The answers for samples in Dask arrays, delayed.

    Parameters
    ----------
    job : LinearJob
        The first read of the samples.
    finder : RankFinder
        Where ranks of neighbours come from.
    """
    # walks alone are named by what they walk: equal ones are computed once
    ranks = rank_wishes(problem, requests)
    token = job_token(job) if job.reductions or not (wishes or ranks) else ""
    number_by_name = {r.name: number for number, r in enumerate(job.reductions)}
    found: dict[str, Any] = {}
    pieces: dict[tuple[int, str], Any] = {}
    if job.reductions:
        pending = lazy_pass(job, token)
        pieces.update(pending.pieces)
        found = {name: pending.stats[number] for name, number in number_by_name.items()}
    clusterings = judged_clusterings(problem, requests, wishes)
    own_token = ""
    if problem.samples is not None and clusterings:
        moments, own_token = find_moments_later(
            problem.samples, clusterings, samplewise=needs_radii(wishes)
        )
        found.update({f"moments:{name}": stats for name, stats in moments.items()})
        token = f"{token}-{own_token}" if job.reductions else own_token
    of_pairs: dict[Wish, Any] = {}
    of_ranks: dict[RankKey, Any] = {}
    units: dict[str, Any] = {}
    if wishes or ranks:
        units = {
            name.removeprefix("units:"): join_later(pieces[number, "bmu"], f"{name}-{token}")
            for name, number in number_by_name.items()
            if name.startswith("units:") and (number, "bmu") in pieces
        }
        token = walks_token(problem, wishes, token)
        of_pairs = merge_pairs_later(
            find_linear_later(problem, wishes, found, own_token, token),
            find_walks_later(problem, wishes, found, units, token),
            token,
        )
        of_pairs |= find_sampled_later(problem, wishes, found, units, token)
        token = ranks_token(problem, ranks, token) if ranks else token
        of_ranks = finder.later(problem, ranks, found, units, token)
    answers: dict[str, dict[str, Answer]] = {}
    for candidate in problem.candidates:
        bundle = bundle_of(problem, candidate, found, units)
        answers[candidate] = {}
        for request in requests:
            if request.spec.sample_field:
                number = number_by_name[f"units:{candidate}"]
                field = request.spec.sample_field
                dtype = job.reductions[number].fields[field].dtype
                values = sample_array(pieces[number, field], dtype)
                answers[candidate][request.label] = Answer(values, "")
            else:
                own = bundle | pair_bundle(problem, candidate, request, of_pairs)
                own |= rank_bundle(problem, candidate, request, of_ranks)
                answers[candidate][request.label] = _answer_later(
                    problem, candidate, request, own, token
                )
    return answers


def _answer_later(
    problem: Problem, candidate: str, request: Request, bundle: Mapping[str, Any], token: str
) -> Answer:
    spec = request.spec
    sizes = {name: len(request.parameters[name]) for name in spec.parameters_as_dims}
    sizes |= dict.fromkeys(("rank_in", "rank_out"), request.parameters.get("k_max", 0))
    sizes |= dict.fromkeys(DIAGRAM_DIMS, request.parameters.get("bins", 0))
    shape = tuple(sizes[dim] if dim in sizes else problem.size(dim, candidate) for dim in spec.dims)
    key = f"{request.label}-{candidate}-{_question(request, bundle)}-{token}"
    value = call_later(apply, request, *(bundle[n] for n in spec.needs), name=f"index-{key}")
    places = places_of(problem, request)
    number = call_later(whole, value, *places, name=f"value-{key}")
    note = call_later(_note_array, value, name=f"note-{key}")
    coords = {}
    if "shepard" in spec.needs:
        every = call_later(diagram_ends, bundle["shepard"], name=f"bins-{key}")
        for name, dim in DIAGRAM_ENDS.items():
            ends = call_later(_values_of, every, name, name=f"{name}-{key}")
            coords[name] = (dim, later_array(ends, (sizes[dim],), np.float64))
    errors = {}
    sampled = any(own.anchors for own in wished(problem, request, candidate))
    if problem.sampling and (sampled or RANKS in spec.needs):
        for name in ERRORS:
            part = call_later(_error_of, value, name, name=f"{name}-{key}")
            errors[name] = later_array(part, shape, np.float64)
    return Answer(
        later_array(number, shape, spec.dtype),
        later_array(note, (), np.dtypes.StringDType()),
        coords,
        errors,
    )


def _error_of(found: Value | Estimate, name: str) -> Any:
    if not isinstance(found, Estimate):
        raise ValueError("an exact value has no error")
    return errors_of(found)[name]


def _values_of(coordinates: Mapping[str, Any], name: str) -> Any:
    return coordinates[name][1]


def _question(request: Request, bundle: Mapping[str, Any]) -> str:
    """What a formula depends on besides the pass: equal keys must mean equal values."""
    given = sorted((n, np.asarray(v).tolist()) for n, v in request.parameters.items())
    text = repr((request.spec.name, given, request.notes))
    if "grid" in request.spec.needs:
        spec = sorted(bundle["grid"].to_spec().items())
        text += repr([(n, v.tobytes() if isinstance(v, np.ndarray) else v) for n, v in spec])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _note_array(value: Value | Estimate) -> np.ndarray[Any, Any]:
    note = value.note if isinstance(value, Estimate) else note_of(value)
    return np.array(note, dtype=np.dtypes.StringDType())

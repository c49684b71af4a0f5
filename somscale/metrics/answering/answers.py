"""From finished statistics to the answers of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import Samples
from somscale.metrics.answering.estimates import errors_of, estimate
from somscale.metrics.answering.ranked import is_ranked, ranked_value
from somscale.metrics.asking.diagram_bins import diagram_ends
from somscale.metrics.asking.pair_wishes import PAIR_NEEDS, Wish, key_of
from somscale.metrics.asking.question import Answer, Problem, Request
from somscale.metrics.asking.sampling import Estimate
from somscale.metrics.asking.unit_columns import grid_of
from somscale.metrics.passes.pair_linear import needs_moments
from somscale.metrics.passes.sampled_passes import Sampled
from somscale.metrics.values import Value, note_of, number_of, undefined

__all__ = [
    "UNREASONED",
    "answer_now",
    "apply",
    "bundle_of",
    "judged_clusterings",
    "pair_bundle",
    "places_of",
    "whole",
]

UNREASONED: Final = "the formula gives nan"
"""How the note of a value begins that a formula leaves undefined without a reason."""


def pair_bundle(
    problem: Problem, candidate: str, request: Request, found: Mapping[Wish, Any]
) -> dict[str, Any]:
    """The statistics of pairs that one request's formula is called with."""
    needs = [need for need in request.spec.needs if need in PAIR_NEEDS]
    return {need: found[key_of(problem, request, candidate, need).key] for need in needs}


def judged_clusterings(
    problem: Problem, requests: Sequence[Request], wishes: Sequence[Wish]
) -> dict[str, Column]:
    """The clusterings whose moments are asked for."""
    asked = any("moments" in request.spec.needs for request in requests)
    if not asked and not needs_moments(wishes):
        return {}
    return {name: c for name, c in problem.candidates.items() if isinstance(c, Column)}


def bundle_of(
    problem: Problem, candidate: str, found: Mapping[str, Any], units: Mapping[str, Any]
) -> dict[str, Any]:
    """The finished statistics of one candidate, by the names that formulas ask for.

    Parameters
    ----------
    found : mapping
        Statistics of passes, by their names.
    units : mapping
        Best-matching units of the samples, by candidate.
    """
    samples = problem.samples
    return {
        "": None,
        "table": found.get(f"table:{candidate}"),
        "moments": found.get(f"moments:{candidate}"),
        "marginals": found.get(f"marginals:{candidate}"),
        "units": found.get(f"units:{candidate}"),
        "bmu": units.get(candidate),
        "silhouettes": found.get(f"units:{candidate}"),
        "grid": grid_of(problem.candidates[candidate]),
        "left_out": 0 if samples is None else samples.features.size - samples.shape[1],
        **{own.name: found.get(own.name) for own in problem.resampling},
    }


def apply(request: Request, *statistics: Any) -> Value | Estimate:
    """Call a formula, or estimate what it would give where a statistic is sampled."""
    if any(isinstance(own, Sampled) for own in statistics):
        return estimate(request, statistics)
    if is_ranked(statistics):
        return ranked_value(request, statistics)
    with np.errstate(over="ignore", invalid="ignore"):
        value = request.spec.formula(*statistics, **request.parameters)
    if request.spec.scalar and not note_of(value) and not np.isfinite(number_of(value)):
        return undefined(_why_not_finite(request, np.isinf(number_of(value)).all()))
    return value


def _why_not_finite(request: Request, infinite: Any) -> str:
    """The reason of a value for which the formula gives none."""
    if infinite:
        return "the value overflows float64; rescale the samples and the map"
    declared = request.spec.undefined
    where = f" (undefined: {declared})" if declared else ""
    return f"{UNREASONED}{where}, or a sum on the way overflows float64"


def answer_now(problem: Problem, request: Request, bundle: Mapping[str, Any]) -> Answer:
    """The answer of one request for one candidate."""
    value = apply(request, *(bundle[need] for need in request.spec.needs))
    if isinstance(value, Estimate):
        return Answer(whole(value, 0, None), value.note, errors=errors_of(value))
    coords = diagram_ends(bundle["shepard"]) if "shepard" in request.spec.needs else {}
    return Answer(whole(value, *places_of(problem, request)), note_of(value), coords)


def places_of(problem: Problem, request: Request) -> tuple[int, Samples | None]:
    """Where a value has features of which a mask left some out, and the samples that tell."""
    samples, dims = problem.samples, request.spec.dims
    if samples is None or samples.kept is None or "feature" not in dims:
        return 0, None
    return dims.index("feature"), replace(samples, source=None, blocks=None)


def whole(value: Value | Estimate, axis: int, samples: Samples | None) -> Any:
    """The bare value, nan at features that a mask left out."""
    number = np.asarray(value.value) if isinstance(value, Estimate) else number_of(value)
    if samples is None:
        return number
    return np.moveaxis(samples.whole(np.moveaxis(number, axis, -1)), -1, axis)

"""Which ranks of neighbours an evaluation wants, all that one projection is read for together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from somscale.metrics.asking.pair_wishes import Measure, measure_of
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.rank_values import RankScope
from somscale.reductions.rank_want import JACCARD_K_MAX, RankWant

__all__ = [
    "LABELS",
    "RANKS",
    "RankKey",
    "rank_bundle",
    "rank_key",
    "rank_wishes",
    "ranked_measure",
]

RANKS: Final = "ranks"
"""The statistic's name, as formulas ask for it."""

LABELS: Final = "labels"
"""Name of the column of classes in a walk."""


@dataclass(frozen=True)
class RankKey:
    """Whose neighbours are ranked, and by what; all that is tallied of it is one statistic.

    Attributes
    ----------
    candidate : str
        The projection.
    measure : Measure
        The samples' distance.
    ties : str
        What ranks of equal distances are.
    space : str or None
        "map" or "codebook" of a map, None of an embedding.
    apart : bool
        Whether it is of indices alone that are not counted as far as others are.
    """

    candidate: str
    measure: Measure
    ties: str
    space: str | None
    apart: bool = False


def rank_key(problem: Problem, request: Request, candidate: str) -> RankKey:
    """The statistic that a request's formula is called with."""
    parameters = request.parameters
    measure = ranked_measure(measure_of(problem, parameters))
    is_map = problem.kind == "map"
    ties = parameters.get("ties") or ("expected" if is_map else "index")
    space = (parameters.get("space") or "map") if is_map else None
    return RankKey(candidate, measure, str(ties), space)


def ranked_measure(measure: Measure) -> Measure:
    """The distance whose ranks are taken: squared distances have those of distances."""
    squared = measure.distance == "sqeuclidean"
    return replace(measure, distance="euclidean") if squared else measure


def rank_wishes(problem: Problem, requests: Sequence[Request]) -> dict[RankKey, RankWant]:
    """What is tallied of each projection; several indices of it share one tally."""
    n_samples = RankScope.of(problem).n_samples
    listed: dict[RankKey, list[RankWant]] = {}
    for candidate in problem.candidates:
        for request in requests:
            if RANKS in request.spec.needs:
                key = rank_key(problem, request, candidate)
                listed.setdefault(key, []).append(_want(request, key.ties, n_samples))
    found: dict[RankKey, RankWant] = {}
    for key, wants in listed.items():
        far = max(want.k_max for want in wants) > JACCARD_K_MAX
        near = [want for want in wants if far and want.jaccard]
        rest = [want for want in wants if not (far and want.jaccard)]
        for own_key, own in ((key, rest), (replace(key, apart=True), near)):
            if own:
                found[own_key] = reduce(_joined, own)
    return found


def rank_bundle(
    problem: Problem, candidate: str, request: Request, found: Mapping[RankKey, Any]
) -> dict[str, Any]:
    """The ranks that one request's formula is called with."""
    if RANKS not in request.spec.needs:
        return {}
    key = rank_key(problem, request, candidate)
    apart = replace(key, apart=True)
    return {RANKS: found[apart if "jaccard" in request.spec.tables and apart in found else key]}


def _want(request: Request, ties: Any, n_samples: int) -> RankWant:
    tables, parameters = request.spec.tables, request.parameters
    largest = {
        name: max(1, min(int(parameters[name].max(initial=0)), n_samples - 1))
        for name in ("k", "kappa_s", "kappa_t")
        if name in parameters
    }
    want = RankWant(0, ties=ties)
    if not {"curves", "jaccard", "agreement"}.isdisjoint(tables) and "k" in largest:
        # the nearest alone does not tell whether others are as near
        least = min(2, n_samples - 1) if ties == "index" else 1
        want = replace(want, k_max=max(least, largest["k"]))
    if "full" in tables:
        want = replace(want, k_max=max(1, n_samples - 1))
    if "surface" in tables:
        want = replace(want, kappa_s=largest["kappa_s"], kappa_t=largest["kappa_t"])
    if "samples" in tables:
        want = replace(want, **_of_samples(parameters, n_samples))
    if "matrix" in tables:
        want = replace(want, matrix=int(parameters["k_max"]))
    return replace(
        want,
        jaccard="jaccard" in tables,
        labels=LABELS if "agreement" in tables else None,
    )


def _of_samples(parameters: Any, n_samples: int) -> dict[str, Any]:
    if "k" in parameters:
        return {"sample_ks": tuple(sorted(parameters["k"].tolist()))}
    near, far = (parameters[name].tolist() for name in ("kappa_s", "kappa_t"))
    if parameters.get("norm") == "region":
        # no rank moves by more: all pairs that are near, which the others are divided by
        far = {*far, max(n_samples - 2, 0)}
    return {"sample_pairs": tuple(sorted((s, t) for s in near for t in far))}


def _joined(one: RankWant, other: RankWant) -> RankWant:
    """What two indices want of the same ranks."""
    return replace(
        one,
        k_max=max(one.k_max, other.k_max),
        kappa_s=max(one.kappa_s, other.kappa_s),
        kappa_t=max(one.kappa_t, other.kappa_t),
        jaccard=one.jaccard or other.jaccard,
        labels=one.labels or other.labels,
        sample_ks=tuple(sorted({*one.sample_ks, *other.sample_ks})),
        sample_pairs=tuple(sorted({*one.sample_pairs, *other.sample_pairs})),
        matrix=max(one.matrix, other.matrix),
    )

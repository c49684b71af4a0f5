"""Which statistics of pairs an evaluation wants, each once however many indices read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from somscale.errors import InputError
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.spec import MetricSpec
from somscale.reductions.fourth_moments import fourth_moments_pay
from somscale.spaces import Space, make_space

__all__ = [
    "PAIR_NEEDS",
    "SAMPLED",
    "Measure",
    "Wish",
    "key_of",
    "measure_of",
    "named_distance",
    "wished",
    "wishes_of",
]

PAIR_NEEDS: Final = frozenset(
    {
        "totals",
        "cluster_pairs",
        "extremes",
        "silhouettes_of_clusters",
        "centroid_silhouettes",
        "squared_silhouettes",
        "shepard",
        "ranked",
    }
)
"""Names of statistics, as formulas ask for them, that come from pairs of samples."""

SAMPLED: Final = frozenset({"totals", "cluster_pairs", "silhouettes_of_clusters"})
"""Those of them that anchors estimate."""

_BY_COLUMN: Final = frozenset({"d", "d2", "de", "d_max", "e", "e2", "e_max", "e_max_possible"})
"""Totals of a map that need no look-up a pair: what the walk does not give has closed forms."""

_CLOSED: Final = frozenset({"d2", "d2e", "d4", "e", "e2", "d_max", "e_max", "e_max_possible"})
"""Totals of a map that need no walk: closed forms, and the pruned search for the largest d."""


@dataclass(frozen=True)
class Measure:
    """A distance between samples.

    Attributes
    ----------
    distance : str or callable
        Its name, aliases resolved; "precomputed" where a matrix has it.
    p : float or None
        Exponent of "minkowski".
    """

    distance: str | Callable[..., Any]
    p: float | None = None

    @property
    def euclidean(self) -> bool:
        """Whether centroids, closed forms and pruning serve it."""
        return self.distance == "euclidean"

    def space(self, problem: Problem) -> Space:
        """Its space over the samples."""
        samples = problem.samples
        if samples is None:
            raise ValueError("distances are those of samples")
        return make_space(self.distance, p=self.p, feature_weights=samples.feature_weights)


@dataclass(frozen=True)
class Wish:
    """A statistic of one candidate.

    Attributes
    ----------
    need : str
        One of `PAIR_NEEDS`.
    candidate : str
        Whose.
    measure : Measure
        The samples' distance.
    linear : bool
        Whether it comes from reads of the samples and pruned searches, without a walk.
    reads : frozenset of str
        Which totals or tables of the statistic are read.
    bins : int
        Bins of a histogram; 0 where there is none.
    anchors : (int, int) or None
        How many anchors estimate it, and their seed; None where it is exact.
    by_column : bool
        Whether totals of a map come from sums of columns, whatever else is asked for.
    """

    need: str
    candidate: str
    measure: Measure
    linear: bool
    reads: frozenset[str] = frozenset()
    bins: int = 0
    anchors: tuple[int, int] | None = None
    by_column: bool = False

    @property
    def key(self) -> Wish:
        """The same, whatever is read of it."""
        return replace(self, reads=frozenset())


def measure_of(problem: Problem, parameters: Mapping[str, Any]) -> Measure:
    """The distance that an index is asked for.

    Raises
    ------
    InputError
        An unknown distance, or one that the samples cannot have.
    """
    distance, p = parameters.get("distance", "euclidean"), parameters.get("p", 2)
    if problem.matrix or distance == "precomputed":
        if not (problem.matrix and distance == "precomputed"):
            raise InputError(
                "distance='precomputed' says that the samples are a matrix of distances, for all "
                "indices alike; give it as an argument of its own, and samples for other distances"
            )
        return Measure("precomputed")
    if np.ndim(p):
        raise InputError(f"p is one number, not {p!r}; ask once for each")
    if p != 2 and distance != "minkowski":
        raise InputError(
            f"p is the exponent of distance='minkowski'; {named_distance(distance)!r} takes none"
        )
    weights = None if problem.samples is None else problem.samples.feature_weights
    space = make_space(distance, p=p if distance == "minkowski" else None, feature_weights=weights)
    if callable(distance):
        return Measure(distance)
    return Measure(space.name, float(p) if space.name == "minkowski" else None)


def named_distance(distance: Any) -> Any:
    """A distance by scipy's name, aliases resolved; a function as it is.

    Raises
    ------
    InputError
        An unknown name.
    """
    if isinstance(distance, str) and distance in ("precomputed", "minkowski"):
        return distance
    return distance if callable(distance) else make_space(distance).name


def key_of(problem: Problem, request: Request, candidate: str, need: str) -> Wish:
    """The statistic that a request's formula is called with."""
    spec, parameters = request.spec, request.parameters
    measure = measure_of(problem, parameters)
    reads = frozenset(_reads(spec, need))
    bins = int(parameters.get("bins", 0)) if need == "shepard" else 0
    wish = Wish(need, candidate, measure, False, reads, bins)
    if _is_linear(problem, wish):
        return replace(wish, linear=True)
    sampled = problem.sampling if need in SAMPLED else None
    if sampled and "d_max" in wish.reads and not measure.euclidean:
        raise InputError(
            f"{request.label} is told in terms of the largest distance, which is only known of "
            "Euclidean ones; leave sample_anchors out for the exact value"
        )
    by_column = need == "totals" and problem.kind == "map" and measure.euclidean
    by_column = by_column and not sampled and wish.reads <= _BY_COLUMN
    return replace(wish, anchors=sampled, by_column=by_column)


def _reads(spec: MetricSpec, need: str) -> tuple[str, ...]:
    if need == "totals":
        return spec.totals
    if need == "cluster_pairs":
        return ("within", *spec.tables)
    if need == "extremes":
        return ("diameters",) if "cluster" in spec.dims else ("largest", "separation")
    if need in ("centroid_silhouettes", "squared_silhouettes"):
        return ("samples",) if "sample" in spec.dims else ()
    return ()


def _is_linear(problem: Problem, wish: Wish) -> bool:
    if not wish.measure.euclidean or problem.samples is None:
        return False
    if wish.need in ("extremes", "centroid_silhouettes", "squared_silhouettes"):
        return True
    if wish.need != "totals" or problem.kind != "map" or not wish.reads <= _CLOSED:
        return False
    return "d4" not in wish.reads or fourth_moments_pay(*problem.samples.shape)


def wished(problem: Problem, request: Request, candidate: str) -> list[Wish]:
    """The statistics of pairs that a request wants of a candidate."""
    needs = [need for need in request.spec.needs if need in PAIR_NEEDS]
    return [key_of(problem, request, candidate, need) for need in needs]


def wishes_of(problem: Problem, requests: Sequence[Request]) -> list[Wish]:
    """All statistics of pairs that some requests want; equal ones are one that is read more of."""
    found: dict[Wish, frozenset[str]] = {}
    for candidate, request in _pairs(problem, requests):
        for wish in wished(problem, request, candidate):
            found[wish.key] = found.get(wish.key, frozenset()) | wish.reads
    return [replace(key, reads=reads) for key, reads in found.items()]


def _pairs(problem: Problem, requests: Sequence[Request]) -> Iterable[tuple[str, Request]]:
    return ((name, request) for name in problem.candidates for request in requests)

"""Which indices are means of values of samples, and what of each sample they are means of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from somscale._types import Float, Int
from somscale.codebook import TrainedMap
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.code_distances import code_distances
from somscale.reductions.resampled import Term
from somscale.topology import path_lengths

__all__ = ["NO_MEAN", "Mean", "Means", "means_of_maps"]

MOST_UNITS: Final = 1024
"""Units of a map of which a table of every two is held, 8 MiB."""

NO_MEAN: Final = "no mean of values of samples, of which resamples tell the error"


@dataclass(frozen=True)
class Mean:
    """How an index comes from sums over samples.

    Parameters
    ----------
    sum, mass : int
        Which terms its sum over the samples and their number are.
    root : bool
        The index is the root of the mean.
    scaled : bool
        It is a multiple of that.
    rounding : float
        Of a mean of values of both signs, each within [-1, 1].
    """

    sum: int
    mass: int
    root: bool = False
    scaled: bool = False
    rounding: float = 0.0

    def of(self, sums: Float, value: float) -> Float:
        """The index of every resample, (n_boot + 1,), from (n_boot + 1, T); nan of no samples."""
        total, mass = sums[:, self.sum], sums[:, self.mass]
        means = np.divide(total, mass, out=np.full(len(sums), np.nan), where=mass > 0)
        means = np.sqrt(means) if self.root else means
        scale = value / means[0] if self.scaled and means[0] else 1.0
        return np.asarray(means * scale)


@dataclass
class Means:
    """Terms that are summed, and which indices are made of them.

    Attributes
    ----------
    terms : list of Term
        Each once.
    found : dict
        From candidate and label to how the index is made.
    reasons : dict
        From candidate and label to why it is none.
    """

    terms: list[Term] = field(default_factory=list)
    found: dict[tuple[str, str], Mean] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    _places: dict[bytes, int] = field(default_factory=dict)

    def add(self, term: Term) -> int:
        """The place of a term."""
        place = self._places.setdefault(term.digest(), len(self.terms))
        if place == len(self.terms):
            self.terms.append(term)
        return place


def means_of_maps(problem: Problem, requests: Sequence[Request]) -> Means:
    """The means that maps' indices are, in terms of what the read of the samples publishes."""
    means, samples = Means(), problem.samples
    # where every sample takes part, all maps share one count of them
    whole = samples is not None and samples.excluded is None and samples.missing == "raise"
    for name, candidate in problem.candidates.items():
        if not isinstance(candidate, TrainedMap):
            continue
        for request in requests:
            term = _term_of_map(problem, name, candidate, request)
            if isinstance(term, str):
                means.reasons[name, request.label] = term
                continue
            index, kind = request.spec.name, request.parameters.get("kind")
            means.found[name, request.label] = Mean(
                means.add(term),
                means.add(Term(units="" if whole else term.units, count=True)),
                root=index == "rms_per_feature" or kind == "rms",
                scaled=index == "rms_per_feature",
                rounding=1e-12 if index == "simplified_silhouette" else 0.0,
            )
    return means


def _term_of_map(problem: Problem, name: str, som: TrainedMap, request: Request) -> Term | str:
    """What of a sample an index of a map is the mean of; else why there is none."""
    units, index, given = f"units:{name}", request.spec.name, request.parameters
    squares = f"{units}:squares"
    match index:
        case "quantization_error":
            return Term(squares, root=given["kind"] == "mean", units=units)
        case "rms_per_feature":
            return Term(squares, units=units)
        case "simplified_silhouette":
            return Term(f"{units}:silhouette", units=units)
        case "topographic_error" | "combined_error":
            if som.grid.size > MOST_UNITS:
                return f"resampled on maps of up to {MOST_UNITS} units"
            first, second = np.indices((som.grid.size,) * 2).reshape(2, -1)
            if index == "topographic_error":
                apart = ~som.grid.adjacent(first, second, given["neighborhood"])
                return Term(units=units, table=_square(apart))
            paths = _path_lengths(problem, som, request, first, second)
            return Term(squares, root=not given["squared"], units=units, table=_square(paths))
    return NO_MEAN


def _square(values: Any) -> Float:
    size = round(len(values) ** 0.5)
    return np.asarray(values, np.float64).reshape(size, size)


def _path_lengths(
    problem: Problem, som: TrainedMap, request: Request, first: Int, second: Int
) -> Float:
    """Lengths of the shortest paths over a map between two units, as its index has them."""
    squared, neighborhood = request.parameters["squared"], request.parameters["neighborhood"]
    codes = np.where(np.isnan(som.codes), 0.0, som.codes)
    if problem.samples is not None and problem.samples.feature_weights is not None:
        codes = codes * np.sqrt(problem.samples.feature_weights)
    edges = som.grid.edges(neighborhood)
    lengths = code_distances(codes, *edges.T, squared=squared)
    return path_lengths(som.grid.size, edges, lengths, first, second)

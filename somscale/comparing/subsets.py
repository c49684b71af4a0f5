"""Errors of indices that are no means of values of samples: from random subsets of these.

An index of a subset of m of P samples strays from that of all P by (1 − m/P) / m times what
one sample brings in, and that of all N samples from the population's by 1/N times the same:
the deviations of subsets, times the root of (m/N) / (1 − m/P), are those of the samples'
index (delete-d jackknife: Shao & Wu 1989, doi:10.1214/aos/1176347263).  Unlike resamples, in
which values of samples are held fixed, subsets also feel what a sample does to the others'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from somscale._types import Float, Int
from somscale.comparing.intervals import Key
from somscale.engine.readers.columns import Column, SampleValues, SampleVectors
from somscale.engine.readers.samples import open_samples
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.problem import open_input
from somscale.metrics.asking.question import Candidate, Problem, Request
from somscale.metrics.asking.sampling import draw_anchors
from somscale.metrics.values import number_of
from somscale.options import set_options
from somscale.reductions.anchor_walk import AnchorRows, Anchors

__all__ = ["is_smooth", "pool_of", "replicates_of_subsets", "smooth_requests"]

MOST_POOLED: Final = 1024
"""Samples that subsets are drawn from."""
N_SUBSETS: Final = 64
"""Subsets, whose spread has a standard error of 1/11 of itself."""
MOST_OFF: Final = 6.0
"""Standard deviations of subsets by which their mean may lie off the value: the samples that
they are drawn from stray from all samples by about one."""
_MOST_VALUES: Final = 1 << 24  # of the pool, 128 MiB
_LEAST_POOLED: Final = 40
_SMOOTH: Final = {
    *("silhouette_score", "centroid_silhouette", "squared_silhouette"),
    *("davies_bouldin_score", "davies_bouldin_index", "r_squared", "explained_variance"),
    *("shepard_correlation", "shepard_rank_correlation"),
    *("metric_stress", "sammon_stress", "kruskal_shepard_error"),
}
"""Indices whose value is about the same for few samples as for many."""

_FEW: Final = f"of fewer than {_LEAST_POOLED} samples subsets tell no error"
_WIDE: Final = "samples of so many features that no subset of them is held"
_SMALL: Final = "a cluster has too few samples to be found in every subset"
_UNDEFINED: Final = "the index of some subsets of the samples is undefined"
_OTHER: Final = "subsets of the samples have other values than all of them"


@dataclass(frozen=True)
class Pool:
    """The samples that subsets are drawn from.

    Attributes
    ----------
    reader : AnchorRows
        What reads their features.
    n_samples : int
        All samples that a mask does not leave out.
    """

    reader: AnchorRows
    n_samples: int


def is_smooth(request: Request) -> bool:
    """Whether subsets tell the error of an index."""
    return request.spec.name in _SMOOTH


def smooth_requests(problem: Problem, requests: Sequence[Request]) -> list[Request]:
    """The indices whose errors subsets tell, but for those that anchors estimate."""
    exact = problem.sampling is None
    smooth = [r for r in requests if is_smooth(r) and (exact or r.spec.cost == "linear")]
    return smooth if problem.samples is not None else []


def pool_of(problem: Problem, seed: int) -> Pool | str:
    """The samples to draw from; else why there are none."""
    samples = problem.samples
    if samples is None:
        return _FEW
    rows, taken = samples.shape[0], None
    if samples.excluded is not None:
        taken = ~samples.excluded.read(0, rows).astype(bool)
        rows = int(np.count_nonzero(taken))
    size = min(rows, MOST_POOLED, _MOST_VALUES // samples.shape[1])
    if size < _LEAST_POOLED:
        return _FEW if rows < _LEAST_POOLED else _WIDE
    numbers = draw_anchors(samples.shape[0], size, seed, taken)
    name = f"pool of {len(numbers)} by {seed}"
    return Pool(AnchorRows(numbers, samples.shape[1], name=name), rows)


def replicates_of_subsets(
    problem: Problem,
    requests: Sequence[Request],
    pool: Pool,
    values: Float,
    known: Mapping[Key, float],
    *,
    seed: int,
) -> tuple[dict[Key, Float], dict[Key, str]]:
    """Values that the indices would have on other samples, by candidate and label.

    Parameters
    ----------
    requests : sequence of Request
        Of `smooth_requests`.
    values : (P, D)
        Features of the pool.
    known : mapping
        The indices of all samples.
    """
    found: dict[Key, Float] = {}
    reasons: dict[Key, str] = {}
    numbers, half = pool.reader.numbers, len(pool.reader.numbers) // 2
    random = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, 1]))
    anchors = Anchors(numbers, values)
    drawn = [np.sort(random.permutation(len(numbers))[:half]) for _ in range(N_SUBSETS)]
    small = _too_small(problem, numbers, drawn)
    large = {n: c for n, c in problem.candidates.items() if n not in small}
    plain = replace(
        problem, candidates=large, labels=None, sampling=None, stored=None, resampling=()
    )
    every = _indices(plain, requests, anchors, drawn) if large else {}
    scale = math.sqrt(half / pool.n_samples / (1 - half / len(numbers)))
    for name in problem.candidates:
        for request in requests:
            key = name, request.label
            if name in small:
                reasons[key] = _SMALL
                continue
            own, value = every[key], known[key]
            if np.isnan(value):
                reasons[key] = "the value is undefined"
            elif not np.isfinite(own).all():
                reasons[key] = _UNDEFINED
            elif abs(own.mean() - value) > max(MOST_OFF * own.std(), 1e-9 * abs(value)):
                reasons[key] = _OTHER
            else:
                apart = (own - own.mean()) * scale
                # to both sides: what is known of few subsets is how far they stray
                moved = value + np.concatenate([apart, -apart])
                found[key] = np.clip(moved, request.spec.lower, request.spec.upper)
    return found, reasons


def _indices(
    problem: Problem, requests: Sequence[Request], pool: Anchors, drawn: Sequence[Int]
) -> dict[Key, Float]:
    """The indices of every subset, (subset,)."""
    keys = [(name, request.label) for name in problem.candidates for request in requests]
    found: dict[Key, Float] = {key: np.empty(len(drawn)) for key in keys}
    # what takes a moment needs neither workers nor a bar
    with set_options(scheduler="serial", progress=False):
        for place, own in enumerate(drawn):
            answers = solve(_part(problem, pool, own), requests)
            for (name, label), values in found.items():
                values[place] = float(number_of(answers[name][label].value))
    return found


def _part(problem: Problem, pool: Anchors, own: Int) -> Problem:
    """The problem on some samples of the pool."""
    whole, rows = problem.samples, pool.numbers[own]
    if whole is None:
        raise ValueError("subsets are of samples")
    values = pool.values[own]
    if problem.matrix:
        samples = open_input(np.ascontiguousarray(values[:, rows]), {}, matrix=True)
    else:
        # what a gap leaves out was found out before
        missing = "raise" if whole.missing == "drop_any_feature" else whole.missing
        given, weights = whole.sample_weights, None
        if given is not None:
            weights = np.asarray(given.read(0, whole.shape[0]))[rows]
        samples = replace(
            open_samples(values, missing=missing),
            feature_weights=whole.feature_weights,
            sample_weights=None if weights is None else SampleValues(weights),
        )
    candidates = {name: _rows_of(own, rows) for name, own in problem.candidates.items()}
    return replace(problem, samples=samples, candidates=candidates)


def _rows_of(candidate: Candidate, rows: Int) -> Candidate:
    """What a candidate says of some samples; a map, of any."""
    if isinstance(candidate, SampleVectors):
        return SampleVectors(candidate.values[rows])
    if isinstance(candidate, Column):
        codes = _codes(candidate)[rows]
        return replace(candidate, values=codes, base=0, n_excluded=int((codes < 0).sum()))
    return candidate


def _codes(column: Column) -> Int:
    return column.read(0, len(column)).astype(np.int64)


def _too_small(problem: Problem, numbers: Int, drawn: Sequence[Int]) -> set[str]:
    """Clusterings of which some subset has not two samples of every cluster."""
    small = set()
    for name, candidate in problem.candidates.items():
        if not isinstance(candidate, Column):
            continue
        codes = _codes(candidate)
        present = np.unique(codes[codes >= 0])
        for own in drawn:
            part = codes[numbers[own]]
            sizes = np.bincount(part[part >= 0], minlength=candidate.n_categories)
            if (sizes[present] < 2).any():
                small.add(name)
                break
    return small

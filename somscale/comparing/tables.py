"""Indices against labels over resamples, from a contingency table of each resample."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from somscale._types import Float, Int
from somscale.comparing.intervals import Key
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import Column
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.unit_columns import grid_of
from somscale.metrics.values import number_of
from somscale.reductions.contingency import Contingency
from somscale.reductions.resampled_tables import ResampledTables

__all__ = ["replicates_of_tables", "tabled_requests"]

MOST_CELLS: Final = 1 << 22
"""Cells of all resamples' tables of a candidate, 32 MiB."""
MOST_BIAS: Final = 0.5
"""Of the mean of resamples, in their standard errors, for an index that no duplicate explains."""

_PER_SAMPLE: Final = "it counts samples or pairs, and resamples are not of one size"
_NO_RESAMPLES: Final = "no resample has a sample"
_UNDEFINED: Final = "the value is undefined"
_BIASED: Final = (
    "the samples of a cell are so few that resamples lie off the value, by {:.1f} of their "
    "standard errors"
)
_OF_PAIRS: Final = {
    *("rand_score", "adjusted_rand_score", "pair_jaccard_score", "fowlkes_mallows_score"),
    *("pair_precision", "pair_recall", "pair_f_score", "hubert_gamma"),
    *("wallace_clusters_to_labels", "wallace_labels_to_clusters", "normalized_mirkin_metric"),
}
"""Indices that a sample's pairs with its own duplicates alone make biased."""


def tabled_requests(problem: Problem, requests: Sequence[Request]) -> list[Request]:
    """The indices that a table of labels is enough for."""
    if problem.labels is None:
        return []
    return [r for r in requests if set(r.spec.needs) in ({"table"}, {"table", "grid"})]


def replicates_of_tables(
    problem: Problem,
    requests: Sequence[Request],
    clusterings: Mapping[str, Column],
    known: Mapping[Key, float],
    *,
    n_boot: int,
    seed: int,
) -> tuple[dict[Key, Float], dict[Key, str]]:
    """Indices of labels in every resample, (n_boot,), by candidate and label; else the reason.

    Parameters
    ----------
    requests : sequence of Request
        Of `tabled_requests`.
    clusterings : mapping
        The candidates, of maps the units of their samples.
    known : mapping
        The indices of the samples themselves.

    Notes
    -----
    Replicates are moved so that their mean is the index of the samples: a resample holds some
    samples more than once, and none of the others, which most indices take for agreement.
    Where that moves others than indices of pairs by more than `MOST_BIAS` standard errors,
    the index itself is as biased, and there is no interval.
    """
    found: dict[Key, Float] = {}
    reasons: dict[Key, str] = {}
    labels = problem.labels
    for name, clusters in clusterings.items():
        if labels is None:
            continue
        shape = labels.n_categories, clusters.n_categories
        large = shape[0] * shape[1] * (n_boot + 1) > MOST_CELLS
        usable = []
        for request in requests:
            if re.search("samples|pairs", request.spec.units):
                reasons[name, request.label] = _PER_SAMPLE
            elif large:
                what = "units" if problem.kind == "map" else "clusters"
                reasons[name, request.label] = (
                    f"tables of {shape[0]} classes and {shape[1]} {what} are too large to be "
                    "held for all resamples"
                )
            else:
                usable.append(request)
        if not usable:
            continue
        columns = {"labels": labels, "clusters": clusters}
        reduction = ResampledTables(
            "labels", "clusters", shape, name="tables", n_boot=n_boot, seed=seed
        )
        tables = run_job(LinearJob([reduction], len(labels), columns=columns))[0]
        every = _values(usable, tables, grid_of(problem.candidates[name]))
        for request, own in zip(usable, every, strict=True):
            key = name, request.label
            moved = _centred(request, own, known[key])
            if isinstance(moved, str):
                reasons[key] = moved
            else:
                found[key] = moved
    return found, reasons


def _centred(request: Request, every: Float, value: float) -> Float | str:
    """Replicates about the value; else why there are none."""
    some = every[np.isfinite(every)]
    if np.isnan(value):
        return _UNDEFINED
    if not len(some):
        return _NO_RESAMPLES
    bias, error = float(some.mean()) - value, float(some.std())
    if request.spec.name not in _OF_PAIRS and abs(bias) > max(MOST_BIAS * error, 1e-12):
        return _BIASED.format(abs(bias) / error) if error else _BIASED.format(np.inf)
    return np.asarray(np.clip(every - bias, request.spec.lower, request.spec.upper))


def _values(requests: Sequence[Request], tables: Int, grid: Any) -> Float:
    """The indices of every resample, (request, n_boot)."""
    found = np.full((len(requests), len(tables) - 1), np.nan)
    for place, table in enumerate(tables[1:]):
        rows, columns = np.nonzero(table)
        if not len(rows):
            continue
        counts = table[rows, columns]
        own = Contingency(rows, columns, counts, table.shape, int(counts.sum()))
        given = {"table": own, "grid": grid}
        for number, request in enumerate(requests):
            value = request.spec.formula(
                *(given[n] for n in request.spec.needs), **request.parameters
            )
            found[number, place] = float(number_of(value))
    return found

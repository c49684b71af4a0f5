"""Indices of clusterings against labels over resamples, from a table of each resample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from somscale._types import Float, Int
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import Column
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.values import number_of
from somscale.reductions.contingency import Contingency
from somscale.reductions.resampled_tables import ResampledTables

__all__ = ["replicates_of_tables"]

MOST_CELLS: Final = 1 << 22
"""Cells of all resamples' tables of a clustering, 32 MiB."""

_PER_SAMPLE: Final = "it counts samples or pairs, and resamples are not of one size"


def replicates_of_tables(
    problem: Problem, requests: Sequence[Request], n_boot: int, seed: int
) -> tuple[dict[tuple[str, str], Float], dict[tuple[str, str], str]]:
    """Indices of labels in every resample, (n_boot,), by candidate and label; else the reason."""
    found: dict[tuple[str, str], Float] = {}
    reasons: dict[tuple[str, str], str] = {}
    labels, tabled = problem.labels, [r for r in requests if r.spec.needs == ("table",)]
    if labels is None or not tabled:
        return found, reasons
    clusterings = {n: c for n, c in problem.candidates.items() if isinstance(c, Column)}
    for name, clusters in clusterings.items():
        shape = labels.n_categories, clusters.n_categories
        large = shape[0] * shape[1] * (n_boot + 1) > MOST_CELLS
        for request in tabled:
            if re.search("samples|pairs", request.spec.units):
                reasons[name, request.label] = _PER_SAMPLE
            elif large:
                reasons[name, request.label] = (
                    f"tables of {shape[0]} classes and {shape[1]} clusters are too large to be "
                    "held for all resamples"
                )
        usable = [r for r in tabled if (name, r.label) not in reasons]
        if usable:
            columns = {"labels": labels, "clusters": clusters}
            reduction = ResampledTables(
                "labels", "clusters", shape, name="tables", n_boot=n_boot, seed=seed
            )
            job = LinearJob([reduction], len(labels), columns=columns)
            values = _values(usable, run_job(job)[0])
            found |= {(name, r.label): own for r, own in zip(usable, values, strict=True)}
    return found, reasons


def _values(requests: Sequence[Request], tables: Int) -> Float:
    """The indices of every resample, (request, n_boot)."""
    found = np.empty((len(requests), len(tables) - 1))
    for place, table in enumerate(tables[1:]):
        rows, columns = np.nonzero(table)
        counts = table[rows, columns]
        own = Contingency(rows, columns, counts, table.shape, int(counts.sum()))
        for number, request in enumerate(requests):
            value = request.spec.formula(own, **request.parameters)
            found[number, place] = float(number_of(value))
    return found

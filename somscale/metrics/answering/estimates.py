"""From what anchors gathered to estimates of the indices, each with its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from somscale._types import Float
from somscale.metrics.answering.sampled_clusters import (
    estimate_cluster_means,
    estimate_from_clusters,
)
from somscale.metrics.asking.question import Request
from somscale.metrics.asking.sampling import Estimate, estimate_mean, estimate_totals, no_estimate
from somscale.metrics.passes.sampled_passes import Sampled
from somscale.metrics.values import Value
from somscale.reductions.anchored import AnchorTotals
from somscale.reductions.pair_stats import ClusterPairs, Silhouettes

__all__ = ["ERRORS", "errors_of", "estimate"]

ERRORS: Mapping[str, str] = {
    "standard_error": "standard error of the estimate",
    "interval_low": "lower end of the 95 % interval",
    "interval_high": "upper end of the 95 % interval",
}
"""What an estimate comes with, in words."""


def estimate(request: Request, statistics: Sequence[Any]) -> Estimate:
    """Estimate an index.

    Parameters
    ----------
    request : Request
        The index.
    statistics : sequence
        What its formula is called with; those that are sampled in the place of exact ones.
    """
    sampled = next(own for own in statistics if isinstance(own, Sampled))

    def formula(replaced: Any) -> Value:
        given = [replaced if own is sampled else own for own in statistics]
        with np.errstate(over="ignore", invalid="ignore"):
            return request.spec.formula(*given, **request.parameters)

    if isinstance(sampled.result, AnchorTotals):
        reads = request.spec.totals
        exact = {name: value for name, value in sampled.exact.items() if name in reads}
        return estimate_totals(formula, sampled.result, sampled.n_samples, exact=exact)
    if isinstance(sampled.result, Silhouettes):
        return _of_silhouettes(request, sampled, formula)
    values = sampled.result.mean_distances()
    taken = sampled.codes >= 0
    hits = sampled.result.hits
    if request.spec.dims:
        return estimate_cluster_means(values[taken], sampled.codes[taken], hits)

    def of_means(means: Float) -> Value:
        pairs = hits * (hits - 1) / 2
        return formula(ClusterPairs(hits, np.where(hits > 1, means * pairs, 0.0)))

    return estimate_from_clusters(of_means, values[taken], sampled.codes[taken], hits)


def _of_silhouettes(request: Request, sampled: Sampled, formula: Any) -> Estimate:
    hits = sampled.result.hits
    taken = sampled.codes >= 0
    codes = sampled.codes[taken]
    values = sampled.result.values[sampled.numbers[taken]]
    if np.count_nonzero(hits) < 2:
        none = no_estimate("there is one cluster, and nothing to tell it from", len(values))
        if not request.spec.dims:
            return none
        nothing = np.full(len(hits), np.nan)  # of each cluster
        return Estimate(nothing, nothing, nothing, nothing, len(values), none.note)
    if request.spec.dims:
        return estimate_cluster_means(values, codes, hits)
    if request.parameters.get("average") == "macro":
        return estimate_from_clusters(
            lambda means: formula(Silhouettes(hits, means * hits)), values, codes, hits
        )
    return estimate_mean(values, int(hits.sum()))


def errors_of(found: Estimate) -> dict[str, Any]:
    """What an estimate comes with, by the names of `ERRORS`."""
    values = (found.standard_error, found.low, found.high)
    return {name: np.asarray(value, float) for name, value in zip(ERRORS, values, strict=True)}

"""What a user asks of a problem, and the Dataset that answers it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from somscale.metrics.answering.assemble import assemble, refuse_clashes
from somscale.metrics.answering.compute import solve
from somscale.metrics.asking.problem import with_sampling
from somscale.metrics.asking.question import Problem, Request
from somscale.metrics.asking.selection import Metrics, left_out, select

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """Indices, and how they are computed.

    Attributes
    ----------
    metrics, cost, convention, sample_anchors, seed, parameters
        As for :func:`somscale.evaluate`.
    """

    metrics: Metrics
    cost: str | None
    convention: str | None
    sample_anchors: Any
    seed: Any
    parameters: Mapping[str, Any]

    @property
    def distance(self) -> Any:
        """The samples' distance."""
        return self.parameters.get("distance", "euclidean")

    def posed(self, problem: Problem) -> tuple[Problem, list[Request]]:
        """The problem, sampled if that is wished, and the indices with all their parameters."""
        problem = with_sampling(problem, self.sample_anchors, self.seed)
        requests = select(
            self.metrics,
            problem,
            cost=self.cost,
            convention=self.convention,
            parameters=self.parameters,
        )
        refuse_clashes(problem, requests)
        return problem, requests

    def answer(self, problem: Problem, requests: list[Request], *, named: bool) -> xr.Dataset:
        """The Dataset of all indices of a problem that was posed."""
        result = assemble(problem, requests, solve(problem, requests), named=named)
        omitted = self.omitted(problem)
        if omitted:
            result.attrs["indices_left_out"] = json.dumps(omitted)
        return result

    def omitted(self, problem: Problem) -> dict[str, list[str]]:
        """Indices that are left out though they apply, by the reason."""
        return left_out(self.metrics, problem, cost=self.cost, parameters=self.parameters)

"""A question: indices to compute, the candidates they judge, and what these are judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from somscale.codebook import TrainedMap
from somscale.engine.readers.columns import Column, SampleVectors
from somscale.engine.readers.samples import Samples
from somscale.metrics.asking.unit_columns import grid_of
from somscale.metrics.spec import MetricSpec
from somscale.reductions.base import LinearReduction

if TYPE_CHECKING:
    from somscale.metrics.asking.stored import StoredMatrices

__all__ = ["Answer", "Candidate", "Problem", "Request", "kind_of"]

Candidate = TrainedMap | Column | SampleVectors
"""A map, a clustering, or an embedding."""


def kind_of(candidate: Candidate) -> str:
    """Words for a kind of candidate."""
    if isinstance(candidate, TrainedMap):
        return "map"
    return "clusters" if isinstance(candidate, Column) else "embedding"


@dataclass(frozen=True)
class Request:
    """An index to compute, under a label, with all its parameters.

    Attributes
    ----------
    label : str
        Name of the result.
    spec : MetricSpec
        The index.
    parameters : mapping
        Every parameter; those that are dimensions as 1-D arrays.
    notes : tuple of str
        What of it was cut.
    formula_dims : tuple of str
        Dimensions of what the formula gives; the value does without those of length 1 that
        its index's `dims` lack.
    """

    label: str
    spec: MetricSpec
    parameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    formula_dims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Candidates of one kind, and what they are judged on.

    Attributes
    ----------
    candidates : mapping of str to TrainedMap, Column or SampleVectors
        Maps, clusterings or embeddings.
    samples : Samples or None
        Not needed for clusterings against labels.
    labels : Column or None
        Classes.
    matrix : bool
        Whether the samples are a matrix of distances, and not vectors.
    sampling : (int, int) or None
        How many anchors estimate sums over pairs, and the seed they are drawn with.
    stored : StoredMatrices or None
        Distances and ranks of the samples that need not be computed.
    resampling : tuple of LinearReduction
        What a comparison gathers besides in the first read of maps' samples: for indices
        that need its name.
    numbered : bool
        Whether the candidates' names stand for integers, as results have them then.
    """

    candidates: Mapping[str, Candidate]
    samples: Samples | None = None
    labels: Column | None = None
    matrix: bool = False
    sampling: tuple[int, int] | None = None
    stored: StoredMatrices | None = None
    resampling: tuple[LinearReduction[Any], ...] = ()
    numbered: bool = False

    @property
    def kind(self) -> str:
        """What the candidates are: "map", "clusters" or "embedding"."""
        return kind_of(next(iter(self.candidates.values())))

    @property
    def lazy(self) -> bool:
        """Whether results are lazy."""
        return self.samples is not None and self.samples.lazy

    @property
    def n_samples(self) -> int:
        """Samples N."""
        if self.samples is not None:
            return self.samples.shape[0]
        return max(len(c) for c in self.candidates.values() if not isinstance(c, TrainedMap))

    def size(self, dim: str, candidate: str) -> int:
        """Length of a dimension of a value."""
        fixed = {"part": 3, "pair": 4, "region": 4}
        if dim in fixed:
            return fixed[dim]
        if dim == "feature" and self.samples is not None:
            return self.samples.features.size
        own = self.candidates.get(candidate)
        if dim in ("cluster", "other_cluster") and isinstance(own, Column):
            return own.n_categories
        if dim == "class" and self.labels is not None:
            return self.labels.n_categories
        grid = grid_of(self.candidates[candidate])
        if dim == "unit" and grid is not None:
            return grid.size
        return self.n_samples


@dataclass(frozen=True)
class Answer:
    """The value of one index for one candidate; numpy, or Dask where results are lazy.

    Attributes
    ----------
    value : array
        The value.
    note : str or array
        Why it is undefined, or doubtful.
    coords : mapping
        Coordinates that come with it: name to dim and values.
    errors : mapping
        Where the value is an estimate: "standard_error", "interval_low", "interval_high".
    """

    value: Any
    note: Any
    coords: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)

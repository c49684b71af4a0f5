"""One read of the samples, told what they come with: their weights, mask and gaps."""

from __future__ import annotations

from dataclasses import dataclass

from somscale._types import Float
from somscale.codebook.passes import excluded_column, job_over, units_reduction, weights_column
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.samples import Samples
from somscale.reductions.scatter import Scatter, ScatterReduction
from somscale.reductions.unit_stats import UnitStats

__all__ = ["Material"]


@dataclass(frozen=True)
class Material:
    """The samples to train on.

    Attributes
    ----------
    samples : Samples
        Where they are.
    """

    samples: Samples

    @property
    def partial(self) -> bool:
        """Whether samples are compared by the features that they have."""
        return self.samples.missing == "partial"

    def units_job(self, codes: Float) -> LinearJob:
        """The read that an epoch of the batch rule is made of."""
        reduction = units_reduction(codes, self.samples, second=False, of_samples=True)
        return job_over(self.samples, [reduction])

    def read_units(self, codes: Float, label: str = "reading") -> UnitStats:
        """What the units of a map hold; samples that no map can be trained on raise."""
        found: UnitStats = run_job(self.units_job(codes), label)[0]
        return found

    def scatter_job(self, center: Float, scale: float) -> LinearJob:
        """The read that finds mean and covariance of the samples."""
        samples = self.samples
        missing = "drop" if samples.missing == "drop_any_feature" else samples.missing
        reduction = ScatterReduction(
            center,
            scale=scale,
            names=samples.entry_names,
            sample_weights=weights_column(samples),
            excluded=excluded_column(samples),
            missing=missing,
        )
        return job_over(samples, [reduction])

    def read_scatter(self, center: Float, scale: float) -> Scatter:
        """Mean and covariance of the samples."""
        found: Scatter = run_job(self.scatter_job(center, scale))[0]
        return found

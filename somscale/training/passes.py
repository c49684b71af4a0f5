"""One read of the samples, told what they come with: their weights, mask and gaps."""

from __future__ import annotations

from dataclasses import dataclass

from somscale._types import Float
from somscale.codebook.passes import excluded_column, job_over, units_reduction, weights_column
from somscale.engine.linear.run import run_job
from somscale.engine.readers.samples import Samples
from somscale.reductions.partial_units import PartialUnitsReduction, PartialUnitStats
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
    partial : bool
        Whether samples are compared by the features that they have.
    """

    samples: Samples
    partial: bool = False

    def read_units(self, codes: Float) -> UnitStats | PartialUnitStats:
        """What the units of a map hold; samples that no map can be trained on raise."""
        samples = self.samples
        if not self.partial:
            reduction = units_reduction(codes, samples, second=False)
        else:
            reduction = PartialUnitsReduction(
                codes,
                names=samples.entry_names,
                feature_weights=samples.feature_weights,
                sample_weights=weights_column(samples),
                excluded=excluded_column(samples),
            )
        found: UnitStats | PartialUnitStats = run_job(job_over(samples, [reduction]))[0]
        return found

    def read_scatter(self, center: Float, scale: float) -> Scatter:
        """Mean and covariance of the samples."""
        samples = self.samples
        missing = "drop" if samples.missing == "drop_any_feature" else samples.missing
        reduction = ScatterReduction(
            center,
            scale=scale,
            names=samples.entry_names,
            sample_weights=weights_column(samples),
            excluded=excluded_column(samples),
            missing="partial" if self.partial else missing,
        )
        found: Scatter = run_job(job_over(samples, [reduction]))[0]
        return found

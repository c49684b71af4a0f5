"""The pass of a map over samples, told all that the samples come with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from somscale._types import Float
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.engine.readers.columns import RowValues
from somscale.engine.readers.samples import Samples
from somscale.errors import InputError
from somscale.reductions.feature_gaps import GapsReduction
from somscale.reductions.units import UnitsReduction

__all__ = ["gaps_job", "job_over", "units_reduction", "without_gapped_features"]

_WEIGHTS = "sample weights"
_EXCLUDED = "samples left out"


def units_reduction(
    codes: Float,
    samples: Samples,
    *,
    name: str = "units",
    samplewise: bool = False,
    silhouettes: bool = False,
) -> UnitsReduction:
    """The units reduction of some codes over samples, with their weights, mask and gaps."""
    return UnitsReduction(
        codes,
        name=name,
        samplewise=samplewise,
        silhouettes=silhouettes,
        names=samples.entry_names,
        feature_weights=samples.feature_weights,
        sample_weights=None if samples.sample_weights is None else _WEIGHTS,
        excluded=None if samples.excluded is None else _EXCLUDED,
        missing="drop" if samples.missing == "drop_any_feature" else samples.missing,
    )


def job_over(
    samples: Samples, reductions: Sequence[Any], columns: Mapping[str, RowValues] | None = None
) -> LinearJob:
    """A pass over samples, with their weights and mask as columns."""
    own = {_WEIGHTS: samples.sample_weights, _EXCLUDED: samples.excluded}
    every = {**(columns or {}), **{name: c for name, c in own.items() if c is not None}}
    return LinearJob(
        reductions, *samples.shape, source=samples.source, blocks=samples.blocks, columns=every
    )


def gaps_job(samples: Samples) -> LinearJob:
    """The pass that finds which features have gaps, before the one that leaves them out."""
    excluded = None if samples.excluded is None else _EXCLUDED
    return job_over(samples, [GapsReduction(samples.shape[1], excluded=excluded)])


def without_gapped_features(samples: Samples) -> Samples:
    """The samples without features that any sample lacks; one more read, where that is asked for.

    Samples that lack every feature are left aside, and dropped by the pass that follows.

    Raises
    ------
    InputError
        No feature is left.
    """
    if samples.missing != "drop_any_feature":
        return samples
    gapped = run_job(gaps_job(samples))[0]
    if gapped.all():
        raise InputError(
            f"missing='drop_any_feature' leaves none of the {len(gapped)} features: each one is "
            "missing in some sample; use missing='drop_any_sample'"
        )
    samples = replace(samples, missing="drop")
    return samples.select(np.flatnonzero(~gapped)) if gapped.any() else samples

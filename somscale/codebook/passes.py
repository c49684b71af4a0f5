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
from somscale.reductions.partial_units import PartialUnitsReduction
from somscale.reductions.units import UnitsReduction

__all__ = [
    "excluded_column",
    "gaps_job",
    "job_over",
    "units_reduction",
    "weights_column",
    "without_gapped_features",
]

_WEIGHTS = "sample weights"
_EXCLUDED = "samples left out"


def units_reduction(
    codes: Float,
    samples: Samples,
    *,
    name: str = "units",
    samplewise: bool = False,
    silhouettes: bool = False,
    second: bool = True,
    of_samples: bool = False,
) -> UnitsReduction:
    """The units reduction of some codes over samples, with their weights, mask and gaps.

    `of_samples` is that of :class:`PartialUnitsReduction`, and matters for partial distances.
    """
    settings: dict[str, Any] = {
        "name": name,
        "samplewise": samplewise,
        "silhouettes": silhouettes,
        "second": second,
        "names": samples.entry_names,
        "feature_weights": samples.feature_weights,
        "sample_weights": weights_column(samples),
        "excluded": excluded_column(samples),
    }
    if samples.missing == "partial":
        return PartialUnitsReduction(codes, of_samples=of_samples, **settings)
    missing = "drop" if samples.missing == "drop_any_feature" else samples.missing
    return UnitsReduction(codes, missing=missing, **settings)


def weights_column(samples: Samples) -> str | None:
    """The column of a pass that holds the samples' weights; None where they have none."""
    return None if samples.sample_weights is None else _WEIGHTS


def excluded_column(samples: Samples) -> str | None:
    """The column of a pass that says which samples a mask leaves out; None without a mask."""
    return None if samples.excluded is None else _EXCLUDED


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
    excluded = excluded_column(samples)
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

"""Silhouettes with code vectors in place of the other samples: from the two best units."""

from __future__ import annotations

import numpy as np

from somscale.metrics.maps.quantization import per_hit
from somscale.metrics.public import map_index
from somscale.metrics.values import Value, undefined
from somscale.reductions.units import UnitStats

__all__ = [
    "sample_simplified_silhouette",
    "simplified_silhouette",
    "unit_simplified_silhouette",
]

_SOURCE = (
    "Hruschka, de Castro & Campello 2004, Evolutionary algorithms for clustering "
    "gene-expression data, doi:10.1109/ICDM.2004.10073"
)
_ONE_UNIT = "a map of one unit has no second-best unit"


@map_index(
    needs=("silhouettes",),
    with_gaps=True,
    long_name="simplified silhouette",
    definition="mean over samples of (d2 - d1) / d2, distances to the two nearest code vectors",
    direction="higher",
    upper=1,
    source=_SOURCE,
    undefined="a map of one unit",
)
def simplified_silhouette(silhouettes: UnitStats) -> Value:
    """Mean of how much nearer the samples are to their best unit than to the second.

    Notes
    -----
    (1/N) Σ_i (d₂ − d₁) / max(d₁, d₂), and 0 for a sample that lies on both codes.  It is
    another number than the silhouette, which takes mean distances to all other samples.
    With the centroids of a clustering as codes it is that clustering's, where every sample
    belongs to its nearest centroid.
    """
    if silhouettes.n_units < 2:
        return undefined(_ONE_UNIT)
    if silhouettes.silhouettes is None:
        raise ValueError("the pass kept no silhouettes")
    return float(silhouettes.silhouettes.sum() / silhouettes.total)


@map_index(
    needs=("silhouettes",),
    with_gaps=True,
    long_name="simplified silhouette of each unit",
    definition="mean over a unit's samples of (d2 - d1) / d2",
    direction="higher",
    upper=1,
    dims=("unit",),
    source=_SOURCE,
    undefined="units without samples, and a map of one unit",
)
def unit_simplified_silhouette(silhouettes: UnitStats) -> Value:
    """Mean simplified silhouette of each unit's samples; nan for units without any."""
    if silhouettes.silhouettes is None:
        raise ValueError("the pass kept no silhouettes")
    if silhouettes.n_units < 2:
        return np.full(silhouettes.n_units, np.nan)
    return per_hit(silhouettes.silhouettes, silhouettes)


@map_index(
    needs=("silhouettes",),
    with_gaps=True,
    long_name="simplified silhouette of each sample",
    definition="(d2 - d1) / d2, distances to the two nearest code vectors",
    direction="higher",
    upper=1,
    dims=("sample",),
    sample_field="silhouette",
    source=_SOURCE,
    undefined="samples that take no part, and a map of one unit",
)
def sample_simplified_silhouette(silhouettes: UnitStats) -> Value:
    """Simplified silhouette of each sample."""
    if silhouettes.silhouette is None:
        raise ValueError("the pass kept no silhouettes of samples")
    return silhouettes.silhouette

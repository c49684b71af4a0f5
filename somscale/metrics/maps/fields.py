"""What a map shows of the samples, on the samples' own dims, and how much of them it saw."""

from __future__ import annotations

import numpy as np

from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats

__all__ = ["codes", "composite", "features_dropped", "frequency", "rms_per_feature"]
__all__ += ["samples_dropped"]

_KOHONEN = "Kohonen 2001, Self-Organizing Maps, doi:10.1007/978-3-642-56927-2"
_COMPOSITE = "von Storch & Zwiers 1999, Statistical Analysis in Climate Research, chapter 17"


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="code vectors",
    definition="m_k, the map's own",
    direction="none",
    lower=-float("inf"),
    units="data",
    dims=("unit", "feature"),
    source=_KOHONEN,
    undefined="features that take no part",
)
def codes(units: UnitStats) -> Value:
    """Code vectors of the map, on the samples' own dims of features.

    Notes
    -----
    nan at features that take no part (masked, or missing in every sample).
    """
    return units.raw_codes


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="composite of each unit",
    definition="mean of the samples whose best-matching unit it is",
    direction="none",
    lower=-float("inf"),
    units="data",
    dims=("unit", "feature"),
    source=_COMPOSITE,
    undefined="units without samples, and features that take no part",
)
def composite(units: UnitStats) -> Value:
    """Mean of each unit's samples, on the samples' own dims of features.

    Notes
    -----
    c_k = m_k + R_k / n_k with the unit's summed residuals R_k, so that nothing cancels
    far from zero; with sample weights the weighted mean.  nan for units without samples
    and at features that take no part.  With ``missing="partial"`` each feature's mean is that
    of the samples that have it, and nan where the unit has none.
    """
    mass = np.broadcast_to(units.feature_mass.astype(np.float64), units.raw_residuals.shape)
    out = np.full(units.raw_residuals.shape, np.nan)
    return np.asarray(
        units.raw_codes + np.divide(units.raw_residuals, mass, out=out, where=mass > 0)
    )


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="frequency of each unit",
    definition="share of the samples whose best-matching unit it is",
    direction="none",
    upper=1,
    dims=("unit",),
    source=_KOHONEN,
)
def frequency(units: UnitStats) -> Value:
    """Share of the samples (of their weights, if they have any) that each unit holds."""
    return np.asarray(units.mass / units.total)


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="root mean square difference per feature",
    definition="root of the mean over samples and features of (x - m_b1)^2",
    direction="lower",
    units="data",
    source=_KOHONEN,
)
def rms_per_feature(units: UnitStats) -> Value:
    """Root mean square difference of the samples from their best units' codes, per feature.

    Notes
    -----
    √(Σ_i d²(x_i, m_b1) / (N Σ_f v_f)), with feature weights v (1 each without any), over
    the features that take part: the quantization error grows with the root of their
    number, and this does not.
    """
    return float(np.sqrt(units.squares.sum() / (units.total * units.weight_sum)))


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="samples left out",
    definition="number of samples that a mask or missing values left out",
    direction="none",
    units="samples",
    source=_KOHONEN,
)
def samples_dropped(units: UnitStats) -> Value:
    """Samples that took no part: masked, or missing as `missing=` allows."""
    return float(units.dropped_samples)


@map_index(
    needs=("units", "left_out"),
    with_gaps=True,
    long_name="features left out",
    definition="number of features that a mask or missing values left out",
    direction="none",
    units="features",
    source=_KOHONEN,
)
def features_dropped(units: UnitStats, left_out: int) -> Value:
    """Features that took no part: masked, or missing as `missing=` allows."""
    return float(left_out + units.n_features - units.n_valid_features)

"""Values of every sample, kept by the units reduction itself."""

from __future__ import annotations

from somscale._types import Float, Int
from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats

__all__ = ["bmu", "distance", "second_bmu"]

_KOHONEN = "Kohonen 2001, Self-Organizing Maps, doi:10.1007/978-3-642-56927-2"


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="best-matching unit",
    definition="unit with the nearest code vector; ties go to the lowest unit",
    direction="none",
    dims=("sample",),
    sample_field="bmu",
    dtype="int32",
    source=_KOHONEN,
)
def bmu(units: UnitStats) -> Value:
    """Best-matching unit of each sample; ties go to the lowest unit.

    Notes
    -----
    With ``missing="partial"`` by partial distance, see :func:`distance`; so is the second.
    """
    return _kept(units.bmu)


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="second-best unit",
    definition="unit with the second-nearest code vector; ties go to the lowest unit",
    direction="none",
    lower=-1,
    dims=("sample",),
    sample_field="second_bmu",
    dtype="int32",
    source=_KOHONEN,
)
def second_bmu(units: UnitStats) -> Value:
    """Second-best unit of each sample; −1 on a map of one unit."""
    return _kept(units.second_bmu)


@map_index(
    needs=("units",),
    with_gaps=True,
    long_name="distance to the best-matching unit",
    definition="Euclidean distance to the best-matching unit's code vector",
    direction="lower",
    units="data",
    dims=("sample",),
    sample_field="distance",
    source=_KOHONEN,
)
def distance(units: UnitStats) -> Value:
    """Euclidean distance of each sample to its best-matching unit.

    Notes
    -----
    With ``missing="partial"`` it goes over the features i that the sample has, scaled to all
    of the map's: d² = V / V_i Σ_{f∈i} v_f (x_f − m_f)², V and V_i adding up the weights v of
    the map's features and of these, their numbers without weights (Kohonen's partial
    distance).  It does not depend on what other samples have.
    """
    return _kept(units.distance)


def _kept(values: Int | Float | None) -> Value:
    if values is None:
        raise ValueError("the pass kept no values of samples")
    return values

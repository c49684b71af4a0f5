"""The Zrehen measure: code vectors that lie between those of neighbours on the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np

from somscale._types import Float, Int
from somscale.metrics.checks import check_flag, check_neighborhood
from somscale.metrics.public import map_index
from somscale.metrics.values import Value
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["unit_zrehen_measure", "zrehen_measure"]

_BLOCK: Final = 1 << 20
"""Angles between an edge's two ends at hand at a time: 8 MiB."""

_EQUAL: Final = 1e-12
"""What lies as near to the sphere is on it, but for rounding."""

_ZREHEN = (
    "Zrehen 1993, Analyzing Kohonen maps with geometry, ICANN'93; Bauer, Herrmann & Villmann "
    "1999, Neural maps and topographic vector quantization, doi:10.1016/S0893-6080(99)00027-1"
)


def _check(parameters: Mapping[str, Any]) -> None:
    check_neighborhood(parameters)
    check_flag(parameters, "normalize")


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="Zrehen measure",
    definition="units whose code lies inside the sphere between two neighbours' codes, over all "
    "pairs of neighbours, per unit of the map",
    direction="lower",
    source=_ZREHEN,
    check=_check,
    of_map_alone=True,
    variants={("normalize", False): {"units": "intruders"}},
)
def zrehen_measure(
    units: UnitStats,
    grid: Grid,
    *,
    normalize: bool = True,
    neighborhood: Literal["edge", "vertex"] | None = None,
) -> Value:
    """Code vectors that intrude between those of neighbours on the map, per unit.

    (1/K) Σ over pairs (u, v) of neighbours of #{w : ‖m_w − m_u‖² + ‖m_w − m_v‖² < ‖m_u − m_v‖²}:
    the straight line from m_u to m_v then leads past a unit that is nearer than both.

    Parameters
    ----------
    normalize : bool
        Divide by the number of units K, as Bauer et al. do to compare maps of different
        sizes; False: the number of intruders.
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`topographic_error`; by default the grid's own neighbours.

    Notes
    -----
    0 on a map without folds.  A code that coincides with one of the pair, or lies on the
    sphere itself, does not intrude: no point of the line is nearer to it.  A value of the
    map alone; every pair of neighbours is compared with all units.
    """
    total = float(_intruders(units, grid, neighborhood).sum())
    return total / units.n_units if normalize else total


@map_index(
    needs=("units", "grid"),
    with_gaps=True,
    long_name="Zrehen measure of each unit",
    definition="units that intrude between a unit and its neighbours, half of each pair's",
    direction="lower",
    units="intruders",
    dims=("unit",),
    source=_ZREHEN,
    check=check_neighborhood,
    of_map_alone=True,
)
def unit_zrehen_measure(
    units: UnitStats, grid: Grid, *, neighborhood: Literal["edge", "vertex"] | None = None
) -> Value:
    """Units that intrude between each unit and its neighbours, half of each pair's.

    Parameters
    ----------
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`topographic_error`; by default the grid's own neighbours.

    Notes
    -----
    Its mean over the units is the :func:`zrehen_measure`.
    """
    edges = grid.edges(neighborhood)
    counts = _intruders(units, grid, neighborhood)
    return np.asarray(
        sum(np.bincount(end, counts / 2, units.n_units) for end in edges.T), np.float64
    )


def _intruders(units: UnitStats, grid: Grid, neighborhood: Any) -> Int | Float:
    """How many units intrude between each pair of neighbours, (E,)."""
    key = ("intruders", grid, neighborhood)
    if key not in units.derived:
        units.derived[key] = _count(units.codes, grid.edges(neighborhood))
    return units.derived[key]


def _count(codes: Float, edges: Int) -> Float:
    from scipy.spatial.distance import cdist

    # by a power of two, so that squares of small and large codes are in range
    codes = np.ldexp(codes, -int(np.frexp(np.abs(codes).max())[1]))
    counts = np.empty(len(edges))
    step = max(1, _BLOCK // len(codes))
    for start in range(0, len(edges), step):
        block = edges[start : start + step]
        moves = codes[block[:, 0]] - codes[block[:, 1]]
        whole = np.einsum("ed,ed->e", moves, moves)
        both = sum(cdist(codes[end], codes, "sqeuclidean") for end in block.T)
        counts[start : start + step] = (both < (whole * (1 - _EQUAL))[:, None]).sum(axis=1)
    return counts

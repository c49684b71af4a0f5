"""P-matrix and U*-matrix: density of the samples about the codes, and heights that heed it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import xarray as xr

from somscale._types import Float, Int
from somscale.codebook import TrainedMap
from somscale.codebook.passes import job_over, units_reduction
from somscale.engine.linear.run import run_job
from somscale.engine.memory import refuse_more_than_budget
from somscale.engine.readers.columns import Column
from somscale.engine.readers.samples import refuse_partial
from somscale.errors import InputError
from somscale.metrics.asking.problem import READING, pose
from somscale.metrics.asking.question import Problem
from somscale.metrics.asking.sampling import draw_anchors
from somscale.metrics.checks import check_neighborhood
from somscale.metrics.maps.structure import unit_heights
from somscale.reductions.density import DensityReduction
from somscale.reductions.listed_rows import ListedRows, ListedRowsReduction
from somscale.reductions.units import UnitStats
from somscale.topology import Grid

__all__ = ["p_matrix", "u_star_matrix"]

_P_SOURCE: Final = (
    "Ultsch 2003, Maps for the visualization of high-dimensional data spaces, WSOM'03; "
    "Ultsch 2005, Pareto density estimation, doi:10.1007/3-540-26981-9_12"
)
_U_SOURCE: Final = "Ultsch 2003, U*-matrix: a tool to visualize clusters in high dimensional data"


def p_matrix(
    samples: Any,
    som: Any,
    *,
    radius: float | None = None,
    percentile: float = 18,
    sample_anchors: int = 1_000,
    seed: int = 0,
    **reading: Any,
) -> xr.DataArray:
    """Count the samples in a sphere about each code vector.

    P(u) = #{i : ‖x_i − m_u‖ ≤ r}, an estimate of density; valleys of it part clusters that
    the heights of the U-matrix may not part.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
        As in :func:`somscale.evaluate`; read once, or twice where `radius` is to be found.
    som : Dataset or MiniSom
        The map.
    radius : float, optional
        r, in the samples' units; by default found as follows.
    percentile : float
        The radius is this percentile of the distances between samples, 0 to 100.  The 18th
        is that of the programs of Ultsch's group: near the radius at which spheres about
        samples hold a Pareto set, 20.13 % of all samples, in the median.
    sample_anchors : int
        Samples that are drawn for it, all of fewer: the percentile is that of the
        distances between these.
    seed : int
        Which samples are drawn.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``: how to read
        the samples.

    Returns
    -------
    DataArray, (unit,)
        Counts ≥ 0, exact for the radius, which the attributes name.  Computed at once,
        also of Dask samples.

    Raises
    ------
    InputError
        What is no map, a radius below 0, a percentile out of range, or sample weights.
    MemoryBudgetError
        The pass, or distances between so many drawn samples, do not fit the memory budget.

    Notes
    -----
    Only the radius is estimated.  Where the percentile is 0, as of many equal samples, the
    smallest distance above it is taken.  The programs of Ultsch's group narrow the radius
    of one-dimensional densities as N grows; here it does not depend on N.

    References
    ----------
    Ultsch 2003, Maps for the visualization of high-dimensional data spaces, WSOM'03; Ultsch
    2005, Pareto density estimation, doi:10.1007/3-540-26981-9_12
    """
    found = _find(samples, som, _Sphere(radius, percentile, sample_anchors, seed), reading)
    return found.labelled(
        found.counts, "p_matrix", "samples in the sphere of each unit", "samples", _P_SOURCE
    )


def u_star_matrix(
    samples: Any,
    som: Any,
    *,
    radius: float | None = None,
    percentile: float = 18,
    neighborhood: Literal["edge", "vertex"] | None = None,
    sample_anchors: int = 1_000,
    seed: int = 0,
    **reading: Any,
) -> xr.DataArray:
    """U-matrix heights, flattened where samples are dense and raised where they are sparse.

    U*(u) = U(u) · [1 + (P(u) − mean P) / (mean P − max P)]: U-heights as they are at the
    mean density, and 0 at the largest.

    Parameters
    ----------
    samples, som, radius, percentile, sample_anchors, seed, **reading
        As in :func:`p_matrix`.
    neighborhood : {"edge", "vertex"}, optional
        As in :func:`u_matrix`.

    Returns
    -------
    DataArray, (unit,)
        Heights ≥ 0 in the samples' units; nan for units without neighbours.  Computed at
        once, also of Dask samples.

    Raises
    ------
    InputError
        As :func:`p_matrix` does, and for an unknown neighbourhood.
    MemoryBudgetError
        The pass does not fit the memory budget.

    Notes
    -----
    Where all units have the same density the heights are those of the U-matrix.

    References
    ----------
    Ultsch 2003, U*-matrix: a tool to visualize clusters in high dimensional data
    """
    check_neighborhood({"neighborhood": neighborhood})
    found = _find(samples, som, _Sphere(radius, percentile, sample_anchors, seed), reading)
    heights = unit_heights(found.stats, found.grid, neighborhood)
    mean, largest = found.counts.mean(), found.counts.max()
    if largest > mean:
        heights = heights * (1 + (found.counts - mean) / (mean - largest))
    text = "U-matrix height of each unit, scaled by the density of samples"
    return found.labelled(heights, "u_star_matrix", text, found.units, _U_SOURCE)


@dataclass(frozen=True)
class _Sphere:
    """How the radius is found."""

    radius: float | None
    percentile: float
    sample_anchors: int
    seed: int

    def __post_init__(self) -> None:
        many: Any = self.sample_anchors
        if isinstance(many, bool) or not isinstance(many, int | np.integer) or many < 2:
            raise InputError(f"sample_anchors is a whole number of at least 2, not {many!r}")
        for name, value in (("radius", self.radius), ("percentile", self.percentile)):
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (number or (name == "radius" and value is None)):
                raise InputError(f"{name} is a number, not {value!r}")
        if self.radius is not None and not 0 <= self.radius < math.inf:
            raise InputError(f"radius is 0 or more, and finite, not {self.radius!r}")
        if not 0 <= self.percentile <= 100:
            raise InputError(f"percentile lies between 0 and 100, not at {self.percentile!r}")


@dataclass(frozen=True)
class _Density:
    """Counts of samples, the map that has them, and the spheres that hold them."""

    counts: Int
    stats: UnitStats
    grid: Grid
    radius: float
    units: str
    sampling: dict[str, Any]

    def labelled(
        self, values: Int | Float, name: str, text: str, units: str, source: str
    ) -> xr.DataArray:
        places = {"unit": np.arange(self.grid.size), "row": self.grid.row, "col": self.grid.col}
        coords = {
            key: ("unit", own, {"long_name": f"{key} of the map", "units": "1"})
            for key, own in places.items()
        }
        attributes: dict[str, Any] = {
            "long_name": text,
            "units": units,
            "direction": "none",
            "source": source,
        }
        attributes |= {"range": "[0, inf)", "radius": self.radius, **self.sampling}
        return xr.DataArray(values, dims="unit", name=name, coords=coords, attrs=attributes)


def _find(samples: Any, som: Any, sphere: _Sphere, reading: dict[str, Any]) -> _Density:
    for option in reading:
        if option not in READING:
            raise InputError(
                f"there is no parameter {option!r}; samples are read by {', '.join(READING)}"
            )
    if reading.get("sample_weights") is not None:
        raise InputError(
            "sample_weights= has no meaning for spheres, which count samples; leave it out"
        )
    problem = pose(samples, {"som": som}, None, {}, {**READING, **reading})
    trained, opened = problem.candidates["som"], problem.samples
    if not isinstance(trained, TrainedMap) or opened is None:
        raise InputError("densities are those about the codes of a map; mind (samples, som)")
    refuse_partial(opened, "spheres about codes")
    radius, sampling = sphere.radius, {}
    if radius is None:
        radius = _pareto_radius(problem, trained, sphere)
        sampling = {"percentile": sphere.percentile, "seed": sphere.seed}
        sampling["sample_anchors"] = min(sphere.sample_anchors, opened.shape[0])
    units = units_reduction(trained.codes, opened, name="units")
    density = DensityReduction(
        trained.codes, "units", radius, feature_weights=units.feature_weights
    )
    stats, counts = run_job(job_over(opened, [units, density]))
    told = opened.units or "data units"
    return _Density(counts, stats, trained.grid, float(radius), told, sampling)


def _pareto_radius(problem: Problem, som: TrainedMap, sphere: _Sphere) -> float:
    """A percentile of the distances between drawn samples that take part."""
    from scipy.spatial.distance import pdist

    samples = problem.samples
    if samples is None:
        raise ValueError("distances are those of samples")
    n = samples.shape[0]
    allowed = None if samples.excluded is None else samples.excluded.read(0, n) == 0
    n_allowed = n if allowed is None else int(np.count_nonzero(allowed))
    many = sphere.sample_anchors
    drawn = draw_anchors(n, min(many, n_allowed), sphere.seed, allowed)
    # distances with a copy that is put in order, and two copies of the samples
    needed = len(drawn) * (10 * len(drawn) + 16 * samples.shape[1])
    refuse_more_than_budget(
        needed, f"distances between {len(drawn)} samples", "draw fewer, sample_anchors="
    )
    flags = np.zeros(n, np.int8)
    flags[drawn] = 1
    columns = {"drawn": Column(flags, 0, range(2), "drawn", 0)}
    units = units_reduction(som.codes, samples, name="units", samplewise=True)
    listed = ListedRowsReduction("drawn", samples.shape[1], n_listed=len(drawn))
    stats, rows = run_job(job_over(samples, [units, listed], columns))
    values = _places(stats, rows)
    distances = pdist(values)
    if not len(distances):
        return 0.0
    found = float(np.quantile(distances, sphere.percentile / 100, method="inverted_cdf"))
    above = distances[distances > 0]
    return float(above.min()) if found == 0 and len(above) else found


def _places(stats: UnitStats, listed: ListedRows) -> Float:
    """The drawn samples that take part, scaled by the roots of the features' weights."""
    if stats.bmu is None:
        raise ValueError("the pass kept no units of samples")
    values = listed.values[stats.bmu[listed.rows] >= 0]
    if stats.missing_features is not None:
        values = np.where(stats.missing_features, 0.0, values)
    if stats.feature_weights is not None:
        values = values * np.sqrt(stats.feature_weights)
    return values

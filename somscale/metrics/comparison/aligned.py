"""The distance between the code vectors of two maps, one of them turned to fit the other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from somscale._types import Float, Int
from somscale.codebook import TrainedMap, as_map
from somscale.engine.readers.alignment import order_to_match
from somscale.engine.readers.axes import flat_labels
from somscale.errors import InputError
from somscale.topology import symmetries

__all__ = ["aligned_code_distance"]

MOST_UNITS: Final = 8_192
"""Units whose code vectors are compared with all of the other map: 512 MiB."""


def aligned_code_distance(som: Any, other: Any) -> xr.Dataset:
    """Mean distance of the code vectors of two maps, at the best of the grid's symmetries.

    min over σ of (1/K) Σ_u ‖m_u − m′_σ(u)‖: two runs of a training may give the same map
    mirrored, turned or, on a grid that wraps, shifted, and unit by unit they differ then.

    Parameters
    ----------
    som, other : Dataset or MiniSom
        Maps of the same features on the same grid.  Features are matched by their labels.

    Returns
    -------
    Dataset
        ``aligned_code_distance`` and ``code_distance`` (at the identity), ≥ 0 in the
        codes' units, lower is more alike; and ``matched_unit(unit)``, the unit σ(u) of
        `other` that stands for each unit of `som`: the first of several best.

    Raises
    ------
    InputError
        What is no map, or maps on different grids, of different features or masks, or of
        more than 8,192 units.

    Notes
    -----
    The symmetries are mirror images, half turns, quarter turns of square maps, and all
    shifts along axes that wrap; on maps from edges or distances there is the identity alone.
    No article defines the distance: it is the plain one of code vectors, made blind to
    what a training leaves to chance.
    """
    ours, theirs = as_map(som), as_map(other)
    grid = ours.grid
    if theirs.grid != grid:
        raise InputError(
            f"code vectors are compared unit by unit, and the maps' grids differ: {grid!r} and "
            f"{theirs.grid!r}; compare how they lay out samples with map_distance"
        )
    if grid.size > MOST_UNITS:
        raise InputError(
            f"the maps have {grid.size} units; those of at most {MOST_UNITS} are aligned"
        )
    from scipy.spatial.distance import cdist

    table = cdist(*_codes(ours, theirs))
    every = np.arange(grid.size)
    best, first = np.inf, float(table[every, every].mean())
    chosen: Int = every
    for order in symmetries(grid):
        mean = float(table[every, order].mean())
        # the same sum in another order is no better
        if mean < best * (1 - 1e-12):
            best, chosen = mean, order
    units = _units_of(som)
    facts = {"units": units, "direction": "lower", "range": "[0, inf)"}
    name = "mean distance of the code vectors of two maps"
    places = {"unit": every, "row": grid.row, "col": grid.col}
    return xr.Dataset(
        {
            "aligned_code_distance": ((), best, {"long_name": f"{name}, aligned", **facts}),
            "code_distance": ((), first, {"long_name": name, **facts}),
            "matched_unit": (
                "unit",
                chosen,
                {"long_name": "unit of the other map that stands for this one", "units": "1"},
            ),
        },
        coords={
            name: ("unit", values, {"long_name": f"{name} of the map", "units": "1"})
            for name, values in places.items()
        },
    )


def _codes(ours: TrainedMap, theirs: TrainedMap) -> tuple[Float, Float]:
    """Codes in the same order of features, masked ones left out."""
    if ours.codes.shape[1] != theirs.codes.shape[1]:
        raise InputError(
            f"the maps have {ours.codes.shape[1]} and {theirs.codes.shape[1]} features; compare "
            "maps of the same features"
        )
    dim = "feature"
    own, known = (
        {
            dim if axes.dims == (name,) else name: xr.Variable(dim, values)
            for name, values in flat_labels(axes).items()
        }
        for axes in (theirs.features, ours.features)
    )
    order = order_to_match(own, known, dim, "the two maps")
    codes = theirs.codes if order is None else theirs.codes[:, order]
    masked = np.isnan(ours.codes[0])
    differing = masked != np.isnan(codes[0])
    if differing.any():
        feature = ours.features.names().describe(int(np.argmax(differing)))
        raise InputError(f"{feature} is masked (nan) in one of the maps only; mask it in both")
    return ours.codes[:, ~masked], codes[:, ~masked]


def _units_of(som: Any) -> str:
    """Units of the codes, where the map tells them."""
    if isinstance(som, xr.Dataset) and "codes" in som:
        return str(som["codes"].attrs.get("units", "data units"))
    return "data units"

"""First codes of a map: on the plane of the samples, some of the samples, or given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from somscale._types import Float
from somscale.codebook import codebook
from somscale.codebook.matching import matched
from somscale.codebook.opening import as_map, is_map
from somscale.engine.readers.peek import draw_rows, read_some_rows
from somscale.errors import InputError
from somscale.topology import Grid
from somscale.training.passes import Material
from somscale.training.plane import Plane, find_plane

__all__ = ["FirstCodes", "check_init", "first_codes"]

_JITTER: Final = 0.01
"""Share of the plane's extent by which first codes are moved, so that none coincide."""
_NAMES: Final = ("plane", "samples")


@dataclass(frozen=True)
class FirstCodes:
    """First codes, and where they are from.

    Attributes
    ----------
    codes : (K, D) float64
        Finite, but for features that a given map leaves out, which are nan.
    source : str
        In words, for the map's attributes.
    """

    codes: Float
    source: str


def check_init(init: Any) -> None:
    """Refuse a name that is none, before anything is read.

    Raises
    ------
    InputError
        It is neither a known name, nor a map, nor an array.
    """
    known = isinstance(init, str) and init in _NAMES
    if not (known or is_map(init) or isinstance(init, np.ndarray | xr.DataArray | list | tuple)):
        what = repr(init) if isinstance(init, str) else f"a {type(init).__name__}"
        raise InputError(f"init is 'plane', 'samples', an array of codes or a map, not {what}")


def first_codes(material: Material, grid: Grid, init: Any, seed: int) -> FirstCodes:
    """Codes to begin with.

    Raises
    ------
    InputError
        Codes that are given do not fit the grid or the samples, or are not finite.
    """
    if not isinstance(init, str):
        return FirstCodes(_given(material, grid, init), "given")
    rng = np.random.default_rng(seed)
    if init == "samples":
        rows = _filled(draw_rows(material.samples, grid.size, rng, incomplete=material.partial))
        # each sample once, and then some again where the units are more
        more = rng.choice(len(rows), size=max(0, grid.size - len(rows)))
        order = np.concatenate([rng.permutation(len(rows)), more])
        return FirstCodes(rows[order], "samples")
    at_least = min(material.samples.shape[0], 2 * grid.size)
    rows = read_some_rows(material.samples, at_least, rng, incomplete=material.partial)
    means = _means(rows)
    rows = np.where(np.isnan(rows), means, rows)
    plane = find_plane(material, rows, means)
    return FirstCodes(_on_plane(plane, grid, rng), plane.source)


def _filled(rows: Float) -> Float:
    """Rows with means for what they lack."""
    return np.where(np.isnan(rows), _means(rows), rows)


def _means(rows: Float) -> Float:
    """Means of the values that there are, 0 where there is none."""
    held = np.isfinite(rows)
    counts = np.maximum(held.sum(axis=0), 1)
    base = np.where(held, rows, 0.0)
    # divided first: sums of values near the largest that are allowed must not overflow
    return np.asarray((base / counts).sum(axis=0))


def _given(material: Material, grid: Grid, init: Any) -> Float:
    som = init if is_map(init) else codebook(init, grid)
    trained = matched(as_map(som), material.samples)
    if len(trained.codes) != grid.size:
        raise InputError(
            f"init has {len(trained.codes)} units and the grid {grid.size}; give a map of the "
            "grid's size"
        )
    return np.array(trained.codes)


def _on_plane(plane: Plane, grid: Grid, rng: np.random.Generator) -> Float:
    """Codes on the plane, up to two standard deviations out, the grid's longer side first."""
    places = grid.positions - grid.positions.mean(axis=0)
    extent = np.abs(places).max(axis=0)
    places = places / np.where(extent > 0, extent, 1)
    places = places[:, np.argsort(-extent, kind="stable")]
    codes = np.tile(plane.mean, (grid.size, 1))
    for axis, spread in enumerate(plane.spread.tolist()):
        codes += 2 * spread * places[:, [axis]] * plane.axes[axis]
    noise = rng.standard_normal(codes.shape) / np.sqrt(codes.shape[1])
    return np.asarray(codes + _JITTER * plane.spread[0] * noise)

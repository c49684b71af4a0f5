"""Point-wise rank quality at some pairs (κs, κt): what an embedding is coloured by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr

from somscale.reporting.result import Result

__all__ = ["MOST_PAIRS", "Shades", "shades_of", "spread"]

MOST_PAIRS: Final = 8
"""Values of κs, and of κt, at which points are coloured."""


@dataclass
class Shades:
    """Point-wise rank quality: one variable at one pair (κs, κt), of all or of drawn samples."""

    kappa_s: int
    kappa_t: int
    values: xr.DataArray


def shades_of(result: Result, pointwise: xr.DataArray | None) -> list[Shades]:
    """Every pair (κs, κt) at which the quality of samples is held, at most 8 × 8."""
    found: dict[tuple[int, int], Shades] = {}
    held = [result.q[name] for name in result.named("pointwise_rank_quality")]
    for array in [*held, *([] if pointwise is None else [pointwise])]:
        near, change = _kappas(array, "kappa_s"), _kappas(array, "kappa_t")
        for s in near:
            for t in change:
                at = {d: v for d, v in (("kappa_s", s), ("kappa_t", t)) if d in array.dims}
                found.setdefault((s, t), Shades(s, t, array.sel(at)))
    chosen_s, chosen_t = (spread({pair[axis] for pair in found}) for axis in (0, 1))
    pairs = [pair for pair in sorted(found) if pair[0] in chosen_s and pair[1] in chosen_t]
    return [found[pair] for pair in pairs]


def _kappas(array: xr.DataArray, name: str) -> list[int]:
    if name in array.coords:
        return [int(v) for v in np.atleast_1d(array[name].values)]
    text = str(array.attrs.get(name, ""))
    return [int(text)] if text.isdecimal() else []


def spread(values: Iterable[int]) -> list[int]:
    """At most eight of some values, close together where they are small."""
    ordered = sorted(values)
    if len(ordered) <= MOST_PAIRS:
        return ordered
    # by ratios of places, but each place once
    places = np.geomspace(1, len(ordered), MOST_PAIRS).round().astype(int) - 1
    places = np.maximum(places, np.arange(MOST_PAIRS))
    return [ordered[place] for place in places]

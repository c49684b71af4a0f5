"""What colours the points of embeddings: numbers, classes, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from somscale._types import Float
from somscale.errors import InputError
from somscale.plot._figures import CATEGORIES
from somscale.plot._reading import hinted, of_candidate

__all__ = ["Coloring", "coloring_of"]

_WHOLE: Final = 20  # different whole numbers that are taken for classes
_POINTWISE: Final = "pointwise_rank_quality"


@dataclass(frozen=True)
class Coloring:
    """Values of the points of each embedding, nan where there is none; None without values.

    Classes are numbered, and `colors` has the number of the colour of each; those that share
    the last one are too many for a colour each.  `classes` names the colours.  Both are empty
    where the values are numbers.
    """

    values: list[Float] | None
    label: str = ""
    classes: tuple[str, ...] = ()
    colors: Float = field(default_factory=lambda: np.empty(0))

    def shown(self, codes: Float) -> Float:
        """Return the numbers of the colours of classes, nan for none."""
        known = np.isfinite(codes)
        found = np.full(codes.shape, np.nan)
        found[known] = self.colors[codes[known].astype(int)]
        return found


def coloring_of(
    values: Any, points: Mapping[str, Any], counts: Sequence[int], categorical: bool | None
) -> Coloring:
    """Return what `values` say of the points of each embedding, so many of each.

    Raises
    ------
    InputError
        Not one value for each point.
    """
    if values is None:
        return Coloring(None)
    each = [_flat(_values_for(values, name), points[name]) for name in points]
    for (name, _), own, count in zip(points.items(), each, counts, strict=True):
        if len(own) != count:
            of = f" of {name!r}" if len(points) > 1 else ""
            raise InputError(f"there are {len(own)} values for {count} points{of}")
    joined = np.concatenate(each)
    first = _values_for(values, next(iter(points)))
    label = hinted(first, width=1000) if isinstance(first, xr.DataArray) else ""
    if not (_are_classes(joined) if categorical is None else categorical):
        return Coloring([own.astype(float) for own in each], label)
    codes, classes, colors = _classes(joined)
    ends = np.cumsum(counts)[:-1]
    return Coloring(np.split(codes, ends), label, classes, colors)


def _values_for(values: Any, name: Any) -> Any:
    """The values of one embedding."""
    if isinstance(values, xr.Dataset):
        if _POINTWISE not in values.data_vars:
            held = ", ".join(map(str, values.data_vars))
            raise InputError(f"the result has no {_POINTWISE}; pass q[…] of another one: {held}")
        values = values[_POINTWISE]
    if isinstance(values, Mapping):
        if name not in values:
            held = ", ".join(map(str, values))
            raise InputError(f"there are no values of {name!r}, only of {held}")
        return values[name]
    if isinstance(values, xr.DataArray) and "candidate" in values.dims:
        return of_candidate(values, name if values.sizes["candidate"] > 1 else None)
    return values


def _flat(values: Any, points: Any) -> Any:
    """Values along the points, in these' order of dims."""
    if isinstance(values, xr.DataArray) and isinstance(points, xr.DataArray):
        dims = points.dims[:-1]
        if set(dims) == set(values.dims):
            values = values.transpose(*dims)
    return np.asarray(values).ravel()


def _are_classes(values: Any) -> bool:
    if values.dtype.kind in "iu":
        return len(np.unique(values)) <= _WHOLE
    return values.dtype.kind not in "fc"


def _classes(values: Any) -> tuple[Float, tuple[str, ...], Float]:
    """Numbers of classes, names of colours, and the colour of each class."""
    codes, names = pd.factorize(values, sort=True)
    numbers = np.where(codes < 0, np.nan, codes)
    words = [str(name) for name in names]
    if len(words) <= len(CATEGORIES):
        return numbers, tuple(words), np.arange(len(words), dtype=float)
    sizes = np.bincount(codes[codes >= 0], minlength=len(words))
    largest = np.sort(np.argsort(-sizes, kind="stable")[: len(CATEGORIES)])
    colors = np.full(len(words), float(len(largest)))
    colors[largest] = np.arange(len(largest))
    others = f"{len(words) - len(largest)} others"
    return numbers, (*(words[place] for place in largest), others), colors

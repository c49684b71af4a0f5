"""Laws on what a change of the samples does to an index."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import xarray as xr

from somscale._types import AnyArray, Int
from somscale.testing.cases import FEATURES, Case
from somscale.testing.comparing import ROUNDING, Found, require_close
from somscale.testing.judged import Index, Judged

__all__ = [
    "check_labels",
    "check_order",
    "check_precision",
    "check_scale",
    "check_translation",
]

_SINGLE: Final = 1e-5
"""Share by which floats may differ where some of the arithmetic is in float32."""

_SHIFTED: Final = 1e-6
"""The same where samples are rounded anew."""

_WITHOUT_SCALE: Final = frozenset(
    {"1", "samples", "units", "features", "classes", "clusters", "pairs", "pairs of units"}
    | {"ordered pairs", "intruders", "nats", "bits"}
)
"""Units of which the samples' own are no part."""


def check_order(judged: Judged) -> None:
    """The samples' order does not matter, but for rounding; values of samples go with them."""
    for case, own, values in judged.each():
        order = np.random.default_rng(judged.seed).permutation(len(case.labels))
        turned = judged.together(case.turned(order), own)
        for index in own:
            first = values[index.name]
            if "sample" in first.value.dims:
                first = replace(first, value=first.value.isel(sample=order))
            require_close(index.name, "order", case, first, turned[index.name], ROUNDING)


def check_precision(judged: Judged) -> None:
    """The same numbers in float32 give the value they give in float64, to five digits."""
    for case, own, values in judged.each():
        single = replace(case, samples=case.samples.astype(np.float32))
        found = judged.together(single, own, "the same samples in float32")
        for index in own:
            first = replace(values[index.name], origin="samples in float64")
            require_close(index.name, "precision", case, first, found[index.name], _SINGLE)


def check_scale(judged: Judged) -> None:
    """Samples times 8 give a value times 8^p, where its units are data^p; 8^0 where they are 1.

    Code vectors and embeddings are scaled along with them.
    """
    for case, own, values in judged.each():
        scaled = case.moved(8.0, np.zeros(FEATURES), "samples times 8")
        if not case.is_map and judged.subject == "projection":
            scaled = replace(scaled, projection=case.projection * 8.0)
        found = judged.together(scaled, own)
        for index in own:
            power = _promised_power(index, case)
            if power is None:
                continue
            before = values[index.name].value
            times = before * 8.0**power if power else before
            origin = f"its units {index.spec.units!r} (8^{power:g} times the value before)"
            first = Found(times, origin)
            require_close(index.name, "scale", case, first, found[index.name], ROUNDING)


def _promised_power(index: Index, case: Case) -> float | None:
    """Power of the samples' scale that the declared units promise; None where they say nothing."""
    spec = index.spec
    base, _, power = spec.units.partition("^")
    if spec.subject == "projection" and spec.cost != "ranks" and (case.is_map or base == "data"):
        return None  # distances on a map keep their scale, and those of an embedding have their own
    if base == "data":
        return float(power or 1)
    return 0.0 if spec.units in _WITHOUT_SCALE else None


def check_translation(judged: Judged) -> None:
    """Samples and code vectors that are shifted alike give the same value."""
    shift = np.random.default_rng(judged.seed).integers(2, 6, FEATURES).astype(np.float64)
    for case, own, values in judged.each():
        moved = case.moved(1.0, shift, f"samples shifted by {shift.tolist()}")
        found = judged.together(moved, own)
        for index in own:
            first = values[index.name]
            require_close(index.name, "translation", case, first, found[index.name], _SHIFTED)


def check_labels(judged: Judged) -> None:
    """Other numbers for the classes and clusters permute what stands for each, and no more."""
    for case, own, values in judged.each():
        found = judged.together(_renamed(case), own, "other numbers for the same labels")
        for index in own:
            first = values[index.name]
            second = found[index.name]
            value = _in_order(second.value, first.value)
            require_close(index.name, "labels", case, first, replace(second, value=value), ROUNDING)


def _renamed(case: Case) -> Case:
    """The same classes and clusters by numbers in another order."""
    renamed = replace(case, labels=_rename(case.labels))
    if case.subject in ("clusters", "partition"):
        renamed = replace(renamed, projection=_rename(case.projection))
    return renamed


def _rename(labels: AnyArray) -> Int:
    new: Int = 7 - 2 * labels
    return new


def _in_order(value: xr.DataArray, like: xr.DataArray) -> xr.DataArray:
    """Values along classes and clusters, in the order that they had before."""
    for dim in ("class", "cluster", "other_cluster"):
        if dim in value.dims and dim in like.dims:
            value = value.sel({dim: _rename(like[dim].values)})
    return value

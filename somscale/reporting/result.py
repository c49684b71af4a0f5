"""A result as a report reads it: what was judged, and which variable is which index."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import xarray as xr

from somscale.errors import InputError
from somscale.metrics.spec import MetricSpec, all_specs
from somscale.reporting.wording import distinct, in_line

__all__ = ["PARAMETERS", "Kind", "Result"]

Kind = Literal["map", "embedding", "clusters"]

PARAMETERS: Final = ("k", "kappa_s", "kappa_t", "temperature", "delta")
"""Dims that stand for a parameter of an index, or for the argument of a function."""

_OWN: Final = frozenset(
    {
        *("value", "note", "n_units", "standard_error", "interval_low", "interval_high"),
        *("rank", "mean_rank", "best", "on_front", "indistinguishable", "interval_note"),
    }
)
_BOTH_WAYS: Final = ("rank_quality", "pointwise_rank_quality", "unit_rank_quality")
"""Higher is better where κt is small, and worse where it is large."""
_ERRORS: Final = ("_standard_error", "_interval_low", "_interval_high")


class Result:
    """The Dataset of :func:`somscale.evaluate` or :func:`somscale.compare`.

    Parameters
    ----------
    q : Dataset
        In memory, of Dask arrays, or opened lazily; variables are read when they are drawn.

    Attributes
    ----------
    names : list of str
        The candidates' own names; none where one thing was judged without a name.
    parts : dict of str to DataArray
        In memory, what is drawn of variables of which no more is.

    Raises
    ------
    InputError
        It is something else.
    """

    def __init__(self, q: Any) -> None:
        if not isinstance(q, xr.Dataset):
            raise InputError(
                f"a report is made of the Dataset of ss.evaluate or ss.compare, not of a "
                f"{type(q).__name__}"
            )
        if q.attrs.get("somscale_kind") != "result":
            held = ", ".join(map(repr, str(q.attrs.get("somscale_kind", "")).split()[:3])) or "none"
            raise InputError(
                f"the Dataset is no result of ss.evaluate or ss.compare (its attribute "
                f"somscale_kind is {held}); name the result, and the map or embedding as projection"
            )
        self.names = _names(q)
        self.q = _readable(q, self.names)
        self.parts: dict[str, xr.DataArray] = {}

    def array(self, name: str) -> xr.DataArray:
        """A variable, or what is drawn of it: some of its samples, units or κ."""
        return self.parts.get(name, self.q[name])

    @cached_property
    def candidates(self) -> list[str]:
        """Names of the candidates as the page shows them; none where it is one without a name."""
        return distinct(self.names)

    @property
    def heads(self) -> list[str]:
        """A name for each candidate, also where there is but one without a name."""
        return self.candidates or ["value"]

    def of(self, values: xr.DataArray, candidate: int) -> xr.DataArray:
        """The values of one candidate, by its place."""
        return values.isel(candidate=candidate) if "candidate" in values.dims else values

    @cached_property
    def kind(self) -> Kind:
        """What was judged."""
        dims = set(self.q.dims)
        if "map_fingerprints" in self.q.attrs or "unit" in dims or "n_units" in self.q:
            return "map"
        if "clusters_excluded" in self.q.attrs or "cluster" in dims:
            return "clusters"
        return "embedding"

    @cached_property
    def n_samples(self) -> int | None:
        """How many samples there were."""
        count = self.q.attrs.get("n_samples")
        return None if count is None else int(count)

    @property
    def compared(self) -> bool:
        """Whether candidates were compared, with ranks."""
        return "rank" in self.q and "mean_rank" in self.q

    @cached_property
    def arrays(self) -> list[str]:
        """Indices that are variables of their own, without their errors."""
        names = [str(name) for name in self.q.data_vars if str(name) not in _OWN]
        stems = {name: name.removesuffix(end) for name in names for end in _ERRORS}
        found = [
            name
            for name in names
            if "metric" not in self.q[name].dims
            and not any(name.endswith(end) and name.removesuffix(end) in stems for end in _ERRORS)
        ]
        # a store gives variables back by the alphabet
        order = {name: place for place, name in enumerate(self._specs[0])}
        specs = {name: self.spec_of(name) for name in found}
        places = {n: len(order) if s is None else order[s.name] for n, s in specs.items()}
        return sorted(found, key=lambda name: (places[name], name))

    @cached_property
    def metrics(self) -> list[str]:
        """Labels of indices that are one number."""
        return [str(m) for m in self.q["metric"].values.tolist()] if "metric" in self.q.dims else []

    @cached_property
    def _specs(self) -> tuple[Mapping[str, MetricSpec], Mapping[str, MetricSpec]]:
        return _specs()

    def spec(self, label: str, long_name: str) -> MetricSpec | None:
        """The index behind a label of the user's, by its name in words; None if it is unknown."""
        by_name, by_words = self._specs
        found = by_name.get(label)
        return found if found is not None else by_words.get(long_name)

    def spec_of(self, name: str) -> MetricSpec | None:
        """The index that a variable is."""
        return self.spec(name, str(self.q[name].attrs.get("long_name", "")))

    def own_dims(self, name: str) -> tuple[Hashable, ...]:
        """Dims of a variable besides its candidates."""
        return tuple(dim for dim in self.q[name].dims if dim != "candidate")

    def sample_dims(self, name: str) -> tuple[Hashable, ...]:
        """Dims of the samples in a variable; none if it is no index of samples."""
        spec = self.spec_of(name)
        if spec is None or "sample" not in spec.dims:
            return ()
        return tuple(dim for dim in self.own_dims(name) if dim not in spec.dims or dim == "sample")

    def along(self, *dims: str) -> Iterator[str]:
        """Variables whose dims besides candidates are these."""
        yield from (name for name in self.arrays if self.own_dims(name) == dims)

    def named(self, *indices: str) -> Iterator[str]:
        """Variables that are one of these indices, whatever they are called."""
        for name in self.arrays:
            spec = self.spec_of(name)
            if spec is not None and spec.name in indices:
                yield name

    def attribute(self, name: str) -> Any:
        """An attribute that is JSON; an empty mapping where it is none."""
        try:
            return json.loads(self.q.attrs.get(name, "{}"))
        except (ValueError, TypeError):
            return {}

    def direction(self, label: str, one: xr.Dataset | None = None) -> str:
        """Which values of a variable, or of a row of the numbers, are better; "" if not always."""
        if one is None:
            spec, direction = self.spec_of(label), str(self.q[label].attrs.get("direction", ""))
        else:
            spec = self.spec(label, str(one["long_name"].item()))
            direction = str(one["direction"].item())
        return "" if spec is not None and spec.name in _BOTH_WAYS else direction

    def number(self, name: str, candidate: int, **place: Any) -> float:
        """A value of a variable, computed."""
        return float(np.asarray(self.of(self.q[name], candidate).isel(place).values))


def _names(q: xr.Dataset) -> list[str]:
    """The candidates' own names."""
    if "candidate" not in q.dims:
        return []
    held = q["candidate"].values if "candidate" in q.coords else range(q.sizes["candidate"])
    return [str(name) for name in held]


def _readable(q: xr.Dataset, names: list[str]) -> xr.Dataset:
    """The result with names and words that a picture has room for."""
    shown = q.assign_coords(candidate=distinct(names)) if names else q.copy(deep=False)
    if "best" in shown and names:
        new = dict(zip(names, distinct(names), strict=True))
        best = [new.get(str(name), str(name)) for name in shown["best"].values]
        shown["best"] = shown["best"].copy(data=np.array(best, dtype=object))
    for name in shown.variables:
        own = shown[name].attrs
        texts = {n: str(own[n]) for n in _TEXTS if n in own}
        shown[name].attrs = own | {n: in_line(t, _MOST_WORDS) for n, t in texts.items()}
    return shown


_TEXTS: Final = ("long_name", "units")
_MOST_WORDS: Final = 120


def _specs() -> tuple[Mapping[str, MetricSpec], Mapping[str, MetricSpec]]:
    """All indices by name and by name in words."""
    specs = all_specs()
    words: dict[str, MetricSpec] = {}
    for spec in reversed(specs):
        for facts in spec.variants.values():
            words.setdefault(str(facts.get("long_name", spec.long_name)), spec)
    words |= {spec.long_name: spec for spec in reversed(specs)}
    return {spec.name: spec for spec in specs}, words

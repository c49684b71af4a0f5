"""MetricSpec: all that somscale knows of an index besides its formula, and the registry."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from somscale.errors import InputError, UnknownMetricError
from somscale.metrics.values import Value

__all__ = [
    "Cost",
    "Direction",
    "MetricSpec",
    "Subject",
    "Variants",
    "all_specs",
    "find_spec",
    "power_of",
    "range_text",
    "register",
]

Direction: TypeAlias = Literal["higher", "lower", "zero", "none"]
Cost: TypeAlias = Literal["linear", "pairs", "ranks"]
Subject: TypeAlias = Literal["map", "projection", "partition", "units", "clusters"]
Variants: TypeAlias = Mapping[tuple[Any, ...], Mapping[str, Any]]
_SUBJECTS: tuple[Subject, ...] = ("map", "projection", "clusters", "partition", "units")


@dataclass(frozen=True)
class MetricSpec:
    """An index: its formula, what the formula needs, and how to read its value.

    Attributes
    ----------
    name : str
        Name of the index; the public function and the variable are called so.
    formula : callable
        Pure function of the finished statistics in `needs`.
    needs : tuple of str
        Statistics that the formula is called with, in order: "units" (of a map), "grid",
        "table" (labels × clusters), "marginals" (of a map's features); of clusters
        "moments", "cluster_pairs", "extremes",
        "silhouettes_of_clusters", "centroid_silhouettes", "squared_silhouettes"; of a
        projection "totals", "ranked", "shepard", over pairs of samples, and "ranks" of
        neighbours; "bmu", the best-matching units of a map's samples.  In the place of ""
        the formula is given None.
    long_name : str
        Name in words.
    definition : str
        Formula in one line of plain text.
    direction : {"higher", "lower", "zero", "none"}
        Which values are better.
    lower, upper : float
        Range of the value; infinite where unbounded, nan where no bound is known.
    units : str
        "1", "samples", "units", "data" (the samples' own units) or a power, as "data^2".
    dims : tuple of str
        Dimensions of the value, last those that are parameters of the formula.
    sample_field : str or None
        Field of the units reduction that holds the value of every sample.
    family : str
        A group that can be asked for by name.
    subject : {"map", "projection", "partition", "units", "clusters"}
        "map": (samples, som); "projection": (samples, som or embedding); "partition":
        (labels, clusters); "units": (labels, units, grid); "clusters": (samples, clusters).
    cost : {"linear", "pairs", "ranks"}
        Work in the number of samples.
    source : str
        Author, year, DOI.
    defaults : mapping
        Parameters of the formula and their defaults.
    dtype : str
        Type of the value.
    check : callable or None
        Refuses bad parameters before anything is read.
    undefined : str
        Where the value is nan; empty if nowhere.
    values_on : callable or None
        From a map's grid and all parameters, the values of the parameter that is a
        dimension where none are given; refuses parameters that the grid does not allow,
        before anything is read.
    variants : mapping of (str, value), or of several such pairs, to mapping
        Facts that differ where a parameter, or each of several, has a value; of those that
        hold the last decides.  Where forms of an index need different statistics, their
        `needs` are of the same length, with "" for what a form does without.
    totals : tuple of str
        Which sums and extremes the formula reads of
        :class:`~somscale.reductions.pair_stats.PairTotals`.
    tables : tuple of str
        Which optional fields the formula reads of
        :class:`~somscale.reductions.pair_stats.ClusterPairs`, or which parts of
        :class:`~somscale.reductions.rank_stats.RankStats`: "curves", "full" (those for all K
        up to N − 1), "surface", "samples", "jaccard", "agreement" (with labels), "matrix".
    of_map_alone : bool
        Whether the formula reads nothing of the samples, so that a map will do.
    with_gaps : bool
        Whether the value has a meaning where samples lack some features and are compared by
        those they have, ``missing="partial"``: the formula must then not take
        `UnitStats.residuals` for those of all samples.  Tables of units and labels always do.
    """

    name: str
    formula: Callable[..., Value]
    needs: tuple[str, ...]
    long_name: str
    definition: str
    direction: Direction
    lower: float
    upper: float
    units: str
    dims: tuple[str, ...]
    sample_field: str | None
    family: str
    subject: Subject
    cost: Cost
    source: str
    defaults: Mapping[str, Any]
    dtype: str
    check: Callable[[Mapping[str, Any]], None] | None
    undefined: str
    values_on: Callable[[Any, Mapping[str, Any]], Any] | None
    variants: Variants
    totals: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    of_map_alone: bool = False
    with_gaps: bool = False

    @property
    def scalar(self) -> bool:
        """Whether the value is one number, so that it stands along the dim ``metric``."""
        return not self.dims

    @property
    def parameters_as_dims(self) -> tuple[str, ...]:
        """The parameters that are dimensions of the value."""
        return tuple(dim for dim in self.dims if dim in self.defaults)

    @property
    def estimable(self) -> bool:
        """Whether a few samples that are compared with all others estimate it."""
        if "ranks" in self.needs:
            return {"samples", "matrix"}.isdisjoint(self.tables)
        sums = {"totals", "cluster_pairs", "silhouettes_of_clusters"}
        return not (sums.isdisjoint(self.needs) or self.tables or "sample" in self.dims)

    @property
    def range(self) -> str:
        """The range in words."""
        return range_text(self.lower, self.upper)

    def attributes(self, data_units: str | None) -> dict[str, str]:
        """Attributes of the variable that holds the value."""
        facts = {
            "long_name": self.long_name,
            "units": self.units_of(data_units),
            "direction": self.direction,
            "range": self.range,
            "source": self.source,
        }
        return {**facts, "undefined": self.undefined} if self.undefined else facts

    def units_of(self, data_units: str | None) -> str:
        """The value's units, given the samples'."""
        unit = data_units or "data units"
        base, _, power = self.units.partition("^")
        if base != "data":
            return self.units
        return power_of(unit, power) if power else unit

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters of the formula, the given ones instead of their defaults."""
        unknown = [name for name in given if name not in self.defaults]
        if unknown:
            known = ", ".join(self.defaults) or "none"
            raise InputError(
                f"{self.name} has no parameter {unknown[0]!r}; its parameters: {known}"
            )
        return {**self.defaults, **given}

    def with_parameters(self, parameters: Mapping[str, Any]) -> MetricSpec:
        """The index with the facts that hold for some parameters."""
        spec = self
        for key, facts in self.variants.items():
            pairs = (key,) if isinstance(key[0], str) else key
            if all(parameters[name] == value for name, value in pairs):
                spec = replace(spec, **facts)
        return spec


def power_of(unit: str, power: str) -> str:
    """A power of a unit in words."""
    if unit == "1":
        return unit
    return f"{unit}^{power}" if unit.isalnum() else f"({unit})^{power}"


def range_text(lower: float, upper: float) -> str:
    """A range in words: infinite ends are open, ends that are nan are unknown."""
    ends = ["unknown" if end != end else f"{end:g}" for end in (lower, upper)]
    left = "(" if lower == float("-inf") else "["
    right = ")" if upper == float("inf") else "]"
    return f"{left}{ends[0]}, {ends[1]}{right}"


_registry: dict[str, MetricSpec] = {}


def register(formula: Callable[..., Value], **facts: Any) -> MetricSpec:
    """Enter an index; its parameters are the formula's keyword-only arguments."""
    parameters = inspect.signature(formula).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    name = formula.__name__
    known = _registry.get(name)
    # a cell of a notebook that is run again declares the same index anew
    if known is not None and (known.formula.__module__, formula.__module__) != ("__main__",) * 2:
        raise InputError(f"an index {name!r} exists already")
    spec = MetricSpec(name=name, formula=formula, defaults=defaults, **facts)
    _registry[name] = spec
    return spec


def all_specs() -> list[MetricSpec]:
    """Every index by subject, single numbers before arrays, values of samples last."""
    return sorted(
        _registry.values(),
        key=lambda s: (_SUBJECTS.index(s.subject), "sample" in s.dims, len(s.dims)),
    )


def find_spec(name: str) -> MetricSpec:
    """The index of a name.

    Raises
    ------
    UnknownMetricError
        There is none; the nearest names are in the message.
    """
    if name in _registry:
        return _registry[name]
    near = difflib.get_close_matches(name, _registry, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "see `somscale metrics`"
    raise UnknownMetricError(f"no index is called {name!r}; {hint}")

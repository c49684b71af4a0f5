"""Turn a formula into an index's public function and enter it in the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import xarray as xr

from somscale.metrics.docstrings import public_docstring
from somscale.metrics.single import compute_map_index, compute_partition_index
from somscale.metrics.spec import Cost, Direction, MetricSpec, register
from somscale.metrics.values import Value

__all__ = ["IndexFunction", "map_index", "partition_index"]

_INFINITY = float("inf")


class IndexFunction(Protocol):
    """A public index function; ``spec`` says how to read its values."""

    spec: MetricSpec
    __name__: str

    def __call__(self, *data: Any, **parameters: Any) -> xr.DataArray:
        """Compute the index."""


def map_index(
    *,
    needs: tuple[str, ...],
    long_name: str,
    definition: str,
    direction: Direction,
    source: str,
    lower: float = 0.0,
    upper: float = _INFINITY,
    units: str = "1",
    dims: tuple[str, ...] = (),
    parameter: str | None = None,
    sample_field: str | None = None,
    dtype: str = "float64",
    family: str = "map",
    cost: Cost = "linear",
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
    variants: Mapping[tuple[str, Any], Mapping[str, Any]] | None = None,
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of samples and a map; see :class:`MetricSpec` for the facts."""
    facts: dict[str, Any] = {**locals(), "subject": "map", "variants": variants or {}}
    return lambda formula: _declare(formula, facts)


def partition_index(
    *,
    long_name: str,
    definition: str,
    direction: Direction,
    source: str,
    lower: float = 0.0,
    upper: float = 1.0,
    units: str = "1",
    dims: tuple[str, ...] = (),
    dtype: str = "float64",
    family: str = "partition",
    undefined: str = "",
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of two partitions, from their contingency table."""
    facts: dict[str, Any] = {
        **locals(),
        "needs": ("table",),
        "subject": "partition",
        "parameter": None,
        "sample_field": None,
        "cost": "linear",
        "check": None,
        "variants": {},
    }
    return lambda formula: _declare(formula, facts)


def _declare(formula: Callable[..., Value], facts: dict[str, Any]) -> IndexFunction:
    spec = register(formula, **facts)
    function = _map_function(spec) if spec.subject == "map" else _partition_function(spec)
    function.__name__ = function.__qualname__ = formula.__name__
    function.__module__ = formula.__module__
    function.__doc__ = public_docstring(formula.__doc__ or "", spec)
    function.__signature__ = _signature(formula, spec.subject)  # type: ignore[attr-defined]
    function.spec = spec  # type: ignore[attr-defined]
    # pickle looks a function up by its name, which the public function has taken
    function.formula = formula  # type: ignore[attr-defined]
    formula.__qualname__ = f"{formula.__name__}.formula"
    return function  # type: ignore[return-value]


def _map_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(samples: Any, som: Any, **parameters: Any) -> xr.DataArray:
        return compute_map_index(spec, samples, som, parameters)

    return public


def _partition_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(labels: Any, clusters: Any, **parameters: Any) -> xr.DataArray:
        return compute_partition_index(spec, labels, clusters, parameters)

    return public


def _signature(formula: Callable[..., Value], subject: Literal["map", "partition"]) -> Any:
    data = ("samples", "som") if subject == "map" else ("labels", "clusters")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        p
        for p in inspect.signature(formula).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    policies = [] if subject == "map" else _POLICIES
    first = [inspect.Parameter(name, kind, annotation="Any") for name in data]
    return inspect.Signature([*first, *own, *policies], return_annotation="xr.DataArray")


_POLICIES = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for name, default, kind in (
        ("noise", "cluster", "Noise"),
        ("noise_label", -1, "Any"),
        ("missing", "error", "Missing"),
    )
]

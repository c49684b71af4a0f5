"""Turn a formula into an index's public function and enter it in the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import xarray as xr

from somscale.metrics.answering.given_matrix import compute_matrix_index
from somscale.metrics.answering.map_alone import compute_map_alone
from somscale.metrics.answering.single import (
    compute_clusters_index,
    compute_map_index,
    compute_partition_index,
    compute_projection_index,
    compute_table_index,
    compute_units_index,
)
from somscale.metrics.asking.problem import READING
from somscale.metrics.docstrings import public_docstring
from somscale.metrics.ranks.given_matrix import PARTS_OF_A_MATRIX
from somscale.metrics.spec import Cost, Direction, MetricSpec, Variants, register
from somscale.metrics.values import Value

__all__ = [
    "IndexFunction",
    "MatrixFunction",
    "TableFunction",
    "clusters_index",
    "map_index",
    "partition_index",
    "projection_index",
    "units_index",
]

_INFINITY = float("inf")


class IndexFunction(Protocol):
    """A public index function; ``spec`` says how to read its values."""

    spec: MetricSpec
    __name__: str

    def __call__(self, *data: Any, **parameters: Any) -> xr.DataArray:
        """Compute the index."""


class TableFunction(IndexFunction, Protocol):
    """A public index function of two partitions."""

    def from_table(self, table: Any, **parameters: Any) -> xr.DataArray:
        """Compute the index from a table of counts, (class, cluster), in place of labels."""


class MatrixFunction(IndexFunction, Protocol):
    """A public index function of ranks, where the co-ranking matrix tells all it needs."""

    def from_matrix(self, matrix: Any, **parameters: Any) -> xr.DataArray:
        """Compute the index from a co-ranking matrix, (rank_in, rank_out)."""


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
    sample_field: str | None = None,
    dtype: str = "float64",
    family: str = "map",
    cost: Cost = "linear",
    tables: tuple[str, ...] = (),
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
    values_on: Callable[[Any, Mapping[str, Any]], Any] | None = None,
    variants: Variants | None = None,
    of_map_alone: bool = False,
    with_gaps: bool = False,
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of samples and a map; see :class:`MetricSpec` for the facts."""
    facts: dict[str, Any] = {**locals(), "subject": "map", "variants": variants or {}}
    return lambda formula: _declare(formula, facts)


def projection_index(
    *,
    needs: tuple[str, ...] = ("totals",),
    totals: tuple[str, ...] = (),
    long_name: str,
    definition: str,
    direction: Direction,
    source: str,
    lower: float = 0.0,
    upper: float = _INFINITY,
    units: str = "1",
    dims: tuple[str, ...] = (),
    dtype: str = "float64",
    family: str = "distances",
    cost: Cost = "pairs",
    tables: tuple[str, ...] = (),
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
    values_on: Callable[[Any, Mapping[str, Any]], Any] | None = None,
    variants: Variants | None = None,
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of samples and a map or an embedding, over pairs of samples."""
    facts: dict[str, Any] = {
        **locals(),
        "subject": "projection",
        "sample_field": None,
        "variants": variants or {},
    }
    return lambda formula: _declare(formula, facts)


def clusters_index(
    *,
    needs: tuple[str, ...] = ("moments",),
    long_name: str,
    definition: str,
    direction: Direction,
    source: str,
    lower: float = 0.0,
    upper: float = _INFINITY,
    units: str = "1",
    dims: tuple[str, ...] = (),
    sample_field: str | None = None,
    dtype: str = "float64",
    family: str = "clusters",
    cost: Cost = "linear",
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
    variants: Variants | None = None,
    tables: tuple[str, ...] = (),
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of samples and their clusters; see :class:`MetricSpec` for the facts."""
    facts: dict[str, Any] = {
        **locals(),
        "subject": "clusters",
        "values_on": None,
        "variants": variants or {},
    }
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
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
) -> Callable[[Callable[..., Value]], TableFunction]:
    """Declare an index of two partitions, from their contingency table."""
    facts: dict[str, Any] = {
        **locals(),
        "needs": ("table",),
        "subject": "partition",
        "sample_field": None,
        "cost": "linear",
        "values_on": None,
        "variants": {},
    }
    return lambda formula: cast(TableFunction, _declare(formula, facts))


def units_index(
    *,
    long_name: str,
    definition: str,
    direction: Direction,
    source: str,
    lower: float = 0.0,
    upper: float = _INFINITY,
    units: str = "1",
    dims: tuple[str, ...] = (),
    check: Callable[[Mapping[str, Any]], None] | None = None,
    undefined: str = "",
) -> Callable[[Callable[..., Value]], IndexFunction]:
    """Declare an index of labels on a map, from their table of units and the grid."""
    facts: dict[str, Any] = {
        **locals(),
        "needs": ("table", "grid"),
        "subject": "units",
        "family": "units",
        "sample_field": None,
        "dtype": "float64",
        "cost": "linear",
        "values_on": None,
        "variants": {},
    }
    return lambda formula: _declare(formula, facts)


def _declare(formula: Callable[..., Value], facts: dict[str, Any]) -> IndexFunction:
    spec = register(formula, **facts)
    make = {
        "map": _map_function,
        "projection": _projection_function,
        "clusters": _clusters_function,
        "partition": _partition_function,
        "units": _units_function,
    }
    function = make[spec.subject](spec)
    function.__name__ = function.__qualname__ = formula.__name__
    function.__module__ = formula.__module__
    text = inspect.cleandoc(formula.__doc__ or "")
    if spec.subject == "partition":
        function.from_table = _table_function(spec)  # type: ignore[attr-defined]
        text += _ALSO_TABLES.format(formula.__name__)
    if "ranks" in spec.needs and PARTS_OF_A_MATRIX.issuperset(spec.tables):
        function.from_matrix = _matrix_function(spec)  # type: ignore[attr-defined]
        text += _ALSO_MATRICES.format(formula.__name__)
    if spec.of_map_alone:
        text += _ALSO_MAPS.format(formula.__name__)
    function.__doc__ = public_docstring(text, spec)
    function.__signature__ = _signature(formula, spec)  # type: ignore[attr-defined]
    function.spec = spec  # type: ignore[attr-defined]
    # pickle looks a function up by its name, which the public function has taken
    function.formula = formula  # type: ignore[attr-defined]
    formula.__qualname__ = f"{formula.__name__}.formula"
    return function  # type: ignore[return-value]


def _map_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(samples: Any, som: Any, **parameters: Any) -> xr.DataArray:
        return compute_map_index(spec, samples, som, parameters)

    def of_either(samples: Any, som: Any = None, **parameters: Any) -> xr.DataArray:
        if som is None:
            return compute_map_alone(spec, samples, parameters)
        return public(samples, som, **parameters)

    return of_either if spec.of_map_alone else public


_ALSO_MAPS = """

It reads nothing of the samples: ``{}(som)`` takes the map alone."""


def _projection_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(samples: Any, projection: Any, **parameters: Any) -> xr.DataArray:
        return compute_projection_index(spec, samples, projection, parameters)

    return public


def _clusters_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(samples: Any, clusters: Any, **parameters: Any) -> xr.DataArray:
        return compute_clusters_index(spec, samples, clusters, parameters)

    return public


def _partition_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(labels: Any, clusters: Any, **parameters: Any) -> xr.DataArray:
        return compute_partition_index(spec, labels, clusters, parameters)

    return public


_ALSO_TABLES = """

``{}.from_table(table)`` takes the (class, cluster) table of counts in place of the labels."""


def _table_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def from_table(table: Any, **parameters: Any) -> xr.DataArray:
        return compute_table_index(spec, table, parameters)

    from_table.__qualname__ = f"{spec.name}.from_table"
    from_table.__doc__ = f"""{spec.long_name[0].upper()}{spec.long_name[1:]} of a table of counts.

    Parameters
    ----------
    table : array_like, DataArray, sparse array or matrix, DataFrame, (class, cluster)
        Samples of every class in every cluster, integers from 0 up.
    **parameters
        Those of `{spec.name}`, without policies on labels.

    Returns
    -------
    DataArray
        What `{spec.name}` gives for labels with that table.

    Raises
    ------
    InputError
        The table has no two dimensions or holds what is no count, or a parameter is wrong.
    """
    return from_table


_ALSO_MATRICES = """

``{}.from_matrix(matrix)`` takes the co-ranking matrix in place of samples and projection."""


def _matrix_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def from_matrix(matrix: Any, **parameters: Any) -> xr.DataArray:
        return compute_matrix_index(spec, matrix, parameters)

    from_matrix.__qualname__ = f"{spec.name}.from_matrix"
    title = spec.long_name[0].upper() + spec.long_name[1:]
    from_matrix.__doc__ = f"""{title} of a co-ranking matrix.

    Parameters
    ----------
    matrix : array_like or DataArray, (rank_in, rank_out)
        Pairs (i, j) by their ranks, all N − 1 of them: rows are ranks among the samples.
        The dims of a DataArray may be in either order.
    **parameters
        Those of `{spec.name}`, without those that say how ranks are found.

    Returns
    -------
    DataArray
        What `{spec.name}` gives for samples and a projection with that matrix.

    Raises
    ------
    InputError
        It is no co-ranking matrix, or a corner of one, or a parameter is wrong.
    """
    return from_matrix


def _units_function(spec: MetricSpec) -> Callable[..., xr.DataArray]:
    def public(labels: Any, units: Any, grid: Any, **parameters: Any) -> xr.DataArray:
        return compute_units_index(spec, labels, units, grid, parameters)

    return public


def _signature(formula: Callable[..., Value], spec: MetricSpec) -> Any:
    data = {
        "map": ("samples", "som"),
        "projection": ("samples", "projection"),
        "clusters": ("samples", "clusters"),
        "partition": ("labels", "clusters"),
        "units": ("labels", "units", "grid"),
    }[spec.subject]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        p
        for p in inspect.signature(formula).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    policies = {
        "map": _READING,
        "projection": [*(_CLASSES if "agreement" in spec.tables else []), *_READING],
        "clusters": [*_NOISE, _MISSING.replace(name="missing_labels"), *_READING],
        "partition": [*_NOISE, _MISSING],
        "units": [_MISSING],
    }[spec.subject]
    policies = [*policies, *(_SAMPLING if spec.estimable else [])]
    first = [inspect.Parameter(name, kind, annotation="Any") for name in data]
    if spec.of_map_alone:
        first[-1] = first[-1].replace(default=None)
    return inspect.Signature([*first, *own, *policies], return_annotation="xr.DataArray")


_SAMPLING = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for name, default, kind in (("sample_anchors", None, "int | None"), ("seed", 0, "int"))
]
_MISSING = inspect.Parameter(
    "missing", inspect.Parameter.KEYWORD_ONLY, default="error", annotation="Missing"
)
_CLASSES = [
    inspect.Parameter("labels", inspect.Parameter.KEYWORD_ONLY, annotation="Any"),
    _MISSING.replace(name="missing_labels"),
]
_NOISE = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for name, default, kind in (
        ("noise", "cluster", "Noise"),
        ("noise_label", -1, "Any"),
    )
]
_READING = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation="Any")
    for name, default in READING.items()
]

"""The variables of a Dataset as features: which ones, and how they stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from somscale._types import AnyArray
from somscale.engine.readers.axes import Axes, flat_labels, time_like
from somscale.engine.readers.blocked import Blocks
from somscale.engine.readers.opening import Opened, SampleDims, open_labelled, sample_dims_of
from somscale.engine.readers.sources import Source
from somscale.engine.readers.views import JoinedFeatures
from somscale.errors import InputError

__all__ = ["Variables", "fitting_variables", "open_variables"]

Variables: TypeAlias = str | Sequence[str] | None
SourceOf: TypeAlias = Callable[[xr.DataArray], Source | None]


def open_variables(
    dataset: xr.Dataset,
    sample_dims: SampleDims,
    variables: Variables,
    source_of: SourceOf = lambda _: None,
) -> Opened:
    """Open the variables of a Dataset.

    Parameters
    ----------
    dataset : Dataset
        Where they are.
    sample_dims : str or sequence of str, optional
        Dims of the samples.
    variables : str or sequence of str, optional
        Names of the variables; by default all of numbers that have the sample dims, but
        those that other variables name as their bounds.
    source_of : callable
        Gives the source of a variable where it is not the variable itself.
    """
    names = [variables] if isinstance(variables, str) else list(variables or [])
    for name in names:
        if name not in dataset.data_vars:
            raise InputError(f"there is no variable {name!r}, only {list(dataset.data_vars)}")
    if not names:
        names = fitting_variables(dataset, sample_dims)
    dims = sample_dims
    if dims is not None:
        dims = sample_dims_of(dataset, sample_dims)
        for name in names:
            lacking = [dim for dim in dims if dim not in dataset[name].dims]
            if lacking:
                raise InputError(
                    f"the variable {name!r} has dims {dataset[name].dims}, without the sample dim "
                    f"{lacking[0]!r}; leave it out with variable="
                )
    parts = [open_labelled(dataset[n], dims, source=source_of(dataset[n])) for n in names]
    opened = parts[0] if len(parts) == 1 else _side_by_side(names, parts)
    left_out = tuple(str(name) for name in dataset.data_vars if name not in names)
    return replace(opened, left_out=left_out)


def fitting_variables(dataset: xr.Dataset, sample_dims: SampleDims) -> list[str]:
    """Variables of numbers that have the samples' dims, but for those that are bounds."""
    bounds = _bounds(dataset)
    numbers = {
        str(name): array
        for name, array in dataset.data_vars.items()
        if array.dtype.kind in "biuf" and name not in bounds
    }
    dims = {str(name): array.dims for name, array in dataset.data_vars.items()}
    if sample_dims is None:
        fitting = [name for name, array in numbers.items() if array.ndim == 2]
        if len(fitting) == 1:
            return fitting
        raise _unclear(dataset, len(fitting), dims)
    wanted = set(sample_dims_of(dataset, sample_dims))
    fitting = [name for name, array in numbers.items() if wanted <= set(array.dims)]
    if not fitting:
        raise InputError(
            f"no variable of numbers has the sample dims {sorted(wanted)}; the variables: {dims}"
        )
    return fitting


def _unclear(dataset: xr.Dataset, n_fitting: int, dims: dict[str, Any]) -> InputError:
    """What to say where nothing says which dims are the samples'."""
    known = [str(dim) for dim in dataset.sizes]
    likely = time_like(dataset)
    proposal = f"for example sample_dims={likely!r}" if likely else "with sample_dims="
    choice = " (or choose one with variable='name')" if n_fitting else ""
    return InputError(
        f"say which of the dims {known} are the samples', {proposal}; all variables that have them "
        f"are features{choice}. Without it there must be one variable of (sample, feature), and "
        f"the Dataset holds {n_fitting} variables of numbers with two dims: {dims}"
    )


def _bounds(dataset: xr.Dataset) -> set[str]:
    """Variables that hold the bounds of others' cells: as CF names them, or as they are called."""
    named = {
        str(array.attrs.get(fact, array.encoding.get(fact)))
        for array in dataset.variables.values()
        for fact in ("bounds", "climatology")
    }
    called = {
        str(name)
        for name, array in dataset.data_vars.items()
        if str(name).endswith(("_bnds", "_bounds")) and array.ndim and array.shape[-1] in (2, 4)
    }
    return named | called


def _side_by_side(names: Sequence[str], parts: Sequence[Opened]) -> Opened:
    """Several variables of the same samples, their features one after the other."""
    first = parts[0]
    for name, part in zip(names, parts, strict=True):
        if (part.blocks is None) != (first.blocks is None):
            raise InputError(
                f"of the variables {list(names)} some are Dask arrays and some are not; "
                f"chunk() or load() {name!r} like the others"
            )
    units = {part.units for part in parts}
    source = blocks = None
    if first.blocks is None:
        source = JoinedFeatures(tuple(p.source for p in parts if p.source is not None))
    else:
        blocks = Blocks.joined([part.blocks for part in parts if part.blocks is not None])
    features = _features(names, [part.features for part in parts])
    return Opened(first.rows, features, source, blocks, units.pop() if len(units) == 1 else None)


def _features(names: Sequence[str], parts: Sequence[Axes]) -> Axes:
    """One axis for the features of several variables."""
    first = parts[0]
    if all(part.dims == first.dims and part.shape == first.shape for part in parts):
        labels = xr.Variable("variable", np.array(names, dtype=object))
        return Axes(
            ("variable", *first.dims),
            (len(parts), *first.shape),
            {**first.coords, "variable": labels},
        )
    labels_of = [flat_labels(part) for part in parts]
    sizes = [part.size for part in parts]
    coords = {"variable": np.repeat(np.array(names, dtype=object), sizes)}
    for name in dict.fromkeys(name for labels in labels_of for name in labels):
        known = [labels.get(name) for labels in labels_of]
        coords[name] = _joined_labels(known, sizes)
    variables = {name: xr.Variable("feature", values) for name, values in coords.items()}
    return Axes(("feature",), (sum(sizes),), variables)


def _joined_labels(labels: Sequence[AnyArray | None], sizes: Sequence[int]) -> AnyArray:
    """Labels of the features of all variables, nothing where a variable has none."""
    present = [values for values in labels if values is not None]
    kinds = {values.dtype.kind for values in present}
    kind: Any = object
    nothing: Any = ""
    if kinds <= set("biuf"):
        kind, nothing = float, np.nan
    elif kinds == {"M"}:
        kind, nothing = np.result_type(*present), np.datetime64("NaT")
    parts = [
        np.full(size, nothing, kind) if values is None else values.astype(kind)
        for values, size in zip(labels, sizes, strict=True)
    ]
    return np.concatenate(parts)

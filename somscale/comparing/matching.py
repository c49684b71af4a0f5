"""Which cluster, or unit, of one is which of the other: the best one-to-one assignment."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from somscale._types import Int
from somscale.codebook import TrainedMap
from somscale.codebook.passes import job_over, units_reduction
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import run_job
from somscale.errors import InputError
from somscale.evaluate import open_candidates
from somscale.metrics.asking.candidates import (
    check_lengths,
    coordinates_of,
    open_clusters,
)
from somscale.metrics.asking.problem import READING, pose
from somscale.metrics.partitions.matching import assigned_cells
from somscale.reductions.contingency import Contingency, ContingencyReduction

__all__ = ["match_clusters", "match_units"]

_ALONE: Final = -1
_TEXTS: Final = {
    "samples": "samples of its own",
    "shared": "samples that it shares with its partner",
    "share": "share of its samples that are its partner's",
    "other_share": "share of its partner's samples that are its own",
}


def match_units(samples: Any, som: Any, other: Any, **reading: Any) -> xr.Dataset:
    """Find each unit of a map on another map, by the samples that they share.

    Parameters
    ----------
    samples : array, DataArray, Dataset, Dask array, zarr.Array or path(s)
        As in :func:`somscale.evaluate`; read once.
    som, other : Dataset, path or MiniSom
        Two maps of these samples, of any sizes.
    **reading
        ``sample_dims``, ``variable``, ``missing``, ``mask``, ``feature_weights``: how to read
        the samples.

    Returns
    -------
    Dataset
        ``partner(unit)``: the unit of `other`, −1 for none; ``samples``, ``shared`` (samples
        that are of both), ``share`` and ``other_share``, `shared` over the samples of either,
        on ``unit``; ``partner_of_other(other_unit)``.  The attribute ``shared_samples`` is
        their sum, and ``n_samples`` all that take part.

    Raises
    ------
    InputError
        What is no map of these samples, sample weights, or an unknown option.
    SampleValueError
        Samples that are not finite.

    Notes
    -----
    No other one-to-one assignment of units to units shares more samples (Kuhn 1955).  Units
    that share none stay alone, as do those left over on the larger map.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> som = ss.codebook([[0.05], [1.05]], ss.Grid.chain(2))
    >>> turned = ss.codebook([[2.0], [1.0], [0.0]], ss.Grid.chain(3))
    >>> ss.match_units(samples, som, turned)["partner"].values.tolist()
    [2, 1]
    """
    for option in reading:
        if option not in READING:
            raise InputError(
                f"match_units has no parameter {option!r}; samples are read by {', '.join(READING)}"
            )
    if reading.get("sample_weights") is not None:
        raise InputError("match_units counts samples and takes no sample_weights=; leave them out")
    candidates, _ = open_candidates({"som": som, "other": other})
    problem = pose(samples, candidates, None, {}, {**READING, **reading})
    opened = problem.samples
    maps = [own for own in problem.candidates.values() if isinstance(own, TrainedMap)]
    if opened is None or len(maps) < 2:
        raise InputError("match_units compares maps; match clusterings with ss.match_clusters")
    reductions: list[Any] = [
        units_reduction(own.codes, opened, name=name)
        for name, own in zip(("som", "other"), maps, strict=True)
    ]
    sizes = [own.grid.size for own in maps]
    reductions.append(ContingencyReduction("som", "other", *sizes))
    table: Contingency = run_job(job_over(opened, reductions))[-1]
    names = [np.arange(size) for size in sizes]
    result = _matched(table, "unit", *names)
    for prefix, own in zip(("", "other_"), maps, strict=True):
        for name, places in (("row", own.grid.row), ("col", own.grid.col)):
            facts = {"long_name": f"{prefix.replace('_', ' ')}{name} of the map", "units": "1"}
            result = result.assign_coords({f"{prefix}{name}": (f"{prefix}unit", places, facts)})
    return result


def match_clusters(
    labels: Any,
    other: Any,
    *,
    noise: str = "cluster",
    noise_label: Any = -1,
    missing_labels: str = "error",
) -> xr.Dataset:
    """Find each cluster of a clustering in another one, by the samples that they share.

    Parameters
    ----------
    labels, other : array_like, (sample,)
        Two clusterings, or classes, of the same samples, of any numbers of clusters; those
        of which no sample takes part in both are left out.  DataArrays are put in one order
        by the coordinates they share.
    noise : {"cluster", "ignore", "singletons"}
        What `noise_label` means, in either.
    noise_label : optional
        The label of noise.
    missing_labels : {"error", "drop"}
        What to do with missing labels (nan, None, masked).

    Returns
    -------
    Dataset
        ``partner(cluster)``: the position of its partner along ``other_cluster``, −1 for
        none, and ``partner_label``, nan for none;
        ``samples``, ``shared``, ``share`` and ``other_share`` as of :func:`match_units`;
        ``partner_of_other(other_cluster)``.

    Raises
    ------
    InputError
        Clusterings of different lengths, or bad labels.

    Notes
    -----
    The attribute ``shared_samples`` over ``n_samples`` is
    :func:`somscale.metrics.clustering_accuracy`.

    Examples
    --------
    >>> import somscale as ss
    >>> found = ss.match_clusters(["a", "a", "b", "c"], [7, 7, 7, 3])
    >>> found["partner_label"].values.tolist()
    [7.0, nan, 3.0]
    """
    policies = {"noise": noise, "noise_label": noise_label, "missing": missing_labels}
    rows = coordinates_of(labels)
    one = open_clusters(labels, rows, name="labels", **policies)
    two = open_clusters(other, rows, name="other", **policies)
    check_lengths(one, two)
    sizes = one.n_categories, two.n_categories
    columns = {"labels": one, "other": two}
    job = LinearJob([ContingencyReduction("labels", "other", *sizes)], len(one), columns=columns)
    table, present = _occurring(run_job(job)[0])
    names = [own.labels_of(places) for own, places in zip((one, two), present, strict=True)]
    result = _matched(table, "cluster", *map(_as_coordinate, names))
    facts = {"long_name": "label of its partner", "units": "1"}
    found = _labels_at(np.asarray(names[1]), result["partner"].values)
    result["partner_label"] = ("cluster", _as_coordinate(found), facts)
    return result


def _occurring(table: Contingency) -> tuple[Contingency, tuple[Int, Int]]:
    """The table without rows and columns that are empty, and which are left."""
    rows, place_of_row = np.unique(table.rows, return_inverse=True)
    columns, place_of_column = np.unique(table.columns, return_inverse=True)
    shape = len(rows), len(columns)
    whole = Contingency(place_of_row, place_of_column, table.counts, shape, table.n_samples)
    return whole, (rows, columns)


def _labels_at(labels: NDArray[Any], positions: Int) -> NDArray[Any]:
    """Labels by their positions; nan for those that stay alone."""
    alone = positions == _ALONE
    if not alone.any():
        return np.asarray(labels[positions])
    numbers = labels.dtype.kind in "iufb"
    found: NDArray[Any] = np.full(len(positions), np.nan, dtype=float if numbers else object)
    found[~alone] = labels[positions[~alone]]
    return found


def _as_coordinate(labels: Any) -> NDArray[Any]:
    values = np.asarray(labels)
    return values.astype(object) if values.dtype.kind == "U" else values


def _matched(table: Contingency, dim: str, names: Any, other_names: Any) -> xr.Dataset:
    """The assignment of a table's rows to its columns."""
    taken = assigned_cells(table) if table.n_samples else np.zeros(0, bool)
    rows, columns, counts = (own[taken] for own in (table.rows, table.columns, table.counts))
    other = f"other_{dim}"
    partner, back = _filled(len(names), rows, columns), _filled(len(other_names), columns, rows)
    shared = np.zeros(len(names), np.int64)
    shared[rows] = counts
    theirs = np.where(partner == _ALONE, 0, np.append(table.column_sums, 0)[partner])
    values = {
        "samples": table.row_sums,
        "shared": shared,
        "share": _ratio(shared, table.row_sums),
        "other_share": _ratio(shared, theirs),
    }
    facts = {"units": "1"}
    result = xr.Dataset(
        {
            "partner": (dim, partner, {"long_name": f"its {dim} in the other, -1: none", **facts}),
            "partner_of_other": (other, back, {"long_name": f"its {dim}, -1: none", **facts}),
            **{n: (dim, own, {"long_name": _TEXTS[n], **facts}) for n, own in values.items()},
        },
        coords={
            dim: (dim, names, {"long_name": dim, **facts}),
            other: (other, other_names, {"long_name": f"{dim} of the other", **facts}),
        },
    )
    for name in ("samples", "shared"):
        result[name].attrs["units"] = "samples"
    result.attrs = {
        "title": f"{dim}s matched one to one",
        "n_samples": int(table.n_samples),
        "shared_samples": int(counts.sum()),
    }
    return result


def _filled(size: int, places: Int, values: Int) -> Int:
    found = np.full(size, _ALONE, np.int64)
    found[places] = values
    return found


def _ratio(shared: Int, whole: Int) -> NDArray[np.float64]:
    """Shares of samples, nan of none."""
    shares = np.full(len(shared), np.nan)
    return np.asarray(np.divide(shared, whole, out=shares, where=whole > 0))

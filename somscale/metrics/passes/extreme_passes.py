"""The extremes of clusterings: found now, put off, or told of beforehand.

Of the moments' second pass every sample's radius is known.  The outermost samples of each
cluster are read, their distances rule out most others, and those that are left are read
and searched: no sample that cannot matter is read again, and no chunk without one that can.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from somscale._types import AnyArray, Bool, Float, Int
from somscale.engine.blas import single_threaded_blas
from somscale.engine.linear.cutting import format_bytes
from somscale.engine.linear.job import LinearJob
from somscale.engine.memory import baseline_bytes, budget_bytes
from somscale.engine.readers.columns import Column, SampleValues
from somscale.engine.readers.samples import Samples
from somscale.engine.readers.sources import Source
from somscale.errors import MemoryBudgetError
from somscale.metrics.passes.cluster_passes import pass_later
from somscale.metrics.passes.extreme_candidates import Cloud, Found
from somscale.reductions.listed_rows import ListedRowsReduction
from somscale.reductions.moments import MomentStats
from somscale.reductions.pair_stats import Extremes

__all__ = ["describe_extremes", "find_diameter", "find_extremes", "find_extremes_later"]

Clusterings = Mapping[str, Column]
_BOTH: tuple[str, ...] = ("diameters", "separation")
_LISTED = "listed"

_SEARCH_BYTES = 48
"""Bytes a value that a search takes: the samples, two copies and the products' factors."""
_LEAST_ROWS = 1024
_WINDOW_BYTES = 64 << 10


def find_extremes(
    samples: Samples,
    clusterings: Clusterings,
    moments: Mapping[str, MomentStats],
    *,
    which: Collection[str] = _BOTH,
) -> dict[str, Extremes]:
    """Largest distances inside clusters, and the smallest between two, of every clustering.

    Parameters
    ----------
    samples : Samples
        Not in Dask arrays.
    clusterings : mapping of str to Column
        The clusterings.
    moments : mapping of str to MomentStats
        Their moments, with the samples' radii.
    which : collection of str
        "diameters" of all clusters, or the "largest" of them alone; "separation".

    Notes
    -----
    Exact: the largest and smallest float64 distances of the samples, to the bit.  At most
    N²/2 pairs are compared; where the samples that matter do not fit the memory budget they
    are read again and again, a panel of them against each other.
    """
    source = _source(samples)
    found = {}
    for name, column in clusterings.items():
        codes = column.read(0, samples.shape[0])
        cloud = Cloud.of(codes, moments[name], samples.feature_weights, which)
        found[name] = _find(source, cloud)
    return found


def find_diameter(
    samples: Samples, center: Float, radii: Float, *, missing_features: Bool | None = None
) -> float:
    """The largest distance of two samples.

    Parameters
    ----------
    samples : Samples
        Not in Dask arrays.
    center : (D,) float64
        A point in their middle.
    radii : (N,) float64
        Distances of the samples from it, by differences from it; nan of those that take
        no part.
    missing_features : (D,) bool, optional
        Features to leave out, which every sample lacks.

    Returns
    -------
    float
        The diameter; nan without samples.
    """
    weights, kept = samples.feature_weights, None
    if missing_features is not None and missing_features.any():
        kept = ~missing_features
        center, weights = center[kept], None if weights is None else weights[kept]
    cloud = Cloud.of_one(radii, center, weights, kept)
    return float(_find(_source(samples), cloud).diameters[0])


def find_extremes_later(
    samples: Samples,
    clusterings: Clusterings,
    moments: Mapping[str, Any],
    token: str,
    *,
    which: Collection[str] = _BOTH,
) -> dict[str, Any]:
    """The same for samples in Dask arrays, delayed; their blocks are computed twice more.

    Parameters
    ----------
    moments : mapping of str to Delayed
        As :func:`somscale.metrics.passes.cluster_passes.find_moments_later` gives them with radii.
    token : str
        Its token.

    Raises
    ------
    MemoryBudgetError
        When it is computed: the samples that matter do not fit the memory budget.
    """
    from somscale.engine.joining import bound

    task = _Later(tuple(clusterings.values()), samples.feature_weights, frozenset(which))
    stats = [moments[name] for name in clusterings]
    token = f"{token}-{'-'.join(sorted(which))}"
    first = _gather_later(samples, bound(task.list_first), stats, f"{token}-outermost")
    bounds = bound(task.search_first)(first, *stats, dask_key_name=f"outermost-{token}")
    listing = bound(task.list_left)
    left = _gather_later(samples, listing, [bounds, *stats], f"{token}-left")
    every = bound(task.search_left)(bounds, left, *stats, dask_key_name=f"search-{token}")
    return {
        name: bound(_entry, number)(every, dask_key_name=f"extremes-{number}-{token}")
        for number, name in enumerate(clusterings)
    }


def describe_extremes(
    samples: Samples, clusterings: Clusterings, *, which: Collection[str] = _BOTH
) -> str:
    """What the search will cost, for the plan; nothing is read."""
    n_rows, n_features = samples.shape
    names = {"diameters": "diameters", "largest": "diameter", "separation": "separation"}
    wanted = " and ".join(names[item] for item in names if item in which)
    most = max(
        n * (n - 1) / 2
        for n in (np.count_nonzero(c.read(0, n_rows) >= 0) for c in clusterings.values())
    )
    reads = "the blocks are computed twice more" if samples.lazy else "only such are read again"
    return (
        f"{wanted} by pruned pairs: at most N²/2 = {most:.2g} pairs of {n_features} features a "
        f"clustering, where no sample can be ruled out (points on a sphere); usually about 1 % of "
        f"them; {reads}"
    )


def _source(samples: Samples) -> Source:
    if samples.source is None:
        raise ValueError("what is in Dask arrays is searched later")
    return samples.source


def _find(source: Source, cloud: Cloud) -> Extremes:
    """Search the outermost samples, and then those that they do not rule out."""
    with single_threaded_blas():
        outermost = cloud.first_rows()
        found = cloud.search(outermost, _read_rows(source, outermost), cloud.nothing)
        rows = cloud.rows_left(found)
        if len(np.setdiff1d(rows, outermost, assume_unique=True)):
            most = _rows_that_fit(source.shape[1])
            if len(rows) <= most:
                found = cloud.search(rows, _read_rows(source, rows), found)
            else:
                found = _by_panels(source, cloud, rows, most // 2, found)
    return cloud.finish(found)


def _rows_that_fit(n_features: int) -> int:
    """Samples whose search takes a quarter of the memory that is left."""
    left = (budget_bytes() - baseline_bytes()) // 4
    return max(left // (_SEARCH_BYTES * n_features), _LEAST_ROWS)


def _by_panels(source: Source, cloud: Cloud, rows: Int, panel: int, found: Found) -> Found:
    """Search panels of samples two by two; each is read as often as there are panels."""
    panels = [rows[start : start + panel] for start in range(0, len(rows), panel)]
    reaches = [cloud.reaches_of(own) for own in panels]
    for number, own in enumerate(panels):
        values, alone = _read_rows(source, own), True
        for other in range(number + 1, len(panels)):
            if not cloud.may_hold(reaches[number], reaches[other], found):
                continue
            alone = False  # pairs of the panel's own are compared with those of both
            both = np.concatenate([values, _read_rows(source, panels[other])])
            found = cloud.search(np.concatenate([own, panels[other]]), both, found)
        if alone and cloud.may_hold(reaches[number], reaches[number], found):
            found = cloud.search(own, values, found)
    return found


def _read_rows(source: Source, rows: Int) -> Float:
    """Some samples in ascending order, read in windows that hold any of them."""
    n_features = source.shape[1]
    values = np.empty((len(rows), n_features))
    if not len(rows):
        return values
    step = _window_rows(source)
    edges = np.flatnonzero(np.diff(rows // step)) + 1
    for start, stop in itertools.pairwise([0, *edges.tolist(), len(rows)]):
        first, last = int(rows[start]), int(rows[stop - 1]) + 1
        window = source.read(slice(first, last), slice(0, n_features))
        values[start:stop] = window[rows[start:stop] - first]
    return values


def _window_rows(source: Source) -> int:
    """Rows to read at a time: whole chunks, or so few that little is read beside those wanted."""
    if source.resident:
        return source.shape[0]
    row_bytes = source.shape[1] * source.dtype.itemsize
    chunk = source.chunks[0]
    if chunk > 1:
        return chunk
    return max(1, _WINDOW_BYTES // row_bytes)


@dataclass(frozen=True)
class _Later:
    """The steps of a search that is put off."""

    columns: Sequence[Column]
    weights: Float | None
    which: Collection[str]

    def list_first(self, *stats: MomentStats) -> Bool:
        """The outermost samples of all clusterings."""
        return _mask([cloud.first_rows() for cloud in self._clouds(stats)], len(self.columns[0]))

    def search_first(self, totals: Any, *stats: MomentStats) -> list[Found]:
        """Their distances."""
        return self._search(totals, [cloud.nothing for cloud in self._clouds(stats)], stats)

    def list_left(self, found: Sequence[Found], *stats: MomentStats) -> Bool:
        """The samples that they do not rule out."""
        rows = [c.rows_left(own) for c, own in zip(self._clouds(stats), found, strict=True)]
        listed = _mask(rows, len(self.columns[0]))
        n_features = stats[0].origin.shape[0]
        n_listed, most = int(np.count_nonzero(listed)), _rows_that_fit(n_features)
        if n_listed > most:
            needed = 4 * _SEARCH_BYTES * n_features * n_listed + baseline_bytes()
            least = format_bytes(needed, up=True)
            raise MemoryBudgetError(
                f"{n_listed} of {len(listed)} samples can be the farthest or the closest, and to "
                f"search them takes a memory budget of {least}, not {format_bytes(budget_bytes())};"
                f" set memory_budget='{least.replace(' ', '')}' or more, or give the samples as a "
                "path or a Zarr array, of which fewer are held at a time"
            )
        return listed

    def search_left(
        self, found: Sequence[Found], totals: Any, *stats: MomentStats
    ) -> list[Extremes]:
        """The extremes of every clustering."""
        every = self._search(totals, found, stats)
        return [c.finish(own) for c, own in zip(self._clouds(stats), every, strict=True)]

    def _clouds(self, stats: Sequence[MomentStats]) -> list[Cloud]:
        return [
            Cloud.of(column.read(0, len(column)), own, self.weights, self.which)
            for column, own in zip(self.columns, stats, strict=True)
        ]

    def _search(
        self, totals: Any, found: Sequence[Found], stats: Sequence[MomentStats]
    ) -> list[Found]:
        rows, values = totals[0]["rows"], totals[0]["values"]
        with single_threaded_blas():
            return [
                cloud.search(rows, values, own)
                for cloud, own in zip(self._clouds(stats), found, strict=True)
            ]


def _gather_later(samples: Samples, listing: Any, inputs: Sequence[Any], token: str) -> Any:
    """The pass that gathers the samples of a list which is made then."""
    from somscale.engine.joining import bound

    if samples.blocks is None:
        raise ValueError("only what is in Dask arrays is gathered later")
    n_rows, n_features = samples.shape
    reduction = ListedRowsReduction(_LISTED, n_features)
    nothing = {_LISTED: SampleValues(np.broadcast_to(np.False_, (n_rows,)))}
    job = LinearJob([reduction], n_rows, n_features, blocks=samples.blocks, columns=nothing)
    listed = listing(*inputs, dask_key_name=f"list-{token}")
    told = bound(_told, replace(job, blocks=None))(listed, dask_key_name=f"somscale-job-{token}")
    again = replace(job, blocks=samples.blocks.again(told, token))
    return pass_later(again, told, token).total


def _told(job: LinearJob, listed: AnyArray) -> LinearJob:
    return replace(job, columns={_LISTED: SampleValues(listed)})


def _mask(lists: Sequence[Int], n_rows: int) -> Bool:
    """True where any of some lists has a sample."""
    mask = np.zeros(n_rows, bool)
    for rows in lists:
        mask[rows] = True
    return mask


def _entry(number: int, every: Sequence[Any]) -> Any:
    return every[number]

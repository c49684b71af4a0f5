"""Distances and ranks of the samples, written block by block into a workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray as xr

from somscale._types import AnyArray
from somscale._version import __version__
from somscale.engine.linear.cutting import ceil_power
from somscale.engine.pairs.cutting import PairPlan
from somscale.engine.pairs.filling import Filling, fill_matrix, plan_filling
from somscale.engine.pairs.job import PairJob
from somscale.engine.readers.samples import Samples
from somscale.errors import InputError, WorkspaceError
from somscale.metrics.asking.pair_wishes import Measure
from somscale.metrics.asking.question import Problem
from somscale.metrics.passes.pair_builder import Builder, fill
from somscale.metrics.passes.pair_passes import late_of
from somscale.reductions.distance_blocks import DistanceBlocks
from somscale.reductions.neighbor_walk import RankRowsWalk
from somscale.reductions.pair_walk import tile_rows_of
from somscale.store.arrays import StoredArray, create_array, open_array
from somscale.store.groups import put_dataset, seal
from somscale.store.keys import delete_prefix, stamp_of
from somscale.store.layouts import MatrixLayout, distance_layout, rank_layout
from somscale.store.location import Location
from somscale.store.points import reach
from somscale.store.provenance import differences, kept_account
from somscale.workspace.reading import reading_variables

__all__ = ["KINDS", "Kind", "MatrixWriter", "coords_of_matrix", "matrix_array"]

Kind = Literal["distances", "ranks"]
KINDS: Mapping[Kind, str] = {"distances": "distance", "ranks": "rank"}
"""Groups of matrices, and the names of the arrays in them."""

_LENGTHS = {"euclidean", "cityblock", "chebyshev", "minkowski"}
"""Distances in the units of the samples."""
_ABOUT: Mapping[Kind, dict[str, str]] = {
    "distances": {"long_name": "distance of two samples"},
    "ranks": {
        "long_name": "rank of a sample among the neighbours of another",
        "units": "1",
        "comment": "0 on the diagonal; equal distances share the least of their ranks",
    },
}


@dataclass(frozen=True)
class _Target:
    """Takes blocks of whole units; of ranks it notes first which samples take part.

    With `sparing` it leaves units that are there as they are: their neighbours are mended.
    """

    values: StoredArray
    fill: Any
    taken: StoredArray | None = None
    sparing: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the matrix."""
        return self.values.dtype

    def fresh(self, shape: tuple[int, int]) -> AnyArray:
        """A block of fill values."""
        return np.full(shape, self.fill, self.dtype)

    def write(self, row: int, column: int, values: AnyArray) -> None:
        """Write a block unit by unit."""
        rows, columns = self.values.unit
        if self.taken is not None:
            # a sample that takes part has rank 0 around itself
            own = np.arange(len(values))
            there = values[own, row + own] != self.fill
            self._put(self.taken, (row // rows,), there.astype(np.uint8))
        for top in range(0, values.shape[0], rows):
            for left in range(0, values.shape[1], columns):
                block = values[top : top + rows, left : left + columns]
                self._put(self.values, ((row + top) // rows, (column + left) // columns), block)

    def _put(self, array: StoredArray, index: tuple[int, ...], values: AnyArray) -> None:
        if not (self.sparing and stamp_of(array.location, array.key(index))):
            array.write(index, values)


@dataclass(frozen=True)
class MatrixWriter:
    """A matrix of the samples of a workspace: how it is found, and where it goes.

    Parameters
    ----------
    location : Location
        The workspace.
    kind : {"distances", "ranks"}
        What is written.
    name : str
        Name of the group.
    samples : Samples
        The samples; those in Dask arrays are read from the workspace instead.
    measure : Measure
        Their distance.
    provenance : mapping
        What the matrix was made from; equal only where its values are.
    dtype : dtype, optional
        Type of distances.
    """

    location: Location
    kind: Kind
    name: str
    samples: Samples
    measure: Measure
    provenance: Mapping[str, Any]
    dtype: Any = None

    @property
    def path(self) -> str:
        """Path of the group."""
        return f"{self.kind}/{self.name}"

    @property
    def layout(self) -> MatrixLayout:
        """Type and chunks."""
        n, sharded = self.samples.shape[0], self.location.sharded
        if self.kind == "ranks":
            return rank_layout(n, sharded=sharded)
        return distance_layout(n, self.dtype, sharded=sharded)

    @property
    def fill(self) -> Any:
        """What no entry is: nan, or the largest integer."""
        return np.nan if self.kind == "distances" else np.iinfo(self.layout.dtype).max

    def write(self, *, overwrite: bool = False) -> None:
        """Write what is not there yet.

        Raises
        ------
        WorkspaceError
            There is another matrix of this name, and `overwrite` is not set; or the place
            takes no more.
        MemoryBudgetError
            Not even one block at a time fits the budget; nothing was computed.
        """
        group = self._begun(overwrite=overwrite)
        if group is not None and group.attrs.get("complete") is True:
            return
        target = self._target() if group is not None else None
        self.fill_in(target)
        self._seal()

    def mend(self) -> None:
        """Write the units that are not there, and leave all others as they are.

        Raises
        ------
        WorkspaceError, MemoryBudgetError
            As for :meth:`write`.
        """
        self.fill_in(replace(self._target(), sparing=True))
        self._seal()

    def _seal(self) -> None:
        """Say that all is there, after a last look."""
        missing = self._target().values.missing()
        if missing:
            raise WorkspaceError(
                f"{len(missing)} chunks of {self.path} in {self.location.name} went away while "
                f"others were written, the first of them {missing[0]}; the same call writes them"
            )
        seal(self.location, self.path)
        reach("matrix:complete")

    def plan(self) -> PairPlan:
        """What writing would take; nothing is read."""
        return plan_filling(self._filling(self._job(), None))

    def remaining(self) -> tuple[PairPlan, int]:
        """What writing all of it would take, and how many of those tasks are still to do."""
        plan = self.plan()
        return plan, len(self._filling(plan.job, self._target()).tasks(plan.cut))

    def fill_in(self, target: _Target | None = None) -> None:
        """Compute and write the units that are not there."""
        job = self._job()
        plan_filling(self._filling(job, None))  # what does not fit is refused first
        target = self._created() if target is None else target
        fill_matrix(self._filling(self.told_job(), target))

    def told_job(self) -> PairJob:
        """The walk, once a look at the samples has told where they lie."""
        return fill(self._job(), late_of(Problem({}, self.samples), self.samples, {}))

    def unit_rows(self, job: PairJob, unit: int | None = None) -> int:
        """Rows of a task's block: a unit's, or all of a matrix that is smaller."""
        return job.tile_rows * ceil_power((unit or self.layout.unit[0]) / job.tile_rows)

    def _begun(self, *, overwrite: bool) -> Any:
        """The group as it was begun before with the same samples, or None."""
        if stamp_of(self.location, f"{self.path}/zarr.json") is None:
            return None
        group = self.location.group(self.path, mode="r")
        known = kept_account(group.attrs)
        found = differences(known, self.provenance)
        if not found and self._whole_arrays(group):
            return group
        # a group without an account was stopped between its metadata and its attributes
        if known and found and not overwrite:
            raise WorkspaceError(
                f"{self.path} in {self.location.name} was made from something else ({found}); give "
                "this one another name, or overwrite it"
            )
        delete_prefix(self.location, self.path)
        return None

    def _whole_arrays(self, group: Any) -> bool:
        """Whether all arrays were made before a run was stopped."""
        wanted = [KINDS[self.kind], *(["taken"] if self.kind == "ranks" else [])]
        return all(name in group for name in wanted)

    def _created(self) -> _Target:
        """The group and its arrays, with nothing in them."""
        dims, coords = _dims_of(self.samples)
        skeleton = xr.Dataset(reading_variables(self.samples, dims[0]), coords=coords)
        skeleton.attrs = {"somscale_version": __version__}
        put_dataset(self.location, self.path, skeleton, self.provenance)
        layout, n = self.layout, self.samples.shape[0]
        if self.kind == "ranks":
            create_array(
                self.location,
                f"{self.path}/taken",
                shape=(n,),
                dtype=np.dtype(np.uint8),
                chunk=(layout.unit[0],),
                shard=None,
                fill=255,
                dims=dims[:1],
                codec="plain",
                attributes={"long_name": "whether the sample takes part", "units": "1"},
            )
        units = {}
        if self.kind == "distances":
            units["units"] = self.samples.units or "1" if self.measure.distance in _LENGTHS else "1"
        create_array(
            self.location,
            f"{self.path}/{KINDS[self.kind]}",
            shape=(n, n),
            dtype=layout.dtype,
            chunk=layout.chunk,
            shard=layout.shard,
            fill=self.fill,
            dims=dims,
            codec="distance" if self.kind == "distances" else "rank",
            attributes={**_ABOUT[self.kind], **units},
        )
        reach("matrix:created")
        return self._target()

    def _target(self) -> _Target:
        values = matrix_array(self.location, self.kind, self.name)
        if self.kind == "distances":
            return _Target(values, self.fill)
        return _Target(values, self.fill, open_array(self.location, f"{self.path}/taken"))

    def _filling(self, job: PairJob, target: _Target | None) -> Filling:
        if target is None:
            rows = self.unit_rows(job)
            return Filling(job, _Planned(self.layout.dtype), rows, lambda row, column: True)
        # as the matrix was cut when it was begun, whatever a new one would be
        rows = self.unit_rows(job, target.values.unit[0])
        return Filling(job, target, rows, _pending(target, both=self.kind == "distances"))

    def _job(self) -> PairJob:
        samples, problem = self.samples, Problem({}, self.samples)
        if samples.blocks is not None:
            raise InputError("samples in Dask arrays are written to the workspace first")
        builder = Builder(problem, samples)
        space = builder.samples_space(self.measure)
        choice = replace(builder.choice(), sort_by=None)
        n, n_features = samples.shape
        if self.kind == "ranks":
            ranks = RankRowsWalk(
                "ranks", builder.spaces, space, choice, n_samples=n, n_features=n_features
            )
            return builder.over_samples(ranks)
        rows = min(tile_rows_of(n_features), ceil_power(self.layout.unit[0]))
        placed = builder.spaces[space]
        blocks = DistanceBlocks(space, placed, choice, n_features=n_features, tile_rows=rows)
        return builder.over_samples(blocks)


@dataclass(frozen=True)
class _Planned:
    """A target of which only the type is known."""

    dtype: np.dtype[Any]

    def fresh(self, shape: tuple[int, int]) -> AnyArray:
        """Nothing is written while a walk is planned."""
        raise ValueError("a walk that is only planned writes nothing")

    def write(self, row: int, column: int, values: AnyArray) -> None:
        """Nothing is written while a walk is planned."""
        raise ValueError("a walk that is only planned writes nothing")


def matrix_array(location: Location, kind: Kind, name: str) -> StoredArray:
    """A matrix of the workspace.

    Raises
    ------
    WorkspaceError
        There is none of this name.
    """
    return open_array(location, f"{kind}/{name}/{KINDS[kind]}")


def _pending(target: _Target, *, both: bool) -> Callable[[int, int], bool]:
    """Whether a task has a unit to write that is not there."""
    missing = set(target.values.missing())
    if both:
        return lambda row, column: (row, column) in missing or (column, row) in missing
    rows = {row for row, _ in missing}
    if target.taken is not None:
        rows |= {row for (row,) in target.taken.missing()}
    return lambda row, column: row in rows


def coords_of_matrix(samples: Samples) -> dict[str, xr.Variable]:
    """The coordinates of a matrix of some samples."""
    return _dims_of(samples)[1]


def _dims_of(samples: Samples) -> tuple[tuple[str, str], dict[str, xr.Variable]]:
    """Names of both dims of a matrix, and the samples' labels along each."""
    rows = samples.rows
    dim = rows.dims[0] if len(rows.dims) == 1 else "sample"
    other = f"{dim}_other"
    if len(rows.dims) != 1 or dim not in rows.coords:
        return (dim, other), {}
    labels = rows.coords[dim]
    return (dim, other), {dim: labels, other: xr.Variable((other,), labels.values, labels.attrs)}

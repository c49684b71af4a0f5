"""Sums of each sample's distances to the samples of every group, and silhouettes from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.kernels.rowwise import as_rows
from somscale.reductions.base import Field, Partial
from somscale.reductions.pair_stats import ClusterPairs, Silhouettes
from somscale.reductions.pair_tiles import PairTile, RowsAtHand, Runs

__all__ = ["RowNearest", "RowSilhouettes", "SampleSums", "silhouettes_of"]


@dataclass
class _State:
    left: RowsAtHand
    right: RowsAtHand
    same: bool
    partial: Partial
    left_sums: Float
    right_sums: Float
    column_sums: Float


class SampleSums:
    """Each sample's sums over the samples of every group, from one walk over pairs.

    Every sample has K sums in the partials, so it is for few groups or few samples; else
    :class:`RowSilhouettes` takes each distance twice.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    column : str
        Name of the column of groups.
    n_groups : int
        Groups K.
    n_rows : int
        Samples N.
    space : str
        Whose distances.
    """

    def __init__(self, name: str, column: str, n_groups: int, n_rows: int, *, space: str) -> None:
        self.name = name
        self.column = column
        self.n_groups = n_groups
        self.n_rows = n_rows
        self.needs = (space,)

    @property
    def fields(self) -> Mapping[str, Field]:
        """Of every sample its group plus 1, and its sums over the samples of each group."""
        return {
            "hits": Field("sum", "int64", (self.n_groups,)),
            "sums": Field("rows", shape=(2 + self.n_groups,)),
        }

    def tile_bytes(self, rows: int) -> int:
        """Sums of both blocks, once as they are added up and once as they are joined."""
        return 6 * 8 * rows * (self.n_groups + 2)

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _State:
        """Start a tile."""
        if same:
            codes = left.columns[self.column]
            partial["hits"] += np.bincount(codes[codes >= 0], minlength=self.n_groups)
        left_sums = np.zeros((self.n_groups, len(left)))
        right_sums = left_sums if same else np.zeros((self.n_groups, len(right)))
        return _State(left, right, same, partial, left_sums, right_sums, np.empty(len(right)))

    def add(self, state: _State, tile: PairTile) -> None:
        """Take the pairs of a part of the tile, for both of their samples."""
        from somscale.kernels import pair_loops

        d = tile.distances[self.needs[0]]
        rows = slice(tile.left_start, tile.left_start + d.shape[0])
        columns = slice(tile.right_start, tile.right_start + d.shape[1])
        runs = tile.left.runs(self.column)
        pair_loops.add_to_columns(
            d,
            runs.order,
            runs.starts,
            runs.groups,
            tile.offset,
            state.column_sums[: d.shape[1]],
            state.right_sums[:, columns],
        )
        across = tile.right.runs(self.column)
        starts, offset = across.starts, tile.offset
        if _in_order(across):
            # rows without a group stand first
            starts = starts + across.order[:1].sum()
        else:
            d, offset = _ordered(d, across, offset), -d.shape[0] - 1
        pair_loops.add_to_rows(d, starts, across.groups, offset, state.left_sums[:, rows])

    def end(self, state: _State) -> None:
        """Put the sums of both blocks beside the numbers of their samples."""
        parts = [(state.left, state.left_sums)]
        if not state.same:
            parts.append((state.right, state.right_sums))
        numbers = np.concatenate([rows.numbers for rows, _ in parts])
        sums = np.concatenate([own.T for _, own in parts])
        groups = np.zeros((len(numbers), 1))
        if state.same:
            groups[:, 0] = state.left.columns[self.column].astype(np.float64) + 1
        order = np.argsort(numbers)
        state.partial["sums"] = as_rows(numbers[order], np.hstack([groups, sums])[order])

    def finalize(self, total: Partial) -> Silhouettes:
        """Silhouettes of all samples."""
        rows = total["sums"]
        codes = rows[:, 1].astype(np.int64) - 1
        values = silhouettes_of(rows[:, 2:].T, codes, total["hits"])
        return _collected(rows[:, 0].astype(np.int64), codes, values, total["hits"], self.n_rows)


class RowSilhouettes:
    """Silhouettes of kept samples, finished as soon as these have met all others.

    Parameters
    ----------
    name, column, n_groups, n_rows, space
        As for :class:`SampleSums`.
    """

    def __init__(self, name: str, column: str, n_groups: int, n_rows: int, *, space: str) -> None:
        self.name = name
        self.column = column
        self.n_groups = n_groups
        self.n_rows = n_rows
        self.needs = (space,)

    def gathered(self, n_rows: int) -> Mapping[str, Field]:
        """Sums of the kept rows over the samples of every group, and these groups' sizes."""
        return {
            "sums": Field("sum", shape=(self.n_groups, n_rows)),
            "hits": Field("sum", "int64", (self.n_groups,)),
        }

    @property
    def fields(self) -> Mapping[str, Field]:
        """Group and silhouette of every sample, and the groups' sizes."""
        return {
            "values": Field("rows", shape=(3,)),
            "hits": Field("max", "int64", (self.n_groups,)),
        }

    def meet(self, others: RowsAtHand, gathered: Partial) -> None:
        """Count the samples of the groups."""
        codes = others.columns[self.column]
        gathered["hits"] += np.bincount(codes[codes >= 0], minlength=self.n_groups)

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Add the distances of the kept columns to the rows of every group."""
        from somscale.kernels import pair_loops

        d = tile.distances[self.needs[0]]
        runs = tile.left.runs(self.column)
        pair_loops.add_to_columns(
            d,
            runs.order,
            runs.starts,
            runs.groups,
            tile.offset,
            np.empty(d.shape[1]),
            gathered["sums"][:, kept],
        )

    def finish(self, kept: RowsAtHand, gathered: Partial) -> Partial:
        """Silhouettes of the kept rows."""
        codes = kept.columns[self.column].astype(np.int64)
        values = silhouettes_of(gathered["sums"], codes, gathered["hits"])
        order = np.argsort(kept.numbers)
        found = np.column_stack([codes, values])[order]
        return {"values": as_rows(kept.numbers[order], found), "hits": gathered["hits"]}

    def finalize(self, total: Partial) -> Silhouettes:
        """Silhouettes of all samples."""
        rows = total["values"]
        numbers, codes = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        return _collected(numbers, codes, rows[:, 2], total["hits"], self.n_rows)


class RowNearest:
    """How far each group's samples are from the nearest of every other group, at most.

    Parameters
    ----------
    name, column, n_groups, space
        As for :class:`SampleSums`.
    """

    def __init__(self, name: str, column: str, n_groups: int, *, space: str) -> None:
        self.name = name
        self.column = column
        self.n_groups = n_groups
        self.needs = (space,)

    def gathered(self, n_rows: int) -> Mapping[str, Field]:
        """The kept rows' nearest sample of every group."""
        return {
            "nearest": Field("min", shape=(self.n_groups, n_rows)),
            "hits": Field("sum", "int64", (self.n_groups,)),
        }

    @property
    def fields(self) -> Mapping[str, Field]:
        """The largest of the nearest distances, by both groups."""
        return {
            "farthest": Field("max", shape=(self.n_groups, self.n_groups)),
            "hits": Field("max", "int64", (self.n_groups,)),
        }

    def meet(self, others: RowsAtHand, gathered: Partial) -> None:
        """Count the samples of the groups."""
        codes = others.columns[self.column]
        gathered["hits"] += np.bincount(codes[codes >= 0], minlength=self.n_groups)

    def add(self, tile: PairTile, gathered: Partial, kept: slice) -> None:
        """Keep the smallest distance of the kept columns to the rows of every group."""
        from somscale.kernels import pair_loops

        runs = tile.left.runs(self.column)
        d = tile.distances[self.needs[0]]
        pair_loops.keep_nearest(
            d, runs.order, runs.starts, runs.groups, gathered["nearest"][:, kept]
        )

    def finish(self, kept: RowsAtHand, gathered: Partial) -> Partial:
        """The farthest of the kept rows, group by group."""
        farthest = np.full((self.n_groups, self.n_groups), -np.inf)
        runs = kept.runs(self.column)
        if len(runs.groups):
            ordered = gathered["nearest"][:, runs.order]
            farthest[runs.groups] = np.maximum.reduceat(ordered, runs.starts[:-1], axis=1).T
        return {"farthest": farthest, "hits": gathered["hits"]}

    def finalize(self, total: Partial) -> ClusterPairs:
        """Directed Hausdorff distances."""
        unknown = np.full(self.n_groups, np.nan)
        return ClusterPairs(total["hits"], unknown, hausdorff=total["farthest"])


def silhouettes_of(sums: Float, codes: Int, hits: Int) -> Float:
    """Silhouettes s = (b − a)/max(a, b) from sums over the samples of every group.

    Parameters
    ----------
    sums : (K, n) float64
        Sums of n samples' distances to the samples of K groups.
    codes : (n,) integer
        The samples' own groups; negative: none.
    hits : (K,) integer
        Samples of the groups.

    Returns
    -------
    (n,) float64
        0 in a group of one sample; nan where a sample has no group, where there is no other
        group, and where a = b = 0.
    """
    columns = np.arange(len(codes))
    own = np.maximum(codes, 0)
    sizes = hits[own]
    means = np.full(sums.shape, np.inf)
    np.divide(sums, hits[:, None], out=means, where=hits[:, None] > 0)
    means[own, columns] = np.inf
    nearest = means.min(axis=0, initial=np.inf)
    inside = sums[own, columns] / np.maximum(sizes - 1, 1)
    with np.errstate(invalid="ignore"):
        values = np.asarray((nearest - inside) / np.maximum(inside, nearest))
    values[sizes == 1] = 0.0
    values[(codes < 0) | ~np.isfinite(nearest)] = np.nan
    return values


def _collected(numbers: Int, codes: Int, values: Float, hits: Int, n_rows: int) -> Silhouettes:
    whole = np.full(n_rows, np.nan)
    whole[numbers] = values
    member = codes >= 0
    sums: Float = np.zeros(len(hits))
    sums += np.bincount(codes[member], weights=values[member], minlength=len(hits))
    return Silhouettes(hits=hits, sums=sums, values=whole)


def _in_order(runs: Runs) -> bool:
    """Whether the rows that have a group stand side by side, group by group."""
    return bool((np.diff(runs.order) == 1).all())


def _ordered(d: AnyArray, runs: Runs, offset: int) -> Float:
    """The columns put in the order of their groups; pairs that do not count become 0."""
    first = np.arange(d.shape[0])[:, None] + offset
    counted = np.where(runs.order > first, d[:, runs.order], 0.0)
    return np.ascontiguousarray(counted)

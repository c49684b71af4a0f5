"""Sums and extremes of distances within and between groups: clusters, or units of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from somscale._types import Float
from somscale.reductions.base import Field, Partial
from somscale.reductions.pair_stats import ClusterPairs
from somscale.reductions.pair_tiles import PairTile, RowsAtHand

__all__ = ["GroupPairs", "Want"]

Want = Literal["within", "between", "extremes"]


@dataclass
class _State:
    partial: Partial
    column_sums: Float
    other: Float


class GroupPairs:
    """Add up distances by the groups of both samples.

    Parameters
    ----------
    name : str
        Prefix of the fields.
    column : str
        Name of the column of groups.
    n_groups : int
        Groups K.
    wants : set of {"within", "between", "extremes"}
        Sums, squares and diameters inside every group, (K,); sums, or smallest and largest
        distances, of every two groups, (K, K).
    space : str
        Whose distances.
    """

    def __init__(
        self, name: str, column: str, n_groups: int, wants: frozenset[Want], *, space: str
    ) -> None:
        self.name = name
        self.column = column
        self.n_groups = n_groups
        self.wants = wants
        self.needs = (space,)

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays of a partial."""
        one, two = (self.n_groups,), (self.n_groups, self.n_groups)
        fields = {"hits": Field("sum", "int64", one)}
        if "within" in self.wants:
            fields["within"] = Field("sum", shape=one)
            fields["squares"] = Field("sum", shape=one)
            fields["diameters"] = Field("max", shape=one)
        if "between" in self.wants:
            fields["between"] = Field("sum", shape=two)
        if "extremes" in self.wants:
            fields["smallest"] = Field("min", shape=two)
            fields["largest"] = Field("max", shape=two)
        return fields

    def tile_bytes(self, rows: int) -> int:
        """Sums of columns."""
        return 16 * rows

    def begin(self, left: RowsAtHand, right: RowsAtHand, partial: Partial, same: bool) -> _State:
        """Count the samples of the groups where every block meets itself."""
        if same:
            codes = left.columns[self.column]
            partial["hits"] += np.bincount(codes[codes >= 0], minlength=self.n_groups)
        return _State(partial, np.empty(len(right)), np.empty(len(right)))

    def add(self, state: _State, tile: PairTile) -> None:
        """Take the pairs of a part of the tile."""
        from somscale.kernels import pair_loops

        d, partial = tile.distances[self.needs[0]], state.partial
        rows, codes = tile.left.runs(self.column), tile.right.columns[self.column]
        sums, other = state.column_sums[: len(codes)], state.other[: len(codes)]
        by_rows = (d, rows.order, rows.starts, rows.groups)
        if "within" in self.wants:
            columns = tile.right.runs(self.column)
            pair_loops.add_within(
                *by_rows,
                columns.order,
                columns.starts,
                columns.groups,
                tile.offset,
                partial["within"],
                partial["squares"],
                partial["diameters"],
            )
        if "between" in self.wants:
            pair_loops.add_between(*by_rows, codes, tile.offset, sums, partial["between"])
        if "extremes" in self.wants:
            pair_loops.add_extremes(
                *by_rows, codes, tile.offset, sums, other, partial["smallest"], partial["largest"]
            )

    def end(self, state: _State) -> None:
        """All is in the partial."""

    def finalize(self, total: Partial) -> ClusterPairs:
        """Sums and extremes, the same for both orders of two groups."""
        between = total.get("between")
        if between is not None:
            inside = np.diagonal(between).copy()
            between = between + between.T
            np.fill_diagonal(between, inside)
        smallest, largest = total.get("smallest"), total.get("largest")
        within: Any = total.get("within")
        if within is None:
            within = np.full(self.n_groups, np.nan) if between is None else np.diagonal(between)
        return ClusterPairs(
            hits=total["hits"],
            within=within,
            within_squares=total.get("squares"),
            between=between,
            largest=None if largest is None else np.maximum(largest, largest.T),
            smallest=None if smallest is None else np.minimum(smallest, smallest.T),
            diameters=_diameters(total),
        )


def _diameters(total: Partial) -> Float | None:
    """Diameters of groups: 0 of one sample, nan of none."""
    if "diameters" not in total:
        return None
    found = np.where(total["hits"] > 1, total["diameters"], 0.0)
    return np.where(total["hits"] > 0, found, np.nan)

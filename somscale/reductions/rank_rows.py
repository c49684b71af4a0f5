"""Rows of ranked pairs, and how each way to have them adds them to tallies.

Arrays that are added to have one entry a row on their first axis, or a single one for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.errors import SampleValueError
from somscale.reductions.rank_want import Ties

__all__ = [
    "OrderedRows",
    "PairRows",
    "RankedRows",
    "Ranking",
    "SpreadRows",
    "rank_rows",
    "sort_keys",
]


class RankedRows(Protocol):
    """Rows whose pairs are tallied."""

    @property
    def numbers(self) -> Int:
        """Sample numbers of the rows, (P,)."""

    @property
    def tied(self) -> tuple[int, int]:
        """How many output distances equal another of their row; of how many that is known."""

    def columns(self, sums: AnyArray) -> None:
        """Add to sums by columns, (P or 1, 9, L); see :mod:`somscale.kernels.rank_tally`."""

    def cells(self, cells: AnyArray) -> None:
        """Add at [min(ρ, r), |ρ − r|] of zeros, (P or 1, S + 1, T + 2); the last: beyond T."""

    def marks(self, marked: Int, inside: AnyArray, back: AnyArray) -> None:
        """Add what is inside regions to the rows, (P, c), and to the others, (N, c)."""

    def agreement(self, labels: Int, agreement: AnyArray) -> None:
        """Add pairs of one label at r, (P or 1, L)."""

    def matrix(self, matrix: AnyArray) -> None:
        """Add to a corner of the co-ranking matrix, (M, M)."""


@dataclass(frozen=True)
class PairRows:
    """Pairs that are listed with their ranks; (P, M), of which `counts` are valid in a row."""

    numbers: Int
    rho: Int
    r: Int
    others: Int
    counts: Int
    tied: tuple[int, int] = (0, 0)

    def columns(self, sums: AnyArray) -> None:
        """Add to sums by columns."""
        from somscale.kernels.rank_tally import add_pair_columns

        add_pair_columns(self.rho, self.r, self.counts, sums)

    def cells(self, cells: AnyArray) -> None:
        """Add at [min(ρ, r), |ρ − r|]."""
        from somscale.kernels.rank_tally import add_cells

        add_cells(self.rho, self.r, self.counts, cells)

    def marks(self, marked: Int, inside: AnyArray, back: AnyArray) -> None:
        """Add what is inside regions."""
        from somscale.kernels.rank_tally import add_marks

        add_marks(self.rho, self.r, self.others, self.counts, marked, inside, back)

    def agreement(self, labels: Int, agreement: AnyArray) -> None:
        """Add pairs of one label."""
        from somscale.kernels.rank_tally import add_agreement

        add_agreement(self.r, self.others, self.counts, self.numbers, labels, agreement)

    def matrix(self, matrix: AnyArray) -> None:
        """Add to a corner of the co-ranking matrix."""
        from somscale.kernels.rank_tally import add_matrix

        add_matrix(self.rho, self.r, self.counts, matrix)


@dataclass(frozen=True)
class Ranking:
    """Order of rows in one space, nearest first, and by column the rank.

    Where the spans of ties are told, the rank is their least, and `ends` has their largest
    at the least.
    """

    order: Int
    rank: Int
    ends: Int
    tied: int


def sort_keys(keys: Float, numbers: Int, n: int, *, spans: bool) -> Ranking:
    """Sort rows of distances to n others each; with `spans`, ranks are the least of their ties."""
    from somscale.kernels.rank_sort import COUNTERS, FOUND, TIED, sort_rows

    size = keys.shape
    order, rank = np.empty(size, np.int32), np.zeros(size, np.int32)
    ends = np.empty((size[0], size[1] if spans else 0), np.int32)
    packed, counts = np.empty((2, size[1]), np.int64), np.empty((3, COUNTERS), np.int64)
    found = np.empty((size[0], 2), np.int64)
    bits = np.ascontiguousarray(keys, np.float64).view(np.int64)
    sort_rows(bits, numbers, order, rank, ends, packed, counts, found)
    wrong = np.flatnonzero(found[:, FOUND] != n)
    if len(wrong):
        p = wrong[0]
        raise SampleValueError(
            f"sample {numbers[p]} has finite distances to {found[p, FOUND]} samples, not to all "
            f"{n} others; scale the samples down or drop those with nan or huge values"
        )
    return Ranking(order, rank, ends, int(found[:, TIED].sum()))


def _order_ties(ranking: Ranking, by: Int, n: int, reach: int, step: int = 1) -> Int:
    """The order of a ranking whose spans are told, ties in the order of another, up to a rank."""
    from somscale.kernels.rank_sort import order_ties

    if not ranking.tied:
        return ranking.order
    ordered, heads = np.empty_like(by), np.empty(by.shape[1], np.int64)
    order_ties(by, ranking.rank, n, reach, step, heads, ordered)
    return ordered


@dataclass(frozen=True)
class OrderedRows:
    """Rows that are sorted in both spaces, every pair at one rank in each."""

    numbers: Int
    n: int
    input: Ranking
    output: Ranking
    reach: int

    @property
    def tied(self) -> tuple[int, int]:
        """How many output distances equal another of their row; of how many."""
        return self.output.tied, self.n * len(self.numbers)

    def columns(self, sums: AnyArray) -> None:
        """Add to sums by columns."""
        from somscale.kernels.rank_tally import add_columns

        a, b = self.input, self.output
        add_columns(a.order, b.order, a.rank, b.rank, self.n, sums)

    @cached_property
    def _near(self) -> PairRows:
        from somscale.kernels.rank_tally import list_near

        a, b = self.input, self.output
        reach = min(self.reach, self.n)
        pairs = np.empty((3, len(self.numbers), min(2 * reach, self.n)), np.int32)
        counts = np.empty(len(self.numbers), np.int64)
        list_near(a.order, b.order, a.rank, b.rank, self.n, reach, pairs, counts)
        return PairRows(self.numbers, pairs[0], pairs[1], pairs[2], counts)

    def cells(self, cells: AnyArray) -> None:
        """Add at [min(ρ, r), |ρ − r|]."""
        self._near.cells(cells)

    def marks(self, marked: Int, inside: AnyArray, back: AnyArray) -> None:
        """Add what is inside regions."""
        self._near.marks(marked, inside, back)

    def agreement(self, labels: Int, agreement: AnyArray) -> None:
        """Add pairs of one label."""
        self._near.agreement(labels, agreement)

    def matrix(self, matrix: AnyArray) -> None:
        """Add to a corner of the co-ranking matrix."""
        self._near.matrix(matrix)


@dataclass(frozen=True)
class SpreadRows:
    """Rows whose ties hold all ranks of their span alike.

    `least`: sums by columns go by the least ranks of ties instead.
    """

    numbers: Int
    n: int
    input: Ranking
    output: Ranking
    reach: int
    least: bool

    @property
    def tied(self) -> tuple[int, int]:
        """How many output distances equal another of their row; of how many."""
        return self.output.tied, self.n * len(self.numbers)

    @cached_property
    def _grouped(self) -> Int:
        """Columns by input rank, ties by output rank."""
        return _order_ties(self.input, self.output.order, self.n, self.reach)

    def columns(self, sums: AnyArray) -> None:
        """Add to sums by columns."""
        from somscale.kernels.rank_expected import add_expected_columns
        from somscale.kernels.rank_weighted import add_least_columns

        a, b, n = self.input, self.output, self.n
        if self.least:
            add_least_columns(a.order, b.order, a.rank, b.rank, n, sums)
            return
        inner = np.empty(a.order.shape[1])
        spans = a.rank, a.ends, b.rank, b.ends
        add_expected_columns(self._grouped, b.order, *spans, n, inner, sums)

    @cached_property
    def _runs(self) -> list[Int]:
        from somscale.kernels.rank_expected import list_runs

        a, b = self.input, self.output
        room = np.empty((a.order.shape[1], 6), np.int32)
        found: list[Int] = []
        for p in range(len(self.numbers)):
            spans = a.rank[p], a.ends[p], b.rank[p], b.ends[p]
            n_runs = list_runs(b.order[p], *spans, self.n, self.reach, room)
            found.append(room[:n_runs].copy())
        return found

    def cells(self, cells: AnyArray) -> None:
        """Add at [min(ρ, r), |ρ − r|]."""
        from somscale.kernels.rank_runs import add_expected_cells

        sums = np.zeros((len(self.numbers), 9, cells.shape[1]))
        self.columns(sums)
        own = np.zeros(cells.shape[1:])
        for p, runs in enumerate(self._runs):
            own[:] = 0
            add_expected_cells(runs, len(runs), sums[p], own)
            cells[p if len(cells) > 1 else 0] += own

    def marks(self, marked: Int, inside: AnyArray, back: AnyArray) -> None:
        """Add what is inside regions."""
        from somscale.kernels.rank_runs import add_expected_marks

        for p, runs in enumerate(self._runs):
            add_expected_marks(runs, len(runs), self.output.order[p], marked, inside[p], back)

    def agreement(self, labels: Int, agreement: AnyArray) -> None:
        """Add pairs of one label."""
        from somscale.kernels.rank_runs import add_expected_agreement

        b = self.output
        for p, own in enumerate(labels[self.numbers]):
            if own >= 0:
                row = agreement[p if len(agreement) > 1 else 0]
                add_expected_agreement(b.order[p], b.ends[p], self.n, own, labels, row)

    def matrix(self, matrix: AnyArray) -> None:
        """Add to a corner of the co-ranking matrix."""
        from somscale.kernels.rank_runs import add_expected_matrix

        for runs in self._runs:
            add_expected_matrix(runs, len(runs), matrix)


def rank_rows(
    ties: Ties, numbers: Int, input_keys: Float, output_keys: Float, n: int, reach: int
) -> RankedRows:
    """Sort rows in both spaces, ties as they are to be ranked.

    Parameters
    ----------
    ties : str
        See `RankWant`.
    numbers : (P,) int64
        Sample numbers of the rows.
    input_keys, output_keys : (P, N) float64
        Exact distances ≥ 0; infinity where a sample takes no part.
    n : int
        Others that take part.
    reach : int
        Pairs with min(ρ, r) up to this rank matter where they are listed.

    Raises
    ------
    SampleValueError
        A row has not n finite distances to others.
    """
    from somscale.kernels.rank_sort import rank_in_order

    spread = ties in ("expected", "weighted")
    a = sort_keys(input_keys, numbers, n, spans=spread)
    b = sort_keys(output_keys, numbers, n, spans=ties != "index")
    if ties == "index":
        return OrderedRows(numbers, n, a, b, reach)
    order = _order_ties(b, a.order, n, n, -1 if ties == "worst" else 1)
    b = replace(b, order=order)
    if spread:
        return SpreadRows(numbers, n, a, b, reach, ties == "weighted")
    rank_in_order(order, n, b.rank)
    return OrderedRows(numbers, n, a, b, reach)

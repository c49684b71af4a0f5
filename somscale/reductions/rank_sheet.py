"""Tallies of ranks of one tile of kept rows, group of rows after group of rows."""

from __future__ import annotations

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.errors import InputError
from somscale.reductions.base import Partial, fresh_partial
from somscale.reductions.rank_finish import jaccard_of, tally_of
from somscale.reductions.rank_rows import PairRows, RankedRows, rank_rows
from somscale.reductions.rank_stats import curves_of, surface_of
from somscale.reductions.rank_want import RankWant, Ties

__all__ = ["RankWant", "Sheet", "Ties"]

_PART_BYTES = 1 << 21
"""Of rows that are sorted and tallied at a time, so that they stay in cache."""


class Sheet:
    """Tally one tile of kept rows.

    Parameters
    ----------
    want : RankWant
        What is tallied.
    n_samples : int
        Samples N that have numbers.
    n_rows : int
        Rows of the tile.
    first : int
        Place of the tile's first row among all kept ones.

    Notes
    -----
    Floats are added row after row: how rows are cut into groups does not show.
    """

    def __init__(self, want: RankWant, n_samples: int, n_rows: int, first: int) -> None:
        self.want = want
        self.n_samples = n_samples
        self.first = first
        self._partial = fresh_partial(want.fields(n_samples), n_rows)
        self._added = np.zeros(n_rows, bool)
        dtype = np.int64 if want.ties == "weighted" else np.dtype(want.dtype)
        self._sums = np.zeros((1, 9, want.k_max + 1), dtype)
        self._group_sums = np.zeros((want.n_groups, 9, want.k_max + 1), dtype)
        self._marked = np.array(want.sample_pairs, np.int64).reshape(-1, 2)

    def add_pairs(
        self,
        rows: slice,
        numbers: Int,
        rho: Int,
        r: Int,
        others: Int,
        counts: Int,
        labels: Int | None = None,
        *,
        tied: int = 0,
        looked: int = 0,
    ) -> None:
        """Tally rows of which all pairs that matter are listed with both ranks.

        Parameters
        ----------
        rows : slice
            Places in the tile, P of them.
        numbers : (P,) int64
            Sample numbers of the rows.
        rho, r, others : (P, M) integers
            Ranks of the pairs, and the numbers of the other samples; each pair once.
        counts : (P,) integers
            How many pairs of a row are valid.
        labels : (N,) integers or None
            Label codes by sample number.
        tied, looked : int
            How many output distances equal another of their row, of how many looked at.

        Raises
        ------
        InputError
            Ties are not ranked by sample index, or labels are wanted and not given.
        """
        if self.want.ties != "index":
            raise InputError(f"ties={self.want.ties!r} needs whole rows of distances, not pairs")
        numbers = np.asarray(numbers, np.int64)
        ranked = PairRows(numbers, rho, r, others, counts, (tied, looked))
        self._take(ranked, rows.start, labels)

    def add_sorted(
        self,
        rows: slice,
        numbers: Int,
        input_keys: Float,
        output_keys: Float,
        n_taken: int,
        labels: Int | None = None,
    ) -> None:
        """Sort rows of exact distances in both spaces and tally them.

        Parameters
        ----------
        rows : slice
            Places in the tile, P of them.
        numbers : (P,) int64
            Sample numbers of the rows; each row's own column is ignored.
        input_keys, output_keys : (P, N) float64
            Distances ≥ 0 to all samples; infinity where one takes no part.
        n_taken : int
            Samples that take part.
        labels : (N,) integers or None
            Label codes by sample number.

        Raises
        ------
        SampleValueError
            A row has not n_taken − 1 finite distances to others.
        InputError
            Labels are wanted and not given.
        """
        want = self.want
        numbers = np.asarray(numbers, np.int64)
        step = max(1, _PART_BYTES // self._row_bytes())
        for start in range(0, len(numbers), step):
            part = slice(start, start + step)
            keys = input_keys[part], output_keys[part]
            ranked = rank_rows(want.ties, numbers[part], *keys, n_taken - 1, want.reach)
            self._take(ranked, rows.start + start, labels)

    def partial(self) -> Partial:
        """What the tile adds to the whole; rows that were never added are left out."""
        want = self.want
        found = dict(self._partial)
        if want.k_max and want.ties != "weighted":
            found["tally"] = tally_of(self._sums[0])
            if want.n_groups:
                found["group_tally"] = tally_of(self._group_sums)
        fields = want.fields(self.n_samples)
        return {n: a[self._added] if fields[n].samplewise else a for n, a in found.items()}

    def _row_bytes(self) -> int:
        """Bytes that a row holds while it is tallied, roughly."""
        want = self.want
        held = 40 * self.n_samples
        if want.row_by_row:
            held += 200 * (want.tall + 1)
        if want.kappa_s and (want.drawn or want.ties == "expected"):
            held += 8 * (want.kappa_s + 1) * (want.kappa_t + 11)
        return held

    def _take(self, ranked: RankedRows, first: int, labels: Int | None) -> None:
        want, partial = self.want, self._partial
        places = slice(first, first + len(ranked.numbers))
        self._added[places] = True
        partial["tied"] += ranked.tied
        if "numbers" in partial:
            partial["numbers"][places] = ranked.numbers
        if want.tall and want.row_by_row:
            self._take_rows(ranked, places)
        elif want.k_max:
            ranked.columns(self._sums)
        if want.kappa_s:
            self._take_cells(ranked)
        if want.sample_pairs:
            ranked.marks(self._marked, partial["inside"][places], partial["inside_back"])
        if want.k_max and want.labels is not None:
            self._take_agreement(ranked, places, labels)
        if want.matrix:
            ranked.matrix(partial["matrix"])

    def _groups(self, places: slice) -> tuple[int, ...]:
        groups = self.want.groups or ()
        return groups[self.first + places.start : self.first + places.stop]

    def _take_rows(self, ranked: RankedRows, places: slice) -> None:
        """Sum up each row by itself, then add it to the whole."""
        want, partial = self.want, self._partial
        sums = np.zeros((len(ranked.numbers), 9, want.tall + 1), self._sums.dtype)
        ranked.columns(sums)
        if want.ties == "weighted":
            self._take_weighted(sums, places)
            return
        tallies = tally_of(sums)
        curves = curves_of(tallies, n_samples=self.n_samples, n_rows=1)
        if want.sample_ks:
            at = np.array(want.sample_ks) - 1
            three = curves.overlap[:, at], curves.excess_in[:, at], curves.excess_out[:, at]
            partial["sample_sums"][places] = np.stack(three, axis=1)
        if not want.k_max:
            return
        short = sums[..., : want.k_max + 1]
        _add_up(short, self._sums[0])
        if want.drawn and want.groups is None:
            partial["row_tally"][places] = tallies[..., : want.k_max + 1]
        _add_to_groups(short, self._groups(places), self._group_sums)
        if want.drawn and want.groups is not None:
            ones = np.ones(len(short), np.int64)
            _add_to_groups(ones, self._groups(places), partial["group_rows"])
        if want.jaccard:
            self._take_jaccard(curves.overlap[:, : want.k_max], places)

    def _take_weighted(self, sums: Int, places: slice) -> None:
        from somscale.kernels.rank_weighted import weigh_columns

        want, partial = self.want, self._partial
        rows = np.zeros((len(sums), 2, sums.shape[2]))
        weigh_columns(sums, rows)
        if want.sample_ks:
            at = np.array(want.sample_ks)
            partial["sample_sums"][places, 0] = np.nan
            partial["sample_sums"][places, 1:] = rows[..., at]
        if not want.k_max:
            return
        rows = rows[..., : want.k_max + 1]
        _add_up(rows, partial["tally"])
        if want.drawn and want.groups is None:
            partial["row_tally"][places] = rows
        elif want.drawn:
            groups = self._groups(places)
            _add_to_groups(rows, groups, partial["group_tally"])
            _add_to_groups(np.ones(len(rows), np.int64), groups, partial["group_rows"])

    def _take_jaccard(self, overlap: AnyArray, places: slice) -> None:
        want, partial = self.want, self._partial
        shares = jaccard_of(overlap)
        if want.dtype == "int64":
            np.add.at(partial["jaccard"], (np.arange(want.k_max)[None, :], overlap), 1)
        else:
            _add_up(shares, partial["jaccard"])
        if "group_jaccard" in partial:
            _add_to_groups(shares, self._groups(places), partial["group_jaccard"])

    def _take_cells(self, ranked: RankedRows) -> None:
        want, partial = self.want, self._partial
        if not want.drawn:
            ranked.cells(partial["cells"][None])
            return
        each = np.zeros((len(ranked.numbers), *partial["cells"].shape), partial["cells"].dtype)
        ranked.cells(each)
        _add_up(each, partial["cells"])
        for own in each:
            row = surface_of(own, n_samples=self.n_samples, n_rows=1)
            partial["inside_squares"] += np.square(row.inside)
            partial["products"] += row.inside * row.region[:, None]
            partial["region_squares"] += np.square(row.region)

    def _take_agreement(self, ranked: RankedRows, places: slice, labels: Int | None) -> None:
        want, partial = self.want, self._partial
        if labels is None:
            raise InputError(f"the column {want.labels!r} of labels is wanted and was not given")
        if not want.drawn:
            ranked.agreement(labels, partial["agreement"][None])
            return
        each = np.zeros((len(ranked.numbers), want.k_max + 1), partial["agreement"].dtype)
        ranked.agreement(labels, each)
        _add_up(each, partial["agreement"])
        if want.groups is None:
            partial["row_agreement"][places] = each
        else:
            _add_to_groups(each, self._groups(places), partial["group_agreement"])


def _add_up(rows: AnyArray, total: AnyArray) -> None:
    """Add rows one after the other: a sum over an axis would group them."""
    if rows.dtype.kind == "i":
        total += rows.sum(axis=0)
        return
    for row in rows:
        total += row


def _add_to_groups(rows: AnyArray, groups: tuple[int, ...], totals: AnyArray) -> None:
    for row, group in zip(rows, groups, strict=False):
        totals[group] += row

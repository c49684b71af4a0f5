"""Statistics of ranks from a co-ranking matrix that is given."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from somscale._types import AnyArray
from somscale.errors import InputError
from somscale.reductions.rank_stats import RankStats, RankSurface, Tally, curves_of, surface_of

__all__ = ["PARTS_OF_A_MATRIX", "stats_of_matrix"]

PARTS_OF_A_MATRIX: Final = frozenset({"curves", "full", "surface", "matrix"})
"""What of `RankStats` follows from a co-ranking matrix."""

_DIMS: Final = ("rank_in", "rank_out")
_ROUNDING: Final = 1e-9


def stats_of_matrix(matrix: Any) -> RankStats:
    """What a walk over all samples tells, from the whole co-ranking matrix.

    Parameters
    ----------
    matrix : array_like or DataArray, (N - 1, N - 1)
        Pairs by ranks: input ranks along rows, output ranks along columns.  A DataArray with
        dims ``rank_in`` and ``rank_out`` may have them in either order.

    Raises
    ------
    InputError
        It is no co-ranking matrix, or a corner of one.
    """
    counts = _checked(matrix)
    n = len(counts) + 1
    tally = _tally(counts)
    return RankStats(
        n,
        curves=curves_of(tally, n_samples=n, n_rows=n),
        surface=_surface(counts),
        matrix=counts,
    )


def _checked(matrix: Any) -> AnyArray:
    if isinstance(matrix, xr.DataArray):
        if set(_DIMS) == set(matrix.dims):
            matrix = matrix.transpose(*_DIMS)
        elif not set(_DIMS).isdisjoint(matrix.dims):
            raise InputError(
                f"the co-ranking matrix has dims {_DIMS}, not {matrix.dims}; choose one of it "
                "with sel"
            )
    counts = np.asarray(matrix)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size:
        raise InputError(
            f"a co-ranking matrix has shape (N - 1, N - 1), not {counts.shape}; its rows are "
            "ranks among the samples, its columns ranks in the projection"
        )
    if counts.dtype.kind not in "iuf":
        raise InputError(f"a co-ranking matrix holds counts, not values of type {counts.dtype}")
    wrong = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if len(wrong):
        k, ell = wrong[0]
        raise InputError(
            f"the co-ranking matrix holds {counts[k, ell]} at ranks {k + 1}, {ell + 1}, and that "
            "is no count"
        )
    counts = counts.astype(np.float64 if counts.dtype.kind == "f" else np.int64)
    if counts.dtype.kind == "f" and (counts == np.rint(counts)).all():
        counts = counts.astype(np.int64)
    _check_sums(counts)
    return counts


def _check_sums(counts: AnyArray) -> None:
    n = len(counts) + 1
    for axis, name in ((1, "row"), (0, "column")):
        sums = counts.sum(axis=axis)
        wrong = np.flatnonzero(np.abs(sums - n) > _ROUNDING * n)
        if len(wrong):
            raise InputError(
                f"every row and column of a co-ranking matrix of {n - 1} ranks sums to N = {n}, "
                f"and {name} {wrong[0] + 1} to {sums[wrong[0]]:g}; give the whole matrix, no "
                "corner of it, and leave out the ranks 0 that samples have around themselves"
            )


def _tally(counts: AnyArray) -> AnyArray:
    """The rows of :class:`Tally`, over all ranks."""
    size = len(counts)
    rank = np.arange(1, size + 1)
    own, away = np.tril(counts, -1), np.triu(counts, 1)  # ρ > r, ρ < r
    moved = counts * np.abs(rank[:, None] - rank)
    rows = {
        Tally.EQUAL: np.diagonal(counts),
        Tally.INTRUSIONS: own.sum(axis=1),
        Tally.EXTRUSIONS: away.sum(axis=0),
        Tally.IN_RANKS: rank @ own - rank * own.sum(axis=1),
        Tally.IN_PAIRS: own.sum(axis=0) - own.sum(axis=1),
        Tally.OUT_RANKS: away @ rank - rank * away.sum(axis=0),
        Tally.OUT_PAIRS: away.sum(axis=1) - away.sum(axis=0),
        Tally.MOVED_IN: moved.sum(axis=0),
        Tally.MOVED_OUT: moved.sum(axis=1),
    }
    tally = np.zeros((len(Tally), size + 1), counts.dtype)
    for row, values in rows.items():
        tally[row, 1:] = values
    return tally


def _surface(counts: AnyArray) -> RankSurface:
    size = len(counts)
    near = np.zeros((size + 1, size + 1), counts.dtype)
    for moved in range(size):
        # pairs on a diagonal are moved by the same, and near by their smaller rank
        both = np.diagonal(counts, moved) + (np.diagonal(counts, -moved) if moved else 0)
        near[1 : size + 1 - moved, moved] = both
    return surface_of(near, n_samples=size + 1, n_rows=size + 1)

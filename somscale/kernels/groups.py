"""Sums over the members of groups (units, clusters), continued in row order."""

from __future__ import annotations

import numpy as np

from somscale.kernels.scratch import Scratch
from somscale.kernels.types import Float, Int

__all__ = ["GroupSums"]


class GroupSums:
    """Add rows to the running sums of their groups.

    Every group adds its members one after the other onto what it holds, so
    taking rows in two portions gives the same bits as taking them in one.

    Parameters
    ----------
    groups : (n,) integer
        Group of every row; -1 for rows that belong to none.
    """

    def __init__(self, groups: Int) -> None:
        order = np.argsort(groups, kind="stable")
        order = order[np.searchsorted(groups[order], 0) :]
        members = groups[order]
        starts = np.ones(len(members), bool)
        np.not_equal(members[1:], members[:-1], out=starts[1:])
        first = np.flatnonzero(starts)
        self._order = order
        self._present = members[first]
        self._sizes = np.diff(first, append=len(order))
        self._n_rows = len(groups)

    def count(self, total: Int) -> None:
        """Add the number of members to integer totals, (G,)."""
        total[self._present] += self._sizes

    def add_scalars(self, total: Float, values: Float) -> None:
        """Add the members' values, (n,), to the totals, (G,)."""
        present = np.arange(len(self._present))
        groups = np.concatenate([present, np.repeat(present, self._sizes)])
        weights = np.concatenate([total[self._present], values[self._order]])
        total[self._present] = np.bincount(groups, weights, minlength=len(present))

    def add_rows(self, total: Float, values: Float) -> None:
        """Add the members' rows to the totals, (G, f).

        `values` is what :meth:`room` gave, with the rows written to its end.
        """
        from scipy.sparse import csr_array

        n_groups = len(self._present)
        values[:n_groups] = total[self._present]
        # row g of the product: what group g holds already, then its members in order
        ends = np.cumsum(self._sizes + 1)
        columns = np.empty(len(self._order) + n_groups, np.intp)
        heads = np.zeros(len(columns), bool)
        heads[ends - self._sizes - 1] = True
        columns[heads] = np.arange(n_groups)
        columns[~heads] = self._order + n_groups
        starts = np.concatenate([[0], ends])
        shape = (n_groups, len(values))
        indicator = csr_array((np.ones(len(columns)), columns, starts), shape=shape)
        total[self._present] = indicator @ values

    def room(self, scratch: Scratch, n_features: int) -> tuple[Float, Float]:
        """Room for :meth:`add_rows`: the whole buffer, and the part the rows go to."""
        n_groups = len(self._present)
        buffer = scratch.take("rows", (n_groups + self._n_rows, n_features), np.float64)
        return buffer, buffer[n_groups:]

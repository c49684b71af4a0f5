"""Ranked pairs by their plain definitions, and rows of keys walked by a sheet."""

from __future__ import annotations

from typing import Any

import numpy as np

from somscale._types import AnyArray, Float, Int
from somscale.reductions.merge import fold_nodes
from somscale.reductions.rank_finish import finish_ranks
from somscale.reductions.rank_sheet import RankWant, Sheet, Ties
from somscale.reductions.rank_stats import RankStats


def spans_of(keys: Float, i: int) -> tuple[Int, Int]:
    """First and last rank of every other sample around i, 0 where it takes no part."""
    taken = np.isfinite(keys)
    taken[i] = False
    nearer = (keys[None, taken] < keys[:, None]).sum(axis=1)
    within = (keys[None, taken] <= keys[:, None]).sum(axis=1)
    return np.where(taken, nearer + 1, 0), np.where(taken, within, 0)


def ranks_of(keys: Float, i: Any, second: AnyArray) -> Int:
    """Ranks around i, ties by `second`, 0 where a sample takes no part."""
    order = [j for j in np.lexsort((second, keys)) if j != i and np.isfinite(keys[j])]
    ranks = np.zeros(len(keys), int)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def chances(ties: Ties, a: Float, b: Float, i: int) -> Float:
    """Chance of each other sample to have ranks (ρ, r) around i: (N, N, N), index 0 unused."""
    n = len(a)
    found = np.zeros((n, n, n))
    if ties == "expected":
        (a0, a1), (b0, b1) = spans_of(a, i), spans_of(b, i)
        for j in np.flatnonzero(a0):
            box = found[j, a0[j] : a1[j] + 1, b0[j] : b1[j] + 1]
            box += 1 / box.size
        return found
    rho = ranks_of(a, i, np.arange(n))
    second = {"index": np.arange(n), "best": rho, "worst": -rho}[ties]
    r = ranks_of(b, i, second)
    for j in np.flatnonzero(rho):
        found[j, rho[j], r[j]] = 1
    return found


class Plain:
    """All tables of some rows by their definitions."""

    def __init__(self, ties: Ties, a: Float, b: Float, rows: Int, labels: Int) -> None:
        self.each = np.array([chances(ties, a[i], b[i], i) for i in rows])
        self.rows, self.labels = rows, labels
        self.n = a.shape[1]
        self.k, self.r = np.meshgrid(np.arange(self.n), np.arange(self.n), indexing="ij")

    def table(self) -> Float:
        return np.asarray(self.each.sum(axis=(0, 1)))

    def curves(self, k_max: int, rows: Any = slice(None)) -> dict[str, Float]:
        q = self.each[rows].sum(axis=(0, 1))
        rho, r = np.maximum(self.k, 1), np.maximum(self.r, 1)
        found: dict[str, list[float]] = {}

        def tell(name: str, table: Float, where: AnyArray) -> None:
            found.setdefault(name, []).append(float((table * where).sum()))

        for k in range(1, k_max + 1):
            tell("overlap", q, (rho <= k) & (r <= k))
            tell("equal", q, (rho == r) & (r <= k))
            tell("intrusions", q, (r < rho) & (rho <= k))
            tell("extrusions", q, (rho < r) & (r <= k))
            tell("excess_in", q * (rho - k), (r <= k) & (rho > k))
            tell("excess_out", q * (r - k), (rho <= k) & (r > k))
            tell("moved_in", q * abs(rho - r) / r, r <= k)
            tell("moved_out", q * abs(rho - r) / rho, rho <= k)
            near = self.each[rows][..., (rho <= k) & (r <= k)].sum(axis=(1, 2))
            found.setdefault("jaccard", []).append(float((near / (2 * k - near)).sum()))
            alike = self.labels == self.labels[self.rows][:, None]
            alike &= (self.labels >= 0)[None]
            at = self.each[rows][..., r <= k].sum(axis=2)
            found.setdefault("agreement", []).append(float((at * alike[rows]).sum()))
        return {name: np.array(values) for name, values in found.items()}

    def inside(self, s: int, t: int) -> Float:
        """Chances of (row, other) to be inside a region."""
        where = (np.minimum(self.k, self.r) <= s) & (abs(self.k - self.r) <= t)
        return np.asarray(self.each[..., where].sum(axis=2))


def tally(
    want: RankWant,
    a: Float,
    b: Float,
    rows: Int,
    labels: Int | None = None,
    tile: int = 256,
    group: int = 256,
) -> RankStats:
    """Walk the rows tile after tile, group after group."""
    taken = 1 + int(np.isfinite(np.delete(a[rows[0]], rows[0])).sum())
    nodes = []
    for first in range(0, len(rows), tile):
        mine = rows[first : first + tile]
        sheet = Sheet(want, a.shape[1], len(mine), first)
        for start in range(0, len(mine), group):
            part = mine[start : start + group]
            places = slice(start, start + len(part))
            sheet.add_sorted(places, part, a[part], b[part], taken, labels)
        nodes.append((0, first // tile, sheet.partial()))
    total = fold_nodes(want.fields(a.shape[1]), nodes)
    assert total is not None
    for name, field in want.fields(a.shape[1]).items():
        assert total[name].dtype == field.dtype, name
    return finish_ranks(want, total, taken, len(rows))

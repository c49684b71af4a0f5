"""A reduction in sweeps, and jobs of it, that the tests of the pair engine share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from pair_cases import TILE, D, N, distances, samples

from somscale.engine.pairs.job import PairJob
from somscale.engine.pairs.run import run_pairs
from somscale.engine.readers.columns import Column
from somscale.engine.readers.sources import ArraySource
from somscale.options import set_options
from somscale.reductions.anchor_walk import Anchors
from somscale.reductions.base import Block, Field, PairWorkspace, Partial, Side, Way

ONCE = Way(group_rows=3, sweeps=1, group_bytes=1 << 16, others_row_bytes=100)
TWICE = Way(group_rows=4, sweeps=2, group_bytes=1 << 8, others_row_bytes=100)
WIDE = Way(group_rows=TILE, sweeps=1, group_bytes=1 << 17, others_row_bytes=100)


@dataclass
class Group:
    kept: Block
    way: Way
    nearest: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    buffer: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    met: int = 0


class NearCounts:
    """Counts others within twice a kept row's nearest distance; some rows take no part.

    One sweep keeps the distances, two sweeps count in the second.
    """

    name = "near-counts"
    tile_rows = TILE
    side = Side.SWEEPS
    workspace = PairWorkspace(tile_bytes=1 << 10)
    fields: ClassVar[dict[str, Field]] = {
        "numbers": Field("concat", "int64"),
        "nearest": Field("concat"),
        "counts": Field("concat", "int64"),
        "codes": Field("concat", "int64"),
        "near": Field("sum", "int64"),
        "total": Field("sum"),
        "farthest": Field("max"),
    }
    prepared: ClassVar[list[tuple[int, int]]] = []
    starts: ClassVar[list[int]] = []
    fail_at: ClassVar[int | None] = None

    def __init__(
        self, *ways: Way, operations: float = 1.0, n: int = N, given: bool = False
    ) -> None:
        self.own_ways, self.operations, self.n, self.given = list(ways), operations, n, given

    def ways(self, n_rows: int) -> Sequence[Way]:
        assert n_rows == self.n
        return self.own_ways

    def start(self, kept: Block, way: Way, first: int) -> Group:
        assert first == kept.start
        assert len(kept.sample_numbers) == len(kept) == len(kept.values) <= way.group_rows
        NearCounts.starts.append(first)
        if len(NearCounts.starts) == NearCounts.fail_at:
            raise ArithmeticError("this group fails")
        m = len(kept)
        return Group(kept, way, np.full(m, np.inf), np.zeros(m, np.int64), np.zeros(m))

    def meet(
        self, group: Group, others: Block, sweep: int, given: np.ndarray | None = None
    ) -> None:
        assert others.start == group.met, "others come in order"
        assert others.numbers is None
        assert (given is not None) == self.given
        assert self.given or group.way.sweeps == 2 or len(others) == self.n
        group.met = others.stop
        if "codes" not in others.memo:
            NearCounts.prepared.append((others.start, others.stop))
            others.memo["codes"] = 1.0 + others.columns["code"]
        d = distances(group.kept, others) if given is None else np.array(given, np.float64)
        assert d.shape == (len(group.kept), len(others))
        d[group.kept.sample_numbers[:, None] == np.arange(others.start, others.stop)] = np.inf
        if sweep == 0:
            group.nearest = np.minimum(group.nearest, d.min(axis=1))
        if group.way.sweeps == 1:
            group.buffer.append((d, others.memo["codes"]))
        elif sweep == 1:
            self.count(group, d, others.memo["codes"])

    def count(self, group: Group, d: np.ndarray, codes: np.ndarray) -> None:
        near = d < 2 * group.nearest[:, None]
        group.counts += near.sum(axis=1)
        group.weights += near @ codes

    def turn(self, group: Group, sweep: int) -> None:
        assert group.met == self.n, "every sweep meets all samples"
        group.met = 0
        for d, codes in group.buffer:
            self.count(group, d, codes)
        group.buffer.clear()

    def finish(self, groups: Sequence[Group]) -> Partial:
        assert len({group.kept.start // TILE for group in groups}) == 1
        codes = np.concatenate([group.kept.columns["code"] for group in groups])
        taken = codes >= 0
        parts = {
            "numbers": np.concatenate([group.kept.sample_numbers for group in groups]),
            "nearest": np.concatenate([group.nearest for group in groups]),
            "counts": np.concatenate([group.counts for group in groups]),
            "codes": codes.astype(np.int64),
        }
        found = {name: values[taken] for name, values in parts.items()}
        weights = np.concatenate([group.weights for group in groups])[taken]
        return {
            **found,
            "near": found["counts"].sum(),
            "total": np.asarray((found["nearest"] * weights).sum()),
            "farthest": np.asarray(found["nearest"].max(initial=-np.inf)),
        }

    def finalize(self, total: Partial) -> Partial:
        return total


def codes_of(n: int = N) -> np.ndarray:
    """Codes from -1, which takes no part, to 2."""
    return np.random.default_rng(n + 1).integers(-1, 3, n)


def code_column(n: int = N) -> dict[str, Column]:
    return {"code": Column(codes_of(n) + 4, 4, np.arange(3))}


def square(n: int = N) -> np.ndarray:
    """Distances that are not symmetric."""
    return np.random.default_rng(n + 2).random((n, n))


def drawn(*numbers: int, values: np.ndarray | None = None) -> Anchors:
    """Kept rows, with their values; their codes are left to be read."""
    values = samples() if values is None else values
    return Anchors(np.array(numbers), values[list(numbers)])


def expected(
    d: np.ndarray, kept: np.ndarray | None = None, codes: np.ndarray | None = None
) -> Partial:
    """The same by plain numpy, each tile's sum alone in `sums`."""
    n = len(d)
    codes = codes_of(n) if codes is None else codes
    kept = np.arange(n) if kept is None else kept
    rows = np.array(d, np.float64)
    np.fill_diagonal(rows, np.inf)
    rows = rows[kept]
    nearest = rows.min(axis=1, initial=np.inf)
    near = rows < 2 * nearest[:, None]
    taken = codes[kept] >= 0
    return {
        "numbers": kept[taken],
        "nearest": nearest[taken],
        "counts": near.sum(axis=1)[taken],
        "codes": codes[kept][taken],
        "near": np.asarray(near[taken].sum()),
        "total": np.asarray((nearest * (near @ (1.0 + codes)))[taken].sum()),
        "farthest": np.asarray(nearest[taken].max(initial=-np.inf)),
    }


def assert_found(found: Partial, wanted: Partial) -> None:
    """Equal to the bit, but for the order of the sum's terms."""
    assert found.keys() == wanted.keys()
    for name in wanted.keys() - {"total"}:
        np.testing.assert_array_equal(found[name], wanted[name], err_msg=name)
    np.testing.assert_allclose(found["total"], wanted["total"], rtol=1e-13)


def sweep_job(
    *ways: Way, operations: float = 1.0, values: np.ndarray | None = None, **settings: Any
) -> PairJob:
    """A job over samples in memory, or what `settings` say instead."""
    values = samples() if values is None else values
    n = len(values)
    reduction = NearCounts(*ways, operations=operations, n=n, given="matrix" in settings)
    if "matrix" in settings:
        return PairJob([reduction], n, columns=code_column(n), **settings)
    if not settings.keys() & {"source", "blocks"}:
        settings["source"] = ArraySource(values)
    return PairJob([reduction], n, D, columns=code_column(n), **settings)


def reference(**settings: Any) -> Partial:
    """One task, one group a tile, all samples at hand."""
    with set_options(scheduler="serial"):
        return run_pairs(sweep_job(WIDE, **settings))[0]


def reset() -> None:
    NearCounts.prepared, NearCounts.starts, NearCounts.fail_at = [], [], None

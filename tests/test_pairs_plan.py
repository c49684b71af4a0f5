"""The plan of a walk over pairs: tasks, memory, bytes to read, and refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pair_cases import (
    SQUARES,
    Counted,
    CountingSource,
    D,
    N,
    PairSums,
    RowSums,
    assert_same_bits,
    reference,
    reset,
    samples,
)

from somscale.engine import where
from somscale.engine.linear.cutting import MOST_TASKS
from somscale.engine.pairs.cutting import plan_pairs
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.memory import project_pairs
from somscale.engine.pairs.run import lazy_pairs, plan_pair_job, run_pairs
from somscale.engine.readers.sources import RegularChunks
from somscale.errors import MemoryBudgetError
from somscale.options import set_options
from somscale.reductions.base import Side

MIB = 1 << 20


@pytest.fixture(autouse=True)
def fresh_counts() -> Iterator[None]:
    reset()
    yield
    reset()


class Sized(RegularChunks):
    """A source of some size that nobody reads."""

    dtype = np.dtype(np.float64)
    resident = False

    def __init__(self, rows: int, features: int, chunk_rows: int) -> None:
        self.shape, self.chunks = (rows, features), (chunk_rows, features)


def large_job(n: int, side: Side, *, features: int = 50, chunk_rows: int = 1000) -> PairJob:
    reduction = (PairSums if side is Side.BOTH else RowSums)(2.0 * features)
    reduction.tile_rows = 512  # type: ignore[misc]
    return PairJob([reduction], n, features, source=Sized(n, features, chunk_rows))


@pytest.mark.parametrize("side", [Side.BOTH, Side.ROWS])
@pytest.mark.parametrize("n", [1, 512, 513, 50_000, 3_000_000])
def test_tasks_are_few(n: int, side: Side) -> None:
    job = large_job(n, side)
    plan = plan_pairs(job, budget=1 << 33, baseline=100 * MIB, threads=4)
    runs = math.ceil(n / (512 * plan.cut.run_tiles))
    assert plan.tasks == (runs * (runs + 1) // 2 if side is Side.BOTH else runs)
    assert plan.tasks == len(plan.cut.tasks(job))
    assert 16 * (n >= 50_000) <= plan.tasks <= MOST_TASKS


def test_memory_decides_how_samples_are_read() -> None:
    job = large_job(1_000_000, Side.BOTH)
    stored = 1_000_000 * 50 * 8
    roomy = plan_pairs(job, budget=1 << 30, baseline=0, threads=2, processes=3)
    assert roomy.reading == "loaded once per process"
    assert roomy.bytes_read == 3 * stored
    assert stored < roomy.memory.samples < roomy.memory.peak <= 1 << 30
    tight = plan_pairs(job, budget=300 * MIB, baseline=0, threads=2)
    assert tight.reading == "read by panels"
    assert tight.memory.samples == 0
    assert tight.bytes_read > 10 * stored
    assert tight.memory.peak <= 300 * MIB


def test_fewer_threads_are_planned_where_memory_is_short() -> None:
    job = large_job(100_000, Side.ROWS, features=1000)
    peaks = {}
    for threads in (4, 3, 2):
        cut = PairCut(1, 1, "panels")
        settings: dict[str, Any] = {"baseline": 0, "threads": threads, "workers": "here"}
        peaks[threads] = project_pairs(job, cut, **settings).peak
    assert peaks[3] - peaks[2] == peaks[4] - peaks[3] > 24 * MIB
    for threads, peak in peaks.items():
        tight: dict[str, Any] = {"budget": peak, "baseline": 0, "threads": 4}
        assert plan_pairs(job, **tight).memory.threads <= threads
        with pytest.raises(MemoryBudgetError):
            plan_pairs(job, budget=peak - 1, baseline=0, threads=threads, fixed_threads=True)


@pytest.mark.parametrize("reduction", [PairSums, RowSums])
@pytest.mark.parametrize("finest", [False, True])
def test_panels_are_read_as_planned(
    reduction: type[Counted], finest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "baseline_bytes", lambda: 0)
    job = PairJob([reduction(SQUARES)], N, D, source=CountingSource(samples()))
    with set_options(scheduler="serial"):
        run_tiles = plan_pair_job(job).cut.run_tiles
    assert run_tiles > 1
    cut = PairCut(run_tiles, 1 if finest else run_tiles, "panels")
    budget = project_pairs(job, cut, baseline=0, threads=1, workers="here").peak
    with set_options(scheduler="serial", memory_budget=budget):
        plan = plan_pair_job(job)
        assert (plan.cut.run_tiles, plan.cut.panel_tiles) == (run_tiles, cut.panel_tiles)
        assert plan.reading == "read by panels"
        assert_same_bits(run_pairs(job)[0], reference(samples(), reduction))
    found = sum(CountingSource.bytes_read)
    if finest and reduction is PairSums:
        assert plan.bytes_read == pytest.approx(found, rel=0.1)
    else:
        assert plan.bytes_read == found


def test_what_cannot_fit_is_refused_before_reading() -> None:
    job = PairJob([PairSums(SQUARES)], N, D, source=CountingSource(samples()))
    for call in (run_pairs, lambda job: lazy_pairs(job, "token")):
        with (
            set_options(memory_budget="1MiB"),
            pytest.raises(MemoryBudgetError, match="pairs of 107 samples × 3 features"),
        ):
            call(job)
    assert not CountingSource.bytes_read


@pytest.mark.parametrize("side", [Side.BOTH, Side.ROWS])
def test_refusal_names_the_smallest_budget(side: Side) -> None:
    job = large_job(2_000_000, side, features=2000)
    settings: dict[str, Any] = {"baseline": 80 * MIB, "threads": 3}
    with pytest.raises(MemoryBudgetError) as refused:
        plan_pairs(job, budget=90 * MIB, **settings)
    named = int(str(refused.value).split("memory_budget='")[1].split("MiB'")[0])
    assert plan_pairs(job, budget=named * MIB, **settings).memory.peak <= named * MIB
    with pytest.raises(MemoryBudgetError):
        plan_pairs(job, budget=(named - 1) * MIB, **settings)

"""What a pass reads and holds: each chunk once, and never more memory than it may."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from passes import assert_same_bits, cut_by_hand, gaussian, job_of, units, whole
from strategies import Case
from zarr.storage import MemoryStore, WrapperStore

from somscale.engine import where as where_module
from somscale.engine.linear.cutting import LinearPlan, plan_linear
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import lazy_pass, plan_job, run_job
from somscale.engine.readers.sources import ArraySource, RegularChunks, ZarrSource
from somscale.errors import MemoryBudgetError
from somscale.options import set_options
from somscale.reductions.units import UnitsReduction

# --- memory


@dataclass(frozen=True)
class UnreadSource(RegularChunks):
    """Samples of which only sizes may be asked."""

    shape: tuple[int, int]
    chunks: tuple[int, int]
    resident: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def read(self, *box: slice) -> Any:
        raise AssertionError("a plan reads nothing")


def unread_job(shape: tuple[int, int], chunks: tuple[int, int], n_units: int = 4) -> LinearJob:
    reduction = UnitsReduction(np.zeros((n_units, shape[1])), samplewise=True)
    return LinearJob([reduction], shape[0], shape[1], source=UnreadSource(shape, chunks))


MEBIBYTE = 1 << 20


def smallest_budget(error: MemoryBudgetError) -> int:
    named = re.search(r"memory_budget='(\d+)MiB'", str(error))
    assert named is not None
    return int(named[1]) * MEBIBYTE


@settings(max_examples=40)
@given(
    n=st.integers(1, 3_000_000),
    d=st.integers(1, 5000),
    chunks=st.tuples(st.integers(1, 100_000), st.integers(1, 5000)),
    n_units=st.sampled_from([1, 100, 2500]),
    threads=st.integers(1, 4),
    fixed=st.booleans(),
)
def test_the_smallest_budget_named_is_the_smallest(
    n: int, d: int, chunks: tuple[int, int], n_units: int, threads: int, fixed: bool
) -> None:
    job = unread_job((n, d), (min(chunks[0], n), min(chunks[1], d)), n_units)
    arguments: Any = {"baseline": 77 * MEBIBYTE, "threads": threads, "fixed_threads": fixed}
    with pytest.raises(MemoryBudgetError, match=r"\(77 MiB of it held") as caught:
        plan_linear(job, budget=1, **arguments)
    smallest = smallest_budget(caught.value)
    plan = plan_linear(job, budget=smallest, **arguments)
    assert plan.memory.peak <= smallest
    with pytest.raises(MemoryBudgetError):
        plan_linear(job, budget=smallest - MEBIBYTE, **arguments)


def test_a_job_that_cannot_fit_is_refused_unread_and_the_named_budget_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where_module, "baseline_bytes", lambda: 50 * MEBIBYTE)
    job = unread_job((10_000, 30), (1000, 30))
    with set_options(memory_budget="60MiB"):
        for refused in (run_job, plan_job, lambda j: lazy_pass(j, "a")):
            with pytest.raises(MemoryBudgetError) as caught:
                refused(job)
    rng = np.random.default_rng(2)
    samples = rng.standard_normal((10_000, 30)).astype(np.float32)
    array = zarr.create_array(MemoryStore(), data=samples, chunks=(1000, 30))
    reduction = UnitsReduction(rng.standard_normal((4, 30)), samplewise=True)
    held, stored = (
        LinearJob([reduction], 10_000, 30, source=source)
        for source in (ArraySource(samples), ZarrSource(array))
    )
    with set_options(memory_budget=smallest_budget(caught.value)):
        tight = run_job(stored)[0]
    with set_options(memory_budget="4GiB"):
        assert_same_bits(tight, run_job(held)[0])


# --- reading


class CountingStore(WrapperStore[MemoryStore]):
    """Counts how often each chunk is fetched."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.fetched: Counter[str] = Counter()

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if not key.endswith("zarr.json"):
            self.fetched[key] += 1
        return await super().get(key, prototype, byte_range)


def counted(samples: NDArray[Any], chunks: tuple[int, int]) -> tuple[CountingStore, ZarrSource]:
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, data=samples, chunks=chunks)
    store.fetched.clear()
    return store, ZarrSource(array)


@pytest.mark.parametrize("n_maps", [1, 2])
@pytest.mark.parametrize("chunks", [(8, 5), (16, 2), (60, 1), (24, 5), (10, 3), (7, 5)])
@pytest.mark.parametrize("scheduler", ["serial", "threads"])
def test_every_chunk_is_read_once(scheduler: Any, chunks: tuple[int, int], n_maps: int) -> None:
    case = gaussian()
    store, source = counted(case.samples, chunks)
    maps = [units(gaussian(seed=seed).codes, f"map {seed}") for seed in range(n_maps)]
    job = replace(job_of(case, source), reductions=maps)
    with set_options(scheduler=scheduler, workers=2):
        plan = plan_job(job)
        run_job(job)
    assert plan.bytes_read == plan.bytes_stored == case.samples.nbytes
    assert plan.tasks == {8: 8, 16: 4}.get(chunks[0], 1)
    n_chunks = -(-60 // chunks[0]) * -(-5 // chunks[1])
    assert store.fetched.total() == len(store.fetched) == n_chunks


def wide_case(n: int = 64, d: int = 4096) -> Case:
    """Samples so close to their codes that single precision leaves no unit open."""
    rng = np.random.default_rng(3)
    codes = 10 * rng.standard_normal((3, d))
    samples = codes[rng.integers(0, 3, n)] + 0.1 * rng.standard_normal((n, d))
    return Case("wide", samples.astype(np.float32), codes)


def plan_by_features(job: LinearJob) -> LinearPlan:
    """The plan for the largest budget that does not hold a task's rows whole."""
    for budget in range(60 * MEBIBYTE, 20 * MEBIBYTE, -MEBIBYTE // 16):
        plan = plan_linear(job, budget=budget, baseline=0, threads=1)
        if plan.cut.order == "features":
            return plan
    raise AssertionError("no budget makes the plan walk by features")


@pytest.mark.parametrize("chunks", [(64, 512), (32, 512), (64, 256)])
def test_a_walk_by_features_reads_what_its_plan_says(chunks: tuple[int, int]) -> None:
    case = wide_case()
    store, source = counted(case.samples, chunks)
    job = job_of(case, source)
    plan = plan_by_features(job)
    stats = cut_by_hand(job, plan.cut)[0]
    assert store.fetched.total() * 4 * chunks[0] * chunks[1] == plan.bytes_read
    assert_same_bits(stats, whole(case))

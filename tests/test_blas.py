"""The BLAS guard: one thread inside, and outside what was there before, whoever overlaps."""

from __future__ import annotations

import importlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from somscale.engine.blas import single_threaded_blas
from somscale.engine.linear.job import LinearJob
from somscale.engine.linear.run import lazy_pass, run_job
from somscale.engine.readers.sources import ArraySource
from somscale.options import set_options
from somscale.reductions.units import UnitsReduction

importlib.import_module("scipy.linalg")  # brings a second BLAS, which the guard must hold too


def blas_threads() -> list[int]:
    """Threads of every BLAS of this process."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


pytestmark = pytest.mark.skipif(
    max(blas_threads(), default=1) == 1, reason="this machine lets BLAS have one thread only"
)


@pytest.fixture(autouse=True)
def before() -> Iterator[list[int]]:
    """What was there before; it must be back once all tasks of the test have ended."""
    threads = blas_threads()
    yield threads
    for _ in range(1000):
        if blas_threads() == threads:
            break
        time.sleep(0.01)  # a task beside one that failed may be at work yet
    assert blas_threads() == threads


def in_threads(work: Callable[[int], None], number: int) -> None:
    """Run in as many threads at once, and raise what any of them raises."""
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(work, range(number)))


def assert_held() -> None:
    assert set(blas_threads()) == {1}


def test_one_thread_inside_and_back_afterwards(before: list[int]) -> None:
    with single_threaded_blas():
        assert_held()
    assert blas_threads() == before


def test_back_after_an_exception(before: list[int]) -> None:
    def fail() -> None:
        with single_threaded_blas():
            assert_held()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert blas_threads() == before


def test_nested_guards_hold_until_the_outermost_ends(before: list[int]) -> None:
    with single_threaded_blas():
        with single_threaded_blas():
            assert_held()
        assert_held()
    assert blas_threads() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_overlapping_threads_hold_until_the_last_one_leaves(
    before: list[int], first_out: int
) -> None:
    entered = threading.Barrier(2)
    first_left = threading.Event()

    def work(number: int) -> None:
        with single_threaded_blas():
            entered.wait()
            assert_held()
            if number != first_out:
                assert first_left.wait(60)
                assert_held()
        if number == first_out:
            first_left.set()

    in_threads(work, 2)
    assert blas_threads() == before


def test_many_overlapping_threads_see_one_thread_at_every_moment(before: list[int]) -> None:
    start = threading.Barrier(6)

    def work(number: int) -> None:
        for turn in range(15):
            if turn % 5 == 0:
                start.wait()  # everyone has left, and everyone comes at once
            with single_threaded_blas():
                assert_held()
                if (turn + number) % 4 == 0:
                    with single_threaded_blas():
                        assert_held()
            if (turn + number) % 7 == 0:
                with pytest.raises(KeyError), single_threaded_blas():
                    raise KeyError

    in_threads(work, 6)
    assert blas_threads() == before


def test_a_limit_that_the_user_has_set_is_back_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        set_by_user = blas_threads()
        with single_threaded_blas():
            assert_held()
        assert blas_threads() == set_by_user


def test_a_limit_that_a_users_thread_has_set_is_back_afterwards() -> None:
    def work(_: int) -> None:
        with threadpool_limits(2, user_api="blas"):
            set_by_user = blas_threads()
            with single_threaded_blas():
                assert_held()
            assert blas_threads() == set_by_user

    in_threads(work, 1)


@dataclass(frozen=True)
class WatchedSource(ArraySource):
    """Notes the threads of BLAS whenever a task reads; fails at some row if told to."""

    seen: list[int] = field(default_factory=list)
    broken: int = -1

    def read(self, rows: slice, features: slice) -> Any:
        self.seen.extend(blas_threads())
        if rows.start <= self.broken < rows.stop:
            raise OSError("this row cannot be read")
        return super().read(rows, features)


def watched_job(broken: int = -1) -> tuple[LinearJob, list[int]]:
    """A pass of several tasks, and what its tasks see."""
    rng = np.random.default_rng(0)
    source = WatchedSource(rng.standard_normal((64, 3)), broken=broken)
    reduction = UnitsReduction(rng.standard_normal((5, 3)))
    reduction.tile_rows, reduction.operations = 8, 2e10
    return LinearJob([reduction], 64, 3, source=source), source.seen


@pytest.mark.parametrize("scheduler", ["serial", "threads"])
@pytest.mark.parametrize("broken", [-1, 20])
def test_tasks_of_a_pass_have_one_thread(scheduler: Any, broken: int) -> None:
    job, seen = watched_job(broken)
    with set_options(scheduler=scheduler, workers=2):
        if broken < 0:
            run_job(job)
        else:
            with pytest.raises(OSError, match="this row cannot be read"):
                run_job(job)
    assert set(seen) == {1}


def test_lazy_passes_that_users_compute_from_several_threads_at_once(before: list[int]) -> None:
    jobs = [watched_job() for _ in range(4)]
    start = threading.Barrier(len(jobs))

    def work(number: int) -> None:
        job, seen = jobs[number]
        lazy = lazy_pass(job, uuid.uuid4().hex)
        start.wait()
        (stats,) = dask.compute(lazy.stats, scheduler="threads", num_workers=2)
        assert stats[0].n_samples == 64
        assert len(seen) >= 8
        assert set(seen) == {1}

    in_threads(work, len(jobs))
    assert blas_threads() == before

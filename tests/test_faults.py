"""The tools of the fault tests do what they say."""

from __future__ import annotations

import asyncio
import errno
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import zarr
from faults import (
    READS,
    Fault,
    FaultyStore,
    Kind,
    Victim,
    died,
    differences,
    keys_of,
    run_and_kill,
    run_forked,
    run_python,
)
from zarr.storage import LocalStore, MemoryStore

from somscale.store.points import reach


def fill(store: FaultyStore | MemoryStore | LocalStore, value: int = 1) -> None:
    """Two arrays of two chunks below two rooms."""
    root = zarr.create_group(store, overwrite=True)
    for room in ("results", "partials"):
        array = root.require_group(room).create_array("a", shape=(4,), chunks=(2,), dtype="i8")
        array[:] = value


def test_a_store_without_faults_is_the_one_within_and_counts_all() -> None:
    store, plain = FaultyStore(MemoryStore()), MemoryStore()
    fill(store)
    fill(plain)
    assert keys_of(store, ["results", "partials"]) == keys_of(plain, ["results", "partials"])
    assert store.calls["set"] >= 9
    before = store.calls.copy()
    np.testing.assert_array_equal(zarr.open_array(store, path="results/a", mode="r")[:], 1)
    assert store.calls["get"] > before["get"]
    assert store.calls["set"] == before["set"]


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "torn"])
def test_each_write_fails_once_and_only_a_torn_one_leaves_half(kind: Kind) -> None:
    whole = FaultyStore(MemoryStore())
    fill(whole)
    expected = keys_of(whole, ["results"])
    for call in range(1, 4):  # there are two chunks
        store = FaultyStore(MemoryStore(), Fault(call, kind, frozenset({"set"}), "results/a/c"))
        if call > 2:
            fill(store)
            break
        with pytest.raises(OSError, match="results/a/c") as raised:
            fill(store)
        assert raised.value.errno == (errno.ENOSPC if kind == "ENOSPC" else errno.EIO)
        lengths = [len(value) for key, value in keys_of(store).items() if "/c/" in key]
        half = [len(expected["results/a/c/0"]) // 2] if kind == "torn" else []
        assert [n for n in lengths if n != len(expected["results/a/c/0"])] == half
        fill(store)
        assert keys_of(store, ["results"]) == expected


def test_a_full_disk_stays_full() -> None:
    store = FaultyStore(MemoryStore(), Fault(2, "ENOSPC", frozenset({"set"}), lasting=True))
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            fill(store)
    store.fault = None
    fill(store)


def test_reads_fail_too() -> None:
    store = FaultyStore(MemoryStore())
    fill(store)
    store.fault = Fault(1, methods=READS, within="results/a/c")
    array = zarr.open_array(store, path="results/a", mode="r")
    with pytest.raises(OSError, match="results/a/c"):
        array[:]
    np.testing.assert_array_equal(array[:], 1)


def test_read_only_views_and_listings() -> None:
    store = FaultyStore(MemoryStore())
    fill(store)
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_group(store.with_read_only(True), mode="r+")

    async def count(prefix: str) -> int:
        return len([key async for key in store.list_prefix(prefix)])

    assert asyncio.run(count("results/")) == 4


def test_differences_name_keys_of_the_rooms_asked_for(tmp_path: Path) -> None:
    memory, local = MemoryStore(), LocalStore(tmp_path / "w.zarr")
    fill(memory)
    fill(local)
    assert differences(memory, tmp_path / "w.zarr") == []
    (tmp_path / "w.zarr/results/a/c/1").write_bytes(b"other")
    (tmp_path / "w.zarr/results/a/c/0").unlink()
    (tmp_path / "w.zarr/partials/a/c/0").unlink()
    assert differences(memory, tmp_path / "w.zarr") == ["results/a/c/0", "results/a/c/1"]


def test_points_kill_at_the_count_that_is_named() -> None:
    code = """
from somscale.store.points import reach
for i in range(3):
    print(i, flush=True)
    reach("chunk:before")
    reach("chunk:after")
"""
    done = run_python("-c", code, abort_at="chunk:before:2")
    assert died(done)
    assert done.stdout.split() == ["0", "1"]
    done = run_python("-c", code, abort_at="chunk:before:4")
    assert not died(done)
    assert done.stdout.split() == ["0", "1", "2"]


WITH_WORKERS = """
import multiprocessing, sys, time
from pathlib import Path

def work(path):
    Path(path).touch()
    time.sleep(60)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(f"{sys.argv[1]}/{i}",)) for i in range(2)]
    for worker in workers:
        worker.start()
    while True:
        ended = [worker.exitcode for worker in workers if worker.exitcode is not None]
        if ended:
            for worker in workers:
                worker.kill()
            sys.exit(3 if ended == [-9] else 4)
        time.sleep(0.01)
"""


@pytest.mark.parametrize(("victim", "code"), [("process", -signal.SIGKILL), ("worker", 3)])
def test_a_process_or_one_of_its_workers_is_killed(
    victim: Victim, code: int, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(WITH_WORKERS, "utf-8")
    struck, returncode, said = run_and_kill(
        str(script), str(tmp_path), after=0.1, once=tmp_path / "0", victim=victim
    )
    assert struck, said
    assert returncode == code, said
    deadline = time.monotonic() + 20
    while alive := [p for p in psutil.process_iter(["cmdline"]) if str(script) in str(p.info)]:
        assert time.monotonic() < deadline, alive


def test_a_process_that_ends_in_time_is_let_be() -> None:
    struck, returncode, _ = run_and_kill("-c", "print(1)", after=60)
    assert not struck
    assert returncode == 0


def test_a_forked_process_dies_at_a_point_or_ends() -> None:
    assert run_forked(reach, "chunk:before", abort_at="chunk:before:1") == -signal.SIGKILL
    assert run_forked(reach, "chunk:before", abort_at="chunk:before:2") == 0
    assert run_forked(reach, "chunk:before") == 0

"""Faults on purpose: a store whose k-th call fails, processes that die, workspaces compared."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import psutil
from zarr.abc.buffer import Buffer, BufferPrototype
from zarr.abc.store import ByteRequest, Store
from zarr.buffer import default_buffer_prototype
from zarr.storage import WrapperStore

ROOT = Path(__file__).parents[1]
STORED = ("samples", "maps", "distances", "ranks", "results")
WRITES = frozenset({"set", "delete"})
READS = frozenset({"get", "exists", "list"})
_HEAVY = ["somscale.evaluate", "somscale.kernels.loops", "dask.array", "threadpoolctl"]
Kind: TypeAlias = Literal["EIO", "ENOSPC", "torn"]
Victim: TypeAlias = Literal["process", "worker", "scheduler"]


@dataclass
class Fault:
    """Which call of a store fails, and how.

    Parameters
    ----------
    at : int
        The failing call, from 1, among those of `methods` on keys that hold `within`.
    kind : {"EIO", "ENOSPC", "torn"}
        "torn" keeps the first half of what is written, and then fails with EIO.
    methods : set of str
        "get", "exists", "set", "delete", "list".
    within : str
        Part of the keys that count.
    lasting : bool
        Whether all later calls that count fail too, as on a disk that stays full.

    Attributes
    ----------
    hit : str
        Method and key of the first call that failed.
    """

    at: int
    kind: Kind = "EIO"
    methods: frozenset[str] = WRITES
    within: str = ""
    lasting: bool = False
    seen: int = field(default=0, init=False)
    hit: str = field(default="", init=False)

    def strikes(self, method: str, key: str) -> bool:
        """Count a call; whether it fails."""
        if method not in self.methods or self.within not in key:
            return False
        self.seen += 1
        struck = self.seen >= self.at if self.lasting else self.seen == self.at
        if struck and not self.hit:
            self.hit = f"{method} {key}"
        return struck

    @property
    def reached(self) -> bool:
        """Whether a call has failed."""
        return self.seen >= self.at

    def error(self, key: str) -> OSError:
        """What the call raises."""
        code = errno.ENOSPC if self.kind == "ENOSPC" else errno.EIO
        return OSError(code, os.strerror(code), key)


@dataclass
class Record:
    """What a faulty store and its read-only views have in common."""

    fault: Fault | None = None
    calls: Counter[str] = field(default_factory=Counter)


class FaultyStore(Store):
    """Another store, whose calls are counted and fail where `fault` says so.

    It lacks the synchronous short cuts that a store may have, so that no call passes by.
    """

    def __init__(
        self, inner: Store, fault: Fault | None = None, *, record: Record | None = None
    ) -> None:
        super().__init__(read_only=inner.read_only)
        self.inner = inner
        self.record = Record(fault) if record is None else record

    @property
    def calls(self) -> Counter[str]:
        """How often each method was called."""
        return self.record.calls

    @property
    def fault(self) -> Fault | None:
        """What is to fail; it may be exchanged."""
        return self.record.fault

    @fault.setter
    def fault(self, fault: Fault | None) -> None:
        self.record.fault = fault

    def _meet(self, method: str, key: str) -> None:
        self.calls[method] += 1
        if self.fault is not None and self.fault.strikes(method, key):
            raise self.fault.error(key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FaultyStore) and self.inner == other.inner

    def __str__(self) -> str:
        return f"faulty-{self.inner}"

    def with_read_only(self, read_only: bool = False) -> FaultyStore:
        return FaultyStore(self.inner.with_read_only(read_only), record=self.record)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        self._meet("get", key)
        return await self.inner.get(key, prototype, byte_range)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        return [await self.get(key, prototype, box) for key, box in key_ranges]

    async def exists(self, key: str) -> bool:
        self._meet("exists", key)
        return await self.inner.exists(key)

    async def set(self, key: str, value: Buffer) -> None:
        try:
            self._meet("set", key)
        except OSError:
            if self.fault is not None and self.fault.kind == "torn":
                await self.inner.set(key, value[: len(value) // 2])
            raise
        await self.inner.set(key, value)

    async def delete(self, key: str) -> None:
        self._meet("delete", key)
        await self.inner.delete(key)

    async def list(self) -> AsyncIterator[str]:
        self._meet("list", "")
        async for key in self.inner.list():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        self._meet("list", prefix)
        async for key in self.inner.list_prefix(prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        self._meet("list", prefix)
        async for key in self.inner.list_dir(prefix):
            yield key

    @property
    def supports_writes(self) -> bool:
        return self.inner.supports_writes

    @property
    def supports_deletes(self) -> bool:
        return self.inner.supports_deletes

    @property
    def supports_listing(self) -> bool:
        return self.inner.supports_listing


# A wrapper to whoever asks, though none of its inherited methods may pass a fault by.
WrapperStore.register(FaultyStore)


def keys_of(place: Path | Store, rooms: Sequence[str] = STORED) -> dict[str, bytes]:
    """Bytes of every key of a workspace below `rooms`, sorted, but for times that are kept."""
    if isinstance(place, Path):
        files = {path.relative_to(place).as_posix(): path for path in place.rglob("*")}
        found = {key: path.read_bytes() for key, path in files.items() if path.is_file()}
    else:
        found = asyncio.run(_keys_of(place.inner if isinstance(place, FaultyStore) else place))
    return {key: timeless(key, found[key]) for key in sorted(found) if _room(key) in rooms}


def _room(key: str) -> str:
    return key.partition("/")[0]


def timeless(key: str, value: bytes) -> bytes:
    """A key's bytes, without the times of the samples' files, which no two writes share."""
    if key != "samples/zarr.json":
        return value
    about = json.loads(value)
    for times in ("chunk_stamps", "source_stamps"):
        about["attributes"].pop(times, None)
    return json.dumps(about).encode()


async def _keys_of(store: Store) -> dict[str, bytes]:
    prototype = default_buffer_prototype()
    found = {}
    async for key in store.list():
        value = await store.get(key, prototype)
        assert value is not None, key
        found[key] = value.to_bytes()
    return found


def differences(one: Path | Store, other: Path | Store, rooms: Sequence[str] = STORED) -> list[str]:
    """Keys that one of two workspaces lacks, or whose bytes differ."""
    left, right = keys_of(one, rooms), keys_of(other, rooms)
    return sorted(key for key in left.keys() | right.keys() if left.get(key) != right.get(key))


def temporary_files(place: Path) -> list[str]:
    """Files of writes that were interrupted."""
    return sorted(str(path) for path in place.rglob("*.partial"))


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """That of a child, which finds the package and the tests' modules."""
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **extra}


def run_python(
    *arguments: str, abort_at: str | None = None, cwd: Path | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run ``python *arguments`` in a process of its own that dies at a named commit point."""
    extra = {} if abort_at is None else {"SOMSCALE_ABORT_AT": abort_at}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment(extra),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_forked(
    function: Callable[..., object], *arguments: Any, abort_at: str | None = None
) -> int:
    """Call a function of a module in a process of its own; its exit code, -9 where it died.

    The process is forked from one that has imported what takes long, so that it starts at once.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_HEAVY)
    process = context.Process(target=_call, args=(function, arguments, abort_at))
    process.start()
    process.join(300)
    code = process.exitcode
    process.kill()
    process.join()
    assert code is not None, f"{function} takes too long"
    return code


def _call(function: Callable[..., object], arguments: Any, abort_at: str | None) -> None:
    if abort_at is not None:
        os.environ["SOMSCALE_ABORT_AT"] = abort_at
    function(*arguments)


def died(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a process was ended by SIGKILL; any other failure is the test's."""
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def run_and_kill(
    *arguments: str,
    after: float,
    once: Path | None = None,
    victim: Victim = "process",
    seed: int = 0,
    cwd: Path | None = None,
    timeout: float = 300,
) -> tuple[bool, int, str]:
    """Run ``python *arguments``, and kill it or one of its workers after so many seconds.

    Parameters
    ----------
    after : float
        Seconds from its start, or from when `once` exists.
    once : Path, optional
        A file that the process makes when it is about to be of interest.
    victim : {"process", "worker", "scheduler"}
        "process" kills it with all its children; "worker" one child that computes, drawn by
        `seed`, and "scheduler" the one that gives out tasks, and both let the rest go on.

    Returns
    -------
    struck, returncode, stderr
        Whether anything was killed before the end; what the process ended with.
    """
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment({}),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        try:
            while once is not None and not once.exists() and process.poll() is None:
                time.sleep(0.01)
            _, said = process.communicate(timeout=after)
            return False, process.returncode, said
        except subprocess.TimeoutExpired:
            if victim == "process":
                struck = _kill_all(process)
            else:
                struck = _kill_child(process.pid, _CHILDREN[victim], seed)
        _, said = process.communicate(timeout=timeout)
        return struck, process.returncode, said
    finally:
        _kill_all(process)


def _kill_all(process: subprocess.Popen[str]) -> bool:
    """Kill the process and all it started, which are the members of its session."""
    alive = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return alive


_CHILDREN: dict[Victim, str] = {"worker": "spawn_main", "scheduler": "dask_scheduler"}
"""What stands in their command lines."""


def _kill_child(pid: int, named: str, seed: int) -> bool:
    """Kill a child; multiprocessing's own helpers compute nothing."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        workers = [child for child in children if named in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return False
    if not workers:
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        random.Random(seed).choice(workers).kill()
    return True

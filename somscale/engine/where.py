"""Where a pass runs: the scheduler that the user has set or started, or one of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from somscale.engine.memory import (
    Workers,
    baseline_bytes,
    budget_bytes,
    fresh_bytes,
    worker_count,
)
from somscale.errors import ClusterError, InputError
from somscale.options import get_options

__all__ = ["Where", "where_to_run"]

_SERIAL_OPERATIONS = 2e9
"""Below about a tenth of a second of work a scheduler costs more than it gives."""
_SHARE: Final = 0.7
"""Of a worker's own limit: from there on Dask's workers spill, and later pause."""
_own_bytes: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""By client, the least that a worker was seen to hold besides data of Dask's.  What it holds
more after a pass are pages that it freed, and that the next pass uses again."""


@dataclass(frozen=True)
class Where:
    """Which scheduler computes, with how many tasks at a time in a process.

    Attributes
    ----------
    scheduler : str
        "serial", "threads", "processes", "distributed" or "dask" (the scheduler that
        the user has set in Dask's own configuration).
    threads : int
        Tasks at a time in one process.
    baseline : int
        Bytes that a worker process holds already.
    client : optional
        The Dask client.
    processes : int
        Processes that compute.
    workers : {"here", "pool", "cluster"}
        Whether tasks run in this process, in a pool that is sent every task with all
        it needs, or on a cluster whose workers keep what they were sent.
    """

    scheduler: str
    threads: int
    baseline: int
    client: Any = None
    processes: int = 1
    workers: Workers = "here"
    limit: int | None = None

    @property
    def budget(self) -> int:
        """Bytes that a process may hold: the option, else most of the workers' own limit."""
        if self.limit is None or get_options().memory_budget is not None:
            return budget_bytes()
        return int(_SHARE * self.limit)

    @property
    def fixed_threads(self) -> bool:
        """Whether the number of threads is not ours to lower."""
        return self.scheduler in ("distributed", "dask")

    def alone(self, tasks: int, operations: float) -> bool:
        """Whether the plain loop serves best: asked for, or as good as a scheduler."""
        small = tasks == 1 or operations < _SERIAL_OPERATIONS
        return self.scheduler == "serial" or (self.scheduler == "threads" and small)


def where_to_run() -> Where:
    """Find the scheduler: the option, else a Dask client or setting, else threads."""
    wish = get_options().scheduler
    client = _client() if wish in ("auto", "distributed") else None
    if wish == "distributed" and client is None:
        raise InputError(
            "scheduler='distributed' needs a running cluster; make a dask.distributed.Client first"
        )
    if client is not None:
        known = client.scheduler_info(n_workers=-1).get("workers")
        if known is None:
            raise ClusterError(
                "the Dask client has lost its scheduler; start the cluster anew: a run in a "
                "workspace (store=) kept what was finished, and the same call goes on from there"
            )
        workers = known.values()
        threads = max((w["nthreads"] for w in workers), default=1)
        limit = min((w["memory_limit"] for w in workers if w.get("memory_limit")), default=None)
        held, n_workers = _held_by(workers, client), max(1, len(workers))
        return Where("distributed", threads, held, client, n_workers, "cluster", limit)
    if wish == "auto" and "dask" in sys.modules:
        import dask

        chosen = dask.config.get("scheduler", None)
        if chosen in ("processes", "multiprocessing"):
            return Where("dask", 1, baseline_bytes(), None, worker_count(), "pool")
        if chosen is not None:
            return Where("dask", worker_count(), baseline_bytes())
    if wish == "processes":
        return Where(wish, 1, baseline_bytes(), None, worker_count(), "pool")
    if wish == "serial":
        return Where(wish, 1, baseline_bytes())
    return Where("threads", worker_count(), baseline_bytes())


def _held_by(workers: Iterable[Mapping[str, Any]], client: Any) -> int:
    """What a worker holds before a pass: its libraries, data of Dask's, and what users keep."""
    seen = [worker["metrics"] for worker in workers if worker["metrics"].get("memory")]
    if not seen:
        return baseline_bytes()
    data = max(int(metrics.get("managed_bytes", 0)) for metrics in seen)
    own = max(int(metrics["memory"]) - int(metrics.get("managed_bytes", 0)) for metrics in seen)
    _own_bytes[client] = min(_own_bytes.get(client, own), own)
    return data + fresh_bytes(_own_bytes[client])


def _client() -> Any:
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None

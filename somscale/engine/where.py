"""Where a pass runs: the scheduler that the user has set or started, or one of our own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from somscale.engine.memory import Workers, baseline_bytes, worker_count
from somscale.errors import ClusterError, InputError
from somscale.options import get_options

__all__ = ["Where", "where_to_run"]

_SERIAL_OPERATIONS = 2e9
"""Below about a tenth of a second of work a scheduler costs more than it gives."""


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
        held = max((w["metrics"].get("memory", 0) for w in workers), default=0)
        baseline = held or baseline_bytes()
        return Where("distributed", threads, baseline, client, max(1, len(workers)), "cluster")
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


def _client() -> Any:
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None

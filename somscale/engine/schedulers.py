"""Compute a graph on whichever Dask scheduler is at hand, with one progress bar for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from dask.callbacks import Callback

from somscale.engine.blas import single_threaded_blas
from somscale.engine.joining import PassGraph
from somscale.engine.memory import worker_count
from somscale.engine.progress import progress_bar
from somscale.errors import ClusterError
from somscale.reductions.base import Partial

if TYPE_CHECKING:
    from somscale.engine.linear.job import LinearJob
    from somscale.engine.pairs.job import PairJob
    from somscale.engine.where import Where

__all__ = ["compute_graph", "ship"]

_EMBED_BYTES = 1 << 20


def compute_graph(graph: PassGraph, where: Where, *, threads: int, label: str) -> list[Partial]:
    """Compute the totals and the values of samples in one go, so that samples are read once.

    Parameters
    ----------
    graph : PassGraph
        What to compute.
    where : Where
        The scheduler.
    threads : int
        Tasks at a time in one process, as planned.
    label : str
        What the progress bar says.

    Returns
    -------
    list of dict
        The whole partial of every reduction.
    """
    keys = list(graph.pieces)
    wanted = [graph.total, *([node for node, _ in graph.pieces[key]] for key in keys)]
    bar = progress_bar(len(graph.runs), label)
    if where.client is not None:
        totals, *parts = _compute_on_cluster(where.client, graph, wanted, bar)
    else:
        with single_threaded_blas(), bar, _Counter(graph, bar):
            totals, *parts = dask.compute(*wanted, **_settings(where, threads))
    for (number, name), pieces in zip(keys, parts, strict=True):
        totals[number][name] = np.concatenate(pieces)
    result: list[Partial] = totals
    return result


def _settings(where: Where, threads: int) -> dict[str, Any]:
    if where.scheduler == "dask":
        return {}
    if where.scheduler == "serial":
        return {"scheduler": "synchronous"}
    if where.scheduler == "processes":
        # Dask hands out tasks by the half-dozen, which leaves processes idle when each takes long
        return {"scheduler": "processes", "num_workers": worker_count(), "chunksize": 1}
    return {"scheduler": where.scheduler, "num_workers": threads}


class _Counter(Callback):
    """Count finished read tasks on the local schedulers."""

    def __init__(self, graph: PassGraph, bar: Any) -> None:
        self._keys = {node.key for node in graph.runs}
        self._bar = bar

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
        if key in self._keys:
            self._bar.update()


def _compute_on_cluster(
    client: Any, graph: PassGraph, wanted: list[Any], bar: Any
) -> tuple[Any, ...]:
    from distributed import as_completed

    with bar, _cluster_there():
        watched = [] if bar.disable else graph.runs
        # in one call: a run that ends before it is asked for again would be computed again
        future, *runs = client.compute([dask.delayed(tuple)(wanted), *watched])
        if runs:
            pending = as_completed(runs)
            del runs
            for _ in pending:
                bar.update()
        result: tuple[Any, ...] = future.result()
    return result


@contextmanager
def _cluster_there() -> Iterator[None]:
    """Say in a sentence that a cluster was lost, and where the work goes on."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (CancelledError, CommClosedError, KilledWorker) as error:
        what = "workers of the Dask cluster died again and again, last of them with"
        if not isinstance(error, KilledWorker):
            what = "the connection to the Dask scheduler was lost:"
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ClusterError(
            f"{what} {reason}; start the cluster anew: a run in a workspace (store=) kept what was "
            "finished, and the same call goes on from there"
        ) from error


def ship(client: Any, job: LinearJob | PairJob) -> Any:
    """Send what a job holds in memory to every worker once, unless it is small."""
    held = sum(column.values.nbytes for column in job.columns.values())
    held += sum(getattr(getattr(r, "codes", None), "nbytes", 0) for r in job.reductions)
    source = job.source
    if source is not None and source.resident:
        held += source.shape[0] * source.shape[1] * source.dtype.itemsize
    if held < _EMBED_BYTES or job.blocks is not None:
        return None
    with _cluster_there():
        return client.scatter(job, broadcast=True, hash=False)

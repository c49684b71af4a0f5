"""Compute a graph on whichever Dask scheduler is at hand, with one progress bar for all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import dask
from dask.callbacks import Callback

from somscale.engine.blas import single_threaded_blas
from somscale.engine.cutting import LinearPlan
from somscale.engine.graph import PassGraph
from somscale.engine.job import LinearJob
from somscale.engine.memory import worker_count
from somscale.engine.progress import progress_bar
from somscale.kernels.types import AnyArray
from somscale.reductions.base import Partial

if TYPE_CHECKING:
    from somscale.engine.run import Where

__all__ = ["compute_graph", "ship"]

_EMBED_BYTES = 1 << 20

Pieces = dict[tuple[int, str], list[AnyArray]]


def compute_graph(
    graph: PassGraph, plan: LinearPlan, where: Where
) -> tuple[list[Partial], Pieces]:
    """Compute totals and the values of samples in one go, so that samples are read once."""
    keys = list(graph.pieces)
    wanted = [graph.total, *([node for node, _ in graph.pieces[key]] for key in keys)]
    if where.client is not None:
        total, *parts = _compute_on_cluster(where.client, graph, wanted)
    else:
        settings: dict[str, Any] = {}
        if where.scheduler != "dask":
            workers = worker_count() if where.scheduler == "processes" else plan.memory.threads
            settings = {"scheduler": where.scheduler, "num_workers": workers}
        if where.scheduler == "serial":
            settings = {"scheduler": "synchronous"}
        bar = progress_bar(plan.tasks, "reading")
        with single_threaded_blas(), bar, _Counter(graph, bar):
            total, *parts = dask.compute(*wanted, **settings)
    return total, dict(zip(keys, parts, strict=True))


class _Counter(Callback):  # type: ignore[misc]
    """Count finished read tasks on the local schedulers."""

    def __init__(self, graph: PassGraph, bar: Any) -> None:
        super().__init__()
        self._keys = {node.key for node in graph.runs}
        self._bar = bar

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
        if key in self._keys:
            self._bar.update()


def _compute_on_cluster(client: Any, graph: PassGraph, wanted: list[Any]) -> tuple[Any, ...]:
    from distributed import as_completed

    bar = progress_bar(len(graph.runs), "reading")
    with bar:
        future = client.compute(dask.delayed(tuple)(wanted))
        if not bar.disable:
            runs = client.compute(graph.runs)
            for done in as_completed(runs):
                bar.update()
                runs.remove(done)
        result: tuple[Any, ...] = future.result()
    return result


def ship(client: Any, job: LinearJob) -> Any:
    """Send what a job holds in memory to every worker once, unless it is small."""
    held = sum(column.values.nbytes for column in job.columns.values())
    held += sum(sys.getsizeof(0) + getattr(r, "codes", 0).nbytes for r in job.reductions if hasattr(r, "codes"))
    source = job.source
    if source is not None and source.resident:
        held += source.shape[0] * source.shape[1] * source.dtype.itemsize
    if held < _EMBED_BYTES or job.blocks is not None:
        return None
    return client.scatter(job, broadcast=True, hash=False)

"""Fill an N × N matrix block by block: walks whose tasks write what they find.

A task writes whole blocks that no other task touches, so that it may be stopped at any
moment and done again: a matrix goes on from the blocks that are there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from traceback import clear_frames
from typing import Any, cast

import numpy as np

from somscale._types import AnyArray
from somscale.engine.blas import single_threaded_blas
from somscale.engine.pairs.cutting import PairPlan
from somscale.engine.pairs.job import PairCut, PairJob
from somscale.engine.pairs.panels import Reader
from somscale.engine.pairs.recall import Sent, reader_of
from somscale.engine.pairs.run import plan_where
from somscale.engine.pairs.sweeps import sweep_tiles
from somscale.engine.pairs.walk import square_blocks
from somscale.engine.pairs.zorder import Square
from somscale.engine.progress import progress_bar
from somscale.engine.readers.resident import release, resident
from somscale.engine.sink import BlockTarget
from somscale.engine.where import Where, where_to_run
from somscale.reductions.base import Side
from somscale.reductions.distance_blocks import DistanceBlocks

__all__ = ["Filling", "fill_matrix", "plan_filling"]


@dataclass(frozen=True)
class Filling:
    """What is written where.

    Attributes
    ----------
    job : PairJob
        PAIRS: its one reduction is :class:`DistanceBlocks`, and both of mirrored blocks are
        written.  SWEEPS: its tiles give "kept", the rows of the matrix, and their "numbers".
    target : BlockTarget
        Takes the blocks.
    unit_rows : int
        Rows of a block, a multiple of the job's tiles by a power of two.
    pending : callable
        Whether a task has work to do, by the numbers of its blocks along both sides (the
        column is that of the row in SWEEPS, whose blocks are whole rows).
    """

    job: PairJob
    target: BlockTarget
    unit_rows: int
    pending: Callable[[int, int], bool]

    @property
    def task_bytes(self) -> int:
        """A block, its mirror image, and both being encoded."""
        job = self.job
        rows = min(self.unit_rows, job.n_rows)
        columns = rows if job.side is Side.BOTH else job.n_rows
        copies = 4 if job.side is Side.BOTH else 2
        return copies * rows * columns * self.target.dtype.itemsize

    def tasks(self, cut: PairCut) -> list[Square]:
        """The tasks that have work to do."""
        return [task for task in cut.tasks(self.job) if self.pending(task.row, task.column)]


def plan_filling(filling: Filling) -> PairPlan:
    """Plan a matrix for this machine, scheduler and budget; raises where nothing fits."""
    return _plan(filling, where_to_run())


def _plan(filling: Filling, where: Where) -> PairPlan:
    tiles = filling.unit_rows // filling.job.tile_rows
    return plan_where(filling.job, where, run_tiles=tiles, task_bytes=filling.task_bytes)


def fill_matrix(filling: Filling) -> None:
    """Write the blocks that are not there yet.

    Raises
    ------
    MemoryBudgetError
        No cut fits the budget; nothing was computed.
    """
    where = where_to_run()
    plan = _plan(filling, where)
    tasks = filling.tasks(plan.cut)
    if not tasks:
        return
    keys = uuid.uuid4().hex
    in_dask = filling.job.blocks is not None or filling.job.matrix_blocks is not None
    alone = where.alone(len(tasks), filling.job.operations) and not in_dask
    try:
        (_fill_alone if alone else _fill_by_dask)(plan, filling.target, tasks, where, keys)
    except BaseException as failure:
        # a notebook keeps the last traceback, whose frames would keep all samples
        clear_frames(failure.__traceback__)
        raise
    finally:
        release(keys)


def _fill_alone(
    plan: PairPlan, target: BlockTarget, tasks: list[Square], where: Where, keys: str
) -> None:
    job = plan.job
    held: list[Sent] = []
    if plan.cut.reading == "loaded" and job.source is not None:
        held = [resident(job.source, keys)]
    with single_threaded_blas(), progress_bar(len(tasks), "writing") as bar:
        for task in tasks:
            fill_task(job, *held, cut=plan.cut, task=task, target=target)
            bar.update()


def _fill_by_dask(
    plan: PairPlan, target: BlockTarget, tasks: list[Square], where: Where, keys: str
) -> None:
    from somscale.engine.joining import PassGraph, bound
    from somscale.engine.pairs.graph import pair_nodes
    from somscale.engine.schedulers import compute_graph, ship

    job_node = None if where.client is None else ship(where.client, plan.job)
    pool = where.workers == "pool"
    work = {"function": fill_task, "target": target}
    nodes = pair_nodes(plan, keys, tasks, work, pool=pool, job_node=job_node)
    runs = [node.task for node in nodes]
    total = bound(_written)(*runs, dask_key_name=f"written-{keys}")
    compute_graph(PassGraph(runs, total, {}), where, threads=plan.memory.threads, label="writing")


def _written(*blocks: None) -> list[Any]:
    """Nothing is merged."""
    return []


def fill_task(job: PairJob, *sent: Sent, cut: PairCut, task: Square, target: BlockTarget) -> None:
    """Walk one task and write its blocks."""
    reader = reader_of(job, sent)
    with single_threaded_blas():
        if job.side is Side.BOTH:
            _fill_square(job, cut, task, reader, target)
        else:
            _fill_rows(job, cut, task, reader, target)


def _fill_square(
    job: PairJob, cut: PairCut, task: Square, reader: Reader | None, target: BlockTarget
) -> None:
    reduction = cast("DistanceBlocks", job.reductions[0])
    top, bottom = cut.run_rows(job, task.row)
    first, last = cut.run_rows(job, task.column)
    square = target.fresh((bottom - top, last - first))
    for left, right, _ in square_blocks(job, cut, task, reader):
        rows = slice(left.start - top, left.stop - top)
        columns = slice(right.start - first, right.stop - first)
        reduction.fill(left, right, square[rows, columns])
        if task.row == task.column and left is not right:
            # below the diagonal of tiles, which the walk does not come by
            square[columns, rows] = square[rows, columns].T
        del left, right  # before more is read
    target.write(top, first, square)
    if task.row != task.column:
        target.write(first, top, _transposed(square))


def _transposed(square: AnyArray) -> AnyArray:
    """A transposed copy, corner by corner: columns of powers of two share lines of the cache."""
    turned = np.empty(square.shape[::-1], square.dtype)
    size = 128
    for top in range(0, square.shape[0], size):
        for left in range(0, square.shape[1], size):
            part = square[top : top + size, left : left + size]
            turned[left : left + size, top : top + size] = part.T
    return turned


def _fill_rows(
    job: PairJob, cut: PairCut, task: Square, reader: Reader | None, target: BlockTarget
) -> None:
    top, bottom = cut.run_rows(job, task.row)
    rows = target.fresh((bottom - top, job.n_rows))
    for _, partial in sweep_tiles(job, cut, task, reader):
        rows[partial["numbers"] - top] = partial["kept"]
        del partial
    target.write(top, 0, rows)

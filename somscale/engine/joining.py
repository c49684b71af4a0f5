"""Join the tasks of a pass: a tree of merges, and the values of samples.

Merges follow the tile tree, so the graph's shape never shows in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.naming import label_of
from somscale.reductions.base import Field, HasFields, Partial, RunResult
from somscale.reductions.merge import fold_nodes

__all__ = ["Node", "PassGraph", "bound", "join_tasks"]


def bound(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """A delayed function that has its plain arguments already.

    Dask searches what a delayed function is given for delayed values, entry by entry,
    and takes a millisecond for each that it finds inside a list.
    """
    return delayed(partial(function, *arguments, **settings), pure=False)


@dataclass(frozen=True)
class Node:
    """A task whose result is a node of the tile tree.

    Attributes
    ----------
    index : int
        Index of the node at its level.
    rows : int
        Samples whose values the result holds, if it holds any.
    task : Delayed
        Gives one partial a reduction.
    """

    index: int
    rows: int
    task: Delayed


@dataclass(frozen=True)
class PassGraph:
    """A pass that has not been computed.

    Attributes
    ----------
    runs : list of Delayed
        The tasks that read samples; each gives one partial a reduction.
    total : Delayed
        The merged partials of all runs, without the values of samples.
    pieces : dict
        (number of the reduction, field) to (Delayed array, rows) of every run in order.
    """

    runs: list[Delayed]
    total: Delayed
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]]


def join_tasks(
    reductions: Sequence[HasFields], nodes: Sequence[Node], *, level: int, fan_in: int, token: str
) -> PassGraph:
    """Join the tasks of a pass: merge what is merged, and pick the values of samples.

    Parameters
    ----------
    reductions : sequence
        In the order of the tasks' partials.
    nodes : sequence of Node
        The tasks, by ascending index.
    level : int
        Level of the tasks in the tree over tiles.
    fan_in : int
        Partials merged by one task, a power of two.
    token : str
        Text for the keys.
    """
    runs = [node.task for node in nodes]
    name = f"merge-{label_of(reductions)}-{token}"
    total = _merge_tree(reductions, nodes, level, fan_in, name)
    return PassGraph(runs, total, _pieces(reductions, nodes, token))


def _merge_tree(
    reductions: Sequence[HasFields], nodes: Sequence[Node], level: int, fan_in: int, name: str
) -> Delayed:
    fields = [_mergeable(r.fields) for r in reductions]
    step = fan_in.bit_length() - 1
    tasks, height = [(node.index, node.task) for node in nodes], 0
    while len(tasks) > 1 or height == 0:
        merged = []
        for index, group in groupby(tasks, lambda task: task[0] >> step):
            indices, parts = zip(*group, strict=True)
            merge = bound(_merge_runs, fields, level, indices)
            merged.append((index, merge(*parts, dask_key_name=(name, height, index))))
        tasks = merged
        level += step
        height += 1
    return tasks[0][1]


def _mergeable(fields: Any) -> dict[str, Field]:
    return {name: spec for name, spec in fields.items() if spec.merge != "concat"}


def _merge_runs(
    fields: list[dict[str, Field]], level: int, indices: Sequence[int], *runs: RunResult
) -> RunResult:
    """Fold nodes of one level below a common ancestor, for every reduction."""
    merged: list[Partial] = []
    for number, specs in enumerate(fields):
        nodes = [
            (level, index, {name: run[number][name] for name in specs})
            for index, run in zip(indices, runs, strict=True)
        ]
        total = fold_nodes(specs, nodes)
        merged.append({} if total is None else total)
    return merged


def _pieces(
    reductions: Sequence[HasFields], nodes: Sequence[Node], token: str
) -> dict[tuple[int, str], list[tuple[Delayed, int]]]:
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]] = {}
    for number, reduction in enumerate(reductions):
        for name, spec in reduction.fields.items():
            if spec.merge != "concat":
                continue
            pieces[number, name] = [
                (
                    delayed(_pick, pure=False)(
                        node.task,
                        number,
                        name,
                        dask_key_name=(f"{name}-{number}-{token}", position),
                    ),
                    node.rows,
                )
                for position, node in enumerate(nodes)
            ]
    return pieces


def _pick(run: RunResult, number: int, name: str) -> AnyArray:
    return run[number][name]

"""A pass put off: its statistics and the values of samples, as Dask will compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dask.delayed import Delayed, delayed

from somscale._types import AnyArray
from somscale.engine.joining import PassGraph
from somscale.reductions.base import Partial, RunResult

__all__ = ["LazyPass", "later"]


@dataclass(frozen=True)
class LazyPass:
    """A pass to be computed later.

    Attributes
    ----------
    stats : list of Delayed
        Finished statistics, one a reduction, without the values of samples.
    pieces : dict
        (number of the reduction, field) to (Delayed array, rows) of every run in order.
    """

    stats: list[Delayed]
    pieces: dict[tuple[int, str], list[tuple[Delayed, int]]]


def later(reductions: Sequence[Any], graph: PassGraph, token: str) -> LazyPass:
    """Finish a graph's statistics when it is computed."""
    stats = [
        delayed(_finalize, pure=False)(
            reduction,
            graph.total,
            number,
            dask_key_name=(f"finish-{reduction.name}-{token}", number),
        )
        for number, reduction in enumerate(reductions)
    ]
    return LazyPass(stats, _checked_pieces(reductions, graph, token))


def _checked_pieces(
    reductions: Sequence[Any], graph: PassGraph, token: str
) -> dict[tuple[int, str], list[tuple[Delayed, int]]]:
    """Values of samples, which a run gives out only where it found no faulty sample.

    The whole pass is checked in finalize, but these go past it: to wait for it, all of
    them would have to be held.
    """
    checked = dict(graph.pieces)
    for (number, name), pieces in graph.pieces.items():
        check = getattr(reductions[number], "check", None)
        if check is None:
            continue
        node = delayed(check, traverse=False, name=f"check-{number}-{token}")
        checked[number, name] = [
            (
                delayed(_if_sound, pure=False)(
                    piece, run, number, node, dask_key_name=(f"sound-{piece.key[0]}", position)
                ),
                rows,
            )
            for position, ((piece, rows), run) in enumerate(zip(pieces, graph.runs, strict=True))
        ]
    return checked


def _if_sound(
    piece: AnyArray, run: RunResult, number: int, check: Callable[[Partial], None]
) -> AnyArray:
    check(run[number])
    return piece


def _finalize(reduction: Any, totals: RunResult, number: int) -> Any:
    return reduction.finalize(totals[number])

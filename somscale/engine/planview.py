"""Show a plan as text and as a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from somscale.engine.linear.cutting import LinearPlan, format_bytes
from somscale.engine.memory import Memory
from somscale.engine.pairs.cutting import PairPlan
from somscale.reductions.base import Side
from somscale.reductions.rank_walk import RankWalk

__all__ = ["Plan", "Search", "pass_lines"]


@dataclass(frozen=True)
class Search:
    """A search among few samples, whose work depends on what they are.

    Attributes
    ----------
    name : str
        What is searched for.
    expectation : str
        What it takes as a rule, and at worst.
    """

    name: str
    expectation: str


@dataclass(frozen=True)
class Plan:
    """What an evaluation would do.

    Attributes
    ----------
    passes : sequence of LinearPlan or PairPlan
        Every read of the samples and every walk over their pairs.
    indices : sequence of str
        The indices they serve.
    candidates : sequence of str
        The candidates they judge.
    searches : sequence of Search
        What is found between the passes, among few samples.
    """

    passes: Sequence[LinearPlan | PairPlan]
    indices: Sequence[str]
    candidates: Sequence[str]
    searches: Sequence[Search] = ()

    @property
    def peak_memory(self) -> int:
        """Projected peak of one worker process in bytes."""
        return max(p.memory.peak for p in self.passes)

    @property
    def tasks(self) -> int:
        """Tasks that read samples, in all passes."""
        return sum(p.tasks for p in self.passes)

    @property
    def bytes_read(self) -> int:
        """Bytes of samples read, in all passes."""
        return sum(p.bytes_read for p in self.passes)

    def __repr__(self) -> str:
        counts = [
            _count(self.indices, "index", "indices"),
            _count(self.candidates, "candidate", "candidates"),
            _count(self.passes, "pass", "passes"),
        ]
        lines = [f"<somscale.Plan: {', '.join(counts)}>"]
        for number, planned in enumerate(self.passes, 1):
            lines.append(f"pass {number}: {_reductions(planned)}")
            lines += pass_lines(planned)
        lines += [f"search: {found.name}\n  {found.expectation}" for found in self.searches]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<h4>Pass {number}: {html.escape(_reductions(planned))}</h4>"
            f"<table>{_table(planned)}</table>"
            for number, planned in enumerate(self.passes, 1)
        )
        heads += "".join(
            f"<h4>Search: {html.escape(found.name)}</h4><p>{html.escape(found.expectation)}</p>"
            for found in self.searches
        )
        indices = html.escape(", ".join(self.indices))
        return f"<div><strong>somscale plan</strong><p>{indices}</p>{heads}</div>"


def pass_lines(planned: LinearPlan | PairPlan) -> list[str]:
    """What one pass would read, do and hold, a line each."""
    return [f"  {name:<12} {text}" for name, text in _rows(planned)]


def _count(things: Sequence[object], one: str, several: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else several}"


def _table(planned: LinearPlan | PairPlan) -> str:
    return "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in _rows(planned)
    )


def _reductions(planned: LinearPlan | PairPlan) -> str:
    return ", ".join(r.name for r in planned.job.reductions)


def _rows(planned: LinearPlan | PairPlan) -> list[tuple[str, str]]:
    return _pair_rows(planned) if isinstance(planned, PairPlan) else _linear_rows(planned)


def _linear_rows(planned: LinearPlan) -> list[tuple[str, str]]:
    job, cut, memory = planned.job, planned.cut, planned.memory
    rows = min(cut.run_tiles * job.tile_rows, job.n_rows)
    again = planned.bytes_read / max(1, planned.bytes_stored)
    repeated = "each chunk once" if again < 1.005 else f"{again:.2f} times the samples"
    order = "rows" if cut.order == "rows" else f"features, {cut.slab} at a time"
    return [
        ("samples", f"{job.n_rows:,} × {job.n_features:,} features"),
        ("order", order),
        ("tasks", f"{planned.tasks:,} of up to {rows:,} rows ({memory.threads} at a time)"),
        ("reads", f"{format_bytes(planned.bytes_read)} ({repeated})"),
        ("work", f"{job.operations:.3g} operations"),
        ("memory", _memory(memory, planned.budget)),
    ]


def _pair_rows(planned: PairPlan) -> list[tuple[str, str]]:
    job, cut, memory = planned.job, planned.cut, planned.memory
    rows = min(cut.run_tiles * job.tile_rows, job.n_kept)
    others = rows if job.side is Side.BOTH else job.n_rows
    of = "a matrix of distances" if job.given else f"{job.n_features:,} features"
    serves = ", ".join(text for r in job.reductions for text in _serves(r))
    return [
        ("samples", f"{job.n_rows:,} × {of}"),
        *([("for", serves)] if serves else []),
        ("pairs", f"{job.n_pairs:.3g}, {_walk(planned)}"),
        (
            "tasks",
            f"{planned.tasks:,} of up to {rows:,} × {others:,} ({memory.threads} at a time)",
        ),
        ("reads", f"{format_bytes(planned.bytes_read)} ({planned.reading})"),
        ("work", f"{job.operations:.3g} operations"),
        ("memory", _memory(memory, planned.budget)),
    ]


def _serves(reduction: object) -> list[str]:
    """What a walk finds, in words."""
    if not isinstance(reduction, RankWalk):
        accumulators = getattr(reduction, "accumulators", [])
        return [name.rsplit(" ", 1)[0] for name in (a.name for a in accumulators)]
    spaces = _count(reduction.outputs, "projection", "projections")
    where = f"in {spaces}" if reduction.outputs else "among the samples"
    if reduction.sorted:
        return [f"ranks {where}, every row sorted"]
    return [f"ranks {where}, the nearest {reduction.k:,} of every row found"]


def _walk(planned: PairPlan) -> str:
    """How often the pairs are met, and by how many rows at a time."""
    job, cut = planned.job, planned.cut
    if job.side is Side.BOTH:
        return "each once"
    if cut.way is None:
        return "each twice: rows that are kept meet all others"
    kept = "rows" if job.kept is None else f"{job.n_kept:,} drawn rows"
    at_once = "all of a task" if cut.together else f"{cut.way.group_rows:,}"
    often = "once" if cut.way.sweeps == 1 else "twice"
    panel = min(cut.panel_tiles * job.tile_rows, job.n_rows)
    others = "all others" if panel == job.n_rows else f"panels of {panel:,} others"
    return f"{kept} meet {others} {often}, {at_once} at a time"


def _memory(memory: Memory, budget: int) -> str:
    return (
        f"{format_bytes(memory.peak, up=True)} a process: {format_bytes(memory.baseline)} held "
        f"before, {format_bytes(memory.task)} a task; budget {format_bytes(budget)}"
    )

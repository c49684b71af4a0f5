"""Show a plan as text and as a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from somscale.engine.linear.cutting import LinearPlan, format_bytes
from somscale.engine.memory import Memory
from somscale.engine.pairs.cutting import PairPlan
from somscale.reductions.base import Side

__all__ = ["Plan", "Search"]


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
            lines += [f"  {name:<12} {text}" for name, text in _rows(planned)]
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
    rows = min(cut.run_tiles * job.tile_rows, job.n_rows)
    once = job.side is Side.BOTH
    others = rows if once else job.n_rows
    walk = "each once" if once else "each twice: rows that are kept meet all others"
    of = "a matrix of distances" if job.given else f"{job.n_features:,} features"
    accumulators = [a.name for r in job.reductions for a in getattr(r, "accumulators", [])]
    return [
        ("samples", f"{job.n_rows:,} × {of}"),
        ("for", ", ".join(name.rsplit(" ", 1)[0] for name in accumulators)),
        ("pairs", f"{job.n_pairs:.3g}, {walk}"),
        (
            "tasks",
            f"{planned.tasks:,} of up to {rows:,} × {others:,} ({memory.threads} at a time)",
        ),
        ("reads", f"{format_bytes(planned.bytes_read)} ({planned.reading})"),
        ("work", f"{job.operations:.3g} operations"),
        ("memory", _memory(memory, planned.budget)),
    ]


def _memory(memory: Memory, budget: int) -> str:
    return (
        f"{format_bytes(memory.peak, up=True)} a process: {format_bytes(memory.baseline)} held "
        f"before, {format_bytes(memory.task)} a task; budget {format_bytes(budget)}"
    )

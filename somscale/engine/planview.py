"""Show a plan as text and as a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from somscale.engine.linear.cutting import LinearPlan, format_bytes

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """What an evaluation would do.

    Attributes
    ----------
    passes : sequence of LinearPlan
        Every walk over the samples.
    indices : sequence of str
        The indices they serve.
    candidates : sequence of str
        The candidates they judge.
    """

    passes: Sequence[LinearPlan]
    indices: Sequence[str]
    candidates: Sequence[str]

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
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<h4>Pass {number}: {html.escape(_reductions(planned))}</h4>"
            f"<table>{_table(planned)}</table>"
            for number, planned in enumerate(self.passes, 1)
        )
        indices = html.escape(", ".join(self.indices))
        return f"<div><strong>somscale plan</strong><p>{indices}</p>{heads}</div>"


def _count(things: Sequence[object], one: str, several: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else several}"


def _table(planned: LinearPlan) -> str:
    return "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in _rows(planned)
    )


def _reductions(planned: LinearPlan) -> str:
    return ", ".join(r.name for r in planned.job.reductions)


def _rows(planned: LinearPlan) -> list[tuple[str, str]]:
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
        (
            "memory",
            f"{format_bytes(memory.peak, up=True)} a process: {format_bytes(memory.baseline)} held "
            f"before, {format_bytes(memory.task)} a task; budget {format_bytes(planned.budget)}",
        ),
    ]

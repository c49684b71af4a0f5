"""What a check of a workspace found, in words."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from somscale.engine.linear.cutting import format_bytes

__all__ = ["Checked", "Finding", "Verification"]

_MOST = 20
"""Lines of a kind that are shown; all of them are in the attributes."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes
    ----------
    path : str
        Array or group in the workspace.
    chunk : tuple of int or None
        Which chunk of the array, counted along every dim; None for all of it.
    problem : str
        What is wrong.
    outcome : str
        What a repair made of it; "" where there was none.
    """

    path: str
    chunk: tuple[int, ...] | None
    problem: str
    outcome: str = ""

    def __str__(self) -> str:
        where = self.path if self.chunk is None else f"{self.path}, chunk {self.chunk}"
        return f"{where}: {self.problem}{f'; {self.outcome}' if self.outcome else ''}"

    def ending(self, outcome: str) -> Finding:
        """The same with what a repair made of it."""
        return replace(self, outcome=outcome)

    def as_dict(self) -> dict[str, Any]:
        """As JSON says it."""
        chunk = None if self.chunk is None else list(self.chunk)
        return {
            "path": self.path,
            "chunk": chunk,
            "problem": self.problem,
            "outcome": self.outcome,
        }


class Checked(NamedTuple):
    """How much was read.

    Attributes
    ----------
    chunks : int
        Chunks.
    bytes : int
        Their bytes in the store.
    """

    chunks: int
    bytes: int


@dataclass(frozen=True)
class Verification:
    """What :meth:`somscale.Workspace.verify` found, and mended.

    Attributes
    ----------
    workspace : str
        Its path or URL.
    damaged : tuple of Finding
        What is missing though it was complete, cannot be read, or cannot be; those that were
        repaired included.
    repaired : tuple of Finding
        What of it is whole again, or gone where it can be computed again; and what was not
        complete and is now.
    unfinished : tuple of Finding
        What was begun and is not complete; no damage.
    checked : Checked
        Chunks and bytes that were read.
    """

    workspace: str
    damaged: tuple[Finding, ...]
    repaired: tuple[Finding, ...]
    unfinished: tuple[Finding, ...]
    checked: Checked

    @property
    def left(self) -> tuple[Finding, ...]:
        """What is damaged still."""
        mended = {(f.path, f.chunk, f.problem) for f in self.repaired}
        return tuple(f for f in self.damaged if (f.path, f.chunk, f.problem) not in mended)

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged any more."""
        return not self.left

    def __str__(self) -> str:
        lines = [self._summary()]
        for head, findings in self._sections():
            lines.append(f"{head}:")
            lines += [f"  {line}" for line in _some(findings)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<p><strong>{html.escape(self._summary())}</strong></p>"]
        for head, findings in self._sections():
            items = "".join(f"<li>{html.escape(line)}</li>" for line in _some(findings))
            parts.append(f"<p>{head}</p><ul>{items}</ul>")
        return f"<div>{''.join(parts)}</div>"

    def as_dict(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "workspace": self.workspace,
            "ok": self.ok,
            "checked": self.checked._asdict(),
            **{
                name: [finding.as_dict() for finding in getattr(self, name)]
                for name in ("damaged", "repaired", "unfinished")
            },
        }

    def _summary(self) -> str:
        if not self.damaged:
            verdict = "nothing is damaged"
        elif self.ok:
            verdict = f"{len(self.damaged)} damaged, all repaired"
        else:
            verdict = f"{len(self.left)} damaged"
        chunks, size = self.checked
        count = f"{chunks:,} chunk{'s' if chunks != 1 else ''}"
        return f"{self.workspace}: {verdict}; checked {count} ({format_bytes(size)})"

    def _sections(self) -> list[tuple[str, Sequence[Finding]]]:
        sections = [
            ("Damaged", self.left),
            ("Repaired", self.repaired),
            ("Not complete", self.unfinished),
        ]
        return [(head, findings) for head, findings in sections if findings]


def _some(findings: Sequence[Finding]) -> list[str]:
    lines = [str(finding) for finding in findings[:_MOST]]
    if len(findings) > _MOST:
        lines.append(f"... and {len(findings) - _MOST:,} more")
    return lines

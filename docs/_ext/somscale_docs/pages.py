"""Pages of the API, one for each public name, written before Sphinx reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somscale.metrics.spec import MetricSpec, all_specs
from somscale_docs.names import grouped, public_names

__all__ = ["pages", "write_pages"]


def pages() -> dict[str, str]:
    """Text of every page, by the name of its file without ending."""
    names = public_names()
    specs = {f"somscale.metrics.{spec.name}": spec for spec in all_specs()}
    errors = grouped()["errors"]
    found = {
        full: _page(full, value, specs.get(full))
        for full, value in names.items()
        if full not in errors
    }
    return {**found, "somscale.errors": _errors(errors)}


def write_pages(folder: Path) -> None:
    """Write what is new or has changed, so that a second build reads little; remove the rest."""
    folder.mkdir(exist_ok=True)
    found = {f"{name}.rst": text for name, text in pages().items()}
    for path in folder.glob("*.rst"):
        if path.name not in found:
            path.unlink()
    for name, text in found.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _page(full: str, value: Any, spec: MetricSpec | None) -> str:
    module, _, name = full.rpartition(".")
    kind = "class" if isinstance(value, type) else "function"
    above = ":doc:`Reference </reference>`"
    if spec is not None:
        above = f":doc:`Indices </indices>` › :ref:`{spec.family} <family-{spec.family}>`"
    lines = [":orphan:", "", ".. rst-class:: above", "", above, "", _title(name)]
    if spec is not None:
        lines += [f".. index-facts:: {name}", ""]
    lines += [f".. currentmodule:: {module}", "", f".. auto{kind}:: {name}"]
    if kind == "class":
        lines.append("   :members:")
    return "\n".join([*lines, ""])


def _errors(own: list[str]) -> str:
    above = [".. rst-class:: above", "", ":doc:`Reference </reference>`", ""]
    lines = [":orphan:", "", *above, _title("Errors"), ".. currentmodule:: somscale", ""]
    lines += ["Every error is one sentence: what was wrong, where, and what to do.", ""]
    for full in own:
        lines += [f".. autoexception:: {full.rpartition('.')[2]}", "   :show-inheritance:", ""]
    return "\n".join(lines)


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"

"""Parts of pages, as docutils nodes."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

__all__ = ["paragraph", "reference", "table", "words"]


def reference(full: str, role: str = "obj") -> nodes.paragraph:
    """A link to the page of a public name, without the modules before it."""
    target = addnodes.pending_xref(
        "", refdomain="py", reftype=role, reftarget=full, refexplicit=True, refwarn=True
    )
    target += nodes.literal("", full.rpartition(".")[2], classes=["xref"])
    return nodes.paragraph("", "", target)


def paragraph(directive: SphinxDirective, text: str) -> nodes.paragraph:
    """A paragraph of a docstring, with its roles."""
    found, problems = directive.parse_inline(text)
    return nodes.paragraph("", "", *found, *problems)


def words(text: str) -> nodes.paragraph:
    """A paragraph of plain text; what stands in backticks is code."""
    found = nodes.paragraph()
    for position, piece in enumerate(text.split("`")):
        if piece:
            found += nodes.literal("", piece) if position % 2 else nodes.Text(piece)
    return found


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[nodes.Node | Sequence[nodes.Node]]],
    *,
    widths: Sequence[int],
    classes: Sequence[str],
) -> nodes.table:
    """A table; without heads if all of them are empty."""
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    if any(heads):
        group += nodes.thead("", _row([nodes.paragraph("", head) for head in heads]))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group, classes=["colwidths-given", *classes])


def _row(cells: Sequence[nodes.Node | Sequence[nodes.Node]]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        row += nodes.entry("", *([cell] if isinstance(cell, nodes.Node) else cell))
    return row

"""What the documentation makes of the package itself, so that nothing is forgotten."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from somscale_docs.commands import Commands
from somscale_docs.indices import IndexFacts, IndexTable
from somscale_docs.names import NameTable
from somscale_docs.pages import write_pages


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and write the pages of the API before any page is read."""
    app.add_directive("index-table", IndexTable)
    app.add_directive("index-facts", IndexFacts)
    app.add_directive("name-table", NameTable)
    app.add_directive("commands", Commands)
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-docstring", _keep_bars, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(app: Sphinx) -> None:
    write_pages(Path(app.srcdir) / "api")


def _keep_bars(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Let |x| be an absolute value, which reStructuredText takes for a substitution."""
    pieces = re.split(r"(``.*?``)", "\n".join(lines), flags=re.DOTALL)
    pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
    lines[:] = "".join(pieces).split("\n")

"""Tables for the terminal: wrapped to its width there, one line a row in a file or pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["table_text"]

_WIDE = 1_000


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as plain text; cells are never read as markup."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=position == 0)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    screen = Console()
    target = io.StringIO()
    width = screen.width if screen.is_terminal else _WIDE
    Console(file=target, width=width, force_terminal=screen.is_terminal).print(table)
    return "\n".join(line.rstrip() for line in target.getvalue().rstrip().splitlines())

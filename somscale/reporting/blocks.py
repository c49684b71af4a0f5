"""What a page is made of: sections of paragraphs, facts, tables, pictures and explorers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Block",
    "Cell",
    "Explorer",
    "Facts",
    "Gallery",
    "Markup",
    "Picture",
    "Section",
    "Table",
    "Text",
    "number",
]


def number(value: float, digits: int = 4) -> str:
    """A number for people: `digits` significant ones, whole numbers whole, nan a dash."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    whole = float(value).is_integer() and abs(value) < 1e15
    text = f"{int(value):,}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
        What it says.
    order : float or str, optional
        What rows are sorted by; by default the text.
    detail : str
        A second line, smaller.
    code : str
        A third one, as code.
    best : bool
        Whether it is the best of its row.
    lines : sequence of str
        Further values of the same index.
    """

    text: str
    order: float | str | None = None
    detail: str = ""
    code: str = ""
    best: bool = False
    lines: Sequence[str] = ()

    @property
    def key(self) -> str:
        """What it is sorted by, as a text; nan sorts last."""
        if isinstance(self.order, float | int):
            return "" if math.isnan(self.order) else repr(float(self.order))
        return self.text if self.order is None else self.order

    @property
    def numeric(self) -> bool:
        """Whether it is a number."""
        return isinstance(self.order, float | int)

    @classmethod
    def of(cls, value: float, detail: str = "", *, best: bool = False) -> Cell:
        """A cell of a number."""
        return cls(number(value), float(value), detail, best=best)


@dataclass(frozen=True)
class Text:
    """A paragraph, or a list of them."""

    lines: Sequence[str]
    kind: str = "text"
    listed: bool = False


@dataclass(frozen=True)
class Facts:
    """Names and what there is to say of each."""

    rows: Sequence[tuple[str, str]]
    kind: str = "facts"


@dataclass(frozen=True)
class Table:
    """A table that can be sorted; the first cell of a row is its head."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    kind: str = "table"
    wide: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture in the page."""

    source: str
    alt: str
    caption: str
    width: int


@dataclass(frozen=True)
class Gallery:
    """Pictures side by side."""

    pictures: Sequence[Picture]
    kind: str = "gallery"
    wide: bool = False


@dataclass(frozen=True)
class Explorer:
    """Figures that answer to pointers and sliders, and the data behind them."""

    name: str
    figures: Sequence[dict[str, Any]]
    data: dict[str, Any]
    intro: str
    kind: str = "explorer"


@dataclass(frozen=True)
class Markup:
    """HTML that was escaped where it was made, folded under its caption."""

    caption: str
    html: str
    kind: str = "markup"


Block = Text | Facts | Table | Gallery | Explorer | Markup


@dataclass
class Section:
    """A part of the page with a heading."""

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)

"""Texts of the data as the page shows them: no longer than can be read, and no control of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["cleaned", "distinct", "in_line", "shortened"]

_MOST: Final = 60
_UNSHOWN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls
    "\u061c\u202a-\u202e\u2066-\u2069"  # which turn the direction of what follows
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"  # halves of characters, and none
)


def cleaned(value: Any) -> Any:
    """The same text, list or mapping with a mark in the place of characters that show nothing."""
    if isinstance(value, str):
        return _UNSHOWN.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {cleaned(name): cleaned(item) for name, item in value.items()}
    return value


def shortened(text: str, most: int = _MOST) -> str:
    """A text that is cut in the middle where it is longer."""
    text = cleaned(text)
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[-half:]}"


def in_line(text: str, most: int, longest: int = 24) -> str:
    """A text in one line, in words that a picture has room for."""
    return shortened(" ".join(shortened(word, longest) for word in text.split()), most)


def distinct(names: Iterable[str], most: int = _MOST) -> list[str]:
    """Names that can be read, each another one."""
    found: list[str] = []
    for name in (shortened(name, most) for name in names):
        own, count = name, 2
        while own in found:
            own, count = f"{name} ({count})", count + 1
        found.append(own)
    return found

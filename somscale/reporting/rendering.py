"""From sections to a page: jinja2 escapes whatever comes from data, JSON is made safe for HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from somscale.reporting.blocks import Explorer, Section
from somscale.reporting.wording import cleaned

__all__ = ["render", "safe_json"]


def render(title: str, parts: Sequence[Section]) -> str:
    """The page."""
    explorers = [b for part in parts for b in part.blocks if isinstance(b, Explorer)]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            sections=parts,
            style=Markup(_text("page.css")),
            script=Markup(_text("page.js")),
            library=Markup(_library()) if explorers else None,
        )
    )


def safe_json(value: Any) -> Markup:
    """JSON that can stand in a script element: no character of it begins a tag or a comment."""
    text = json.dumps(cleaned(value), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("somscale.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["safe_json"] = safe_json
    return environment


def _shown(value: Any) -> Any:
    """A text of the data without characters that show nothing or turn the line."""
    return value if isinstance(value, Markup) else cleaned(value)


def _text(name: str) -> str:
    return files("somscale.reporting").joinpath("templates", name).read_text("utf-8")


@cache
def _library() -> str:
    """BokehJS, without the parts that the page does not use."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)

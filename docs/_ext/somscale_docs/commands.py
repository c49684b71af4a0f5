"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, ClassVar

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from somscale.cli import main
from somscale_docs.building import words

__all__ = ["Commands", "commands"]


def commands() -> dict[str, click.Command]:
    """Every command by its name."""
    return dict(sorted(main.commands.items()))


class Commands(SphinxDirective):
    """A section for each command: how it is called, what it does, and its options."""

    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        self.env.note_reread()  # a change of a command is no change of the page
        return [_section(name, command) for name, command in commands().items()]


def _section(name: str, command: click.Command) -> nodes.section:
    title = f"somscale {name}"
    found = nodes.section(ids=[f"somscale-{name}"], names=[title])
    found += nodes.title("", title)
    context = click.Context(command, info_name=title)
    usage = " ".join(["$", title, *command.collect_usage_pieces(context)])
    found += nodes.literal_block("", usage, language="console", classes=["usage"])
    for text in inspect.cleandoc(command.help or "").split("\n\n"):
        found += words(" ".join(text.split()))
    options = nodes.definition_list(classes=["options"])
    for option in command.get_params(context):
        options += list(_option(option, context))
    found += options
    return found


def _option(option: click.Parameter, context: click.Context) -> Iterator[nodes.Node]:
    record = option.get_help_record(context)
    if isinstance(option, click.Argument) or record is None:
        return  # the usage shows it, and the text explains it
    term, text = record
    yield nodes.definition_list_item(
        "", nodes.term("", "", nodes.literal("", term)), nodes.definition("", words(text))
    )

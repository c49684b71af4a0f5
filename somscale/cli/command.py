"""How every command shows what went wrong: one sentence in the words of its options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from somscale.cli.wording import in_options
from somscale.errors import SomscaleError

__all__ = ["Command", "Group", "telling_what_is_kept"]


class _Stopped(click.ClickException):
    """Ctrl-C; the exit code is what a shell expects then."""

    exit_code = 130


class Command(click.Command):
    """A command that shows somscale's own errors as one sentence and exits with 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except (SomscaleError, OSError) as error:
            sentence = in_options(" ".join(str(error).split()))
            raise click.ClickException(sentence) from error


class Group(click.Group):
    """The commands."""

    command_class = Command


@contextmanager
def telling_what_is_kept(place: Any) -> Iterator[None]:
    """Say of a command that Ctrl-C ends what it leaves in its workspace, if it has one."""
    try:
        yield
    except KeyboardInterrupt:
        if place is None:
            raise
        from somscale.cli.storing import kept_text

        raise _Stopped(
            f"stopped; {kept_text(place)}, and the same command goes on from there"
        ) from None

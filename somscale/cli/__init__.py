"""The ``somscale`` command."""

from __future__ import annotations

from somscale.cli.commands import main

__all__ = ["main"]

"""The command that makes a page of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from somscale.cli.command import Command
from somscale.cli.options import PATH

__all__ = ["report"]


@click.command(cls=Command)
@click.argument("result", type=PATH, metavar="RESULT")
@click.option(
    "--output",
    "-o",
    type=PATH,
    default=Path("report.html"),
    show_default=True,
    help="Page to write: .html.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    type=PATH,
    metavar="MAP",
    help="The map that was judged, for its grid. Several are candidates, as for `evaluate`.",
)
@click.option(
    "--embedding",
    "embeddings",
    multiple=True,
    type=PATH,
    metavar="E",
    help="The embedding that was judged, a .npy file (sample, component), for its points.",
)
@click.option(
    "--clusters",
    multiple=True,
    type=PATH,
    metavar="C",
    help="The clustering that was judged, a .npy file, for its silhouettes.",
)
@click.option("--labels", type=PATH, metavar="L", help="Classes of the samples: a .npy file.")
@click.option("--title", metavar="T", help="Title of the page.")
def report(result: Path, output: Path, overwrite: bool, **options: Any) -> None:
    """Make a page of RESULT, which `evaluate -o` or `compare -o` has written.

    The page is one file with tables and pictures, and loads nothing from elsewhere.
    """
    from somscale.cli import pages

    pages.write_report(result, output, overwrite=overwrite, options=options)

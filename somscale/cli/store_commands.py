"""The commands of a workspace: make and fill it, check it, describe it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from somscale.cli.command import Command, telling_what_is_kept
from somscale.cli.options import DATA, EXPONENT, PATH, PLACE, READING, RUNNING, with_options

__all__ = ["info", "store", "verify"]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
_WORK = click.argument("work", metavar="WORK")


@click.command(cls=Command)
@DATA
@click.option(
    "--output",
    "-o",
    metavar="WORK",
    help="The workspace: a .zarr folder, or a URL. It is made where there is none.",
)
@click.option("--distances", is_flag=True, help="Write the distances of all pairs of samples.")
@click.option("--ranks", is_flag=True, help="Write all ranks among the samples.")
@click.option(
    "--distance", metavar="NAME", help="Which distance, as scipy calls it. Default: euclidean."
)
@EXPONENT
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    help="Of --distances. Default: float64, which alone serves every index.",
)
@click.option("--name", metavar="NAME", help="Of the matrix. Default: that of the distance.")
@click.option(
    "--no-copy", is_flag=True, help="Keep only a fingerprint of the samples, not their values."
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    type=PATH,
    metavar="MAP",
    help="A codebook to keep, by its name.",
)
@with_options(READING)
@with_options(RUNNING)
@click.option(
    "--overwrite", is_flag=True, help="Replace matrices and maps that are of something else."
)
def store(data: tuple[Path, ...], **options: Any) -> None:
    """Make a workspace of the samples in DATA, and fill it.

    What was stopped goes on with the same command.  DATA may be a workspace itself, whose
    samples are taken; it is filled then, and needs no --output.
    """
    from somscale.cli import storing
    from somscale.cli.settings import run_settings

    with run_settings(options):
        workspace = storing.workspace_for(data, options)
        with telling_what_is_kept(workspace):
            storing.fill(workspace, data, options)
        click.echo(str(workspace.info()))


@click.command(cls=Command)
@_WORK
@click.option(
    "--repair", is_flag=True, help="Compute again what fails, and finish what is not complete."
)
@click.option(
    "--samples",
    multiple=True,
    type=PLACE,
    metavar="DATA",
    help="Where the samples are, for a repair that needs them.",
)
@click.option("--variable", multiple=True, metavar="NAME", help="A variable of DATA with them.")
@_JSON
@with_options(RUNNING)
def verify(work: str, repair: bool, as_json: bool, **options: Any) -> None:
    """Read everything in the workspace WORK, and check it.

    Every chunk by its checksum, samples against their digests, distances and ranks that
    cannot be.  The exit code is 1 where something is damaged and not repaired.
    """
    from somscale.cli import storing
    from somscale.cli.settings import run_settings

    with run_settings(options), telling_what_is_kept(work if repair else None):
        found = storing.verified(work, options, repair=repair)
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else storing.in_words(found))
    if not found.ok:
        click.get_current_context().exit(1)


@click.command(cls=Command)
@_WORK
@_JSON
def info(work: str, as_json: bool) -> None:
    """Say what the workspace WORK holds, what is complete, and what the rest would take."""
    from somscale.cli import storing
    from somscale.workspace import Workspace

    storing.refuse_result(work)
    found = Workspace(work, mode="r").info()
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else str(found))

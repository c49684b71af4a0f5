"""The command that compares candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from somscale.cli.command import Command
from somscale.cli.options import JUDGING, PATH, STORE, with_options

__all__ = ["compare"]


@click.command(cls=Command)
@with_options(JUDGING)
@click.option(
    "--intervals",
    type=click.Choice(["bootstrap", "anchors", "none"]),
    default="bootstrap",
    show_default=True,
    help="Of what: other samples, the estimate by --sample-anchors alone, or nothing.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=40),
    default=200,
    show_default=True,
    metavar="B",
    help="Resamples of the bootstrap.",
)
@click.option("--output", "-o", type=PATH, metavar="OUT", help="Result to write: .zarr or .nc.")
@click.option("--report", "page", type=PATH, metavar="PAGE", help="Page to write: .html.")
@click.option("--overwrite", is_flag=True, help="Replace an existing result or page.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@STORE
def compare(
    data: tuple[Path, ...],
    intervals: str,
    draws: int,
    output: Path | None,
    page: Path | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank maps, embeddings or clusterings of the samples in DATA, with intervals.

    Candidates are of one kind and named by their files, or by NAME=FILE.  The table begins
    with the candidate of the best mean rank; with --store, only distances and ranks are read
    from a workspace, and nothing is kept in it.
    """
    from somscale.cli import compared, inputs, pages, results
    from somscale.cli.settings import run_settings
    from somscale.store import write_dataset

    with run_settings(options):
        question = inputs.read_question(data, options)
        read = inputs.paths(data, options)
        if output is not None:
            results.check_target(output, read, overwrite=overwrite)
        if page is not None:
            pages.check_page(page, read, overwrite=overwrite, option="--report")
        chosen = None if intervals == "none" else intervals
        result = compared.result_of(question, chosen, draws)
        if output is not None:
            write_dataset(result, output)
        if page is not None:  # a plan is of an evaluation
            pages.write_page(page, question, result, planned=False)
    if as_json:
        results.show(result, as_json=True)
    else:
        click.echo(compared.as_text(result))
    if output is not None:
        click.echo(f"Wrote {output}", err=True)

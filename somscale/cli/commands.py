"""The commands and their options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from somscale._version import __version__
from somscale.cli import compare_command, report_command, store_commands, train_command
from somscale.cli.command import Group, telling_what_is_kept
from somscale.cli.options import JUDGING, PATH, STORE, with_options

__all__ = ["main"]


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="somscale")
def main() -> None:
    """Exact quality indices of maps, embeddings and clusterings, on data larger than memory."""


@main.command()
@with_options(JUDGING)
@click.option("--output", "-o", type=PATH, metavar="OUT", help="Result to write: .zarr or .nc.")
@click.option("--report", "page", type=PATH, metavar="PAGE", help="Page to write: .html.")
@click.option("--overwrite", is_flag=True, help="Replace an existing result or page.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the plan and compute nothing.")
@STORE
@click.option("--run", metavar="NAME", help="Name of the result in the workspace.")
@click.option(
    "--resume/--fresh",
    default=True,
    help="Go on from what the same command has left in the workspace (the default), or forget it "
    "first.",
)
def evaluate(
    data: tuple[Path, ...],
    output: Path | None,
    page: Path | None,
    overwrite: bool,
    as_json: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Judge maps, embeddings or clusterings of the samples in DATA.

    DATA is a .zarr store, a .npy file or NetCDF; several files, or a quoted pattern of
    them, continue each other along the first sample dim.  A workspace, made by `somscale
    store`, stands for its samples, and keeps the result.
    """
    from somscale.cli import inputs, pages, results
    from somscale.cli.settings import run_settings
    from somscale.store import write_dataset

    with run_settings(options):
        question = inputs.read_question(data, options, writes=not dry_run)
        if dry_run:
            results.show_plan(question.plan(), as_json=as_json)
            return
        read = inputs.paths(data, options)
        if output is not None:
            results.check_target(output, read, overwrite=overwrite)
        if page is not None:
            pages.check_page(page, read, overwrite=overwrite, option="--report")
        with telling_what_is_kept(question.workspace):
            result = question.evaluate()
        if output is not None:
            write_dataset(result, output)
        if page is not None:
            pages.write_page(page, question, result)
    results.show(result, as_json=as_json)
    if output is not None:
        click.echo(f"Wrote {output}", err=True)


@main.command()
@with_options(JUDGING)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@STORE
def plan(data: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Say what `evaluate` would read, hold and do, without reading a sample."""
    from somscale.cli import inputs, results
    from somscale.cli.settings import run_settings

    with run_settings(options):
        results.show_plan(inputs.read_question(data, options).plan(), as_json=as_json)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def metrics(as_json: bool) -> None:
    """List every index: definition, range, direction, cost and source."""
    from somscale.cli import catalogue

    catalogue.show(as_json=as_json)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def versions(as_json: bool) -> None:
    """Print the versions and the machine that a report of a problem should name."""
    from somscale.versions import show_versions, versions_text

    found = show_versions(as_dict=True)
    click.echo(json.dumps(found, indent=2) if as_json else versions_text(found))


@main.command()
@click.option(
    "--output",
    "-o",
    type=PATH,
    default=Path("somscale-demo"),
    show_default=True,
    help="Folder for the archive, the map and the result.",
)
def demo(output: Path) -> None:
    """Write an archive, train a map on it, judge the map and keep the result."""
    from somscale.cli import demonstration
    from somscale.cli.settings import run_settings

    with run_settings({}):
        demonstration.run(output)


for _command in (
    compare_command.compare,
    report_command.report,
    store_commands.store,
    store_commands.verify,
    store_commands.info,
    train_command.train,
    train_command.project,
):
    main.add_command(_command)

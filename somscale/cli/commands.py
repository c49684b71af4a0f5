"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from somscale._version import __version__
from somscale.cli.wording import in_options
from somscale.errors import SomscaleError

__all__ = ["main"]


class _Command(click.Command):
    """A command that shows somscale's own errors as one sentence and exits with 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (SomscaleError, OSError) as error:
            sentence = in_options(" ".join(str(error).split()))
            raise click.ClickException(sentence) from error


class _Group(click.Group):
    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="somscale")
def main() -> None:
    """Exact quality indices of maps, embeddings and clusterings, on data larger than memory."""


_PATH = click.Path(path_type=Path)
_SHARED = [
    click.argument("data", type=_PATH, nargs=-1, required=True),
    click.option(
        "--map",
        "maps",
        multiple=True,
        type=_PATH,
        metavar="MAP",
        help="A codebook (.zarr, .nc, .npz, .cod, .wts, .wgt or .csv). Several are candidates, "
        "named by their files.",
    ),
    click.option(
        "--clusters",
        multiple=True,
        metavar="C",
        help="A clustering: a .npy file or a variable of DATA. Several are candidates.",
    ),
    click.option(
        "--embedding",
        "embeddings",
        multiple=True,
        metavar="E",
        help="An embedding: a .npy file (sample, component) or a variable of DATA. Several are "
        "candidates.",
    ),
    click.option("--labels", metavar="L", help="Classes: a .npy file or a variable of DATA."),
    click.option(
        "--variable",
        multiple=True,
        metavar="NAME",
        help="A variable of DATA with the samples. Several stand side by side as features.",
    ),
    click.option(
        "--sample-dims",
        metavar="DIM[,DIM...]",
        help="Dims of the samples, as in time or time,lat,lon; all others are features.",
    ),
    click.option(
        "--coslat", is_flag=True, help="Weigh squared differences by the cosine of the latitude."
    ),
    click.option(
        "--missing",
        type=click.Choice(["raise", "drop", "drop_any_sample", "drop_any_feature"]),
        help="What missing values mean. Default: raise, an error that counts them.",
    ),
    click.option(
        "--metrics",
        "-m",
        multiple=True,
        metavar="NAME",
        help="An index or a family of indices. Repeat it for several. Default: all.",
    ),
    click.option(
        "--temperature",
        "-T",
        multiple=True,
        type=float,
        help="Neighbourhood radius of the distortion, in map distance. Default: 1.",
    ),
    click.option("--kernel", metavar="NAME", help="Neighbourhood kernel of the distortion."),
    click.option(
        "--neighborhood", type=click.Choice(["edge", "vertex"]), help="Of the topographic error."
    ),
    click.option(
        "--distance",
        metavar="NAME",
        help="Distance of the samples for indices of pairs, as scipy calls it; precomputed: DATA "
        "is a matrix of distances. Default: euclidean.",
    ),
    click.option(
        "--neighbors",
        "-k",
        "k",
        multiple=True,
        metavar="K",
        help="Sizes of the neighbourhoods of rank indices: 10, or 5,10,20, or 1:100 (both ends "
        "count), or all. Default: 1:100, and 10 of values of samples.",
    ),
    click.option(
        "--kappa-s",
        multiple=True,
        metavar="K",
        help="Which neighbours rank_quality counts, as for -k. Default: 1:100.",
    ),
    click.option(
        "--kappa-t",
        multiple=True,
        metavar="K",
        help="By how many ranks they may move, as for -k. Default: 0:100.",
    ),
    click.option("--k-max", type=int, metavar="K", help="Corner of the co-ranking matrix."),
    click.option(
        "--ties",
        type=click.Choice(["index", "expected", "weighted", "best", "worst"]),
        help="Ranks of equal distances. Default: index, in order of the samples; of maps expected, "
        "the mean over all orders.",
    ),
    click.option(
        "--space",
        type=click.Choice(["map", "codebook"]),
        help="Ranks on a map: by map distance, or by distance of code vectors. Default: map.",
    ),
    click.option(
        "--norm",
        type=click.Choice(["lueks", "region"]),
        help="Of rank_quality: as published, or the share of pairs, in [0, 1]. Default: lueks.",
    ),
    click.option("-p", "p", type=float, help="Exponent of --distance minkowski. Default: 2."),
    click.option(
        "--sample-anchors",
        type=click.IntRange(min=2),
        metavar="M",
        help="Estimate sums over all pairs from M samples that are compared with all others.",
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Which ones. Default: 0."),
    click.option(
        "--cost",
        type=click.Choice(["linear", "pairs", "ranks"]),
        help="Leave out indices that cost more.",
    ),
    click.option(
        "--convention",
        type=click.Choice(["somperf"]),
        help="Take the forms of the indices that another program computes.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS|FILE|NAME",
        help="A Dask scheduler's address or file, or serial, threads or processes.",
    ),
    click.option("--workers", type=click.IntRange(min=1), help="Tasks at a time."),
    click.option("--memory-budget", metavar="SIZE", help="Of one process, for example 2GiB."),
]


def _with_shared_options(command: Any) -> Any:
    for option in reversed(_SHARED):
        command = option(command)
    return command


@main.command()
@_with_shared_options
@click.option("--output", "-o", type=_PATH, metavar="OUT", help="Result to write: .zarr or .nc.")
@click.option("--overwrite", is_flag=True, help="Replace an existing result.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the plan and compute nothing.")
def evaluate(
    data: tuple[Path, ...],
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Judge maps, embeddings or clusterings of the samples in DATA.

    DATA is a .zarr store, a .npy file or NetCDF; several files, or a quoted pattern of
    them, continue each other along the first sample dim.
    """
    from somscale.cli import inputs, results
    from somscale.cli.settings import run_settings
    from somscale.store import write_dataset

    with run_settings(options):
        question = inputs.read_question(data, options)
        if dry_run:
            results.show_plan(question.plan(), as_json=as_json)
            return
        if output is not None:
            results.check_target(output, inputs.paths(data, options), overwrite=overwrite)
        result = question.evaluate()
        if output is not None:
            write_dataset(result, output)
    results.show(result, as_json=as_json)
    if output is not None:
        click.echo(f"Wrote {output}", err=True)


@main.command()
@_with_shared_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
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
@click.option(
    "--output",
    "-o",
    type=_PATH,
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

"""The commands that make a map of samples, and put samples on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from somscale.cli.command import Command
from somscale.cli.options import DATA, PATH, READING, RUNNING, with_options

__all__ = ["project", "train"]

_OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace what is there.")

_GRID = [
    click.option(
        "--grid",
        required=True,
        metavar="ROWSxCOLS",
        help="Rows and columns of the map, as in 12x8; one number is a chain of so many units.",
    ),
    click.option(
        "--topology",
        type=click.Choice(["rectangular", "hexagonal"]),
        help="Default: rectangular.",
    ),
    click.option(
        "--offset",
        type=click.Choice(["odd", "even"]),
        help="Which rows of a hexagonal grid are shifted right, counted from 0. Default: odd.",
    ),
    click.option(
        "--periodic",
        type=click.Choice(["rows", "cols", "both"]),
        help="What wraps: cols, each row closes into a ring; rows, each column; or both, as of a "
        "chain. Default: nothing.",
    ),
    click.option(
        "--neighbors",
        type=int,
        metavar="N",
        help="Units that adjoin one: 4 (the default) or 8 on a rectangular grid, else 6.",
    ),
    click.option(
        "--delta",
        type=click.Choice(["hops", "euclidean", "max"]),
        help="The distance on the map. Default: hops.",
    ),
]

_TRAINING = [
    click.option(
        "--algorithm",
        type=click.Choice(["batch", "stochastic"]),
        default="batch",
        show_default=True,
        help="All samples at a time, or one after the other.",
    ),
    click.option(
        "--epochs",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        help="Reads of the samples.",
    ),
    click.option(
        "--init",
        default="plane",
        show_default=True,
        metavar="plane|samples|MAP",
        help="First codes: on the plane of two principal components, samples, or those of a map.",
    ),
    click.option(
        "--kernel",
        metavar="NAME",
        default="gaussian",
        show_default=True,
        help="Of the neighbourhood: gaussian, gaussian_half, window or triangular.",
    ),
    click.option(
        "--temperature",
        "-T",
        type=(float, float),
        metavar="FIRST LAST",
        help="Radius of the neighbourhood, in map distance. Default: half the largest distance, "
        "and 1.",
    ),
    click.option(
        "--schedule",
        type=click.Choice(["geometric", "linear"]),
        default="geometric",
        show_default=True,
        help="How the radius falls, and the learning rate.",
    ),
    click.option(
        "--learning-rate",
        type=(float, float),
        metavar="FIRST LAST",
        help="Of --algorithm stochastic. Default: 0.5 0.01.",
    ),
    click.option(
        "--tolerance",
        type=float,
        metavar="SHARE",
        help="Stop after an epoch that changes codes or error by at most this share of the error.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Of all that is drawn; the same one gives the same map.",
    ),
]


@click.command(cls=Command)
@DATA
@with_options(_GRID)
@click.option("--output", "-o", type=PATH, metavar="MAP", help="Map to write: .zarr or .nc.")
@_OVERWRITE
@with_options(_TRAINING)
@with_options(READING)
@click.option(
    "--sample-weights",
    metavar="W",
    help="Weights of the samples: a .npy file, a variable of DATA, or coslat.",
)
@with_options(RUNNING)
@click.option("--json", "as_json", is_flag=True, help="Print the summary, or the plan, as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the plan and train nothing.")
def train(
    data: tuple[Path, ...],
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Train a map on the samples in DATA.

    DATA is as for `evaluate`, and the map the same, bit for bit, as that of somscale.train
    in Python, whatever the chunks, workers and scheduler.  It is an xarray Dataset with the
    errors of every epoch; judge it with `evaluate --map`.
    """
    from somscale.cli import training
    from somscale.cli.settings import run_settings

    with run_settings(options):
        asked = training.read_training(data, options)
        if dry_run:
            training.show_plan(asked.plan(), as_json=as_json)
            return
        training.check_output(output, asked.paths, overwrite=overwrite)
        done = asked.train()
        training.write(done.som, output)
    training.show_summary(done, as_json=as_json)
    click.echo(f"Wrote {output}", err=True)


@click.command(cls=Command)
@DATA
@click.option(
    "--map",
    "som",
    type=PATH,
    required=True,
    metavar="MAP",
    help="A codebook (.zarr, .nc, .npz, .cod, .wts, .wgt or .csv).",
)
@click.option("--output", "-o", type=PATH, metavar="UNITS", help="To write: .zarr or .nc.")
@_OVERWRITE
@with_options(READING)
@with_options(RUNNING)
def project(
    data: tuple[Path, ...], som: Path, output: Path | None, overwrite: bool, **options: Any
) -> None:
    """Find the best-matching units of the samples in DATA.

    What is written is an xarray Dataset of bmu, second_bmu and distance, on the samples' own
    dims and coordinates.
    """
    from somscale.cli import training
    from somscale.cli.settings import run_settings

    with run_settings(options):
        found = training.projected(data, som, output, overwrite=overwrite, options=options)
    click.echo(found)
    click.echo(f"Wrote {output}", err=True)

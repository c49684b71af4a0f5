"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from somscale.engine.readers.urls import Url
from somscale.errors import InputError

__all__ = [
    "DATA",
    "EXPONENT",
    "JUDGING",
    "PATH",
    "PLACE",
    "READING",
    "RUNNING",
    "STORE",
    "with_options",
]

PATH = click.Path(path_type=Path)


class _Place(click.Path):
    """A path or a URL, which a `pathlib.Path` would spoil."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            url = Url.of(value)
        except InputError as error:
            self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx) if url is None else url


PLACE = _Place(path_type=Path)

DATA = click.argument("data", type=PLACE, nargs=-1, required=True)
READING = [
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
        type=click.Choice(["raise", "drop", "drop_any_sample", "drop_any_feature", "partial"]),
        help="What missing values mean. Default: raise, an error that counts them. partial is for "
        "maps: each sample is compared by the features that it has.",
    ),
]
"""How samples are read."""

EXPONENT = click.option("-p", "p", type=float, help="Exponent of --distance minkowski. Default: 2.")

STORE = click.option(
    "--store",
    metavar="WORK",
    help="A workspace (a .zarr folder or a URL): its distances and ranks are read instead of "
    "computed, and it keeps the run, which goes on where it was stopped.",
)

RUNNING = [
    click.option(
        "--scheduler",
        metavar="ADDRESS|FILE|NAME",
        help="A Dask scheduler's address or file, or serial, threads or processes.",
    ),
    click.option("--workers", type=click.IntRange(min=1), help="Tasks at a time."),
    click.option("--memory-budget", metavar="SIZE", help="Of one process, for example 2GiB."),
]
"""Where a command computes, and in how much memory."""

JUDGING = [
    DATA,
    click.option(
        "--map",
        "maps",
        multiple=True,
        type=PATH,
        metavar="MAP",
        help="A codebook (.zarr, .nc, .npz, .cod, .wts, .wgt or .csv). Several are candidates, "
        "named by their files, or as NAME=FILE.",
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
        "--unit-clusters",
        type=PATH,
        metavar="FILE",
        help="Clusters of the map's units, for conn_index: a .npy file (unit,).",
    ),
    *READING,
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
        help="Of rank_quality, also by sample or unit: over κs as published, or over the pairs "
        "that are near. Default: lueks.",
    ),
    EXPONENT,
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
    *RUNNING,
]
"""What is judged, on what, by which indices."""


def with_options(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """A decorator that gives a command some options, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate

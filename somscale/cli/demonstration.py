"""The demo: from an archive on disk to a verdict on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import xarray as xr

from somscale.cli.results import as_text
from somscale.clustering import cluster_units
from somscale.datasets import write_digits
from somscale.errors import InputError
from somscale.evaluate import evaluate
from somscale.store import open_dataset, write_dataset
from somscale.topology import Grid
from somscale.training import train

__all__ = ["run"]

_SIZES: Final[dict[str, Any]] = {"k": [5, 20, 100], "kappa_s": 20, "kappa_t": 10}
_OF_EMBEDDINGS: Final = [
    *("shepard_correlation", "metric_stress"),
    *("trustworthiness", "continuity", "q_nx", "r_nx", "rank_quality"),
]
_HOW_TO_READ: Final = """
Of the k nearest: trustworthiness is low where strangers meet in the plane, continuity where
neighbours are torn apart; q_nx is the share that both spaces have in common, r_nx the same with
0 for chance. rank_quality counts pairs, near in either space, that keep their rank to within
kappa_t."""


def run(folder: Path) -> None:
    """Write the archive, train, judge and keep the result in `folder`."""
    if folder.is_file():
        raise InputError(f"{str(folder)!r} is a file; name another --output")
    folder.mkdir(parents=True, exist_ok=True)
    archive, som_path, result_path = (
        folder / name for name in ("digits.zarr", "map.zarr", "result.zarr")
    )
    click.echo(f"1. Writing 1,797 handwritten digits (64 pixels each) to {archive}, in chunks")
    write_digits(archive)
    labels = open_dataset(archive)["label"].load()

    grid = Grid(10, 10, topology="hexagonal")
    click.echo(f"2. Training a map on the archive: {grid!r}")
    som = train(archive, grid, epochs=15, seed=0)
    write_dataset(som, som_path)

    click.echo("3. Judging the map against the samples and the digits' labels\n")
    # ranks are shown with the embedding
    result = evaluate(archive, som, labels=labels, temperature=[1.0, 2.0], cost="pairs")
    write_dataset(result, result_path)
    click.echo(as_text(result))

    click.echo("\n4. Judging ten clusters of the map's units as clusters of the samples\n")
    clusters = cluster_units(som, 10)[result["bmu"]]
    judged = evaluate(archive, clusters, labels=labels)
    write_dataset(judged, folder / "clusters.zarr")
    click.echo(as_text(judged))
    click.echo("\n5. Judging two principal components as an embedding of the samples\n")
    embedded = evaluate(archive, _components(archive), metrics=_OF_EMBEDDINGS, **_SIZES)
    write_dataset(embedded, folder / "embedding.zarr")
    click.echo(as_text(embedded))
    click.echo(_HOW_TO_READ)
    _tell_of_page(folder)
    click.echo(f"\nThe results are xarray Datasets in {folder}. Open one with")
    click.echo(f"    import xarray; q = xarray.open_zarr('{result_path}').load()")
    click.echo("    q['value'].sel(metric='topographic_error'); q['hits']; q['bmu']")


def _tell_of_page(folder: Path) -> None:
    """Say how the page on the map is made."""
    som, result, page = (folder / name for name in ("map.zarr", "result.zarr", "map.html"))
    click.echo("\nFor a page with pictures of the map")
    click.echo(f"    somscale report {result} --map {som} -o {page}")


def _components(archive: Path) -> xr.DataArray:
    """Two principal components of the archive's samples."""
    from sklearn.decomposition import PCA

    samples = open_dataset(archive)["samples"].load()
    places = PCA(2, random_state=0).fit_transform(samples.values)
    return xr.DataArray(places, dims=("sample", "component"))

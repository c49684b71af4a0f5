"""Maps that the command line trains, and the samples that it puts on them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import xarray as xr

from somscale.cli.inputs import column_of, map_of, reading_of
from somscale.cli.results import check_target
from somscale.codebook import read_codebook
from somscale.codebook.dataset import grid_of
from somscale.codebook.project import project
from somscale.engine.readers.paths import expand
from somscale.engine.readers.samples import open_samples
from somscale.errors import InputError
from somscale.store import write_dataset
from somscale.topology import Grid
from somscale.training import train
from somscale.training.planning import TrainingPlan, plan_training
from somscale.workspace import Workspace
from somscale.workspace.places import is_workspace

__all__ = ["check_output", "projected", "read_training", "show_plan", "show_summary", "write"]

_SETTINGS: Final = (
    *("algorithm", "epochs", "seed", "kernel", "temperature", "schedule"),
    *("learning_rate", "tolerance"),
)
_SIDES: Final = re.compile(r"(\d+)(?:[x×X](\d+))?")


@dataclass(frozen=True)
class Trained:
    """A map, how many samples it was trained on, and in how many seconds."""

    som: xr.Dataset
    shape: tuple[int, int]
    seconds: float


@dataclass(frozen=True)
class Training:
    """The arguments of ``train``.

    Attributes
    ----------
    samples, grid, init, settings, reading
        Those of the function; `reading` is how samples are read.
    paths : sequence of Path
        What is read.
    """

    samples: Any
    grid: Grid
    init: Any
    settings: Mapping[str, Any]
    reading: Mapping[str, Any]
    paths: Sequence[Path]

    def plan(self) -> TrainingPlan:
        """What it would take."""
        return plan_training(
            self.samples, self.grid, settings=self.settings, init=self.init, reading=self.reading
        )

    def train(self) -> Trained:
        """Train the map."""
        shape = open_samples(self.samples, **self.reading).shape
        begun = time.perf_counter()
        som = train(self.samples, self.grid, init=self.init, **self.settings, **self.reading)
        return Trained(som, shape, time.perf_counter() - begun)


def read_training(data: Sequence[Path], options: Mapping[str, Any]) -> Training:
    """Open everything that a command line names.

    Raises
    ------
    InputError
        A file is missing, or there is no such grid.
    """
    grid = _grid(options)
    files, samples = _samples(data)
    reading, read = reading_of(files, options), [*files]
    weights = options["sample_weights"]
    if weights is not None:
        own = samples if isinstance(samples, Workspace) else None
        reading["sample_weights"] = (
            weights if weights == "coslat" else column_of(files, weights, own)
        )
        read += [Path(weights)] if Path(weights).exists() else []
    init: Any = options["init"]
    if init not in ("plane", "samples"):
        if not Path(init).exists():
            raise InputError(f"--init is plane, samples or the file of a map, not {init!r}")
        read.append(Path(init))
        init = read_codebook(init)
    settings = {name: options[name] for name in _SETTINGS}
    return Training(samples, grid, init, settings, reading, read)


def _samples(data: Sequence[Any]) -> tuple[list[Any], Any]:
    """The files that DATA names, and the samples that these are."""
    files: list[Any] = list(expand([str(path) for path in data]))
    if len(files) > 1:
        return files, files
    return files, Workspace(files[0], mode="r") if is_workspace(files[0]) else files[0]


def _grid(options: Mapping[str, Any]) -> Grid:
    found = _SIDES.fullmatch(options["grid"].replace(" ", ""))
    if found is None:
        raise InputError(
            f"--grid takes rows and columns, as 12x8, or the units of a chain, as 20, not "
            f"{options['grid']!r}"
        )
    rows, cols = found.groups()
    periodic = {"both": True, None: False}.get(options["periodic"], options["periodic"])
    delta: Any = options["delta"] or "hops"
    if cols is not None:
        return Grid(
            int(rows),
            int(cols),
            topology=options["topology"] or "rectangular",
            offset=options["offset"] or "odd",
            periodic=periodic,
            neighbors=options["neighbors"],
            delta=delta,
        )
    given = [f"--{name}" for name in ("topology", "offset", "neighbors") if options[name]]
    if given:
        raise InputError(f"{given[0]} is of grids with rows and columns, as --grid 1x{rows}")
    if isinstance(periodic, str):
        raise InputError(f"a chain closes into a ring with --periodic both, not {periodic}")
    return Grid.chain(int(rows), periodic=periodic, delta=delta)


def check_output(output: Path | None, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Refuse a place where nothing can be written, before anything is computed."""
    if output is None:
        raise InputError("name what is written with --output")
    check_target(output, inputs, overwrite=overwrite)


def write(found: xr.Dataset, output: Path | None) -> None:
    """Write what was found to the place that was checked."""
    if output is not None:
        write_dataset(found, output)


def show_plan(plan: TrainingPlan, *, as_json: bool) -> None:
    """Print what a training would take."""
    facts = {
        "units": plan.n_units,
        "epochs": plan.epochs,
        "tasks": plan.tasks,
        "bytes_read": plan.bytes_read,
        "peak_memory": plan.peak_memory,
    }
    click.echo(json.dumps(facts, indent=2) if as_json else repr(plan))


def show_summary(done: Trained, *, as_json: bool) -> None:
    """Print what a training came to."""
    som, told = done.som, json.loads(done.som.attrs["training"])
    n_samples, n_features = done.shape
    errors, last = som["quantization_error"].values, som.isel(epoch=-1)
    facts = {
        "units": som.sizes["unit"],
        "samples": n_samples,
        "features": n_features,
        "epochs_run": told["epochs_run"],
        "quantization_error": float(errors[-1]),
        "distortion": last["distortion"].item(),
        "temperature": last["temperature"].item(),
        "seconds": round(done.seconds, 3),
        "note": som.attrs.get("note", ""),
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    moved = "of the codes before they were moved"
    if told["algorithm"] == "stochastic":
        moved = "of the codes as each sample met them"
    lines = [
        f"{som.sizes['unit']:,} units, {grid_of(som)!r}",
        f"{n_samples:,} samples × {n_features:,} feature{'' if n_features == 1 else 's'}, "
        f"{told['epochs_run']} of {told['epochs']} epochs in {done.seconds:.1f} s",
        f"quantization error {errors[0]:.6g} in the first epoch and {errors[-1]:.6g} in the last, "
        f"{moved}",
        f"distortion {facts['distortion']:.6g} in the last, at temperature "
        f"{facts['temperature']:.6g}",
        *([f"Note: {facts['note']}"] if facts["note"] else []),
    ]
    click.echo("\n".join(lines))


def projected(
    data: Sequence[Path],
    som: Path,
    output: Path | None,
    *,
    overwrite: bool,
    options: Mapping[str, Any],
) -> str:
    """Write the units of the samples, and say in a line what was found."""
    files, samples = _samples(data)
    check_output(output, [*files, som], overwrite=overwrite)
    trained = map_of(som, samples if isinstance(samples, Workspace) else None)
    found = project(samples, trained, **reading_of(files, options))
    write(found, output)
    units = found["bmu"].values
    taken = units >= 0
    left_out = int(units.size - taken.sum())
    used = np.unique(units[taken]).size
    text = (
        f"{units.size:,} samples on {used:,} of {trained.sizes['unit']:,} units, at a mean "
        f"distance of {found['distance'].values[taken].mean():.6g}"
    )
    return f"{text}; {left_out:,} left out" if left_out else text

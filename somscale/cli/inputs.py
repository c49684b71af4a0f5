"""Read what a command line names: samples, maps, clusterings and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from somscale.engine.planview import Plan
from somscale.errors import InputError
from somscale.evaluate import evaluate, plan
from somscale.store import open_dataset

__all__ = ["Question", "paths", "read_question"]

_PARAMETERS = ("kernel", "neighborhood")


@dataclass(frozen=True)
class Question:
    """The arguments of ``evaluate`` and ``plan``."""

    samples: Any
    projection: Any
    settings: Mapping[str, Any]

    def evaluate(self) -> xr.Dataset:
        """The answer."""
        return evaluate(self.samples, self.projection, **self.settings)

    def plan(self) -> Plan:
        """What the answer would take."""
        return plan(self.samples, self.projection, **self.settings)


def read_question(data: Path, options: Mapping[str, Any]) -> Question:
    """Open everything that a command line names.

    Raises
    ------
    InputError
        A file is missing, or it is not what it should be.
    """
    if not data.exists():
        raise InputError(f"there is no file or store at {str(data)!r}")
    settings: dict[str, Any] = {"metrics": list(options["metrics"]) or "all"}
    if options["labels"] is not None:
        settings["labels"] = _column(data, options["labels"])
    if options["temperature"]:
        settings["temperature"] = list(options["temperature"])
    settings.update({name: options[name] for name in _PARAMETERS if options[name] is not None})
    return Question(_samples(data, options["variable"]), _projection(data, options), settings)


def paths(data: Path, options: Mapping[str, Any]) -> list[Path]:
    """The files and stores that a command line names to be read."""
    columns = [*options["clusters"], *([options["labels"]] if options["labels"] else [])]
    return [data, *options["maps"], *(Path(name) for name in columns if Path(name).exists())]


def _samples(data: Path, variable: str | None) -> Any:
    if variable is None:
        return data
    if data.suffix == ".npy":
        raise InputError(f"--variable names a variable of a store; {str(data)!r} is one array")
    return _store(data, variable)


def _projection(data: Path, options: Mapping[str, Any]) -> Any:
    maps, clusters = options["maps"], options["clusters"]
    if bool(maps) == bool(clusters):
        raise InputError("give either --map or --clusters: candidates are of one kind")
    if maps:
        found: dict[str, Any] = {path.stem: _map(path) for path in maps}
    else:
        found = {Path(name).stem: _column(data, name) for name in clusters}
    if len(found) < len(maps or clusters):
        raise InputError("two candidates have the same file name; rename one")
    return found if len(found) > 1 else next(iter(found.values()))


def _map(path: Path) -> xr.Dataset:
    with open_dataset(path) as som:
        return som.load()


def _column(data: Path, name: str) -> Any:
    """One value a sample: a .npy file, or a variable of the samples' store."""
    if name.endswith(".npy"):
        try:
            return np.load(name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):
            raise InputError(f"{name!r} is no .npy file of one value a sample") from None
    if data.suffix == ".npy":
        raise InputError(f"{name!r} is no .npy file, and {str(data)!r} has no variables")
    return _store(data, name).load()


def _store(data: Path, name: str) -> xr.DataArray:
    dataset = open_dataset(data)
    if name not in dataset.variables:
        raise InputError(f"{str(data)!r} has no variable {name!r}, only {list(dataset.variables)}")
    return dataset[name]

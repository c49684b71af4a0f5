"""Read what a command line names: samples, maps, clusterings and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from somscale.cli.ranks import rank_settings
from somscale.codebook import read_codebook
from somscale.engine.planview import Plan
from somscale.engine.readers.paths import expand
from somscale.engine.readers.variables import fitting_variables
from somscale.errors import InputError
from somscale.evaluate import evaluate, plan
from somscale.store import open_dataset

__all__ = ["Question", "paths", "read_question"]

_PARAMETERS = (
    *("kernel", "neighborhood", "convention", "distance", "p", "cost"),
    *("sample_anchors", "seed", "ties", "space", "norm", "k_max"),
)


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


def read_question(data: Sequence[Path], options: Mapping[str, Any]) -> Question:
    """Open everything that a command line names.

    Raises
    ------
    InputError
        A file is missing, or it is not what it should be.
    """
    files = expand([str(path) for path in data])
    settings: dict[str, Any] = {"metrics": list(options["metrics"]) or "all"}
    if options["labels"] is not None:
        settings["labels"] = _column(files, options["labels"])
    if options["temperature"]:
        settings["temperature"] = list(options["temperature"])
    settings.update({name: options[name] for name in _PARAMETERS if options[name] is not None})
    settings.update(rank_settings(options))
    settings.update(_reading(files, options))
    projection = _projection(files, options)
    return Question(files[0] if len(files) == 1 else files, projection, settings)


def paths(data: Sequence[Path], options: Mapping[str, Any]) -> list[Path]:
    """The files and stores that a command line names to be read."""
    columns = [*options["clusters"], *options["embeddings"]]
    columns += [options["labels"]] if options["labels"] else []
    named = [*options["maps"], *(Path(name) for name in columns if Path(name).exists())]
    return [*expand([str(path) for path in data]), *named]


def _reading(files: Sequence[Path], options: Mapping[str, Any]) -> dict[str, Any]:
    """How the samples are read."""
    reading: dict[str, Any] = {}
    if options["coslat"]:
        reading["feature_weights"] = "coslat"
    if options["missing"]:
        reading["missing"] = options["missing"]
    dims = [name.strip() for name in (options["sample_dims"] or "").split(",") if name.strip()]
    names = list(options["variable"])
    if files[0].suffix == ".npy":
        if dims or names:
            raise InputError(
                f"--variable and --sample-dims are for archives with names; {str(files[0])!r} is "
                "one array"
            )
        return reading
    if dims:
        reading["sample_dims"] = dims
        # what the command calls labels or clusters is no feature
        others = {options["labels"], *options["clusters"], *options["embeddings"]}
        names = names or [
            n for n in fitting_variables(open_dataset(files[0]), dims) if n not in others
        ]
    if names:
        reading["variable"] = names
    return reading


def _projection(files: Sequence[Path], options: Mapping[str, Any]) -> Any:
    kinds = [options[name] for name in ("maps", "clusters", "embeddings")]
    if sum(map(bool, kinds)) != 1:
        raise InputError(
            "give one of --map, --clusters and --embedding: candidates are of one kind"
        )
    maps, clusters, embeddings = kinds
    if maps:
        found: dict[str, Any] = {path.stem: read_codebook(path) for path in maps}
    else:
        found = {Path(name).stem: _column(files, name) for name in clusters or embeddings}
    if len(found) < len(maps or clusters or embeddings):
        raise InputError("two candidates have the same file name; rename one")
    return found if len(found) > 1 else next(iter(found.values()))


def _column(files: Sequence[Path], name: str) -> Any:
    """One value a sample, or some: a .npy file, or a variable of the samples' archive."""
    if name.endswith(".npy"):
        try:
            return np.load(name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):
            raise InputError(f"{name!r} is no .npy file of numbers of the samples") from None
    parts = [_variable(path, name).load() for path in files]
    if len(parts) == 1:
        return parts[0]
    return xr.concat(parts, dim=str(parts[0].dims[0]))


def _variable(path: Path, name: str) -> xr.DataArray:
    if path.suffix == ".npy":
        raise InputError(f"{name!r} is no .npy file, and {str(path)!r} has no variables")
    dataset = open_dataset(path)
    if name not in dataset.variables:
        raise InputError(f"{str(path)!r} has no variable {name!r}, only {list(dataset.variables)}")
    return dataset[name]

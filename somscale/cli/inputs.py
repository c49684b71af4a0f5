"""Read what a command line names: samples, maps, clusterings and labels."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import xarray as xr

from somscale.cli.ranks import rank_settings
from somscale.codebook import read_codebook
from somscale.codebook.formats.numpy_files import load_arrays
from somscale.engine.planview import Plan
from somscale.engine.readers.paths import expand
from somscale.engine.readers.urls import Url
from somscale.engine.readers.variables import fitting_variables
from somscale.errors import InputError
from somscale.evaluate import evaluate, plan
from somscale.store import open_dataset
from somscale.workspace import Workspace, known_workspace
from somscale.workspace.places import is_workspace
from somscale.workspace.results import names as names_of
from somscale.workspace.results import read_map

__all__ = ["Question", "candidate_name", "column_of", "map_of", "paths", "read_question"]
__all__ += ["reading_of"]

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
    run_settings: Mapping[str, Any]

    @property
    def workspace(self) -> Any:
        """The workspace that keeps the run, or its place; None where there is none."""
        own = self.samples if isinstance(self.samples, Workspace) else None
        return self.settings.get("store", own)

    def evaluate(self) -> xr.Dataset:
        """The answer."""
        return evaluate(self.samples, self.projection, **self.settings, **self.run_settings)

    def plan(self) -> Plan:
        """What the answer would take."""
        return plan(self.samples, self.projection, **self.settings)


def read_question(
    data: Sequence[Path], options: Mapping[str, Any], *, writes: bool = False
) -> Question:
    """Open everything that a command line names.

    Parameters
    ----------
    data : sequence of Path
        The samples.
    options : mapping
        All options of the command.
    writes : bool
        Whether a workspace that DATA is may be written to.

    Raises
    ------
    InputError
        A file is missing, or it is not what it should be.
    """
    files = expand([str(path) for path in data])
    own = _workspace(files, options, writes=writes)
    settings: dict[str, Any] = {"metrics": list(options["metrics"]) or "all"}
    if options["labels"] is not None:
        settings["labels"] = column_of(files, options["labels"], own)
    if options.get("unit_clusters") is not None:
        settings["unit_clusters"] = _unit_clusters(options["unit_clusters"])
    if options["temperature"]:
        settings["temperature"] = list(options["temperature"])
    settings.update({name: options[name] for name in _PARAMETERS if options[name] is not None})
    settings.update(rank_settings(options))
    settings.update(reading_of(files, options))
    if options["store"] is not None:
        settings["store"] = options["store"]
    projection = _projection(files, options, own)
    samples = own or (files[0] if len(files) == 1 else files)
    return Question(samples, projection, settings, _run_settings(options, own))


def _workspace(
    files: Sequence[Path | Url], options: Mapping[str, Any], *, writes: bool
) -> Workspace | None:
    """The workspace that DATA is, if it is one; only to read where nothing may be written."""
    if not any(map(is_workspace, files)):
        return None
    if len(files) > 1:
        raise InputError("DATA is a workspace, or files of samples, and not both; name one of them")
    # of a URL it is not known before
    takes = isinstance(files[0], Url) or os.access(files[0], os.W_OK)
    return Workspace(files[0], mode="a" if writes and takes else "r")


def _run_settings(options: Mapping[str, Any], own: Workspace | None) -> dict[str, Any]:
    """What is said of a run that a workspace keeps."""
    chosen: dict[str, Any] = {}
    if options.get("run") is not None:
        chosen["run"] = options["run"]
    if not options.get("resume", True):
        chosen["resume"] = False
    if chosen and options["store"] is None and own is None:
        raise InputError("--run and --fresh are for runs that a workspace keeps; add --store")
    return chosen


def paths(data: Sequence[Path], options: Mapping[str, Any]) -> list[Path | Url]:
    """The files and stores that a command line names to be read."""
    columns = [candidate_name(text)[1] for text in (*options["clusters"], *options["embeddings"])]
    columns += [options["labels"]] if options["labels"] else []
    maps = [Path(candidate_name(str(path))[1]) for path in options["maps"]]
    named = [*maps, *(Path(name) for name in columns if Path(name).exists())]
    named += [Path(options[name]) for name in ("store", "unit_clusters") if options.get(name)]
    return [*expand([str(path) for path in data]), *named]


def reading_of(files: Sequence[Path | Url], options: Mapping[str, Any]) -> dict[str, Any]:
    """How the samples are read."""
    reading: dict[str, Any] = {}
    if options["coslat"]:
        reading["feature_weights"] = "coslat"
    if options["missing"]:
        reading["missing"] = options["missing"]
    dims = [name.strip() for name in (options["sample_dims"] or "").split(",") if name.strip()]
    names = list(options["variable"])
    if is_workspace(files[0]):
        if dims or names:
            raise InputError(
                "the samples of a workspace are on dims of their own; leave --variable and "
                "--sample-dims out"
            )
        return reading
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
        named = (options.get(kind, ()) for kind in ("clusters", "embeddings"))
        others = {options.get("labels"), options.get("sample_weights"), *itertools.chain(*named)}
        names = names or [
            n for n in fitting_variables(open_dataset(files[0]), dims) if n not in others
        ]
    if names:
        reading["variable"] = names
    return reading


def _projection(
    files: Sequence[Path | Url], options: Mapping[str, Any], own: Workspace | None
) -> Any:
    kinds = [options[name] for name in ("maps", "clusters", "embeddings")]
    if sum(map(bool, kinds)) != 1:
        raise InputError(
            "give one of --map, --clusters and --embedding: candidates are of one kind"
        )
    maps, clusters, embeddings = kinds
    if maps:
        kept = own or known_workspace(options["store"])
        named = [candidate_name(str(path)) for path in maps]
        found: dict[str, Any] = {name: map_of(Path(path), kept) for name, path in named}
    else:
        named = [candidate_name(text) for text in clusters or embeddings]
        found = {name: column_of(files, text, own) for name, text in named}
    if len(found) < len(maps or clusters or embeddings):
        raise InputError("two candidates have the same name; give them others, as in NAME=FILE")
    return found if len(found) > 1 else next(iter(found.values()))


def candidate_name(text: str) -> tuple[str, str]:
    """A candidate's name and where it is, of NAME=FILE or of a file that names itself."""
    name, sign, rest = text.partition("=")
    if Path(text).exists() or not (sign and name and rest) or os.sep in name:
        return Path(text).stem, text
    return name, rest


def map_of(path: Path, kept: Workspace | None) -> xr.Dataset:
    """A map from a file, or that of this name in the workspace."""
    if kept is not None and not path.exists() and str(path) in names_of(kept.location, "maps"):
        som = read_map(kept.location, str(path))
        if som is not None:
            return som
    return read_codebook(path)


def column_of(files: Sequence[Path | Url], name: str, own: Workspace | None) -> Any:
    """One value a sample, or some: a .npy file, or a variable of the samples' archive."""
    if name.endswith(".npy"):
        try:
            return np.load(name, mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError, OverflowError, SyntaxError, TokenError):
            raise InputError(f"{name!r} is no .npy file of numbers of the samples") from None
    if own is not None:
        return _coordinate(own, name)
    parts = [_variable(path, name).load() for path in files]
    if len(parts) == 1:
        return parts[0]
    return xr.concat(parts, dim=str(parts[0].dims[0]))


def _unit_clusters(path: Path) -> Any:
    """One cluster a unit of the map."""
    held = load_arrays(path, lambda name: False)
    if isinstance(held, dict):
        raise InputError(f"{str(path)!r} is no .npy file of clusters of the map's units")
    return held


def _coordinate(workspace: Workspace, name: str) -> xr.DataArray:
    """A coordinate of the samples of a workspace."""
    coords = workspace.tree()["samples"].to_dataset().coords
    if name not in coords:
        raise InputError(
            f"the samples of {workspace.name} have no coordinate {name!r}, only {list(coords)}"
        )
    return coords[name].load()


def _variable(path: Path | Url, name: str) -> xr.DataArray:
    if path.suffix == ".npy":
        raise InputError(f"{name!r} is no .npy file, and {str(path)!r} has no variables")
    dataset = open_dataset(path)
    if name not in dataset.variables:
        raise InputError(f"{str(path)!r} has no variable {name!r}, only {list(dataset.variables)}")
    return dataset[name]
